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
#include <unordered_map>
#include <unordered_set>

#include "model/elimination.hpp"
#include "model/event_logic.hpp"
#include "model/guard_activity.hpp"
#include "model/initial_equations.hpp"
#include "model/start_values.hpp"
#include "model/surface_modes.hpp"
#include "model/validation.hpp"

namespace saltus {

namespace {

using Groups = std::vector<std::vector<Expr>>;

bool is_continuous(const Expr& g) {
  for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative})
    if (!symbols_of(std::span(&g, 1), kind).empty()) return true;
  return false;
}

bool depends_on_state(const Expr& g) {
  return !symbols_of(std::span(&g, 1), SymbolKind::variable).empty() ||
         !symbols_of(std::span(&g, 1), SymbolKind::derivative).empty();
}

/// Whether the values are the same, down to the sign of zero.
bool same_bits(const std::vector<double>& a, const double* b) {
  for (std::size_t k = 0; k < a.size(); ++k)
    if (std::bit_cast<std::uint64_t>(a[k]) != std::bit_cast<std::uint64_t>(b[k])) return false;
  return true;
}

}  // namespace

struct CompiledModel::Impl {
  enum class GuardKind { relation, rounding_low, rounding_high };
  struct Guard {
    GuardKind kind;
    Expr function;
    std::vector<int> locks;  // relations on this function, or the one rounding
    bool weak = false;       // some relation is >=
  };

  std::string name;
  ProgramOptions options;
  std::vector<Expr> all_variables, variables, derivatives, parameters, discretes, locks;
  std::vector<VariableInfo> info, observed_info;  // of the variables that are kept, and of what the user sees
  std::vector<std::string> parameter_names;
  std::vector<double> parameter_values;
  std::vector<ModelData::Discrete> discrete_data;
  bool stands_still = false;
  bool observes_states = false;  // and nothing else: observed values are the first of x
  std::vector<int> observed_position;  // of each model variable: index of the kept variable, or -1
  std::vector<Guard> guards;
  std::vector<GuardInfo> guard_info;
  struct Switches {
    std::vector<int> discretes, locks;
    std::vector<int> dormant_locks;  // locks that change no structure, of guards that do not always matter
  };
  std::vector<Switches> switches;  // by explicit mode: those that occur in its equations or in guards
  std::vector<GuardActivity> activity;  // by explicit mode
  std::vector<int> guard_of_lock;       // one of them; -1: none
  bool some_dormant = false;            // there are guards that matter in some modes only
  std::vector<int> dormant;             // workspace
  // By explicit mode and guard: the relation that gives the side; or
  static constexpr int rounding = -1;  // inside its interval
  static constexpr int varies = -2;    // whether the guard matters depends on the mode
  std::vector<std::vector<int>> side_lock;
  std::vector<std::string> mode_names;
  std::size_t start_mode = 0;
  /// A system, and the discrete values and locks that it has now.
  struct Current {
    RecordedSystem* system;
    const double *discrete, *locks;
  };
  std::vector<std::unique_ptr<RecordedSystem>> systems;  // by explicit mode
  std::vector<Current> current;                          // the same
  std::unique_ptr<EventLogic> logic;
  std::unique_ptr<InitialEquations> initial_equations;  // null: none
  Program observe_program, time_program;
  Workspace observe_work, time_work;
  std::vector<int> time_guards;
  std::vector<Expr> solutions;  // of the eliminated variables
  Expr time;

  std::unique_ptr<SurfaceModes> surface_modes;
  std::vector<double> data, observed_values, time_values;
  std::vector<Expr> pre_symbols;

  Impl(const Model& model, ProgramOptions opts) : options(opts) {
    const ModelData& m = model.data();
    name = m.name;
    time = m.time;
    const Elimination elimination = m.unbalanced ? Elimination::none(m) : eliminate_explicit(m);
    validate(m, elimination);
    take_declarations(m, elimination);
    Rewrite rewrite(*m.graph);
    for (const auto& [variable, solution] : elimination.replacements())
      rewrite.replace.emplace(variable.id(), solution.in(*m.graph));
    // between events pre(q) is q, and neither initial() nor terminal() holds
    Rewrite continuous = rewrite;
    for (const auto& [symbol, before] : m.pre_symbols) continuous.replace.emplace(before.id(), symbol.id());
    for (const Expr& phase : {m.initial_symbol, m.terminal_symbol})
      continuous.replace.emplace(phase.id(), m.graph->constant(0.0));
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
    find_locks(m, equations, setup);
    compile_systems(m, std::move(equations), std::move(equation_names));
    compile_observation();
    compile_time_guards(m);
    for (const auto& system : systems) find_switches(*system);
    compile_initial_equations(m, rewrite);
    set_surface_rules(m, continuous);
    prepare_surface_modes(m, setup, continuous);
    setup.locks = locks;
    for (std::size_t k = 0; k < locks.size(); ++k)
      if (!is_continuous(switching_function(locks[k]))) setup.discrete_locks.push_back(static_cast<int>(k));
    logic = std::make_unique<EventLogic>(std::move(setup), options);
  }

  static std::string describe_equation(const ModelData::NamedEquation& e) {
    std::string text = e.name.empty() ? to_string(e.equation, 70) : e.name;
    if (e.where.known()) text += " (" + to_string(e.where) + ")";
    return text;
  }

  void take_declarations(const ModelData& m, const Elimination& elimination) {
    all_variables = m.variables;
    observed_info = m.variable_info;
    discrete_data = m.discretes;
    evaluate_start_values(m, observed_info, discrete_data);
    for (std::size_t k = 0; k < m.variables.size(); ++k) {
      observed_position.push_back(elimination.eliminated[k] ? -1 : static_cast<int>(variables.size()));
      if (elimination.eliminated[k]) continue;
      variables.push_back(m.variables[k]);
      info.push_back(observed_info[k]);
      derivatives.push_back(der(m.variables[k]));
    }
    stands_still = variables.empty();
    if (stands_still) {  // systems have at least one variable; nobody sees this one
      variables.push_back(m.still);
      info.push_back({.name = m.still.name(), .fixed = true});
      derivatives.push_back(der(m.still));
    }
    for (const auto& q : discrete_data)
      if (!q.hidden) observed_info.push_back({.name = q.name, .start = q.start, .details = VariableDetails{.where = q.where}});
    info.shrink_to_fit();
    observed_info.shrink_to_fit();
    for (const auto& p : m.parameters) {
      parameters.push_back(p.symbol);
      parameter_values.push_back(p.value);
      parameter_names.push_back(p.name);
    }
    for (const auto& q : m.discretes) discretes.push_back(q.symbol);
    start_mode = m.start_mode;
    data.resize(parameters.size() + discretes.size());
    std::copy(parameter_values.begin(), parameter_values.end(), data.begin());
  }

  EventLogic::Setup event_setup(const ModelData& m, Rewrite& rewrite) const {
    EventLogic::Setup s;
    const auto apply = [&](const Expr& e) { return Expr(m.graph, rewrite(e.in(*m.graph))); };
    const auto apply_actions = [&](std::vector<ModelData::Action>& actions) {
      for (auto& a : actions) a.value = apply(a.value);
    };
    s.time = m.time;
    s.variables = variables;
    s.derivatives = derivatives;
    s.parameters = parameters;
    s.discretes = discretes;
    for (const auto& pair : m.pre_symbols)
      (m.graph->symbol_of(pair.first.id()).kind == SymbolKind::variable ? s.pre_variables : s.pre_discretes).push_back(pair);
    s.initial = m.initial_symbol;
    s.terminal = m.terminal_symbol;
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
    s.definitions = m.definitions;
    for (auto& d : s.definitions) d.value = apply(d.value);
    s.assertions = m.assertions;
    for (auto& a : s.assertions) a.condition = BoolExpr(apply(a.condition.expr()));
    for (const auto& mode : m.modes) s.mode_names.push_back(mode.name);
    s.parameter_values = parameter_values;
    return s;
  }

  // All locks of the model, the guards behind them, and in which modes they mean something.
  void find_locks(const ModelData& m, const std::vector<std::vector<Expr>>& equations, const EventLogic::Setup& setup) {
    std::vector<Expr> shared;
    for (const auto& c : setup.clauses) shared.push_back(c.condition.expr());
    for (const auto& d : setup.definitions) shared.push_back(d.value);
    for (const auto& a : setup.assertions) shared.push_back(a.condition.expr());
    // a relation makes events even if nothing but an output depends on it
    shared.insert(shared.end(), solutions.begin(), solutions.end());
    std::vector<std::vector<Expr>> by_mode(equations.size(), shared);
    for (std::size_t mode = 0; mode < equations.size(); ++mode) {
      by_mode[mode].insert(by_mode[mode].end(), equations[mode].begin(), equations[mode].end());
      if (!m.modes.empty())
        for (const std::size_t t : m.modes[mode].transitions) by_mode[mode].push_back(setup.transitions[t].condition.expr());
    }
    std::vector<Expr> everything;
    for (const auto& list : by_mode) everything.insert(everything.end(), list.begin(), list.end());
    locks = locks_of(everything);

    std::unordered_map<NodeId, int> guard_of_function;
    std::vector<std::vector<int>> guards_of_lock(locks.size());
    for (std::size_t k = 0; k < locks.size(); ++k) {
      const Expr g = switching_function(locks[k]);
      if (!is_continuous(g)) continue;
      const Op op = m.graph->node(locks[k].id()).op;
      if (op == Op::floor) {
        for (const GuardKind kind : {GuardKind::rounding_low, GuardKind::rounding_high}) {
          guards_of_lock[k].push_back(static_cast<int>(guards.size()));
          const bool low = kind == GuardKind::rounding_low;
          guards.push_back({kind, low ? g - locks[k] : locks[k] + 1.0 - g, {static_cast<int>(k)}, true});
          guard_info.push_back({to_string(g) + (low ? " falls below an integer" : " reaches an integer"), {}, false});
        }
        continue;
      }
      const auto [it, fresh] = guard_of_function.emplace(g.id(), static_cast<int>(guards.size()));
      if (fresh) {
        guards.push_back({GuardKind::relation, g, {}, false});
        const auto named = std::find_if(m.guard_names.begin(), m.guard_names.end(),
                                        [&](const auto& given) { return given.first.same(locks[k]); });
        guard_info.push_back({named != m.guard_names.end() ? named->second : to_string(BoolExpr(locks[k])), {}, false});
      }
      guards[it->second].locks.push_back(static_cast<int>(k));
      guards[it->second].weak = guards[it->second].weak || op == Op::nonnegative;
      guards_of_lock[k].push_back(it->second);
    }
    for (const auto& list : guards_of_lock) guard_of_lock.push_back(list.empty() ? -1 : list.front());
    std::unordered_map<NodeId, int> lock_index;
    for (std::size_t k = 0; k < locks.size(); ++k) lock_index[locks[k].id()] = static_cast<int>(k);
    std::vector<std::vector<int>> guard_locks;
    for (const Guard& g : guards) guard_locks.push_back(g.locks);
    for (const auto& roots : by_mode) activity.emplace_back(GuardActivity::Setup{roots, locks, discretes, setup.pre_discretes, guard_locks});
    tabulate_sides();
    locate_guards(setup, m, guards_of_lock, lock_index);
  }

  void tabulate_sides() {
    for (const GuardActivity& which : activity) {
      some_dormant = some_dormant || !which.changing().empty();
      std::vector<int>& table = side_lock.emplace_back();
      for (std::size_t k = 0; k < guards.size(); ++k) {
        const int lock = guards[k].kind == GuardKind::relation ? guards[k].locks.front() : rounding;
        table.push_back(which.always(static_cast<int>(k)) ? lock : varies);
      }
    }
  }

  int side(const Mode& mode, int guard) const {
    const int lock = side_lock[mode.automaton][guard];
    if (lock == varies || mode.on_surfaces()) return varying_side(mode, guard);
    return lock == rounding || mode.locks[lock] != 0.0 ? +1 : -1;
  }

  [[gnu::noinline]] int varying_side(const Mode& mode, int guard) const {
    if (!activity[mode.automaton].active(guard, mode)) return 0;
    for (const auto* surfaces : {&mode.sliding, &mode.contacts})
      if (std::binary_search(surfaces->begin(), surfaces->end(), guard)) return 0;
    const Guard& g = guards[guard];
    return g.kind != GuardKind::relation || mode.locks[g.locks.front()] != 0.0 ? +1 : -1;
  }

  [[gnu::noinline]] std::span<const int> find_dormant(const Mode& mode) {
    dormant.clear();
    const GuardActivity& which = activity[mode.automaton];
    for (const int k : which.changing()) {
      const auto on = [k](const std::vector<int>& surfaces) { return std::binary_search(surfaces.begin(), surfaces.end(), k); };
      if (!which.active(k, mode) && !on(mode.sliding) && !on(mode.contacts)) dormant.push_back(k);
    }
    return dormant;
  }

  /// Guards take the source line of the first clause, transition or equation in which they occur.
  void locate_guards(const EventLogic::Setup& setup, const ModelData& m, const std::vector<std::vector<int>>& guards_of_lock,
                     const std::unordered_map<NodeId, int>& lock_index) {
    const auto locate = [&](const Expr& e, const SourceLocation& where) {
      if (!where.known()) return;
      for (const Expr& lock : locks_of(std::span(&e, 1)))
        if (const auto it = lock_index.find(lock.id()); it != lock_index.end())
          for (const int g : guards_of_lock[it->second])
            if (!guard_info[g].where.known()) guard_info[g].where = where;
    };
    for (const auto& c : setup.clauses) locate(c.condition.expr(), c.where);
    for (const auto& c : setup.clauses)
      if (c.touches)
        for (const Expr& lock : locks_of(std::span(&c.condition.expr(), 1)))
          for (const int g : guards_of_lock[lock_index.at(lock.id())]) guard_info[g].record_touch = true;
    for (const auto& t : setup.transitions) locate(t.condition.expr(), t.where);
    for (const auto& e : m.equations) locate(e.equation.residual(), e.where);
    for (const auto& mode : m.modes)
      for (const auto& e : mode.equations) locate(e.equation.residual(), e.where);
  }

  void compile_systems(const ModelData& m, std::vector<std::vector<Expr>> equations,
                       std::vector<std::vector<std::string>> names) {
    std::vector<Expr> data_symbols = parameters, functions;
    data_symbols.insert(data_symbols.end(), discretes.begin(), discretes.end());
    std::vector<double> nominal;
    for (const auto& v : info) nominal.push_back(v.nominal);
    for (const auto& g : guards) functions.push_back(g.function);
    const Mode first = initial_mode();
    std::copy(first.discrete.begin(), first.discrete.end(), data.begin() + static_cast<std::ptrdiff_t>(parameters.size()));
    for (std::size_t mode = 0; mode < equations.size(); ++mode)
      systems.push_back(std::make_unique<RecordedSystem>(
          RecordedEquations{m.time, variables, std::move(equations[mode]), data_symbols, locks, functions,
                            std::move(names[mode]), nominal},
          data, first.locks, options));
    for (const auto& system : systems) current.push_back(current_values(*system));
  }

  Current current_values(RecordedSystem& system) const {
    return {&system, system.data().data() + parameters.size(), system.locks().data()};
  }

  void set_discrete(RecordedSystem& system, const Mode& mode) {
    std::copy(mode.discrete.begin(), mode.discrete.end(), data.begin() + static_cast<std::ptrdiff_t>(parameters.size()));
    system.set_data(data);
  }

  void find_switches(const RecordedSystem& system) {
    std::vector<Expr> expressions = system.equations().equations;
    for (std::size_t k = 0; k < guards.size(); ++k)  // when time events come is asked for after each event anyway
      if (!guard_info[k].time_only) expressions.push_back(system.equations().guards[k]);
    const auto places = [](const std::vector<Expr>& all, const std::vector<Expr>& occurring) {
      std::unordered_set<NodeId> ids;
      for (const Expr& e : occurring) ids.insert(e.id());
      std::vector<int> result;
      for (std::size_t k = 0; k < all.size(); ++k)
        if (ids.contains(all[k].id())) result.push_back(static_cast<int>(k));
      return result;
    };
    Switches& found = switches.emplace_back();
    found.discretes = places(discretes, symbols_of(expressions, SymbolKind::discrete));
    const std::vector<int>& structural = system.structural_locks();
    for (const int k : places(locks, locks_of(expressions))) {
      const bool always = guard_of_lock[k] < 0 || std::binary_search(structural.begin(), structural.end(), k) ||
                          activity[switches.size() - 1].always(guard_of_lock[k]);
      (always ? found.locks : found.dormant_locks).push_back(k);
    }
  }

  void compile_observation() {
    observe_program = Program(observe_inputs(), Groups{solutions}, options);
    observe_work = observe_program.workspace();
    observed_values.resize(solutions.size());
    observes_states = observed_info.size() == observed_position.size() && solutions.empty();
  }

  // In the initial equations initial() holds and pre(q) is q.
  void compile_initial_equations(const ModelData& m, Rewrite& rewrite) {
    if (m.initial_equations.empty()) return;
    Rewrite at_start = rewrite;
    for (const auto& [symbol, before] : m.pre_symbols) at_start.replace.emplace(before.id(), symbol.id());
    if (m.initial_symbol.is_symbol()) at_start.replace.emplace(m.initial_symbol.id(), m.graph->constant(1.0));
    if (m.terminal_symbol.is_symbol()) at_start.replace.emplace(m.terminal_symbol.id(), m.graph->constant(0.0));
    std::vector<Expr> residuals;
    std::vector<std::string> names;
    for (const auto& e : m.initial_equations) {
      residuals.emplace_back(m.graph, at_start(e.equation.residual().in(*m.graph)));
      names.push_back(describe_equation(e));
    }
    initial_equations = std::make_unique<InitialEquations>(
        InitialEquations::Symbols{time, variables, derivatives, parameters, discretes, locks}, residuals, std::move(names),
        parameter_values, options);
  }

  // Guards a(data) t + b(data) are known in advance.
  void compile_time_guards(const ModelData& m) {
    std::vector<Expr> at_zero, slopes;
    std::vector<std::pair<Expr, Expr>> zero{{m.time, Expr(0.0)}};
    for (const Expr& lock : locks) zero.emplace_back(lock, lock);  // locks stay as they are
    for (std::size_t k = 0; k < guards.size(); ++k) {
      const Expr& g = guards[k].function;
      if (depends_on_state(g)) continue;
      const Expr slope = derivative(g, m.time);
      if (!symbols_of(std::span(&slope, 1), SymbolKind::time).empty()) continue;
      guard_info[k].time_only = true;
      time_guards.push_back(static_cast<int>(k));
      at_zero.push_back(substitute(std::span(&g, 1), zero).front());
      slopes.push_back(slope);
    }
    std::vector<Expr> outputs = at_zero;
    outputs.insert(outputs.end(), slopes.begin(), slopes.end());
    time_program = Program(Groups{parameters, discretes, locks}, Groups{outputs}, options);
    time_work = time_program.workspace();
    time_values.resize(outputs.size());
  }

  Groups observe_inputs() const { return {{time}, variables, derivatives, parameters, discretes, locks}; }

  void set_surface_rules(const ModelData& m, Rewrite& continuous) {
    for (const auto& surface : m.surfaces) {
      const Expr relation(m.graph, continuous(surface.relation.expr().in(*m.graph)));
      bool found = false;
      for (const Expr& lock : locks_of(std::span(&relation, 1)))
        for (std::size_t k = 0; k < guards.size(); ++k)
          if (guards[k].function.same(switching_function(lock))) {
            guard_info[k].rule = surface.rule;
            found = true;
          }
      if (!found)
        throw ModelError(surface.where, "no equation or condition depends on the surface of '" + to_string(surface.relation) + "'");
    }
  }

  void prepare_surface_modes(const ModelData& m, const EventLogic::Setup& logic_setup, Rewrite& continuous) {
    SurfaceModes::Setup s;
    const auto apply = [&](const Expr& e) { return Expr(m.graph, continuous(e.in(*m.graph))); };
    for (const Guard& g : guards) s.surfaces.push_back({g.function, g.locks, g.kind == GuardKind::relation});
    s.locks = locks;
    for (const auto& system : systems) s.systems.push_back(system.get());
    s.clauses = logic_setup.clauses;
    s.transitions = logic_setup.transitions;
    s.definitions = logic_setup.definitions;
    for (auto& c : s.clauses) {
      c.condition = BoolExpr(apply(c.condition.expr()));
      for (auto& a : c.actions) a.value = apply(a.value);
    }
    for (auto& t : s.transitions) {
      t.condition = BoolExpr(apply(t.condition.expr()));
      for (auto& a : t.actions) a.value = apply(a.value);
    }
    for (auto& d : s.definitions) d.value = apply(d.value);
    s.observed = solutions;
    s.parameters = parameters;
    s.discretes = discretes;
    s.data = data;
    s.start_locks.assign(locks.size(), 0.0);
    s.stabilisation = m.stabilisation;
    s.options = options;
    surface_modes = std::make_unique<SurfaceModes>(std::move(s));
  }

  /// Whether those of the locks are the same that play a part in one of two modes.
  bool same_where_it_matters(const std::vector<int>& some_locks, const Mode& a, const Mode& b) const {
    const GuardActivity& which = activity[a.automaton];
    return std::all_of(some_locks.begin(), some_locks.end(), [&](int k) {
      return a.locks[k] == b.locks[k] || (!which.active(guard_of_lock[k], a) && !which.active(guard_of_lock[k], b));
    });
  }

  Mode initial_mode() const {
    Mode mode;
    mode.automaton = static_cast<int>(start_mode);
    for (const auto& q : discrete_data) mode.discrete.push_back(q.start);
    mode.locks.assign(locks.size(), 0.0);
    return mode;
  }
};

CompiledModel::CompiledModel(const Model& model, ProgramOptions options) try
    : impl_(std::make_unique<Impl>(model, options)) {
} catch (const ModelError& error) {
  const std::string quoted = error.where().known() && model.data().quote ? model.data().quote(error.where()) : "";
  if (quoted.empty()) throw;
  // the text of the error begins with the place already
  throw ModelError(error.where(), std::string(error.what()).substr(to_string(error.where()).size() + 2) + "\n" + quoted);
}
CompiledModel::~CompiledModel() = default;

const std::string& CompiledModel::name() const { return impl_->name; }
const std::vector<VariableInfo>& CompiledModel::variables() const { return impl_->info; }
bool CompiledModel::stands_still() const { return impl_->stands_still; }
const std::vector<GuardInfo>& CompiledModel::guards() const { return impl_->guard_info; }

Mode CompiledModel::initial_mode() const {
  Mode mode = impl_->initial_mode();
  mode.conditions.assign(impl_->logic->clause_count(), 0.0);
  return mode;
}

ExtraConditions* CompiledModel::initial_conditions(const Mode& mode) {
  if (impl_->initial_equations) impl_->initial_equations->set_mode(mode);
  return impl_->initial_equations.get();
}

std::string CompiledModel::describe(const Mode& mode) const {
  const Impl& m = *impl_;
  std::vector<std::string> parts;
  if (!m.mode_names[mode.automaton].empty()) parts.push_back(m.mode_names[mode.automaton]);
  for (std::size_t k = 0; k < m.discrete_data.size(); ++k)
    if (!m.discrete_data[k].hidden) parts.push_back(m.discrete_data[k].name + " = " + number_text(mode.discrete[k]));
  for (std::size_t k = 0; k < m.guards.size(); ++k) {
    if (m.guard_info[k].time_only || side(mode, static_cast<int>(k)) == 0) continue;
    const int lock = m.guards[k].locks.front();
    if (m.guards[k].kind == Impl::GuardKind::relation)
      parts.push_back(to_string(mode.locks[lock] != 0.0 ? BoolExpr(m.locks[lock]) : !BoolExpr(m.locks[lock]), 40));
    else if (m.guards[k].kind == Impl::GuardKind::rounding_low)
      parts.push_back(to_string(m.locks[lock], 40) + " = " + number_text(mode.locks[lock]));
  }
  for (const int k : mode.sliding) parts.push_back("sliding on " + to_string(m.guards[k].function, 40) + " = 0");
  for (const int k : mode.contacts) parts.push_back("in contact with " + to_string(m.guards[k].function, 40) + " = 0");
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t k = 0; k < std::min(parts.size(), most); ++k) text += (k ? ", " : "") + parts[k];
  if (parts.size() > most) text += fmt::format(", … ({} more)", parts.size() - most);
  return text;
}

System& CompiledModel::system(const Mode& mode) {
  Impl& m = *impl_;
  const Impl::Current now = mode.on_surfaces() ? m.current_values(*m.surface_modes->get(mode).system) : m.current[mode.automaton];
  if (!same_bits(mode.discrete, now.discrete)) m.set_discrete(*now.system, mode);
  if (!same_bits(mode.locks, now.locks)) now.system->set_locks(mode.locks);
  return *now.system;
}

bool CompiledModel::same_equations(const Mode& a, const Mode& b) const {
  if (a.automaton != b.automaton || a.on_surfaces() || b.on_surfaces()) return false;
  const Impl::Switches& switches = impl_->switches[a.automaton];
  for (const int k : switches.discretes)
    if (a.discrete[k] != b.discrete[k]) return false;
  for (const int k : switches.locks)
    if (a.locks[k] != b.locks[k]) return false;
  return switches.dormant_locks.empty() || impl_->same_where_it_matters(switches.dormant_locks, a, b);
}

int CompiledModel::side(const Mode& mode, int guard) const { return impl_->side(mode, guard); }

void CompiledModel::set_side(Mode& mode, int guard, int side) const {
  const Impl::Guard& g = impl_->guards[guard];
  if (g.kind == Impl::GuardKind::relation) {
    for (const int lock : g.locks) mode.locks[lock] = side > 0 ? 1.0 : 0.0;
  } else if (side < 0) {
    mode.locks[g.locks.front()] += g.kind == Impl::GuardKind::rounding_low ? -1.0 : +1.0;
  }
}

std::span<const int> CompiledModel::dormant(const Mode& mode) const {
  return impl_->some_dormant ? impl_->find_dormant(mode) : std::span<const int>{};
}

bool CompiledModel::follow(Mode& mode, int guard, double value, int side) const {
  const Impl::Guard& g = impl_->guards[guard];
  double& lock = mode.locks[g.locks.front()];
  const double before = lock;
  if (g.kind == Impl::GuardKind::relation)
    set_side(mode, guard, side);
  else if (g.kind == Impl::GuardKind::rounding_low && std::isfinite(value))
    lock += std::floor(value);  // both ends belong to the same lock
  return lock != before;
}

int CompiledModel::resting_side(const Mode&, int guard) const {
  const Impl::Guard& g = impl_->guards[guard];
  // x = k exactly belongs to the integer k: the lower end is inside, the upper end is not
  if (g.kind == Impl::GuardKind::rounding_high) return -1;
  return g.weak ? +1 : -1;
}

bool CompiledModel::can_stay_on_surfaces(const Mode& mode) { return impl_->surface_modes->get(mode).system != nullptr; }

double CompiledModel::next_time_event(const Mode& mode, double t, int direction, std::vector<int>& fired) {
  Impl& m = *impl_;
  double next = direction > 0 ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  if (m.time_guards.empty()) return next;
  const double* in[] = {m.parameter_values.data(), mode.discrete.data(), mode.locks.data()};
  double* const out[] = {m.time_values.data()};
  m.time_program(in, out, m.time_work);
  const std::size_t count = m.time_guards.size();
  for (std::size_t k = 0; k < count; ++k) {
    const int s = m.side(mode, m.time_guards[k]);
    const double slope = m.time_values[count + k];
    // only a guard that moves towards zero from its side can leave it
    if (s == 0 || slope == 0.0 || slope * direction * s > 0.0) continue;
    const double when = -m.time_values[k] / slope;
    if (!(direction > 0 ? when > t : when < t)) continue;
    if (when != next && (direction > 0 ? when > next : when < next)) continue;
    if (when != next) fired.clear();
    next = when;
    fired.push_back(m.time_guards[k]);
  }
  return next;
}

bool CompiledModel::transition(const EventInput& input, Transition& transition) { return impl_->logic->run(input, transition); }

const std::vector<VariableInfo>& CompiledModel::observed() const {
  return impl_->observed_info;
}

void CompiledModel::observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
                            std::span<double> values) {
  Impl& m = *impl_;
  if (m.observes_states) {
    for (std::size_t k = 0; k < m.observed_position.size(); ++k) values[k] = x[k];
    return;
  }
  if (!m.observed_values.empty()) {
    const double* in[] = {&t, x.data(), xp.data(), m.parameter_values.data(), mode.discrete.data(), mode.locks.data()};
    double* const out[] = {m.observed_values.data()};
    if (mode.on_surfaces()) {
      SurfaceModes::Made& s = m.surface_modes->get(mode);
      s.observe_program(in, out, s.observe_work);
    } else {
      m.observe_program(in, out, m.observe_work);
    }
  }
  std::size_t next = 0, place = 0;
  for (const int position : m.observed_position)
    values[place++] = position >= 0 ? x[position] : m.observed_values[next++];
  for (std::size_t k = 0; k < m.discrete_data.size(); ++k)
    if (!m.discrete_data[k].hidden) values[place++] = mode.discrete[k];
}

std::vector<std::pair<std::string, double>> CompiledModel::parameters() const {
  std::vector<std::pair<std::string, double>> result;
  for (std::size_t k = 0; k < impl_->parameter_names.size(); ++k)
    result.emplace_back(impl_->parameter_names[k], impl_->parameter_values[k]);
  return result;
}

}  // namespace saltus
