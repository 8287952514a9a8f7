// A system is three things: the code (RecordedCode), which any number of threads share; the memory in which it is
// evaluated (Evaluator), which the systems of one thread share; and its own values of data and locks. The evaluator
// knows for which system it is set up: a system that finds another one there puts its own values in place first.
#include <saltus/expr/print.hpp>
#include <saltus/model/recorded_system.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/work_limit.hpp"
#include "model/differentiated_system.hpp"
#include "model/equation_enclosure.hpp"
#include "model/recorded_code.hpp"
#include "model/same_bits.hpp"
#include "model/undefined_part.hpp"

namespace saltus {

namespace {

/// A step of an implicit method may take long. Looks at the clock every fifty evaluations at least, since functions of
/// others may take any time.
void look_at_clock(std::size_t values) {
  constexpr double least = 2000.0, usual_length = 10.0;  // operations
  WorkLimit::look_at_clock(least + usual_length * static_cast<double>(values));
}

[[noreturn]] void refuse_values(const char* function) {
  throw UsageError(std::string("RecordedSystem::") + function + ": wrong number of values");
}

}  // namespace

/// Programs with their memory, in the thread of one run.
struct RecordedSystem::Evaluator {
  std::shared_ptr<const RecordedCode> code;
  std::size_t fixed = 0;  // so many data, the first ones, are the same for all systems that share the evaluator
  std::vector<double> data, locks;
  double time = 0.0;
  std::array<const double*, 5> program_inputs{};  // time, x, x', data, locks
  const Impl* bound = nullptr;                    // the system whose values are in place
  const LockedJacobians::Locked* current = nullptr;

  RunnableProgram residual, rhs, jacobian, time_derivative, guards;
  TaylorWorkspace residual_taylor, jacobian_taylor, rhs_taylor, guard_taylor;
  bool has_residual_taylor = false, has_jacobian_taylor = false, has_rhs_taylor = false, has_guard_taylor = false;
  std::map<int, RunnableProgram> solutions;  // by order; empty: use the series
  std::unique_ptr<StagedSolution> staged;
  std::vector<double> full_x, full_xp, scaled;
  std::unique_ptr<Projection> projection;
  std::unique_ptr<LinearGuards> linear_guards;
  std::unique_ptr<GuardEnclosure> guard_enclosure;
  std::unique_ptr<EquationEnclosure> equation_enclosure;
  std::vector<Interval> enclosed_Fx, enclosed_Fxp;
  std::vector<std::unique_ptr<StageProgram>> stage_programs;
  struct Differentiated {
    std::shared_ptr<const DifferentiatedCode> code;
    std::shared_ptr<Evaluator> evaluator;
    std::int64_t last_asked = 0;
  };
  std::map<std::pair<int, std::vector<int>>, Differentiated> differentiated;  // by number of the structure, and plan
  std::int64_t times_asked = 0;

  Evaluator(std::shared_ptr<const RecordedCode> shared, std::vector<double> data_values, std::size_t fixed_data)
      : code(std::move(shared)),
        fixed(fixed_data),
        data(std::move(data_values)),
        locks(code->equations().locks.size()) {
    full_x.resize(code->jacobians().Fx().size());
    full_xp.resize(code->jacobians().Fxp().size());
    scaled.resize(code->equations().variables.size());
    program_inputs = {&time, nullptr, nullptr, data.data(), locks.data()};
  }
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  const RecordedEquations& eq() const { return code->equations(); }

  inline void bind(const Impl& system);

  void run(RunnableProgram& program, double t, std::span<const double> x, const double* derivative,
           std::span<double* const> out) {
    time = t;
    program_inputs[1] = x.data();
    program_inputs[2] = derivative;
    program(program_inputs, out);
  }

  static void make(RunnableProgram& program, const Program& (RecordedCode::*part)() const, const RecordedCode& code) {
    if (program.empty()) program = RunnableProgram((code.*part)());
  }
  static void make(TaylorWorkspace& work, bool& made, const TaylorProgram& (RecordedCode::*part)() const,
                   const RecordedCode& code) {
    if (made) return;
    work = TaylorWorkspace((code.*part)());
    made = true;
  }

  void start(TaylorWorkspace& work, double t, int order) const {
    work.start(order);
    work.set(0, 0, 0, t);
    if (order > 0) work.set(0, 0, 1, 1.0);
    work.set(3, 0, data);
    work.set(4, 0, locks);
  }

  /// Coefficient k of x and x' from X = (x_[0], x_[1], …).
  void set_state(TaylorWorkspace& work, int k, std::span<const double> X, bool with_derivatives) {
    const std::size_t n = eq().variables.size();
    work.set(1, k, X.subspan(static_cast<std::size_t>(k) * n, n));
    if (!with_derivatives) return;
    for (std::size_t j = 0; j < n; ++j) scaled[j] = (k + 1) * X[static_cast<std::size_t>(k + 1) * n + j];
    work.set(2, k, scaled);
  }

  LinearGuards& linear() {
    if (!linear_guards) linear_guards = std::make_unique<LinearGuards>(code->linear_guards());
    return *linear_guards;
  }

  EquationEnclosure& equations_enclosed() {
    if (!equation_enclosure)
      equation_enclosure = std::make_unique<EquationEnclosure>(code->residual_series(), code->jacobian_series());
    return *equation_enclosure;
  }

  StageProgram* stages(const RungeKuttaStages& method) {
    for (const auto& made : stage_programs)
      if (made->code().made_for(method)) return made.get();
    const StageCode* found = code->stages(method);
    if (!found) return nullptr;
    stage_programs.push_back(std::make_unique<StageProgram>(*found));
    return stage_programs.back().get();
  }
};

/// One system: its values, and what follows from them.
struct RecordedSystem::Impl {
  std::shared_ptr<Evaluator> evaluator;
  std::vector<double> data;  // those that are not the same for all who share the evaluator
  std::vector<double> locks;
  const LockedJacobians::Locked* current = nullptr;
  std::uint64_t version = 0;                               // of the values
  std::optional<std::span<const LinearGuard>> linear_now;  // once asked for
  LinearGuards::Values linear;                             // where coefficients depend on the values
  /// All stages of a step, for this system.
  struct Stages final : StageEvaluator {
    Impl& system;
    StageProgram& program;

    Stages(Impl& s, StageProgram& p) : system(s), program(p) {}
    [[gnu::hot]] void evaluate(double t, double h, double end, std::span<const double> x, std::span<double* const> k,
                               std::span<double> x_before_last, std::span<double> x_end,
                               std::span<double> dense) override {
      Evaluator& e = system.use();
      program.evaluate(t, h, end, x, k, x_before_last, x_end, dense, e.data.data(), e.locks.data());
    }
  };
  std::vector<std::unique_ptr<Stages>> stages;
  struct Differentiated {
    std::unique_ptr<System> system;
    std::int64_t last_asked = 0;
  };
  std::map<std::pair<int, std::vector<int>>, Differentiated> differentiated;  // by number of the structure, and plan

  Impl(std::shared_ptr<Evaluator> shared, std::vector<double> own_data, std::vector<double> lock_values)
      : evaluator(std::move(shared)), data(std::move(own_data)), locks(std::move(lock_values)) {
    if (data.size() + evaluator->fixed != evaluator->data.size() || locks.size() != evaluator->locks.size())
      refuse_values("sibling");
    select_structure();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (evaluator->bound == this) evaluator->bound = nullptr;
  }

  const RecordedCode& code() const { return *evaluator->code; }

  /// The evaluator with the values of this system in place.
  Evaluator& use() {
    Evaluator& e = *evaluator;
    if (e.bound != this) e.bind(*this);
    return e;
  }

  std::vector<double> all_data() const {
    std::vector<double> all(evaluator->data.begin(),
                            evaluator->data.begin() + static_cast<std::ptrdiff_t>(evaluator->fixed));
    all.insert(all.end(), data.begin(), data.end());
    return all;
  }

  void select_structure() {
    const std::vector<double> all = all_data();
    code().require_possible(all);
    current = &code().select(all, locks);
  }

  /// Data or locks have changed.
  void values_changed() {
    ++version;
    if (evaluator->bound == this) evaluator->bound = nullptr;
    if (!evaluator->linear_guards || evaluator->linear_guards->change()) linear_now.reset();
  }

  bool structure_differs(std::span<const double> lock_values) const {
    const std::vector<int>& structural = code().jacobians().structural_locks();
    return std::any_of(structural.begin(), structural.end(), [&](int k) { return lock_values[k] != locks[k]; });
  }

  [[gnu::noinline]] std::span<const LinearGuard> find_linear_guards() {
    if (evaluator->eq().guards.empty() || !code().common().taylor) return {};  // no derivatives of external functions
    Evaluator& e = use();
    LinearGuards& guards = e.linear();
    linear_now = guards.at(e.data, e.locks);
    if (guards.change()) {
      linear = guards.values();
      linear_now = linear.guards;
    }
    return *linear_now;
  }

  /// Where a series in stages goes on: another system must not have used the evaluator since it began.
  StagedSolution& staged() {
    if (evaluator->bound != this)
      throw UsageError("RecordedSystem: another system has been evaluated since start_stages; begin the stages anew");
    return *evaluator->staged;
  }

  // The first calls of what is called most often, apart from all the others.
  [[gnu::noinline]] void first_rhs(RecordedSystem& self, double t, std::span<const double> x,
                                   std::span<double> derivative) {
    if (!code().common().explicit_ode) return self.System::rhs(t, x, derivative);
    Evaluator::make(evaluator->rhs, &RecordedCode::rhs, code());
    self.rhs(t, x, derivative);
  }

  [[gnu::noinline]] void first_guards(RecordedSystem& self, double t, std::span<const double> x,
                                      std::span<const double> derivative, std::span<double> g) {
    if (evaluator->eq().guards.empty()) return;
    Evaluator::make(evaluator->guards, &RecordedCode::guard_values, code());
    self.guards(t, x, derivative, g);
  }
};

[[gnu::hot]] void RecordedSystem::Evaluator::bind(const Impl& system) {
  std::copy(system.data.begin(), system.data.end(), data.begin() + static_cast<std::ptrdiff_t>(fixed));
  std::copy(system.locks.begin(), system.locks.end(), locks.begin());
  current = system.current;
  if (staged) staged->forget();
  bound = &system;
}

/// The system with dummy derivatives; takes over the values of the original before each evaluation.
class RecordedSystem::WithDummyDerivatives final : public System {
 public:
  WithDummyDerivatives(const Impl& original, std::shared_ptr<const DifferentiatedCode> code,
                       std::shared_ptr<Evaluator> evaluator)
      : original_(original),
        code_(std::move(code)),
        system_(std::make_unique<Impl>(std::move(evaluator), values(), std::vector<double>{})),
        version_(original.version) {}

  const Structure& structure() const override { return code_->structure; }
  std::string variable_name(int j) const override { return system_.variable_name(j); }
  std::string equation_name(int i) const override { return system_.equation_name(i); }
  double nominal(int j) const override { return system_.nominal(j); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    follow();
    system_.residual(t, x, xp, F);
  }
  void jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                std::span<double> Fxp) override {
    follow();
    system_.jacobian(t, x, xp, Fx, Fxp);
  }
  void time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft) override {
    follow();
    system_.time_derivative(t, x, xp, Ft);
  }

 private:
  std::vector<double> values() const {
    std::vector<double> all = original_.all_data();
    all.insert(all.end(), original_.locks.begin(), original_.locks.end());
    return all;
  }
  void follow() {
    if (version_ == original_.version) return;
    system_.set_data(values());
    version_ = original_.version;
  }

  const Impl& original_;
  std::shared_ptr<const DifferentiatedCode> code_;
  RecordedSystem system_;
  std::uint64_t version_;
};

RecordedSystem::RecordedSystem(RecordedEquations equations, std::vector<double> data, std::vector<double> locks,
                               ProgramOptions options) {
  auto code = std::make_shared<const RecordedCode>(std::move(equations), data, locks, options);
  auto evaluator = std::make_shared<Evaluator>(std::move(code), data, 0);
  impl_ = std::make_unique<Impl>(std::move(evaluator), std::move(data), std::move(locks));
}
RecordedSystem::RecordedSystem(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordedSystem::~RecordedSystem() = default;
RecordedSystem::RecordedSystem(RecordedSystem&&) noexcept = default;
RecordedSystem& RecordedSystem::operator=(RecordedSystem&&) noexcept = default;

RecordedSystem RecordedSystem::for_another_thread(std::span<const double> shared_data) const {
  std::vector<double> all = impl_->all_data();
  if (shared_data.size() > all.size()) refuse_values("for_another_thread");
  std::copy(shared_data.begin(), shared_data.end(), all.begin());
  auto evaluator = std::make_shared<Evaluator>(impl_->evaluator->code, all, shared_data.size());
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shared_data.size()));
  return RecordedSystem(std::make_unique<Impl>(std::move(evaluator), std::move(all), impl_->locks));
}

RecordedSystem RecordedSystem::sibling(std::span<const double> own_data, std::span<const double> locks) const {
  return RecordedSystem(std::make_unique<Impl>(impl_->evaluator, std::vector<double>(own_data.begin(), own_data.end()),
                                               std::vector<double>(locks.begin(), locks.end())));
}

bool RecordedSystem::form_depends_on_data() const {
  return impl_->code().form_depends_on_data();
}

bool RecordedSystem::same_form_for(std::span<const double> data) const {
  if (data.size() != impl_->evaluator->data.size()) refuse_values("same_form_for");
  return impl_->code().same_form_for(data);
}

void RecordedSystem::set_data(std::span<const double> data) {
  Impl& m = *impl_;
  if (m.evaluator->fixed > 0 || data.size() != m.data.size()) refuse_values("set_data");
  std::copy(data.begin(), data.end(), m.data.begin());
  m.values_changed();
  if (m.code().jacobians().discrete_decides()) m.current = &m.code().select(m.data, m.locks);
  m.code().require_possible(m.data);
}

void RecordedSystem::set_locks(std::span<const double> locks) {
  Impl& m = *impl_;
  if (locks.size() != m.locks.size()) refuse_values("set_locks");
  if (same_bits(locks, m.locks)) return;
  const bool structural = m.structure_differs(locks);
  std::copy(locks.begin(), locks.end(), m.locks.begin());
  m.values_changed();
  if (structural) m.select_structure();
}

[[gnu::hot]] void RecordedSystem::set_values(std::span<const double> own_data, std::span<const double> locks) {
  Impl& m = *impl_;
  if (own_data.size() != m.data.size() || locks.size() != m.locks.size()) refuse_values("set_values");
  const bool structural =
      m.code().jacobians().discrete_decides() || m.code().data_may_be_impossible() || m.structure_differs(locks);
  std::copy(own_data.begin(), own_data.end(), m.data.begin());
  std::copy(locks.begin(), locks.end(), m.locks.begin());
  m.values_changed();
  if (structural) m.select_structure();
}

std::vector<double> RecordedSystem::data() const {
  return impl_->all_data();
}
std::span<const double> RecordedSystem::own_data() const {
  return impl_->data;
}
std::span<const double> RecordedSystem::locks() const {
  return impl_->locks;
}
const std::vector<int>& RecordedSystem::structural_locks() const {
  return impl_->code().jacobians().structural_locks();
}
std::vector<int> RecordedSystem::structural_data() const {
  std::vector<char> data(impl_->evaluator->data.size(), 0), locks(impl_->locks.size(), 0);
  impl_->code().jacobians().mark_structural(data, locks);
  std::vector<int> found;
  for (std::size_t k = 0; k < data.size(); ++k)
    if (data[k]) found.push_back(static_cast<int>(k));
  return found;
}
const RecordedEquations& RecordedSystem::equations() const {
  return impl_->code().equations();
}
const std::vector<Expr>& RecordedSystem::right_hand_sides() const {
  return impl_->code().right_hand_sides();
}
const RecordedCode& RecordedSystem::code() const {
  return impl_->code();
}
const Program& RecordedSystem::residual_program() const {
  return impl_->code().residual();
}
[[gnu::hot]] const Structure& RecordedSystem::structure() const {
  return impl_->current->structure;
}
std::string RecordedSystem::variable_name(int j) const {
  return equations().variables[j].name();
}
std::string RecordedSystem::equation_name(int i) const {
  if (!equations().equation_names.empty()) return equations().equation_names[i];
  return "0 = " + to_string(equations().equations[i], 60);
}
std::string RecordedSystem::undefined_part(int i, double t, std::span<const double> x,
                                           std::span<const double> xp) const {
  const std::vector<double> data = impl_->all_data();
  return saltus::undefined_part(equations(), static_cast<std::size_t>(i), {t, x, xp, data, impl_->locks});
}
double RecordedSystem::nominal(int j) const {
  return equations().nominal.empty() ? 1.0 : equations().nominal[j];
}

void RecordedSystem::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) {
  look_at_clock(F.size());
  Evaluator& e = impl_->use();
  Evaluator::make(e.residual, &RecordedCode::residual, *e.code);
  double* const out[] = {F.data()};
  e.run(e.residual, t, x, xp.data(), out);
}

[[gnu::hot]] void RecordedSystem::rhs(double t, std::span<const double> x, std::span<double> xp) {
  Evaluator& e = impl_->use();
  if (e.rhs.empty()) return impl_->first_rhs(*this, t, x, xp);
  double* const out[] = {xp.data()};
  e.run(e.rhs, t, x, nullptr, out);
}

System* RecordedSystem::differentiated(const DerivativePlan& plan) {
  constexpr std::size_t most = 64;
  Impl& m = *impl_;
  Evaluator& e = *m.evaluator;
  if (!e.code->common().differentiable) return nullptr;
  const auto forget_oldest = [](auto& known) {
    if (known.size() > most)
      known.erase(std::min_element(known.begin(), known.end(), [](const auto& a, const auto& b) {
        return a.second.last_asked < b.second.last_asked;
      }));
  };
  const std::pair<int, std::vector<int>> key(m.current->number, RecordedCode::key_of(plan));
  Impl::Differentiated& made = m.differentiated[key];
  made.last_asked = ++e.times_asked;
  if (made.system) return made.system.get();
  forget_oldest(m.differentiated);
  Evaluator::Differentiated& shared = e.differentiated[key];
  shared.last_asked = e.times_asked;
  if (!shared.code) {
    forget_oldest(e.differentiated);
    const std::vector<double> data = m.all_data();
    shared.code = e.code->differentiated(*m.current, data, m.locks, plan);
    std::vector<double> all = data;
    all.insert(all.end(), m.locks.begin(), m.locks.end());
    shared.evaluator = std::make_shared<Evaluator>(shared.code->code, std::move(all), 0);
  }
  made.system = std::make_unique<WithDummyDerivatives>(m, shared.code, shared.evaluator);
  return made.system.get();
}

[[gnu::hot]] StageEvaluator* RecordedSystem::stages(const RungeKuttaStages& method) {
  Impl& m = *impl_;
  for (const auto& made : m.stages)
    if (made->program.code().made_for(method)) return made.get();
  StageProgram* program = m.evaluator->stages(method);
  if (!program) return nullptr;
  m.stages.push_back(std::make_unique<Impl::Stages>(m, *program));
  return m.stages.back().get();
}

void RecordedSystem::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Fx,
                              std::span<double> Fxp) {
  look_at_clock(Fx.size() + Fxp.size());
  Evaluator& e = impl_->use();
  Evaluator::make(e.jacobian, &RecordedCode::jacobian, *e.code);
  double* const out[] = {e.full_x.data(), e.full_xp.data()};
  e.run(e.jacobian, t, x, xp.data(), out);
  for (std::size_t k = 0; k < e.current->keep_x.size(); ++k) Fx[k] = e.full_x[e.current->keep_x[k]];
  for (std::size_t k = 0; k < e.current->keep_xp.size(); ++k) Fxp[k] = e.full_xp[e.current->keep_xp[k]];
}

void RecordedSystem::time_derivative(double t, std::span<const double> x, std::span<const double> xp,
                                     std::span<double> Ft) {
  Evaluator& e = impl_->use();
  Evaluator::make(e.time_derivative, &RecordedCode::time_derivative, *e.code);
  double* const out[] = {Ft.data()};
  e.run(e.time_derivative, t, x, xp.data(), out);
}

void RecordedSystem::taylor(double t, int level, std::span<const double> X, std::span<double> F) {
  if (!impl_->code().common().taylor) return System::taylor(t, level, X, F);
  Evaluator& e = impl_->use();
  Evaluator::make(e.residual_taylor, e.has_residual_taylor, &RecordedCode::residual_series, *e.code);
  const std::size_t rows = e.eq().equations.size();
  e.start(e.residual_taylor, t, level);
  for (int k = 0; k <= level; ++k) {
    e.set_state(e.residual_taylor, k, X, true);
    e.residual_taylor.advance(k);
    e.residual_taylor.get(0, k, F.subspan(static_cast<std::size_t>(k) * rows, rows));
  }
}

void RecordedSystem::taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F,
                                     std::span<double> Fx, std::span<double> Fxp) {
  if (!impl_->code().common().taylor) return System::taylor_jacobian(t, level, X, F, Fx, Fxp);
  Evaluator& e = impl_->use();
  Evaluator::make(e.jacobian_taylor, e.has_jacobian_taylor, &RecordedCode::jacobian_series, *e.code);
  const std::size_t rows = e.eq().equations.size();
  const auto &keep_x = e.current->keep_x, &keep_xp = e.current->keep_xp;
  e.start(e.jacobian_taylor, t, level);
  for (int k = 0; k <= level; ++k) {
    e.set_state(e.jacobian_taylor, k, X, true);
    e.jacobian_taylor.advance(k);
    e.jacobian_taylor.get(0, k, F.subspan(static_cast<std::size_t>(k) * rows, rows));
    const auto level_offset = static_cast<std::size_t>(k);
    for (std::size_t i = 0; i < keep_x.size(); ++i)
      Fx[level_offset * keep_x.size() + i] = e.jacobian_taylor.get(1, keep_x[i], k);
    for (std::size_t i = 0; i < keep_xp.size(); ++i)
      Fxp[level_offset * keep_xp.size() + i] = e.jacobian_taylor.get(2, keep_xp[i], k);
  }
}

void RecordedSystem::solution_taylor(double t, int order, std::span<double> X) {
  const Structure& common = impl_->code().common();
  if (!common.taylor || !common.explicit_ode) return System::solution_taylor(t, order, X);
  Evaluator& e = impl_->use();
  const std::size_t n = e.eq().variables.size();
  const auto [recorded, fresh] = e.solutions.try_emplace(order);
  if (fresh) recorded->second = RunnableProgram(e.code->solution(order));
  if (!recorded->second.empty()) {
    double* const out[] = {X.data() + n};
    return e.run(recorded->second, t, X, nullptr, out);
  }
  Evaluator::make(e.rhs_taylor, e.has_rhs_taylor, &RecordedCode::rhs_series, *e.code);
  e.start(e.rhs_taylor, t, order);
  for (int k = 0; k < order; ++k) {
    e.set_state(e.rhs_taylor, k, X, false);
    e.rhs_taylor.advance(k);
    const std::span<double> next = X.subspan(static_cast<std::size_t>(k + 1) * n, n);
    e.rhs_taylor.get(0, k, next);
    for (double& value : next) value /= k + 1;
  }
}

void RecordedSystem::start_stages(double t, std::span<const int> c, std::span<const int> d, int last) {
  Evaluator& e = impl_->use();
  const bool taylor = e.code->common().taylor;
  if (taylor && !e.staged)
    e.staged = std::make_unique<StagedSolution>(e.code->residual_series(), e.eq().variables.size(), e.eq().data.size(),
                                                e.eq().locks.size(), e.code->options(), e.code->staged_programs());
  if (!taylor || !e.staged->start(t, c, d, last, e.data, e.locks)) System::start_stages(t, c, d, last);
}

void RecordedSystem::stage_residual(int stage, std::span<const double> X, std::span<double> F) {
  StagedSolution& staged = impl_->staged();
  if (!staged.possible()) return System::stage_residual(stage, X, F);
  staged.stages().residual(stage, X, F);
}

void RecordedSystem::settle_stage(int stage, std::span<const double> X) {
  StagedSolution& staged = impl_->staged();
  if (staged.possible()) staged.stages().settle(stage, X);
}

bool RecordedSystem::correct_stages(std::span<const double> inverse, std::span<double> X) {
  return impl_->staged().correct(inverse, X, impl_->evaluator->data, impl_->locks);
}

bool RecordedSystem::extend_stages(std::span<const double> inverse, int order, std::span<double> X) {
  return impl_->staged().extend(inverse, order, X, impl_->evaluator->data, impl_->locks);
}

bool RecordedSystem::project(double t, std::span<double> x) {
  Evaluator& e = impl_->use();
  if (e.eq().invariants.empty()) return false;
  if (!e.projection) e.projection = std::make_unique<Projection>(e.code->projection());
  return e.projection->apply(t, x, e.data, e.locks);
}

[[gnu::hot]] void RecordedSystem::guards(double t, std::span<const double> x, std::span<const double> xp,
                                         std::span<double> g) {
  Evaluator& e = impl_->use();
  if (e.guards.empty()) return impl_->first_guards(*this, t, x, xp, g);
  double* const out[] = {g.data()};
  e.run(e.guards, t, x, xp.data(), out);
}

[[gnu::hot]] std::span<const LinearGuard> RecordedSystem::linear_guards() {
  return impl_->linear_now ? *impl_->linear_now : impl_->find_linear_guards();
}

bool RecordedSystem::enclose_guards(Interval t, int order, std::span<const Interval> X, std::span<const int> which,
                                    std::span<Interval> G) {
  Evaluator& e = impl_->use();
  if (!e.guard_enclosure) e.guard_enclosure = std::make_unique<GuardEnclosure>(e.code->guard_enclosure());
  return e.guard_enclosure->enclose(t, order, X, {e.data, e.locks}, which, G);
}

bool RecordedSystem::enclose_residual(Interval t, int order, std::span<const Interval> X, std::span<const int> which,
                                      std::span<Interval> F) {
  if (!impl_->code().common().taylor) return false;
  Evaluator& e = impl_->use();
  e.equations_enclosed().residual(t, order, X, e.eq().variables.size(), {e.data, e.locks}, which,
                                  e.eq().equations.size(), F);
  return true;
}

bool RecordedSystem::enclose_jacobian(Interval t, std::span<const Interval> X, std::span<Interval> Fx,
                                      std::span<Interval> Fxp) {
  if (!impl_->code().common().taylor) return false;
  Evaluator& e = impl_->use();
  e.enclosed_Fx.resize(e.full_x.size());
  e.enclosed_Fxp.resize(e.full_xp.size());
  e.equations_enclosed().jacobian(t, X, e.eq().variables.size(), {e.data, e.locks}, e.enclosed_Fx, e.enclosed_Fxp);
  for (std::size_t k = 0; k < e.current->keep_x.size(); ++k) Fx[k] = e.enclosed_Fx[e.current->keep_x[k]];
  for (std::size_t k = 0; k < e.current->keep_xp.size(); ++k) Fxp[k] = e.enclosed_Fxp[e.current->keep_xp[k]];
  return true;
}

void RecordedSystem::guards_taylor(double t, int order, std::span<const double> X, std::span<double> G) {
  if (equations().guards.empty()) return;
  const Structure& common = impl_->code().common();
  if (!common.taylor) return System::guards_taylor(t, order, X, G);
  Evaluator& e = impl_->use();
  Evaluator::make(e.guard_taylor, e.has_guard_taylor, &RecordedCode::guard_series, *e.code);
  const std::size_t count = e.eq().guards.size();
  e.start(e.guard_taylor, t, order);
  for (int k = 0; k <= order; ++k) {
    e.set_state(e.guard_taylor, k, X, !common.explicit_ode);
    e.guard_taylor.advance(k);
    e.guard_taylor.get(0, k, G.subspan(static_cast<std::size_t>(k) * count, count));
  }
}

}  // namespace saltus
