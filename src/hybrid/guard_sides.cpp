#include "hybrid/guard_sides.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hybrid/large_modes.hpp"
#include "hybrid/short_lists.hpp"
#include "base/finite.hpp"

namespace saltus {

namespace {
constexpr int low_order = 3, taylor_order = 8;
constexpr int series_order = 4;           // of modes that are not explicit, whose coefficients cost more
constexpr double series_accuracy = 1e-11;  // relative, of such coefficients
constexpr double golden = 0.6180339887498949;  // its multiples, modulo 1, are irregular
constexpr double shift = 4.0 * eps;  // by how much arguments are moved to see the effect of rounding errors

/// Gives derivatives the rounding errors that they may have, each its own. Without them a guard that is conserved (an energy, a
/// radius) would seem to be free of noise: it vanishes beside the point, too, up to rounding errors that may happen to agree.
void disturb(std::span<double> derivatives, double dice = 0.5) {
  for (double& value : derivatives) {
    dice += golden;
    if (dice >= 1.0) dice -= 1.0;
    value *= 1.0 + (dice < 0.5 ? -shift : shift) * (0.5 + std::abs(dice - 0.5));
  }
}

double slope_error(const GuardSides::Doubt& doubt, std::size_t guard) {
  return guard < doubt.slope_error.size() ? doubt.slope_error[guard] : 0.0;
}
}  // namespace

void GuardSides::look(System& system, Consistency& consistency, double t, std::span<const double> x, std::span<const double> xp,
                      int direction, double scale, const Doubt& doubt) {
  const Structure& structure = system.structure();
  const Linear linear = all_linear(system);
  const bool explicit_ode = structure.taylor && structure.explicit_ode;
  if (explicit_ode && !linear.empty() && doubt.twin.empty() && doubt.tangential == 0.0) {
    if (!look_along(linear, system, t, x, xp, direction, doubt)) use_taylor(system, linear, t, x, direction, doubt);
    return give_back(x.size(), x_, xp_, solution_, factors_);
  }
  const auto count = static_cast<std::size_t>(structure.guards);
  resize(g_, count);
  resize(seen_, count);
  zeros_.clear();
  if (count == 0) return;
  system.guards(t, x, xp, g_);
  if (linear.empty())
    estimate_noise(system, t, x, xp);
  for (const LinearGuard& guard : linear) estimate_noise(guard, t, x, xp);
  if (!doubt.twin.empty()) raise_noise(system, t, doubt.twin, xp);
  if (decide_by_values(doubt.noise)) return give_back(x.size(), x_, xp_);
  if (explicit_ode) {
    if (doubt.tangential > 0.0 || !use_slopes(system, t, x, xp, direction, doubt)) use_taylor(system, linear, t, x, direction, doubt);
  } else if ((doubt.tangential > 0.0 || !use_linear_slopes(linear, xp, direction, scale, doubt)) &&
             !use_series(system, consistency, t, x, direction, scale, doubt)) {
    use_difference(system, t, x, xp, direction, scale);
  }
  give_back(x.size(), x_, xp_, solution_, factors_);
}

bool GuardSides::decide_by_values(std::span<const double> least_noise) {
  for (std::size_t k = 0; k < g_.size(); ++k)
    if (!seen_[k].decide_by_value(g_[k], k < least_noise.size() ? least_noise[k] : 0.0))
      zeros_.push_back(static_cast<int>(k));
  return all_decided();
}

bool GuardSides::all_decided() const {
  return std::all_of(zeros_.begin(), zeros_.end(), [&](int k) {
    return seen_[static_cast<std::size_t>(k)].side != 0 || std::binary_search(ignored_.begin(), ignored_.end(), k);
  });
}

// How much a guard moves when every argument moves by a few units in the last place, and while time moves as far as it is known.
[[gnu::hot]] void GuardSides::estimate_noise(const LinearGuard& guard, double t, std::span<const double> x, std::span<const double> xp) {
  const double instant = 8.0 * eps * std::abs(t);  // some units in the last place of time
  double size = std::abs(guard.time * t), slope = guard.time;
  for (std::size_t i = 0; i < guard.variables.size(); ++i) {
    const auto j = static_cast<std::size_t>(guard.variables[i]);
    size += std::abs(guard.coefficients[i] * x[j]);
    slope += guard.coefficients[i] * xp[j];
  }
  Seen& seen = seen_[static_cast<std::size_t>(guard.guard)];
  seen.rounding = shift * size;
  seen.noise = std::max(seen.rounding, std::abs(slope) * instant);
  if (!std::isfinite(seen.noise)) seen.noise = 0.0;
}

void GuardSides::estimate_noise(System& system, double t, std::span<const double> x, std::span<const double> xp) {
  resize(x_, x.size());
  resize(xp_, xp.size());
  for (Seen& seen : seen_) seen.noise = 0.0;
  for (const int pattern : {0x55555555, 0x33333333, -1}) {
    const auto sign = [pattern](std::size_t j) { return (pattern >> (j % 31)) & 1 ? 1.0 : -1.0; };
    for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] * (1.0 + shift * sign(j));
    for (std::size_t j = 0; j < xp.size(); ++j) xp_[j] = xp[j] * (1.0 + shift * sign(j + 1));
    raise_noise(system, t * (1.0 + shift * sign(x.size())), x_, xp_);
  }
  for (Seen& seen : seen_) seen.rounding = seen.noise;
  const double instant = 8.0 * eps * std::abs(t);
  for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] + instant * xp[j];
  raise_noise(system, t + instant, x_, xp);
}

/// What guards are at this point beside the one that is looked at means nothing.
void GuardSides::raise_noise(System& system, double t, std::span<const double> x, std::span<const double> xp) {
  resize(shifted_, g_.size());
  system.guards(t, x, xp, shifted_);
  for (std::size_t k = 0; k < g_.size(); ++k)
    if (std::isfinite(shifted_[k])) seen_[k].noise = std::max(seen_[k].noise, std::abs(shifted_[k] - g_[k]));
}

void GuardSides::rest_on_invariants(System& system, double t, std::span<const double> x, std::span<const double> xp, std::span<const double> size) {
  constexpr double beside = 1e-5, remains = 1e-8;  // a guard that is curved there leaves a part of the order of `beside`
  const std::size_t count = g_.size();
  if (std::none_of(zeros_.begin(), zeros_.end(), [&](int k) { return multiplicity(k) > 0; })) return;
  std::vector<double> there(x.begin(), x.end()), moved(count), back(count);
  double dice = 0.25;
  for (std::size_t j = 0; j < x.size(); ++j) {
    dice = std::fmod(dice + golden, 1.0);
    there[j] += (dice < 0.5 ? -beside : beside) * (0.5 + std::abs(dice - 0.5)) * (std::abs(x[j]) + size[std::min(j, size.size() - 1)]);
  }
  system.guards(t, there, xp, moved);
  if (!system.project(t, there)) return;
  system.guards(t, there, xp, back);
  for (const int guard : zeros_) {
    const auto k = static_cast<std::size_t>(guard);
    Seen& seen = seen_[k];
    const double change = std::abs(moved[k] - g_[k]);  // none: it does not depend on the state
    if (seen.multiplicity == 0 || change == 0.0 || !(std::abs(back[k] - g_[k]) <= remains * change)) continue;
    seen.side = 0;
    seen.multiplicity = 2;
    seen.slope = 0.0;
  }
}

// By irregular amounts (multiples of the golden ratio, modulo 1): in the difference of two values they do not cancel.
[[gnu::hot]] std::span<const double> GuardSides::shifted(std::span<const double> x) {
  if (factors_.size() < x.size()) {
    factors_.clear();
    double dice = 0.25;
    for (std::size_t j = 0; j < x.size(); ++j) {
      dice += golden;
      if (dice >= 1.0) dice -= 1.0;
      const double size = 0.5 + std::abs(dice - 0.5);
      factors_.push_back(1.0 + (dice < 0.5 ? -shift : shift) * size);
    }
  }
  resize(x_, x.size());
  for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] * factors_[j];
  return x_;
}

[[gnu::hot]] bool GuardSides::look_along(Linear linear, System& system, double t, std::span<const double> x, std::span<const double> xp, int direction,
                            const Doubt& doubt) {
  resize(g_, linear.size());
  resize(seen_, linear.size());
  zeros_.clear();
  system.guards(t, x, xp, g_);
  for (const LinearGuard& guard : linear) estimate_noise(guard, t, x, xp);
  if (decide_by_values(doubt.noise)) return true;
  resize(solution_, x.size());  // the derivatives beside
  system.rhs(t * (1.0 + shift), shifted(x), solution_);
  for (const LinearGuard& guard : linear) {
    Seen& seen = seen_[static_cast<std::size_t>(guard.guard)];
    if (seen.side != 0) continue;
    const double error = slope_error(doubt, static_cast<std::size_t>(guard.guard));
    const double slope = slope_of(guard, xp, guard.time + error), beside = slope_of(guard, solution_, guard.time + error);
    if (std::abs(slope) > 4.0 * std::abs(beside - slope) + std::numeric_limits<double>::min())
      seen.decide(slope, direction);
  }
  return all_decided();
}

// First derivatives decide most crossings, and need no expansion of the solution. Returns whether they decided all. They count if they are
// larger than what rounding errors of the arguments make of them; see use_taylor.
bool GuardSides::use_slopes(System& system, double t, std::span<const double> x, std::span<const double> xp, int direction,
                            const Doubt& doubt) {
  const std::size_t n = x.size(), count = g_.size();
  resize(solution_, 2 * n);
  const auto velocity = std::span(solution_).subspan(n);
  const auto find_slopes = [&](double when, std::span<const double> point, std::vector<double>& series) {
    std::copy(point.begin(), point.end(), solution_.begin());
    if (point.data() == x.data()) {
      std::copy(xp.begin(), xp.end(), velocity.begin());
    } else {
      system.rhs(when, point, velocity);
      if (point.data() == x_.data()) disturb(velocity);
    }
    series.resize(2 * count);
    system.guards_taylor(when, 1, solution_, series);
  };
  find_slopes(t, x, series_);
  find_slopes(t * (1.0 + shift), shifted(x), shifted_);
  if (!doubt.twin.empty()) find_slopes(t, doubt.twin, twin_series_);
  for (std::size_t k = 0; k < count; ++k) {
    if (seen_[k].side != 0) continue;
    double noise = 4.0 * std::abs(shifted_[count + k] - series_[count + k]) + std::numeric_limits<double>::min();
    if (!doubt.twin.empty()) noise += 4.0 * std::abs(twin_series_[count + k] - series_[count + k]);
    const double slope = series_[count + k] + slope_error(doubt, k);
    if (std::abs(slope) > noise) seen_[k].decide(slope, direction);
  }
  return all_decided();
}

void GuardSides::use_taylor(System& system, Linear linear, double t, std::span<const double> x, int direction, const Doubt& doubt) {
  const std::size_t n = x.size(), count = g_.size();
  std::vector<const LinearGuard*> open;  // of which nothing is known yet
  for (const LinearGuard& guard : linear)
    if (seen_[static_cast<std::size_t>(guard.guard)].side == 0) open.push_back(&guard);
  for (const int order : {low_order, taylor_order}) {  // mostly the second derivative decides
    const auto find_guards = [&](double when, std::vector<double>& series) {
      series.resize(count * static_cast<std::size_t>(order + 1));
      if (linear.empty())
        system.guards_taylor(when, order, solution_, series);
      else
        for (std::size_t i = 1; i <= static_cast<std::size_t>(order); ++i)
          for (const LinearGuard* guard : open)
            series[i * count + static_cast<std::size_t>(guard->guard)] =
                slope_of(*guard, std::span(solution_).subspan(i * n, n)) - (i > 1 ? guard->time : 0.0);
    };
    const auto expand = [&](double when, std::span<const double> point, std::vector<double>& series) {
      solution_.assign(n * static_cast<std::size_t>(order + 2), 0.0);
      std::copy(point.begin(), point.end(), solution_.begin());
      system.solution_taylor(when, order + 1, solution_);
      find_guards(when, series);
    };
    // A coefficient counts if it is larger than what rounding errors of its arguments make of it; its size compared with the
    // others says nothing: a ball that leaves the floor at 1e-9 m/s still leaves it.
    expand(t * (1.0 + shift), shifted(x), shifted_);
    if (!doubt.twin.empty()) expand(t, doubt.twin, twin_series_);
    expand(t, x, series_);
    for (const double seed : {0.1, 0.35, 0.6, 0.85}) {  // one of them may happen to disturb nothing
      disturb(std::span(solution_).subspan(n), seed);
      find_guards(t, disturbed_);
      for (std::size_t k = count; k < series_.size(); ++k)
        if (std::abs(disturbed_[k] - series_[k]) > std::abs(shifted_[k] - series_[k])) shifted_[k] = disturbed_[k];
    }
    const int last = order == taylor_order ? order : order - 1;  // the noise of a coefficient needs the next one
    choose_sides(last, t, direction, false, doubt);
    if (all_decided()) return;
  }
}

// The slopes of linear guards in a mode that is not explicit, whose x' has the accuracy of its iteration: relative to what it was made of,
// which the guard does not show. A slope is clear if it moves the guard by more than its noise before other derivatives matter. Returns whether
// they decided all.
bool GuardSides::use_linear_slopes(Linear linear, std::span<const double> xp, int direction, double scale, const Doubt& doubt) {
  const double soon = 1e-3 * scale;
  for (const LinearGuard& guard : linear) {
    Seen& seen = seen_[static_cast<std::size_t>(guard.guard)];
    if (seen.side != 0) continue;
    double size = std::abs(guard.time);
    for (std::size_t i = 0; i < guard.variables.size(); ++i)
      size += std::abs(guard.coefficients[i] * xp[static_cast<std::size_t>(guard.variables[i])]);
    const double slope = slope_of(guard, xp) + slope_error(doubt, static_cast<std::size_t>(guard.guard));
    if (std::abs(slope) > 4.0 * series_accuracy * size + seen.noise / soon) seen.decide(slope, direction);
  }
  return all_decided();
}

// The same with the coefficients of a mode that is not explicit. They come from iterations, whose accuracy decides.
bool GuardSides::use_series(System& system, Consistency& consistency, double t, std::span<const double> x,
                            int direction, double scale, const Doubt& doubt) {
  if (!consistency.series(system, t, x, series_order, solution_)) return false;
  const std::size_t count = g_.size();
  series_.resize(count * (series_order + 1));
  shifted_.resize(series_.size());
  system.guards_taylor(t, series_order, solution_, series_);
  // errors of one pattern may cancel in a guard: of two, the one that it shows more clearly counts
  const auto sign = [](std::size_t j, std::size_t period) { return j % period == 0 ? 1.0 : -1.0; };
  for (std::size_t j = 0; j < solution_.size(); ++j) solution_[j] *= 1.0 + series_accuracy * sign(j, 2);
  system.guards_taylor(t * (1.0 + shift), series_order, solution_, shifted_);
  for (std::size_t j = 0; j < solution_.size(); ++j) solution_[j] *= 1.0 + series_accuracy * (sign(j, 3) - sign(j, 2));
  twin_series_.resize(series_.size());
  system.guards_taylor(t * (1.0 - shift), series_order, solution_, twin_series_);
  for (std::size_t k = 0; k < series_.size(); ++k)
    if (std::abs(twin_series_[k] - series_[k]) > std::abs(shifted_[k] - series_[k])) shifted_[k] = twin_series_[k];
  choose_sides(series_order, t, direction, true,
               {.slope_error = doubt.slope_error, .tangential = doubt.tangential, .horizon = scale});
  return true;
}

/// For how long a coefficient outweighs each of the next.
double GuardSides::lasts(std::size_t guard, int i, int last) const {
  const auto size = [&](int order) { return std::abs(series_[static_cast<std::size_t>(order) * g_.size() + guard]); };
  double time = std::numeric_limits<double>::infinity();
  for (int j = i + 1; j <= last; ++j) time = std::min(time, std::pow(size(i) / size(j), 1.0 / (j - i)));
  return time;
}

/// How far it takes the guard until then; the last one, which nothing outweighs, until the horizon.
double GuardSides::excursion(std::size_t guard, int i, int last, double horizon) const {
  const double time = i < last ? lasts(guard, i, last) : horizon;
  return std::abs(series_[static_cast<std::size_t>(i) * g_.size() + guard]) * std::pow(time, i);
}

/// The first coefficient of each vanishing guard that rounding errors (shifted_), the resolution of time and the twin do not explain.
/// `errors_unknown`: those of the coefficients themselves do not show, as long as they do not take the guard out of its noise.
void GuardSides::choose_sides(int last, double t, int direction, bool errors_unknown, const Doubt& doubt) {
  const double instant = 8.0 * eps * std::abs(t);  // what happens within it has happened at t
  const std::size_t count = g_.size();
  for (const int guard : zeros_) {
    const auto k = static_cast<std::size_t>(guard);
    Seen& seen = seen_[k];
    if (seen.side != 0) continue;
    seen.multiplicity = 2;
    double sign = 1.0;
    for (int i = 1; i <= last; ++i) {
      sign *= direction;
      const std::size_t place = static_cast<std::size_t>(i) * count + k;
      double noise = 4.0 * std::abs(shifted_[place] - series_[place]) + std::numeric_limits<double>::min();
      if (place + count < series_.size()) noise += (i + 1) * std::abs(series_[place + count]) * instant;
      if (!doubt.twin.empty()) noise += 4.0 * std::abs(twin_series_[place] - series_[place]);
      const double coefficient = series_[place] + (i == 1 ? slope_error(doubt, k) : 0.0);
      seen.undefined = !std::isfinite(coefficient);
      if (seen.undefined) break;
      if (!(std::abs(coefficient) > noise) || (errors_unknown && !(excursion(k, i, last, doubt.horizon) > seen.noise)))
        continue;
      if (doubt.tangential > 0.0 && lasts(k, i, last) < doubt.tangential) continue;
      seen.side = coefficient * sign > 0.0 ? +1 : -1;
      seen.multiplicity = i;
      seen.slope = series_[count + k];
      break;
    }
  }
}

std::vector<double> GuardSides::coefficients(int order, System& system, Consistency& consistency, double t, std::span<const double> x, int guard) {
  const auto guards = static_cast<std::size_t>(system.structure().guards), count = static_cast<std::size_t>(order) + 1;
  std::vector<double> X, G(count * guards), c(count, std::numeric_limits<double>::quiet_NaN());
  if (!consistency.series(system, t, x, order, X)) return c;
  system.guards_taylor(t, order, X, G);
  for (std::size_t i = 0; i < count; ++i) c[i] = G[i * guards + static_cast<std::size_t>(guard)];
  return c;
}

double GuardSides::speed(System& system, Consistency& consistency, double t, std::span<const double> x, int guard) {
  return coefficients(1, system, consistency, t, x, guard)[1];
}

std::vector<double> GuardSides::speeds(System& system, Consistency& consistency, double t, std::span<const double> x) {
  const auto guards = static_cast<std::size_t>(system.structure().guards);
  std::vector<double> X, G(2 * guards, std::numeric_limits<double>::quiet_NaN());
  if (consistency.series(system, t, x, 1, X)) system.guards_taylor(t, 1, X, G);
  return {G.begin() + static_cast<std::ptrdiff_t>(guards), G.end()};
}

double GuardSides::bend(System& system, Consistency& consistency, double t, std::span<const double> x, int guard) {
  return 2.0 * coefficients(2, system, consistency, t, x, guard)[2];
}

std::vector<double> GuardSides::uncertainty(System& system, double t, std::span<const double> x, std::span<const double> xp,
                                            std::span<const double> rtol, std::span<const double> atol) {
  const auto count = static_cast<std::size_t>(system.structure().guards);
  std::vector<double> g(count), shifted(count), result(count, 0.0), x_beside(x.size()), xp_beside(xp.size());
  system.guards(t, x, xp, g);
  for (const int pattern : {0x55555555, 0x33333333, -1}) {
    const auto sign = [pattern](std::size_t j) { return (pattern >> (j % 31)) & 1 ? 1.0 : -1.0; };
    const auto of = [](std::span<const double> list, std::size_t j) { return list[std::min(j, list.size() - 1)]; };
    for (std::size_t j = 0; j < x.size(); ++j) x_beside[j] = x[j] + sign(j) * (of(rtol, j) * std::abs(x[j]) + of(atol, j));
    for (std::size_t j = 0; j < xp.size(); ++j) xp_beside[j] = xp[j] * (1.0 + sign(j + 1) * of(rtol, j));
    system.guards(t, x_beside, xp_beside, shifted);
    for (std::size_t k = 0; k < count; ++k)
      if (std::isfinite(shifted[k])) result[k] = std::max(result[k], std::abs(shifted[k] - g[k]));
  }
  return result;
}

double GuardSides::noise_of_constraints(System& system, double t, std::span<const double> x, std::span<const double> xp, int guard) {
  const Structure& s = system.structure();
  if (s.explicit_ode) return 0.0;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), size(static_cast<std::size_t>(s.equations), 0.0);
  system.jacobian(t, x, xp, Fx, Fxp);
  std::vector<char> constraint(size.size(), 1);
  for (const int row : s.derivative_pattern.row) constraint[static_cast<std::size_t>(row)] = 0;
  std::vector<double> pivot(size.size(), 0.0);  // the largest entry of each row, for variables of size one
  const auto each = [&](int j, auto use) {
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      use(static_cast<std::size_t>(s.state_pattern.row[k]), std::abs(Fx[static_cast<std::size_t>(k)]));
  };
  for (int j = 0; j < s.variables; ++j)
    each(j, [&](std::size_t row, double entry) {
      size[row] += entry * std::abs(x[static_cast<std::size_t>(j)]);
      pivot[row] = std::max(pivot[row], entry * system.nominal(j));
    });
  // A constraint gives its rounding errors to a variable that it may be solved for. Where it is flat in a variable
  // (x^2 + y^2 = 1 at x = 0) it determines another one; below sqrt(eps) its curvature bounds what rounding moves.
  constexpr double flat = 1.5e-8;
  std::vector<double> beside(x.begin(), x.end()), g(static_cast<std::size_t>(s.guards)), moved(g.size());
  for (int j = 0; j < s.variables; ++j) {
    double error = 0.0;
    each(j, [&](std::size_t row, double entry) {
      if (constraint[row] && entry * system.nominal(j) > flat * pivot[row])
        error = std::max(error, eps * size[row] / entry);
    });
    beside[static_cast<std::size_t>(j)] += j % 2 == 0 ? error : -error;
  }
  system.guards(t, x, xp, g);
  system.guards(t, beside, xp, moved);
  return std::abs(moved[static_cast<std::size_t>(guard)] - g[static_cast<std::size_t>(guard)]);
}

// Without Taylor coefficients: the change over a short time along the tangent. It sees first derivatives only.
void GuardSides::use_difference(System& system, double t, std::span<const double> x, std::span<const double> xp, int direction,
                                double scale) {
  const double h = direction * std::max(1e-4 * scale, 1e-8 * std::max(1.0, std::abs(t)));
  x_.resize(x.size());
  shifted_.resize(g_.size());
  for (std::size_t j = 0; j < x.size(); ++j) x_[j] = x[j] + h * xp[j];
  system.guards(t + h, x_, xp, shifted_);
  for (std::size_t k = 0; k < g_.size(); ++k) {
    Seen& seen = seen_[k];
    if (seen.side != 0) continue;
    const double change = shifted_[k] - g_[k];  // of two neighbouring points: only rounding errors disturb it
    if (std::abs(change) > 8.0 * seen.rounding) seen.side = change > 0.0 ? +1 : -1;
    seen.multiplicity = seen.side != 0 ? 1 : 2;
  }
}

void GuardSlopes::find(System& system, double t, std::span<const double> x, std::span<const double> xp, double scale, int wanted,
                       std::vector<double>& slopes) {
  const std::size_t n = x.size(), count = static_cast<std::size_t>(system.structure().guards);
  resize(slopes, count);
  int missing = wanted;
  const auto linear = system.linear_guards();
  for (const LinearGuard& guard : linear) {
    slopes[static_cast<std::size_t>(guard.guard)] = slope_of(guard, xp);
    if (guard.guard < wanted) --missing;
  }
  if (missing == 0) return;
  if (system.structure().taylor) {
    X_.assign(3 * n, 0.0);  // second derivatives, where guards contain derivatives, are not known
    std::copy(x.begin(), x.end(), X_.begin());
    std::copy(xp.begin(), xp.end(), X_.begin() + static_cast<std::ptrdiff_t>(n));
    G_.resize(2 * count);
    system.guards_taylor(t, 1, X_, G_);
    std::copy(G_.begin() + static_cast<std::ptrdiff_t>(count), G_.end(), slopes.begin());
    return;
  }
  const double h = std::max(1e-6 * scale, 16.0 * eps * std::abs(t));
  X_.resize(n);
  G_.resize(count);
  for (std::size_t j = 0; j < n; ++j) X_[j] = x[j] + h * xp[j];
  system.guards(t + h, X_, xp, slopes);
  system.guards(t, x, xp, G_);
  for (std::size_t k = 0; k < count; ++k) slopes[k] = (slopes[k] - G_[k]) / h;
  give_back(n, X_);
}

}  // namespace saltus
