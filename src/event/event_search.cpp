// From the values of guards to the places where they leave their sides:
//   1. nine values of all guards; the Chebyshev coefficients of their interpolant bound it: a_0 - sum |a_k| > 0 clears
//   a guard;
//   2. what is left is fitted on 9, 17 or 33 points until its roots stand out clearly from what the fit may be wrong by, or
//   until its series ends in noise; if neither happens, the piece has to be halved;
//   3. a zero at the start is divided out, the roots of the rest are isolated in Bernstein form.
#include "event_locator_impl.hpp"

#include <algorithm>
#include <cmath>

#include "base/finite.hpp"

namespace saltus {
namespace {

// Guards whose noise was underestimated end in a flat series; below this part of their size it is taken for noise.
constexpr double flat_noise = 1e-6;

}  // namespace

// Evaluates the guards at the points of grid N of the present piece that no coarser grid had.
void EventLocator::Impl::sample(int N) {
  const int stride = finest_grid / N;
  for (int j = 0; j <= finest_grid; j += stride) {
    if (sampled != 0 && j % (finest_grid / sampled) == 0) continue;
    const double s = j == finest_grid ? piece.high : piece.low + (piece.high - piece.low) * grid_point(j);
    composite.at_fraction(s, rows.data() + static_cast<std::size_t>(j) * guards);
  }
  sampled = N;
  fineness = std::max(fineness, N / (piece.high - piece.low));
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
  for (std::size_t k = 0; k < guards; ++k) {
    double u[9], a[9];
    for (std::size_t j = 0; j < 9; ++j) u[j] = rows[4 * j * guards + k];
    chebyshev_coefficients_8(u, a);
    const double last = std::abs(a[7]) + std::abs(a[8]);
    margins[k] = least_value(sides[k] * a[0], std::abs(a[1]) + std::abs(a[2]) + std::abs(a[3]) + std::abs(a[4]),
                             std::abs(a[5]) + std::abs(a[6]) + last, last);
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

// A series that falls but has not reached the noise: if every root stands out clearly from what the points between may hide
// (as in the first test, the upper half of the coefficients bounds it), the fit is good enough, for the event itself is refined
// on the guard. The fit is divided and its roots are isolated then.
bool EventLocator::Impl::stands_out(int k, int N, const double* a, double upper_half, double magnitude, Fit& fitted, int& divided) {
  fitted.p = Bernstein::from_chebyshev({a, static_cast<std::size_t>(N) + 1}, 2.0 * upper_half + 1e-13 * magnitude);
  if (watch[k].known_root == 0 && std::abs(fitted.p.b[0]) <= 2.0 * fitted.p.noise) return false;  // a zero at the start needs all digits
  divided = piece.low == 0.0 ? divide_start(k, fitted.p) : 0;
  isolate_roots(fitted.p, roots, true);
  return roots.complete && roots.first_sign > 0 &&
         std::all_of(roots.begin(), roots.end(), [](const RootCell& cell) { return cell.kind == RootKind::simple; });
}

// Fits guard k on the present piece and isolates the roots. u: the values used, times the side; divided: how often a zero at the start was
// divided out.
Verdict EventLocator::Impl::series(int k, Fit& fitted, std::array<double, finest_grid + 1>& u, int& divided) {
  rough = false;
  const Verdict verdict = fit_series(k, fitted, u, divided);
  if (verdict == Verdict::found && !rough) {
    divided = piece.low == 0.0 ? divide_start(k, fitted.p) : 0;
    isolate_roots(fitted.p, roots, true);
  }
  return verdict;
}

Verdict EventLocator::Impl::fit_series(int k, Fit& fitted, std::array<double, finest_grid + 1>& u, int& divided) {
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
    if (N <= Bernstein::max_degree && last <= 1e-3 * rest && stands_out(k, N, a.data(), tail, magnitude, fitted, divided)) {
      fitted.resolved = rough = true;
      return Verdict::found;
    }
    fit(N, a.data(), magnitude, noise_of(k, magnitude), fitted);
    if (fitted.resolved) return Verdict::found;
    if (N < finest_grid) continue;
    if (fitted.tail <= options.fit_tolerance * magnitude) return Verdict::found;
    if (fitted.flat_tail && fitted.tail <= flat_noise * magnitude) {
      fitted.resolved = true;  // as far as it can be
      break;
    }
    if (piece.depth < options.max_depth && !exhausted()) return Verdict::split;
    break;
  }
  not_resolved(k);
  return Verdict::found;
}

// A zero at the start of the step, known or within the noise, is divided out; returns how often.
int EventLocator::Impl::divide_start(int k, Bernstein& p) const {
  int divided = 0;
  if (p.magnitude() <= p.noise) return divided;
  const int known = watch[k].known_root;
  for (int i = 0; i < (known > 0 ? known : 2) && p.degree > 0; ++i) {
    if (known == 0 && std::abs(p.b[0]) > p.noise + p.degree * eps * p.magnitude()) break;
    p.deflate_start();
    ++divided;
  }
  return divided;
}

Verdict EventLocator::Impl::search_guard(int k) {
  Fit fitted;
  std::array<double, finest_grid + 1> u;
  int divided = 0;
  const Verdict verdict = series(k, fitted, u, divided);
  if (verdict != Verdict::found) return verdict;
  const std::size_t known_candidates = candidates.size();
  const bool assumed = divided > 0 && watch[k].known_root == 0;
  const double last = u[finest_grid], noise_of_last = last < 0.0 ? noise_of(k, fitted.p.magnitude()) : 0.0;
  if ((take_roots(k, fitted.p, divided, last, noise_of_last) && !assumed) || fitted.resolved) return Verdict::nothing;
  // Below resolution, but of this fit, not of the guard.
  if (piece.depth == options.max_depth || exhausted()) return Verdict::nothing;
  candidates.resize(known_candidates);
  return Verdict::split;
}

// The place where p, fitted on a piece, leaves its side.
Candidate EventLocator::Impl::crossing(int k, const Bernstein& p, const RootCell& cell, const Piece& where, int divided) {
  const double width = where.high - where.low;
  const auto place = [&](double s) { return s == 1.0 ? where.high : where.low + width * s; };
  Candidate c{.guard = k, .low = place(cell.low), .high = place(cell.high), .trust_low = divided > 0};
  if (cell.kind == RootKind::simple) {
    double slope = 0.0;
    const double s = root_in(p, cell, slope);
    c.guess = place(s);
    c.blur = std::min(c.high - c.low, width * p.noise / std::max(std::abs(slope), std::numeric_limits<double>::min()));
    c.noise_blur = c.blur;
    if (rough) {
      c.fit_noise = p.noise;
      c.magnitude = p.magnitude();
    }
    for (int i = 0; i < divided; ++i) slope *= s;  // of the guard itself
    c.slope = std::abs(slope) / width;
  } else {
    c.guess = 0.5 * (c.low + c.high);
    c.blur = 0.5 * (c.high - c.low);
  }
  return c;
}

// An even cell is as wide as the noise of the fit over the whole piece makes it. Near a touch the guard is often known
// much better: it is fitted once more on the surroundings of the cell alone, which may show two crossings, a narrower
// touch, or that it stays clear of zero. A guard whose own rounding errors are all that can be seen there has a series
// that does not end, and stays undecided.
Closer EventLocator::Impl::look_closer(int k, double& low, double& high) {
  const double width = high - low, left = std::max(piece.low, low - width), right = std::min(piece.high, high + width);
  if ((right - left) * std::abs(composite.step().h) < 64.0 * unit || exhausted()) return Closer::undecided;
  std::array<double, finest_grid + 1> u, a;
  const double side = watch[k].side;
  double magnitude = 0.0, finite = 0.0;
  for (int j = 0; j <= finest_grid; ++j) {
    double* row = j == 0 ? closer_row.data() : probe_row.data();
    composite.at_fraction(left + (right - left) * grid_point(j), row);
    const double value = side * row[k];
    u[static_cast<std::size_t>(j)] = value;
    magnitude = std::max(magnitude, std::abs(value));
    finite += 0.0 * value;
  }
  if (finite != 0.0) return Closer::undecided;
  double level = watch[k].noise;
  if (level <= 0.0) {
    composite.sensitivity(left, closer_row.data(), closer_noise);  // the slope is larger there than in the middle
    level = 4.0 * eps * (closer_noise[static_cast<std::size_t>(k)] + magnitude);
  }
  Fit fitted;
  rough = false;
  chebyshev_coefficients(finest_grid, u.data(), 1, a.data());
  fit(finest_grid, a.data(), magnitude, level, fitted);
  if (!fitted.resolved) return Closer::undecided;
  isolate_roots(fitted.p, closer_roots, true);
  if (closer_roots.first_sign <= 0 || !closer_roots.complete) return Closer::undecided;
  for (const RootCell& cell : closer_roots) {
    if (cell.after < 0) {
      candidates.push_back(crossing(k, fitted.p, cell, {left, right, 0}, 0));
      candidates.back().closer = true;
      return Closer::crossing;
    }
    if (cell.kind != RootKind::even) return Closer::undecided;
    low = left + (right - left) * cell.low;
    high = left + (right - left) * cell.high;
    return Closer::touch;
  }
  return Closer::nothing;
}

// Turns the isolated roots of p, which has the sign of u on the present piece, into a candidate and touches. False: some of them
// are below the resolution of p.
bool EventLocator::Impl::take_roots(int k, const Bernstein& p, int divided, double last_value, double noise_of_last) {
  if (!roots.complete) not_resolved(k);
  const std::size_t known_candidates = candidates.size(), known_touches = touches.size();
  const double width = piece.high - piece.low;
  const auto place = [&](double s) { return s == 1.0 ? piece.high : piece.low + width * s; };
  const auto touch = [&](const RootCell& cell, RootKind kind) {
    const double t_low = composite.time(place(cell.low)), t_high = composite.time(place(cell.high));
    if (!touches.empty() && touches.back().guard == k && touches.back().t_high == t_low) {
      // a zero across the border of two pieces
      touches.back().t_high = t_high;
      if (touches.back().kind != kind) touches.back().kind = RootKind::zero;
    } else {
      touches.push_back({k, t_low, t_high, kind});
    }
  };
  const bool first = piece.low == 0.0;
  if (roots.first_sign < 0 && roots.count == 0) {
    candidates.push_back({.guard = k, .low = piece.low, .guess = piece.low, .high = piece.high, .at_start = first, .trust_low = divided > 0});
    return true;
  }
  bool clear = true;
  for (const RootCell& cell : roots) {
    clear = clear && cell.kind == RootKind::simple;
    if (cell.after < 0) {
      candidates.push_back(crossing(k, p, cell, piece, divided));
      candidates.back().at_start = first && cell.before == 0;
      break;
    }
    if (cell.kind == RootKind::zero_at_end) {
      if (piece.high == last_fraction && last_value <= 0.0) {
        candidates.push_back(
            {.guard = k, .low = place(cell.low), .guess = piece.high, .high = piece.high, .trust_low = divided > 0, .may_vanish = true});
      } else {
        touch(cell, RootKind::zero_at_end);
      }
    } else if (cell.kind == RootKind::even && cell.low > 0.0 && cell.high < 1.0) {
      double low = place(cell.low), high = place(cell.high);
      const Closer closer = look_closer(k, low, high);
      if (closer == Closer::crossing) break;
      if (closer == Closer::nothing) continue;
      touch({(low - piece.low) / width, (high - piece.low) / width, RootKind::even}, RootKind::even);
    } else if (cell.kind == RootKind::even || cell.kind == RootKind::zero) {
      touch(cell, cell.kind);
    }
  }
  // Dividing out a zero multiplies the noise. Whatever it hides, a guard that is out at the end has left before.
  if (candidates.size() == known_candidates && last_value < -noise_of_last) {
    touches.resize(known_touches);
    candidates.push_back(
        {.guard = k, .low = piece.low, .guess = piece.high, .high = piece.high, .blur = 0.125 * width, .trust_low = divided > 0});
  }
  return clear;
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
  add_linear();
  return candidates.empty() ? Verdict::nothing : Verdict::found;
}

// Linear guards were searched over the whole step; what may lie in the present piece competes there.
void EventLocator::Impl::add_linear() {
  for (const Candidate& c : linear_candidates) {
    if (c.guess - c.blur <= piece.high) candidates.push_back(c);
  }
}

}  // namespace saltus
