// Linear complementarity: which of two numbers is zero, for many pairs at once.
#pragma once

#include <saltus/linalg/matrix.hpp>

#include <optional>
#include <span>
#include <vector>

namespace saltus {

/// Finds z >= 0 with w = q + M z >= 0 and w_k z_k = 0 for all k. Nothing: there is no such z, or the method cannot find
/// one. It finds one, if there is one, for all positive semidefinite M (symmetric or not), which networks of passive
/// components have. `cover` are positive numbers; where there are several solutions, others may lead to another one.
/// An empty `cover` stands for ones.
std::optional<std::vector<double>> solve_complementarity(const Matrix& M, std::span<const double> q,
                                                         std::span<const double> cover = {});

}  // namespace saltus
