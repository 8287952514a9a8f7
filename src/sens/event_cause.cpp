#include "sens/event_cause.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "hybrid/run_access.hpp"
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

/// The name of a guard of the system of a mode. One that ends the stay on a surface has the name of that surface.
const std::string& name_of(const CompiledModel& model, const Mode& mode, int guard) {
  const auto& guards = model.guards();
  if (guard < static_cast<int>(guards.size())) return guards[static_cast<std::size_t>(guard)].name;
  std::vector<int> exits;
  model.exit_guards(mode, exits);
  std::size_t place = 0;
  const auto ends_the_stay = [&](std::size_t k) {
    return guard == exits[k] || (k < mode.sliding.size() && guard == exits[k] + 1);  // a slide has two
  };
  while (!ends_the_stay(place)) ++place;
  const int surface = place < mode.sliding.size() ? mode.sliding[place] : mode.contacts[place - mode.sliding.size()];
  return guards[static_cast<std::size_t>(surface)].name;
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

TouchedGuard touched_guard(const CompiledModel& model, const Mode& mode, const Trajectory& run, std::size_t event) {
  const EventLog::Stored touch = RunAccess::events(run).stored(event);
  assert(touch.kind == EventKind::touch && touch.guards.size() == 1);
  TouchedGuard result{.guard = touch.guards.front()};
  result.name = model.guards()[static_cast<std::size_t>(result.guard)].name;
  result.acts = crossing_acts(model, mode, result.guard);
  return result;
}

EventCauses find_causes(const CompiledModel& model, const Mode& mode, const RunInstant& instant,
                        const std::function<GuardRate(int)>& rate, double rtol) {
  EventCauses result;
  if (instant.fired && instant.causes.empty()) return {.why = "it is not known which guard began the event"};
  if (instant.more_causes) return {.why = "events follow each other without time in between"};
  std::vector<GuardCause> causes;
  for (const int k : instant.causes) causes.push_back({k, name_of(model, mode, k), rate(k)});
  std::ranges::sort(causes, {}, [](const GuardCause& c) { return c.rate.distance(); });
  // an error of the relative size rtol moves the time by its size / slope, and the slope itself by bend / slope of that
  const double steep = std::sqrt(std::max(rtol, std::numeric_limits<double>::epsilon()));
  for (GuardCause& one : causes) {
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
