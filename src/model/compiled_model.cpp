#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/expr/rewrite.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

#include "model/acts.hpp"
#include "model/attachments.hpp"
#include "model/elimination.hpp"
#include "model/event_logic.hpp"
#include "model/initial_equations.hpp"
#include "model/model_access.hpp"
#include "model/model_equations.hpp"
#include "model/mode_systems.hpp"
#include "model/model_guards.hpp"
#include "model/model_parts.hpp"
#include "model/derivative_variables.hpp"
#include "model/homotopy_share.hpp"
#include "model/model_values.hpp"
#include "model/rehome.hpp"
#include "model/runnable_program.hpp"
#include "model/surface_modes.hpp"
#include "model/time_guards.hpp"
#include "model/validation.hpp"

namespace saltus {

namespace {

using Groups = std::vector<std::vector<Expr>>;

}  // namespace

/// What is known about a model once it has been compiled. Runs in any number of threads share it. What was not needed
/// so far, modes on surfaces and parts of programs, is added on first use under a mutex, and does not change anything
/// that is there.
struct CompiledModel::Code {
  std::string name;
  std::optional<double> start_time;
  GraphHandle graph;  // frozen: nothing is added to it any more
  ProgramOptions options;
  std::vector<Expr> all_variables, variables, derivatives, parameters, discretes;
  std::shared_ptr<const ModelValues> values_then;  // with which it was compiled
  ValueNames names;
  std::vector<ModelData::Discrete> discrete_data;
  bool stands_still = false;
  bool observes_states = false;  // and nothing else: observed values are the first of x
  std::vector<int> observed_position;   // of each model variable: index of the kept variable, or -1
  std::vector<int> observed_discretes;  // which of the discrete variables are not hidden
  ModelGuards guards;
  TimeGuards time_guards;
  std::vector<InputInfo> inputs;
  struct Switches {
    std::vector<int> discretes, locks;
    std::vector<int> dormant_locks;  // locks that change no structure, of guards that do not always matter
  };
  Switches in_time_guards;         // those that occur in guards that depend on time alone
  std::vector<Switches> switches;  // by explicit mode: those that occur in its equations or in guards
  std::vector<OccurringValues> occurring;  // by explicit mode: all that its functions depend on, guards of time included
  std::vector<std::string> mode_names;
  std::size_t start_mode = 0;
  int initial_flag = -1, terminal_flag = -1;  // discrete variables for initial() and terminal(); -1: not used
  std::vector<std::unique_ptr<RecordedSystem>> systems;  // by explicit mode, to make those of runs from
  std::vector<Expr> negated;                             // by lock: the opposite of a relation, for descriptions
  EventLogic::Setup logic_setup;
  std::vector<std::pair<int, bool>> by_start;  // variables z = der(x), and whether they were kept: see same_code_for
  Program divisors;  // factors of variables, from parameters: which are zero decides what is eliminated
  std::size_t divisor_count = 0;
  std::unique_ptr<const ModelData> source;     // as it was written; null: nothing ever needs other code
  bool eases = false;                          // it has homotopies
  bool stabilised = false;                     // see Model::stabilise_sliding
  bool acts_by_mode = false;
  struct PairedSide {
    int guard, side, other;  // on this side of the guard the other explicit mode has the field
  };
  std::vector<std::vector<PairedSide>> paired_side;  // by explicit mode
  std::vector<int> deciding_locks, deciding_discretes;  // see acts_alike
  std::vector<int> decisive;                            // discrete variables that decide, move the state, or set one that does
  std::unique_ptr<InitialEquations> initial_equations;  // null: none
  std::vector<Expr> initial_residuals;                  // of these
  Program observe_program;
  std::vector<Expr> solutions;  // of the eliminated variables
  Expr time;

  std::unique_ptr<SurfaceModes> surface_modes;
  struct WrittenMode {
    std::vector<ModelData::NamedEquation> equations;
    std::vector<Expr> locks;
    std::vector<int> lock_places;
  };
  std::vector<WrittenMode> written;  // by explicit mode
  mutable std::mutex compiling_written;
  mutable std::vector<std::unique_ptr<ModelEquations>> compiled_written;

  /// The model keeps its graph: with_own_graph makes one for the code.
  Code(const ModelData& m, ProgramOptions opts) : options(opts) {
    name = m.name;
    start_time = m.start_time;
    stabilised = m.stabilisation != 0.0;
    graph = m.graph;
    time = m.time;
    const Elimination elimination = m.unbalanced ? Elimination::none(m) : eliminate_explicit(m);
    validate(m, elimination);
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

    // equations by mode
    const std::size_t mode_count = std::max<std::size_t>(1, m.modes.size());
    std::vector<std::vector<Expr>> equations(mode_count);
    std::vector<std::vector<std::string>> equation_names(mode_count);
    const auto add = [&](std::size_t mode, const ModelData::NamedEquation& e) {
      equations[mode].push_back(apply(continuous, e.equation.residual()));
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
      for (const int k : surface_modes->surfaces()[g].resetting_transitions) setup.contact_guards[static_cast<std::size_t>(k)].push_back(static_cast<int>(g));
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

  /// The mode before anything is known about guards.
  Mode first_mode(const ModelValues& values) const {
    auto logic = borrow_logic();
    Mode mode = initial_mode(values);
    mode.conditions.assign(logic->condition_count(), 0.0);
    mode.sees.assign(guards.guards().size(), 0);
    logic->set_parameters(values.parameters);
    logic->start(mode);
    give_back(std::move(logic));
    return mode;
  }

  /// Whether code that is compiled for other values may be another one.
  bool depends_on_values() const {
    return !by_start.empty() || divisor_count > 0 || guards.coincident().depends_on_parameters() || guards.depend_on_signs() ||
           std::any_of(systems.begin(), systems.end(), [](const auto& s) { return s->form_depends_on_data(); });
  }

  /// Whether code that is compiled for these values is the same.
  bool same_code_for(const ModelValues& values) const {
    for (const auto& [variable, kept] : by_start) {
      const VariableInfo& info = (*values.observed)[static_cast<std::size_t>(variable)];
      const int place = names.start_values().place_of(info.name);
      const bool guesses = info.start != 0.0 || (place >= 0 && !values.start_given[static_cast<std::size_t>(place)]);
      if (guesses != kept) return false;
    }
    if (divisors_of(values.parameters) != divisors_of(values_then->parameters)) return false;
    const std::vector<double> all = data_of(values);
    return std::all_of(systems.begin(), systems.end(), [&](const auto& s) { return s->same_form_for(all); }) &&
           guards.coincident().same_for(values_then->parameters, values.parameters) &&
           guards.same_signs(values_then->parameters, values.parameters);
  }

  /// Which factors can be divided by, with these values of the parameters.
  std::vector<bool> divisors_of(std::span<const double> values) const {
    std::vector<double> factors(divisor_count);
    if (divisor_count > 0) {
      Workspace work = divisors.workspace();
      const double* const in[] = {values.data()};
      double* const out[] = {factors.data()};
      divisors(in, out, work);
    }
    std::vector<bool> usable;
    for (const double c : factors) usable.push_back(usable_divisor(c));
    return usable;
  }

  /// Parameters, and the discrete variables at the start.
  std::vector<double> data_of(const ModelValues& values) const {
    std::vector<double> all = values.parameters;
    all.insert(all.end(), values.discrete.begin(), values.discrete.end());
    return all;
  }

  // The discrete part keeps what it is working on, and compiles actions when they first take place, in a graph of its
  // own: each run has one, and leaves it to the next.
  mutable Attachments attachments;
  mutable std::mutex lending;
  mutable std::vector<std::unique_ptr<EventLogic>> idle_logic;

  std::unique_ptr<EventLogic> make_logic() const {
    EventLogic::Setup setup = logic_setup;
    const bool empty = setup.clauses.empty() && setup.transitions.empty() && setup.definitions.empty() &&
                       setup.assertions.empty() && setup.locks.empty();
    if (!empty) rehome(setup, graph->clone());
    return std::make_unique<EventLogic>(std::move(setup), options);
  }
  std::unique_ptr<EventLogic> borrow_logic() const {
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
  void give_back(std::unique_ptr<EventLogic> logic) const {
    logic->forget_run();
    const std::lock_guard lock(lending);
    idle_logic.push_back(std::move(logic));
  }

  /// Transitions that lead across a surface and back are part of the field there.
  void find_pairs(EventLogic::Setup& setup) {
    setup.pair_guards.resize(setup.transitions.size());
    paired_side.assign(mode_names.size(), {});
    if (setup.transitions.empty()) return;
    for (const SurfaceModes::PairedModes& pair : surface_modes->pairs()) {
      setup.pair_guards[static_cast<std::size_t>(pair.transition)].push_back(pair.surface);
      paired_side[static_cast<std::size_t>(pair.automaton)].push_back({pair.surface, pair.side, pair.other});
      guards.mark_paired(pair.surface);
    }
  }

  /// A surface can be slid on if its function depends on the state and the field on its relations.
  void find_slides(const EventLogic::Setup& setup) {
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

  /// Sides decide, and whatever the discrete part looks at. Which guards matter may depend on anything.
  void find_deciding(const EventLogic& logic) {
    for (int k = 0; k < static_cast<int>(guards.locks().size()); ++k)
      if (guards.some_dormant() || !guards.is_rounding(k) || logic.decides_by_lock(k)) deciding_locks.push_back(k);
    for (int k = 0; k < static_cast<int>(discretes.size()); ++k)
      if (guards.some_dormant() || logic.decides_by_discrete(k)) deciding_discretes.push_back(k);
    for (int k = 0; k < static_cast<int>(discretes.size()); ++k) {
      const auto in_equations = [k](const Switches& s) { return std::binary_search(s.discretes.begin(), s.discretes.end(), k); };
      if (logic.decides_by_discrete(k) || logic.sets_by_discrete(k) || std::any_of(switches.begin(), switches.end(), in_equations)) decisive.push_back(k);
    }
  }

  /// See CompiledModel::identify. Found when it is first asked for.
  struct Identity {
    std::once_flag found;
    std::vector<int> locks, discretes;
  };
  mutable Identity identity_places;

  /// What decides for the discrete part, for the guards that matter, or for the structure of equations.
  const Identity& identity() const {
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

  /// Whether the model may fall into parts: one explicit mode with explicit equations, and nothing that concerns all.
  bool may_have_parts() const {
    const auto special = [](const GuardInfo& g) { return g.record_touch || g.rule != SurfaceRule::filippov; };
    return systems.size() == 1 && logic_setup.transitions.empty() && inputs.empty() && !stands_still &&
           !stabilised && systems.front()->right_hand_sides().size() == variables.size() &&
           std::ranges::none_of(guards.info(), special);
  }

  /// A surface on which a mode slides, as an equation.
  std::string surface_text(const Mode& mode, int guard) const {
    const ModelGuards::Guard& g = guards.guards()[static_cast<std::size_t>(guard)];
    if (g.step() == 0) return guards.surface_text(guard);
    const auto lock = static_cast<std::size_t>(g.locks.front());
    return to_string(switching_function(guards.written()[lock]), 40) + " = " +
           number_text(mode.locks[lock] + std::max(g.step(), 0));
  }

  /// Relations and roundings as the model has them, by what they are after elimination.
  static ModelGuards::Written written_relations(const ModelData& m, Rewrite& continuous, Rewrite& rewrite) {
    ModelGuards::Written written;
    const auto add = [&](Rewrite& rule, const Expr& e) {
      if (e.is_constant()) return;
      for (const Expr& lock : locks_of(std::span(&e, 1))) written.emplace(rule(lock.in(*m.graph)), lock);
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

  /// Keeps the equations as they were written, with pre(v) = v, and finds their relations among the locks. (Nothing may be built in the
  /// graph before what is integrated: numbers of nodes decide in which order derivatives are added.)
  void keep_written(const ModelData& m, Rewrite& now, Rewrite& continuous) {
    if (m.unbalanced) return;  // least squares satisfy what they can
    std::unordered_map<NodeId, int> place;
    for (std::size_t k = 0; k < guards.locks().size(); ++k) place.emplace(guards.locks()[k].id(), static_cast<int>(k));
    const auto apply = [&](const Expr& e) { return e.graph() && !m.pre_symbols.empty() ? Expr(m.graph, now(e.id())) : e; };
    for (std::size_t mode = 0; mode < mode_names.size(); ++mode) {
      WrittenMode& kept = written.emplace_back();
      kept.equations = m.equations;
      if (!m.modes.empty()) kept.equations.insert(kept.equations.end(), m.modes[mode].equations.begin(), m.modes[mode].equations.end());
      std::vector<Expr> sides;
      for (ModelData::NamedEquation& e : kept.equations) {
        e.equation = {apply(e.equation.lhs), apply(e.equation.rhs)};
        sides.insert(sides.end(), {e.equation.lhs, e.equation.rhs});
      }
      if (!place.empty()) kept.locks = locks_of(sides);
      for (const Expr& lock : kept.locks) {
        const auto it = place.find(continuous(lock.id()));
        kept.lock_places.push_back(it == place.end() ? -1 : it->second);
      }
    }
  }

  /// Those of an explicit mode, compiled when they are first asked for. Null: they are not kept.
  const ModelEquations* written_equations(std::size_t mode) const {
    if (written.empty()) return nullptr;
    const std::lock_guard lock(compiling_written);
    if (compiled_written.empty()) compiled_written.resize(written.size());
    auto& made = compiled_written[mode];
    if (made) return made.get();
    std::vector<std::vector<int>> surface_locks;
    for (const auto& guard : guards.guards()) surface_locks.push_back(guard.locks);
    made = std::make_unique<ModelEquations>(ModelEquations::Source{time, all_variables, derivatives, parameters, discretes,
                                                                   written[mode].equations, written[mode].locks,
                                                                   written[mode].lock_places, std::move(surface_locks)});
    return made.get();
  }

  void take_declarations(const ModelData& m, const Elimination& elimination) {
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
    if (stands_still) {  // systems have at least one variable; nobody sees this one
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
    divisor_count = elimination.divisors.size();
    if (divisor_count == 0) return;
    using Groups = std::vector<std::vector<Expr>>;
    divisors = Program(Groups{parameters}, Groups{elimination.divisors}, {.backend = Backend::interpreter});
  }

  /// initial() and terminal(), where the model uses them, are discrete variables that are true in some rounds only.
  int add_flag(const ModelData& m, const Expr& symbol, double start) {
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

  /// What a clause assigns is, in its own condition, the value before: `when time >= since + 3` may set `since`.
  static void own_targets_before(const ModelData& m, EventLogic::Setup& s) {
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
        if (std::any_of(read.begin(), read.end(), [&](const Expr& e) { return e.same(target); })) own.replace.emplace(target.id(), before(target).id());
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

  EventLogic::Setup event_setup(const ModelData& m, Rewrite& rewrite) const {
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
      (m.graph->symbol_of(pair.first.id()).kind == SymbolKind::variable ? s.pre_variables : s.pre_discretes).push_back(pair);
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

  void compile_systems(const ModelData& m, std::vector<std::vector<Expr>> equations,
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

  /// The places of those that occur.
  static std::vector<int> places(const std::vector<Expr>& all, const std::vector<Expr>& occurring) {
    std::unordered_set<NodeId> ids;
    for (const Expr& e : occurring) ids.insert(e.id());
    std::vector<int> result;
    for (std::size_t k = 0; k < all.size(); ++k)
      if (ids.contains(all[k].id())) result.push_back(static_cast<int>(k));
    return result;
  }

  /// Inputs, and the guards that say when they change.
  void take_inputs(const ModelData& m) {
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

  void find_time_switches() {
    std::vector<Expr> functions;
    for (std::size_t k = 0; k < guards.info().size(); ++k)
      if (guards.info()[k].time_only) functions.push_back(guards.guards()[k].function);
    in_time_guards.discretes = places(discretes, symbols_of(functions, SymbolKind::discrete));
    in_time_guards.locks = places(guards.locks(), locks_of(functions));
  }

  void find_switches(const RecordedSystem& system) {
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

  void compile_observation() {
    observe_program = Program(observe_inputs(), Groups{solutions}, options);
    observes_states = observed_discretes.empty() && solutions.empty();
  }

  // In the initial equations initial() holds and pre(q) is q.
  void compile_initial_equations(const ModelData& m, const Rewrite& continuous) {
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
        InitialEquations::Symbols{time, variables, derivatives, parameters, discretes, guards.locks()}, residuals, std::move(texts),
        options);
  }

  Groups observe_inputs() const { return {{time}, variables, derivatives, parameters, discretes, guards.locks()}; }

  void prepare_surface_modes(const ModelData& m, const EventLogic::Setup& discrete_part, Rewrite& continuous) {
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

  Mode initial_mode(const ModelValues& values) const {
    Mode mode;
    mode.automaton = static_cast<int>(start_mode);
    mode.discrete = values.discrete;
    for (const InputInfo& input : inputs)  // at rest at its start value
      mode.discrete[static_cast<std::size_t>(input.coefficients.front())] =
          (*values.observed)[static_cast<std::size_t>(input.variable)].start;
    mode.locks.assign(guards.locks().size(), 0.0);
    return mode;
  }
};

/// What one run works with. It serves one thread.
struct CompiledModel::State {
  const Code& code;
  const ModelValues& values;
  std::vector<std::unique_ptr<ModeSystems>> systems;  // by explicit mode, made when it is entered
  struct OnSurfaces {
    std::unique_ptr<ModeSystems> systems;  // null: there is no such mode
    RunnableProgram observe;
  };
  std::map<const SurfaceModes::Made*, OnSurfaces> on_surfaces;
  OnSurfaces* last_on_surfaces = nullptr;  // what was asked for last, and for which mode
  Mode last_mode;
  TimeGuards time_guards;
  RunnableProgram observe_program;
  std::vector<double> observed_values;
  std::vector<std::unique_ptr<InitialEquations>> initial_equations;  // by values of the modes that were asked for
  std::unique_ptr<EventLogic> logic;
  std::vector<std::unique_ptr<ModelEquations>> written;  // by explicit mode

  State(const Code& c, const ModelValues& v)
      : code(c),
        values(v),
        systems(c.systems.size()),
        time_guards(c.time_guards),
        observe_program(c.observe_program),
        observed_values(c.solutions.size()),
        logic(c.borrow_logic()) {
    logic->set_parameters(values.parameters);
  }
  ~State() { code.give_back(std::move(logic)); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[gnu::noinline]] ModeSystems& make_systems(std::size_t automaton) {
    systems[automaton] =
        std::make_unique<ModeSystems>(*code.systems[automaton], values.parameters, code.occurring[automaton]);
    return *systems[automaton];
  }
  ModeSystems& systems_of(const Mode& mode) {
    const auto automaton = static_cast<std::size_t>(mode.automaton);
    return systems[automaton] ? *systems[automaton] : make_systems(automaton);
  }

  OnSurfaces& surfaces_of(const Mode& mode) {
    if (last_on_surfaces && mode.contacts.empty() && last_mode.contacts.empty() &&
        mode.automaton == last_mode.automaton && mode.sliding == last_mode.sliding)
      return *last_on_surfaces;
    const SurfaceModes::Made* const all = code.surface_modes->among_all_slides(mode);
    const SurfaceModes::Made& made = all ? *all : code.surface_modes->get(mode);
    const auto [it, fresh] = on_surfaces.try_emplace(&made);
    if (fresh) {
      it->second.observe = RunnableProgram(made.observe);
      if (made.system)
        it->second.systems =
            std::make_unique<ModeSystems>(*made.system, values.parameters, made.values, made.slides);
    }
    last_on_surfaces = &it->second;
    last_mode = mode;
    return it->second;
  }

  InitialEquations* initial_conditions(const Mode& mode) {
    for (const auto& known : initial_equations)
      if (known->has_values_of(mode)) return known.get();
    initial_equations.push_back(std::make_unique<InitialEquations>(*code.initial_equations));
    initial_equations.back()->set_parameters(values.parameters);
    initial_equations.back()->set_mode(mode);
    return initial_equations.back().get();
  }

  /// In contact forces are added, and where explicit modes are the sides of a surface their fields are mixed: null.
  WrittenEquations* written_equations(const Mode& mode) {
    if (!mode.contacts.empty() || (!mode.sliding.empty() && code.mode_names.size() > 1)) return nullptr;
    const auto automaton = static_cast<std::size_t>(mode.automaton);
    if (written.empty()) written.resize(code.systems.size());
    if (!written[automaton]) {
      const ModelEquations* shared = code.written_equations(automaton);
      if (!shared) return nullptr;
      written[automaton] = std::make_unique<ModelEquations>(*shared);
      written[automaton]->set_parameters(values.parameters);
    }
    return written[automaton].get();
  }

  [[gnu::noinline]] void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
                                 std::span<double> result) {
    if (!observed_values.empty()) {
      OnSurfaces* const on = mode.on_surfaces() ? &surfaces_of(mode) : nullptr;
      const double* const data = on && on->systems ? on->systems->data_of(mode).data() : mode.discrete.data();
      const double* in[] = {&t, x.data(), xp.data(), values.parameters.data(), data, mode.locks.data()};
      double* const out[] = {observed_values.data()};
      (on ? on->observe : observe_program)(in, out);
    }
    std::size_t next = 0, place = 0;
    for (const int position : code.observed_position)
      result[place++] = position >= 0 ? x[position] : observed_values[next++];
    for (const int k : code.observed_discretes) result[place++] = mode.discrete[k];
  }
};

struct CompiledModel::Impl {
  std::shared_ptr<const Code> code;
  std::shared_ptr<const ModelValues> values;
  std::unique_ptr<State> state;      // made when it is needed
  std::vector<Act>* acts = nullptr;  // to which rounds are added

  [[gnu::noinline]] State& make() {
    state = std::make_unique<State>(*code, *values);
    return *state;
  }
  State& use() { return state ? *state : make(); }
};

std::shared_ptr<const CompiledModel::Code> CompiledModel::compile(const ModelData& model, const ProgramOptions& options) try {
  ModelData own = with_own_graph(model);
  set_homotopy(own, 1.0);
  add_derivative_variables(own);
  auto code = std::make_shared<Code>(own, options);
  code->eases = has_homotopy(model);
  if (code->depends_on_values() || code->eases) code->source = std::make_unique<const ModelData>(with_own_graph(model));
  return code;
} catch (const ModelError& error) {
  const std::string quoted = error.where().known() && model.quote ? model.quote(error.where()) : "";
  if (quoted.empty()) throw;
  // the text of the error begins with the place already
  throw ModelError(error.where(), std::string(error.what()).substr(to_string(error.where()).size() + 2) + "\n" + quoted);
}

CompiledModel::CompiledModel() : impl_(std::make_unique<Impl>()) {}
CompiledModel::CompiledModel(const Model& model, ProgramOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->code = compile(model.data(), options);
  impl_->values = impl_->code->values_then;
}
CompiledModel::CompiledModel(const CompiledModel& other) : impl_(std::make_unique<Impl>()) {
  impl_->code = other.impl_->code;
  impl_->values = other.impl_->values;
}

CompiledModel CompiledModel::with_values(const std::vector<std::pair<std::string, double>>& changes) const {
  const Code& code = *impl_->code;
  auto values = std::make_shared<ModelValues>(code.names.changed(*impl_->values, changes));
  CompiledModel result(*this);
  if (code.source && code.depends_on_values() && !code.same_code_for(*values)) {
    ModelData model = with_own_graph(*code.source);
    code.names.write(*values, model);
    result.impl_->code = compile(model, code.options);
    result.impl_->values = result.impl_->code->values_then;
    return result;
  }
  values->first_mode = code.first_mode(*values);
  result.impl_->values = std::move(values);
  return result;
}
CompiledModel::~CompiledModel() = default;

std::shared_ptr<HybridSystem> CompiledModel::eased(double share, std::span<const double> values) const {
  if (!impl_->code->eases) return nullptr;
  ModelData own = with_own_graph(*impl_->code->source);
  impl_->code->names.write(*impl_->values, own);
  for (std::size_t k = 0; k < std::min(values.size(), own.variables.size()); ++k) {
    if (own.variable_info[k].fixed) continue;
    own.variable_info[k].start = values[k];
    own.start_values.erase(own.variable_info[k].name);
  }
  set_homotopy(own, share);
  add_derivative_variables(own);
  auto result = std::make_shared<CompiledModel>(*this);
  result->impl_->code = std::make_shared<const Code>(own, impl_->code->options);
  result->impl_->values = result->impl_->code->values_then;
  return result;
}

std::unique_ptr<HybridSystem> CompiledModel::instance() const {
  return std::make_unique<CompiledModel>(*this);
}

const std::string& CompiledModel::name() const {
  return impl_->code->name;
}
const std::vector<VariableInfo>& CompiledModel::variables() const {
  return *impl_->values->kept;
}
bool CompiledModel::stands_still() const {
  return impl_->code->stands_still;
}
const std::vector<GuardInfo>& CompiledModel::guards() const {
  return impl_->code->guards.info();
}

const std::vector<InputInfo>& CompiledModel::inputs() const {
  return impl_->code->inputs;
}

Mode CompiledModel::initial_mode() const {
  return impl_->values->first_mode;
}

std::optional<double> CompiledModel::start_time() const {
  return impl_->code->start_time;
}

ExtraConditions* CompiledModel::initial_conditions(const Mode& mode) {
  return impl_->code->initial_equations ? impl_->use().initial_conditions(mode) : nullptr;
}

std::string CompiledModel::describe(const Mode& mode) const {
  const Code& m = *impl_->code;
  constexpr std::size_t most = 6;
  std::string text;
  std::size_t parts = 0;
  const auto add = [&](const auto& part) {  // only those that are shown are made
    if (++parts <= most) text += (parts > 1 ? ", " : "") + part();
  };
  if (!m.mode_names[mode.automaton].empty()) add([&] { return m.mode_names[mode.automaton]; });
  for (const int k : m.observed_discretes)
    add([&] {
      return m.discrete_data[k].name + " = " + value_text(*m.discrete_data[k].details, mode.discrete[k], 6);
    });
  for (std::size_t k = 0; k < m.guards.guards().size(); ++k) {
    const ModelGuards::Guard& guard = m.guards.guards()[k];
    if (m.guards.info()[k].time_only || guard.same_as >= 0 || side(mode, static_cast<int>(k)) == 0) continue;
    const double value = mode.locks[guard.locks.front()];
    // of two, the one that says more: x > 0 or x < 0
    const bool other =
        guard.kind == ModelGuards::Kind::relation && guard.locks.size() > 1 && guard.weak[0] == (value != 0.0);
    const Expr& lock = m.guards.written()[guard.locks[other ? 1 : 0]];
    if (guard.kind == ModelGuards::Kind::relation)
      add([&] {
        return m.guards.between(mode, static_cast<int>(k))
                   ? m.guards.surface_text(static_cast<int>(k))
                   : to_string(BoolExpr(value != 0.0 ? lock : m.negated[guard.locks[other ? 1 : 0]]), 40);
      });
    else if (guard.kind == ModelGuards::Kind::rounding_low)
      add([&] { return to_string(lock, 40) + " = " + number_text(value); });
  }
  for (const int k : mode.sliding) add([&] { return "sliding on " + m.surface_text(mode, k); });
  for (const int k : mode.contacts) add([&] { return "in contact with " + m.guards.surface_text(k); });
  if (parts > most) text += fmt::format(", … ({} more)", parts - most);
  return text;
}

[[gnu::hot]] System& CompiledModel::system(const Mode& mode) {
  State& s = impl_->use();
  if (!mode.on_surfaces()) return s.systems_of(mode).get(mode);
  State::OnSurfaces& on = s.surfaces_of(mode);
  if (!on.systems)
    throw UsageError(
        "CompiledModel::system: the solution cannot stay on these surfaces; ask can_stay_on_surfaces first");
  return on.systems->get(mode);
}

void CompiledModel::forget_systems(std::span<const System* const> kept) {
  State& s = impl_->use();
  for (const auto& systems : s.systems)
    if (systems) systems->forget(kept);
  for (auto& [key, on] : s.on_surfaces)
    if (on.systems) on.systems->forget(kept);
}

void CompiledModel::exit_guards(const Mode& mode, std::vector<int>& numbers) const {
  const SurfaceModes::Made* const all = impl_->code->surface_modes->among_all_slides(mode);
  if (!all) return HybridSystem::exit_guards(mode, numbers);
  numbers.clear();
  for (const int k : mode.sliding)
    numbers.push_back(static_cast<int>(guards().size()) + 2 * all->place_of[static_cast<std::size_t>(k)]);
}

bool CompiledModel::same_equations(const Mode& a, const Mode& b) const {
  if (a.automaton != b.automaton || a.on_surfaces() || b.on_surfaces()) return false;
  const Code::Switches& switches = impl_->code->switches[a.automaton];
  for (const int k : switches.discretes)
    if (a.discrete[k] != b.discrete[k]) return false;
  for (const int k : switches.locks)
    if (a.locks[k] != b.locks[k]) return false;
  return switches.dormant_locks.empty() || impl_->code->guards.same_where_it_matters(switches.dormant_locks, a, b);
}

bool CompiledModel::same_time_guards(const Mode& a, const Mode& b) const {
  const auto same = [](std::span<const int> places, const std::vector<double>& p, const std::vector<double>& q) {
    return std::all_of(places.begin(), places.end(), [&](int k) { return p[static_cast<std::size_t>(k)] == q[static_cast<std::size_t>(k)]; });
  };
  return same(impl_->code->in_time_guards.discretes, a.discrete, b.discrete) && same(impl_->code->in_time_guards.locks, a.locks, b.locks);
}

int CompiledModel::side(const Mode& mode, int guard) const {
  return impl_->code->guards.side(mode, guard);
}
void CompiledModel::positions(const Mode& mode, std::vector<Position>& positions) const {
  impl_->code->guards.positions(mode, positions);
}
[[gnu::hot]] void CompiledModel::set_side(Mode& mode, int guard, int side) const {
  impl_->code->guards.set_side(mode, guard, side);
}
std::vector<int> CompiledModel::dormant(const Mode& mode) const {
  return impl_->code->guards.dormant(mode);
}
bool CompiledModel::follow(Mode& mode, int guard, double value, int side) const {
  return impl_->code->guards.follow(mode, guard, value, side);
}
void CompiledModel::rest(Mode& mode, int guard) const {
  impl_->code->guards.rest(mode, guard);
}
bool CompiledModel::rests(const Mode& mode, int guard) const {
  return impl_->code->guards.rests(mode, guard);
}
bool CompiledModel::can_stay_on_surfaces(const Mode& mode) {
  return impl_->use().surfaces_of(mode).systems != nullptr;
}

double CompiledModel::next_time_event(const Mode& mode, double t, int direction, std::vector<int>& fired) {
  return impl_->use().time_guards.next(impl_->code->guards, impl_->values->parameters, mode, t, direction, fired);
}

[[gnu::hot]] bool CompiledModel::transition(const EventInput& input, Transition& transition) {
  EventLogic& logic = *impl_->use().logic;
  if (!impl_->acts) return logic.round(input, transition);
  return note_round(
      *impl_->acts, variables().size(), input, transition,
      [&](const EventInput& in, Transition& out) { return logic.round(in, out); }, [&] { return logic.last_round(); });
}
void CompiledModel::end_instant(const EventInput& input, Transition& transition) { impl_->use().logic->end_instant(input, transition); }
void CompiledModel::take_paired_side(Mode& mode) const {
  for (const Code::PairedSide& paired : impl_->code->paired_side[static_cast<std::size_t>(mode.automaton)]) {
    if (side(mode, paired.guard) != paired.side) continue;
    mode.automaton = paired.other;
    return;
  }
}

bool CompiledModel::same_decisions(const Mode& a, const Mode& b) const {
  if (a.automaton != b.automaton || a.conditions != b.conditions || a.sees != b.sees || a.locks != b.locks || a.sliding != b.sliding ||
      a.contacts != b.contacts || a.contact_sides != b.contact_sides)
    return false;
  return std::all_of(impl_->code->decisive.begin(), impl_->code->decisive.end(), [&](int k) { return a.discrete[k] == b.discrete[k]; });
}

bool CompiledModel::acts_alike(const Mode& a, const Mode& b) const {
  const Code& m = *impl_->code;
  if (!m.acts_by_mode || a.automaton != b.automaton || a.conditions != b.conditions || a.sliding != b.sliding ||
      a.contacts != b.contacts || a.contact_sides != b.contact_sides)
    return false;
  const auto same = [](std::span<const int> places, const std::vector<double>& values, const std::vector<double>& others) {
    return std::all_of(places.begin(), places.end(), [&](int k) { return values[k] == others[k]; });
  };
  return same(m.deciding_locks, a.locks, b.locks) && same(m.deciding_discretes, a.discrete, b.discrete);
}

void CompiledModel::identify(const Mode& mode, std::vector<double>& key) const {
  const Code& m = *impl_->code;
  key.push_back(mode.automaton);
  for (const auto* surfaces : {&mode.sliding, &mode.contacts, &mode.contact_sides}) {
    key.push_back(static_cast<double>(surfaces->size()));
    key.insert(key.end(), surfaces->begin(), surfaces->end());
  }
  key.insert(key.end(), mode.conditions.begin(), mode.conditions.end());
  const Code::Identity& identity = m.identity();
  for (const int k : identity.locks) key.push_back(mode.locks[k]);
  for (const int k : identity.discretes) key.push_back(mode.discrete[k]);
}

bool CompiledModel::derives_variables() const {
  return !impl_->code->solutions.empty();
}

const std::vector<VariableInfo>& CompiledModel::observed() const {
  return *impl_->values->observed;
}

[[gnu::hot]] void CompiledModel::observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
                            std::span<double> values) {
  const Code& m = *impl_->code;
  if (!m.observes_states) return impl_->use().observe(mode, t, x, xp, values);
  for (std::size_t k = 0; k < m.observed_position.size(); ++k) values[k] = x[k];
}

std::uint64_t CompiledModel::values_key() const {
  std::uint64_t key = 0x9e3779b97f4a7c15u;
  for (const double value : impl_->values->parameters) {
    key = (key ^ std::bit_cast<std::uint64_t>(value)) * 0xd6e8feb86659fd93u;
    key ^= key >> 32;
  }
  return key;
}

std::string_view CompiledModel::clause_name(int condition) const {
  return impl_->code->logic_setup.clauses[static_cast<std::size_t>(condition)].name;
}

std::shared_ptr<const FamilyParts> CompiledModel::parts(int degree) const {
  const std::shared_ptr<const Code>& code = impl_->code;
  if (!code->may_have_parts()) return nullptr;
  constexpr double key_of_parts = -3.0;
  const auto make = [&]() -> Attachments::Thing {
    const RecordedSystem& system = *code->systems.front();
    return std::make_shared<ModelParts::Shared>(
        PartSource{code->graph, code->time, code->variables, code->derivatives, system.right_hand_sides(),
                   code->parameters, *code->values_then->kept, code->discrete_data, code->solutions, code->logic_setup,
                   code->guards, degree, code->options});
  };
  auto shared = std::static_pointer_cast<const ModelParts::Shared>(
      code->attachments.get({key_of_parts, static_cast<double>(degree)}, make));
  if (!shared->structure.found()) return nullptr;
  return std::make_shared<ModelParts>(code, std::move(shared), impl_->values->parameters);
}

WrittenEquations* CompiledModel::written_equations(const Mode& mode) {
  return impl_->use().written_equations(mode);
}

std::vector<std::pair<std::string, double>> CompiledModel::parameters() const {
  std::vector<std::pair<std::string, double>> result;
  const ValueNames& names = impl_->code->names;
  for (std::size_t k = 0; k < names.parameter_count(); ++k)
    result.emplace_back(names.parameter_name(k), impl_->values->parameters[k]);
  return result;
}

std::vector<VariableInfo> CompiledModel::parameter_info() const {
  std::vector<VariableInfo> result;
  const ValueNames& names = impl_->code->names;
  for (std::size_t k = 0; k < names.parameter_count(); ++k)
    result.push_back({.name = names.parameter_name(k),
                      .start = impl_->values->parameters[k],
                      .fixed = true,
                      .details = names.parameter_details(k)});
  return result;
}

bool ModelAccess::same_code(const CompiledModel& a, const CompiledModel& b) { return a.impl_->code == b.impl_->code; }
const EventLogic::Setup& ModelAccess::logic(const CompiledModel& model) { return model.impl_->code->logic_setup; }
const ModelGuards& ModelAccess::guards(const CompiledModel& model) { return model.impl_->code->guards; }
std::shared_ptr<CompiledModel> ModelAccess::compiled(const ModelData& model, const ProgramOptions& options) {
  std::shared_ptr<CompiledModel> result(new CompiledModel());
  result->impl_->code = CompiledModel::compile(model, options);
  result->impl_->values = result->impl_->code->values_then;
  return result;
}
const ModelValues& ModelAccess::values(const CompiledModel& model) { return *model.impl_->values; }
const StartValues& ModelAccess::start_values(const CompiledModel& model) {
  return model.impl_->code->names.start_values();
}
const std::vector<int>& ModelAccess::places(const CompiledModel& model) {
  return model.impl_->code->observed_position;
}
const std::vector<int>& ModelAccess::observed_discretes(const CompiledModel& model) {
  return model.impl_->code->observed_discretes;
}
const std::vector<Expr>& ModelAccess::eliminated(const CompiledModel& model, const Mode& mode) {
  const CompiledModel::Code& code = *model.impl_->code;
  if (!mode.on_surfaces()) return code.solutions;
  const SurfaceModes::Made* const all = code.surface_modes->among_all_slides(mode);
  return (all ? *all : code.surface_modes->get(mode)).observed;
}
const std::vector<Expr>& ModelAccess::initial_residuals(const CompiledModel& model) {
  return model.impl_->code->initial_residuals;
}
void ModelAccess::note_acts(CompiledModel& model, std::vector<Act>* acts) {
  model.impl_->acts = acts;
}
ModelAccess::Attached ModelAccess::attached(const CompiledModel& model, const std::vector<double>& key,
                                            const std::function<Attached()>& make) {
  return model.impl_->code->attachments.get(key, make);
}
EventLogic::RoundRecord ModelAccess::last_round(CompiledModel& model) {
  return model.impl_->use().logic->last_round();
}

}  // namespace saltus
