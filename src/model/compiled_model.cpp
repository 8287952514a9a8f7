#include <fmt/format.h>
#include <saltus/expr/print.hpp>
#include <saltus/model/compiled_model.hpp>

#include <algorithm>
#include <cstdint>
#include <map>

#include "model/acts.hpp"
#include "model/derivative_variables.hpp"
#include "model/homotopy_share.hpp"
#include "model/mode_text.hpp"
#include "model/model_access.hpp"
#include "model/model_code.hpp"
#include "model/model_parts.hpp"
#include "model/runnable_program.hpp"
#include "model/state_constraints.hpp"
#include "model/values_key.hpp"

namespace saltus {

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
    if (automaton >= systems.size())  // in a state that comes from elsewhere
      throw UsageError(fmt::format("there is no mode {}; the model has {}", mode.automaton, systems.size()));
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
        it->second.systems = std::make_unique<ModeSystems>(*made.system, values.parameters, made.values, made.slides);
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

  WrittenEquations* written_equations(const Mode& mode) {
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

std::shared_ptr<const CompiledModel::Code> CompiledModel::compile(const ModelData& model,
                                                                  const ProgramOptions& options) try {
  ModelData own = with_own_graph(model);
  set_homotopy(own, 1.0);
  add_derivative_variables(own);
  const StateConstraints constraints = solve_state_constraints(own);
  auto code = std::make_shared<Code>(own, constraints, options);
  code->eases = has_homotopy(model);
  if (code->depends_on_values() || code->eases) code->source = std::make_unique<const ModelData>(with_own_graph(model));
  return code;
} catch (const ModelError& error) {
  const std::string quoted = error.where().known() && model.quote ? model.quote(error.where()) : "";
  if (quoted.empty()) throw;
  // the text of the error begins with the place already
  throw ModelError(error.where(),
                   std::string(error.what()).substr(to_string(error.where()).size() + 2) + "\n" + quoted);
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
  const StateConstraints constraints = solve_state_constraints(own);
  auto result = std::make_shared<CompiledModel>(*this);
  result->impl_->code = std::make_shared<const Code>(own, constraints, impl_->code->options);
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
  const auto guards = static_cast<int>(m.guards.guards().size());
  ModeText text(m.observed_discretes.size() + m.guards.guards().size());
  if (!m.mode_names[mode.automaton].empty()) text.add([&] { return m.mode_names[mode.automaton]; });
  for (std::size_t j = 0; j < m.observed_discretes.size() && !text.full(); ++j) {
    const int k = m.observed_discretes[j];
    text.add(
        [&] { return m.discrete_data[k].name + " = " + value_text(*m.discrete_data[k].details, mode.discrete[k], 6); });
  }
  for (int k = 0; k < guards && !text.full(); ++k)
    if (ModelAccess::shows_guard(*this, mode, k)) text.add([&] { return ModelAccess::guard_text(*this, mode, k); });
  for (const int k : mode.sliding) text.add([&] { return "sliding on " + m.surface_text(mode, k); });
  for (const int k : mode.contacts) text.add([&] { return "in contact with " + m.guards.surface_text(k); });
  return text.text();
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
    return std::all_of(places.begin(), places.end(),
                       [&](int k) { return p[static_cast<std::size_t>(k)] == q[static_cast<std::size_t>(k)]; });
  };
  return same(impl_->code->in_time_guards.discretes, a.discrete, b.discrete) &&
         same(impl_->code->in_time_guards.locks, a.locks, b.locks);
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
void CompiledModel::end_instant(const EventInput& input, Transition& transition) {
  const Code::Switches& switches = impl_->code->switches[static_cast<std::size_t>(transition.mode.automaton)];
  impl_->use().logic->end_instant(input, switches.discretes, transition);
}
void CompiledModel::take_paired_side(Mode& mode) const {
  for (const Code::PairedSide& paired : impl_->code->paired_side[static_cast<std::size_t>(mode.automaton)]) {
    if (side(mode, paired.guard) != paired.side) continue;
    mode.automaton = paired.other;
    return;
  }
}

bool CompiledModel::same_decisions(const Mode& a, const Mode& b) const {
  if (a.automaton != b.automaton || a.conditions != b.conditions || a.sees != b.sees || a.locks != b.locks ||
      a.sliding != b.sliding || a.contacts != b.contacts || a.contact_sides != b.contact_sides)
    return false;
  return std::all_of(impl_->code->decisive.begin(), impl_->code->decisive.end(),
                     [&](int k) { return a.discrete[k] == b.discrete[k]; });
}

bool CompiledModel::acts_alike(const Mode& a, const Mode& b) const {
  const Code& m = *impl_->code;
  if (!m.acts_by_mode || a.automaton != b.automaton || a.conditions != b.conditions || a.sliding != b.sliding ||
      a.contacts != b.contacts || a.contact_sides != b.contact_sides)
    return false;
  const auto same = [](std::span<const int> places, const std::vector<double>& values,
                       const std::vector<double>& others) {
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

[[gnu::hot]] void CompiledModel::observe(const Mode& mode, double t, std::span<const double> x,
                                         std::span<const double> xp, std::span<double> values) {
  const Code& m = *impl_->code;
  if (!m.observes_states) return impl_->use().observe(mode, t, x, xp, values);
  for (std::size_t k = 0; k < m.observed_position.size(); ++k) values[k] = x[k];
}

std::uint64_t CompiledModel::values_key() const {
  return saltus::values_key(impl_->values->parameters);
}

std::string_view CompiledModel::clause_name(int condition) const {
  return impl_->code->logic_setup.clauses[static_cast<std::size_t>(condition)].name;
}

std::shared_ptr<const FamilyParts> CompiledModel::parts(int degree) const {
  const std::shared_ptr<const Code>& code = impl_->code;
  if (!code->may_have_parts()) return nullptr;
  constexpr double key_of_parts = -3.0;
  const auto make = [&]() -> Attachments::Thing {
    return std::make_shared<ModelParts::Shared>(ModelAccess::part_source(*this, degree));
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

std::string CompiledModel::watched_text(int guard) const {
  return impl_->code->guards.watched_text(guard);
}

bool ModelAccess::shows_guard(const CompiledModel& model, const Mode& mode, int k) {
  const ModelGuards& guards = model.impl_->code->guards;
  const ModelGuards::Guard& guard = guards.guards()[static_cast<std::size_t>(k)];
  return !guards.info()[static_cast<std::size_t>(k)].time_only && guard.same_as < 0 && guards.side(mode, k) != 0 &&
         guard.kind != ModelGuards::Kind::rounding_high;
}
std::string ModelAccess::guard_text(const CompiledModel& model, const Mode& mode, int k) {
  const CompiledModel::Code& code = *model.impl_->code;
  const ModelGuards::Guard& guard = code.guards.guards()[static_cast<std::size_t>(k)];
  const bool relation = guard.kind == ModelGuards::Kind::relation;
  const double value = mode.locks[static_cast<std::size_t>(guard.locks.front())];
  // of two, the one that says more: x > 0 or x < 0
  const bool other = relation && guard.locks.size() > 1 && guard.weak[0] == (value != 0.0);
  const auto place = static_cast<std::size_t>(guard.locks[other ? 1 : 0]);
  const Expr& lock = code.guards.written()[place];
  if (!relation) return to_string(lock, 40) + " = " + number_text(value);
  if (code.guards.between(mode, k)) return code.guards.surface_text(k);
  return to_string(BoolExpr(value != 0.0 ? lock : code.negated[place]), 40);
}
std::vector<std::string> ModelAccess::guard_reads(const CompiledModel& model, int guard) {
  const ModelGuards& guards = model.impl_->code->guards;
  const Expr written = guards.written_function(guards.guards()[static_cast<std::size_t>(guard)].locks.front());
  std::vector<std::string> names;
  if (written.is_constant()) return names;
  for (const SymbolKind kind :
       {SymbolKind::variable, SymbolKind::derivative, SymbolKind::discrete, SymbolKind::parameter, SymbolKind::time})
    for (const Expr& symbol : symbols_of(std::span(&written, 1), kind)) names.push_back(symbol.name());
  return names;
}
Mode ModelAccess::first_mode(const CompiledModel& model, std::vector<double> discretes) {
  ModelValues values = *model.impl_->values;
  values.discrete = std::move(discretes);
  return model.impl_->code->first_mode(values);
}
std::string ModelAccess::surface_text(const CompiledModel& model, const Mode& mode, int guard) {
  return model.impl_->code->surface_text(mode, guard);
}
std::size_t ModelAccess::exit_guard_count(const CompiledModel& model, const Mode& mode) {
  const SurfaceModes::Made* const all = model.impl_->code->surface_modes->among_all_slides(mode);
  return all ? 2 * all->slides.size() : 2 * mode.sliding.size() + mode.contacts.size();
}
PartSource ModelAccess::part_source(const CompiledModel& model, int degree) {
  const CompiledModel::Code& code = *model.impl_->code;
  return {code.graph,
          code.time,
          code.variables,
          code.derivatives,
          code.systems.front()->right_hand_sides(),
          code.parameters,
          *code.values_then->kept,
          code.discrete_data,
          code.solutions,
          code.logic_setup,
          code.guards,
          degree,
          code.options};
}
bool ModelAccess::same_code(const CompiledModel& a, const CompiledModel& b) {
  return a.impl_->code == b.impl_->code;
}
const EventLogic::Setup& ModelAccess::logic(const CompiledModel& model) {
  return model.impl_->code->logic_setup;
}
const ModelGuards& ModelAccess::guards(const CompiledModel& model) {
  return model.impl_->code->guards;
}
const RecordedSystem& ModelAccess::system(const CompiledModel& model) {
  return *model.impl_->code->systems.front();
}
std::shared_ptr<CompiledModel> ModelAccess::compiled(const ModelData& model, const ProgramOptions& options) {
  std::shared_ptr<CompiledModel> result(new CompiledModel());
  result->impl_->code = CompiledModel::compile(model, options);
  result->impl_->values = result->impl_->code->values_then;
  return result;
}
const ModelValues& ModelAccess::values(const CompiledModel& model) {
  return *model.impl_->values;
}
const StartValues& ModelAccess::start_values(const CompiledModel& model) {
  return model.impl_->code->names.start_values();
}
const std::vector<int>& ModelAccess::places(const CompiledModel& model) {
  return model.impl_->code->observed_position;
}
const std::vector<int>& ModelAccess::observed_discretes(const CompiledModel& model) {
  return model.impl_->code->observed_discretes;
}
const std::vector<char>& ModelAccess::leave_out(const CompiledModel& model) {
  return model.impl_->code->leave_out;
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
