// The adjoint at events: the stages of the forward formula, transposed, in reverse order (adjoint_run.hpp).
#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sens/adjoint_run.hpp"
#include "sens/gradient_sums.hpp"
#include "sens/jump_tangents.hpp"
#include "sens/start_choice.hpp"

namespace saltus {

namespace {

using TermKind = Functional::Kind;

}  // namespace

bool AdjointRun::find_rounds(const RunInstant& instant, std::vector<RoundMap>& rounds, const Mode* left) {
  for (std::size_t a = instant.first_act; a < instant.last_act; ++a) {
    rounds.emplace_back();
    const Act& act = record_->acts[a];
    std::string why =
        a == instant.first_act ? "" : moved_between(record_->acts[a - 1], act, left, model_, options_.rtol);
    if (why.empty()) why = act_tangents_.find(act, a == instant.first_act, left, linear_modes_, rounds.back());
    if (!why.empty()) return fail(instant.t, "something happens that is not differentiated yet: " + why);
  }
  return true;
}

/// From the values behind an instant to those that rounds have left.
bool AdjointRun::to_before_values(const RunLeg& leg, const LinearPoint& before, bool reset, InstantFunction& function) {
  if (point_.mode().hidden_constraints() && reset) {
    std::vector<int> set;
    for (std::size_t a = leg.end.first_act; a < leg.end.last_act; ++a)
      for (std::size_t j = 0; j < record_->acts[a].x_after.size(); ++j)
        if (record_->acts[a].x_after[j] != record_->acts[a].x_before[j]) set.push_back(static_cast<int>(j));
    std::vector<double> x;
    for (std::size_t j = 0; j < point_.mode().variables(); ++j) x.push_back(point_.value(j, 0));
    auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode_));
    const Initialisation found = initialise(system, leg.end.t, x, {.preferred = set});
    if (!found.ok()) return fail(leg.end.t, "the values behind a reset cannot be made consistent again");
    std::string why =
        follows_reset(system, leg.end.t, record_->acts[leg.end.last_act - 1].x_after, x, found.held, options_.rtol);
    if (!why.empty()) return fail(leg.end.t, std::move(why));
    change_held(point_, found.held);
  }
  function = at_fixed_time();
  for (std::size_t k = 0; k < function_.held.size(); ++k)
    function.time -= function_.held[k] * point_.value(static_cast<std::size_t>(point_.held()[k]), 1);
  const bool same = &before.mode() == &point_.mode() && std::ranges::equal(before.locks(), point_.locks()) &&
                    std::ranges::equal(before.data(), point_.data());
  return !point_.mode().hidden_constraints() || reset || same || pull_through_jump(before, function);
}

/// The transposed of the jump to the constraints of a new mode, column by column.
bool AdjointRun::pull_through_jump(const LinearPoint& before, InstantFunction& function) {
  constexpr std::size_t block = 4;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode_));
  std::shared_ptr<ModeTangents>& known = jump_codes_[system.structure().id.number()];
  if (!known) {
    std::vector<DirectionInfo> infos;
    for (std::size_t k = 0; k < block; ++k) infos.push_back({fmt::format("direction {}", k + 1), 1.0});
    known = std::make_shared<ModeTangents>(system, std::span<const Expr>{}, infos);
  }
  const ModeTangents& code = *known;
  const std::size_t shared = model_.variables().size(), data = point_.data().size();
  std::vector<double> x_before, x;
  for (std::size_t j = 0; j < shared; ++j) x_before.push_back(before.value(j, 0));
  for (std::size_t j = 0; j < point_.mode().variables(); ++j) x.push_back(point_.value(j, 0));
  const std::vector<double> of_state = function.state;
  std::vector<std::pair<std::size_t, double*>> columns;  // of the state, then of data, then of time
  for (std::size_t j = 0; j < shared; ++j)
    if (system.structure().differentiated(static_cast<int>(j))) columns.emplace_back(j, &function.state[j]);
  const std::size_t parameters = function.parameters.size();
  for (std::size_t k = 0; k < parameters + function.discrete.size(); ++k)
    if (point_.mode().reads_data(k))
      columns.emplace_back(shared + k, k < parameters ? &function.parameters[k] : &function.discrete[k - parameters]);
  columns.emplace_back(shared + data, &function.time);
  for (std::size_t j = 0; j < shared; ++j) function.state[j] = 0.0;
  for (std::size_t first = 0; first < columns.size(); first += block) {
    std::vector<JumpChange> changes(block, {std::vector<double>(shared, 0.0), std::vector<double>(data, 0.0), 0.0});
    const std::size_t count = std::min(block, columns.size() - first);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t what = columns[first + k].first;
      (what < shared          ? changes[k].state[what]
       : what < shared + data ? changes[k].data[what - shared]
                              : changes[k].time) = 1.0;
    }
    std::string why = jump_tangents(system, code, point_.t(), x_before, x, options_.rtol, changes);
    if (!why.empty()) return fail(point_.t(), std::move(why));
    for (std::size_t k = 0; k < count; ++k)
      for (const int j : point_.held())
        *columns[first + k].second +=
            of_state[static_cast<std::size_t>(j)] * changes[k].state[static_cast<std::size_t>(j)];
  }
  return true;
}

/// The transposed of what happens at the end of a leg.
bool AdjointRun::pass_back(const RunLeg& leg, RecordedPath& path) {
  const std::vector<Event>& events = record_->trajectory.events();
  LinearPoint& before = path.point();
  const double t = leg.to;
  const std::vector<double> rates = before.rates();
  std::vector<RoundMap> rounds;
  if (!find_rounds(leg.end, rounds, &leg.mode)) return false;
  // which guard made it happen
  const auto rate = [&](int guard) {
    Gradient& gradient = guard_gradient(guard, leg.mode, before);
    before.evaluate(gradient);
    GuardRate result{.value = gradient.value(), .slope = rate_of(gradient, rates)};
    for (const Gradient::Entry& e : gradient.entries()) {
      if (e.group == LinearMode::by_time) result.size += std::abs(e.value * t);
      if (e.group != LinearMode::by_unknown) continue;
      result.size += std::abs(e.value * before.unknowns()[e.place]);
      const std::size_t j = before.mode().variable_of(e.place);
      if (before.mode().place(j, 0) == static_cast<int>(e.place) && before.mode().place(j, 1) >= 0)
        result.bend += e.value * rates[static_cast<std::size_t>(before.mode().place(j, 1))];
    }
    result.size = size_over_leg(model_.system(leg.mode), leg, guard, result.size, options_.rtol);
    return result;
  };
  const double length = leg.end.time_scale;
  const EventCauses causes = find_causes(model_, leg.mode, leg.end, rate, options_.rtol);
  if (!causes.why.empty()) return fail(t, causes.why);
  // what each of the guards makes of the time: a function of the changes before the event
  std::vector<Covector> times;
  for (const GuardCause& cause : causes.guards) {
    Gradient& gradient = guard_gradient(cause.guard, leg.mode, before);
    before.evaluate(gradient);
    std::vector<double> of_guard(before.mode().unknowns(), 0.0);
    Covector time = before.covector();
    add_unknowns(gradient, -1.0 / cause.rate.slope, of_guard);
    add_data(gradient, -1.0 / cause.rate.slope, time.data);
    before.pull(of_guard, time);
    time.time = 0.0;
    times.push_back(std::move(time));
  }
  for (const Covector& other : times)
    for (const auto& [a, b] :
         {std::pair(&times.front().held, &other.held), std::pair(&times.front().data, &other.data)})
      for (std::size_t k = 0; k < a->size(); ++k)
        if (!(std::abs((*a)[k] - (*b)[k]) <= 1e-4 * (std::abs((*a)[k]) + std::abs((*b)[k])) + 1e-7 * length))
          return fail(
              t, fmt::format(
                     "'{}' and '{}' happen together, and their times can move apart, which the adjoint does not "
                     "follow; simulate_with_sensitivities does",
                     causes.guards.front().name, causes.guards[static_cast<std::size_t>(&other - times.data())].name));
  const auto moves = [](const Covector& time) {
    const auto is_set = [](double v) { return v != 0.0; };
    return std::ranges::any_of(time.held, is_set) || std::ranges::any_of(time.data, is_set);
  };
  if (t == options_.stop && record_->trajectory.status().code == StatusCode::success &&
      std::ranges::any_of(times, moves))
    return fail(t,
                fmt::format("'{}' happens at the stop time: a parameter moves it in or out of the run, and derivatives "
                            "are one-sided or do not exist; simulate_with_sensitivities says which, or stop elsewhere",
                            causes.guards.front().name));
  // from behind the instant to before it
  const bool reset = std::ranges::any_of(rounds, &RoundMap::resets);
  InstantFunction function;
  const bool moving_end = &leg == &record_->legs.back() && record_->trajectory.status().code == StatusCode::terminated;
  if (!to_before_values(leg, before, reset, function)) return false;
  if (moving_end) function.time += end_rate_;
  if (integrates_) {
    Gradient& l_before = *terms_of(leg.mode, before).integrand;
    before.evaluate(l_before);
    function.time += l_before.value();
    if (!moving_end) {
      Gradient& l_behind = *terms_of(mode_, point_).integrand;
      point_.evaluate(l_behind);
      function.time -= l_behind.value();
    }
  }
  std::vector<double> of_unknowns(before.mode().unknowns(), 0.0);
  InstantFunction directly;  // what the tail reads of the values before
  if (leg.contact && !pull_through_tail(leg, before, causes, function, directly, of_unknowns)) return false;
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) function.pull(*round);
  if (leg.contact) {
    function.time += directly.time;
    for (std::size_t j = 0; j < function.state.size(); ++j) function.state[j] += directly.state[j];
    for (std::size_t k = 0; k < function.discrete.size(); ++k) function.discrete[k] += directly.discrete[k];
    for (std::size_t k = 0; k < function.parameters.size(); ++k) function.parameters[k] += directly.parameters[k];
  }
  for (std::size_t j = 0; j < function.state.size(); ++j)
    of_unknowns[static_cast<std::size_t>(before.mode().place(j, 0))] += function.state[j];
  Covector result = before.covector();
  std::ranges::copy(function.parameters, result.data.begin());
  std::ranges::copy(function.discrete, result.data.begin() + static_cast<std::ptrdiff_t>(function.parameters.size()));
  double time = function.time;
  // sums over events and their times
  for (std::size_t e = leg.end.first_event; e < leg.end.last_event; ++e)
    for (const std::size_t k : terms_of_event_[e]) {
      const Functional::Term& term = functional_.terms()[k];
      if (term.kind == TermKind::event_time) {
        result_.value += term.weight * events[e].t;
        time += term.weight;
        continue;
      }
      Gradient& gradient = value_gradient(k, leg.mode, before);
      before.evaluate(gradient);
      result_.value += term.weight * gradient.value();
      add_unknowns(gradient, term.weight, of_unknowns);
      add_data(gradient, term.weight, result.data);
      for (const Gradient::Entry& entry : gradient.entries())
        if (entry.group == LinearMode::by_time) time += term.weight * entry.value;
    }
  for (std::size_t c = 0; c < of_unknowns.size(); ++c) time += of_unknowns[c] * rates[c];
  before.pull(of_unknowns, result);
  if (!times.empty()) {
    for (std::size_t k = 0; k < result.held.size(); ++k) result.held[k] += time * times.front().held[k];
    for (std::size_t k = 0; k < result.data.size(); ++k) result.data[k] += time * times.front().data[k];
  }
  result.time = 0.0;
  function_ = std::move(result);
  return true;
}

/// The transposed of the sum of infinitely many resets (ForwardRun::take_tail).
bool AdjointRun::pull_through_tail(const RunLeg& leg, const LinearPoint& before, const EventCauses& causes,
                                   InstantFunction& function, InstantFunction& directly,
                                   std::vector<double>& of_unknowns) {
  std::vector<RoundMap> rounds;
  if (!find_rounds(*leg.contact, rounds, &leg.mode)) return false;
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) function.pull(*round);
  LinearPoint behind = linear_modes_.at(leg.mode);
  if (causes.guards.empty() || !behind.mode().is_explicit() ||
      !behind.move(leg.to, value_at(leg.steps->back(), leg.to), {}))
    return fail(leg.to, "infinitely many resets in a mode that is not explicit are not differentiated yet");
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(leg.mode));
  Gradient speed =
      behind.mode().speed(system.equations().guards[static_cast<std::size_t>(causes.guards.front().guard)]);
  const std::size_t n = function.state.size(), parameters = function.parameters.size();
  const auto add = [&](const std::vector<double>& data, InstantFunction& to) {
    for (std::size_t k = 0; k < parameters + to.discrete.size(); ++k)
      (k < parameters ? to.parameters[k] : to.discrete[k - parameters]) += data[k];
  };
  const auto by_time = [](const Gradient& g) {
    double sum = 0.0;
    for (const Gradient::Entry& e : g.entries()) sum += e.group == LinearMode::by_time ? e.value : 0.0;
    return sum;
  };
  Gradient speed_before =
      behind.mode().speed(system.equations().guards[static_cast<std::size_t>(causes.guards.front().guard)]);
  before.evaluate(speed_before);
  const double w_before = speed_before.value();
  behind.evaluate(speed);
  const double w = speed.value(), a = rate_of(speed, behind.rates()), r = -w / w_before, T = -2.0 * w / (a * (1.0 - r));
  if (!(r > 0.0 && r < 1.0) || !(a * w < 0.0))
    return fail(leg.to, "the resets that are left do not shrink geometrically");
  double of_T = function.time, of_r = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    of_T += function.state[j] * behind.value(j, 1);
    of_r += function.state[j] * (behind.value(j, 0) - before.value(j, 0)) / ((1.0 - r) * (1.0 - r));
  }
  of_r += of_T * T / (1.0 - r);
  const double of_w = -2.0 / (a * (1.0 - r)) * of_T + of_r * r / w, of_w_before = -of_r * r / w_before;
  directly = {.state = std::vector<double>(n, 0.0),
              .discrete = std::vector<double>(function.discrete.size(), 0.0),
              .parameters = std::vector<double>(parameters, 0.0)};
  std::vector<double> of_behind(behind.mode().unknowns(), 0.0);
  for (std::size_t j = 0; j < n; ++j) {
    of_behind[static_cast<std::size_t>(behind.mode().place(j, 1))] += T * function.state[j];
    directly.state[j] = -r / (1.0 - r) * function.state[j];
    function.state[j] *= 1.0 + r / (1.0 - r);
  }
  add_unknowns(speed, of_w, of_behind);
  Covector part = behind.covector();
  add_data(speed, of_w, part.data);
  behind.pull(of_behind, part);
  for (std::size_t k = 0; k < part.held.size(); ++k)
    function.state[static_cast<std::size_t>(behind.held()[k])] += part.held[k];
  function.time += part.time + of_w * by_time(speed);
  add(part.data, function);
  add_unknowns(speed_before, of_w_before, of_unknowns);
  std::vector<double> data(part.data.size(), 0.0);
  add_data(speed_before, of_w_before, data);
  add(data, directly);
  directly.time = of_w_before * by_time(speed_before);
  return true;
}

}  // namespace saltus
