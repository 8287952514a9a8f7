// Shrinking a bracket around the change from u >= 0 to u < 0 to its last bits, by Chandrupatla's method (Advances in
// Engineering Software 28, 1997): inverse quadratic interpolation where three points allow it, bisection otherwise.
#pragma once

#include <algorithm>
#include <cmath>

namespace saltus {

/// t_in: u is not negative. t_out: u is negative or not a number. Either may be the larger one.
struct Bracket {
  double t_in = 0.0, u_in = 0.0;
  double t_out = 0.0, u_out = 0.0;

  double width() const { return std::abs(t_out - t_in); }
};

/// Shrinks until the width is at most 1.5 units; `unit` must be at least the spacing of the numbers there.
template <class Function>
void shrink(Function&& u, Bracket& bracket, double unit) {
  const auto out = [](double value) { return !(value >= 0.0); };
  // (t1, u1) newest, (t2, u2) the other end, (t3, u3) the point before.
  double t1 = bracket.t_out, u1 = bracket.u_out, t2 = bracket.t_in, u2 = bracket.u_in, t3 = t1, u3 = u1;
  double fraction = 0.5;
  if (std::isfinite(u1) && u2 > 0.0) fraction = u1 / (u1 - u2);  // the secant, to begin with
  // Bisection alone needs 64 or so for adjacent numbers; every second step is at least as good.
  for (int iteration = 0; iteration < 200 && std::abs(t2 - t1) > 1.5 * unit; ++iteration) {
    const double least = std::min(0.5, unit / std::abs(t2 - t1));
    fraction = std::clamp(fraction, least, 1.0 - least);
    const double t = t1 + fraction * (t2 - t1);
    if (t == t1 || t == t2) break;
    const double v = u(t);
    if (out(v) == out(u1)) {
      t3 = t1;
      u3 = u1;
    } else {
      t3 = t2;
      u3 = u2;
      t2 = t1;
      u2 = u1;
    }
    t1 = t;
    u1 = v;
    const double xi = (t1 - t2) / (t3 - t2);
    const double phi = (u1 - u2) / (u3 - u2);
    if (phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi) {
      fraction = u1 / (u2 - u1) * u3 / (u2 - u3) + (t3 - t1) / (t2 - t1) * u1 / (u3 - u1) * u2 / (u3 - u2);
      if (!std::isfinite(fraction)) fraction = 0.5;
    } else {
      fraction = 0.5;
    }
  }
  if (out(u1)) {
    bracket = {t2, u2, t1, u1};
  } else {
    bracket = {t1, u1, t2, u2};
  }
}

}  // namespace saltus
