// Small models with known answers, each in several formulations that mean the same: wrong answers that do not depend on
// the tolerance show where methods or formulations differ.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace saltus::problems {

struct KnownAnswer {
  std::string name;
  double stop;
  std::vector<std::string> formulations;  ///< Modelica: declarations, the word equation, and equations
  std::function<std::map<std::string, double>(double)> exact;
  /// Errors of the states, which the tolerance bounds, reach a variable multiplied by this; 0: it follows from time
  /// alone.
  std::map<std::string, double> gain;
};

/// The x with x + c x^3 = y.
inline double cubic_root(double c, double y) {
  double x = y;
  for (int k = 0; k < 100; ++k) x -= (x + c * x * x * x - y) / (1.0 + 3.0 * c * x * x);
  return x;
}

/// Algebraic variables and their derivatives.
inline std::vector<KnownAnswer> derivatives_of_algebraic_variables() {
  using std::cos, std::sin;
  std::vector<KnownAnswer> all;
  all.push_back({"current of a capacitor at a source",
                 0.1,
                 {"Real u, i, P; equation u = 230*sin(314.159*time); i = 1e-6*der(u); P = u*i;",
                  "Real P, i, u; equation 0 = u*i - P; der(u) = i/1e-6; u/230 = sin(314.159*time);"},
                 [](double t) {
                   const double u = 230.0 * sin(314.159 * t), i = 1e-6 * 230.0 * 314.159 * cos(314.159 * t);
                   return std::map<std::string, double>{{"u", u}, {"i", i}, {"P", u * i}};
                 },
                 {}});
  all.push_back(
      {"integral of a derivative",
       10.0,
       {"Real x, y, z(start = 0, fixed = true); equation x = sin(time); y = der(x); der(z) = y;",
        "Real z(start = 0, fixed = true), y, x; equation der(z) - der(x) = 0; y = der(x); x - sin(time) = 0;"},
       [](double t) {
         return std::map<std::string, double>{{"x", sin(t)}, {"y", cos(t)}, {"z", sin(t)}};
       },
       {{"z", 1.0}}});
  all.push_back(
      {"integral of the square of a derivative",
       5.0,
       {"Real x, y, z(start = 0, fixed = true); equation x = sin(3*time); y = der(x); der(z) = y^2;",
        "Real z(start = 0, fixed = true), x, y; equation der(z) = der(x)*y; y - der(x) = 0; x/2 = sin(3*time)/2;"},
       [](double t) {
         return std::map<std::string, double>{
             {"x", sin(3.0 * t)}, {"y", 3.0 * cos(3.0 * t)}, {"z", 4.5 * t + 0.75 * sin(6.0 * t)}};
       },
       {{"z", 1.0}}});
  all.push_back(
      {"fast algebraic variable beside a slow state",
       1.0,
       {"Real x, s(start = 1, fixed = true); equation x + 0.1*x^3 = sin(100*time); der(s) = -s;",
        "Real s(start = 1, fixed = true), w, x; equation der(s) + s = 0; w = 0.1*x^3; x = sin(100*time) - w;"},
       [](double t) {
         return std::map<std::string, double>{{"x", cubic_root(0.1, sin(100.0 * t))}, {"s", std::exp(-t)}};
       },
       {{"s", 1.0}}});
  all.push_back({"implicit speed",
                 3.0,
                 {"Real x(start = 0, fixed = true), y; equation der(x) = y; "
                  "y + 0.1*y^3 = 3*cos(3*time) + 2.7*cos(3*time)^3 - (x - sin(3*time));",
                  "Real y, x(start = 0, fixed = true); equation "
                  "0 = 3*cos(3*time) + 2.7*cos(3*time)^3 - (x - sin(3*time)) - y*(1 + 0.1*y^2); y = der(x);"},
                 [](double t) {
                   return std::map<std::string, double>{{"x", sin(3.0 * t)}, {"y", 3.0 * cos(3.0 * t)}};
                 },
                 {{"x", 1.0}, {"y", 1.0}}});
  all.push_back({"force that moves a mass as prescribed",
                 5.0,
                 {"Real x, v, F; equation x = sin(2*time); v = der(x); 3*der(v) = F;",
                  "Real F, v, x; equation F/3 = der(v); der(x) - v = 0; sin(2*time) = x;"},
                 [](double t) {
                   return std::map<std::string, double>{
                       {"x", sin(2.0 * t)}, {"v", 2.0 * cos(2.0 * t)}, {"F", -12.0 * sin(2.0 * t)}};
                 },
                 {}});
  all.push_back({"acceleration of an implicit position",
                 6.0,
                 {"Real x, v, a; equation x + 0.1*x^3 = sin(2*time); v = der(x); a = der(v);",
                  "Real a, w, v, x; equation der(v) = a; w + x = sin(2*time); der(x) = v; 10*w = x^3;"},
                 [](double t) {
                   const double x = cubic_root(0.1, sin(2.0 * t)), p = 1.0 + 0.3 * x * x;
                   const double v = 2.0 * cos(2.0 * t) / p, a = (-4.0 * sin(2.0 * t) - 0.6 * x * v * v) / p;
                   return std::map<std::string, double>{{"x", x}, {"v", v}, {"a", a}};
                 },
                 {}});
  all.push_back({"charge of a capacitor that moves",
                 4.0,
                 {"Real c, u(start = 0.5, fixed = true), q, i; equation c = 1 + 0.5*sin(10*time); q = c*u; i = der(q); "
                  "der(u) = cos(2*time) - u;",
                  "Real i, u(start = 0.5, fixed = true), q, c; equation der(q) - i = 0; der(u) + u = cos(2*time); "
                  "c*u - q = 0; 2*c - 2 = sin(10*time);"},
                 [](double t) {
                   const double e = 0.3 * std::exp(-t), u = e + 0.2 * cos(2.0 * t) + 0.4 * sin(2.0 * t);
                   const double c = 1.0 + 0.5 * sin(10.0 * t), up = cos(2.0 * t) - u;
                   return std::map<std::string, double>{
                       {"c", c}, {"u", u}, {"q", c * u}, {"i", 5.0 * cos(10.0 * t) * u + c * up}};
                 },
                 {{"u", 1.0}, {"q", 1.5}, {"i", 7.0}}});
  all.push_back({"multiplier of a circle",
                 4.0,
                 {"Real x(start = 1), y(start = 0), l; equation der(x) = -2*y + l*x + x*sin(5*time); "
                  "der(y) = 2*x + l*y + y*sin(5*time); x^2 + y^2 = 1;",
                  "Real l, y(start = 0), x(start = 1), f; equation x*x = 1 - y*y; f = l + sin(5*time); "
                  "der(y) - f*y = 2*x; der(x) - f*x + 2*y = 0;"},
                 [](double t) {
                   return std::map<std::string, double>{{"x", cos(2.0 * t)}, {"y", sin(2.0 * t)}, {"l", -sin(5.0 * t)}};
                 },
                 {{"x", 1.0}, {"y", 1.0}, {"l", 4.0}}});
  all.push_back(
      {"fast and slow",
       2.0,
       {"Real s(start = 1, fixed = true), y, p; equation der(s) = -1000*(s - cos(time)) - sin(time); "
        "y + y^3 = s + sin(20*time); p = der(y);",
        "Real p, y, w, s(start = 1, fixed = true); equation p - der(y) = 0; w = y^3; y = s + sin(20*time) - w; "
        "der(s) + 1000*s = 1000*cos(time) - sin(time);"},
       [](double t) {
         const double y = cubic_root(1.0, cos(t) + sin(20.0 * t));
         return std::map<std::string, double>{
             {"s", cos(t)}, {"y", y}, {"p", (-sin(t) + 20.0 * cos(20.0 * t)) / (1.0 + 3.0 * y * y)}};
       },
       {{"s", 1.0}, {"y", 1.0}, {"p", 1001.0}}});  // der(s) is 1000 times the error of s
  return all;
}

}  // namespace saltus::problems
