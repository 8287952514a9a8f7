// Functionals from their terms, as Python hands them over.
#pragma once

#include <pybind11/stl.h>
#include <saltus/sens/functional.hpp>

#include <string>
#include <tuple>
#include <variant>
#include <vector>

namespace saltus::python {

using TermValue = std::variant<std::string, Expr>;                          // the name of a variable, or an expression
using Term = std::tuple<std::string, double, TermValue, std::string, int>;  // kind, weight, value, event, its number

Functional functional_of(const std::vector<Term>& terms);

}  // namespace saltus::python
