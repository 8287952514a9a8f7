// Linear guards: their polynomial over the step follows from that of the solution, so that nothing has to be sampled. Nearly always
// its coefficients alone show that it stays away from zero, or that it falls through zero once.
#include "event_locator_impl.hpp"

#include <algorithm>
#include <cmath>

#include "base/finite.hpp"

namespace saltus {
namespace {

bool fits(const LinearGuard& guard, std::size_t guards, int variables) {
  for (const int j : guard.variables)
    if (j < 0 || j >= variables) return false;
  return guard.guard >= 0 && static_cast<std::size_t>(guard.guard) < guards && guard.variables.size() == guard.coefficients.size();
}

/// A linear guard along the step, times its side: u(s) = sum_d c_d s^d.
struct Line {
  int degree;
  std::array<double, Bernstein::max_degree + 1> c;
  double moved;      // bounds |u(s) - u(0)|
  double magnitude;  // bounds what enters the guard, before anything cancels
};

Line line_of(const LinearGuard& guard, double side, const DensePolynomial& step) {
  const std::size_t terms = guard.variables.size();
  const int* const variables = guard.variables.data();
  const double* const coefficients = guard.coefficients.data();
  double magnitude = std::abs(guard.constant) + std::abs(guard.time) * std::max(std::abs(step.t0), std::abs(step.t1()));
  const double* x = step.c.data();
  const auto next = [&](double sum) {  // the next coefficient, from the next row of the step
    for (std::size_t i = 0; i < terms; ++i) {
      const double term = coefficients[i] * x[variables[i]];
      sum += term;
      magnitude += std::abs(term);
    }
    x += step.variables;
    return side * sum;
  };
  Line line;
  line.degree = std::max(step.degree, 1);
  line.c[0] = next(guard.constant + guard.time * step.t0);
  line.c[1] = step.degree > 0 ? next(guard.time * step.h) : side * guard.time * step.h;
  double moved = std::abs(line.c[1]);
  for (int d = 2; d <= step.degree; ++d) moved += std::abs(line.c[static_cast<std::size_t>(d)] = next(0.0));
  line.moved = moved;
  line.magnitude = magnitude;
  return line;
}

/// A zero of u, with the slope there.
struct Zero {
  double s, slope;
};

/// The zero of u(s) = sum_d c_d s^d if u falls from above `level` to below -`level` and does nothing else between that could be an event:
/// it falls everywhere, or its coefficients change their sign once. In the second case those of u - level and u + level do, too, and by
/// Descartes' rule each of them and u has one root. Coefficients below `negligible` may have either sign; `level` must allow for them.
/// False: nothing is known.
bool falls_once(const double* c, int degree, double level, double negligible, Zero& zero) {
  if (degree < 1 || !(c[0] > level)) return false;
  double bend = 0.0, end = c[0] + c[1];
  for (int d = 2; d <= degree; ++d) {
    end += c[d];
    bend += d * std::abs(c[d]);
  }
  if (!(end < -level)) return false;
  if (!(-0.999 * c[1] > bend)) {  // u' < 0 is not certain
    int d = 1;
    while (d <= degree && c[d] >= -negligible) ++d;
    while (d <= degree && c[d] <= negligible) ++d;
    if (d <= degree) return false;
  }
  if (degree == 1) {
    zero = {std::min(-c[0] / c[1], 1.0), c[1]};
    return true;
  }
  // Newton's method within a bracket. The error after a move is about |u'' / (2 u')| times its square, and |u''| <= (degree - 1) bend.
  const double curvature = 0.5 * (degree - 1) * bend;
  double low = 0.0, high = 1.0, s = c[0] / (c[0] - end), slope = c[1];
  for (int iteration = 0; iteration < 60; ++iteration) {
    double value = c[degree];
    slope = 0.0;
    for (int d = degree; d-- > 0;) {
      slope = slope * s + value;
      value = value * s + c[d];
    }
    (value > 0.0 ? low : high) = s;
    const double move = value / slope;
    s -= move;
    if (!(s >= low && s <= high)) {
      s = 0.5 * (low + high);
    } else if (curvature * move * move <= -eps * slope) {
      break;
    }
  }
  zero = {s, slope};
  return true;
}

}  // namespace

// The usual case: all guards that are watched are linear, and their polynomials do not come near to zero.
[[gnu::hot]] bool EventLocator::Impl::far_from_zero(const DensePolynomial& step, std::span<const GuardWatch> given, std::span<const LinearGuard> linear) {
  if (linear.empty() || step.degree > Bernstein::max_degree) return false;
  std::size_t watched = 0;
  for (const GuardWatch& w : given) {
    if (w.known_root != 0) return false;
    watched += w.side != 0 ? 1 : 0;
  }
  const auto n = static_cast<std::size_t>(step.variables), last_row = static_cast<std::size_t>(step.degree) * n;
  for (const LinearGuard& guard : linear) {
    if (static_cast<std::size_t>(guard.guard) >= given.size() || guard.variables.size() != guard.coefficients.size()) return false;
    const double side = given[static_cast<std::size_t>(guard.guard)].side;
    if (side == 0.0) continue;
    double start = guard.constant + guard.time * step.t0, moved = std::abs(guard.time * step.h);
    for (std::size_t i = 0; i < guard.variables.size(); ++i) {
      const auto j = static_cast<std::size_t>(guard.variables[i]);
      if (j >= n) return false;
      const double* x = step.c.data() + j;
      start += guard.coefficients[i] * *x;
      double reach = 0.0;  // (a loop over degrees, known to be 16 at most, would be unrolled at length)
      for (const double* const last = x + last_row; x != last;) reach += std::abs(*(x += n));
      moved += std::abs(guard.coefficients[i]) * reach;
    }
    start *= side;
    if (!(start * (1.0 - 1e-12) > moved && start <= std::numeric_limits<double>::max())) return false;
    --watched;
  }
  return watched == 0;
}

void EventLocator::Impl::find_uncertain(System& system, const DensePolynomial& step, std::span<const GuardWatch> given,
                                        std::span<const LinearGuard> linear, std::vector<int>& uncertain) {
  begin(system, step, given);
  for (std::size_t k = 0; k < guards; ++k) {
    sides[k] = watch[k].side;
    if (watch[k].side == 0 || watch[k].known_root == 0) continue;
    uncertain.push_back(static_cast<int>(k));
    sides[k] = 0.0;
  }
  for (const LinearGuard& guard : step.degree > Bernstein::max_degree ? std::span<const LinearGuard>() : linear) {
    double& side = sides[static_cast<std::size_t>(guard.guard)];
    if (side == 0.0) continue;
    const Line line = line_of(guard, side, step);
    side = 0.0;
    if (!(line.c[0] * (1.0 - 1e-12) > line.moved)) uncertain.push_back(guard.guard);
  }
  open.clear();
  if (std::any_of(sides.begin(), sides.begin() + static_cast<std::ptrdiff_t>(guards), [](double s) { return s != 0.0; }))
    clear_guards();
  uncertain.insert(uncertain.end(), open.begin(), open.end());
}

// `sampling` says whether any other guards are watched. False: a linear guard has no values.
[[gnu::hot]] bool EventLocator::Impl::search_linear(std::span<const LinearGuard> linear, bool& sampling) {
  const DensePolynomial& step = composite.step();
  std::size_t others = 0;
  for (std::size_t k = 0; k < guards; ++k) {
    sides[k] = watch[k].side;
    others += watch[k].side != 0 ? 1 : 0;
  }
  bool finite = true;
  if (step.degree > Bernstein::max_degree) linear = {};
  for (const LinearGuard& guard : linear) {
    if (!fits(guard, guards, step.variables)) {
      throw UsageError(
          "EventLocator: a LinearGuard needs the number of a guard of the system, variables of the system, and one "
          "coefficient for each of them");
    }
    double& side = sides[static_cast<std::size_t>(guard.guard)];
    if (side == 0.0) continue;
    const Line line = line_of(guard, side, step);
    side = 0.0;
    --others;
    finite = finite && std::isfinite(line.c[0] + line.moved);
    if (line.c[0] * (1.0 - 1e-12) > line.moved || !finite) continue;  // far from zero, or nothing to be found
    const int k = guard.guard;
    double guard_noise = watch[k].noise > 0.0 ? watch[k].noise : 2.0 * eps * line.magnitude;
    // what the last coefficients add to the guard is noise, and a low degree keeps noise small where zeros are divided out
    int degree = line.degree;
    double dropped = 0.0;
    for (; degree > 1 && dropped + std::abs(line.c[static_cast<std::size_t>(degree)]) <= 0.125 * guard_noise; --degree)
      dropped += std::abs(line.c[static_cast<std::size_t>(degree)]);
    guard_noise += dropped;
    const std::span<const double> c(line.c.data(), static_cast<std::size_t>(degree) + 1);
    if (!crossing_of_line(k, c, guard_noise, line.magnitude)) roots_of_line(k, c, guard_noise, line.magnitude);
  }
  sampling = others > 0;
  return finite;
}

// The usual crossing, after a known simple zero at the start was divided out: its coefficients show that it is the only one, and it needs
// no isolation. False: roots_of_line has to look.
inline bool EventLocator::Impl::crossing_of_line(int k, std::span<const double> c, double guard_noise, double magnitude) {
  const int known = watch[k].known_root, degree = static_cast<int>(c.size()) - 1 - known;
  const double negligible = eps * magnitude;
  double level = guard_noise + 2.0 * static_cast<double>(c.size()) * negligible;  // the sums of coefficients are rounded
  if (known == 1) level *= 2.0 * (degree + 1) * (degree + 1);                     // as in Bernstein::deflate_start
  Zero zero;
  if (known > 1 || !falls_once(c.data() + known, degree, level, negligible, zero)) return false;
  if (known == 1) {  // back to the guard itself: what it is at the start moves its other zero
    zero.slope *= zero.s;
    const double shift = c[0] / zero.slope;
    if (std::abs(shift) < 0.25 * zero.s) zero.s = std::min(zero.s - shift, 1.0);
  }
  ++statistics.suspects;
  const double slope = std::abs(zero.slope), blur = std::min(1.0, guard_noise / slope);
  candidates.push_back({.guard = k, .guess = zero.s, .blur = blur, .noise_blur = blur, .slope = slope, .trust_low = known == 1});
  return true;
}

// Anything else: all roots.
void EventLocator::Impl::roots_of_line(int k, std::span<const double> c, double guard_noise, double magnitude) {
  Bernstein p = Bernstein::from_monomial(c, guard_noise);
  const double least = *std::min_element(p.b.begin(), p.b.begin() + c.size());
  if (least > 16.0 * eps * magnitude) return;
  ++statistics.suspects;
  const double last = p.b[static_cast<std::size_t>(p.degree)];
  rough = false;
  const int divided = divide_start(k, p);
  isolate_roots(p, roots, true);
  take_roots(k, p, divided, last, guard_noise + 16.0 * eps * magnitude);
}

}  // namespace saltus
