// The search, guard by guard and part by part (numerics: "Event location" in the developer documentation):
//   1. nine values of all guards; the Chebyshev coefficients of their interpolant bound it: a_0 - sum |a_k| > 0 clears
//   a guard;
//   2. what is left is fitted on 9, 17 or 33 points until its series ends in noise, or the step is halved;
//   3. a known zero at the start is divided out, the roots of the rest are isolated in Bernstein form;
//   4. the earliest way out of the locked side is refined on the guard itself.
#include "bracket.hpp"
#include "chebyshev_fit.hpp"
#include "composite.hpp"

#include <saltus/event/event_locator.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace saltus {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr int coarse_grid = 8;
// Guards whose noise was underestimated end in a flat series; below this part of their size it is taken for noise.
constexpr double flat_noise = 1e-6;
// A zero within the noise at the end of the step is looked for up to so many units beyond it.
constexpr double beyond_end = 64.0;

struct Piece {
  double low, high;  // in [0, 1]
  int depth;
};

struct Candidate {
  int guard;
  double low, guess, high;  // fractions of the step: u >= 0 at low (or low is the start), u < 0 at high
  double blur;              // how far the zero may be from the guess, as a fraction of the step
  double noise_blur;        // the part of it that noise of the guard makes
  bool at_start;
  bool trust_low;   // a divided-out zero: u >= 0 at low is known although the value may not show it
  bool may_vanish;  // within noise at the end of the step: an event only if the other side is reached
};

enum class Verdict { nothing, found, split, not_finite };

}  // namespace

struct EventLocator::Impl {
  EventOptions options;
  EventStatistics statistics;
  Composite composite;
  std::span<const GuardWatch> watch;
  std::size_t guards = 0;

  std::vector<double> rows;  // value of guard k at point j of the finest grid of the present piece: rows[j*guards + k]
  int sampled = 0;           // the finest grid that is sampled on the present piece
  Piece piece = {};
  std::vector<double> sides, margins, probe_row, noise;
  bool noise_known = false;
  std::vector<int> suspects;
  std::vector<Candidate> candidates;
  std::vector<GuardTouch> touches;
  bool proved = true, not_finite = false;
  double last_fraction = 1.0;  // the guards are finite up to here
  double finite_until = 0.0;
  double unit = 0.0;  // one unit in the last place of the largest |t|
  std::int64_t evaluations_before = 0;
  RootCells roots;

  bool earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> given, LocatedEvent& event);
  void begin(System& system, const DensePolynomial& step, std::span<const GuardWatch> given);
  void sample(int N);
  void first_test();
  Verdict search_piece();
  Verdict search_guard(int k);
  Verdict series(int k, Fit& fitted, std::array<double, finest_grid + 1>& u);
  void estimate_noise();
  double noise_of(int k, double magnitude);
  void take_roots(int k, const Bernstein& p, bool divided, double last_value);
  void shorten_to_finite();
  bool refine(Candidate& c, Bracket& bracket);
  bool choose(LocatedEvent& event);
  double u_at(int k, double t);
  bool exhausted() const { return composite.evaluations - evaluations_before > options.max_evaluations; }
};

void EventLocator::Impl::begin(System& system, const DensePolynomial& step, std::span<const GuardWatch> given) {
  const Structure& structure = system.structure();
  if (static_cast<int>(given.size()) != structure.guards) {
    throw UsageError("EventLocator: give one GuardWatch for each of the " + std::to_string(structure.guards) +
                     " guards of the system (side 0 for those not watched), not " + std::to_string(given.size()));
  }
  if (step.variables != structure.variables) {
    throw UsageError("EventLocator: the step has " + std::to_string(step.variables) + " variables, the system " +
                     std::to_string(structure.variables) + "; give the dense output of a step of this system");
  }
  composite.start(system, step);
  watch = given;
  guards = given.size();
  rows.resize((finest_grid + 1) * guards);
  sides.resize(guards);
  margins.resize(guards);
  probe_row.resize(guards);
  noise.resize(guards);
  suspects.reserve(guards);
  candidates.reserve(guards);
  touches.clear();
  candidates.clear();
  suspects.clear();
  noise_known = false;
  proved = true;
  not_finite = false;
  last_fraction = 1.0;
  finite_until = step.t1();
  const double largest = std::max(std::abs(step.t0), std::abs(step.t1()));
  unit = std::nextafter(largest, std::numeric_limits<double>::infinity()) - largest;
  evaluations_before = composite.evaluations;
}

// Evaluates the guards at the points of grid N of the present piece that no coarser grid had.
void EventLocator::Impl::sample(int N) {
  const int stride = finest_grid / N;
  for (int j = 0; j <= finest_grid; j += stride) {
    if (sampled != 0 && j % (finest_grid / sampled) == 0) continue;
    const double s = j == finest_grid ? piece.high : piece.low + (piece.high - piece.low) * grid_point(j);
    composite.at_fraction(s, rows.data() + static_cast<std::size_t>(j) * guards);
  }
  sampled = N;
}

// The least that an interpolant can be, from its Chebyshev coefficients; what the grid does not see is bounded by
// counting the upper half of them three times. `last` are the two last coefficients: a series that does not fall hides
// something between the points.
inline double least_value(double a0, double lower_half, double upper_half, double last) {
  const double least = a0 * (1.0 - 16.0 * eps) - lower_half - 3.0 * upper_half;
  const double falling = std::max(1e-3 * lower_half, 1e-13 * a0);
  return last <= falling ? least : -1.0;
}

// margins[k] > 0 proves that guard k stays on its side if it is of degree 8 or less in time. NaN clears nothing.
void EventLocator::Impl::first_test() {
  for (std::size_t k = 0; k < guards; ++k) sides[k] = watch[k].side;
  constexpr double c1 = 0.92387953251128675613, c2 = 0.70710678118654752440,
                   c3 = 0.38268343236508977173;  // cos(i pi/8)
  const double* row[9];
  for (int j = 0; j < 9; ++j) row[j] = rows.data() + static_cast<std::size_t>(4 * j) * guards;
  for (std::size_t k = 0; k < guards; ++k) {
    const double e0 = 0.5 * (row[8][k] + row[0][k]), e1 = row[7][k] + row[1][k], e2 = row[6][k] + row[2][k],
                 e3 = row[5][k] + row[3][k], e4 = row[4][k];
    const double o0 = 0.5 * (row[8][k] - row[0][k]), o1 = row[7][k] - row[1][k], o2 = row[6][k] - row[2][k],
                 o3 = row[5][k] - row[3][k];
    // four times the coefficients
    const double a0 = 0.5 * (e0 + e1 + e2 + e3 + e4), a8 = 0.5 * (e0 - e1 + e2 - e3 + e4);
    const double a2 = e0 - e4 + c2 * (e1 - e3), a6 = e0 - e4 - c2 * (e1 - e3), a4 = e0 + e4 - e2;
    const double p = o0 + c2 * o2, m = o0 - c2 * o2;
    const double a1 = p + c1 * o1 + c3 * o3, a7 = p - c1 * o1 - c3 * o3;
    const double a3 = m + c3 * o1 - c1 * o3, a5 = m - c3 * o1 + c1 * o3;
    const double last = std::abs(a7) + std::abs(a8);
    margins[k] = least_value(sides[k] * a0, std::abs(a1) + std::abs(a2) + std::abs(a3) + std::abs(a4),
                             std::abs(a5) + std::abs(a6) + last, last);
  }
  for (std::size_t k = 0; k < guards; ++k) {
    if (sides[k] != 0.0 && !(margins[k] > 0.0)) suspects.push_back(static_cast<int>(k));
  }
}

void EventLocator::Impl::estimate_noise() {
  noise_known = true;
  const int middle = finest_grid / 2;
  composite.sensitivity(piece.low + (piece.high - piece.low) * grid_point(middle),
                        rows.data() + static_cast<std::size_t>(middle) * guards, noise);
}

double EventLocator::Impl::noise_of(int k, double magnitude) {
  if (watch[k].noise > 0.0) return watch[k].noise;
  if (!noise_known) estimate_noise();
  return 2.0 * eps * (noise[static_cast<std::size_t>(k)] + magnitude);
}

// Fits guard k on the present piece. u: the values used, times the side.
Verdict EventLocator::Impl::series(int k, Fit& fitted, std::array<double, finest_grid + 1>& u) {
  std::array<double, finest_grid + 1> a;
  const double side = watch[k].side;
  for (int N = coarse_grid;; N *= 2) {
    if (sampled < N) sample(N);
    const int stride = finest_grid / N;
    double magnitude = 0.0, finite = 0.0;
    for (int j = 0; j <= finest_grid; j += stride) {
      const double value = side * rows[static_cast<std::size_t>(j) * guards + static_cast<std::size_t>(k)];
      u[static_cast<std::size_t>(j)] = value;
      magnitude = std::max(magnitude, std::abs(value));
      finite += 0.0 * value;
    }
    if (finite != 0.0) return Verdict::not_finite;
    chebyshev_coefficients(N, u.data(), stride, a.data());
    double rest = 0.0, tail = 0.0;
    for (int i = 1; i <= N; ++i) (i <= N / 2 ? rest : tail) += std::abs(a[static_cast<std::size_t>(i)]);
    const double last = std::abs(a[static_cast<std::size_t>(N) - 1]) + std::abs(a[static_cast<std::size_t>(N)]);
    if (least_value(a[0], rest, tail, last) > 0.0) return Verdict::nothing;
    fit(N, a.data(), magnitude, noise_of(k, magnitude), fitted);
    if (fitted.resolved) return Verdict::found;
    if (N < finest_grid) continue;
    if (fitted.tail <= options.fit_tolerance * magnitude) return Verdict::found;
    if (fitted.flat_tail && fitted.tail <= flat_noise * magnitude) break;
    if (piece.depth < options.max_depth && !exhausted()) return Verdict::split;
    break;
  }
  proved = false;
  return Verdict::found;
}

Verdict EventLocator::Impl::search_guard(int k) {
  Fit fitted;
  std::array<double, finest_grid + 1> u;
  const Verdict verdict = series(k, fitted, u);
  if (verdict != Verdict::found) return verdict;
  Bernstein& p = fitted.p;
  const auto without_sign = [&p](double b) { return std::abs(b) <= p.noise + p.degree * eps * p.magnitude(); };
  bool divided = false;
  if (piece.low == 0.0 && p.magnitude() > p.noise) {
    if (watch[k].known_root > 0) {
      for (int i = 0; i < watch[k].known_root; ++i) p.deflate_start();
      divided = true;
    } else {
      for (int i = 0; i < 2 && p.degree > 0 && without_sign(p.b[0]); ++i) {
        p.deflate_start();
        divided = true;
      }
    }
  }
  take_roots(k, p, divided, u[finest_grid]);
  return Verdict::nothing;
}

// Turns the roots of p, which has the sign of u on the present piece, into a candidate and touches.
void EventLocator::Impl::take_roots(int k, const Bernstein& p, bool divided, double last_value) {
  isolate_roots(p, roots, true);
  if (!roots.complete) proved = false;
  const double width = piece.high - piece.low;
  const auto place = [&](double s) { return s == 1.0 ? piece.high : piece.low + width * s; };
  const auto touch = [&](const RootCell& cell, RootKind kind) {
    touches.push_back({k, composite.time(place(cell.low)), composite.time(place(cell.high)), kind});
  };
  const bool first = piece.low == 0.0;
  if (roots.first_sign < 0 && roots.count == 0) {
    candidates.push_back({k, piece.low, piece.low, piece.high, 0.0, 0.0, first, divided, false});
    return;
  }
  for (const RootCell& cell : roots) {
    if (cell.after < 0) {
      Candidate c{k, place(cell.low), 0.0, place(cell.high), 0.0, 0.0, first && cell.before == 0, divided, false};
      if (cell.kind == RootKind::simple) {
        double slope = 0.0;
        c.guess = place(root_in(p, cell, slope));
        c.blur =
            std::min(c.high - c.low, width * p.noise / std::max(std::abs(slope), std::numeric_limits<double>::min()));
        c.noise_blur = c.blur;
      } else {
        c.guess = 0.5 * (c.low + c.high);
        c.blur = 0.5 * (c.high - c.low);
      }
      candidates.push_back(c);
      return;
    }
    if (cell.kind == RootKind::zero_at_end) {
      if (piece.high == last_fraction && last_value <= 0.0) {
        candidates.push_back({k, place(cell.low), piece.high, piece.high, 0.0, 0.0, false, divided, true});
      } else {
        touch(cell, RootKind::zero_at_end);
      }
    } else if (cell.kind == RootKind::even || cell.kind == RootKind::zero) {
      touch(cell, cell.kind);
    }
  }
}

Verdict EventLocator::Impl::search_piece() {
  ++statistics.pieces;
  if (sampled < coarse_grid) sample(coarse_grid);
  candidates.clear();
  const std::size_t known_touches = touches.size();
  for (const int k : suspects) {
    const Verdict verdict = search_guard(k);
    if (verdict == Verdict::split || verdict == Verdict::not_finite) {
      touches.resize(known_touches);
      return verdict;
    }
  }
  return candidates.empty() ? Verdict::nothing : Verdict::found;
}

// Ends the search before the first point of the present piece at which a suspect is not finite.
void EventLocator::Impl::shorten_to_finite() {
  not_finite = true;
  const auto good = [&](const double* row) {
    double sum = 0.0;
    for (const int k : suspects) sum += 0.0 * row[k];
    return sum == 0.0;
  };
  const int stride = finest_grid / sampled;
  double low = piece.low, high = piece.high;
  if (!good(rows.data())) {
    high = low;
  } else {
    for (int j = stride; j <= finest_grid; j += stride) {
      const double s = j == finest_grid ? piece.high : piece.low + (piece.high - piece.low) * grid_point(j);
      if (!good(rows.data() + static_cast<std::size_t>(j) * guards)) {
        high = s;
        break;
      }
      low = s;
    }
  }
  const double fine = unit / std::abs(composite.step().h);
  for (int i = 0; i < 80 && high - low > 2.0 * fine; ++i) {
    const double middle = 0.5 * (low + high);
    composite.at_fraction(middle, probe_row.data());
    (good(probe_row.data()) ? low : high) = middle;
  }
  last_fraction = low;
  finite_until = composite.time(low);
  piece.high = low;
  sampled = 0;
}

double EventLocator::Impl::u_at(int k, double t) {
  composite.at_time(t, probe_row.data());
  return watch[k].side * probe_row[static_cast<std::size_t>(k)];
}

// From a candidate to a bracket on the guard itself: outwards from the guess until both signs are seen, then inwards.
// False: the guard does not reach the other side.
bool EventLocator::Impl::refine(Candidate& c, Bracket& bracket) {
  const DensePolynomial& step = composite.step();
  const double direction = step.h < 0.0 ? -1.0 : 1.0;
  const auto u = [&](double t) { return u_at(c.guard, t); };
  const double t_start = step.t0, t_low = composite.time(c.low);
  double t = composite.time(c.guess);
  double stride = std::max(unit, std::abs(step.h) * c.blur);
  double value = u(t);
  if (value < 0.0) {
    bracket.t_out = t;
    bracket.u_out = value;
    for (;; stride *= 4.0) {
      if (bracket.t_out == t_start) {  // out from the beginning
        bracket.t_in = t_start;
        bracket.u_in = value;
        bracket.t_out = t_start + direction * unit;
        bracket.u_out = u(bracket.t_out);
        c.at_start = true;
        return true;
      }
      t = bracket.t_out - direction * stride;
      const bool at_low = direction * (bracket.t_out - t_low) > 0.0 && direction * (t - t_low) <= 0.0;
      if (at_low) t = t_low;
      if (direction * (t - t_start) < 0.0) t = t_start;
      value = u(t);
      if (value >= 0.0) break;
      if (at_low && c.trust_low) {
        value = 0.0;
        break;
      }
      bracket.t_out = t;
      bracket.u_out = value;
    }
    bracket.t_in = t;
    bracket.u_in = value;
  } else {
    bracket.t_in = t;
    bracket.u_in = value;
    double t_limit = composite.time(c.high);
    bool widened = false;
    for (;; stride *= 4.0) {
      t = bracket.t_in + direction * stride;
      if (direction * (t - t_limit) >= 0.0) {
        if (bracket.t_in == t_limit) {
          // The fit promised the other side here: look beyond, but not where there are no values.
          if (widened) return false;
          widened = true;
          t_limit = not_finite ? finite_until : step.t1() + direction * beyond_end * unit;
          if (c.may_vanish || t_limit == bracket.t_in) stride = unit;
          if (direction * (t_limit - bracket.t_in) <= 0.0) return false;
          t = bracket.t_in + direction * stride;
        }
        if (direction * (t - t_limit) > 0.0) t = t_limit;
      }
      value = u(t);
      if (!(value >= 0.0)) break;
      bracket.t_in = t;
      bracket.u_in = value;
    }
    bracket.t_out = t;
    bracket.u_out = value;
  }
  shrink(u, bracket, unit);
  // A zero exactly on a representable time belongs to neither side. Where rounding makes a plateau of zeros it may be a
  // long way back.
  for (double back = unit; bracket.u_in == 0.0 && back <= 1024.0 * unit; back *= 2.0) {
    t = bracket.t_in - direction * back;
    if (direction * (t - t_start) < 0.0) break;
    value = u(t);
    if (value > 0.0) {
      bracket.t_in = t;
      bracket.u_in = value;
    }
  }
  return std::isfinite(bracket.u_out);
}

// The earliest of the candidates, with those that fire together with it.
bool EventLocator::Impl::choose(LocatedEvent& event) {
  const double direction = composite.step().h < 0.0 ? -1.0 : 1.0;
  const double length = std::abs(composite.step().h);
  event.guards.clear();
  event.directions.clear();
  Bracket best;
  const Candidate* winner = nullptr;
  while (!candidates.empty()) {
    // Candidates are refined in the order of the earliest time that they may have.
    const auto earlier = [](const Candidate& x, const Candidate& y) { return x.guess - x.blur < y.guess - y.blur; };
    const auto first = std::min_element(candidates.begin(), candidates.end(), earlier);
    std::swap(*first, candidates.back());
    if (refine(candidates.back(), best)) {
      winner = &candidates.back();
      break;
    }
    touches.push_back({candidates.back().guard, composite.time(candidates.back().low),
                       composite.time(candidates.back().high), RootKind::zero_at_end});
    candidates.pop_back();
  }
  if (winner == nullptr) return false;
  // Others whose guess may lie before the end of the bracket: refined too if they are out at its beginning.
  double window = 0.0;
  const std::size_t others = candidates.size() - 1;
  for (std::size_t round = 0; round < 2 * others; ++round) {
    const double s = composite.fraction(best.t_in);
    double near = 0.0;
    bool any = false;
    const double same = options.simultaneous * unit;
    for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
      const Candidate& c = candidates[i];
      if (c.guess - c.blur > s + winner->blur + 8.0 * (same / length)) continue;
      any = true;
      near = std::max(near, same + std::min(length * (c.noise_blur + winner->noise_blur), 1e-9 * length));
    }
    window = near;
    if (!any) break;
    // Out before the window: earlier in truth.
    const double t_window = best.t_in - direction * window;
    const double t_check = direction * (t_window - composite.step().t0) > 0.0 ? t_window : composite.step().t0;
    composite.at_time(t_check, probe_row.data());
    std::size_t earlier = others;
    for (std::size_t i = 0; i < others && earlier == others; ++i) {
      const Candidate& c = candidates[i];
      if (c.trust_low && direction * (t_check - composite.time(c.low)) <= 0.0) continue;
      if (watch[c.guard].side * probe_row[static_cast<std::size_t>(c.guard)] < 0.0) earlier = i;
    }
    if (earlier == others) break;
    Bracket bracket;
    if (!refine(candidates[earlier], bracket) || direction * (bracket.t_in - best.t_in) >= 0.0) break;
    best = bracket;
    std::swap(candidates[earlier], candidates.back());
  }
  event.t_before = best.t_in;
  event.t_after = best.t_out;
  event.at_start = winner->at_start;
  event.guards.push_back(winner->guard);
  if (window > 0.0) {
    // All that are out at the end of the window fire.
    const double t_window = best.t_out + direction * window;
    composite.at_time(t_window, probe_row.data());
    bool later = false;
    for (std::size_t i = 0; i < others; ++i) {
      const int k = candidates[i].guard;
      if (watch[k].side * probe_row[static_cast<std::size_t>(k)] < 0.0) {
        event.guards.push_back(k);
        later = true;
      }
    }
    if (later) {
      event.t_after = t_window;
      const double t_before = best.t_in - direction * window;
      event.t_before = direction * (t_before - composite.step().t0) > 0.0 ? t_before : composite.step().t0;
    }
    std::sort(event.guards.begin(), event.guards.end());
  }
  for (const int k : event.guards) event.directions.push_back(static_cast<signed char>(-watch[k].side));
  return true;
}

bool EventLocator::Impl::earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> given,
                                  LocatedEvent& event) {
  begin(system, step, given);
  ++statistics.steps;
  if (guards == 0 || step.h == 0.0) return false;
  piece = {0.0, 1.0, 0};
  sampled = 0;
  sample(coarse_grid);
  first_test();
  if (suspects.empty()) return false;
  statistics.suspects += static_cast<std::int64_t>(suspects.size());
  std::array<Piece, 64> stack;
  int top = 0;
  for (;;) {
    switch (search_piece()) {
      case Verdict::found:
        if (choose(event)) {
          event.proved = proved;
          ++statistics.events;
          const double direction = step.h < 0.0 ? -1.0 : 1.0;
          std::erase_if(touches, [&](const GuardTouch& x) { return direction * (x.t_low - event.t_after) > 0.0; });
          return true;
        }
        break;
      case Verdict::nothing:
        break;
      case Verdict::split: {
        const double middle = 0.5 * (piece.low + piece.high);
        stack[static_cast<std::size_t>(top++)] = {middle, piece.high, piece.depth + 1};
        piece = {piece.low, middle, piece.depth + 1};
        sampled = 0;
        continue;
      }
      case Verdict::not_finite:
        shorten_to_finite();
        top = 0;
        if (piece.high <= piece.low || exhausted()) return false;
        continue;
    }
    if (top == 0) return false;
    piece = stack[static_cast<std::size_t>(--top)];
    sampled = 0;
  }
}

EventLocator::EventLocator(EventOptions options) : impl_(std::make_unique<Impl>()) {
  if (options.max_depth < 0 || options.max_depth > 60)
    throw UsageError("EventOptions: max_depth must be between 0 and 60");
  impl_->options = options;
}
EventLocator::~EventLocator() = default;
EventLocator::EventLocator(EventLocator&&) noexcept = default;
EventLocator& EventLocator::operator=(EventLocator&&) noexcept = default;

bool EventLocator::earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> watch,
                            LocatedEvent& event) {
  const bool found = impl_->earliest(system, step, watch, event);
  impl_->statistics.evaluations += impl_->composite.evaluations - impl_->evaluations_before;
  return found;
}

std::span<const GuardTouch> EventLocator::touches() const {
  return impl_->touches;
}
bool EventLocator::proved() const {
  return impl_->proved;
}
bool EventLocator::not_finite() const {
  return impl_->not_finite;
}
double EventLocator::finite_until() const {
  return impl_->finite_until;
}
const EventStatistics& EventLocator::statistics() const {
  return impl_->statistics;
}

}  // namespace saltus
