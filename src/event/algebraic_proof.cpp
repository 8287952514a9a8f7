// With offsets c_i of the equations and d_j of the variables (StructuralAnalysis), the coefficients c_i of the
// equations F_i determine the coefficients d_j of the variables x_j, if those below are known. Those below follow the
// dense output; the distances of x_j,[d_j] from it satisfy
//   J distance = -r,   J = F_i,[c_i] by x_j,[d_j] (SystemJacobian) between the two, r: what the equations leave of P.
// r is expanded about the middle of the part of the step, so that little of it is left where P is right. Block after
// block, with the inverse C of the middle of J, an interval D with
//   -C r + (1 - C J(P + D)) D  within  D
// contains one solution, which lies in the left side (Krawczyk).
#include "event/algebraic_proof.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/finite.hpp"

namespace saltus {
namespace {

constexpr int most_variables = 500;                          // of a mode: room for the coefficients of all is made
constexpr int largest_block = 64;                            // of unknowns that need each other; its inverse is dense
constexpr int quick_order = 1, fine_order = 3;               // of the expansion of what the equations leave
constexpr int most_pieces = 512, deepest = 24, shallow = 4;  // of a step, and how often it may be halved

double largest(Interval a) {
  return std::max(std::abs(a.lower), std::abs(a.upper));
}

bool bounded(Interval a) {
  return std::isfinite(a.lower) && std::isfinite(a.upper);
}

/// b over k.
double binomial(int b, int k) {
  double result = 1.0;
  for (int i = 1; i <= k; ++i) result = result * (b - k + i) / i;
  return result;
}

}  // namespace

void AlgebraicProof::begin(System& system, const StructuralAnalysis* analysis) {
  system_ = &system;
  const Structure& s = system.structure();
  if (structure_ == s.id.number()) return;
  structure_ = s.id.number();
  read_.clear();
  possible_ = false;
  if (s.explicit_ode || s.guards == 0) return;
  const bool known = analysis && !analysis->singular() && s.variables == s.equations &&
                     analysis->variable_offset.size() == static_cast<std::size_t>(s.variables);
  const auto add = [&](int j) {
    const int d = known ? analysis->variable_offset[static_cast<std::size_t>(j)] : (s.differentiated(j) ? 1 : 0);
    if (d == 0) read_.push_back({j, false});
    if (d == 1 && s.guards_read_xp) read_.push_back({j, true});
  };
  for (const int j : s.guard_variables) add(j);
  for (int j = 0; s.guard_variables.empty() && j < s.variables; ++j) add(j);
  if (read_.empty() || !known || s.variables > most_variables) return;
  analysis_ = *analysis;
  jacobian_.emplace(s, analysis_);
  find_blocks();
}

void AlgebraicProof::find_blocks() {
  const Structure& s = system_->structure();
  const auto n = static_cast<std::size_t>(s.variables);
  const BlockTriangularForm& form = analysis_.blocks;
  const SparsePattern& J = jacobian_->pattern();
  struct Place {
    int block = 0, place = 0;
  };
  std::vector<Place> of_variable(n), of_equation(n);
  std::vector<Block> all(static_cast<std::size_t>(form.blocks()));
  for (int b = 0; b < form.blocks(); ++b)
    for (int k = form.start[b]; k < form.start[b + 1]; ++k) {
      of_variable[form.variable[k]] = of_equation[form.equation[k]] = {b, k - form.start[b]};
      all[b].variables.push_back(form.variable[k]);
      all[b].equations.push_back(form.equation[k]);
    }
  for (int j = 0; j < J.columns; ++j)
    for (int k = J.start[j]; k < J.start[j + 1]; ++k) {
      const Place row = of_equation[J.row[k]], column = of_variable[j];
      all[row.block].entries.push_back({row.place, row.block == column.block ? column.place : -1 - j, k});
    }
  std::vector<char> needed(all.size(), 0), occurs(n, 0);
  for (const Read& r : read_) needed[of_variable[r.variable].block] = occurs[r.variable] = 1;
  for (std::size_t b = all.size(); b-- > 0;)
    if (needed[b])
      for (const Entry& e : all[b].entries)
        if (e.column < 0) needed[of_variable[-1 - e.column].block] = 1;
  for (const SparsePattern* p : {&s.state_pattern, &s.derivative_pattern})
    for (int j = 0; j < p->columns; ++j)
      for (int k = p->start[j]; k < p->start[j + 1]; ++k)
        if (needed[of_equation[p->row[k]].block]) occurs[j] = 1;
  blocks_.clear();
  equations_.clear();
  variables_.clear();
  most_differentiated_ = 0;
  for (std::size_t b = 0; b < all.size(); ++b) {
    if (!needed[b]) continue;
    if (all[b].variables.size() > largest_block) return;
    for (const int i : all[b].equations)
      most_differentiated_ = std::max(most_differentiated_, analysis_.equation_offset[i]);
    equations_.insert(equations_.end(), all[b].equations.begin(), all[b].equations.end());
    blocks_.push_back(std::move(all[b]));
  }
  std::ranges::sort(equations_);
  for (std::size_t j = 0; j < n; ++j)
    if (occurs[j]) variables_.push_back(static_cast<int>(j));
  const std::size_t rows = static_cast<std::size_t>(most_differentiated_ + fine_order) + 2;
  X_.assign(rows * n, Interval(0.0));
  F_.assign(rows * n, Interval(0.0));
  for (std::vector<Interval>* list : {&residual_, &distance_, &trial_}) list->assign(n, Interval(0.0));
  shift_.assign(n, 0.0);
  J_.resize(static_cast<std::size_t>(J.nonzeros()));
  Fx_.resize(static_cast<std::size_t>(s.state_pattern.nonzeros()));
  Fxp_.resize(static_cast<std::size_t>(s.derivative_pattern.nonzeros()));
  G_.resize(static_cast<std::size_t>(s.guards));
  possible_ = true;
}

void AlgebraicProof::enclose_course(double low, double high, int rows) {
  course_.place(low, high);
  for (const int j : variables_) {
    course_.enclose(static_cast<std::size_t>(j), rows, X_.data() + j, distance_.size());
    X_[static_cast<std::size_t>(j)] += Interval(shift_[static_cast<std::size_t>(j)]);
  }
}

// What the equations leave at all points of the part: Taylor's formula about its middle, with the last term enclosed.
void AlgebraicProof::enclose_residual(double low, double high, int order) {
  const std::size_t n = distance_.size();
  const double middle = 0.5 * (low + high);
  const Interval away = Interval(step_->h) * (Interval(low, high) - Interval(middle));
  const auto add = [&](int k, Interval power) {
    for (const int i : equations_) {
      const int c = analysis_.equation_offset[i];
      residual_[i] += Interval(binomial(c + k, k)) * F_[static_cast<std::size_t>(c + k) * n + i] * power;
    }
  };
  for (const int i : equations_) residual_[i] = 0.0;
  Interval power = 1.0;
  if (low == high) order = 0;
  if (order > 0) {
    enclose_course(middle, middle, most_differentiated_ + order + 1);
    possible_ =
        system_->enclose_residual(course_.place(middle, middle), most_differentiated_ + order - 1, X_, equations_, F_);
    for (int k = 0; k < order; ++k) {
      add(k, power);
      power = power * away;
    }
  }
  enclose_course(low, high, most_differentiated_ + order + 2);
  possible_ = system_->enclose_residual(course_.place(low, high), most_differentiated_ + order, X_, equations_, F_);
  add(order, power);
}

/// Where the unknowns are as far from their polynomials as `trial_` says.
void AlgebraicProof::enclose_jacobian(Interval times) {
  const std::size_t n = distance_.size();
  box_.assign(X_.begin(), X_.begin() + static_cast<std::ptrdiff_t>(2 * n));
  for (const Block& block : blocks_)
    for (const int j : block.variables)
      if (const int d = analysis_.variable_offset[j]; d < 2) box_[static_cast<std::size_t>(d) * n + j] += trial_[j];
  possible_ = possible_ && system_->enclose_jacobian(times, box_, Fx_, Fxp_);
  jacobian_->assemble(Fx_, Fxp_, J_);
  const SparsePattern& p = jacobian_->pattern();
  for (int j = 0; j < p.columns; ++j)
    for (int k = p.start[j]; k < p.start[j + 1]; ++k)
      if (const int d = analysis_.variable_offset[j]; analysis_.equation_offset[p.row[k]] < d)
        J_[k] = J_[k] * Interval(d);  // the coefficients of x' are (k + 1) x_[k + 1]
}

/// `verify`: the solution of the block lies within `trial_`.
bool AlgebraicProof::solve(const Block& block, bool verify) {
  const std::size_t m = block.variables.size();
  matrix_.assign(m * m, Interval(0.0));
  right_.resize(m);
  for (std::size_t i = 0; i < m; ++i) right_[i] = -residual_[block.equations[i]];
  for (const Entry& e : block.entries) {
    if (!bounded(J_[e.place])) return false;
    if (e.column >= 0)
      matrix_[static_cast<std::size_t>(e.column) * m + static_cast<std::size_t>(e.row)] = J_[e.place];
    else
      right_[e.row] += -(J_[e.place] * distance_[-1 - e.column]);
  }
  middle_.resize(m * m);
  inverse_.assign(m * m, 0.0);
  for (std::size_t k = 0; k < m * m; ++k) middle_[k] = 0.5 * (matrix_[k].lower + matrix_[k].upper);
  if (!lu_.factorise(static_cast<int>(m), middle_)) return false;
  for (std::size_t k = 0; k < m; ++k) {
    inverse_[k * m + k] = 1.0;
    lu_.solve(std::span(inverse_).subspan(k * m, m));
  }
  bool inside = true;
  for (std::size_t i = 0; i < m; ++i) {
    Interval sum = 0.0;
    for (std::size_t k = 0; k < m; ++k) sum += Interval(inverse_[k * m + i]) * right_[k];
    for (std::size_t j = 0; verify && j < m; ++j) {
      Interval product = 0.0;
      for (std::size_t k = 0; k < m; ++k) product += Interval(inverse_[k * m + i]) * matrix_[j * m + k];
      sum += (Interval(i == j ? 1.0 : 0.0) - product) * trial_[block.variables[j]];
    }
    if (!bounded(sum)) return false;
    distance_[block.variables[i]] = sum;
    const Interval& wide = trial_[block.variables[i]];
    inside = inside && wide.lower < sum.lower && sum.upper < wide.upper;
  }
  return inside || !verify;
}

void AlgebraicProof::find_shift(double place) {
  constexpr int iterations = 8;
  constexpr double enough = 1e-12;
  std::ranges::fill(shift_, 0.0);
  for (const Block& block : blocks_)
    for (const int j : block.variables) trial_[j] = 0.0;
  for (int k = 0; k < iterations; ++k) {
    enclose_residual(place, place, 0);
    enclose_jacobian(course_.place(place, place));
    const bool solved =
        possible_ && std::ranges::all_of(blocks_, [&](const Block& block) { return solve(block, false); });
    if (!solved) {
      std::ranges::fill(shift_, 0.0);
      return;
    }
    bool close = true;
    for (const Block& block : blocks_)
      for (const int j : block.variables) {
        if (analysis_.variable_offset[j] != 0) continue;
        const double step = 0.5 * (distance_[j].lower + distance_[j].upper);
        shift_[j] += step;
        close = close && std::abs(step) <= enough * (largest(X_[j]) + std::abs(shift_[j]));
      }
    if (close) return;
  }
}

bool AlgebraicProof::enclose_distances(double low, double high, Look look) {
  constexpr int attempts = 3;
  constexpr double wider = 0.25, tiny = 1e-300;
  if (look == Look::shifted)
    find_shift(0.5 * (low + high));
  else
    std::ranges::fill(shift_, 0.0);
  enclose_residual(low, high, look == Look::quick ? quick_order : fine_order);
  const Interval times = course_.place(low, high);
  for (const Block& block : blocks_)
    for (const int j : block.variables) trial_[j] = 0.0;
  bool found = false;
  for (int attempt = 0; attempt <= attempts && !found; ++attempt) {
    enclose_jacobian(times);
    if (!possible_) return false;
    found = attempt > 0;
    for (const Block& block : blocks_) {
      if (!solve(block, attempt > 0)) {
        if (attempt == 0) return false;
        found = false;
      }
    }
    for (const Block& block : blocks_)
      for (const int j : block.variables) {
        const Interval wide = hull(hull(trial_[j], distance_[j]), Interval(0.0));
        const double more = wider * (attempt + 1) * wide.width() + tiny;
        if (!found) trial_[j] = {wide.lower - more, wide.upper + more};
      }
  }
  for (const Block& block : blocks_)
    for (const int j : block.variables) distance_[j] += Interval(shift_[j]);
  return found;
}

bool AlgebraicProof::as_shown(std::span<const double> same) const {
  return std::ranges::all_of(read_, [&](const Read& r) {
    const double size = largest(distance_[r.variable]);
    return size * (r.slope ? std::abs(step_->h) : 1.0) <= same[static_cast<std::size_t>(r.variable)];
  });
}

bool AlgebraicProof::enclose_guards(double low, double high, std::span<const GuardWatch> watch) {
  const Structure& s = system_->structure();
  const bool all = s.guard_variables.empty();
  const std::size_t n = all ? distance_.size() : s.guard_variables.size(), rows = s.guards_read_xp ? 2 : 1;
  guard_X_.resize(rows * n);
  const Interval times = course_.place(low, high);
  std::vector<int> place(all ? 0 : distance_.size(), -1);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t j = all ? i : static_cast<std::size_t>(s.guard_variables[i]);
    course_.enclose(j, static_cast<int>(rows), guard_X_.data() + i, n);
    if (!all) place[j] = static_cast<int>(i);
  }
  for (const Read& r : read_) {
    const auto i = static_cast<std::size_t>(all ? r.variable : place[r.variable]);
    guard_X_[(r.slope ? n : 0) + i] += distance_[r.variable];
  }
  watched_.clear();
  for (std::size_t k = 0; k < watch.size(); ++k)
    if (watch[k].side != 0) watched_.push_back(static_cast<int>(k));
  return system_->enclose_guards(times, 0, guard_X_, watched_, G_);
}

bool AlgebraicProof::clear(const Part& part, Look look, std::span<const GuardWatch> watch,
                           std::span<const double> same) {
  if (!enclose_distances(part.low, part.high, look)) return false;
  if (as_shown(same)) return true;
  if (!enclose_guards(part.low, part.high, watch)) return false;
  return std::ranges::all_of(watched_,
                             [&](int k) { return watch[k].side > 0 ? G_[k].lower > 0.0 : G_[k].upper < 0.0; });
}

bool AlgebraicProof::left_at(double place, std::span<const GuardWatch> watch) {
  if (!enclose_distances(place, place, Look::shifted) || !enclose_guards(place, place, watch)) return false;
  return std::ranges::any_of(watched_, [&](int k) {
    return watch[k].side > 0 ? G_[k].upper < -watch[k].noise : G_[k].lower > watch[k].noise;
  });
}

AlgebraicProof::Outcome AlgebraicProof::check(System& system, const DensePolynomial& step, double until,
                                              std::span<const GuardWatch> watch, std::span<const double> same) {
  step_ = &step;
  system_ = &system;
  if (!possible_ || step.parts || system.structure().id.number() != structure_) return Outcome::unproved;
  std::array<Part, deepest + 2> stack;
  std::size_t top = 0;
  const double end = std::clamp((until - step.t0) / step.h, 0.0, 1.0);
  course_.start(step, most_differentiated_ + fine_order + 2);
  stack[top++] = {0.0, end, 0};
  for (int pieces = 0; top > 0; ++pieces) {
    const Part part = stack[--top];
    if (pieces == 0 && clear(part, Look::quick, watch, same)) continue;
    if (clear(part, part.depth < shallow ? Look::fine : Look::shifted, watch, same)) continue;
    const double middle = 0.5 * (part.low + part.high);
    if (possible_ && left_at(middle, watch)) {
      missed_at_ = step.t0 + middle * step.h;
      return Outcome::missed;
    }
    if (!possible_ || pieces >= most_pieces || part.depth == deepest) return Outcome::unproved;
    stack[top++] = {middle, part.high, part.depth + 1};
    stack[top++] = {part.low, middle, part.depth + 1};
  }
  return Outcome::proved;
}

}  // namespace saltus
