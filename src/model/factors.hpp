// Factors of switching functions.
#pragma once

#include <saltus/expr/expr.hpp>

#include <unordered_map>

namespace saltus {

/// Values of parameters, by their symbols.
using KnownValues = std::unordered_map<NodeId, double>;

/// A function with the sign of g and the simplest factors: those whose sign is certain are left out (y^2 + 1, exp(y),
/// numbers, parameters with these `values`), those that occur an odd number of times occur once. x*exp(y) is x, which
/// is linear; x^3 has no slope where it vanishes, x has one. Returns g itself if there is nothing to leave out.
Expr plain_factors(const Expr& g, const KnownValues& values = {});

}  // namespace saltus
