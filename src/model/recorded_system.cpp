#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/model/recorded_system.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <unordered_map>

#include "model/differentiated_system.hpp"
#include "model/explicit_form.hpp"
#include "model/linear_guards.hpp"
#include "model/locked_jacobians.hpp"
#include "model/projection.hpp"
#include "model/same_bits.hpp"
#include "model/stage_program.hpp"
#include "model/staged_solution.hpp"

namespace saltus {

using Groups = std::vector<std::vector<Expr>>;

namespace {

bool depends_on_kind(std::span<const Expr> f, std::initializer_list<SymbolKind> kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [&](SymbolKind kind) { return !symbols_of(f, kind).empty(); });
}

[[noreturn]] void refuse_values(const char* function) {
  throw UsageError(std::string("RecordedSystem::") + function + ": wrong number of values");
}

}  // namespace

struct RecordedSystem::Impl {
  RecordedEquations eq;
  std::vector<Expr> xp;
  ProgramOptions options;
  std::vector<double> data, locks;
  double time = 0.0;
  std::array<const double*, 5> program_inputs{};  // time, x, x', data, locks
  ExplicitForm explicit_form;
  LockedJacobians jacobians;
  const LockedJacobians::Locked* current = nullptr;
  Structure common;  // flags that do not depend on locks

  // Programs are made when first needed: an explicit method never asks for a Jacobian.
  Program residual_program, rhs_program, jacobian_program, time_program, guard_program;
  Workspace residual_work, rhs_work, jacobian_work, time_work, guard_work;
  TaylorProgram residual_series, jacobian_series, rhs_series, guard_series;
  TaylorWorkspace residual_taylor, jacobian_taylor, rhs_taylor, guard_taylor;
  struct SolutionProgram {
    Program program;  // empty: use the series
    Workspace work;
  };
  std::map<int, SolutionProgram> solution_programs;  // by order
  std::unique_ptr<StagedSolution> staged;
  std::vector<double> full_x, full_xp, scaled;
  std::unique_ptr<Projection> projection;
  std::unique_ptr<LinearGuards> linear_guards;
  std::optional<std::span<const LinearGuard>> linear_now;  // for these data and locks, once asked for
  std::vector<std::unique_ptr<StageProgram>> stage_programs;
  struct Differentiated {
    std::unique_ptr<System> system;
    std::int64_t last_asked = 0;
  };
  std::map<std::pair<const LockedJacobians::Locked*, std::vector<int>>, Differentiated> differentiated_systems;  // by structure and plan
  std::int64_t times_asked = 0;

  Impl(RecordedEquations equations, std::vector<double> data_values, std::vector<double> lock_values, ProgramOptions opts)
      : eq(std::move(equations)), options(opts), data(std::move(data_values)), locks(std::move(lock_values)) {
    check_sizes();
    const auto graph = common_graph(eq.variables);
    if (!graph) throw UsageError("RecordedSystem: there are no variables");
    if (!eq.time.is_symbol()) eq.time = Expr(graph, graph->symbol("time", SymbolKind::time));
    for (const Expr& x : eq.variables) xp.push_back(der(x));
    explicit_form = ExplicitForm(eq, xp, data);
    jacobians = LockedJacobians(eq, xp);
    common.variables = static_cast<int>(eq.variables.size());
    common.equations = static_cast<int>(eq.equations.size());
    common.guards = static_cast<int>(eq.guards.size());
    common.explicit_ode = explicit_form.found();
    common.guards_read_xp = !common.explicit_ode && depends_on_kind(eq.guards, {SymbolKind::derivative});
    find_guard_variables();
    std::vector<Expr> all = jacobians.Fx();
    all.insert(all.end(), jacobians.Fxp().begin(), jacobians.Fxp().end());
    common.linear = !depends_on_kind(all, {SymbolKind::variable, SymbolKind::derivative});
    common.constant_jacobian = common.linear && !depends_on_kind(all, {SymbolKind::time});
    common.constant_mass =
        !depends_on_kind(jacobians.Fxp(), {SymbolKind::variable, SymbolKind::derivative, SymbolKind::time});
    common.taylor = common.differentiable = !uses_external();
    full_x.resize(jacobians.Fx().size());
    full_xp.resize(jacobians.Fxp().size());
    scaled.resize(eq.variables.size());
    program_inputs = {&time, nullptr, nullptr, data.data(), locks.data()};
    select_structure();
  }

  void check_sizes() const {
    if (data.size() != eq.data.size()) throw UsageError("RecordedSystem: one value per data symbol is needed");
    if (locks.size() != eq.locks.size()) throw UsageError("RecordedSystem: one value per lock is needed");
    if (!eq.equation_names.empty() && eq.equation_names.size() != eq.equations.size())
      throw UsageError("RecordedSystem: one name per equation is needed");
    if (!eq.nominal.empty() && eq.nominal.size() != eq.variables.size())
      throw UsageError("RecordedSystem: one nominal value per variable is needed");
    for (const Expr& x : eq.variables)
      if (!x.is_symbol()) throw UsageError("RecordedSystem: a variable must be a symbol");
  }

  void find_guard_variables() {
    const auto graph = common_graph(eq.guards);
    if (!graph) return;
    std::unordered_map<NodeId, int> index;
    for (std::size_t j = 0; j < eq.variables.size(); ++j) index.emplace(eq.variables[j].in(*graph), static_cast<int>(j));
    std::vector<int>& read = common.guard_variables;
    const auto add = [&](NodeId id) {
      if (const auto it = index.find(id); it != index.end()) read.push_back(it->second);
    };
    for (const Expr& x : symbols_of(eq.guards, SymbolKind::variable)) add(x.id());
    for (const Expr& d : symbols_of(eq.guards, SymbolKind::derivative)) add(graph->symbol_of(d.id()).base);
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
  }

  bool uses_external() const {
    std::vector<Expr> all = eq.equations;
    all.insert(all.end(), eq.guards.begin(), eq.guards.end());
    const auto graph = common_graph(all);
    if (!graph) return false;
    std::vector<NodeId> ids;
    for (const Expr& e : all) ids.push_back(e.in(*graph));
    const auto nodes = graph->reachable(ids);
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return graph->node(id).op == Op::external; });
  }

  void select_structure() { current = &jacobians.select(common, data, locks); }
  const std::vector<Expr>& f() const { return explicit_form.right_hand_sides(); }

  StageEvaluator* stages(const RungeKuttaStages& method) {
    for (const auto& made : stage_programs)
      if (made->made_for(method)) return made.get();
    return make_stages(method);
  }

  // Larger modes gain little from it, and their code would outgrow the caches.
  [[gnu::noinline]] StageEvaluator* make_stages(const RungeKuttaStages& method) {
    constexpr std::size_t limit = 2000;
    if (!common.explicit_ode || !common.taylor || method.stages < 3) return nullptr;  // external functions are not copied
    make(rhs_program, rhs_work, false, {&f()});
    const std::size_t operations = rhs_program.tape().code.size() + 2 * static_cast<std::size_t>(method.stages) * f().size();
    if (rhs_program.backend() != Backend::native || operations * static_cast<std::size_t>(method.stages) > limit) return nullptr;
    stage_programs.push_back(std::make_unique<StageProgram>(method, eq.time, eq.variables, f(), eq.data, eq.locks, data, locks, options));
    return stage_programs.back().get();
  }

  Groups inputs(bool with_derivatives) const {
    return {{eq.time}, eq.variables, with_derivatives ? xp : std::vector<Expr>{}, eq.data, eq.locks};
  }

  // Lists by address: these calls stand in every evaluation and must not copy expressions when the program is there already.
  using Outputs = std::initializer_list<const std::vector<Expr>*>;
  static Groups copy(Outputs outputs) {
    Groups groups;
    for (const auto* list : outputs) groups.push_back(*list);
    return groups;
  }

  void make(Program& program, Workspace& work, bool with_derivatives, Outputs outputs) {
    if (program.empty()) compile(program, work, with_derivatives, outputs);
  }

  [[gnu::noinline]] void compile(Program& program, Workspace& work, bool with_derivatives, Outputs outputs) {
    program = Program(inputs(with_derivatives), copy(outputs), options);
    work = program.workspace();
  }

  void run(const Program& program, Workspace& work, double t, std::span<const double> x, const double* derivative,
           std::span<double* const> out) {
    time = t;
    program_inputs[1] = x.data();
    program_inputs[2] = derivative;
    program(program_inputs, out, work);
  }

  // The first calls of what is called most often, apart from all the others.
  [[gnu::noinline]] void first_rhs(RecordedSystem& self, double t, std::span<const double> x, std::span<double> derivative) {
    if (!common.explicit_ode) return self.System::rhs(t, x, derivative);
    make(rhs_program, rhs_work, false, {&f()});
    self.rhs(t, x, derivative);
  }

  [[gnu::noinline]] void first_guards(RecordedSystem& self, double t, std::span<const double> x, std::span<const double> derivative,
                                      std::span<double> g) {
    if (eq.guards.empty()) return;
    make(guard_program, guard_work, !common.explicit_ode, {&eq.guards});
    self.guards(t, x, derivative, g);
  }

  /// Data or locks have changed.
  void forget() {
    if (staged) staged->forget();
    if (!linear_guards || linear_guards->change()) linear_now.reset();
  }

  void make(TaylorProgram& program, TaylorWorkspace& work, bool with_derivatives, Outputs outputs) {
    if (!program.empty()) return;
    program = TaylorProgram(inputs(with_derivatives), {true, true, true, false, false}, copy(outputs));
    work = TaylorWorkspace(program);
  }

  void start(TaylorWorkspace& work, double t, int order) const {
    work.start(order);
    work.set(0, 0, 0, t);
    if (order > 0) work.set(0, 0, 1, 1.0);
    work.set(3, 0, data);
    work.set(4, 0, locks);
  }

  // Recorded recurrences as native code are five times as fast as the series evaluator, but recording and compiling takes as long
  // as some hundred expansions. So only small ones are made, where that time (about 2 ms at the limit) is not missed. The choice
  // depends on the system and the order alone: the same question always gets the same bits.
  SolutionProgram& solution_program(int order) {
    const auto [it, fresh] = solution_programs.try_emplace(order);
    constexpr std::size_t limit = 5000;
    make(rhs_series, rhs_taylor, false, {&f()});
    make(rhs_program, rhs_work, false, {&f()});
    if (!fresh || rhs_program.backend() != Backend::native || rhs_series.operations(order) > limit) return it->second;
    const auto series = solution_taylor_expressions(eq.time, eq.variables, f(), order);
    std::vector<Expr> coefficients_in_order;
    for (std::size_t k = 1; k <= static_cast<std::size_t>(order); ++k)
      for (const auto& row : series) coefficients_in_order.push_back(row[k]);
    make(it->second.program, it->second.work, false, {&coefficients_in_order});
    return it->second;
  }

  [[gnu::noinline]] std::span<const LinearGuard> find_linear_guards() {
    if (eq.guards.empty() || !common.taylor) return {};  // no derivatives of external functions
    if (!linear_guards) linear_guards = std::make_unique<LinearGuards>(eq.time, eq.variables, eq.guards, eq.data, eq.locks, options);
    linear_now = linear_guards->at(data, locks);
    return *linear_now;
  }

  /// Coefficient k of x and x' from X = (x_[0], x_[1], …).
  void set_state(TaylorWorkspace& work, int k, std::span<const double> X, bool with_derivatives) {
    const std::size_t n = eq.variables.size();
    work.set(1, k, X.subspan(static_cast<std::size_t>(k) * n, n));
    if (!with_derivatives) return;
    for (std::size_t j = 0; j < n; ++j) scaled[j] = (k + 1) * X[static_cast<std::size_t>(k + 1) * n + j];
    work.set(2, k, scaled);
  }
};

RecordedSystem::RecordedSystem(RecordedEquations equations, std::vector<double> data, std::vector<double> locks,
                               ProgramOptions options)
    : impl_(std::make_unique<Impl>(std::move(equations), std::move(data), std::move(locks), options)) {}
RecordedSystem::~RecordedSystem() = default;
RecordedSystem::RecordedSystem(RecordedSystem&&) noexcept = default;
RecordedSystem& RecordedSystem::operator=(RecordedSystem&&) noexcept = default;

void RecordedSystem::set_data(std::span<const double> data) {
  if (data.size() != impl_->data.size()) refuse_values("set_data");
  std::copy(data.begin(), data.end(), impl_->data.begin());
  impl_->forget();
  if (impl_->jacobians.discrete_decides()) impl_->select_structure();
  if (!impl_->explicit_form.possible(impl_->eq, impl_->data))
    throw UsageError("a parameter makes the coefficient of a derivative zero, which changes the index of the system: "
                     "give this value when the system is built");
}

[[gnu::hot]] void RecordedSystem::set_locks(std::span<const double> locks) {
  if (locks.size() != impl_->locks.size()) refuse_values("set_locks");
  Impl& m = *impl_;
  if (same_bits(locks, m.locks)) return;
  bool structural = false;
  for (const int k : m.jacobians.structural_locks()) structural = structural || locks[k] != m.locks[k];
  for (std::size_t k = 0; k < locks.size(); ++k) m.locks[k] = locks[k];
  m.forget();
  if (structural) m.select_structure();
}

std::span<const double> RecordedSystem::data() const { return impl_->data; }
std::span<const double> RecordedSystem::locks() const { return impl_->locks; }
const std::vector<int>& RecordedSystem::structural_locks() const { return impl_->jacobians.structural_locks(); }
const RecordedEquations& RecordedSystem::equations() const { return impl_->eq; }
const std::vector<Expr>& RecordedSystem::right_hand_sides() const { return impl_->f(); }
const Program& RecordedSystem::residual_program() const {
  impl_->make(impl_->residual_program, impl_->residual_work, true, {&impl_->eq.equations});
  return impl_->residual_program;
}
[[gnu::hot]] const Structure& RecordedSystem::structure() const { return impl_->current->structure; }
std::string RecordedSystem::variable_name(int j) const { return impl_->eq.variables[j].name(); }
std::string RecordedSystem::equation_name(int i) const {
  if (!impl_->eq.equation_names.empty()) return impl_->eq.equation_names[i];
  return "0 = " + to_string(impl_->eq.equations[i], 60);
}
double RecordedSystem::nominal(int j) const { return impl_->eq.nominal.empty() ? 1.0 : impl_->eq.nominal[j]; }

void RecordedSystem::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  impl_->make(impl_->residual_program, impl_->residual_work, true, {&impl_->eq.equations});
  double* const out[] = {F.data()};
  impl_->run(impl_->residual_program, impl_->residual_work, t, x, xp.data(), out);
}

[[gnu::hot]] void RecordedSystem::rhs(double t, std::span<const double> x, std::span<double> xp) {
  if (impl_->rhs_program.empty()) return impl_->first_rhs(*this, t, x, xp);
  double* const out[] = {xp.data()};
  impl_->run(impl_->rhs_program, impl_->rhs_work, t, x, nullptr, out);
}

System* RecordedSystem::differentiated(const DerivativePlan& plan) {
  Impl& m = *impl_;
  if (!m.common.differentiable) return nullptr;
  std::vector<int> key;
  for (const auto& part : {plan.equation_offset, plan.variable_offset, plan.states}) key.insert(key.end(), part.begin(), part.end());
  constexpr std::size_t most = 64;
  Impl::Differentiated& made = m.differentiated_systems[{m.current, std::move(key)}];
  made.last_asked = ++m.times_asked;
  if (made.system) return made.system.get();
  if (m.differentiated_systems.size() > most)
    m.differentiated_systems.erase(std::min_element(m.differentiated_systems.begin(), m.differentiated_systems.end(),
                                                    [](const auto& a, const auto& b) { return a.second.last_asked < b.second.last_asked; }));
  std::vector<char> fixed_data(m.data.size(), 0), fixed_locks(m.locks.size(), 0);  // those that decide the structure
  m.jacobians.mark_structural(fixed_data, fixed_locks);
  made.system = make_differentiated_system({m.current->structure, m.eq, m.data, m.locks, fixed_data, fixed_locks, m.options}, plan);
  return made.system.get();
}

[[gnu::hot]] StageEvaluator* RecordedSystem::stages(const RungeKuttaStages& method) { return impl_->stages(method); }

void RecordedSystem::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                              std::span<double> Fxp) {
  Impl& m = *impl_;
  m.make(m.jacobian_program, m.jacobian_work, true, {&m.jacobians.Fx(), &m.jacobians.Fxp()});
  double* const out[] = {m.full_x.data(), m.full_xp.data()};
  m.run(m.jacobian_program, m.jacobian_work, t, x, xp.data(), out);
  for (std::size_t k = 0; k < m.current->keep_x.size(); ++k) Fx[k] = m.full_x[m.current->keep_x[k]];
  for (std::size_t k = 0; k < m.current->keep_xp.size(); ++k) Fxp[k] = m.full_xp[m.current->keep_xp[k]];
}

void RecordedSystem::time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft) {
  Impl& m = *impl_;
  if (m.time_program.empty()) {
    const Expr one = 1.0;
    const std::vector<Expr> Ft_list = directional_derivative(m.eq.equations, std::span(&m.eq.time, 1), std::span(&one, 1));
    m.make(m.time_program, m.time_work, true, {&Ft_list});
  }
  double* const out[] = {Ft.data()};
  m.run(m.time_program, m.time_work, t, x, xp.data(), out);
}

void RecordedSystem::taylor(double t, int level, std::span<const double> X, std::span<double> F) {
  Impl& m = *impl_;
  if (!m.common.taylor) return System::taylor(t, level, X, F);
  m.make(m.residual_series, m.residual_taylor, true, {&m.eq.equations});
  const std::size_t rows = m.eq.equations.size();
  m.start(m.residual_taylor, t, level);
  for (int k = 0; k <= level; ++k) {
    m.set_state(m.residual_taylor, k, X, true);
    m.residual_taylor.advance(k);
    m.residual_taylor.get(0, k, F.subspan(static_cast<std::size_t>(k) * rows, rows));
  }
}

void RecordedSystem::taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F,
                                     std::span<double> Fx, std::span<double> Fxp) {
  Impl& m = *impl_;
  if (!m.common.taylor) return System::taylor_jacobian(t, level, X, F, Fx, Fxp);
  m.make(m.jacobian_series, m.jacobian_taylor, true, {&m.eq.equations, &m.jacobians.Fx(), &m.jacobians.Fxp()});
  const std::size_t rows = m.eq.equations.size();
  const auto &keep_x = m.current->keep_x, &keep_xp = m.current->keep_xp;
  m.start(m.jacobian_taylor, t, level);
  for (int k = 0; k <= level; ++k) {
    m.set_state(m.jacobian_taylor, k, X, true);
    m.jacobian_taylor.advance(k);
    m.jacobian_taylor.get(0, k, F.subspan(static_cast<std::size_t>(k) * rows, rows));
    const auto level_offset = static_cast<std::size_t>(k);
    for (std::size_t i = 0; i < keep_x.size(); ++i)
      Fx[level_offset * keep_x.size() + i] = m.jacobian_taylor.get(1, keep_x[i], k);
    for (std::size_t i = 0; i < keep_xp.size(); ++i)
      Fxp[level_offset * keep_xp.size() + i] = m.jacobian_taylor.get(2, keep_xp[i], k);
  }
}

void RecordedSystem::solution_taylor(double t, int order, std::span<double> X) {
  Impl& m = *impl_;
  if (!m.common.taylor || !m.common.explicit_ode) return System::solution_taylor(t, order, X);
  const std::size_t n = m.eq.variables.size();
  if (auto& recorded = m.solution_program(order); !recorded.program.empty()) {
    double* const out[] = {X.data() + n};
    return m.run(recorded.program, recorded.work, t, X, nullptr, out);
  }
  m.start(m.rhs_taylor, t, order);
  for (int k = 0; k < order; ++k) {
    m.set_state(m.rhs_taylor, k, X, false);
    m.rhs_taylor.advance(k);
    const std::span<double> next = X.subspan(static_cast<std::size_t>(k + 1) * n, n);
    m.rhs_taylor.get(0, k, next);
    for (double& value : next) value /= k + 1;
  }
}

void RecordedSystem::start_stages(double t, std::span<const int> c, std::span<const int> d, int last) {
  Impl& m = *impl_;
  if (m.common.taylor && !m.staged) {
    m.make(m.residual_series, m.residual_taylor, true, {&m.eq.equations});
    m.staged = std::make_unique<StagedSolution>(m.residual_series, m.eq.variables.size(), m.eq.data.size(), m.eq.locks.size(),
                                                m.options);
  }
  if (!m.common.taylor || !m.staged->start(t, c, d, last, m.data, m.locks)) System::start_stages(t, c, d, last);
}

void RecordedSystem::stage_residual(int stage, std::span<const double> X, std::span<double> F) {
  if (!impl_->staged->possible()) return System::stage_residual(stage, X, F);
  impl_->staged->stages().residual(stage, X, F);
}

void RecordedSystem::settle_stage(int stage, std::span<const double> X) {
  if (impl_->staged->possible()) impl_->staged->stages().settle(stage, X);
}

bool RecordedSystem::correct_stages(std::span<const double> inverse, std::span<double> X) {
  return impl_->staged->correct(inverse, X, impl_->data, impl_->locks);
}

bool RecordedSystem::extend_stages(std::span<const double> inverse, int order, std::span<double> X) {
  return impl_->staged->extend(inverse, order, X, impl_->data, impl_->locks);
}

bool RecordedSystem::project(double t, std::span<double> x) {
  Impl& m = *impl_;
  if (m.eq.invariants.empty()) return false;
  if (!m.projection)
    m.projection = std::make_unique<Projection>(m.inputs(false), m.eq.variables, m.eq.invariants, m.eq.nominal, m.options);
  return m.projection->apply(t, x, m.data, m.locks);
}

[[gnu::hot]] void RecordedSystem::guards(double t, std::span<const double> x, std::span<const double> xp, std::span<double> g) {
  if (impl_->guard_program.empty()) return impl_->first_guards(*this, t, x, xp, g);
  double* const out[] = {g.data()};
  impl_->run(impl_->guard_program, impl_->guard_work, t, x, xp.data(), out);
}

[[gnu::hot]] std::span<const LinearGuard> RecordedSystem::linear_guards() {
  return impl_->linear_now ? *impl_->linear_now : impl_->find_linear_guards();
}

void RecordedSystem::guards_taylor(double t, int order, std::span<const double> X, std::span<double> G) {
  Impl& m = *impl_;
  if (m.eq.guards.empty()) return;
  if (!m.common.taylor) return System::guards_taylor(t, order, X, G);
  m.make(m.guard_series, m.guard_taylor, !m.common.explicit_ode, {&m.eq.guards});
  const std::size_t count = m.eq.guards.size();
  m.start(m.guard_taylor, t, order);
  for (int k = 0; k <= order; ++k) {
    m.set_state(m.guard_taylor, k, X, !m.common.explicit_ode);
    m.guard_taylor.advance(k);
    m.guard_taylor.get(0, k, G.subspan(static_cast<std::size_t>(k) * count, count));
  }
}

}  // namespace saltus
