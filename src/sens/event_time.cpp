// How the time of an event moves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sens/forward_run.hpp"

namespace saltus {

double ForwardRun::GuardRate::distance() const {
  if (value == 0.0) return 0.0;
  const double by_slope = std::abs(value / slope), by_bend = std::sqrt(2.0 * std::abs(value / bend));
  return std::fmin(by_slope, by_bend);
}

double ForwardRun::GuardRate::steepness() const {
  const double scale = std::sqrt(std::abs(bend) * size);
  if (slope == 0.0) return 0.0;
  return scale > 0.0 ? std::abs(slope) / scale : std::numeric_limits<double>::infinity();
}

ForwardRun::GuardRate ForwardRun::rate(Gradient& gradient, double t) const {
  const std::vector<double> data = now_.system->data();
  const double* const in[] = {&t, now_.y.data(), now_.y.data() + now_.n(), data.data(), now_.system->locks().data()};
  gradient.evaluate(in);
  GuardRate result{.value = gradient.value()};
  for (const Gradient::Entry& e : gradient.entries()) {
    const double moves = e.group == ModeTangents::by_time    ? 1.0
                         : e.group == ModeTangents::by_state ? now_.slope(e.place)
                         : e.group == ModeTangents::by_slope ? now_.bend(e.place)
                                                             : 0.0;
    result.slope += e.value * moves;
    if (e.group == ModeTangents::by_state) result.bend += e.value * now_.bend(e.place);
    const double input = e.group == ModeTangents::by_time    ? t
                         : e.group == ModeTangents::by_state ? now_.x(e.place)
                                                             : 0.0;
    result.size += std::abs(e.value * input);
  }
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    const std::vector<double> change = data_change(k, data.size());
    double sum = 0.0;
    for (const Gradient::Entry& e : gradient.entries())
      sum += e.value * (e.group == ModeTangents::by_state   ? now_.s(k, e.place)
                        : e.group == ModeTangents::by_slope ? now_.sp(k, e.place)
                        : e.group == ModeTangents::by_data  ? change[e.place]
                                                            : 0.0);
    result.along.push_back(sum);
  }
  return result;
}

/// Numbers, in the system of the mode, of the functions that may have made the guard of an event fire. A surface on
/// which the solution stays is left where a weight reaches its end, or a force vanishes; other guards that lie on it
/// say nothing.
std::vector<int> ForwardRun::functions_of(const Event& event, std::size_t guard) const {
  std::vector<int> exits, result, others;
  const Mode& mode = now_.mode;
  if (mode.on_surfaces()) model_.exit_guards(mode, exits);
  for (int k = 0; k < static_cast<int>(model_.guards().size()); ++k) {
    const GuardInfo& info = model_.guards()[static_cast<std::size_t>(k)];
    if (info.name != event.guards[guard] || info.where != event.where[guard]) continue;
    const auto slides = std::ranges::find(mode.sliding, k), rests = std::ranges::find(mode.contacts, k);
    if (slides != mode.sliding.end())  // the field on the other side takes over
      result.push_back(exits[static_cast<std::size_t>(slides - mode.sliding.begin())] + (event.direction[guard] > 0));
    else if (rests != mode.contacts.end())
      result.push_back(exits[mode.sliding.size() + static_cast<std::size_t>(rests - mode.contacts.begin())]);
    else
      others.push_back(k);
  }
  return result.empty() ? others : result;
}

bool ForwardRun::find_cause(double t, std::size_t first, std::size_t last) {
  const std::vector<Event>& events = result_->trajectory.events();
  cause_ = {.time_change = std::vector<double>(directions_.size(), 0.0)};
  struct Candidate {
    int guard;
    std::string name;
    GuardRate rate;
    double distance;  // in time
  };
  std::vector<Candidate> candidates;
  for (std::size_t e = first; e < last; ++e)
    for (std::size_t g = 0; g < events[e].guards.size(); ++g) {
      if (events[e].kind == EventKind::touch) continue;
      std::optional<Candidate> nearest;
      const std::vector<int> functions = functions_of(events[e], g);
      if (functions.empty())
        return fail(t, fmt::format("the function of the guard '{}' is not known in the mode before the event",
                                   events[e].guards[g]));
      for (const int k : functions) {
        Candidate one{k, events[e].guards[g], rate(now_.code->guard(k), t), 0.0};
        one.distance = one.rate.distance();
        if (!nearest || one.distance < nearest->distance) nearest = std::move(one);
      }
      if (nearest) candidates.push_back(std::move(*nearest));
    }
  if (candidates.empty()) return true;
  std::ranges::sort(candidates, {}, &Candidate::distance);
  const double length = std::max(std::abs(t), std::abs(t - result_->pieces.back().from));
  const double near = std::max(10.0 * candidates.front().distance, 1e3 * options_.rtol * length);
  // an error of the relative size rtol moves the time by its size / slope, and the slope itself by bend / slope of that
  const double steep = std::sqrt(std::max(options_.rtol, std::numeric_limits<double>::epsilon()));
  for (const Candidate& one : candidates) {
    if (one.distance > near) break;  // it fired because others did
    const double relative = one.rate.steepness();
    if (!(relative > steep))
      return fail(t,
                  fmt::format("'{}' is only touched, as far as the tolerance can tell (grazing): the derivative does "
                              "not exist, or is not known",
                              one.name));
    std::vector<double> change;
    for (const double along : one.rate.along) change.push_back(-along / one.rate.slope);
    if (cause_.guard < 0) {
      cause_.guard = one.guard;
      cause_.time_change = change;
      if (relative < 1e-3 || relative < 30.0 * steep)
        cause_.remark =
            fmt::format("the slope of '{}' is small: errors are magnified by {:.3g}", one.name, 1.0 / relative);
    }
    for (std::size_t k = 0; k < change.size(); ++k) {
      const double other = cause_.time_change[k], size = std::max(std::abs(change[k]), std::abs(other));
      if (std::abs(change[k] - other) > 1e-4 * size + 1e-9 * length / directions_[k].info.scale)
        cause_.move_apart = true;
    }
    if (std::ranges::find(cause_.guards, one.guard) != cause_.guards.end()) continue;
    cause_.guards.push_back(one.guard);
    cause_.names.push_back(one.name);
    cause_.time_changes.push_back(std::move(change));
  }
  return true;
}

/// Guards that happen together, and that a direction moves apart: behind them the derivatives are those of both orders,
/// if these agree; otherwise those of the order that a growing parameter makes.
bool ForwardRun::pass_in_both_orders(double t) {
  const std::string names = fmt::format("'{}' and '{}' happen together", cause_.names[0], cause_.names[1]);
  const auto refuse = [&](const std::string& why) {
    return fail(t, fmt::format("{}, and parameters move them apart: {}", names, why));
  };
  const std::size_t shared = model_.variables().size(), family = model_.guards().size();
  if (now_.mode.on_surfaces() || !now_.system->structure().explicit_ode ||
      std::ranges::any_of(cause_.guards, [&](int g) { return g >= static_cast<int>(family); }))
    return refuse("on surfaces and in modes that are not explicit, that is not differentiated yet");
  const Trajectory& run = result_->trajectory;
  const auto next = std::ranges::find_if(run.segments(), [&](const Trajectory::Segment& s) {
    return !s.steps.empty() && s.steps.front().polynomial.t0 == t;
  });
  const Mode mode_behind = next == run.segments().end() ? final_mode_ : run.mode(*next);
  const std::vector<double> x_behind = next == run.segments().end() ? final_x_ : value_at(next->steps.front(), t);
  GuardOrders orders(model_, linear_modes_, act_tangents_, t, now_.mode,
                     {now_.y.begin(), now_.y.begin() + static_cast<std::ptrdiff_t>(shared)});
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    InstantChange before{0.0, {}, changes_[k].discrete, directions_[k].parameter};
    for (std::size_t j = 0; j < shared; ++j) before.state.push_back(now_.s(k, j));
    std::vector<std::size_t> order(cause_.guards.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return cause_.time_changes[i][k]; });
    GuardOrders::End ends[2];
    for (const bool falls : {false, true}) {
      std::vector<int> guards;
      for (const std::size_t i : order) guards.push_back(cause_.guards[i]);
      GuardOrders::End& end = ends[falls] = orders.pass(guards, before);
      std::ranges::reverse(order);
      if (!end.why.empty()) return refuse(end.why);
      for (std::size_t j = 0; j < shared; ++j)
        if (!(std::abs(end.x[j] - x_behind[j]) <=
              (1e-6 + 1e3 * options_.rtol) * (std::abs(x_behind[j]) + now_.system->nominal(static_cast<int>(j)))))
          return refuse("what comes out depends on which of them comes first");
      if (mode_behind.on_surfaces() || end.mode.automaton != mode_behind.automaton ||
          end.mode.locks != mode_behind.locks || end.mode.discrete.size() != mode_behind.discrete.size())
        return refuse("what comes out depends on which of them comes first");
      const auto wrong = [&](double a, double b) {
        return falls ? b > a + 1e-9 * std::abs(a) : b < a - 1e-9 * std::abs(a);
      };
      if (std::ranges::adjacent_find(end.times, wrong) != end.times.end())
        return refuse("behind the first of them the second one comes earlier than before it");
    }
    const InstantChange &grows = ends[0].change, &falls = ends[1].change;
    double size = 1.0 / directions_[k].info.scale;
    for (const double v : grows.state) size = std::max(size, std::abs(v));
    const auto differ = [&](double a, double b) { return !(std::abs(a - b) <= 1e-5 * size); };
    if (!std::ranges::equal(grows.state, falls.state, std::not_fn(differ)) ||
        !std::ranges::equal(grows.discrete, falls.discrete, std::not_fn(differ))) {
      cause_.smoothness = Smoothness::one_sided;
      cause_.remark = fmt::format(
          "{}, and which comes first depends on '{}': derivatives behind them are those for a "
          "growing parameter",
          names, directions_[k].info.name);
    }
    changes_[k] = grows;
    changes_[k].time = 0.0;  // these are changes at a fixed time
  }
  reset_.clear();
  assigned_.clear();
  while (next_act_ < acts_.size() && acts_[next_act_].t == t) ++next_act_;
  return true;
}

// Infinitely many resets are left, with speeds w, r w, r^2 w, … of the guard behind them. To first order in w they take
// T = 2 w / (a (1 - r)) in all, and make r / (1 - r) times the last jump.
bool ForwardRun::take_tail(const Trajectory::Step& tail, std::size_t contact, std::size_t last) {
  const double t = now_.t;
  if (cause_.guard < 0 || !now_.system->structure().explicit_ode)
    return fail(t, "infinitely many resets in a mode that is not explicit are not differentiated yet");
  const std::size_t n = model_.variables().size();
  Gradient& speed = now_.code->guard_speed(cause_.guard);
  const GuardRate before = rate(speed, t);
  std::vector<double> x = value_at(tail, t), f(x.size());
  now_.system->rhs(t, x, f);
  const std::vector<double> x_before(now_.y.begin(), now_.y.begin() + static_cast<std::ptrdiff_t>(n));
  const std::vector<double> data = now_.system->data();
  const double* const in[] = {&t, x.data(), f.data(), data.data(), now_.system->locks().data()};
  speed.evaluate(in);
  const double w = speed.value(), r = -w / before.value;
  double a = 0.0;
  for (const Gradient::Entry& e : speed.entries())
    a += e.value * (e.group == ModeTangents::by_time ? 1.0 : e.group == ModeTangents::by_state ? f[e.place] : 0.0);
  if (!(r > 0.0 && r < 1.0) || !(a * w < 0.0)) return fail(t, "the resets that are left do not shrink geometrically");
  // how the field behind the last reset moves
  std::vector<double> y = x;
  y.insert(y.end(), f.begin(), f.end());
  std::vector<std::vector<double>> data_changes;
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    data_changes.push_back(data_change(k, data.size()));
    y.insert(y.end(), changes_[k].state.begin(), changes_[k].state.end());
  }
  std::vector<double> yp(y.size());
  now_.code->with_values(data, now_.system->locks(), data_changes, time_changes()).rhs(t, y, yp);
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    const std::vector<double>& change = data_changes[k];
    double dw = 0.0;
    for (const Gradient::Entry& e : speed.entries())
      dw += e.value * (e.group == ModeTangents::by_time    ? changes_[k].time
                       : e.group == ModeTangents::by_state ? changes_[k].state[e.place]
                       : e.group == ModeTangents::by_data  ? change[e.place]
                                                           : 0.0);
    const double dw_before = before.along[k] + before.slope * changes_[k].time;
    const double dr = r * (dw / w - dw_before / before.value), T = -2.0 * w / (a * (1.0 - r));
    const double dT = -2.0 * dw / (a * (1.0 - r)) + T * dr / (1.0 - r);
    for (std::size_t j = 0; j < n; ++j) {
      const double was = now_.s(k, j) + now_.slope(j) * changes_[k].time;
      changes_[k].state[j] += dT * f[j] + T * yp[(k + 2) * x.size() + j] +
                              r / (1.0 - r) * (changes_[k].state[j] - was) +
                              dr / ((1.0 - r) * (1.0 - r)) * (x[j] - x_before[j]);
    }
    changes_[k].time += dT;
  }
  const std::vector<Event>& events = result_->trajectory.events();
  for (std::size_t e = contact; e < last; ++e) result_->events.push_back({.t = events[e].t, .dt = time_changes()});
  return take_acts(tail.t_end);
}

SensitivityRun simulate_with_sensitivities(const CompiledModel& model, const std::vector<std::string>& parameters,
                                           const SimulateOptions& options) {
  return ForwardRun(model, parameters, options).run();
}

SensitivityRun simulate_with_sensitivities(const Model& model, const std::vector<std::string>& parameters,
                                           const SimulateOptions& options) {
  return simulate_with_sensitivities(CompiledModel(model), parameters, options);
}

}  // namespace saltus
