// The three problems of the study benchmarks, as models with plans.
#pragma once

#include <saltus/saltus.hpp>
#include <saltus/study/run_study.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace saltus::bench {

struct Problem {
  std::string name;
  Model model;
  StudyPlan plan;
};

/// A driven oscillator that hits a wall, sampled once in a period of the force.
inline Problem impact(std::int64_t members, std::int64_t periods) {
  Model m("impact");
  const Expr omega = m.parameter("omega", 0.8);
  const Expr x = m.variable("x", 0.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true}), T = m.variable("T");
  m.equation(der(x) == v);
  m.equation(der(v) == cos(omega * m.time()) - x - 0.1 * v);
  m.equation(T == 6.283185307179586 / omega);
  m.when(x > 1.0).reset(v, -0.7 * v);
  StudyPlan plan{
      .axes = {{"omega", 0.6, 1.6, members}},
      .simulate = {.rtol = 1e-6, .atol = 1e-6},
      .sampling = {.at = SampleAt::period, .variable = "T", .transient = periods - periods / 4, .keep = periods / 4},
      .collect = {{Collect::sample, "x"}}};
  return {"impacts", std::move(m), std::move(plan)};
}

/// Dry friction: sticks and slips.
inline Problem friction(std::int64_t members) {
  Model m("friction");
  const Expr r = m.parameter("r", 3.0);
  const Expr x = m.variable("x", 0.1, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  m.equation(der(x) == v);
  m.equation(der(v) == sin(m.time() / r) - x - 0.4 * sign(v));
  return {"dry friction",
          std::move(m),
          {.axes = {{"r", 1.0, 5.0, members}},
           .simulate = {.stop = 400.0, .rtol = 1e-6, .atol = 1e-6},
           .collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}}}};
}

/// A converter whose switch is turned at the ends of a band.
inline Problem converter(std::int64_t members) {
  Model m("converter");
  const Expr band = m.parameter("band", 0.4);
  const Expr i = m.variable("i", 0.0, {.fixed = true}), u = m.variable("u", 0.0, {.fixed = true});
  const Expr on = m.discrete("on", 1.0);
  m.equation(der(i) == (24.0 * on - u) / 0.02);
  m.equation(der(u) == (i - u / 20.0) / 47e-6);
  m.when(u > 11.0 + band).assign(on, 0.0);
  m.when(u < 11.0).assign(on, 1.0);
  return {"converter",
          std::move(m),
          {.axes = {{"band", 0.1, 0.6, members}},
           .simulate = {.stop = 0.1, .rtol = 1e-6, .atol = 1e-6},
           .collect = {{Collect::final_value, "i"}, {Collect::final_value, "u"}}}};
}

}  // namespace saltus::bench
