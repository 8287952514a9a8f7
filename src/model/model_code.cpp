// How a model is compiled: declarations, equations by mode, guards, systems, the discrete part, modes on surfaces.
#include "model/model_code.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "model/derivative_variables.hpp"
#include "model/validation.hpp"
#include "model/zero_factors.hpp"

namespace saltus {

namespace {

/// What is wrong with a model is said of its equations as they stand, as far as possible.
Elimination eliminate(const ModelData& m) {
  if (!m.unbalanced) try {
      Elimination all = eliminate_explicit(m);
      validate(m, all);
      return all;
    } catch (const ModelError&) {
    }
  Elimination few = m.unbalanced ? Elimination::none(m) : eliminate_explicit(m, false);
  validate(m, few);
  return few;
}

}  // namespace

CompiledModel::Code::Code(const ModelData& m, const StateConstraints& constraints, ProgramOptions opts)
    : options(opts) {
  name = m.name;
  start_time = m.start_time;
  stabilised = m.stabilisation != 0.0;
  graph = m.graph;
  time = m.time;
  Elimination elimination = eliminate(m);
  elimination.by_start.insert(elimination.by_start.end(), constraints.by_start.begin(), constraints.by_start.end());
  elimination.decisions.insert(elimination.decisions.end(), constraints.decisions.begin(), constraints.decisions.end());
  take_declarations(m, elimination);
  Rewrite rewrite(*m.graph);
  for (const auto& [variable, solution] : elimination.replacements())
    rewrite.replace.emplace(variable.id(), solution.in(*m.graph));
  // between events pre(q) is q, in what stands for eliminated variables, too
  Rewrite now(*m.graph), continuous(*m.graph);
  for (const auto& [symbol, before] : m.pre_symbols) now.replace.emplace(before.id(), symbol.id());
  continuous.replace = now.replace;
  for (const auto& [variable, solution] : elimination.replacements())
    continuous.replace.emplace(variable.id(), now(solution.in(*m.graph)));
  const auto apply = [&](Rewrite& r, const Expr& e) { return Expr(m.graph, r(e.in(*m.graph))); };
  std::unordered_map<NodeId, double> parameter_values;
  for (const auto& p : m.parameters) parameter_values.emplace(p.symbol.id(), p.value);
  ZeroFactors zeros(m.graph, parameter_values);

  // equations by mode
  const std::size_t mode_count = std::max<std::size_t>(1, m.modes.size());
  std::vector<std::vector<Expr>> equations(mode_count);
  std::vector<std::vector<std::string>> equation_names(mode_count);
  const auto add = [&](std::size_t mode, const ModelData::NamedEquation& e) {
    equations[mode].push_back(zeros.without(apply(continuous, e.equation.residual())));
    equation_names[mode].push_back(describe_equation(e));
  };
  for (std::size_t mode = 0; mode < mode_count; ++mode) {
    if (stands_still) add(mode, {der(m.still) == 0.0, "", {}});
    for (std::size_t k = 0; k < m.equations.size(); ++k)
      if (!elimination.equation_used[k]) add(mode, m.equations[k]);
    if (!m.modes.empty())
      for (const auto& e : m.modes[mode].equations) add(mode, e);
    mode_names.push_back(m.modes.empty() ? "" : m.modes[mode].name);
  }
  leave_out.assign(parameters.size(), 0);
  for (const Expr& factor : zeros.counted()) {
    elimination.decisions.push_back({factor, 0.0});
    for (const Expr& p : symbols_of(std::span(&factor, 1), SymbolKind::parameter))
      leave_out[static_cast<std::size_t>(std::ranges::find(parameters, p.id(), &Expr::id) - parameters.begin())] = 1;
  }
  keep_decisions(elimination);
  for (std::size_t k = 0; k < all_variables.size(); ++k)
    if (elimination.eliminated[k]) solutions.push_back(apply(continuous, elimination.solution[k]));
  EventLogic::Setup setup = event_setup(m, rewrite);
  guards = ModelGuards(m, setup, equations, solutions, written_relations(m, continuous, rewrite));
  compile_systems(m, std::move(equations), std::move(equation_names));
  compile_observation();
  time_guards = TimeGuards(m.time, guards.guards(), parameters, discretes, guards.locks(), options);
  for (const int k : time_guards.guards()) guards.mark_time_only(k);
  take_inputs(m);
  for (const auto& system : systems) {
    find_switches(*system);
    occurring.emplace_back(system->equations(), discretes, guards.locks());
  }
  find_time_switches();
  compile_initial_equations(m, continuous);
  guards.set_rules(m, continuous);
  prepare_surface_modes(m, setup, continuous);
  setup.locks = guards.locks();
  setup.lock_info = guards.lock_info();
  find_pairs(setup);
  setup.contact_guards.resize(setup.transitions.size());
  for (const auto& surface : surface_modes->surfaces()) setup.contact_clauses.push_back(surface.resetting_clauses);
  for (std::size_t g = 0; g < surface_modes->surfaces().size(); ++g)
    for (const int k : surface_modes->surfaces()[g].resetting_transitions)
      setup.contact_guards[static_cast<std::size_t>(k)].push_back(static_cast<int>(g));
  find_slides(setup);
  setup.state.assign(variables.size(), 1);
  for (const auto& system : systems)
    for (std::size_t j = 0; j < variables.size(); ++j)
      if (!system->structure().differentiated(static_cast<int>(j))) setup.state[j] = 0;
  logic_setup = std::move(setup);
  for (std::size_t k = 0; k < guards.locks().size(); ++k)
    negated.push_back(guards.is_rounding(static_cast<int>(k)) || m.graph->node(guards.locks()[k].id()).op == Op::floor
                          ? Expr()
                          : (!BoolExpr(guards.written()[k])).expr());
  keep_written(m, now, continuous);
  graph->freeze();
  auto logic = make_logic();
  acts_by_mode = logic->acts_by_mode();
  find_deciding(*logic);
  idle_logic.push_back(std::move(logic));
  ModelValues complete = *values_then;
  complete.first_mode = first_mode(complete);
  values_then = std::make_shared<const ModelValues>(std::move(complete));
}

Mode CompiledModel::Code::first_mode(const ModelValues& values) const {
  auto logic = borrow_logic();
  Mode mode = initial_mode(values);
  mode.conditions.assign(logic->condition_count(), 0.0);
  mode.sees.assign(guards.guards().size(), 0);
  logic->set_parameters(values.parameters);
  logic->start(mode);
  give_back(std::move(logic));
  return mode;
}

bool CompiledModel::Code::depends_on_values() const {
  return !by_start.empty() || !decided.empty() || guards.coincident().depends_on_parameters() ||
         guards.depend_on_signs() ||
         std::any_of(systems.begin(), systems.end(), [](const auto& s) { return s->form_depends_on_data(); });
}

bool CompiledModel::Code::same_code_for(const ModelValues& values) const {
  for (const auto& [variable, kept] : by_start) {
    const VariableInfo& info = (*values.observed)[static_cast<std::size_t>(variable)];
    const int place = names.start_values().place_of(info.name);
    const bool guesses = info.start != 0.0 || (place >= 0 && !values.start_given[static_cast<std::size_t>(place)]);
    if (guesses != kept) return false;
  }
  if (decisions_for(values.parameters) != decided) return false;
  const std::vector<double> all = data_of(values);
  return std::all_of(systems.begin(), systems.end(), [&](const auto& s) { return s->same_form_for(all); }) &&
         guards.coincident().same_for(values_then->parameters, values.parameters) &&
         guards.same_signs(values_then->parameters, values.parameters);
}

std::vector<bool> CompiledModel::Code::decisions_for(std::span<const double> values) const {
  if (decisions.empty()) return {};
  std::vector<bool> result(decisions.tape().outputs[0].size());
  std::vector<double> sizes(result.size()), bounds(result.size());
  Workspace work = decisions.workspace();
  const double* const in[] = {values.data()};
  double* const out[] = {sizes.data(), bounds.data()};
  decisions(in, out, work);
  for (std::size_t k = 0; k < result.size(); ++k) result[k] = is_decided(sizes[k], bounds[k]);
  return result;
}

std::vector<double> CompiledModel::Code::data_of(const ModelValues& values) const {
  std::vector<double> all = values.parameters;
  all.insert(all.end(), values.discrete.begin(), values.discrete.end());
  return all;
}

std::unique_ptr<EventLogic> CompiledModel::Code::make_logic() const {
  EventLogic::Setup setup = logic_setup;
  const bool empty = setup.clauses.empty() && setup.transitions.empty() && setup.definitions.empty() &&
                     setup.assertions.empty() && setup.locks.empty();
  if (!empty) rehome(setup, graph->clone());
  return std::make_unique<EventLogic>(std::move(setup), options);
}

std::unique_ptr<EventLogic> CompiledModel::Code::borrow_logic() const {
  {
    const std::lock_guard lock(lending);
    if (!idle_logic.empty()) {
      auto logic = std::move(idle_logic.back());
      idle_logic.pop_back();
      return logic;
    }
  }
  return make_logic();
}

void CompiledModel::Code::give_back(std::unique_ptr<EventLogic> logic) const {
  logic->forget_run();
  const std::lock_guard lock(lending);
  idle_logic.push_back(std::move(logic));
}

void CompiledModel::Code::find_pairs(EventLogic::Setup& setup) {
  setup.pair_guards.resize(setup.transitions.size());
  paired_side.assign(mode_names.size(), {});
  if (setup.transitions.empty()) return;
  for (const SurfaceModes::PairedModes& pair : surface_modes->pairs()) {
    setup.pair_guards[static_cast<std::size_t>(pair.transition)].push_back(pair.surface);
    paired_side[static_cast<std::size_t>(pair.automaton)].push_back({pair.surface, pair.side, pair.other});
    guards.mark_paired(pair.surface);
  }
}

void CompiledModel::Code::find_slides(const EventLogic::Setup& setup) {
  std::unordered_set<NodeId> in_equations;
  for (const auto& system : systems)
    for (const Expr& lock : locks_of(system->equations().equations)) in_equations.insert(lock.id());
  std::unordered_set<int> paired;
  for (const auto& list : setup.pair_guards) paired.insert(list.begin(), list.end());
  for (int k = 0; k < static_cast<int>(guards.guards().size()); ++k) {
    const ModelGuards::Guard& guard = guards.guards()[static_cast<std::size_t>(k)];
    const bool on_state = !symbols_of(std::span(&guard.function, 1), SymbolKind::variable).empty() ||
                          !symbols_of(std::span(&guard.function, 1), SymbolKind::derivative).empty();
    const bool chooses = paired.contains(k) || std::any_of(guard.locks.begin(), guard.locks.end(), [&](int lock) {
                           return in_equations.contains(guards.locks()[static_cast<std::size_t>(lock)].id());
                         });
    guards.set_slides(k, on_state && chooses);
  }
}

void CompiledModel::Code::find_deciding(const EventLogic& logic) {
  for (int k = 0; k < static_cast<int>(guards.locks().size()); ++k)
    if (guards.some_dormant() || !guards.is_rounding(k) || logic.decides_by_lock(k)) deciding_locks.push_back(k);
  for (int k = 0; k < static_cast<int>(discretes.size()); ++k)
    if (guards.some_dormant() || logic.decides_by_discrete(k)) deciding_discretes.push_back(k);
  for (int k = 0; k < static_cast<int>(discretes.size()); ++k) {
    const auto in_equations = [k](const Switches& s) {
      return std::binary_search(s.discretes.begin(), s.discretes.end(), k);
    };
    if (logic.decides_by_discrete(k) || logic.sets_by_discrete(k) ||
        std::any_of(switches.begin(), switches.end(), in_equations))
      decisive.push_back(k);
  }
}

const CompiledModel::Code::Identity& CompiledModel::Code::identity() const {
  std::call_once(identity_places.found, [&] {
    std::vector<char> by_discrete(discretes.size(), 0), by_lock(guards.locks().size(), 0);
    guards.mark_deciding(by_discrete, by_lock);
    for (const auto& system : systems) {
      for (const int k : system->structural_locks()) by_lock[k] = 1;
      for (const int k : system->structural_data())
        if (const int q = k - static_cast<int>(parameters.size()); q >= 0) by_discrete[q] = 1;
    }
    auto logic = borrow_logic();
    for (int k = 0; k < static_cast<int>(by_lock.size()); ++k)
      if (by_lock[k] || !guards.is_rounding(k) || logic->decides_by_lock(k)) identity_places.locks.push_back(k);
    for (int k = 0; k < static_cast<int>(by_discrete.size()); ++k)
      if (by_discrete[k] || logic->decides_by_discrete(k)) identity_places.discretes.push_back(k);
    give_back(std::move(logic));
  });
  return identity_places;
}

bool CompiledModel::Code::may_have_parts() const {
  const auto special = [](const GuardInfo& g) {
    return g.record_touch || g.rule != SurfaceRule::filippov || g.nominal > 0.0;
  };
  return systems.size() == 1 && logic_setup.transitions.empty() && inputs.empty() && !stands_still && !stabilised &&
         systems.front()->right_hand_sides().size() == variables.size() && std::ranges::none_of(guards.info(), special);
}

std::string CompiledModel::Code::surface_text(const Mode& mode, int guard) const {
  const ModelGuards::Guard& g = guards.guards()[static_cast<std::size_t>(guard)];
  if (g.step() == 0) return guards.surface_text(guard);
  const auto lock = static_cast<std::size_t>(g.locks.front());
  return to_string(guards.written_function(static_cast<int>(lock)), 40) + " = " +
         number_text(mode.locks[lock] + std::max(g.step(), 0));
}

ModelGuards::Written CompiledModel::Code::written_relations(const ModelData& m, Rewrite& continuous, Rewrite& rewrite) {
  ModelGuards::Written written;
  const auto add = [&](Rewrite& rule, const Expr& e) {
    if (e.is_constant()) return;
    for (const Expr& lock : locks_of(std::span(&e, 1))) {
      const Expr made(m.graph, rule(lock.in(*m.graph)));
      written.emplace(made.id(), lock);
      // y >= k, with another expression for y, may have become not (k > 2*x), which is named k > y
      for (const Expr& turned : locks_of(std::span(&made, 1)))
        if ((!BoolExpr(turned)).expr().same(made)) written.emplace(turned.id(), (!BoolExpr(lock)).expr());
    }
  };
  for (const auto& e : m.equations) add(continuous, e.equation.residual());
  for (const auto& mode : m.modes)
    for (const auto& e : mode.equations) add(continuous, e.equation.residual());
  for (const auto& c : m.clauses) add(rewrite, c.condition.expr());
  for (const auto& t : m.transitions) add(rewrite, t.condition.expr());
  for (const auto& d : m.definitions) add(rewrite, d.value);
  for (const auto& a : m.assertions) add(rewrite, a.condition.expr());
  return written;
}

void CompiledModel::Code::keep_written(const ModelData& m, Rewrite& now, Rewrite& continuous) {
  if (m.unbalanced) return;  // least squares satisfy what they can
  std::unordered_map<NodeId, int> place;
  for (std::size_t k = 0; k < guards.locks().size(); ++k) place.emplace(guards.locks()[k].id(), static_cast<int>(k));
  const auto apply = [&](const Expr& e) {
    return e.graph() && !m.pre_symbols.empty() ? Expr(m.graph, now(e.id())) : e;
  };
  const std::vector<ModelEquations::Relation> relations = find_written_relations(apply);
  for (std::size_t mode = 0; mode < mode_names.size(); ++mode) {
    WrittenMode& kept = written.emplace_back();
    kept.equations = m.equations;
    kept.common = m.equations.size();
    kept.relations = relations;
    if (!m.modes.empty())
      kept.equations.insert(kept.equations.end(), m.modes[mode].equations.begin(), m.modes[mode].equations.end());
    std::vector<Expr> sides;
    for (ModelData::NamedEquation& e : kept.equations) {
      e.equation = {apply(e.equation.lhs), apply(e.equation.rhs)};
      sides.insert(sides.end(), {e.equation.lhs, e.equation.rhs});
    }
    for (const ModelEquations::Relation& relation : relations) sides.push_back(relation.function);
    if (!place.empty()) kept.locks = locks_of(sides);
    for (const Expr& lock : kept.locks) {
      const auto it = place.find(continuous(lock.id()));
      kept.lock_places.push_back(it == place.end() ? -1 : it->second);
    }
    std::unordered_map<int, int> number_of;
    for (std::size_t k = 0; k < kept.lock_places.size(); ++k)
      number_of.emplace(kept.lock_places[k], static_cast<int>(k));
    for (ModelEquations::Relation& relation : kept.relations)
      if (const auto own = number_of.find(relation.lock); own != number_of.end()) relation.own = own->second;
  }
  std::unordered_map<NodeId, int> place_of_variable;
  for (std::size_t k = 0; k < m.variables.size(); ++k)
    place_of_variable.emplace(m.variables[k].id(), static_cast<int>(k));
  written_reset_targets.resize(guards.guards().size());
  for (std::size_t g = 0; g < written_reset_targets.size(); ++g) {
    const auto add = [&](const std::vector<ModelData::Action>& actions) {
      for (const ModelData::Action& a : actions)
        if (const auto target = place_of_variable.find(a.target.id());
            a.kind == ModelData::Action::Kind::reset && target != place_of_variable.end())
          written_reset_targets[g].push_back(target->second);
    };
    const auto& surface = surface_modes->surfaces()[g];
    for (const int k : surface.resetting_clauses) add(m.clauses[static_cast<std::size_t>(k)].actions);
    for (const int k : surface.resetting_transitions) add(m.transitions[static_cast<std::size_t>(k)].actions);
  }
  if (!std::ranges::all_of(written_reset_targets, &std::vector<int>::empty))
    for (const Expr& x : m.variables) written_derivatives.push_back(der(x));
}

/// The relations and roundings that guards watch, as they were written. `apply`: makes pre(v) v.
std::vector<ModelEquations::Relation> CompiledModel::Code::find_written_relations(
    const std::function<Expr(const Expr&)>& apply) const {
  std::vector<std::vector<int>> guards_of_lock(guards.locks().size());
  for (std::size_t g = 0; g < guards.guards().size(); ++g)
    for (const int lock : guards.guards()[g].locks)
      guards_of_lock[static_cast<std::size_t>(lock)].push_back(static_cast<int>(g));
  std::unordered_set<NodeId> known{time.id()};
  for (const auto* list : {&all_variables, &derivatives, &parameters, &discretes})
    for (const Expr& e : *list) known.insert(e.id());
  // (what clauses read before the event, in their own conditions, is no input between events)
  const auto can_be_evaluated = [&](const Expr& f) {
    if (!f.graph()) return false;
    const NodeId root = f.id();
    return std::ranges::all_of(f.graph()->reachable(std::span(&root, 1)),
                               [&](NodeId id) { return f.graph()->node(id).op != Op::symbol || known.contains(id); });
  };
  std::vector<ModelEquations::Relation> found;
  for (std::size_t k = 0; k < guards.locks().size(); ++k) {
    const int lock = static_cast<int>(k);
    const std::vector<int>& watching = guards_of_lock[k];
    const auto of_input = [&](int g) { return guards.info()[static_cast<std::size_t>(g)].of_input; };
    if (guards.is_discrete(lock) || watching.empty() || std::ranges::any_of(watching, of_input)) continue;
    const Expr& written_relation = guards.written()[k];
    const bool opposite = written_relation.graph()->node(written_relation.id()).op == Op::logical_not;
    const Expr function = apply(guards.written_function(lock));
    if (!can_be_evaluated(function)) continue;
    const bool rounding = guards.is_rounding(lock);
    found.push_back({.function = function,
                     .lock = lock,
                     .negated = opposite,
                     .rounding = rounding,
                     .text = rounding ? to_string(function, 40) : to_string(BoolExpr(written_relation)),
                     .guards = watching});
  }
  return found;
}

const ModelEquations* CompiledModel::Code::written_equations(std::size_t mode) const {
  if (written.empty()) return nullptr;
  const std::lock_guard lock(compiling_written);
  if (compiled_written.empty()) compiled_written.resize(written.size());
  auto& made = compiled_written[mode];
  if (made) return made.get();
  std::vector<std::vector<int>> surface_locks;
  for (const auto& guard : guards.guards()) surface_locks.push_back(guard.locks);
  made = std::make_unique<ModelEquations>(ModelEquations::Source{
      time, all_variables, derivatives, parameters, discretes, written[mode].equations, written[mode].locks,
      written[mode].lock_places, std::move(surface_locks), written[mode].relations, written[mode].common,
      written_reset_targets, written_derivatives, &guards});
  return made.get();
}

void CompiledModel::Code::take_declarations(const ModelData& m, const Elimination& elimination) {
  all_variables = m.variables;
  std::vector<VariableInfo> info, observed_info = m.variable_info;
  discrete_data = m.discretes;
  for (std::size_t k = 0; k < m.variables.size(); ++k) {
    observed_position.push_back(elimination.eliminated[k] ? -1 : static_cast<int>(variables.size()));
    if (elimination.eliminated[k]) continue;
    variables.push_back(m.variables[k]);
    derivatives.push_back(der(m.variables[k]));
  }
  stands_still = variables.empty();
  if (stands_still) {  // systems have at least one variable; this one is not shown
    variables.push_back(m.still);
    derivatives.push_back(der(m.still));
  }
  for (std::size_t k = 0; k < discrete_data.size(); ++k) {
    const ModelData::Discrete& q = discrete_data[k];
    if (q.hidden) continue;
    observed_discretes.push_back(static_cast<int>(k));
    observed_info.push_back({.name = q.name, .start = q.start, .details = q.details});
  }
  for (const auto& p : m.parameters) parameters.push_back(p.symbol);
  for (const auto& q : m.discretes) discretes.push_back(q.symbol);
  initial_flag = add_flag(m, m.initial_symbol, 1.0);
  terminal_flag = add_flag(m, m.terminal_symbol, 0.0);
  start_mode = m.start_mode;
  names = ValueNames(m, observed_position, observed_discretes);
  auto given = std::make_shared<ModelValues>();
  for (const auto& p : m.parameters) given->parameters.push_back(p.value);
  for (const auto& q : discrete_data) given->discrete.push_back(q.start);
  given->start_given.assign(names.start_values().count(), 0);
  names.start_values().evaluate(given->parameters, given->start_given, observed_info, given->discrete,
                                std::span(observed_info).subspan(m.variables.size()));
  for (std::size_t k = 0; k < m.variables.size(); ++k)
    if (observed_position[k] >= 0) info.push_back(observed_info[k]);
  if (stands_still) info.push_back({.name = m.still.name(), .fixed = true});
  info.shrink_to_fit();
  observed_info.shrink_to_fit();
  given->kept = std::make_shared<const std::vector<VariableInfo>>(std::move(info));
  given->observed = std::make_shared<const std::vector<VariableInfo>>(std::move(observed_info));
  values_then = std::move(given);
  for (const int v : elimination.by_start) by_start.emplace_back(v, guesses_derivative(m, v));
}

void CompiledModel::Code::keep_decisions(const Elimination& elimination) {
  if (elimination.decisions.empty()) return;
  using Groups = std::vector<std::vector<Expr>>;
  Groups looked_at(2);
  for (const Elimination::Decision& d : elimination.decisions) {
    looked_at[0].push_back(d.value);
    looked_at[1].push_back(d.bound);
  }
  decisions = Program(Groups{parameters}, looked_at, {.backend = Backend::interpreter});
  decided = decisions_for(values_then->parameters);
}

int CompiledModel::Code::add_flag(const ModelData& m, const Expr& symbol, double start) {
  bool used = false;
  const auto look = [&](const Expr& e) {
    if (used || e.is_constant()) return;
    for (const Expr& s : symbols_of(std::span(&e, 1), SymbolKind::discrete)) used = used || s.same(symbol);
  };
  const auto look_at_actions = [&](const std::vector<ModelData::Action>& actions) {
    for (const auto& a : actions) look(a.value), look(a.only_if.expr());
  };
  for (const auto& e : m.equations) look(e.equation.residual());
  for (const auto& mode : m.modes)
    for (const auto& e : mode.equations) look(e.equation.residual());
  for (const auto& c : m.clauses) look(c.condition.expr()), look_at_actions(c.actions);
  for (const auto& t : m.transitions) look(t.condition.expr()), look_at_actions(t.actions);
  for (const auto& d : m.definitions) look(d.value);
  for (const auto& a : m.assertions) look(a.condition.expr());
  if (!used) return -1;
  discretes.push_back(symbol);
  discrete_data.push_back({symbol, start, symbol.name(), {}, true});
  return static_cast<int>(discretes.size()) - 1;
}

void CompiledModel::Code::own_targets_before(const ModelData& m, EventLogic::Setup& s) {
  const auto before = [&](const Expr& target) {
    for (const auto& [symbol, pre] : s.pre_discretes)
      if (symbol.same(target)) return pre;
    const Expr pre(m.graph, m.graph->symbol("pre(" + target.name() + ")", SymbolKind::discrete));
    s.pre_discretes.emplace_back(target, pre);
    return pre;
  };
  const auto rewrite = [&](BoolExpr& condition, const std::vector<Expr>& targets) {
    if (condition.expr().is_constant() || targets.empty()) return;
    const std::vector<Expr> read = symbols_of(std::span(&condition.expr(), 1), SymbolKind::discrete);
    Rewrite own(*m.graph);
    for (const Expr& target : targets)
      if (std::any_of(read.begin(), read.end(), [&](const Expr& e) { return e.same(target); }))
        own.replace.emplace(target.id(), before(target).id());
    if (!own.replace.empty()) condition = BoolExpr(Expr(m.graph, own(condition.expr().in(*m.graph))));
  };
  const auto collect = [](const std::vector<ModelData::Action>& actions, std::vector<Expr>& targets) {
    for (const auto& a : actions)
      if (a.kind == ModelData::Action::Kind::assign) targets.push_back(a.target);
  };
  for (std::size_t first = 0; first < s.clauses.size();) {  // a chain of `elsewhen` is one
    std::size_t last = first + 1;
    while (last < s.clauses.size() && s.clauses[last].after == static_cast<int>(last) - 1) ++last;
    std::vector<Expr> targets;
    for (std::size_t k = first; k < last; ++k) collect(s.clauses[k].actions, targets);
    for (std::size_t k = first; k < last; ++k)
      if (!s.clauses[k].samples) rewrite(s.clauses[k].condition, targets);
    first = last;
  }
  for (auto& t : s.transitions) {
    std::vector<Expr> targets;
    collect(t.actions, targets);
    rewrite(t.condition, targets);
  }
}

EventLogic::Setup CompiledModel::Code::event_setup(const ModelData& m, Rewrite& rewrite) const {
  EventLogic::Setup s;
  const auto apply = [&](const Expr& e) { return Expr(m.graph, rewrite(e.in(*m.graph))); };
  const auto apply_actions = [&](std::vector<ModelData::Action>& actions) {
    for (auto& a : actions) {
      a.value = apply(a.value);
      a.only_if = BoolExpr(apply(a.only_if.expr()));
    }
  };
  s.time = m.time;
  s.variables = variables;
  s.derivatives = derivatives;
  s.parameters = parameters;
  s.discretes = discretes;
  for (std::size_t k = 0; k < m.discretes.size(); ++k)
    if (m.discretes[k].pulse) s.pulses.push_back(static_cast<int>(k));
  for (const auto& pair : m.pre_symbols)
    (m.graph->symbol_of(pair.first.id()).kind == SymbolKind::variable ? s.pre_variables : s.pre_discretes)
        .push_back(pair);
  s.initial_flag = initial_flag;
  s.terminal_flag = terminal_flag;
  for (const auto& q : discrete_data) s.boolean.push_back(q.boolean);
  s.clauses = m.clauses;
  for (auto& c : s.clauses) {
    c.condition = BoolExpr(apply(c.condition.expr()));
    apply_actions(c.actions);
  }
  s.transitions = m.transitions;
  for (auto& t : s.transitions) {
    t.condition = BoolExpr(apply(t.condition.expr()));
    apply_actions(t.actions);
  }
  own_targets_before(m, s);
  s.definitions = m.definitions;
  for (auto& d : s.definitions) d.value = apply(d.value);
  s.assertions = m.assertions;
  for (auto& a : s.assertions) a.condition = BoolExpr(apply(a.condition.expr()));
  for (const auto& mode : m.modes) s.mode_names.push_back(mode.name);
  s.parameter_values = values_then->parameters;
  return s;
}

void CompiledModel::Code::compile_systems(const ModelData& m, std::vector<std::vector<Expr>> equations,
                                          std::vector<std::vector<std::string>> texts) {
  std::vector<Expr> data_symbols = parameters, functions;
  data_symbols.insert(data_symbols.end(), discretes.begin(), discretes.end());
  std::vector<double> nominal;
  for (const auto& v : *values_then->kept) nominal.push_back(v.nominal);
  for (const auto& g : guards.guards()) functions.push_back(g.function);
  const Mode first = initial_mode(*values_then);
  const std::vector<double> data = data_of(*values_then);
  for (std::size_t mode = 0; mode < equations.size(); ++mode)
    systems.push_back(std::make_unique<RecordedSystem>(
        RecordedEquations{m.time, variables, std::move(equations[mode]), data_symbols, guards.locks(), functions,
                          std::move(texts[mode]), nominal, m.scaling},
        data, first.locks, options));
}

void CompiledModel::Code::take_inputs(const ModelData& m) {
  std::unordered_set<NodeId> changes;
  for (const ModelData::Input& input : m.inputs) {
    inputs.push_back(input.places);
    for (const int place : {input.places.next, input.places.previous})
      changes.insert(discretes[static_cast<std::size_t>(place)].id());
    if (!input.held) continue;
    const auto shown = std::lower_bound(observed_discretes.begin(), observed_discretes.end(), input.places.variable);
    inputs.back().variable = static_cast<int>(all_variables.size() + (shown - observed_discretes.begin()));
  }
  if (inputs.empty()) return;
  for (const int k : time_guards.guards())
    for (const Expr& s :
         symbols_of(std::span(&guards.guards()[static_cast<std::size_t>(k)].function, 1), SymbolKind::discrete))
      if (changes.contains(s.id())) guards.mark_of_input(k);
}

void CompiledModel::Code::find_time_switches() {
  std::vector<Expr> functions;
  for (std::size_t k = 0; k < guards.info().size(); ++k)
    if (guards.info()[k].time_only) functions.push_back(guards.guards()[k].function);
  in_time_guards.discretes = places_of(discretes, symbols_of(functions, SymbolKind::discrete));
  in_time_guards.locks = places_of(guards.locks(), locks_of(functions));
}

void CompiledModel::Code::find_switches(const RecordedSystem& system) {
  std::vector<Expr> expressions = system.equations().equations;
  for (std::size_t k = 0; k < guards.info().size(); ++k)  // when time events come is asked for after each event anyway
    if (!guards.info()[k].time_only) expressions.push_back(system.equations().guards[k]);
  Switches& found = switches.emplace_back();
  found.discretes = places_of(discretes, symbols_of(expressions, SymbolKind::discrete));
  const std::vector<int>& structural = system.structural_locks();
  for (const int k : places_of(guards.locks(), locks_of(expressions))) {
    const bool always = std::binary_search(structural.begin(), structural.end(), k) ||
                        guards.always_matters(static_cast<int>(switches.size()) - 1, k);
    (always ? found.locks : found.dormant_locks).push_back(k);
  }
}

void CompiledModel::Code::compile_observation() {
  const std::vector<std::vector<Expr>> outputs{solutions};
  observe_program = Program(observe_inputs(), outputs, options);
  observes_states = observed_discretes.empty() && solutions.empty();
}

void CompiledModel::Code::compile_initial_equations(const ModelData& m, const Rewrite& continuous) {
  if (m.initial_equations.empty()) return;
  Rewrite at_start(*m.graph);
  at_start.replace = continuous.replace;
  at_start.replace.emplace(m.initial_symbol.id(), m.graph->constant(1.0));
  at_start.replace.emplace(m.terminal_symbol.id(), m.graph->constant(0.0));
  std::vector<Expr> residuals;
  std::vector<std::string> texts;
  for (const auto& e : m.initial_equations) {
    residuals.emplace_back(m.graph, at_start(e.equation.residual().in(*m.graph)));
    texts.push_back(describe_equation(e));
  }
  initial_residuals = residuals;
  initial_equations = std::make_unique<InitialEquations>(
      InitialEquations::Symbols{time, variables, derivatives, parameters, discretes, guards.locks()}, residuals,
      std::move(texts), options);
}

void CompiledModel::Code::prepare_surface_modes(const ModelData& m, const EventLogic::Setup& discrete_part,
                                                Rewrite& continuous) {
  SurfaceModes::Setup s;
  const auto apply = [&](const Expr& e) { return Expr(m.graph, continuous(e.in(*m.graph))); };
  for (const auto& g : guards.guards())
    s.surfaces.push_back(
        {g.function, g.locks, g.signs, g.kind == ModelGuards::Kind::relation && g.same_as < 0, g.step()});
  s.locks = guards.locks();
  for (const auto& system : systems) s.systems.push_back(system.get());
  s.clauses = discrete_part.clauses;
  s.transitions = discrete_part.transitions;
  s.definitions = discrete_part.definitions;
  for (auto& c : s.clauses) {
    c.condition = BoolExpr(apply(c.condition.expr()));
    for (auto& a : c.actions) {
      a.value = apply(a.value);
      a.only_if = BoolExpr(apply(a.only_if.expr()));
    }
  }
  for (auto& t : s.transitions) {
    t.condition = BoolExpr(apply(t.condition.expr()));
    for (auto& a : t.actions) a.value = apply(a.value);
  }
  for (auto& d : s.definitions) d.value = apply(d.value);
  s.observed = solutions;
  s.parameters = parameters;
  s.discretes = discretes;
  s.data = data_of(*values_then);
  s.start_locks.assign(guards.locks().size(), 0.0);
  s.stabilisation = m.stabilisation;
  s.options = options;
  surface_modes = std::make_unique<SurfaceModes>(std::move(s));
}

Mode CompiledModel::Code::initial_mode(const ModelValues& values) const {
  Mode mode;
  mode.automaton = static_cast<int>(start_mode);
  mode.discrete = values.discrete;
  for (const InputInfo& input : inputs)  // at rest at its start value
    mode.discrete[static_cast<std::size_t>(input.coefficients.front())] =
        (*values.observed)[static_cast<std::size_t>(input.variable)].start;
  mode.locks.assign(guards.locks().size(), 0.0);
  for (std::size_t k = 0; k < guards.guards().size(); ++k) {  // relations of one guard, on opposite sides of it, differ
    const ModelGuards::Guard& guard = guards.guards()[k];
    if (guard.kind == ModelGuards::Kind::relation && guard.same_as < 0)
      guards.set_side(mode, static_cast<int>(k), guard.side_of(0, 0.0));
  }
  return mode;
}

}  // namespace saltus
