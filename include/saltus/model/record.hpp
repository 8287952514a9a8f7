// A model from a generic callable in the order of arguments that users of Boost.odeint know: f(x, dxdt, t, p).
//
//   auto pendulum = [](const auto& x, auto& dxdt, auto t, const auto& p) {
//     dxdt[0] = x[1];
//     dxdt[1] = -p[0] * sin(x[0]) - p[1] * sign(x[1]);
//   };
//   Model m = record("pendulum", pendulum, {{"phi", 0.3}, {"omega", 0.0}}, {{"k", 1.0}, {"F", 0.1}});
#pragma once

#include <saltus/model/model.hpp>

#include <string>
#include <utility>
#include <vector>

namespace saltus {

/// Names with start values or values.
using NamedValues = std::vector<std::pair<std::string, double>>;

/// Calls f once with expressions and makes a model of what it writes. f must not branch on values: write if_else, min, max, abs, sign.
/// Throws ModelError for names used twice.
template <class F>
Model record(const std::string& name, F&& f, const NamedValues& states, const NamedValues& parameters = {}) {
  Model m(name);
  std::vector<Expr> x, dxdt(states.size()), p;
  for (const auto& [state, start] : states) x.push_back(m.variable(state, start));
  for (const auto& [parameter, value] : parameters) p.push_back(m.parameter(parameter, value));
  f(std::as_const(x), dxdt, m.time(), std::as_const(p));
  for (std::size_t k = 0; k < x.size(); ++k) m.equation(der(x[k]) == dxdt[k]);
  return m;
}

}  // namespace saltus
