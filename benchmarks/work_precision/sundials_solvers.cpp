// CVODE (BDF), IDA and ARKODE (DIRK of order 3 to 5 by tolerance), with the exact Jacobians of the System, dense or KLU.
#include <arkode/arkode_arkstep.h>
#include <cvode/cvode.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <saltus/linalg/sparse.hpp>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include <algorithm>

#include "work_precision.hpp"

namespace saltus::bench {
namespace {

constexpr int largest_dense = 50;
constexpr long most_steps = 500'000;

/// A System as SUNDIALS' callbacks see it, and all its objects.
struct Session {
  System& system;
  int n;
  std::vector<int> from_x, from_xp;  // filled by the next
  SparsePattern both;
  std::vector<double> Fx, Fxp, zero;
  SUNContext context = nullptr;
  N_Vector x = nullptr, xp = nullptr;
  SUNMatrix matrix = nullptr;
  SUNLinearSolver solver = nullptr;
  long evaluations = 0;

  Session(System& s, const std::vector<double>& x0, const std::vector<double>& xp0)
      : system(s),
        n(s.structure().variables),
        both(unite(s.structure().state_pattern, s.structure().derivative_pattern, &from_x, &from_xp)),
        Fx(s.structure().state_pattern.row.size()),
        Fxp(s.structure().derivative_pattern.row.size()),
        zero(static_cast<std::size_t>(n), 0.0) {
    SUNContext_Create(nullptr, &context);
    x = N_VNew_Serial(n, context);
    xp = N_VNew_Serial(n, context);
    std::copy(x0.begin(), x0.end(), NV_DATA_S(x));
    std::copy(xp0.begin(), xp0.end(), NV_DATA_S(xp));
    if (n <= largest_dense) {
      matrix = SUNDenseMatrix(n, n, context);
      solver = SUNLinSol_Dense(x, matrix, context);
    } else {
      matrix = SUNSparseMatrix(n, n, both.nonzeros(), CSC_MAT, context);
      solver = SUNLinSol_KLU(x, matrix, context);
    }
  }
  ~Session() {
    SUNLinSolFree(solver);
    SUNMatDestroy(matrix);
    N_VDestroy(x);
    N_VDestroy(xp);
    SUNContext_Free(&context);
  }
  Session(const Session&) = delete;

  std::span<const double> values(N_Vector v) const { return {NV_DATA_S(v), static_cast<std::size_t>(n)}; }
  std::span<double> target(N_Vector v) const { return {NV_DATA_S(v), static_cast<std::size_t>(n)}; }

  /// a F_x + b F_x' into the matrix.
  void fill(SUNMatrix J, double a, double b) {
    const Structure& s = system.structure();
    if (n <= largest_dense) {
      SUNMatZero(J);
      const auto add = [&](const SparsePattern& p, const std::vector<double>& v, double factor) {
        for (int j = 0; j < n; ++j)
          for (int k = p.start[j]; k < p.start[j + 1]; ++k) SM_ELEMENT_D(J, p.row[k], j) += factor * v[k];
      };
      add(s.state_pattern, Fx, a);
      add(s.derivative_pattern, Fxp, b);
      return;
    }
    std::copy(both.start.begin(), both.start.end(), SM_INDEXPTRS_S(J));
    std::copy(both.row.begin(), both.row.end(), SM_INDEXVALS_S(J));
    double* v = SM_DATA_S(J);
    std::fill(v, v + both.nonzeros(), 0.0);
    for (std::size_t k = 0; k < Fx.size(); ++k) v[from_x[k]] += a * Fx[k];
    for (std::size_t k = 0; k < Fxp.size(); ++k) v[from_xp[k]] += b * Fxp[k];
  }
};

int rhs(sunrealtype t, N_Vector x, N_Vector xp, void* user) {
  auto& s = *static_cast<Session*>(user);
  ++s.evaluations;
  s.system.rhs(t, s.values(x), s.target(xp));
  return 0;
}

/// F = x' - f: the Jacobian of f is -F_x.
int rhs_jacobian(sunrealtype t, N_Vector x, N_Vector, SUNMatrix J, void* user, N_Vector, N_Vector, N_Vector) {
  auto& s = *static_cast<Session*>(user);
  s.system.jacobian(t, s.values(x), s.zero, s.Fx, s.Fxp);
  s.fill(J, -1.0, 0.0);
  return 0;
}

int residual(sunrealtype t, N_Vector x, N_Vector xp, N_Vector F, void* user) {
  auto& s = *static_cast<Session*>(user);
  ++s.evaluations;
  s.system.residual(t, s.values(x), s.values(xp), s.target(F));
  return 0;
}

int residual_jacobian(sunrealtype t, sunrealtype c, N_Vector x, N_Vector xp, N_Vector, SUNMatrix J, void* user,
                      N_Vector, N_Vector, N_Vector) {
  auto& s = *static_cast<Session*>(user);
  s.system.jacobian(t, s.values(x), s.values(xp), s.Fx, s.Fxp);
  s.fill(J, 1.0, c);
  return 0;
}

Outcome finish(Session& s, int flag, long steps, std::size_t count) {
  Outcome o;
  o.ok = flag >= 0;
  if (!o.ok) o.message = "flag " + std::to_string(flag);
  o.x.assign(NV_DATA_S(s.x), NV_DATA_S(s.x) + count);
  o.steps = steps;
  o.evaluations = s.evaluations;
  return o;
}

Outcome cvode(const Case& c, double rtol) {
  if (!c.system->structure().explicit_ode) return {};
  Session s(*c.system, c.x0, c.xp0);
  void* m = CVodeCreate(CV_BDF, s.context);
  CVodeInit(m, rhs, c.t0, s.x);
  CVodeSStolerances(m, rtol, c.atol_factor * rtol);
  CVodeSetUserData(m, &s);
  CVodeSetLinearSolver(m, s.solver, s.matrix);
  CVodeSetJacFn(m, rhs_jacobian);
  CVodeSetMaxNumSteps(m, most_steps);
  CVodeSetErrFile(m, nullptr);
  CVodeSetStopTime(m, c.t1);
  double t = c.t0;
  const int flag = CVode(m, c.t1, s.x, &t, CV_NORMAL);
  long steps = 0;
  CVodeGetNumSteps(m, &steps);
  Outcome o = finish(s, flag, steps, c.x0.size());
  CVodeFree(&m);
  return o;
}

Outcome ida(const Case& c, double rtol) {
  System& system = c.stabilised ? *c.stabilised : *c.system;
  Session s(system, c.stabilised ? c.stabilised_x0 : c.x0, c.stabilised ? c.stabilised_xp0 : c.xp0);
  void* m = IDACreate(s.context);
  IDAInit(m, residual, c.t0, s.x, s.xp);
  IDASStolerances(m, rtol, c.atol_factor * rtol);
  IDASetUserData(m, &s);
  N_Vector id = N_VNew_Serial(s.n, s.context);
  for (int j = 0; j < s.n; ++j) NV_Ith_S(id, j) = system.structure().differentiated(j) ? 1.0 : 0.0;
  IDASetId(m, id);
  IDASetSuppressAlg(m, c.reduced ? SUNTRUE : SUNFALSE);
  IDASetLinearSolver(m, s.solver, s.matrix);
  IDASetJacFn(m, residual_jacobian);
  IDASetMaxNumSteps(m, most_steps);
  IDASetErrFile(m, nullptr);
  IDASetStopTime(m, c.t1);
  double t = c.t0;
  const int flag = IDASolve(m, c.t1, &t, s.x, s.xp, IDA_NORMAL);
  long steps = 0;
  IDAGetNumSteps(m, &steps);
  Outcome o = finish(s, flag, steps, c.x0.size());
  N_VDestroy(id);
  IDAFree(&m);
  return o;
}

Outcome arkode(const Case& c, double rtol) {
  if (!c.system->structure().explicit_ode) return {};
  Session s(*c.system, c.x0, c.xp0);
  void* m = ARKStepCreate(nullptr, rhs, c.t0, s.x, s.context);
  ARKStepSetOrder(m, rtol < 1e-5 ? 5 : 4);
  ARKStepSStolerances(m, rtol, c.atol_factor * rtol);
  ARKStepSetUserData(m, &s);
  ARKStepSetLinearSolver(m, s.solver, s.matrix);
  ARKStepSetJacFn(m, rhs_jacobian);
  ARKStepSetMaxNumSteps(m, most_steps);
  ARKStepSetErrFile(m, nullptr);
  ARKStepSetStopTime(m, c.t1);
  double t = c.t0;
  const int flag = ARKStepEvolve(m, c.t1, s.x, &t, ARK_NORMAL);
  long steps = 0;
  ARKStepGetNumSteps(m, &steps);
  Outcome o = finish(s, flag, steps, c.x0.size());
  ARKStepFree(&m);
  return o;
}

}  // namespace

std::vector<Solver> sundials_solvers() {
  return {{"CVODE", false, cvode}, {"IDA", false, ida}, {"ARKODE DIRK", false, arkode}};
}

}  // namespace saltus::bench
