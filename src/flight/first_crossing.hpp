// The first place at which a polynomial in Bernstein form becomes negative. Plain arithmetic, without calls of a
// library: the same bits wherever it runs.
#pragma once

namespace saltus {

/// The highest degree that first_crossing takes.
inline constexpr int highest_crossing_degree = 21;
/// What first_crossing returns if there is none.
inline constexpr double no_crossing = 2.0;

/// Value and derivatives at u of a polynomial with these Bernstein coefficients, by the scheme of de Casteljau.
struct BernsteinValue {
  double value, slope, curvature;
};
inline BernsteinValue evaluate_bernstein(const double* b, int degree, double u) {
  double c[highest_crossing_degree + 1];
  c[0] = b[0];
  c[1] = degree > 0 ? b[1] : 0.0;
  for (int i = 2; i <= degree; ++i) c[i] = b[i];
  for (int r = degree; r > 2; --r)
    for (int i = 0; i < r; ++i) c[i] = c[i] + u * (c[i + 1] - c[i]);
  double first = c[1] - c[0], second = 0.0;
  if (degree > 1) {
    second = (c[2] - c[1]) - first;
    c[0] = c[0] + u * first;
    c[1] = c[1] + u * (c[2] - c[1]);
    first = c[1] - c[0];
  }
  return {c[0] + u * first, degree * first, degree * (degree - 1) * second};
}

/// The only zero in (0, 1] of a polynomial that begins positive and ends negative: Halley's method between brackets,
/// from the zero of the polygon of its coefficients. `fixed`: the degree, if it is known when this is compiled.
template <int fixed>
double only_zero(const double* b, int any_degree) {
  const int degree = fixed > 0 ? fixed : any_degree;
  double low = 0.0, high = 1.0;
  int k = 1;
  while (k < degree && !(b[k] < 0.0)) ++k;
  const double share = b[k - 1] > 0.0 ? b[k - 1] / (b[k - 1] - b[k]) : 0.0;
  double u = (k - 1 + share) / degree;
  u = u < 0.02 ? 0.02 : u > 0.98 ? 0.98 : u;
  for (int i = 0; i < 80; ++i) {
    const BernsteinValue g = evaluate_bernstein(b, degree, u);
    (g.value > 0.0 ? low : high) = u;
    double next = u - g.value * g.slope / (g.slope * g.slope - 0.5 * g.value * g.curvature);
    const bool outside = !(next >= low && next <= high);
    if (outside) next = 0.5 * (low + high);
    const double moved = next > u ? next - u : u - next;
    u = next;
    // an error whose third power is left by each step; of u itself, as steps may be much longer than the way to the
    // zero
    if (moved <= (outside ? 4e-16 : 1e-7 * u)) break;
  }
  return u;
}

/// The first u in (0, 1] at which the polynomial becomes smaller than -noise and stays so for some time; no_crossing if
/// there is none. It must not begin below -noise. Where signs change more than once the interval is halved, from left
/// to right, without a stack.
inline double first_crossing(const double* b, int degree, double noise) {
  double c[highest_crossing_degree + 1];  // coefficients on the interval
  for (int i = 0; i <= degree; ++i) c[i] = b[i];
  const auto halve = [&](bool right) {
    for (int r = 1; r <= degree; ++r) {
      if (right)
        for (int i = 0; i + r <= degree; ++i) c[i] = 0.5 * (c[i] + c[i + 1]);
      else
        for (int i = degree; i >= r; --i) c[i] = 0.5 * (c[i - 1] + c[i]);
    }
  };
  int depth = 0;
  long long place = 0;  // of the interval, among those of its size
  for (int guard = 0; guard < 400; ++guard) {
    bool below = false, again = false;
    for (int i = 1; i <= degree; ++i) {
      if (c[i] < -noise)
        below = true;
      else if (below && c[i] > noise)
        again = true;
    }
    if (below && !again && c[degree] <= 0.0)
      return (static_cast<double>(place) + (degree == 4 ? only_zero<4>(c, degree) : only_zero<0>(c, degree))) /
             static_cast<double>(1LL << depth);
    if (below && depth < 30) {
      ++depth;
      place *= 2;
      halve(false);
      continue;
    }
    ++place;  // nothing here, or a touch that cannot be resolved: what lies to the right
    while (depth > 0 && place % 2 == 0) {
      place /= 2;
      --depth;
    }
    if (depth == 0) return no_crossing;
    for (int i = 0; i <= degree; ++i) c[i] = b[i];
    for (int d = depth - 1; d >= 0; --d) halve(place >> d & 1);
  }
  return no_crossing;
}

}  // namespace saltus
