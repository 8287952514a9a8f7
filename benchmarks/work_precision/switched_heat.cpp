// Heat conduction with a thermostat: a large sparse DAE of index 1 that switches 51 times. How much time and memory for
// which error of the last switching time, against IDA with KLU?
//
//   saltus_bench_switched_heat METHOD UNKNOWNS RTOL      METHOD: rodas4, rodas5p, radau, bdf, auto, or ida
//
// Per cell the energy e and the temperature T, e' = (q_left - q_right)/dx, 0 = e - T - beta T^2/2; heat flows in on the
// left while the thermostat, at a quarter of the rod, is on. Both solvers call the same hand-written functions; one
// process per run, so that the peak of its memory counts.
#include <fmt/format.h>
#include <saltus/hybrid/simulator.hpp>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>

#ifdef WITH_SUNDIALS
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_sparse.h>
#endif

using namespace saltus;

namespace {

constexpr double stop = 6.4, beta = 0.4, transfer = 1.0, heating = 4.0, low = 0.95, high = 1.05;

/// Variable 2i is e_i, 2i+1 is T_i.
class Rod final : public System {
 public:
  explicit Rod(int unknowns) : cells_(unknowns / 2), sensor_(cells_ / 4) {
    structure_.variables = structure_.equations = 2 * cells_;
    structure_.guards = 1;
    structure_.constant_mass = true;
    structure_.guard_variables = {2 * sensor_ + 1};
    auto& x = structure_.state_pattern;
    auto& xp = structure_.derivative_pattern;
    x.rows = x.columns = xp.rows = xp.columns = 2 * cells_;
    x.start.reserve(static_cast<std::size_t>(2 * cells_) + 1);
    xp.start.reserve(static_cast<std::size_t>(2 * cells_) + 1);
    x.row.reserve(static_cast<std::size_t>(5 * cells_));
    xp.row.reserve(static_cast<std::size_t>(cells_));
    for (int i = 0; i < cells_; ++i) {
      x.row.push_back(2 * i + 1);
      x.start.push_back(x.nonzeros());
      if (i > 0) x.row.push_back(2 * i - 2);
      x.row.push_back(2 * i);
      x.row.push_back(2 * i + 1);
      if (i + 1 < cells_) x.row.push_back(2 * i + 2);
      x.start.push_back(x.nonzeros());
      xp.row.push_back(2 * i);
      xp.start.push_back(xp.nonzeros());
      xp.start.push_back(xp.nonzeros());
    }
  }

  int cells() const { return cells_; }
  static double energy(double T) { return T + 0.5 * beta * T * T; }
  double start_temperature(int i) const { return 0.9 * (1.0 - 0.3 * (i + 0.5) / cells_); }
  double guard(const double* x) const { return on ? x[2 * sensor_ + 1] - high : low - x[2 * sensor_ + 1]; }

  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    double left = on ? heating : 0.0;
    for (int i = 0; i < cells_; ++i) {
      const double T = x[2 * i + 1], right = i + 1 < cells_ ? (T - x[2 * i + 3]) * cells_ : transfer * T;
      F[2 * i] = xp[2 * i] - (left - right) * cells_;
      F[2 * i + 1] = x[2 * i] - energy(T);
      left = right;
    }
  }
  void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    const double d = static_cast<double>(cells_) * cells_;
    std::size_t k = 0;
    for (int i = 0; i < cells_; ++i) {
      Fx[k++] = 1.0;
      if (i > 0) Fx[k++] = -d;
      Fx[k++] = (i > 0 ? d : 0.0) + (i + 1 < cells_ ? d : transfer * cells_);
      Fx[k++] = -1.0 - beta * x[2 * i + 1];
      if (i + 1 < cells_) Fx[k++] = -d;
      Fxp[i] = 1.0;
    }
  }
  void time_derivative(double, std::span<const double>, std::span<const double>, std::span<double> Ft) override {
    std::fill(Ft.begin(), Ft.end(), 0.0);
  }
  void guards(double, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    g[0] = guard(x.data());
  }

  bool on = true;

 private:
  int cells_, sensor_;
  Structure structure_;
};

class Thermostat final : public HybridSystem {
 public:
  explicit Thermostat(int unknowns) : rod_(unknowns) {
    variables_.resize(static_cast<std::size_t>(2 * rod_.cells()));
    for (int i = 0; i < rod_.cells(); ++i) {
      const double T = rod_.start_temperature(i);
      variables_[2 * i] = {.name = "e" + std::to_string(i), .start = Rod::energy(T)};
      variables_[2 * i + 1] = {.name = "T" + std::to_string(i), .start = T};
    }
  }
  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override { return {.automaton = 0, .discrete = {}, .locks = {0.0}, .conditions = {}}; }
  std::string describe(const Mode& mode) const override { return mode.automaton == 0 ? "on" : "off"; }
  System& system(const Mode& mode) override {
    rod_.on = mode.automaton == 0;
    return rod_;
  }
  int side(const Mode& mode, int) const override { return mode.locks[0] != 0.0 ? +1 : -1; }
  void set_side(Mode& mode, int, int side) const override { mode.locks[0] = side > 0 ? 1.0 : 0.0; }
  double next_time_event(const Mode&, double, int direction, std::vector<int>&) override {
    return direction * std::numeric_limits<double>::infinity();
  }
  bool transition(const EventInput&, Transition& transition) override {
    if (transition.mode.locks[0] == 0.0) return false;
    transition.mode.automaton = 1 - transition.mode.automaton;
    transition.mode.locks[0] = 0.0;
    return true;
  }

 private:
  std::string name_ = "thermostat";
  Rod rod_;
  std::vector<VariableInfo> variables_;
  std::vector<GuardInfo> guards_ = {{"the sensor reaches its limit"}};
};

/// The last switching time, from runs of rodas5p with rtol 1e-9 (1e-7 for 100000 unknowns, with errors far below those compared here).
double reference(int unknowns) {
  switch (unknowns) {
    case 1000: return 6.372330307316;
    case 10000: return 6.344341928651;
    case 100000: return 6.341538819997;
    default: return std::nan("");
  }
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void report(const std::string& method, int unknowns, double rtol, double seconds, long events, long steps, double last,
            const std::string& note) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:8} {:7} unknowns rtol {:.0e}: {:8.3f} s, {:6.1f} MB, {} switches, {} steps, last at {:.12f}, error {:.1e} {}\n",
             method, unknowns, rtol, seconds, static_cast<double>(usage.ru_maxrss) / 1024.0, events, steps, last,
             std::abs(last - reference(unknowns)), note);
}

void run_ours(const std::string& method, int unknowns, double rtol) {
  const auto known = find_method(method);
  if (!known) throw UsageError("there is no method '" + method + "'");
  const double begin = cpu_seconds();
  Simulator simulator(std::make_shared<Thermostat>(unknowns), {.stop = stop,
                                                               .rtol = rtol,
                                                               .atol = rtol,
                                                               .method = *known,
                                                               .keep_steps = false,
                                                               .keep_event_values = false});
  simulator.run();
  const double seconds = cpu_seconds() - begin;
  const Trajectory& result = simulator.trajectory();
  report(method, unknowns, rtol, seconds, static_cast<long>(result.events().size()), result.statistics().steps,
         result.events().empty() ? 0.0 : result.events().back().t,
         fmt::format("{}; {} rejected, {} evaluations, {} factorisations {}", result.statistics().method, result.statistics().rejected,
                     result.statistics().evaluations, result.statistics().factorisations, result.status().message));
}

#ifdef WITH_SUNDIALS
int ida_residual(sunrealtype t, N_Vector x, N_Vector xp, N_Vector F, void* user) {
  auto& rod = *static_cast<Rod*>(user);
  const auto n = static_cast<std::size_t>(2 * rod.cells());
  rod.residual(t, {NV_DATA_S(x), n}, {NV_DATA_S(xp), n}, {NV_DATA_S(F), n});
  return 0;
}
int ida_root(sunrealtype, N_Vector x, N_Vector, sunrealtype* g, void* user) {
  g[0] = static_cast<Rod*>(user)->guard(NV_DATA_S(x));
  return 0;
}
/// Written straight into IDA's matrix, as a user of IDA would.
int ida_jacobian(sunrealtype, sunrealtype c, N_Vector x, N_Vector, N_Vector, SUNMatrix J, void* user, N_Vector, N_Vector,
                 N_Vector) {
  auto& rod = *static_cast<Rod*>(user);
  const int cells = rod.cells();
  const double d = static_cast<double>(cells) * cells;
  sunindextype *start = SM_INDEXPTRS_S(J), *row = SM_INDEXVALS_S(J), k = 0;
  double* v = SM_DATA_S(J);
  const auto put = [&](int i, double value) { row[k] = i, v[k++] = value; };
  for (int i = 0; i < cells; ++i) {
    start[2 * i] = k;
    put(2 * i, c);
    put(2 * i + 1, 1.0);
    start[2 * i + 1] = k;
    if (i > 0) put(2 * i - 2, -d);
    put(2 * i, (i > 0 ? d : 0.0) + (i + 1 < cells ? d : transfer * cells));
    put(2 * i + 1, -1.0 - beta * NV_Ith_S(x, 2 * i + 1));
    if (i + 1 < cells) put(2 * i + 2, -d);
  }
  start[2 * cells] = k;
  return 0;
}

void run_ida(int unknowns, double rtol) {
  const double begin = cpu_seconds();
  Rod rod(unknowns);
  const int n = 2 * rod.cells();
  SUNContext context = nullptr;
  SUNContext_Create(nullptr, &context);
  N_Vector x = N_VNew_Serial(n, context), xp = N_VNew_Serial(n, context), id = N_VNew_Serial(n, context);
  for (int i = 0; i < rod.cells(); ++i) {
    NV_Ith_S(x, 2 * i + 1) = rod.start_temperature(i);
    NV_Ith_S(x, 2 * i) = Rod::energy(rod.start_temperature(i));
    NV_Ith_S(id, 2 * i) = 1.0;
    NV_Ith_S(id, 2 * i + 1) = 0.0;
  }
  N_VConst(0.0, xp);
  void* m = IDACreate(context);
  IDAInit(m, ida_residual, 0.0, x, xp);
  IDASStolerances(m, rtol, rtol);
  IDASetUserData(m, &rod);
  IDASetId(m, id);
  IDASetMaxNumSteps(m, -1);
  SUNMatrix J = SUNSparseMatrix(n, n, 3 * n, CSC_MAT, context);
  SUNLinearSolver solver = SUNLinSol_KLU(x, J, context);
  IDASetLinearSolver(m, solver, J);
  IDASetJacFn(m, ida_jacobian);
  IDARootInit(m, 1, ida_root);
  int rising = 1;
  IDASetRootDirection(m, &rising);
  IDACalcIC(m, IDA_YA_YDP_INIT, 1e-6);
  double t = 0.0, last = 0.0;
  long events = 0, steps = 0, part = 0;
  for (;;) {
    IDASetStopTime(m, stop);
    const int flag = IDASolve(m, stop, &t, x, xp, IDA_NORMAL);
    IDAGetNumSteps(m, &part);
    steps += part;
    if (flag != IDA_ROOT_RETURN) break;
    rod.on = !rod.on;
    last = t;
    ++events;
    IDAReInit(m, t, x, xp);
    if (IDACalcIC(m, IDA_YA_YDP_INIT, t + 1e-6) < 0) break;
  }
  report("ida", unknowns, rtol, cpu_seconds() - begin, events, steps, last, "");
}
#endif

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print("saltus_bench_switched_heat METHOD UNKNOWNS RTOL\n");
    return 2;
  }
  const std::string method = argv[1];
  const int unknowns = std::atoi(argv[2]);
  const double rtol = std::atof(argv[3]);
#ifdef WITH_SUNDIALS
  if (method == "ida") return run_ida(unknowns, rtol), 0;
#endif
  run_ours(method, unknowns, rtol);
}
