// Equations that do not jump at the surface of a guard g_k change there by a multiple of g_k:
//
//   F(z) = A z + b - 1/2 sum_k r_k s_k |g_k(z)|,   g(z) = G z + c,
//
// where s_k is the present side, r_k g_k the difference of the two sides, and A the mean of them: the network with a
// resistor in place of each diode. z are the values after an implicit Euler step of length h, so that capacitors, coils
// and impulses need no case of their own. Elimination of z leaves the absolute value equation
//
//   g = d + S |g|,   S = 1/2 G A^-1 (r_k s_k),
//
// with a matrix of the size of the number of switches. In a passive network it is a contraction, up to scaling. Let
// a, b >= 0 be the parts of s g on the present side and on the other one: (s - S) a = (s + S) b + d is a linear
// complementarity problem. S is made smaller by a tiny part, as if each diode had a resistance: then parts of the
// network that float, and loops without resistance, have one solution.
//
// References: V. Acary, O. Bonnefon, B. Brogliato, Nonsmooth Modeling and Simulation for Switched Circuits (2011),
// chapter 2 (steps); O. L. Mangasarian, R. R. Meyer, Linear Algebra Appl. 419 (2006) 359-367 (absolute values).
#include "hybrid/instant/switch_pivoting.hpp"

#include <algorithm>
#include <cmath>

#include "base/finite.hpp"
#include "linalg/complementarity.hpp"

namespace saltus {

namespace {

constexpr double tiny_loss = 1e-10;   // of S
constexpr double same_number = 1e-6;  // relative: where two evaluations of the same number may differ
constexpr double unclear = 1e-9;      // of the largest guard: below, the side stays

/// A point where no term vanishes by chance. Unknowns move by their own size.
void move_off_surfaces(std::span<double> x, double part) {
  for (std::size_t j = 0; j < x.size(); ++j)
    x[j] += (1.0 + std::abs(x[j])) * (part + 0.1 * std::sin(1.0 + static_cast<double>(j)));
}

}  // namespace

bool SwitchPivoting::propose(double t, double h, std::span<const double> x, std::span<const int> switches, Mode& mode) {
  constexpr int most = 6;  // Newton steps: one is enough where the equations are linear
  h_ = h;
  before_.assign(x.begin(), x.end());
  x_ = before_;
  switches_.assign(switches.begin(), switches.end());
  const Mode start = mode;
  for (int count = 0; count < most; ++count) {
    const Mode last = mode;
    if (!linearise(t + h, mode) || !solve(mode)) {
      mode = start;
      return false;
    }
    const bool settled =
        std::ranges::all_of(switches_, [&](int k) { return hybrid_.side(last, k) == hybrid_.side(mode, k); });
    if (settled || hybrid_.system(mode).structure().linear) return true;
  }
  return true;
}

/// x' of the step that ends at a point.
void SwitchPivoting::slopes(System& system, std::span<const double> at, std::span<double> xp) {
  for (std::size_t j = 0; j < at.size(); ++j)
    xp[j] = system.structure().differentiated(static_cast<int>(j)) ? (at[j] - before_[j]) / h_ : 0.0;
}

/// Equations, guards and their derivatives at x_. False: they have another form.
bool SwitchPivoting::linearise(double t, const Mode& mode) {
  System& system = hybrid_.system(mode);
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.variables);
  if (s.explicit_ode || s.variables != s.equations || x_.size() != n || !find_jumps(t, mode)) return false;
  const auto count = static_cast<int>(switches_.size());
  xp_.assign(n, 0.0);
  slopes(system, x_, xp_);
  F_.resize(n);
  Fx_.resize(s.state_pattern.row.size());
  Fxp_.resize(s.derivative_pattern.row.size());
  system.residual(t, x_, xp_, F_);
  system.jacobian(t, x_, xp_, Fx_, Fxp_);
  if (!all_finite(F_) || !all_finite(Fx_) || !all_finite(Fxp_)) return false;
  // guards by differences: they are linear, nearly always
  std::vector<double> here(static_cast<std::size_t>(s.guards)), there(here.size()), moved = x_, moved_xp = xp_;
  system.guards(t, x_, xp_, here);
  g_.resize(switches_.size());
  for (int k = 0; k < count; ++k) g_[static_cast<std::size_t>(k)] = here[static_cast<std::size_t>(switches_[k])];
  gradients_.reset(count, s.variables);
  for (int j = 0; j < s.variables; ++j) {
    const auto place = static_cast<std::size_t>(j);
    const double step = 1.0 + std::abs(x_[place]);
    moved[place] = x_[place] + step;
    if (s.differentiated(j)) moved_xp[place] = xp_[place] + step / h_;
    system.guards(t, moved, moved_xp, there);
    for (int k = 0; k < count; ++k)
      gradients_(k, j) = (there[static_cast<std::size_t>(switches_[k])] - g_[static_cast<std::size_t>(k)]) / step;
    moved[place] = x_[place];
    moved_xp[place] = xp_[place];
  }
  return all_finite(here) && factorise(s);
}

/// The difference of the equations on the two sides of each switch. Leaves out switches at which the equations jump:
/// they stay on their sides. False: one switch changes what another one does, or no switch is left.
bool SwitchPivoting::find_jumps(double t, const Mode& mode) {
  System& system = hybrid_.system(mode);
  const Structure& s = system.structure();
  const auto n = static_cast<std::size_t>(s.equations);
  struct Place {
    std::vector<double> x, xp, F, g;
  };
  Place places[2];
  for (const int k : {0, 1}) {
    Place& place = places[k];
    place.x = x_;
    move_off_surfaces(place.x, k == 0 ? 0.3 : -0.7);
    place.xp.assign(n, 0.0);
    for (int j = 0; j < s.variables; ++j)
      if (s.differentiated(j)) place.xp[static_cast<std::size_t>(j)] = place.x[static_cast<std::size_t>(j)];
    place.F.resize(n);
    place.g.resize(static_cast<std::size_t>(s.guards));
    system.residual(t, place.x, place.xp, place.F);
    system.guards(t, place.x, place.xp, place.g);
    if (!all_finite(place.F) || !all_finite(place.g)) return false;
  }
  std::vector<double> there(n), sum = places[0].F, size(n, 0.0);
  std::vector<std::vector<double>> columns;
  Mode all = mode;
  std::erase_if(switches_, [&](int k) {
    Mode flipped = mode;
    hybrid_.set_side(flipped, k, -hybrid_.side(mode, k));
    System& other = hybrid_.system(flipped);
    if (other.structure().variables != s.variables || other.structure().equations != s.equations) return true;
    std::vector<double> column(n, 0.0);
    for (const Place& place : places) {
      const double g = place.g[static_cast<std::size_t>(k)];
      other.residual(t, place.x, place.xp, there);
      if (!all_finite(there) || g == 0.0) return true;
      for (std::size_t i = 0; i < n; ++i) {
        const double rounding = 64.0 * eps * (std::abs(place.F[i]) + std::abs(there[i]));
        const double difference = there[i] - place.F[i], jump = std::abs(difference) <= rounding ? 0.0 : difference / g;
        if (&place == &places[0])
          column[i] = jump;
        else if (std::abs(jump - column[i]) > same_number * std::abs(jump) + 64.0 * rounding / std::abs(g))
          return true;
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      sum[i] += column[i] * places[0].g[static_cast<std::size_t>(k)];
      size[i] += std::abs(column[i] * places[0].g[static_cast<std::size_t>(k)]);
    }
    hybrid_.set_side(all, k, -hybrid_.side(mode, k));
    columns.push_back(std::move(column));
    return false;
  });
  if (switches_.empty()) return false;
  hybrid_.system(all).residual(t, places[0].x, places[0].xp, there);
  for (std::size_t i = 0; i < n; ++i)
    if (!(std::abs(there[i] - sum[i]) <= same_number * (size[i] + std::abs(places[0].F[i])))) return false;
  jumps_.reset(static_cast<int>(n), static_cast<int>(columns.size()));
  for (std::size_t k = 0; k < columns.size(); ++k)
    std::ranges::copy(columns[k], jumps_.column(static_cast<int>(k)).begin());
  return true;
}

/// A = F_x + F_x'/h + 1/2 sum_k r_k (gradient of g_k). False: it is singular.
bool SwitchPivoting::factorise(const Structure& s) {
  std::vector<std::pair<int, int>> entries;  // row, column
  std::vector<double> values;
  const auto add = [&](int row, int column, double value) {
    entries.emplace_back(row, column);
    values.push_back(value);
  };
  for (int j = 0; j < s.variables; ++j) {
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
      add(s.state_pattern.row[k], j, Fx_[static_cast<std::size_t>(k)]);
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k)
      add(s.derivative_pattern.row[k], j, Fxp_[static_cast<std::size_t>(k)] / h_);
  }
  for (int k = 0; k < jumps_.columns(); ++k)
    for (int i = 0; i < jumps_.rows(); ++i) {
      if (jumps_(i, k) == 0.0) continue;
      for (int j = 0; j < s.variables; ++j)
        if (gradients_(k, j) != 0.0) add(i, j, 0.5 * jumps_(i, k) * gradients_(k, j));
    }
  std::vector<int> place;
  const SparsePattern pattern = make_pattern(s.equations, s.variables, entries, &place);
  std::vector<double> A(pattern.row.size(), 0.0);
  for (std::size_t e = 0; e < entries.size(); ++e) A[static_cast<std::size_t>(place[e])] += values[e];
  return lu_.analyse(pattern) && lu_.factorise(A) && lu_.reciprocal_condition() > 0.0;
}

/// Solves the linearised problem: changes the sides in the mode, and x_ to the values after the step.
bool SwitchPivoting::solve(Mode& mode) {
  const auto count = static_cast<int>(switches_.size());
  const auto n = static_cast<std::size_t>(jumps_.rows());
  std::vector<double> side(switches_.size());
  for (std::size_t k = 0; k < side.size(); ++k) side[k] = hybrid_.side(mode, switches_[k]);
  const auto dot = [&](int k, std::span<const double> v) {
    double sum = 0.0;
    for (std::size_t j = 0; j < n; ++j) sum += gradients_(k, static_cast<int>(j)) * v[j];
    return sum;
  };
  // F of the mean sides at x_: each switch contributes half of its jump
  std::vector<double> mean = F_;
  for (int k = 0; k < count; ++k)
    for (std::size_t i = 0; i < n; ++i)
      mean[i] += 0.5 * jumps_(static_cast<int>(i), k) * g_[static_cast<std::size_t>(k)];
  lu_.solve(mean);
  Matrix columns(static_cast<int>(n), count);
  scattering_.reset(count, count);
  drive_.resize(switches_.size());
  for (int k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < n; ++i)
      columns(static_cast<int>(i), k) = 0.5 * side[static_cast<std::size_t>(k)] * jumps_(static_cast<int>(i), k);
    lu_.solve(columns.column(k));
  }
  for (int k = 0; k < count; ++k) {
    drive_[static_cast<std::size_t>(k)] = g_[static_cast<std::size_t>(k)] - dot(k, mean);
    for (int j = 0; j < count; ++j) scattering_(k, j) = (1.0 - tiny_loss) * dot(k, columns.column(j));
  }
  if (!all_finite(drive_)) return false;
  Matrix left(count, count), M(count, count);
  for (int j = 0; j < count; ++j)
    for (int i = 0; i < count; ++i) {
      left(i, j) = (i == j ? side[static_cast<std::size_t>(i)] : 0.0) - scattering_(i, j);
      M(i, j) = (i == j ? side[static_cast<std::size_t>(i)] : 0.0) + scattering_(i, j);
    }
  DenseLu lu;
  if (!lu.factorise(count, std::span<const double>(left.data(), switches_.size() * switches_.size()))) return false;
  std::vector<double> q = drive_;
  lu.solve(q);
  for (int j = 0; j < count; ++j) lu.solve(M.column(j));
  const auto beyond = solve_complementarity(M, q);
  if (!beyond) return false;
  std::vector<double> g(switches_.size());
  double largest = 0.0;
  for (int k = 0; k < count; ++k) {
    const auto place = static_cast<std::size_t>(k);
    double here = q[place];
    for (int j = 0; j < count; ++j) here += M(k, j) * (*beyond)[static_cast<std::size_t>(j)];
    g[place] = side[place] * ((*beyond)[place] > 0.0 ? -(*beyond)[place] : here);
    largest = std::max(largest, std::abs(g[place]));
  }
  for (std::size_t j = 0; j < n; ++j) x_[j] -= mean[j];
  for (int k = 0; k < count; ++k) {
    const auto place = static_cast<std::size_t>(k);
    for (std::size_t j = 0; j < n; ++j) x_[j] += columns(static_cast<int>(j), k) * std::abs(g[place]);
    if (g[place] * side[place] < -unclear * largest) hybrid_.set_side(mode, switches_[place], g[place] > 0.0 ? 1 : -1);
  }
  return all_finite(x_);
}

}  // namespace saltus
