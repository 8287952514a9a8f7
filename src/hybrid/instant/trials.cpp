#include "hybrid/instant/trials.hpp"

#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {

/// Moves each number by another distance, so that terms which happen to cancel or to vanish no longer do.
void move_to_generic(std::span<double> numbers, double step) {
  for (std::size_t j = 0; j < numbers.size(); ++j)
    numbers[j] += 1.0 + 0.5 * std::abs(numbers[j]) + step * static_cast<double>(j);
}

/// A step in a direction in which no coordinate is a multiple of its neighbours.
void move_along_generic(std::span<double> numbers, double step) {
  for (std::size_t j = 0; j < numbers.size(); ++j)
    numbers[j] += step * (0.5 + std::fmod(0.6180339887498949 * static_cast<double>(j + 1), 1.0));
}

}  // namespace

Trials::Trials(HybridSystem& hybrid, int direction)
    : hybrid_(hybrid),
      direction_(direction),
      takes_paired_sides_(std::any_of(hybrid.guards().begin(), hybrid.guards().end(),
                                      [](const GuardInfo& guard) { return guard.paired; })) {
  const auto& variables = hybrid.variables();
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (variables[j].fixed) fixed_.push_back(static_cast<int>(j));
  doubt.force_noise.resize(hybrid.guards().size(), 0.0);
  for (std::size_t k = 0; k < hybrid.guards().size(); ++k) {
    const int first = hybrid.guards()[k].same_as;
    if (first < 0) continue;
    has_second_.resize(hybrid.guards().size(), 0);
    has_second_[static_cast<std::size_t>(first)] = 1;
    seconds_.push_back(static_cast<int>(k));
  }
}

std::vector<std::string> names_of(const HybridSystem& hybrid, std::span<const int> guards) {
  std::vector<std::string> result;
  for (const int k : guards) result.push_back(hybrid.guards()[static_cast<std::size_t>(k)].name);
  return result;
}

void Trials::fit(const System& system, std::vector<double>& x) const {
  const auto wanted = static_cast<std::size_t>(system.structure().variables);
  if (x.size() == wanted) return;
  x.resize(hybrid_.variables().size());
  x.resize(wanted, 0.5);
}

bool Trials::near(std::span<const double> a, std::span<const double> b) const {
  for (std::size_t j = 0; j < std::min(a.size(), b.size()); ++j)
    if (!(std::abs(a[j] - b[j]) <= Resolution::same_point * doubt.tolerance * (1.0 + std::abs(b[j])))) return false;
  return true;
}

double Trials::distance(std::span<const double> a, std::span<const double> b) const {
  const std::vector<double>& sizes = doubt.sizes;
  double largest = 0.0;
  for (std::size_t j = 0; j < std::min(a.size(), b.size()); ++j) {
    const double size = sizes.empty() ? 1.0 : sizes[std::min(j, sizes.size() - 1)];
    largest = std::max(largest, std::abs(a[j] - b[j]) / (doubt.relative * (size + std::abs(a[j]))));
  }
  return largest;
}

void Trials::share_doubts() {
  Uncertainty& d = doubt;
  for (const int second : seconds_) {
    const auto k = static_cast<std::size_t>(second), first = static_cast<std::size_t>(named(second));
    if (k < d.noise.size()) d.noise[k] = d.noise[first] = std::max(d.noise[k], d.noise[first]);
    if (k < d.slope_error.size())
      d.slope_error[k] = d.slope_error[first] = d.slope_error[k] != 0.0 ? d.slope_error[k] : d.slope_error[first];
  }
}

[[gnu::hot]] bool Trials::test(const Point& from, const Circumstances& now, Trial& trial) {
  if (!find_values(from, now, trial)) return false;
  look(now.t, trial);
  return true;
}

[[gnu::hot]] bool Trials::find_values(const Point& from, const Circumstances& now, Trial& trial) {
  Mode& mode = trial.point.mode;
  trial.jumps = false;
  copy(doubt.alternative_state, trial.alternative);
  if (trial.failure) trial.failure = {};
  if (mode.on_surfaces() && !hybrid_.can_stay_on_surfaces(mode)) {
    trial.failure = {StatusCode::no_forward_solution, "there is no such sliding or contact mode", {}};
    return false;
  }
  trial.system = &system_of(mode);
  System& system = *trial.system;
  copy(from.x, trial.point.x);
  fit(system, trial.point.x);
  copy(from.xp, trial.point.xp);
  trial.point.xp.resize(trial.point.x.size(), 0.0);
  ExtraConditions* const conditions =
      now.cause == Cause::start && now.set.empty() ? hybrid_.initial_conditions(mode) : nullptr;
  if (!conditions && consistency_.evaluate(system, now.t, trial.point.x, trial.point.xp)) return true;
  if (!system.structure().explicit_ode && !consistency_.possible(system)) {
    trial.failure = consistency_.find(system, now.t, now.cause, fixed_, conditions, trial.point.x, trial.point.xp);
    if (trial.failure) return false;
  } else if (now.cause == Cause::reset && jump_beside_resets(from, now, trial)) {
    trial.jumps = false;
  } else {
    trial.failure =
        consistency_.find(system, now.t, now.cause,
                          now.cause == Cause::reset ? std::span<const int>(now.set) : std::span<const int>(fixed_),
                          conditions, trial.point.x, trial.point.xp);
    if (trial.failure) return false;
  }
  if (now.cause != Cause::start) trial.jumps = state_jumps(from, now, trial);
  if (now.cause == Cause::start || !system.structure().explicit_ode) keep_alternative(from, trial);
  return true;
}

/// The state is what stands under derivatives: F_x' (x - x_before) = 0 if it has not moved. In x' + y' the sum of x and
/// y is a state, and each of them may jump.
bool Trials::state_jumps(const Point& from, const Circumstances& now, const Trial& trial) const {
  const Structure& s = trial.system->structure();
  const std::vector<double>& x = trial.point.x;
  std::vector<double> moved(x.size(), 0.0);
  bool any = false;
  const auto usual = [&](std::size_t j) { return std::abs(trial.system->nominal(static_cast<int>(j))); };
  const double same = Resolution::same_point * doubt.tolerance;
  for (std::size_t j = 0; j < hybrid_.variables().size(); ++j) {
    if (!s.differentiated(static_cast<int>(j)) || contains(now.set, static_cast<int>(j)) ||
        std::abs(x[j] - from.x[j]) <= same * (usual(j) + std::abs(from.x[j])))
      continue;
    moved[j] = x[j] - from.x[j];
    any = true;
  }
  if (!any || s.explicit_ode) return any;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  std::vector<double> change(static_cast<std::size_t>(s.equations), 0.0), size(change.size(), 0.0);
  trial.system->jacobian(now.t, x, trial.point.xp, Fx, Fxp);
  for (int j = 0; j < s.variables; ++j)
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k) {
      const auto row = static_cast<std::size_t>(s.derivative_pattern.row[k]), place = static_cast<std::size_t>(j);
      change[row] += Fxp[static_cast<std::size_t>(k)] * moved[place];
      const double of = moved[place] != 0.0 ? usual(place) + std::abs(x[place]) : 0.0;
      size[row] += std::abs(Fxp[static_cast<std::size_t>(k)]) * of;
    }
  for (std::size_t i = 0; i < change.size(); ++i)
    if (!(std::abs(change[i]) <= same * size[i])) return true;
  return false;
}

namespace {
/// Divides the rows of A z = b by their sizes, where these are known, and then the columns of A by theirs, which it
/// returns: units of equations and variables may differ by any factor.
std::vector<double> equilibrate(Matrix& A, std::vector<double>& b, std::vector<double>& row_size) {
  for (int i = 0; i < A.rows(); ++i) {
    double& size = row_size[static_cast<std::size_t>(i)];
    for (int c = 0; c < A.columns() && size == 0.0; ++c) size = std::abs(A(i, c));
    if (size == 0.0) continue;
    b[static_cast<std::size_t>(i)] /= size;
    for (int c = 0; c < A.columns(); ++c) A(i, c) /= size;
  }
  std::vector<double> column_size(static_cast<std::size_t>(A.columns()), 0.0);
  for (int c = 0; c < A.columns(); ++c) {
    double& size = column_size[static_cast<std::size_t>(c)];
    for (int i = 0; i < A.rows(); ++i) size = std::max(size, std::abs(A(i, c)));
    for (int i = 0; i < A.rows() && size > 0.0; ++i) A(i, c) /= size;
  }
  return column_size;
}
}  // namespace

/// The integral of F(t, x, x') = 0 over the instant: F_x' (x - x_before) + F_z Z = 0, where Z are the impulses of the
/// algebraic variables z.
Impulses Trials::impulses(const Point& from, double t, const Trial& trial) const {
  constexpr double negligible = 1e-8;  // relative: what an iteration leaves where nothing jumps
  Impulses result;
  const std::vector<int> switches = switches_at(trial, t);
  const Structure& s = trial.system->structure();
  const Mode& mode = trial.point.mode;
  if ((switches.empty() && !mode.on_surfaces()) || s.explicit_ode || TrialValues::too_large(s)) return result;
  const std::vector<double>& x = trial.point.x;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  trial.system->jacobian(t, x, trial.point.xp, Fx, Fxp);
  std::vector<int> algebraic;
  std::vector<double> b(static_cast<std::size_t>(s.equations), 0.0), row_size(b.size(), 0.0);
  for (int j = 0; j < s.variables; ++j) {
    const auto place = static_cast<std::size_t>(j);
    if (!s.differentiated(j))
      algebraic.push_back(j);
    else if (place < from.x.size())
      for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k) {
        const auto row = static_cast<std::size_t>(s.derivative_pattern.row[k]);
        const double entry = Fxp[static_cast<std::size_t>(k)], moved = x[place] - from.x[place];
        b[row] -= entry * moved;
        row_size[row] += std::abs(entry) * (std::abs(trial.system->nominal(j)) + std::abs(x[place]) + std::abs(moved));
      }
  }
  Matrix A(s.equations, static_cast<int>(algebraic.size()));
  for (int c = 0; c < A.columns(); ++c)
    for (int k = s.state_pattern.start[algebraic[c]]; k < s.state_pattern.start[algebraic[c] + 1]; ++k)
      A(s.state_pattern.row[k], c) = Fx[static_cast<std::size_t>(k)];
  const std::vector<double> column_size = equilibrate(A, b, row_size);
  // what is made of derivatives has the impulse of what they change
  std::vector<double> there = x, back = x, g(static_cast<std::size_t>(s.guards)), g_back(g.size());
  const auto find_sizes = [&] {
    std::vector<double> slopes = trial.point.xp, slopes_back = slopes;
    for (std::size_t j = 0; j < std::min(from.x.size(), x.size()); ++j) {
      if (!s.differentiated(static_cast<int>(j))) continue;
      slopes[j] += x[j] - from.x[j];
      slopes_back[j] -= x[j] - from.x[j];
    }
    trial.system->guards(t, there, slopes, g);
    trial.system->guards(t, back, slopes_back, g_back);
    result.sizes.resize(static_cast<std::size_t>(family_guards()), 0.0);
    for (const int k : switches) {
      const auto place = static_cast<std::size_t>(k);
      result.sizes[place] = 0.5 * std::abs(g[place] - g_back[place]);
    }
  };
  if (A.columns() == 0) {
    find_sizes();
    return result;
  }
  LeastSquares solver(A);
  int rank = 0;
  for (const double pivot : solver.pivots()) rank += pivot > negligible * solver.pivots().front();
  solver.truncate(rank);
  double size = 0.0;
  for (const double value : b) size = std::max(size, std::abs(value));
  if (!(solver.unreachable(b) <= negligible * size)) return result;
  std::vector<double> Z = solver.solve(b);
  double largest = 0.0;
  for (const double value : Z) largest = std::max(largest, std::abs(value));
  for (std::size_t c = 0; c < Z.size(); ++c) {
    Z[c] = std::abs(Z[c]) > std::sqrt(negligible) * largest && column_size[c] > 0.0 ? Z[c] / column_size[c] : 0.0;
    there[static_cast<std::size_t>(algebraic[c])] += Z[c];
    back[static_cast<std::size_t>(algebraic[c])] -= Z[c];
  }
  find_sizes();
  trial.system->guards(t, there, trial.point.xp, g);
  trial.system->guards(t, back, trial.point.xp, g_back);
  // terms that cancel in a guard leave nothing
  std::vector<double> terms(g.size(), 0.0), alone = x, g_alone(g.size()), g_here(g.size());
  trial.system->guards(t, x, trial.point.xp, g_here);
  for (std::size_t c = 0; c < Z.size(); ++c) {
    if (Z[c] == 0.0) continue;
    const auto place = static_cast<std::size_t>(algebraic[c]);
    alone[place] += Z[c];
    trial.system->guards(t, alone, trial.point.xp, g_alone);
    alone[place] = x[place];
    for (std::size_t k = 0; k < g.size(); ++k) terms[k] += std::abs(g_alone[k] - g_here[k]);
  }
  const auto impulse_of = [&](int k) {
    const auto place = static_cast<std::size_t>(k);
    const double impulse = 0.5 * (g[place] - g_back[place]);
    return std::abs(impulse) > std::sqrt(negligible) * terms[place] ? impulse : 0.0;
  };
  for (const int k : switches) {
    const double impulse = impulse_of(k) * hybrid_.side(mode, k);
    if (impulse > 0.0) result.allowed.push_back(k);
    if (impulse < 0.0) result.forbidden = k;
  }
  std::vector<int> exits;
  if (mode.on_surfaces()) hybrid_.exit_guards(mode, exits);
  for (std::size_t k = 0; k < mode.sliding.size(); ++k)
    if (impulse_of(exits[k]) != 0.0) result.overloaded.push_back(mode.sliding[k]);
  for (std::size_t k = 0; k < mode.contacts.size(); ++k)
    if (impulse_of(exits[mode.sliding.size() + k]) < 0.0) result.overloaded.push_back(mode.contacts[k]);
  return result;
}

std::vector<double> Trials::inner_impulses(const Point& from, double t, const Trial& trial) const {
  constexpr double errors = 1e-10;  // relative: what an iteration moves
  const Structure& s = trial.system->structure();
  const std::vector<double>& x = trial.point.x;
  const auto jumps = [&](std::size_t j) {
    return s.differentiated(static_cast<int>(j)) && std::abs(x[j] - from.x[j]) > errors * std::abs(from.x[j]);
  };
  if (s.explicit_ode) return {};
  for (std::size_t j = 0; j < std::min({hybrid_.variables().size(), x.size(), from.x.size()}); ++j)
    if (jumps(j)) return impulses(from, t, trial).sizes;
  return {};
}

/// Transitions that lead across a surface and back belong to the field: on the other side the equations are those of
/// the other explicit mode.
[[gnu::hot]] System& Trials::system_of(const Mode& mode) {
  if (mode.on_surfaces() || !takes_paired_sides_) return hybrid_.system(mode);
  copy(mode, paired_);
  hybrid_.take_paired_side(paired_);
  return hybrid_.system(paired_);
}

/// A reset in the instant in which the mode changes: what it leaves alone moves as without it, so that what an impulse
/// conserves is conserved. False: it would move what has been reset, or there is no such point; the trial is as before.
bool Trials::jump_beside_resets(const Point& from, const Circumstances& now, Trial& trial) {
  if (trial.system->structure().explicit_ode || hybrid_.same_equations(from.mode, trial.point.mode)) return false;
  const std::vector<double> x = trial.point.x, xp = trial.point.xp;
  bool kept =
      !consistency_.find(*trial.system, now.t, Cause::mode_change, fixed_, nullptr, trial.point.x, trial.point.xp);
  for (const int j : now.set) {
    const auto place = static_cast<std::size_t>(j);
    kept = kept && std::abs(trial.point.x[place] - x[place]) <= Resolution::iteration * (1.0 + std::abs(x[place]));
  }
  if (kept) return true;
  trial.point.x = x;
  trial.point.xp = xp;
  return false;
}

/// Finding consistent values moves them a little; guards must not take that for a motion.
void Trials::keep_alternative(const Point& from, Trial& trial) {
  const std::size_t family = hybrid_.variables().size();
  const auto before = std::span<const double>(from.x).first(family);
  if (std::equal(before.begin(), before.end(), trial.point.x.begin()) || !near(trial.point.x, before)) return;
  trial.alternative.assign(before.begin(), before.end());
}

/// The alternative as a point of the system in which x lies; empty if it has none there (algebraic variables have
/// jumped).
std::span<const double> Trials::alternative_of(const Trial& trial) {
  if (trial.alternative.empty()) return {};
  const std::size_t family = hybrid_.variables().size();
  const auto other = std::span<const double>(trial.alternative).first(family);
  if (!near(other, std::span<const double>(trial.point.x).first(family))) return {};
  copy(trial.point.x, alternative_here_);  // with the weights that were found now
  std::copy(other.begin(), other.end(), alternative_here_.begin());
  return alternative_here_;
}

[[gnu::hot]] void Trials::look(double t, Trial& trial) {
  const Mode& mode = trial.point.mode;
  trial.view.ignore(mode.sliding, mode.contacts);
  const auto stays_on = [&](int k) {
    return std::ranges::binary_search(mode.sliding, k) || std::ranges::binary_search(mode.contacts, k);
  };
  if (mode.on_surfaces())
    for (const int k : seconds_)
      if (stays_on(named(k))) trial.view.ignore_too(k);
  GuardSides::Doubt uncertain{doubt.noise, doubt.slope_error, alternative_of(trial), doubt.tangential};
  if (mode.on_surfaces()) {
    hybrid_.exit_guards(mode, trial.exits);
    uncertain.noise = noise_on_surfaces(*trial.system, mode, trial.exits);
  }
  trial.view.look(*trial.system, consistency_, t, trial.point.x, trial.point.xp, direction_, doubt.time_scale,
                  uncertain);
  if (!mode.contacts.empty() && !doubt.sizes.empty())
    trial.view.rest_on_invariants(*trial.system, t, trial.point.x, trial.point.xp, doubt.sizes);
}

/// What guards, weights and the forces of contacts are not certain by.
std::span<const double> Trials::noise_on_surfaces(const System& system, const Mode& mode, std::span<const int> exits) {
  constexpr double rounding = 1e-14, error_of_iteration = 1e-12;  // of weights, which are numbers of size 1
  const double error_of_weights = mode.sliding.empty()              ? 0.0
                                  : system.structure().explicit_ode ? rounding
                                                                    : error_of_iteration;
  const auto is_noisy = [&](int k) { return doubt.force_noise[static_cast<std::size_t>(k)] > 0.0; };
  if (error_of_weights == 0.0 && std::none_of(mode.contacts.begin(), mode.contacts.end(), is_noisy)) return doubt.noise;
  copy(doubt.noise, noise_);
  noise_.resize(static_cast<std::size_t>(family_guards()), 0.0);
  noise_.resize(static_cast<std::size_t>(system.structure().guards), 0.0);
  for (std::size_t k = 0; k < mode.sliding.size(); ++k) {
    const auto weight = static_cast<std::size_t>(exits[k]);
    noise_[weight] = noise_[weight + 1] = error_of_weights;
  }
  for (std::size_t k = 0; k < mode.contacts.size(); ++k)
    noise_[static_cast<std::size_t>(exits[mode.sliding.size() + k])] =
        doubt.force_noise[static_cast<std::size_t>(mode.contacts[k])];
  return noise_;
}

[[gnu::hot]] bool Trials::fits(const Trial& trial) {
  hybrid_.positions(trial.point.mode, positions_);
  for (std::size_t k = 0; k < positions_.size(); ++k)
    if (!fits(trial, static_cast<int>(k), side_of(positions_[k]))) return false;
  return true;
}

bool Trials::weights_admissible(const Trial& trial) const {
  for (std::size_t s = 0; s < trial.point.mode.sliding.size(); ++s)
    for (const int k : {trial.exits[s], trial.exits[s] + 1})
      if (trial.view.side(k) < 0 || !std::isfinite(trial.view.value(k)) || trial.view.undefined(k)) return false;
  return true;
}

/// The force of a contact may vanish identically: the equations themselves may keep the solution at rest, as long as it
/// is on the surface.
bool Trials::surfaces_hold(const Trial& trial) const {
  if (!weights_admissible(trial)) return false;
  for (std::size_t c = 0; c < trial.point.mode.contacts.size(); ++c) {
    const int force = trial.exits[trial.point.mode.sliding.size() + c];
    if (trial.view.side(force) < 0 || !std::isfinite(trial.view.value(force))) return false;
  }
  return true;
}

bool Trials::is_regular(const Trial& trial, double t) {
  const CharacteristicValues* values = consistency_.values(*trial.system);
  if (values && ((*values)->u > 0 || (*values)->v > 0)) return false;
  return weights_matter(*trial.system, t, trial.point.x, trial.point.xp);
}

bool Trials::is_singular(const Point& from, const Mode& mode, double t) {
  if (mode.on_surfaces()) return false;
  System& system = hybrid_.system(mode);
  const Structure& s = system.structure();
  if (s.explicit_ode || s.variables != s.equations || TrialValues::too_large(s)) return false;
  if (const CharacteristicValues* known = consistency_.values(system)) return (*known)->u > 0;
  if (!consistency_.possible(system)) return true;
  std::vector<double> x = from.x, xp = from.xp;
  fit(system, x);
  xp.resize(x.size(), 0.0);
  return consistency_.plain(system) && !newton_.find(system, t, x, xp) && newton_.singular();
}

bool Trials::weights_matter(System& system, double t, std::span<const double> x, std::span<const double> xp) const {
  const Structure& s = system.structure();
  const std::size_t family = hybrid_.variables().size();
  if (static_cast<std::size_t>(s.variables) == family) return true;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
  std::vector<double> size(static_cast<std::size_t>(s.equations), 0.0), above(size.size()), below(size.size());
  system.jacobian(t, x, xp, Fx, Fxp);
  for (int j = 0; j < s.variables; ++j) {
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      size[s.state_pattern.row[k]] += std::abs(Fx[k] * x[j]);
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k)
      size[s.derivative_pattern.row[k]] += std::abs(Fxp[k] * xp[j]);
  }
  std::vector<double> moved(x.begin(), x.end());
  for (std::size_t j = family; j < x.size(); ++j) {
    moved[j] = 1.0;
    system.residual(t, moved, xp, above);
    moved[j] = 0.0;
    system.residual(t, moved, xp, below);
    moved[j] = x[j];
    bool differ = false;
    for (std::size_t i = 0; i < size.size(); ++i) differ = differ || std::abs(above[i] - below[i]) > 1e-8 * size[i];
    if (!differ) return false;
  }
  return true;
}

bool Trials::can_determine_weights(const System& system) {
  const Structure& s = system.structure();
  return s.equations != s.variables || consistency_.possible(system);
}

/// Where the equations have the same residuals for both ends of a weight, at the point and at a generic one, the weight
/// stands in no branch that is taken.
bool Trials::weights_appear(System& system, double t, std::span<const double> x, std::span<const double> xp) const {
  const std::size_t family = hybrid_.variables().size();
  std::vector<double> above(static_cast<std::size_t>(system.structure().equations)), below(above.size());
  const auto differ = [&](std::vector<double>& point, std::span<const double> slopes, std::size_t weight) {
    const double value = std::exchange(point[weight], 1.0);
    system.residual(t, point, slopes, above);
    point[weight] = 0.0;
    system.residual(t, point, slopes, below);
    point[weight] = value;
    return !std::equal(above.begin(), above.end(), below.begin());  // numbers that are not finite differ
  };
  std::vector<double> here(x.begin(), x.end()), generic = here, slopes(xp.begin(), xp.end());
  slopes.resize(here.size(), 0.0);
  std::vector<double> generic_slopes = slopes;
  move_to_generic(generic, 0.1);
  move_to_generic(generic_slopes, 0.2);
  for (std::size_t j = family; j < here.size(); ++j)
    if (!differ(here, slopes, j) && !differ(generic, generic_slopes, j)) return false;
  return true;
}

/// The columns of the unknowns in the Jacobian are the same for other weights, at a generic point: weights are not
/// multiplied with unknowns, nor with each other.
bool Trials::weights_are_added(System& system, double t, std::span<const double> x, std::span<const double> xp) const {
  const Structure& s = system.structure();
  const std::size_t family = hybrid_.variables().size();
  std::vector<double> point(x.begin(), x.end()), slopes(xp.begin(), xp.end());
  slopes.resize(point.size(), 0.0);
  move_to_generic(point, 0.1);
  move_to_generic(slopes, 0.2);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), other_x(Fx.size()),
      other_xp(Fxp.size());
  system.jacobian(t, point, slopes, Fx, Fxp);
  move_to_generic(std::span(point).subspan(family), 0.3);
  system.jacobian(t, point, slopes, other_x, other_xp);
  for (int j = 0; j < s.variables; ++j) {
    if (s.differentiated(j)) continue;  // a state, which is known
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      if (Fx[static_cast<std::size_t>(k)] != other_x[static_cast<std::size_t>(k)]) return false;
  }
  return Fxp == other_xp;
}

bool Trials::continuous_across(const Mode& mode, int guard, double t, std::span<const double> x,
                               std::span<const double> xp) {
  constexpr double negligible = 1e-9;
  if (mode.on_surfaces() || hybrid_.side(mode, guard) == 0) return false;
  System& here = hybrid_.system(mode);
  const Structure& s = here.structure();
  if (x.size() != static_cast<std::size_t>(s.variables) || s.explicit_ode) return false;
  std::vector<double> point(x.begin(), x.end()), slopes(xp.begin(), xp.end()), g(static_cast<std::size_t>(s.guards));
  move_to_generic(point, 0.1);
  move_to_generic(slopes, 0.2);
  const auto value = [&] {
    here.guards(t, point, slopes, g);
    return g[static_cast<std::size_t>(guard)];
  };
  const double before = value();
  // a generic point of the surface: by the coefficients of the guard, or on a line in the derivatives that it reads
  const auto linear = here.linear_guards();
  if (const auto own = std::ranges::find(linear, guard, &LinearGuard::guard); own != linear.end()) {
    double square = 0.0;
    for (const double c : own->coefficients) square += c * c;
    if (!(square > 0.0)) return false;
    for (std::size_t i = 0; i < own->variables.size(); ++i)
      point[static_cast<std::size_t>(own->variables[i])] -= before / square * own->coefficients[i];
  } else {
    move_along_generic(slopes, 1.0);
    const double after = value();
    if (after == before) return false;
    move_along_generic(slopes, after / (before - after));
  }
  if (!(std::abs(value()) <= negligible * std::abs(before))) return false;
  Mode flipped = mode;
  hybrid_.set_side(flipped, guard, -hybrid_.side(mode, guard));
  std::vector<double> F(static_cast<std::size_t>(s.equations)), other(F.size());
  here.residual(t, point, slopes, F);
  System& there = hybrid_.system(flipped);
  if (there.structure().equations != s.equations || there.structure().variables != s.variables) return false;
  there.residual(t, point, slopes, other);
  for (std::size_t i = 0; i < F.size(); ++i)
    if (!(std::abs(F[i] - other[i]) <= 100.0 * negligible * (std::abs(F[i]) + std::abs(before)))) return false;
  return true;
}

std::vector<int> Trials::switches_at(const Trial& trial, double t) const {
  const Structure& s = trial.system->structure();
  std::vector<int> found;
  if (s.explicit_ode) return found;
  std::vector<double> x = trial.point.x, xp = trial.point.xp, g(static_cast<std::size_t>(s.guards)), moved(g.size());
  trial.system->guards(t, x, xp, g);
  for (int j = 0; j < s.variables; ++j)
    if (!s.differentiated(j))
      x[static_cast<std::size_t>(j)] += 1.0 + 0.5 * std::abs(x[static_cast<std::size_t>(j)]) + 0.1 * j;
  for (std::size_t j = 0; j < xp.size(); ++j) xp[j] += 1.0 + 0.1 * static_cast<double>(j);
  trial.system->guards(t, x, xp, moved);
  for (int k = 0; k < static_cast<int>(hybrid_.guards().size()); ++k)
    if (hybrid_.side(trial.point.mode, k) != 0 && !hybrid_.guards()[static_cast<std::size_t>(k)].time_only &&
        g[static_cast<std::size_t>(k)] != moved[static_cast<std::size_t>(k)])
      found.push_back(k);
  return found;
}

}  // namespace saltus
