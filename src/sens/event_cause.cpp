#include "sens/event_cause.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "model/model_access.hpp"
#include "sens/tangent_stepper.hpp"

namespace saltus {

double GuardRate::distance() const {
  if (value == 0.0) return 0.0;
  const double by_slope = std::abs(value / slope), by_bend = std::sqrt(2.0 * std::abs(value / bend));
  return std::fmin(by_slope, by_bend);
}

double GuardRate::steepness() const {
  const double scale = std::sqrt(std::abs(bend) * size);
  if (slope == 0.0) return 0.0;
  return scale > 0.0 ? std::abs(slope) / scale : std::numeric_limits<double>::infinity();
}

namespace {

/// Numbers, in the system of the mode, of the functions that may have made the guard of an event fire. A surface on
/// which the solution stays is left where a weight reaches its end, or a force vanishes; other guards that lie on it
/// say nothing.
std::vector<int> functions_of(const CompiledModel& model, const Mode& mode, const Event& event, std::size_t guard) {
  std::vector<int> exits, result, others;
  if (mode.on_surfaces()) model.exit_guards(mode, exits);
  for (int k = 0; k < static_cast<int>(model.guards().size()); ++k) {
    const GuardInfo& info = model.guards()[static_cast<std::size_t>(k)];
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

/// Whether expressions read one of the relations of a guard.
bool reads(const std::vector<Expr>& expressions, const ModelGuards::Guard& guard, const std::vector<Expr>& locks) {
  const std::vector<Expr> read = locks_of(expressions);
  return std::ranges::any_of(guard.locks, [&](int k) {
    return std::ranges::any_of(read, [&](const Expr& e) { return e.same(locks[static_cast<std::size_t>(k)]); });
  });
}

/// Whether clauses, transitions or definitions do something by a guard that is more than a record.
bool decides_actions(const EventLogic::Setup& logic, const ModelGuards::Guard& guard) {
  using Kind = ModelData::Action::Kind;
  std::vector<Expr> decisive;
  const auto add_actions = [&](const std::vector<ModelData::Action>& actions) {
    for (const ModelData::Action& a : actions) {
      if (a.kind == Kind::record) continue;
      if (a.value.graph()) decisive.push_back(a.value);
      decisive.push_back(a.only_if.expr());
    }
  };
  for (const ModelData::Clause& c : logic.clauses) {
    add_actions(c.actions);
    if (std::ranges::any_of(c.actions, [](const auto& a) { return a.kind != Kind::record; }))
      decisive.push_back(c.condition.expr());
  }
  for (const ModelData::Transition& t : logic.transitions) {
    add_actions(t.actions);
    decisive.push_back(t.condition.expr());
  }
  for (const ModelData::Definition& d : logic.definitions) decisive.push_back(d.value);
  return reads(decisive, guard, logic.locks);
}

}  // namespace

// A ball that bounces on a floor at height 1 returns to it with the errors of one flight, not with those of its height.
double size_over_leg(System& system, const RunLeg& leg, int guard, double size, double rtol) {
  if (!system.structure().explicit_ode || guard >= system.structure().guards) return size;
  constexpr int places = 4;
  constexpr double begins_at_zero = 0.1, rounding = 64.0 * std::numeric_limits<double>::epsilon();
  SolutionPath path(*leg.steps);
  std::vector<double> g(static_cast<std::size_t>(system.structure().guards)), xp;
  const auto value = [&](double t) {
    const std::vector<double> x = value_at(path.step(t), t);
    xp.resize(x.size());
    system.rhs(t, x, xp);
    system.guards(t, x, xp, g);
    return std::abs(g[static_cast<std::size_t>(guard)]);
  };
  double farthest = 0.0;
  for (int k = 1; k < places; ++k) farthest = std::max(farthest, value(leg.from + k * (leg.to - leg.from) / places));
  if (!(value(leg.from) <= begins_at_zero * farthest)) return size;
  return std::min(size, farthest + rounding / std::max(rtol, rounding) * size);
}

bool crossing_acts(const CompiledModel& model, const Mode& mode, int guard) {
  Mode other = mode;
  model.set_side(other, guard, model.side(mode, guard) > 0 ? -1 : +1);
  return !model.same_equations(mode, other) ||
         decides_actions(ModelAccess::logic(model),
                         ModelAccess::guards(model).guards()[static_cast<std::size_t>(guard)]);
}

TouchedGuard touched_guard(const CompiledModel& model, const Mode& mode, const Event& touch) {
  TouchedGuard result{.name = touch.guards.empty() ? "" : touch.guards.front()};
  for (std::size_t k = 0; k < model.guards().size() && result.guard < 0; ++k)
    if (model.guards()[k].name == result.name && model.guards()[k].where == touch.where.front())
      result.guard = static_cast<int>(k);
  if (result.guard >= 0) result.acts = crossing_acts(model, mode, result.guard);
  return result;
}

EventCauses find_causes(const CompiledModel& model, const Mode& mode, const std::vector<Event>& events,
                        const RunInstant& instant, const std::function<GuardRate(int)>& rate, double rtol) {
  EventCauses result;
  std::vector<GuardCause> candidates;
  for (std::size_t e = instant.first_event; e < instant.last_event; ++e)
    for (std::size_t g = 0; g < events[e].guards.size(); ++g) {
      if (events[e].kind == EventKind::touch) continue;
      std::optional<GuardCause> nearest;
      const std::vector<int> functions = functions_of(model, mode, events[e], g);
      if (functions.empty())
        return {.why = fmt::format("the function of the guard '{}' is not known in the mode before the event",
                                   events[e].guards[g])};
      for (const int k : functions) {
        GuardCause one{k, events[e].guards[g], rate(k)};
        if (!nearest || one.rate.distance() < nearest->rate.distance()) nearest = std::move(one);
      }
      if (nearest) candidates.push_back(std::move(*nearest));
    }
  if (candidates.empty()) return result;
  std::ranges::sort(candidates, {}, [](const GuardCause& c) { return c.rate.distance(); });
  // errors of the run and of the time itself
  constexpr double rounding = 64.0 * std::numeric_limits<double>::epsilon();
  const double near = std::max(
      {10.0 * candidates.front().rate.distance(), 1e3 * rtol * instant.time_scale, rounding * std::abs(instant.t)});
  // an error of the relative size rtol moves the time by its size / slope, and the slope itself by bend / slope of that
  const double steep = std::sqrt(std::max(rtol, std::numeric_limits<double>::epsilon()));
  for (GuardCause& one : candidates) {
    if (one.rate.distance() > near) break;  // it fired because others did
    const double relative = one.rate.steepness();
    if (!(relative > steep))
      return {.why =
                  fmt::format("'{}' is only touched, as far as the tolerance can tell (grazing): the derivative does "
                              "not exist, or is not known",
                              one.name)};
    if (result.guards.empty() && (relative < 1e-3 || relative < 30.0 * steep))
      result.remark =
          fmt::format("the slope of '{}' is small: errors are magnified by {:.3g}", one.name, 1.0 / relative);
    result.guards.push_back(std::move(one));
  }
  return result;
}

}  // namespace saltus
