// A rod that is heated at its left end while a thermostat with hysteresis, a quarter of the way along, asks for it; heat leaves at the right end.
// The capacity grows with the temperature: (1 + beta T) T' = (k T_x)_x, in n cells.
#pragma once

#include <saltus/saltus.hpp>

#include <cmath>
#include <vector>

namespace saltus::bench {

struct Heat {
  static constexpr double beta = 0.4, power = 4.0, loss = 1.0, cold = 0.95, warm = 1.05;
  long n;
  double inverse;  // of the width of a cell
  long sensor;
  bool on = true;
  long events = 0;
  double last_event = 0.0;

  explicit Heat(long cells) : n(cells), inverse(static_cast<double>(cells)), sensor(cells / 4) {}
  double start(long i) const { return 0.9 * (1.0 - 0.3 * (static_cast<double>(i) + 0.5) / inverse); }

  void rhs(const double* T, double* dT) const {
    double in = on ? power : 0.0;
    for (long i = 0; i < n; ++i) {
      const double out = i + 1 < n ? (T[i] - T[i + 1]) * inverse : loss * T[i];
      dT[i] = (in - out) * inverse / (1.0 + beta * T[i]);
      in = out;
    }
  }
  /// Row i of the Jacobian: the entries at i - 1, i, i + 1. `slope` is T_i'.
  void jacobian_row(const double* T, long i, double slope, double (&row)[3]) const {
    const double c = 1.0 / (1.0 + beta * T[i]), d = inverse * inverse * c;
    row[0] = i > 0 ? d : 0.0;
    row[2] = i + 1 < n ? d : 0.0;
    row[1] = -row[0] - (i + 1 < n ? d : loss * inverse * c) - beta * c * slope;
  }
  double guard(const double* T) const { return on ? warm - T[sensor] : T[sensor] - cold; }
  void toggle(double t) {
    on = !on;
    ++events;
    last_event = t;
  }

  Model model() const {
    Model m("heat");
    std::vector<Expr> T;
    for (long i = 0; i < n; ++i) T.push_back(m.variable("T" + std::to_string(i), start(i)));
    const Expr heater = m.discrete("heater", 1.0);
    Expr in = power * heater;
    for (long i = 0; i < n; ++i) {
      const auto k = static_cast<std::size_t>(i);
      const Expr out = i + 1 < n ? (T[k] - T[k + 1]) * inverse : loss * T[k];
      m.equation(der(T[k]) == (in - out) * inverse / (1.0 + beta * T[k]));
      in = out;
    }
    const Expr at = T[static_cast<std::size_t>(sensor)];
    m.when(at > warm).assign(heater, 0.0);
    m.when(at < cold).assign(heater, 1.0);
    return m;
  }
};

}  // namespace saltus::bench
