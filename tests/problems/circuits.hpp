// Circuits. Transistor amplifier: Rentrop, as in Mazzia, Magherini, Test Set for Initial Value Problem Solvers,
// release 2.4.
#pragma once

#include <cmath>

#include "problems/problem.hpp"

namespace saltus::problems {

/// A voltage source in a loop with two capacitors (one with a cubic charge), a diode, a resistor and an inductor;
/// microfarads. Index 2.
inline Problem nonlinear_circuit() {
  Recorder r;
  const auto x = r.variables("u1 u2 q1 q2 iv iL");
  const double C1 = 1e-6, C2 = 2e-6, L = 1e-3, R = 1e3, Is = 1e-9, UT = 0.5;
  r.equation(der(x[2]) + x[4], "node 1");
  r.equation(-der(x[2]) + der(x[3]) + x[5] + Is * (exp(x[1] / UT) - 1.0) + x[1] / R, "node 2");
  r.equation(x[2] - C1 * (x[0] - x[1]), "capacitor 1");
  r.equation(x[3] - C2 * x[1] - 1e-7 * x[1] * x[1] * x[1], "capacitor 2");
  r.equation(x[0] - 5.0 * sin(100.0 * r.time()), "source");
  r.equation(L * der(x[5]) - x[1], "inductor");
  return {"nonlinear circuit", r.system(), 0.001, {0.5, 0.3, 0.0, 0.0, 0.0, 0.0}, {1, 2, 4, 0, 0, 12}};
}

/// Eight node voltages, capacitances of 1e-6 … 5e-6 F between 1-2, 3, 4-5, 6, 7-8: singular constant matrix of rank 5,
/// index 1.
inline Problem transistor_amplifier() {
  Recorder r;
  const auto y = r.variables("u1 u2 u3 u4 u5 u6 u7 u8");
  const double Ub = 6.0, UF = 0.026, alpha = 0.99, beta = 1e-6, R0 = 1000.0, R = 9000.0;
  const auto g = [&](const Expr& u) { return beta * (exp(u / UF) - 1.0); };
  const auto C = [](int k) { return k * 1e-6; };
  const Expr Ue = 0.1 * sin(200.0 * M_PI * r.time());
  r.equation(C(1) * (der(y[1]) - der(y[0])) - (y[0] - Ue) / R0);
  r.equation(C(1) * (der(y[0]) - der(y[1])) - (2.0 * y[1] / R - Ub / R + (1.0 - alpha) * g(y[1] - y[2])));
  r.equation(C(2) * der(y[2]) - (g(y[1] - y[2]) - y[2] / R));
  r.equation(C(3) * (der(y[4]) - der(y[3])) - ((y[3] - Ub) / R + alpha * g(y[1] - y[2])));
  r.equation(C(3) * (der(y[3]) - der(y[4])) - (2.0 * y[4] / R - Ub / R + (1.0 - alpha) * g(y[4] - y[5])));
  r.equation(C(4) * der(y[5]) - (g(y[4] - y[5]) - y[5] / R));
  r.equation(C(5) * (der(y[7]) - der(y[6])) - ((y[6] - Ub) / R + alpha * g(y[4] - y[5])));
  r.equation(C(5) * (der(y[6]) - der(y[7])) - y[7] / R);
  return {"transistor amplifier", r.system(), 0.0, {0.0, 3.0, 3.0, 6.0, 3.0, 3.0, 6.0, 0.0}, {0, 5, 3, 0, 0, 8}};
}

/// At t = 0.2.
inline const std::vector<double> transistor_amplifier_reference{
    -0.5562145012262709e-2, 3.006522471903042, 2.849958788608128, 2.926422536206241,
    2.704617865010554,      2.761837778393145, 4.770927631616772, 1.236995868091548};

}  // namespace saltus::problems
