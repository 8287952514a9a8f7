// How the time of an event moves.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "sens/forward_run.hpp"

namespace saltus {

GuardRate ForwardRun::rate(Gradient& gradient, double t) const {
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

Gradient& ForwardRun::guard(int number) {
  if (now_.constrained) return now_.constrained->observer().guard(number);
  return now_.work ? now_.work->guard(number) : now_.code->guard(number);
}

bool ForwardRun::find_cause(const RunLeg& leg) {
  const RunInstant& instant = leg.end;
  cause_ = {.time_change = std::vector<double>(directions_.size(), 0.0)};
  const double length = instant.time_scale;
  const EventCauses found = find_causes(
      model_, now_.mode, instant,
      [&](int number) {
        GuardRate result = rate(guard(number), instant.t);
        result.size = size_over_leg(*now_.system, leg, number, result.size, options_.rtol);
        return result;
      },
      options_.rtol);
  if (!found.why.empty()) return fail(instant.t, found.why);
  cause_.remark = found.remark;
  for (const GuardCause& one : found.guards) {
    std::vector<double> change;
    for (const double along : one.rate.along) change.push_back(-along / one.rate.slope);
    if (cause_.guard < 0) {
      cause_.guard = one.guard;
      cause_.time_change = change;
    }
    for (std::size_t k = 0; k < change.size(); ++k) {
      const double other = cause_.time_change[k], size = std::max(std::abs(change[k]), std::abs(other));
      if (std::abs(change[k] - other) > 1e-4 * size + 1e-9 * length / directions_[k].info.scale)
        cause_.apart = static_cast<int>(k);
    }
    if (std::ranges::find(cause_.guards, one.guard) != cause_.guards.end()) continue;
    cause_.guards.push_back(one.guard);
    cause_.names.push_back(one.name);
    cause_.time_changes.push_back(std::move(change));
  }
  return true;
}

/// Notes the events of an instant, with the changes of its time.
void ForwardRun::note_events(const RunInstant& instant) {
  for (std::size_t e = instant.first_event; e < instant.last_event; ++e) {
    const Event& event = result_->trajectory.events()[e];
    if (event.kind == EventKind::touch)
      result_->events.push_back({.t = event.t,
                                 .smoothness = Smoothness::undefined,
                                 .text = "a touch where the mode ends: its time is not differentiated"});
    else
      result_->events.push_back({.t = event.t, .dt = time_changes(), .text = cause_.remark});
    note_smoothness(result_->events.back());
  }
}

bool ForwardRun::leave(const RunLeg& leg) {
  const RunInstant& instant = leg.end;
  if (!find_cause(leg)) return false;
  if (cause_.apart >= 0) {
    if (!pass_in_both_orders(instant.t)) return false;
    if (cause_.remark.empty()) cause_.remark = "its guards happen together, and parameters move their times apart";
    for (std::size_t e = instant.first_event; e < instant.last_event; ++e) {
      result_->events.push_back(
          {.t = result_->trajectory.events()[e].t, .smoothness = cause_.smoothness, .text = cause_.remark});
      note_smoothness(result_->events.back());
    }
    last_instant_ = {instant.t, {}};
    for (std::size_t k = 0; k < directions_.size(); ++k) {
      bool moves = false;
      for (const std::vector<double>& times : cause_.time_changes) moves = moves || times[k] != 0.0;
      last_instant_.moves.push_back(moves ? std::numeric_limits<double>::infinity() : 0.0);
    }
    return true;
  }
  const std::size_t shared = model_.variables().size();
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    changes_[k].time = cause_.time_change[k];
    for (std::size_t j = 0; j < shared; ++j) changes_[k].state[j] = now_.s(k, j) + now_.slope(j) * changes_[k].time;
  }
  last_instant_ = {instant.t, cause_.time_change};
  note_events(instant);
  return take_acts(instant);
}

/// A guard is touched: its time is that of an extremum, where the derivative of the guard by time vanishes.
bool ForwardRun::pass_touch(const RunLeg& leg, std::size_t event) {
  const Event& touch = result_->trajectory.events()[event];
  const TouchedGuard what = touched_guard(model_, leg.mode, result_->trajectory, event);
  if (what.acts)
    return fail(touch.t, fmt::format("'{}' is only touched (grazing), and something happens where it is crossed: the "
                                     "derivative does not exist",
                                     what.name));
  EventSensitivity noted{.t = touch.t,
                         .smoothness = Smoothness::undefined,
                         .text = "the time of a touch is differentiated in explicit modes only"};
  if (now_.work && what.guard >= 0) {
    const Point end = now_;
    const std::vector<double> s = result_->pieces.back().flow->at(touch.t);
    SolutionPath path(*leg.steps);
    std::ranges::copy(value_at(path.step(touch.t), touch.t), now_.y.begin());
    now_.t = touch.t;
    take_lanes(s);
    find_slopes(s);
    const GuardRate speed = rate(now_.work->guard_speed(what.guard), touch.t);
    now_ = end;
    if (!(speed.steepness() > std::sqrt(options_.rtol))) {
      noted.text = fmt::format(
          "'{}' is touched, and its second derivative vanishes there, too: the derivative of the "
          "time does not exist, or is not known",
          what.name);
    } else {
      for (const double along : speed.along) noted.dt.push_back(-along / speed.slope);
      noted.text = "a touch: the time is that of the extremum of its guard";
      noted.smoothness = Smoothness::smooth;
    }
  }
  note_smoothness(noted);
  result_->events.push_back(std::move(noted));
  return true;
}

/// Guards that happen together, and that a direction moves apart: behind them the derivatives are those of both orders,
/// if these agree; otherwise those of the order that a growing parameter makes.
bool ForwardRun::pass_in_both_orders(double t) {
  const std::string names = fmt::format("'{}' and '{}' happen together", cause_.names[0], cause_.names[1]);
  const auto refuse = [&](const std::string& why) {
    return fail(t, fmt::format("{}, and '{}' moves them apart: {}", names,
                               directions_[static_cast<std::size_t>(cause_.apart)].info.name, why));
  };
  const std::size_t shared = model_.variables().size(), family = model_.guards().size();
  if (now_.mode.on_surfaces() || !now_.system->structure().explicit_ode ||
      std::ranges::any_of(cause_.guards, [&](int g) { return g >= static_cast<int>(family); }))
    return refuse("on surfaces and in modes that are not explicit, that is not differentiated yet");
  const Trajectory& run = result_->trajectory;
  const auto next = std::ranges::find_if(run.segments(), [&](const Trajectory::Segment& s) {
    return !s.steps.empty() && s.steps.front().polynomial.t0 == t;
  });
  const Mode mode_behind = next == run.segments().end() ? record_.final_mode : run.mode(*next);
  const std::vector<double> x_behind =
      next == run.segments().end() ? record_.final_x : value_at(next->steps.front(), t);
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
      mark_one_sided(k, t, cause_.remark);
    }
    changes_[k] = grows;
    changes_[k].time = 0.0;  // these are changes at a fixed time
  }
  reset_.clear();
  assigned_.clear();
  return true;
}

// Infinitely many resets are left, with speeds w, r w, r^2 w, … of the guard behind them. To first order in w they take
// T = 2 w / (a (1 - r)) in all, and make r / (1 - r) times the last jump.
bool ForwardRun::take_tail(const Trajectory::Step& tail, const RunInstant& contact) {
  const double t = now_.t;
  if (cause_.guard < 0 || !now_.system->structure().explicit_ode)
    return fail(t, "infinitely many resets in a mode that is not explicit are not differentiated yet");
  const std::size_t n = model_.variables().size();
  Gradient& speed = now_.work->guard_speed(cause_.guard);
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
  // how the field behind the last reset moves: with the state and the data, and with time
  const Lanes& lanes = now_.work->lanes();
  std::vector<double> state(lanes.size(), 0.0), slopes(lanes.size()), still(x.size(), 0.0), field(x.size());
  for (std::size_t k = 0; k < directions_.size(); ++k)
    for (std::size_t j = 0; j < n; ++j) state[lanes.place(k, j)] = changes_[k].state[j];
  now_.work->slopes(t, x, *now_.values, state, field, slopes);
  const std::vector<double> by_time = now_.work->bend(t, x, still, *now_.values);
  const std::vector<std::vector<double>> changes_of_data = data_changes();
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    const std::vector<double>& change = changes_of_data[k];
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
      const double field_moves = slopes[lanes.place(k, j)] + by_time[j] * changes_[k].time;
      changes_[k].state[j] += dT * f[j] + T * field_moves + r / (1.0 - r) * (changes_[k].state[j] - was) +
                              dr / ((1.0 - r) * (1.0 - r)) * (x[j] - x_before[j]);
    }
    changes_[k].time += dT;
  }
  cause_.remark.clear();
  last_instant_ = {contact.t, time_changes()};
  note_events(contact);
  return take_acts(contact);
}

SensitivityRun simulate_with_sensitivities(const CompiledModel& model, const std::vector<std::string>& parameters,
                                           const SimulateOptions& options, const SensitivityOptions& sensitivity) {
  return ForwardRun(model, parameters, options, sensitivity).run();
}

SensitivityRun simulate_with_sensitivities(const Model& model, const std::vector<std::string>& parameters,
                                           const SimulateOptions& options, const SensitivityOptions& sensitivity) {
  return simulate_with_sensitivities(CompiledModel(model), parameters, options, sensitivity);
}

}  // namespace saltus
