// The problems of the layer, each with its best known value.
#pragma once

#include <saltus/modelica/modelica.hpp>
#include <saltus/optimise/optimise.hpp>

#include <numbers>
#include <string>
#include <vector>

namespace saltus::gallery {

struct Case {
  Model model;
  Programme programme;
  OptimiseOptions options;
};

inline Model read(const std::string& text) {
  return load_modelica(text, "test.mo").model;
}

inline EndCondition at_end(const std::string& variable, double value, double nominal = 1.0) {
  return {.value = final_value(variable), .lower = value, .upper = value, .nominal = nominal, .label = variable};
}

inline SimulateOptions to(double stop) {
  return {.stop = stop, .rtol = 1e-8, .atol = 1e-10};
}

/// A voice coil motor with dry friction moves a load by a hundredth with the least energy.
inline Case voice_coil() {
  const Model m = read(R"(model VoiceCoil
    parameter Real m1 = 1.03, m2 = 0.56, k = 2.4e3, R = 2, L = 2e-3, K = 12, F = 2.1;
    input Real u;
    Real x1(start = 0, fixed = true), v1(start = 0, fixed = true), x2(start = 0, fixed = true);
    Real v2(start = 0, fixed = true), I(start = 0, fixed = true);
  equation
    der(x1) = v1;
    m1*der(v1) = -k*(x1 - x2) + K*I - F*sign(v1);
    der(x2) = v2;
    m2*der(v2) = k*(x1 - x2);
    L*der(I) = u - R*I - K*v1;
  end VoiceCoil;)");
  const Expr u = m.symbol("u");
  Programme p;
  p.controls = {{.input = "u", .intervals = 53, .lower = -5, .upper = 5, .guess = {0}}};
  p.minimise = integral(u * u);
  p.end = {at_end("x1", 0.01, 0.01), at_end("v1", 0, 0.1), at_end("x2", 0.01, 0.01), at_end("v2", 0, 0.1),
           at_end("I", 0)};
  return {m, p, {.simulate = to(0.08)}};
}

/// Fishing with a fleet that is out or in: the switching times are free.
inline Case fishing(int switches) {
  std::string text = R"(model Fishing
    input Real w;
    Real x1(start = 0.5, fixed = true), x2(start = 0.7, fixed = true);
  equation
    der(x1) = x1 - x1*x2 - 0.4*x1*w;
    der(x2) = -x2 + x1*x2 - 0.2*x2*w;
  end Fishing;)";
  const Model m = read(text);
  const Expr x1 = m.symbol("x1"), x2 = m.symbol("x2");
  Programme p;
  p.controls = {{.input = "w", .intervals = switches + 1, .free_lengths = true, .fixed_values = true}};
  for (int k = 0; k <= switches; ++k) p.controls[0].guess.push_back(k % 2);
  p.minimise = integral((x1 - 1.0) * (x1 - 1.0) + (x2 - 1.0) * (x2 - 1.0));
  return {m, p, {.simulate = to(12)}};
}

/// The start of x' = 3 below zero and 1 above that keeps the square small; closed form.
inline Case two_regions() {
  const Model m = read(R"(model TwoRegions
    Real x(start = -1.5, fixed = true);
  equation
    der(x) = if x > 0 then 1 else 3;
  end TwoRegions;)");
  const Expr x = m.symbol("x"), d = x - 5.0 / 3.0;
  Programme p;
  p.parameters = {{.name = "x.start", .guess = -1.9, .lower = -2, .upper = -0.2}};
  p.minimise = integral(x * x) + final_value(d * d);
  return {m, p, {.simulate = to(2)}};
}

}  // namespace saltus::gallery
