// Pseudo-arclength continuation (H. Keller 1977): a point is predicted along the tangent of the branch and corrected by
// Newton's method on the hyperplane across it. All is measured in units of the scale of the map.
#include <fmt/format.h>
#include <saltus/linalg/decomposition.hpp>
#include <saltus/sens/continuation.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sens/branch_tests.hpp"
#include "sens/multipliers.hpp"
#include "sens/period_map.hpp"

namespace saltus {

namespace {

/// A function of the way between two points, known at the last two places.
struct SecantEnd {
  double s, value, parameter;
};

class BranchFollower {
 public:
  BranchFollower(const CompiledModel& model, const ContinuationOptions& options)
      : options_(options),
        map_(model.with_values({{options.parameter, options.from}}), options.cycle, options.parameter) {
    branch_.parameter = options.parameter;
    branch_.variables = map_.variables();
  }

  Branch run() {
    if (options_.progress) options_.progress({.doing = "first cycle"});
    if (!begin()) return std::move(branch_);
    report_progress();
    double step = options_.step;
    while (static_cast<int>(branch_.points.size()) < options_.max_points) {
      std::optional<BranchState> next = predict_and_correct(step);
      if (!next) {
        step *= 0.5;
        if (step >= options_.smallest_step) continue;
        return end(BranchStatus::ended,
                   fmt::format("the branch cannot be followed beyond {} = {:.10g}: {}", options_.parameter,
                               now_.shown.parameter, why_.empty() ? "no cycle was found there" : why_));
      }
      if (passes_equilibrium(*next))
        return end(BranchStatus::ended,
                   fmt::format("the cycle shrinks to an equilibrium between {0} = {1:.10g} and {0} = "
                               "{2:.10g}",
                               options_.parameter, now_.shown.parameter, next->shown.parameter));
      if (passes_touch_of_section(*next))
        return end(BranchStatus::ended,
                   fmt::format("the cycle only touches its section between {0} = {1:.10g} and {0} = {2:.10g}: choose "
                               "another value of '{3}', or another variable",
                               options_.parameter, now_.shown.parameter, next->shown.parameter,
                               map_.variables()[static_cast<std::size_t>(map_.section())]));
      look_between(now_, *next);
      accept(std::move(*next));
      report_progress();
      step = std::min(1.5 * step, options_.step);
      const auto [low, high] = std::minmax(options_.from, options_.to);
      if (now_.shown.parameter <= low || now_.shown.parameter >= high) return end(BranchStatus::finished, "");
    }
    return end(BranchStatus::too_many_points,
               fmt::format("after {} points the branch is at {} = {:.10g}; allow more, or larger steps",
                           options_.max_points, options_.parameter, now_.shown.parameter));
  }

 private:
  Branch end(BranchStatus status, std::string message) {
    branch_.status = status;
    branch_.message = std::move(message);
    return std::move(branch_);
  }

  /// Steps along the branch are alike, so that the range of the parameter measures the work.
  void report_progress() const {
    if (!options_.progress) return;
    const double way = (now_.shown.parameter - options_.from) / (options_.to - options_.from);
    const double used = (static_cast<double>(branch_.points.size()) - 1.0) / options_.max_points;
    options_.progress({.doing = fmt::format("{} points, {} = {:.6g}", branch_.points.size(), options_.parameter,
                                            now_.shown.parameter),
                       .share = std::clamp(std::max(way, used), 0.0, 1.0)});
  }

  double accuracy() const { return std::max(100.0 * options_.cycle.simulate.rtol, 1e-13); }

  /// The first cycle, with the parameter held.
  bool begin() {
    const auto guess = map_.guess(why_);
    if (!guess) {
      branch_.message = why_;
      return false;
    }
    PeriodMap::Point point = map_.evaluate(*guess);
    if (point.ok()) {
      map_.set_reference(point, std::abs(options_.to - options_.from));
      std::vector<double> along(guess->size(), 0.0);
      along.back() = 1.0;
      if (auto found = correct(*guess, along, 30)) {
        now_ = std::move(*found);
        orient(now_, [&](const std::vector<double>& t) { return t.back() * (options_.to - options_.from); });
        map_.set_reference(now_.map, std::abs(options_.to - options_.from));
        branch_.points.push_back(now_.shown);
        return true;
      }
    } else {
      why_ = point.message;
    }
    branch_.message = fmt::format("no cycle was found at {} = {}: {}", options_.parameter, options_.from,
                                  why_.empty() ? "start nearer to it" : why_);
    return false;
  }

  /// Newton's method on the hyperplane through `predicted` across `along`.
  std::optional<BranchState> correct(const std::vector<double>& predicted, const std::vector<double>& along,
                                     int most_iterations) {
    std::vector<double> unknowns = predicted;
    double before = std::numeric_limits<double>::infinity();
    for (int k = 0; k < most_iterations; ++k) {
      PeriodMap::Point point = map_.evaluate(unknowns);
      if (!point.ok()) {
        why_ = point.message;
        return {};
      }
      std::vector<double> right;
      for (const double value : point.residual) right.push_back(-value);
      double distance = 0.0;
      for (std::size_t j = 0; j < along.size(); ++j)
        distance += along[j] * (unknowns[j] - predicted[j]) / map_.scale()[j];
      right.push_back(-distance);
      Matrix row(1, static_cast<int>(along.size()));
      for (std::size_t j = 0; j < along.size(); ++j) row(0, static_cast<int>(j)) = along[j];
      const std::vector<double> step = LeastSquares(above(point.jacobian, row)).solve(right);
      const double size = norm(step);
      why_ = "Newton's method does not converge";
      if (!std::isfinite(size) || (k > 2 && size > 2.0 * before)) return {};
      if (size <= accuracy() && norm(point.residual) <= accuracy()) return state_of(std::move(point));
      before = size;
      for (std::size_t j = 0; j < unknowns.size(); ++j) unknowns[j] += step[j] * map_.scale()[j];
    }
    return {};
  }

  BranchState state_of(PeriodMap::Point point) const {
    BranchState state;
    const Svd d = svd(point.jacobian, SvdForm::full);
    const auto column = d.V.column(d.V.columns() - 1);
    state.tangent.assign(column.begin(), column.end());
    const Trajectory& run = point.run->trajectory();
    state.shown.parameter = point.unknowns.back();
    state.shown.period = point.period;
    state.shown.start.assign(point.unknowns.begin(),
                             point.unknowns.begin() + static_cast<std::ptrdiff_t>(map_.states()));
    const Trajectory::Samples samples = run.sample(300);
    for (const std::string& name : map_.variables()) {
      const std::size_t place = run.index(name);
      double low = std::numeric_limits<double>::infinity(), high = -low;
      for (const auto& values : samples.values) {
        low = std::min(low, values[place]);
        high = std::max(high, values[place]);
      }
      state.shown.lowest.push_back(low);
      state.shown.highest.push_back(high);
    }
    state.shown.multipliers = multipliers_of(point, map_.period_is_unknown(), options_.cycle.simulate.rtol).values;
    state.shown.stable =
        std::ranges::all_of(state.shown.multipliers, [](const auto& value) { return std::abs(value) < 1.0; });
    state.shown.events = event_sequence(run);
    state.map = std::move(point);
    return state;
  }

  template <class Forward>
  static void orient(BranchState& state, const Forward& forward) {
    if (forward(state.tangent) < 0.0)
      for (double& component : state.tangent) component = -component;
  }

  std::optional<BranchState> predict_and_correct(double step) {
    std::vector<double> predicted = now_.map.unknowns;
    for (std::size_t j = 0; j < predicted.size(); ++j) predicted[j] += step * now_.tangent[j] * map_.scale()[j];
    auto next = correct(predicted, now_.tangent, 8);
    if (!next) return {};
    double turn = 0.0;
    for (std::size_t j = 0; j < predicted.size(); ++j) turn += next->tangent[j] * now_.tangent[j];
    if (turn < 0.0)
      for (double& component : next->tangent) component = -component;
    if (std::abs(turn) < 0.8 && step > 10.0 * options_.smallest_step) {  // too sharp a bend for this step
      why_ = "the branch bends too sharply";
      return {};
    }
    return next;
  }

  /// True if the cycle has become a point on the way: it would begin on its other side.
  bool passes_equilibrium(const BranchState& next) const {
    if (!map_.period_is_unknown()) return false;
    double along = 0.0;
    for (std::size_t k = 0; k < map_.states(); ++k)
      along += next.map.slope[k] * now_.map.slope[k] / (map_.scale()[k] * map_.scale()[k]);
    return along < 0.0;
  }

  /// True if the cycle leaves the section on the way: the other passage of the same cycle would be followed back, as if
  /// the branch had a fold.
  bool passes_touch_of_section(const BranchState& next) const {
    if (map_.section() < 0) return false;
    const auto k = static_cast<std::size_t>(map_.section());
    return now_.map.slope[k] * next.map.slope[k] < 0.0;
  }

  void accept(BranchState next) {
    now_ = std::move(next);
    branch_.points.push_back(now_.shown);
    map_.move_reference(now_.map);
  }

  // --- bifurcations between two points

  /// The cycle at a share s of the way from a to b.
  std::optional<BranchState> between(const BranchState& a, const BranchState& b, double s) {
    std::vector<double> along, predicted;
    double length = 0.0;
    for (std::size_t j = 0; j < a.map.unknowns.size(); ++j) {
      const double difference = b.map.unknowns[j] - a.map.unknowns[j];
      predicted.push_back(a.map.unknowns[j] + s * difference);
      along.push_back(difference / map_.scale()[j]);
      length += along.back() * along.back();
    }
    for (double& component : along) component /= std::sqrt(length);
    auto found = correct(predicted, along, 12);
    if (found)
      orient(*found, [&](const std::vector<double>& t) {
        double forward = 0.0;
        for (std::size_t j = 0; j < t.size(); ++j) forward += t[j] * along[j];
        return forward;
      });
    return found;
  }

  void look_between(const BranchState& a, const BranchState& b) {
    std::vector<std::pair<double, Bifurcation>> found;
    const bool same_events = a.shown.events == b.shown.events;
    for (const BifurcationKind kind : {BifurcationKind::fold, BifurcationKind::flip, BifurcationKind::torus}) {
      const auto fa = test_function(kind, a), fb = test_function(kind, b);
      if (!fa || !fb || (*fa < 0.0) == (*fb < 0.0) || (kind != BifurcationKind::fold && !same_events)) continue;
      if (auto place = zero_between(kind, a, b, *fa, *fb)) found.push_back(std::move(*place));
    }
    if (!same_events)
      if (auto place = change_between(a, b)) found.push_back(std::move(*place));
    std::ranges::sort(found, {}, [](const auto& place) { return place.first; });
    for (auto& [s, bifurcation] : found) branch_.bifurcations.push_back(std::move(bifurcation));
  }

  using Place = std::pair<double, Bifurcation>;

  Place place_of(BifurcationKind kind, double s, const BranchState& state, double uncertainty) const {
    return {s, {kind, state.shown, branch_.points.size() - 1, uncertainty}};
  }

  /// A zero of a test function that changes its sign: regula falsi (Illinois).
  std::optional<Place> zero_between(BifurcationKind kind, const BranchState& a, const BranchState& b, double fa,
                                    double fb) {
    double low = 0.0, high = 1.0;
    std::optional<BranchState> best;
    double s = 0.0;
    for (int k = 0, side = 0; k < 60 && high - low > 1e-13; ++k) {
      s = (low * fb - high * fa) / (fb - fa);
      auto state = between(a, b, s);
      const auto f = state ? test_function(kind, *state) : std::nullopt;
      if (!f) return {};
      best = std::move(state);
      if (*f == 0.0) break;
      const double before = s;
      if ((*f < 0.0) == (fa < 0.0)) {
        low = s;
        fa = *f;
        if (side == -1) fb *= 0.5;
        side = -1;
      } else {
        high = s;
        fb = *f;
        if (side == 1) fa *= 0.5;
        side = 1;
      }
      if (std::abs((low * fb - high * fa) / (fb - fa) - before) < 1e-12) break;
    }
    if (!best) return {};
    return place_of(kind, s, *best, accuracy() * (1.0 + std::abs(best->shown.parameter)));
  }

  /// Where the sequence of events changes. A passage that disappears while the slides stay as many is grazed, or turns
  /// into the beginning of a slide: the test function that vanishes at the change tells which.
  std::optional<Place> change_between(const BranchState& a, const BranchState& b) {
    SequenceChange change = classify_change(a, b);
    if (auto place = change_between(a, b, change)) return place;
    if (change.kind == BifurcationKind::grazing) {
      change.kind = BifurcationKind::sliding_onset;
      if (auto place = change_between(a, b, change)) return place;
    }
    change.kind = BifurcationKind::events_change;
    return change_between(a, b, change);
  }

  /// Halving first, then secants of the test function on the side that has it. At the place itself there may be no
  /// cycle with a derivative, so that the last secant is extrapolated. Nothing: it does not vanish at the change.
  std::optional<Place> change_between(const BranchState& a, const BranchState& b, const SequenceChange& change) {
    double with = change.first_has_function ? 0.0 : 1.0, without = 1.0 - with;
    BranchState best = change.first_has_function ? a : b;
    const std::string events = best.shown.events;
    std::vector<SecantEnd> ends;
    // true if there is a cycle at this place
    const auto look = [&](double s) {
      auto state = between(a, b, s);
      if (!state) return false;
      if (state->shown.events != events) {
        without = s;
        return true;
      }
      with = s;
      best = std::move(*state);
      if (const auto f = test_function(change.kind, best)) ends.push_back({s, *f, best.shown.parameter});
      return true;
    };
    look(with);
    const bool has_function = change.kind != BifurcationKind::events_change;
    for (int k = 0; k < (has_function ? 3 : 45); ++k)
      if (!look(0.5 * (with + without))) break;
    const double length = std::abs(b.shown.parameter - a.shown.parameter);
    const double error = accuracy() * (1.0 + std::abs(best.shown.parameter));
    Place place = place_of(change.kind, with, best, std::abs(without - with) * length + error);
    if (!has_function) return place;
    double zero = best.shown.parameter;
    const double farthest = 2.0 * std::abs(without - with);
    for (int k = 0; k < 40; ++k) {
      const std::size_t known = ends.size();
      if (known < 2) {
        if (!look(with + 0.1 * (without - with)) || ends.size() == known) break;
        continue;
      }
      const SecantEnd x = ends[known - 2], y = ends[known - 1];
      if (x.value == y.value) break;  // rounding errors are left
      const double share = y.value / (y.value - x.value), s = y.s - share * (y.s - x.s);
      const double estimate = y.parameter - share * (y.parameter - x.parameter), moved = std::abs(estimate - zero);
      zero = estimate;
      if ((s - with) * (without - with) < -1e-9 * std::abs(without - with)) break;  // away from the change
      if (std::abs(s - with) > farthest) return {};                                 // beyond it
      place.first = std::clamp(s, 0.0, 1.0);
      place.second.point = best.shown;
      place.second.point.parameter = zero;
      place.second.uncertainty = moved + error;
      if (moved <= 1e-13 * (1.0 + std::abs(zero)) || s == y.s) break;
      // next to the change there may be no derivative, or already the other sequence: stay before it
      bool nearer = false;
      for (const double part : {1.0, 0.9, 0.5, 0.2})
        if (look(y.s + part * (s - y.s)) && ends.size() > known) {
          nearer = true;
          break;
        }
      if (!nearer) break;
    }
    return place;
  }

  const ContinuationOptions& options_;
  PeriodMap map_;
  BranchState now_;
  std::string why_;
  Branch branch_;
};

}  // namespace

std::string_view to_string(BifurcationKind kind) {
  constexpr std::array<std::string_view, 6> names = {"fold",    "flip",          "torus",
                                                     "grazing", "sliding_onset", "events_change"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view to_string(BranchStatus status) {
  constexpr std::array<std::string_view, 4> names = {"finished", "ended", "too_many_points", "no_cycle"};
  return names[static_cast<std::size_t>(status)];
}

Branch follow_cycle(const CompiledModel& model, const ContinuationOptions& options) {
  if (options.parameter.empty()) throw UsageError("say which parameter the branch is followed over");
  if (!std::isfinite(options.from) || !std::isfinite(options.to) || options.from == options.to)
    throw UsageError(fmt::format("the range of '{}' goes from {} to {}: it needs two different numbers",
                                 options.parameter, options.from, options.to));
  if (!(options.step > 0.0) || !(options.smallest_step > 0.0) || options.smallest_step > options.step)
    throw UsageError("steps along a branch must be positive, and the smallest one not the largest");
  return BranchFollower(model, options).run();
}
Branch follow_cycle(const Model& model, const ContinuationOptions& options) {
  return follow_cycle(CompiledModel(model), options);
}

}  // namespace saltus
