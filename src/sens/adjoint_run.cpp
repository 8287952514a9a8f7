#include "sens/adjoint_run.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sens/jump_tangents.hpp"
#include "sens/observed.hpp"
#include "sens/quadrature.hpp"
#include "sens/start_choice.hpp"

namespace saltus {

namespace {

using Kind = Functional::Kind;

/// How much a function of the unknowns changes with time along the solution.
double rate_of(const Gradient& gradient, const std::vector<double>& rates) {
  double sum = 0.0;
  for (const Gradient::Entry& e : gradient.entries())
    sum += e.value * (e.group == LinearMode::by_time ? 1.0 : e.group == LinearMode::by_unknown ? rates[e.place] : 0.0);
  return sum;
}

void add_unknowns(const Gradient& gradient, double weight, std::vector<double>& function) {
  for (const Gradient::Entry& e : gradient.entries())
    if (e.group == LinearMode::by_unknown) function[e.place] += weight * e.value;
}

void add_data(const Gradient& gradient, double weight, std::vector<double>& data) {
  for (const Gradient::Entry& e : gradient.entries())
    if (e.group == LinearMode::by_data) data[e.place] += weight * e.value;
}

}  // namespace

AdjointRun::AdjointRun(const CompiledModel& model, const Functional& functional,
                       const std::vector<std::string>& parameters, const SimulateOptions& options)
    : model_(model),
      functional_(functional),
      options_(options),
      directions_(find_directions(model, parameters)),
      tools_(model),
      linear_modes_(model_, tools_->linear),
      act_tangents_(tools_->acts),
      record_(model, options),
      result_{.parameters = parameters,
              .trajectory = Trajectory(std::make_shared<CompiledModel>(model), options.start)} {
  integrates_ = std::ranges::any_of(functional.terms(), [](const auto& term) { return term.kind == Kind::integral; });
}

FunctionalGradient AdjointRun::run() {
  find_events();
  if (!walk()) result_.derivatives.clear();
  result_.trajectory = std::move(record_.trajectory);
  return std::move(result_);
}

bool AdjointRun::fail(double t, std::string why) {
  result_.why = fmt::format("at t = {:.12g} {}", t, why);
  return false;
}

/// Which terms read which events.
void AdjointRun::find_events() {
  const std::vector<Event>& events = record_.trajectory.events();
  terms_of_event_.resize(events.size());
  for (std::size_t k = 0; k < functional_.terms().size(); ++k) {
    const Functional::Term& term = functional_.terms()[k];
    if (term.kind != Kind::event_time && term.kind != Kind::event_sum) continue;
    int count = 0;
    for (std::size_t e = 0; e < events.size(); ++e) {
      const auto named = [&](const std::vector<std::string>& list) {
        return std::ranges::find(list, term.event) != list.end();
      };
      if (!named(events[e].guards) && !named(events[e].actions)) continue;
      ++count;
      if (term.kind == Kind::event_sum || count == term.number) terms_of_event_[e].push_back(k);
    }
    if (term.kind == Kind::event_time && (term.number < 1 || count < term.number))
      throw UsageError(fmt::format("the run has {} events of '{}', and the functional asks for the time of number {}",
                                   count, term.event, term.number));
    const bool is_guard =
        std::ranges::any_of(model_.guards(), [&](const GuardInfo& g) { return g.name == term.event; });
    if (count == 0 && !is_guard)
      throw UsageError(fmt::format("the run has no event of '{}', and there is no guard of that name", term.event));
  }
}

AdjointRun::ModeTerms& AdjointRun::terms_of(const Mode& mode, const LinearPoint& point) {
  const auto [it, fresh] = mode_terms_.try_emplace(&point.mode());
  if (!fresh || !integrates_) return it->second;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  Expr sum = 0.0;
  for (const Functional::Term& term : functional_.terms())
    if (term.kind == Kind::integral)
      sum += term.weight * function_of_mode(term.value, model_, mode, system, point.mode());
  it->second.integrand = point.mode().gradient(sum);
  return it->second;
}

Gradient& AdjointRun::value_gradient(std::size_t term, const Mode& mode, const LinearPoint& point) {
  ModeTerms& terms = terms_of(mode, point);
  const auto it = terms.values.find(term);
  if (it != terms.values.end()) return it->second;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  const Expr value = function_of_mode(functional_.terms()[term].value, model_, mode, system, point.mode());
  return terms.values.emplace(term, point.mode().gradient(value)).first->second;
}

Gradient& AdjointRun::guard_gradient(int guard, const Mode& mode, const LinearPoint& point) {
  ModeTerms& terms = terms_of(mode, point);
  const auto it = terms.guards.find(guard);
  if (it != terms.guards.end()) return it->second;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  return terms.guards.emplace(guard, point.mode().gradient(system.equations().guards[static_cast<std::size_t>(guard)]))
      .first->second;
}

bool AdjointRun::walk() {
  const Trajectory& run = record_.trajectory;
  if (!record_.problem.empty()) return fail(record_.problem_time, record_.problem);
  const RunLeg& last = record_.legs.back();
  mode_ = last.end.empty() ? last.mode : record_.final_mode;
  for (std::size_t i = record_.legs.size(); i-- > 0;) {
    const RunLeg& leg = record_.legs[i];
    LinearPoint point = linear_modes_.at(leg.mode);
    if (!point.mode().why().empty()) return fail(leg.to, point.mode().why());
    RecordedPath path(std::move(point), *leg.steps);
    if (!path.at(leg.to)) return fail(leg.to, "the equations of the mode cannot be linearised");
    if (&leg == &last && leg.end.empty()) {
      begin_at_end(path.point());
    } else if (&leg == &last) {
      point_ = linear_modes_.at(mode_);
      if (!point_.mode().why().empty() || !point_.move(run.t_end(), record_.final_x, {}))
        return fail(run.t_end(), "the equations of the last mode cannot be linearised");
      begin_at_end(point_);
    }
    const bool nothing = &leg == &last && leg.end.empty();
    if (!nothing && !pass_back(leg, path)) return false;
    if (!integrate_back(leg, path)) return false;
    mode_ = leg.mode;
    point_ = std::move(path.point());
  }
  return finish();
}

/// The function of changes at the end of the run that final values are.
void AdjointRun::begin_at_end(LinearPoint& point) {
  std::vector<double> function(point.mode().unknowns(), 0.0);
  function_ = point.covector();
  const std::vector<double> rates = point.rates();
  for (std::size_t k = 0; k < functional_.terms().size(); ++k) {
    const Functional::Term& term = functional_.terms()[k];
    if (term.kind != Kind::final_value) continue;
    Gradient& gradient = value_gradient(k, mode_, point);
    point.evaluate(gradient);
    result_.value += term.weight * gradient.value();
    add_unknowns(gradient, term.weight, function);
    add_data(gradient, term.weight, function_.data);
    end_rate_ += term.weight * rate_of(gradient, rates);
  }
  point.pull(function, function_);
}

/// The function of changes at a fixed time, as one of those of variables and data.
InstantFunction AdjointRun::at_fixed_time() const {
  InstantFunction result{.state = std::vector<double>(model_.variables().size(), 0.0)};
  for (std::size_t k = 0; k < function_.held.size(); ++k)
    result.state[static_cast<std::size_t>(point_.held()[k])] = function_.held[k];
  const auto parameters = static_cast<std::ptrdiff_t>(ModelAccess::values(model_).parameters.size());
  result.parameters.assign(function_.data.begin(), function_.data.begin() + parameters);
  // what stands behind the discrete variables are numbers of the mode alone
  const auto discretes = static_cast<std::ptrdiff_t>(mode_.discrete.size());
  result.discrete.assign(function_.data.begin() + parameters, function_.data.begin() + parameters + discretes);
  return result;
}

/// The same function in terms of other held variables.
void AdjointRun::change_held(LinearPoint& point, const std::vector<int>& held) {
  std::vector<double> function(point.mode().unknowns(), 0.0);
  for (std::size_t k = 0; k < function_.held.size(); ++k)
    function[static_cast<std::size_t>(point.mode().place(static_cast<std::size_t>(point.held()[k]), 0))] =
        function_.held[k];
  if (held.empty() ? !point.choose_held() : !point.hold(held)) return;
  Covector changed = point.covector();
  point.pull(function, changed);
  changed.time = 0.0;
  for (std::size_t k = 0; k < changed.data.size(); ++k) changed.data[k] += function_.data[k];
  function_ = std::move(changed);
}

bool AdjointRun::find_rounds(const RunInstant& instant, std::vector<RoundMap>& rounds, const Mode* left) {
  for (std::size_t a = instant.first_act; a < instant.last_act; ++a) {
    rounds.emplace_back();
    const Act& act = record_.acts[a];
    const std::string why = act_tangents_.find(act, a == instant.first_act, left, linear_modes_, rounds.back());
    if (!why.empty()) return fail(instant.t, "something happens that is not differentiated yet: " + why);
  }
  return true;
}

/// From the values behind an instant to those that rounds have left.
bool AdjointRun::to_before_values(const RunLeg& leg, const LinearPoint& before, bool reset, InstantFunction& function) {
  if (point_.mode().hidden_constraints() && reset) {
    std::vector<int> set;
    for (std::size_t a = leg.end.first_act; a < leg.end.last_act; ++a)
      for (std::size_t j = 0; j < record_.acts[a].x_after.size(); ++j)
        if (record_.acts[a].x_after[j] != record_.acts[a].x_before[j]) set.push_back(static_cast<int>(j));
    std::vector<double> x;
    for (std::size_t j = 0; j < point_.mode().variables(); ++j) x.push_back(point_.value(j, 0));
    auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode_));
    const Initialisation found = initialise(system, leg.end.t, x, {.preferred = set});
    if (!found.ok()) return fail(leg.end.t, "the values behind a reset cannot be made consistent again");
    std::string why =
        follows_reset(system, leg.end.t, record_.acts[leg.end.last_act - 1].x_after, x, found.held, options_.rtol);
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
  const std::vector<Event>& events = record_.trajectory.events();
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
    return result;
  };
  const double length = std::max(std::abs(t), std::abs(t - leg.from));
  const EventCauses causes = find_causes(model_, leg.mode, events, leg.end, rate, length, options_.rtol);
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
  // from behind the instant to before it
  const bool reset = std::ranges::any_of(rounds, &RoundMap::resets);
  InstantFunction function;
  const bool moving_end = &leg == &record_.legs.back() && record_.trajectory.status().code == StatusCode::terminated;
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
      if (term.kind == Kind::event_time) {
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

bool AdjointRun::add_integral(const RunLeg& leg, RecordedPath& path, Gradient& integrand) {
  Quadrature quadrature({1e-3 * options_.atol}, 0.1 * options_.rtol);
  bool good = true;
  for (const Trajectory::Step& step : *leg.steps) {
    if (leg.contact && &step == &leg.steps->back()) break;
    quadrature.add(step.polynomial.t0, step.t_end, [&](double t, std::span<double> out) {
      const LinearPoint* const point = path.at(t);
      if (!point) {
        good = false;
        return;
      }
      point->evaluate(integrand);
      out[0] += integrand.value();
    });
  }
  result_.value += quadrature.sum()[0];
  return good || fail(leg.from, "the equations of the mode cannot be linearised");
}

bool AdjointRun::integrate_back(const RunLeg& leg, RecordedPath& path) {
  Gradient* integrand = nullptr;
  if (integrates_) {
    integrand = &*terms_of(leg.mode, path.point()).integrand;
    if (!add_integral(leg, path, *integrand)) return false;
    if (!path.at(leg.to)) return fail(leg.to, "the equations of the mode cannot be linearised");
  }
  if (!path.point().mode().hidden_constraints()) return integrate_stretch(leg.to, leg.from, path, integrand);
  // the held variables are those of the end, as long as the others follow well from them
  constexpr double worse = 0.1;
  std::vector<double> places;  // where that is looked at; steps of high order are long
  for (const Trajectory::Step& step : *leg.steps) {
    if (leg.contact && &step == &leg.steps->back()) break;
    const int parts = 1 + step.polynomial.degree / 3;
    for (int k = 0; k < parts; ++k)
      places.push_back(step.polynomial.t0 + (step.t_end - step.polynomial.t0) * k / parts);
  }
  double late = leg.to, last = leg.to, best = path.point().condition();
  for (std::size_t k = places.size(); k-- > 0;) {
    const bool good = path.at(places[k]) && path.point().condition() >= worse * best;
    if (!good && last != late) {
      if (!integrate_stretch(late, last, path, integrand)) return false;
      change_held(path.point(), {});
      best = path.point().condition();
      late = last;
    }
    last = places[k];
  }
  return integrate_stretch(late, leg.from, path, integrand);
}

bool AdjointRun::integrate_stretch(double late, double early, RecordedPath& path, Gradient* integrand) {
  const auto nothing = [](const std::vector<double>& list) {
    return std::ranges::all_of(list, [](double v) { return v == 0.0; });
  };
  if (late == early || (!integrand && nothing(function_.held)))
    return path.at(early) != nullptr || fail(early, "the equations of the mode cannot be linearised");
  AdjointEquations equations(path, integrand);
  // errors count relative to the largest part of the function
  LinearPoint* point = path.at(late);
  if (!point) return fail(late, "the equations of the mode cannot be linearised");
  std::vector<double> slopes(function_.held.size());
  equations.rhs(late, function_.held, slopes);
  const auto size_of = [&](std::size_t k) {
    return std::abs(function_.held[k]) + (integrand ? std::abs(slopes[k] * (late - early)) : 0.0);
  };
  double largest = 0.0;
  for (std::size_t k = 0; k < slopes.size(); ++k)
    largest = std::max(largest, size_of(k) * point->mode().nominal(static_cast<std::size_t>(point->held()[k])));
  std::vector<double> nominal;
  for (const int j : point->held())
    nominal.push_back(std::max(largest, 1e-100) / point->mode().nominal(static_cast<std::size_t>(j)));
  equations.set_nominal(nominal);
  SimulateOptions options{.start = late, .stop = early};
  const double rtol = options_.rtol_each.empty() ? options_.rtol : *std::ranges::min_element(options_.rtol_each);
  options.rtol = std::max(0.5 * rtol, 1e-13);
  options.atol = 0.01 * options.rtol;
  const MethodFamily family = info(options_.method).family;
  if (family == MethodFamily::radau || family == MethodFamily::bdf || family == MethodFamily::rosenbrock)
    options.method = Method::radau;
  options.max_steps = options_.max_steps;
  Simulator simulator(std::make_shared<AdjointFlow>(equations, function_.held), options);
  simulator.run();
  if (simulator.status().code != StatusCode::success)
    return fail(simulator.t(), "the adjoint equations cannot be integrated: " + simulator.status().message);
  const std::vector<double> at_start(simulator.x().begin(), simulator.x().end());
  const Trajectory adjoint = simulator.take();
  result_.steps += adjoint.statistics().steps;
  // what changes the functional by less than a thousandth of the tolerance, where a number changes by its own size
  std::vector<double> negligible;
  for (const double value : path.point().data())
    negligible.push_back(1e-3 * options.rtol * largest / (value == 0.0 ? 1.0 : std::abs(value)));
  Quadrature quadrature(std::move(negligible), options.rtol);
  std::vector<double> lambda(at_start.size()), function(path.point().mode().unknowns());
  bool good = true;
  for (const Trajectory::Segment& segment : adjoint.segments())
    for (const Trajectory::Step& step : segment.steps)
      quadrature.add(step.t_end, step.polynomial.t0, [&](double t, std::span<double> out) {
        const LinearPoint* const at = path.at(t);
        if (!at) {
          good = false;
          return;
        }
        step.polynomial.evaluate(t, lambda);
        equations.fill(*at, lambda, function);
        at->pull_data(function, out);
        if (integrand)
          for (const Gradient::Entry& e : integrand->entries())
            if (e.group == LinearMode::by_data) out[e.place] += e.value;
      });
  if (!good || !path.at(early)) return fail(early, "the equations of the mode cannot be linearised");
  function_.held = at_start;
  for (std::size_t k = 0; k < function_.data.size(); ++k) function_.data[k] += quadrature.sum()[k];
  return true;
}

/// Whether the fixed start values move as they do if all but the held ones follow from the equations.
bool AdjointRun::follows_start(const InstantChange& change) const {
  std::vector<double> held, data(point_.data().size(), 0.0);
  for (const int j : point_.held()) held.push_back(change.state[static_cast<std::size_t>(j)]);
  if (change.parameter >= 0) data[static_cast<std::size_t>(change.parameter)] = 1.0;
  const std::size_t parameters = ModelAccess::values(model_).parameters.size();
  std::ranges::copy(change.discrete, data.begin() + static_cast<std::ptrdiff_t>(parameters));
  const std::vector<double> dz = point_.push(held, data, 0.0);
  double size = 0.0;
  for (const double v : dz) size = std::max(size, std::abs(v));
  for (std::size_t j = 0; j < change.state.size(); ++j)
    if (model_.variables()[j].fixed &&
        !(std::abs(dz[static_cast<std::size_t>(point_.mode().place(j, 0))] - change.state[j]) <= 1e-6 * size))
      return false;
  return true;
}

/// The transposed of the start, and of what clauses do there.
bool AdjointRun::finish() {
  const RunLeg& first = record_.legs.front();
  const double t = first.from;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(first.mode));
  const bool from_equations = !ModelAccess::initial_residuals(model_).empty();
  InstantFunction function;
  std::vector<RoundMap> rounds;
  if (!find_rounds(record_.start, rounds, nullptr)) return false;
  const bool reads_state = std::ranges::any_of(rounds, &RoundMap::reads_state);
  if (from_equations && reads_state)
    return fail(
        t, "a clause of the start reads variables that initial equations determine, which is not differentiated yet");
  if (from_equations) {
    if (!solve_initial_equations(function)) return false;
  } else {
    if (!system.structure().explicit_ode) {
      const StartChoice choice =
          choose_start(model_, system, t, value_at(first.steps->front(), t), directions_, record_.acts.empty());
      if (!choice.why.empty()) return fail(t, choice.why);
      change_held(point_, choice.held);
    }
    function = at_fixed_time();
  }
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) function.pull(*round);
  const std::vector<StartEntry> entries = start_entries(model_);
  // on surfaces, directions must not lead off them
  std::vector<Gradient> invariants;
  if (first.mode.on_surfaces())
    for (const Expr& e : system.equations().invariants) invariants.push_back(point_.mode().gradient(e));
  for (Gradient& g : invariants) point_.evaluate(g);
  for (const Direction& d : directions_) {
    StartChange start = start_change(model_, d, entries);
    InstantChange change{0.0, start.state, start.discrete, d.parameter};
    for (const RoundMap& round : rounds) change.apply(round);
    if (first.mode.on_surfaces() && !system.structure().explicit_ode && !follows_start(change))
      return fail(t, fmt::format("the run starts on a surface, and '{}' moves the start off it: there is one "
                                 "derivative for each side, or none",
                                 d.info.name));
    for (const Gradient& g : invariants) {
      double sum = 0.0, size = 0.0;
      for (const Gradient::Entry& e : g.entries()) {
        const std::size_t parameters = function.parameters.size();
        const double part = e.group == LinearMode::by_unknown ? change.state[point_.mode().variable_of(e.place)]
                            : e.group != LinearMode::by_data  ? 0.0
                            : e.place >= parameters + change.discrete.size() ? 0.0
                            : e.place >= parameters                          ? change.discrete[e.place - parameters]
                            : static_cast<int>(e.place) == d.parameter       ? 1.0
                                                                             : 0.0;
        sum += e.value * part;
        size += std::abs(e.value * part);
      }
      if (std::abs(sum) > 1e-6 * size)
        return fail(t, fmt::format("the run starts on a surface, and '{}' moves the start off it: there is one "
                                   "derivative for each side, or none",
                                   d.info.name));
    }
    double sum = d.parameter >= 0 ? function.parameters[static_cast<std::size_t>(d.parameter)] : 0.0;
    for (std::size_t j = 0; j < start.state.size(); ++j) sum += function.state[j] * start.state[j];
    for (std::size_t k = 0; k < start.discrete.size(); ++k) sum += function.discrete[k] * start.discrete[k];
    if (!std::isfinite(sum)) return fail(t, "a derivative is not a finite number");
    result_.derivatives.push_back(sum);
  }
  return true;
}

/// The start satisfies the equations, the initial equations and the fixed start values: one linear system, transposed.
bool AdjointRun::solve_initial_equations(InstantFunction& function) {
  const std::vector<VariableInfo>& variables = model_.variables();
  for (const Direction& d : directions_)
    if (d.variable >= 0 && !variables[static_cast<std::size_t>(d.variable)].fixed)
      throw UsageError(fmt::format("'{}' is a guess: initial equations determine the start, and '{}' is not fixed",
                                   d.info.name, variables[static_cast<std::size_t>(d.variable)].name));
  std::vector<Gradient> conditions;
  for (const Expr& e : ModelAccess::initial_residuals(model_)) conditions.push_back(point_.mode().gradient(e));
  std::vector<int> fixed;
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (variables[j].fixed) fixed.push_back(static_cast<int>(j));
  const std::size_t n = point_.mode().unknowns(), rows = point_.mode().equations();
  if (rows + conditions.size() + fixed.size() != n)
    return fail(point_.t(), "the initial equations and fixed start values are not as many as the degrees of freedom");
  std::vector<double> matrix(n * n, 0.0);  // by columns
  point_.add_equations(matrix, n);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    point_.evaluate(conditions[i]);
    for (const Gradient::Entry& e : conditions[i].entries())
      if (e.group == LinearMode::by_unknown) matrix[e.place * n + rows + i] += e.value;
  }
  for (std::size_t i = 0; i < fixed.size(); ++i)
    matrix[static_cast<std::size_t>(point_.mode().place(static_cast<std::size_t>(fixed[i]), 0)) * n + rows +
           conditions.size() + i] = 1.0;
  std::vector<double> w(n, 0.0);
  for (std::size_t k = 0; k < function_.held.size(); ++k)
    w[static_cast<std::size_t>(point_.mode().place(static_cast<std::size_t>(point_.held()[k]), 0))] = function_.held[k];
  DenseLu lu;
  if (!lu.factorise(static_cast<int>(n), matrix))
    return fail(point_.t(), "the initial equations are singular at the start");
  lu.solve_transposed(w);
  Covector start = function_;
  std::ranges::fill(start.held, 0.0);
  point_.add_data_of_equations(w, start.data);
  for (std::size_t i = 0; i < conditions.size(); ++i) add_data(conditions[i], -w[rows + i], start.data);
  function_ = std::move(start);
  function = at_fixed_time();
  for (std::size_t i = 0; i < fixed.size(); ++i)
    function.state[static_cast<std::size_t>(fixed[i])] = w[rows + conditions.size() + i];
  return true;
}

double FunctionalGradient::by(const std::string& parameter) const {
  const auto it = std::ranges::find(parameters, parameter);
  if (it == parameters.end()) throw UsageError(fmt::format("the gradient has no derivative by '{}'", parameter));
  if (!why.empty()) throw UsageError("the functional has no derivatives: " + why);
  return derivatives[static_cast<std::size_t>(it - parameters.begin())];
}

FunctionalGradient gradient(const CompiledModel& model, const Functional& functional,
                            const std::vector<std::string>& parameters, const SimulateOptions& options) {
  return AdjointRun(model, functional, parameters, options).run();
}

FunctionalGradient gradient(const Model& model, const Functional& functional,
                            const std::vector<std::string>& parameters, const SimulateOptions& options) {
  return gradient(CompiledModel(model), functional, parameters, options);
}

}  // namespace saltus
