#include <fmt/format.h>
#include <saltus/hybrid/impulses.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>
#include <unordered_map>

#include "hybrid/consistency.hpp"

namespace saltus {

namespace {

constexpr double no_jump = 1e-9;      // of a variable's size
constexpr double unexplained = 1e-6;  // residual of an equation, by its largest term, that makes the impulses no answer
constexpr double open_rank = 1e-10;   // pivots below this, by the largest, leave an impulse open
constexpr double no_impulse = 1e-9;   // by the largest one
constexpr double cancelled = 1e-12;   // of a value from which another one is taken
constexpr int most_unknowns = 200;    // the solution is dense

std::string unit_of(const std::string& unit) {
  return unit.empty() ? "" : (unit.find('/') == std::string::npos ? unit : "(" + unit + ")") + ".s";
}

/// The segment that begins at the event; null if the run ends there.
const Trajectory::Segment* segment_after(const Trajectory& run, double t) {
  const std::vector<Trajectory::Segment>& all = run.segments();
  auto end = all.end();
  if (end != all.begin() && std::prev(end)->steps.empty()) --end;  // the run failed right after the event
  const double direction = run.t_end() >= run.t_start() ? 1.0 : -1.0;
  const auto behind = std::upper_bound(all.begin(), end, t, [&](double value, const Trajectory::Segment& s) {
    return (s.steps.front().polynomial.t0 - value) * direction > 0.0;
  });
  if (behind == all.begin()) return nullptr;
  const Trajectory::Segment& segment = *std::prev(behind);
  return segment.steps.front().polynomial.t0 == t ? &segment : nullptr;
}

class JumpBalance {
 public:
  JumpBalance(HybridSystem& hybrid, const Mode& mode, const Event& event)
      : hybrid_(hybrid), mode_(mode), event_(event), system_(hybrid.system(mode)) {}

  std::vector<Impulse> find() {
    const Structure& s = system_.structure();
    n_ = s.variables;
    read_values();
    if (!jumps_ || n_ > most_unknowns) return {};
    find_slopes();
    if (!s.explicit_ode && !solve()) return {};
    return observe();
  }

 private:
  void read_values() {
    std::unordered_map<std::string_view, std::size_t> places;
    const std::vector<VariableInfo>& observed = hybrid_.observed();
    for (std::size_t k = 0; k < observed.size(); ++k) places.emplace(observed[k].name, k);
    x_.assign(static_cast<std::size_t>(n_), 0.0);
    jump_ = x_;
    const std::vector<VariableInfo>& variables = hybrid_.variables();
    for (std::size_t j = 0; j < variables.size() && j < x_.size(); ++j) {
      const auto found = places.find(variables[j].name);
      if (found == places.end()) continue;
      x_[j] = event_.after[found->second];
      if (!is_state(static_cast<int>(j))) continue;
      const double change = x_[j] - event_.before[found->second];
      const double size = std::max({std::abs(x_[j]), std::abs(event_.before[found->second]), variables[j].nominal});
      if (!(std::abs(change) > no_jump * size)) continue;
      jump_[j] = change;
      jumps_ = true;
    }
  }
  bool is_state(int j) const { return system_.structure().explicit_ode || system_.structure().differentiated(j); }

  void find_slopes() {
    xp_.assign(x_.size(), 0.0);
    if (system_.structure().explicit_ode) {
      system_.rhs(event_.t, x_, xp_);
    } else {
      Consistency consistency;
      consistency.refine(system_, event_.t, x_, xp_);
    }
  }

  // F_a P = -F_x' Δx in the rows that a reset does not break; every column scaled by its largest entry
  bool solve() {
    const Structure& s = system_.structure();
    std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size());
    system_.jacobian(event_.t, x_, xp_, Fx, Fxp);
    const auto m = static_cast<std::size_t>(s.equations);
    std::vector<double> right(m, 0.0), size(m, 0.0);
    for (int j = 0; j < n_; ++j)
      for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k) {
        const double term = Fxp[static_cast<std::size_t>(k)] * jump_[static_cast<std::size_t>(j)];
        right[static_cast<std::size_t>(s.derivative_pattern.row[static_cast<std::size_t>(k)])] -= term;
        size[static_cast<std::size_t>(s.derivative_pattern.row[static_cast<std::size_t>(k)])] += std::abs(term);
      }
    std::vector<int> algebraic;
    for (int j = 0; j < n_; ++j)
      if (!s.differentiated(j)) algebraic.push_back(j);
    Matrix F(s.equations, static_cast<int>(algebraic.size()));
    std::vector<double> scale(algebraic.size(), 0.0);
    for (std::size_t c = 0; c < algebraic.size(); ++c) {
      const int j = algebraic[c];
      for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
        scale[c] = std::max(scale[c], std::abs(Fx[static_cast<std::size_t>(k)]));
      if (scale[c] == 0.0) return false;
      for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
        F(s.state_pattern.row[static_cast<std::size_t>(k)], static_cast<int>(c)) =
            Fx[static_cast<std::size_t>(k)] / scale[c];
    }
    const bool by_reset = event_.cause == JumpCause::reset;
    LeastSquares squares(F);
    int rank = 0;
    for (const double pivot : squares.pivots()) rank += pivot > open_rank * squares.pivots().front();
    squares.truncate(rank);
    const std::vector<double> found = squares.solve(right);
    const std::vector<double> reached = times(F, found);
    double largest = 0.0;
    for (const double term : size) largest = std::max(largest, term);
    for (std::size_t i = 0; i < m; ++i)
      if (std::abs(reached[i] - right[i]) > unexplained * largest && !by_reset) return false;
    if (by_reset)  // what the reset does is no force; only a complete balance is an answer
      for (std::size_t i = 0; i < m; ++i)
        if (std::abs(reached[i] - right[i]) > unexplained * largest) return true;
    if (rank < static_cast<int>(algebraic.size())) {
      // open directions change nothing that is an answer, if they have no share in it
      for (std::size_t c = 0; c < algebraic.size(); ++c) {
        std::vector<double> probe(algebraic.size(), 0.0);
        probe[c] = 1.0;
        const std::vector<double> image = times(F, probe);
        const std::vector<double> back = squares.solve(image);
        if (std::abs(back[c] - 1.0) > unexplained) continue;  // open
        jump_[static_cast<std::size_t>(algebraic[c])] = found[c] / scale[c];
      }
      return true;
    }
    for (std::size_t c = 0; c < algebraic.size(); ++c)
      jump_[static_cast<std::size_t>(algebraic[c])] = found[c] / scale[c];
    return true;
  }

  /// What the impulses of the system's variables and the jumps as infinite derivatives are in all variables: they enter
  /// linearly, or there is no answer.
  std::vector<Impulse> observe() {
    const std::vector<VariableInfo>& observed = hybrid_.observed();
    std::vector<double> none(observed.size()), one(none), two(none);
    const auto at = [&](double share, std::vector<double>& values) {
      std::vector<double> x = x_, xp = xp_;
      for (int j = 0; j < n_; ++j) {
        const auto k = static_cast<std::size_t>(j);
        (is_state(j) ? xp : x)[k] += share * jump_[k];
      }
      hybrid_.observe(mode_, event_.t, x, xp, values);
    };
    at(0.0, none);
    at(1.0, one);
    at(2.0, two);
    std::vector<Impulse> impulses;
    double largest = 0.0;
    for (std::size_t k = 0; k < observed.size(); ++k) {
      const double value = one[k] - none[k], again = two[k] - one[k];
      if (observed[k].details->type != VariableType::real || !std::isfinite(value)) continue;
      if (value == 0.0 || std::abs(value) < cancelled * std::abs(none[k])) continue;
      if (std::abs(again - value) > unexplained * std::abs(value)) continue;
      impulses.push_back({observed[k].name, value, unit_of(observed[k].details->unit)});
      largest = std::max(largest, std::abs(value));
    }
    std::erase_if(impulses, [&](const Impulse& i) { return std::abs(i.value) < no_impulse * largest; });
    return impulses;
  }

  HybridSystem& hybrid_;
  const Mode& mode_;
  const Event& event_;
  System& system_;
  int n_ = 0;
  bool jumps_ = false;
  std::vector<double> x_, xp_, jump_;  // jump_: of states, and behind solve() the impulses of all others
};

}  // namespace

std::vector<Impulse> impulses_of(HybridSystem& system, const Trajectory& run, const Event& event) {
  if (event.before.size() != run.variables().size() || event.after.size() != run.variables().size() ||
      event.cause == JumpCause::none)
    return {};
  const Trajectory::Segment* const segment = segment_after(run, event.t);
  if (!segment) return {};
  const Mode mode = run.mode(*segment);
  return JumpBalance(system, mode, event).find();
}

std::vector<std::string> impulse_texts(const std::vector<Impulse>& impulses, std::size_t most) {
  std::vector<Impulse> sorted = impulses;
  std::ranges::stable_sort(sorted,
                           [](const Impulse& a, const Impulse& b) { return std::abs(a.value) > std::abs(b.value); });
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < std::min(most, sorted.size()); ++k)
    texts.push_back(fmt::format("impulse of {}: {:.6g}{}{}", sorted[k].variable, sorted[k].value,
                                sorted[k].unit.empty() ? "" : " ", sorted[k].unit));
  return texts;
}

}  // namespace saltus
