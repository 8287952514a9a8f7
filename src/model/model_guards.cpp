#include "model/model_guards.hpp"

#include "model/coincident_guards.hpp"
#include "model/factors.hpp"
#include "model/poles.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_set>

namespace saltus {

namespace {

bool is_continuous(const Expr& g) {
  for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative})
    if (!symbols_of(std::span(&g, 1), kind).empty()) return true;
  return false;
}

/// Whether a relation stands in the model only as its opposite: x >= 0 where the user wrote x < 0.
bool opposite_was_written(const Expr& relation) {
  const Graph& graph = *relation.graph();
  return !graph.was_written(relation.id()) && graph.was_written((!BoolExpr(relation)).expr().id());
}

}  // namespace

ModelGuards::ModelGuards(const ModelData& model, const EventLogic::Setup& logic,
                         const std::vector<std::vector<Expr>>& equations, const std::vector<Expr>& outputs,
                         const Written& written) {
  std::vector<Expr> shared;
  for (const auto& c : logic.clauses) shared.push_back(c.condition.expr());
  for (const auto& d : logic.definitions) shared.push_back(d.value);
  for (const auto& a : logic.assertions) shared.push_back(a.condition.expr());
  shared.insert(shared.end(), outputs.begin(), outputs.end());
  std::vector<std::vector<Expr>> by_mode(equations.size(), shared);
  for (std::size_t mode = 0; mode < equations.size(); ++mode) {
    by_mode[mode].insert(by_mode[mode].end(), equations[mode].begin(), equations[mode].end());
    if (!model.modes.empty())
      for (const std::size_t t : model.modes[mode].transitions)
        by_mode[mode].push_back(logic.transitions[t].condition.expr());
  }
  std::vector<Expr> everything;
  for (const auto& list : by_mode) everything.insert(everything.end(), list.begin(), list.end());
  locks_ = locks_of(everything);
  std::vector<Expr> continuous = outputs;
  for (const auto& list : equations) continuous.insert(continuous.end(), list.begin(), list.end());
  std::vector<Expr> with_cuts;
  GuardsOfLocks guards_of_lock = find_guards(model, logic, locks_of(continuous), written, with_cuts);
  for (auto& list : by_mode) list.insert(list.end(), with_cuts.begin(), with_cuts.end());
  merge_coincident(logic, guards_of_lock);
  find_activity(logic, by_mode);
  locate(model, logic, guards_of_lock);
  add_second_guards();
  for (std::size_t k = 0; k < guards_.size(); ++k) info_[k].side_at_zero = side_at_zero(guards_[k]);
  for (const Guard& guard : guards_) side_if_true_.push_back(static_cast<signed char>(guard.signs.front()));
}

/// `with_cuts`: functions to which relations were added; nothing else asks for these.
ModelGuards::GuardsOfLocks ModelGuards::find_guards(const ModelData& model, const EventLogic::Setup& logic,
                                                    const std::vector<Expr>& of_equations, const Written& of_model,
                                                    std::vector<Expr>& with_cuts) {
  std::unordered_set<NodeId> in_equations, known;
  for (const Expr& lock : of_equations) in_equations.insert(lock.id());
  for (const Expr& lock : locks_) known.insert(lock.id());
  KnownValues values;
  std::unordered_map<NodeId, std::size_t> place_of_parameter;
  for (std::size_t k = 0; k < logic.parameters.size(); ++k) {
    if (!logic.parameters[k].graph()) continue;
    place_of_parameter.emplace(logic.parameters[k].id(), k);
    if (k < logic.parameter_values.size()) values.emplace(logic.parameters[k].id(), logic.parameter_values[k]);
  }
  std::unordered_map<NodeId, const std::string*> names;
  for (const auto& [relation, name] : model.guard_names)
    if (relation.graph()) names.emplace(relation.id(), &name);
  std::unordered_map<NodeId, int> guard_of_function;
  GuardsOfLocks guards_of_lock;
  Rewrite now(*model.graph);  // between events pre(q) is q: time >= pre(next) is watched as time >= next
  for (const auto* pairs : {&logic.pre_discretes, &logic.pre_variables})
    for (const auto& [symbol, before] : *pairs) now.replace.emplace(before.id(), symbol.id());
  for (std::size_t k = 0; k < locks_.size(); ++k) {
    guards_of_lock.emplace_back();
    const auto original = of_model.find(locks_[k].id());
    written_.push_back(original == of_model.end() ? locks_[k] : original->second);
    const Expr argument = switching_function(locks_[k]);
    const Expr continuous = now.replace.empty() ? argument : Expr(model.graph, now(argument.in(*model.graph)));
    const Expr g = without_cuts(continuous);
    if (!g.same(continuous)) with_cuts.push_back(g);
    for (const Expr& inner : locks_of(std::span(&g, 1)))
      if (known.insert(inner.id()).second) locks_.push_back(inner);
    if (in_equations.contains(locks_[k].id()) ? !is_continuous(g) : !moves_between_events(g)) continue;
    const Op op = model.graph->node(locks_[k].id()).op;
    if (op == Op::floor) {
      for (const Kind kind : {Kind::rounding_low, Kind::rounding_high}) {
        guards_of_lock[k].push_back(static_cast<int>(guards_.size()));
        const bool low = kind == Kind::rounding_low;
        guards_.push_back({kind, low ? g - locks_[k] : locks_[k] + 1.0 - g, {static_cast<int>(k)}, {+1}, {true}});
        info_.push_back({to_string(written_function(static_cast<int>(k))) +
                             (low ? " falls below an integer" : " reaches an integer"),
                         {},
                         false});
      }
      continue;
    }
    const Expr written = without_poles(g);
    const Expr function = plain_factors(written, values);
    if (!function.same(plain_factors(written))) note_signs(written, place_of_parameter);
    const auto [it, fresh] = guard_of_function.emplace(function.id(), static_cast<int>(guards_.size()));
    if (fresh) {
      guards_.push_back({Kind::relation, function, {}, {}, {}});
      const auto named = names.find(written_[k].id());
      const bool opposite = named == names.end() && opposite_was_written(written_[k]);
      const BoolExpr relation = opposite ? !BoolExpr(written_[k]) : BoolExpr(written_[k]);
      info_.push_back({named != names.end() ? *named->second : to_string(relation), {}, false});
      info_.back().true_side = opposite ? -1 : +1;
    }
    Guard& guard = guards_[static_cast<std::size_t>(it->second)];
    guard.locks.push_back(static_cast<int>(k));
    guard.signs.push_back(+1);
    guard.weak.push_back(op == Op::nonnegative);
    guards_of_lock[k].push_back(it->second);
  }
  return guards_of_lock;
}

/// The signs of the parameters in a function have decided which factors it keeps.
void ModelGuards::note_signs(const Expr& function, const std::unordered_map<NodeId, std::size_t>& places) {
  for (const Expr& used : symbols_of(std::span(&function, 1), SymbolKind::parameter))
    if (const auto it = places.find(used.id()); it != places.end()) by_sign_.push_back(it->second);
}

bool ModelGuards::same_signs(std::span<const double> before, std::span<const double> now) const {
  const auto sign = [](double value) { return (value > 0.0) - (value < 0.0); };
  return std::all_of(by_sign_.begin(), by_sign_.end(), [&](std::size_t k) { return sign(before[k]) == sign(now[k]); });
}

/// Relations on functions with the same zeros share one guard: one surface, in several spellings.
void ModelGuards::merge_coincident(const EventLogic::Setup& logic, GuardsOfLocks& guards_of_lock) {
  std::vector<Expr> functions;
  std::vector<int> relations;
  for (std::size_t k = 0; k < guards_.size(); ++k) {
    if (guards_[k].kind != Kind::relation) continue;
    relations.push_back(static_cast<int>(k));
    functions.push_back(guards_[k].function);
  }
  coincident_ = CoincidentGuards(functions, logic.parameters, logic.parameter_values);
  const std::vector<Coincidence>& found = coincident_.found();
  std::vector<int> place(guards_.size());
  std::vector<char> gone(guards_.size(), 0);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].with < 0) continue;
    const Guard from = guards_[static_cast<std::size_t>(relations[i])];
    Guard& to = guards_[static_cast<std::size_t>(relations[static_cast<std::size_t>(found[i].with)])];
    to.locks.insert(to.locks.end(), from.locks.begin(), from.locks.end());
    to.weak.insert(to.weak.end(), from.weak.begin(), from.weak.end());
    for (const int sign : from.signs) to.signs.push_back(sign * found[i].sign);
    gone[static_cast<std::size_t>(relations[i])] = 1;
  }
  std::vector<Guard> kept;
  std::vector<GuardInfo> kept_info;
  for (std::size_t k = 0; k < guards_.size(); ++k) {
    if (gone[k]) continue;
    place[k] = static_cast<int>(kept.size());
    kept.push_back(std::move(guards_[k]));
    kept_info.push_back(std::move(info_[k]));
  }
  for (std::size_t i = 0; i < found.size(); ++i)
    if (found[i].with >= 0)
      place[static_cast<std::size_t>(relations[i])] =
          place[static_cast<std::size_t>(relations[static_cast<std::size_t>(found[i].with)])];
  guards_ = std::move(kept);
  info_ = std::move(kept_info);
  for (auto& list : guards_of_lock)
    for (int& guard : list) guard = place[static_cast<std::size_t>(guard)];
  for (const auto& list : guards_of_lock) guard_of_lock_.push_back(list.empty() ? -1 : list.front());
}

void ModelGuards::find_activity(const EventLogic::Setup& logic, const std::vector<std::vector<Expr>>& asked) {
  std::vector<std::vector<int>> guard_locks;
  for (const Guard& g : guards_) guard_locks.push_back(g.locks);
  for (const auto& roots : asked) {
    const GuardActivity& which =
        activity_.emplace_back(GuardActivity::Setup{roots, locks_, logic.discretes, logic.pre_discretes, guard_locks});
    some_dormant_ = some_dormant_ || !which.changing().empty();
    std::vector<int>& table = side_lock_.emplace_back();
    for (std::size_t k = 0; k < guards_.size(); ++k) {
      const int lock = guards_[k].kind == Kind::relation ? guards_[k].locks.front() : rounding;
      table.push_back(which.always(static_cast<int>(k)) ? lock : varies);
    }
  }
}

/// Guards take the source line of the first clause, transition or equation in which they occur.
void ModelGuards::locate(const ModelData& model, const EventLogic::Setup& logic, const GuardsOfLocks& guards_of_lock) {
  std::unordered_map<NodeId, int> lock_index;
  for (std::size_t k = 0; k < locks_.size(); ++k) lock_index[locks_[k].id()] = static_cast<int>(k);
  for (std::size_t k = 0; k < locks_.size(); ++k) lock_index.emplace(written_lock(k).id(), static_cast<int>(k));
  const auto locate = [&](const Expr& e, const SourceLocation& where) {
    if (!where.known()) return;
    for (const Expr& lock : locks_of(std::span(&e, 1)))
      if (const auto it = lock_index.find(lock.id()); it != lock_index.end())
        for (const int g : guards_of_lock[it->second])
          if (!info_[g].where.known()) info_[g].where = where;
  };
  for (const auto& c : logic.clauses) locate(c.condition.expr(), c.where);
  for (const auto& c : logic.clauses)
    if (c.touches)
      for (const Expr& lock : locks_of(std::span(&c.condition.expr(), 1)))
        for (const int g : guards_of_lock[lock_index.at(lock.id())]) info_[g].record_touch = true;
  for (const auto& t : logic.transitions) locate(t.condition.expr(), t.where);
  for (const auto& e : model.equations) locate(e.equation.residual(), e.where);
  for (const auto& mode : model.modes)
    for (const auto& e : mode.equations) locate(e.equation.residual(), e.where);
}

Expr ModelGuards::written_lock(std::size_t lock) const {
  const Expr& relation = written_[lock];
  const Node& node = relation.graph()->node(relation.id());
  return node.op == Op::logical_not ? Expr(relation.graph(), node.a) : relation;
}

Expr ModelGuards::written_function(int lock) const {
  return switching_function(written_lock(static_cast<std::size_t>(lock)));
}

std::string ModelGuards::watched_text(int guard) const {
  return to_string(guards_[static_cast<std::size_t>(guard)].function) + " = 0";
}

std::string ModelGuards::surface_text(int guard) const {
  const Guard& g = guards_[static_cast<std::size_t>(guard)];
  const bool relation = g.kind == Kind::relation && !g.locks.empty();
  const Expr function = relation ? written_function(g.locks.front()) : g.function;
  return to_string(function, 40) + " = 0";
}

bool ModelGuards::Guard::distinct_at_zero() const {
  for (const int side : {+1, -1}) {
    bool same = true;
    for (std::size_t i = 0; i < locks.size(); ++i) same = same && truth(i, 0) == truth(i, side);
    if (same) return false;
  }
  return true;
}

std::vector<EventLogic::Lock> ModelGuards::lock_info() const {
  std::vector<EventLogic::Lock> result(locks_.size());
  for (std::size_t k = 0; k < guards_.size(); ++k) {
    const Guard& guard = guards_[k];
    if (guard.same_as >= 0 || guard.kind == Kind::rounding_high) continue;
    for (std::size_t i = 0; i < guard.locks.size(); ++i)
      result[static_cast<std::size_t>(guard.locks[i])] = {static_cast<int>(k), guard.kind != Kind::relation,
                                                          guard.weak[i] != 0, guard.signs[i]};
  }
  return result;
}

/// x > 0 and x >= 0 (which is how x < 0 is written) differ at zero alone. One guard serves both: a crossing is one
/// event. But while x rests at zero, with the first true and the second not or the other way round, it may leave to
/// either side, and a guard watches one: another one is at work then.
void ModelGuards::add_second_guards() {
  const std::size_t count = guards_.size();
  for (std::size_t k = 0; k < count; ++k) {
    Guard second = guards_[k];
    if (second.kind != Kind::relation || !second.distinct_at_zero()) continue;
    std::size_t i = 1;  // a relation that gives the other side at zero
    while (second.side_of(i, second.truth(i, 0)) == second.side_of(0, second.truth(0, 0))) ++i;
    std::swap(second.locks[0], second.locks[i]);
    std::swap(second.signs[0], second.signs[i]);
    std::swap(second.weak[0], second.weak[i]);
    second.same_as = static_cast<int>(k);
    GuardInfo info = info_[k];
    info.record_touch = false;
    info.same_as = second.same_as;
    guards_.push_back(std::move(second));
    info_.push_back(std::move(info));
    for (std::vector<int>& table : side_lock_) table.push_back(varies);
  }
}

void ModelGuards::set_rules(const ModelData& model, Rewrite& continuous) {
  for (const auto& surface : model.surfaces) {
    const Expr relation(model.graph, continuous(surface.relation.expr().in(*model.graph)));
    bool found = false;
    for (const Expr& lock : locks_of(std::span(&relation, 1)))
      for (std::size_t k = 0; k < guards_.size(); ++k) {
        const auto is_lock = [&](int l) { return locks_[static_cast<std::size_t>(l)].same(lock); };
        if (!guards_[k].function.same(switching_function(lock)) &&
            std::none_of(guards_[k].locks.begin(), guards_[k].locks.end(), is_lock))
          continue;
        if (surface.nominal > 0.0)
          info_[k].nominal = surface.nominal;
        else
          info_[k].rule = surface.rule;
        found = true;
      }
    if (!found)
      throw ModelError(surface.where,
                       "no equation or condition depends on the surface of '" + to_string(surface.relation) + "'");
  }
}

bool ModelGuards::always_matters(int automaton, int lock) const {
  return is_discrete(lock) || activity_[automaton].always(guard_of_lock_[lock]);
}

bool ModelGuards::same_where_it_matters(std::span<const int> locks, const Mode& a, const Mode& b) const {
  const GuardActivity& which = activity_[a.automaton];
  return std::all_of(locks.begin(), locks.end(), [&](int k) {
    return a.locks[k] == b.locks[k] || (!which.active(guard_of_lock_[k], a) && !which.active(guard_of_lock_[k], b));
  });
}

void ModelGuards::positions(const Mode& mode, std::vector<Position>& positions) const {
  const std::vector<int>& lock_of = side_lock_[static_cast<std::size_t>(mode.automaton)];
  positions.resize(guards_.size());
  for (std::size_t k = 0; k < guards_.size(); ++k) {
    const int lock = lock_of[k], if_true = side_if_true_[k];
    const int side = lock == varies                                      ? varying_side(mode, static_cast<int>(k))
                     : lock == rounding                                  ? +1
                     : mode.locks[static_cast<std::size_t>(lock)] != 0.0 ? if_true
                                                                         : -if_true;
    positions[k] = static_cast<Position>(side);
  }
  for (const int k : mode.contacts) positions[static_cast<std::size_t>(k)] = Position::contact;
  for (const int k : mode.sliding) {
    positions[static_cast<std::size_t>(k)] = Position::sliding;
    // the two ends of a rounding's interval are neighbours; on one of them the other means nothing
    if (const int step = guards_[static_cast<std::size_t>(k)].step(); step != 0)
      positions[static_cast<std::size_t>(k - step)] = Position::unwatched;
  }
}

int ModelGuards::varying_side(const Mode& mode, int guard) const {
  const Guard& g = guards_[guard];
  const int first = g.same_as < 0 ? guard : g.same_as;
  if (g.same_as >= 0 && !between(mode, guard)) return 0;
  if (!activity_[mode.automaton].active(first, mode)) return 0;
  for (const auto* surfaces : {&mode.sliding, &mode.contacts})
    if (std::binary_search(surfaces->begin(), surfaces->end(), first)) return 0;
  // the two ends of a rounding's interval are neighbours; on one of them the other means nothing
  if (g.step() != 0 && std::binary_search(mode.sliding.begin(), mode.sliding.end(), guard - g.step())) return 0;
  return g.kind != Kind::relation ? +1 : g.side_of(0, mode.locks[static_cast<std::size_t>(g.locks.front())]);
}

bool ModelGuards::between(const Mode& mode, int guard) const {
  const Guard& g = guards_[static_cast<std::size_t>(guard)];
  if (g.kind != Kind::relation || g.locks.size() < 2 || !g.distinct_at_zero()) return false;
  for (std::size_t i = 0; i < g.locks.size(); ++i)
    if (mode.locks[static_cast<std::size_t>(g.locks[i])] != g.truth(i, 0)) return false;
  return true;
}

[[gnu::hot]] void ModelGuards::set_side(Mode& mode, int guard, int side) const {
  const Guard& g = guards_[guard];
  if (g.kind == Kind::relation) {
    for (std::size_t i = 0; i < g.locks.size(); ++i)
      mode.locks[static_cast<std::size_t>(g.locks[i])] = g.truth(i, side);
  } else if (side < 0) {
    mode.locks[g.locks.front()] += g.step();
  }
}

bool ModelGuards::follow(Mode& mode, int guard, double value, int side) const {
  const Guard& g = guards_[guard];
  double& lock = mode.locks[g.locks.front()];
  const double before = lock;
  if (g.kind == Kind::rounding_low && std::isfinite(value))
    lock += std::floor(value);  // both ends belong to the same lock
  if (g.kind != Kind::relation) return lock != before;
  const bool was_between = between(mode, guard);
  if (side == 0)
    rest(mode, guard);
  else
    set_side(mode, guard, side);
  return lock != before || between(mode, guard) != was_between;
}

int ModelGuards::side_at_zero(const Guard& guard) {
  // x = k exactly belongs to the integer k: the lower end is inside, the upper end is not
  if (guard.kind == Kind::rounding_high) return -1;
  return guard.side_of(0, guard.truth(0, 0));
}

void ModelGuards::rest(Mode& mode, int guard) const {
  const Guard& g = guards_[static_cast<std::size_t>(guard)];
  if (g.kind != Kind::relation) return set_side(mode, guard, info_[static_cast<std::size_t>(guard)].side_at_zero);
  for (std::size_t i = 0; i < g.locks.size(); ++i) mode.locks[static_cast<std::size_t>(g.locks[i])] = g.truth(i, 0);
}

bool ModelGuards::rests(const Mode& mode, int guard) const {
  const Guard& g = guards_[static_cast<std::size_t>(guard)];
  if (side(mode, guard) != info_[static_cast<std::size_t>(guard)].side_at_zero) return false;
  for (std::size_t i = 0; g.kind == Kind::relation && i < g.locks.size(); ++i)
    if (mode.locks[static_cast<std::size_t>(g.locks[i])] != g.truth(i, 0)) return false;
  return true;
}

std::vector<int> ModelGuards::find_dormant(const Mode& mode) const {
  std::vector<int> found;
  const GuardActivity& which = activity_[mode.automaton];
  for (const int k : which.changing()) {
    const auto on = [k](const std::vector<int>& surfaces) {
      return std::binary_search(surfaces.begin(), surfaces.end(), k);
    };
    if (!which.active(k, mode) && !on(mode.sliding) && !on(mode.contacts)) found.push_back(k);
  }
  return found;
}

}  // namespace saltus
