#include "hybrid/reset_limit.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "event/sequence_limit.hpp"

namespace saltus {

namespace {

/// The actions of a guard, once more at one point.
class RepeatedReset {
 public:
  RepeatedReset(HybridSystem& hybrid, const Mode& mode, int guard, int side, double t, std::span<const double> xp)
      : hybrid_(hybrid), guard_(guard), side_(side), t_(t), xp_(xp.begin(), xp.end()) {
    transition_.mode = mode;
    transition_.mode.sees.resize(hybrid.guards().size(), 0);
  }

  /// False: the actions fail, or end the run.
  bool act(std::vector<double>& x) {
    const std::vector<double> before = x;
    transition_.x = x;
    transition_.reset.assign(x.size(), 0);
    transition_.fired.clear();
    transition_.contradictions.clear();
    stand(side_);
    hybrid_.transition({.t = t_, .x_before = before, .xp_before = xp_, .quiet = true, .probe = true}, transition_);
    stand(-side_);
    hybrid_.transition({.t = t_, .x_before = before, .xp_before = xp_, .probe = true}, transition_);
    x = transition_.x;
    return !transition_.failed && !transition_.terminate && transition_.contradictions.empty();
  }
  bool has_acted() const { return transition_.any_reset(); }

 private:
  void stand(int side) {
    hybrid_.set_side(transition_.mode, guard_, side);
    transition_.mode.sees[static_cast<std::size_t>(guard_)] = static_cast<signed char>(side);
  }

  HybridSystem& hybrid_;
  int guard_, side_;
  double t_;
  std::vector<double> xp_;
  Transition transition_;
};

/// The variable whose values differ most, in tolerances; -1 if all agree.
int differs(std::span<const double> a, std::span<const double> b, std::span<const double> tolerance) {
  int worst = -1;
  double most = 1.0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double size = std::abs(a[j] - b[j]) / tolerance[j];
    if (size <= most) continue;
    most = size;
    worst = static_cast<int>(j);
  }
  return worst;
}

}  // namespace

ResetLimit limit_of_resets(HybridSystem& hybrid, const Mode& mode, int guard, int side, double t,
                           std::span<const double> x, std::span<const double> xp, std::span<const double> tolerance) {
  constexpr int most = 64;  // a ratio that settles does so after a few
  ResetLimit result{.x = {x.begin(), x.end()}};
  RepeatedReset reset(hybrid, mode, guard, side, t, xp);
  std::array<std::vector<double>, 4> last;
  last.fill(result.x);
  for (int count = 1; count <= most; ++count) {
    std::ranges::rotate(last, last.begin() + 1);
    last[3] = last[2];
    if (!reset.act(last[3])) return result;
    result.unknown = differs(last[3], last[2], tolerance);
    if (count == 1 && result.unknown < 0) return result;
    if (count < 3) continue;
    std::vector<double> limit(x.size());
    int unknown = -1;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const SequenceLimit found =
          limit_of_sequence(last[3][j], last[3][j] - last[2][j], last[2][j] - last[1][j], last[1][j] - last[0][j]);
      limit[j] = found.value;
      if (unknown < 0 && !found.known(tolerance[j])) unknown = static_cast<int>(j);
    }
    if (unknown >= 0) {
      result.unknown = unknown;
      continue;
    }
    std::vector<double> there = limit;
    if (!reset.act(there)) return result;
    result.unknown = differs(there, limit, tolerance);
    if (result.unknown >= 0) return result;
    result.x = limit;
    return result;
  }
  return result;
}

std::vector<double> reset_from(HybridSystem& hybrid, const Mode& mode, int guard, int side, double t,
                               std::span<const double> x, std::span<const double> xp) {
  RepeatedReset reset(hybrid, mode, guard, side, t, xp);
  std::vector<double> after(x.begin(), x.end());
  reset.act(after);
  if (!reset.has_acted()) after.clear();
  return after;
}

}  // namespace saltus
