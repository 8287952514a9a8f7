#include "model/recorded_code.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <initializer_list>
#include <unordered_map>

#include "model/differentiated_system.hpp"
#include "model/rehome.hpp"

namespace saltus {

namespace {

bool depends_on_kind(std::span<const Expr> f, std::initializer_list<SymbolKind> kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [&](SymbolKind kind) { return !symbols_of(f, kind).empty(); });
}

}  // namespace

RecordedCode::RecordedCode(RecordedEquations equations, std::span<const double> data, std::span<const double> locks,
                           ProgramOptions options)
    : eq_(std::move(equations)), options_(options) {
  check_sizes(data, locks);
  const auto graph = common_graph(eq_.variables);
  if (!graph) throw UsageError("RecordedSystem: there are no variables");
  if (!eq_.time.is_symbol()) eq_.time = Expr(graph, graph->symbol("time", SymbolKind::time));
  for (const Expr& x : eq_.variables) xp_.push_back(der(x));
  explicit_form_ = ExplicitForm(eq_, xp_, data);
  jacobians_ = LockedJacobians(eq_, xp_, explicit_form_.found());
  common_.variables = static_cast<int>(eq_.variables.size());
  common_.equations = static_cast<int>(eq_.equations.size());
  common_.guards = static_cast<int>(eq_.guards.size());
  common_.scaling = eq_.scaling;
  common_.explicit_ode = explicit_form_.found();
  common_.guards_read_xp = !common_.explicit_ode && depends_on_kind(eq_.guards, {SymbolKind::derivative});
  find_guard_variables();
  std::vector<Expr> all = jacobians_.Fx();
  all.insert(all.end(), jacobians_.Fxp().begin(), jacobians_.Fxp().end());
  common_.linear = !depends_on_kind(all, {SymbolKind::variable, SymbolKind::derivative});
  common_.constant_jacobian = common_.linear && !depends_on_kind(all, {SymbolKind::time});
  common_.constant_mass =
      !depends_on_kind(jacobians_.Fxp(), {SymbolKind::variable, SymbolKind::derivative, SymbolKind::time});
  common_.taylor = common_.differentiable = !uses_external();
  // numbers among the outputs of programs become nodes now: later the graph may be frozen
  for (const std::vector<Expr>* list : std::initializer_list<const std::vector<Expr>*>{
           &eq_.equations, &eq_.guards, &right_hand_sides(), &jacobians_.Fx(), &jacobians_.Fxp()})
    for (const Expr& e : *list) e.in(*graph);
}

RecordedCode::~RecordedCode() = default;

void RecordedCode::check_sizes(std::span<const double> data, std::span<const double> locks) const {
  if (data.size() != eq_.data.size()) throw UsageError("RecordedSystem: one value per data symbol is needed");
  if (locks.size() != eq_.locks.size()) throw UsageError("RecordedSystem: one value per lock is needed");
  if (!eq_.equation_names.empty() && eq_.equation_names.size() != eq_.equations.size())
    throw UsageError("RecordedSystem: one name per equation is needed");
  if (!eq_.nominal.empty() && eq_.nominal.size() != eq_.variables.size())
    throw UsageError("RecordedSystem: one nominal value per variable is needed");
  for (const Expr& x : eq_.variables)
    if (!x.is_symbol()) throw UsageError("RecordedSystem: a variable must be a symbol");
}

void RecordedCode::find_guard_variables() {
  const auto graph = common_graph(eq_.guards);
  if (!graph) return;
  std::unordered_map<NodeId, int> index;
  for (std::size_t j = 0; j < eq_.variables.size(); ++j)
    index.emplace(eq_.variables[j].in(*graph), static_cast<int>(j));
  std::vector<int>& read = common_.guard_variables;
  const auto add = [&](NodeId id) {
    if (const auto it = index.find(id); it != index.end()) read.push_back(it->second);
  };
  for (const Expr& x : symbols_of(eq_.guards, SymbolKind::variable)) add(x.id());
  for (const Expr& d : symbols_of(eq_.guards, SymbolKind::derivative)) add(graph->symbol_of(d.id()).base);
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
}

bool RecordedCode::uses_external() const {
  std::vector<Expr> all = eq_.equations;
  all.insert(all.end(), eq_.guards.begin(), eq_.guards.end());
  const auto graph = common_graph(all);
  if (!graph) return false;
  std::vector<NodeId> ids;
  for (const Expr& e : all) ids.push_back(e.in(*graph));
  const auto nodes = graph->reachable(ids);
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return graph->node(id).op == Op::external; });
}

void RecordedCode::require_possible(std::span<const double> data) const {
  if (!explicit_form_.possible(data))
    throw UsageError(
        "a parameter makes the coefficient of a derivative zero, which changes the index of the system: "
        "give this value when the system is built");
}

const RecordedCode::Locked& RecordedCode::select(std::span<const double> data, std::span<const double> locks) const {
  const std::lock_guard lock(making_);
  return jacobians_.select(common_, data, locks);
}

RecordedCode::Groups RecordedCode::inputs(bool with_derivatives) const {
  return {{eq_.time}, eq_.variables, with_derivatives ? xp_ : std::vector<Expr>{}, eq_.data, eq_.locks};
}

RecordedCode::Groups RecordedCode::copy(Outputs outputs) {
  Groups groups;
  for (const auto* list : outputs) groups.push_back(*list);
  return groups;
}

const Program& RecordedCode::make(Program& program, bool with_derivatives, Outputs outputs) const {
  if (program.empty()) program = Program(inputs(with_derivatives), copy(outputs), options_);
  return program;
}

const TaylorProgram& RecordedCode::make(TaylorProgram& program, bool with_derivatives, Outputs outputs) const {
  if (program.empty())
    program = TaylorProgram(inputs(with_derivatives), {true, true, true, false, false}, copy(outputs));
  return program;
}

RecordedEquations RecordedCode::cloned(std::vector<Expr>* rhs) const {
  RecordedEquations eq = eq_;
  const auto graph = common_graph(eq_.variables)->clone();
  rehome(eq, graph);
  if (rhs) {
    *rhs = right_hand_sides();
    rehome(*rhs, graph);
  }
  return eq;
}

const Program& RecordedCode::residual() const {
  const std::lock_guard lock(making_);
  return make(residual_, true, {&eq_.equations});
}

const Program& RecordedCode::rhs() const {
  const std::lock_guard lock(making_);
  return make(rhs_, false, {&right_hand_sides()});
}

const Program& RecordedCode::jacobian() const {
  const std::lock_guard lock(making_);
  return make(jacobian_, true, {&jacobians_.Fx(), &jacobians_.Fxp()});
}

const Program& RecordedCode::time_derivative() const {
  const std::lock_guard lock(making_);
  if (!time_derivative_.empty()) return time_derivative_;
  const RecordedEquations eq = cloned();
  std::vector<Expr> xp;
  for (const Expr& x : eq.variables) xp.push_back(der(x));
  const Expr one = 1.0;
  const std::vector<Expr> Ft = directional_derivative(eq.equations, std::span(&eq.time, 1), std::span(&one, 1));
  return time_derivative_ = Program(Groups{{eq.time}, eq.variables, xp, eq.data, eq.locks}, Groups{Ft}, options_);
}

const Program& RecordedCode::guard_values() const {
  const std::lock_guard lock(making_);
  return make(guard_values_, !common_.explicit_ode, {&eq_.guards});
}

const TaylorProgram& RecordedCode::residual_series() const {
  const std::lock_guard lock(making_);
  return make(residual_series_, true, {&eq_.equations});
}

const TaylorProgram& RecordedCode::jacobian_series() const {
  const std::lock_guard lock(making_);
  return make(jacobian_series_, true, {&eq_.equations, &jacobians_.Fx(), &jacobians_.Fxp()});
}

const TaylorProgram& RecordedCode::rhs_series() const {
  const std::lock_guard lock(making_);
  return make(rhs_series_, false, {&right_hand_sides()});
}

const TaylorProgram& RecordedCode::guard_series() const {
  const std::lock_guard lock(making_);
  return make(guard_series_, !common_.explicit_ode, {&eq_.guards});
}

// Recorded recurrences as native code are five times as fast as the series evaluator, but recording and compiling takes
// as long as some hundred expansions. So only small ones are made, where that time (about 2 ms at the limit) is not
// missed. The choice depends on the system and the order alone: the same question always gets the same bits.
const Program& RecordedCode::solution(int order) const {
  const std::lock_guard lock(making_);
  const auto [it, fresh] = solutions_.try_emplace(order);
  constexpr std::size_t limit = 5000;
  if (!fresh) return it->second;
  make(rhs_series_, false, {&right_hand_sides()});
  make(rhs_, false, {&right_hand_sides()});
  if (rhs_.backend() != Backend::native || rhs_series_.operations(order) > limit) return it->second;
  std::vector<Expr> f;
  const RecordedEquations eq = cloned(&f);
  const auto series = solution_taylor_expressions(eq.time, eq.variables, f, order);
  std::vector<Expr> coefficients_in_order;
  for (std::size_t k = 1; k <= static_cast<std::size_t>(order); ++k)
    for (const auto& row : series) coefficients_in_order.push_back(row[k]);
  return it->second =
             Program(Groups{{eq.time}, eq.variables, {}, eq.data, eq.locks}, Groups{coefficients_in_order}, options_);
}

// Larger modes gain little from it, and their code would outgrow the caches.
const StageCode* RecordedCode::stages(const RungeKuttaStages& method) const {
  constexpr std::size_t limit = 2000;
  if (!common_.explicit_ode || !common_.taylor || method.stages < 3)
    return nullptr;  // external functions are not copied
  const std::lock_guard lock(making_);
  for (const auto& made : stages_)
    if (made->made_for(method)) return made.get();
  const std::vector<Expr>& f = right_hand_sides();
  make(rhs_, false, {&f});
  const std::size_t operations = rhs_.tape().code.size() + 2 * static_cast<std::size_t>(method.stages) * f.size();
  if (rhs_.backend() != Backend::native || operations * static_cast<std::size_t>(method.stages) > limit) return nullptr;
  stages_.push_back(std::make_unique<StageCode>(method, eq_.time, eq_.variables, f, eq_.data, eq_.locks, options_));
  return stages_.back().get();
}

const LinearGuards& RecordedCode::linear_guards() const {
  const std::lock_guard lock(making_);
  if (!linear_guards_) {
    const RecordedEquations eq = cloned();
    linear_guards_ = std::make_unique<LinearGuards>(eq.time, eq.variables, eq.guards, eq.data, eq.locks, options_);
  }
  return *linear_guards_;
}

const GuardEnclosure& RecordedCode::guard_enclosure() const {
  const std::lock_guard lock(making_);
  if (!guard_enclosure_)
    guard_enclosure_ = std::make_unique<GuardEnclosure>(eq_, xp_, common_.guard_variables, common_.guards_read_xp);
  return *guard_enclosure_;
}

const Projection& RecordedCode::projection() const {
  const std::lock_guard lock(making_);
  if (!projection_) {
    const RecordedEquations eq = cloned();
    projection_ = std::make_unique<Projection>(Groups{{eq.time}, eq.variables, {}, eq.data, eq.locks}, eq.variables,
                                               eq.invariants, eq.nominal, options_);
  }
  return *projection_;
}

std::vector<int> RecordedCode::key_of(const DerivativePlan& plan) {
  std::vector<int> key;
  for (const auto& part : {plan.equation_offset, plan.variable_offset, plan.states})
    key.insert(key.end(), part.begin(), part.end());
  return key;
}

std::shared_ptr<const DifferentiatedCode> RecordedCode::differentiated(const Locked& structure,
                                                                       std::span<const double> data,
                                                                       std::span<const double> locks,
                                                                       const DerivativePlan& plan) const {
  constexpr std::size_t most = 64;
  const std::lock_guard lock(making_);
  Differentiated& made = differentiated_[{structure.number, key_of(plan)}];
  made.last_asked = ++times_asked_;
  if (made.code) return made.code;
  if (differentiated_.size() > most)
    differentiated_.erase(
        std::min_element(differentiated_.begin(), differentiated_.end(),
                         [](const auto& a, const auto& b) { return a.second.last_asked < b.second.last_asked; }));
  std::vector<char> fixed_data(data.size(), 0), fixed_locks(locks.size(), 0);  // those that decide the structure
  jacobians_.mark_structural(fixed_data, fixed_locks);
  made.code = differentiate({structure.structure, eq_, data, locks, fixed_data, fixed_locks, options_}, plan);
  return made.code;
}

}  // namespace saltus
