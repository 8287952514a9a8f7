// The thermostat with CVODE (band matrix) and IDA (KLU), both with exact Jacobians.
#pragma once

#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_klu.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_sparse.h>

#include "heat.hpp"
#include "sundials_driver.hpp"

namespace saltus::bench {

struct HeatCallbacks {
  Heat* p;
  std::vector<double> slopes;
  long evaluations = 0, guards = 0;

  static HeatCallbacks& of(void* data) { return *static_cast<HeatCallbacks*>(data); }
  static int rhs(sunrealtype, N_Vector y, N_Vector dy, void* data) {
    ++of(data).evaluations;
    of(data).p->rhs(NV_DATA_S(y), NV_DATA_S(dy));
    return 0;
  }
  static int residual(sunrealtype t, N_Vector y, N_Vector yp, N_Vector r, void* data) {
    rhs(t, y, r, data);
    N_VLinearSum(1.0, yp, -1.0, r, r);
    return 0;
  }
  static int guard(sunrealtype, N_Vector y, sunrealtype* g, void* data) {
    ++of(data).guards;
    g[0] = of(data).p->guard(NV_DATA_S(y));
    return 0;
  }
  static int guard_dae(sunrealtype t, N_Vector y, N_Vector, sunrealtype* g, void* data) { return guard(t, y, g, data); }
  static int band(sunrealtype, N_Vector y, N_Vector dy, SUNMatrix J, void* data, N_Vector, N_Vector, N_Vector) {
    const Heat& h = *of(data).p;
    for (long i = 0; i < h.n; ++i) {
      double row[3];
      h.jacobian_row(NV_DATA_S(y), i, NV_Ith_S(dy, i), row);
      for (long j = std::max(0L, i - 1); j <= std::min(h.n - 1, i + 1); ++j) SM_ELEMENT_B(J, i, j) = row[j - i + 1];
    }
    return 0;
  }
  static int sparse(sunrealtype, sunrealtype c, N_Vector y, N_Vector yp, N_Vector, SUNMatrix J, void* data, N_Vector, N_Vector, N_Vector) {
    const Heat& h = *of(data).p;
    sunindextype *start = SM_INDEXPTRS_S(J), *rows = SM_INDEXVALS_S(J), place = 0;
    double* values = SM_DATA_S(J);
    for (long j = 0; j < h.n; ++j) {
      start[j] = place;
      for (long i = std::max(0L, j - 1); i <= std::min(h.n - 1, j + 1); ++i) {
        double row[3];
        h.jacobian_row(NV_DATA_S(y), i, NV_Ith_S(yp, i), row);
        rows[place] = i;
        values[place++] = (i == j ? c : 0.0) - row[j - i + 1];
      }
    }
    start[h.n] = place;
    return 0;
  }
};

inline Work run_heat_cvode(Heat p, double stop, double rtol, double atol) {
  Sundials s(p.n);
  for (long i = 0; i < p.n; ++i) s.values()[i] = p.start(i);
  HeatCallbacks calls{&p, {}};
  void* m = CVodeCreate(CV_BDF, s.context);
  CVodeInit(m, HeatCallbacks::rhs, 0.0, s.y);
  CVodeSStolerances(m, rtol, atol);
  CVodeSetUserData(m, &calls);
  CVodeSetMaxNumSteps(m, -1);
  s.matrix = SUNBandMatrix(p.n, 1, 1, s.context);
  s.linear = SUNLinSol_Band(s.y, s.matrix, s.context);
  CVodeSetLinearSolver(m, s.linear, s.matrix);
  CVodeSetJacFn(m, HeatCallbacks::band);
  CVodeRootInit(m, 1, HeatCallbacks::guard);
  CVodeSetNoInactiveRootWarn(m);
  int falling = -1;
  CVodeSetRootDirection(m, &falling);
  CVodeSetStopTime(m, stop);
  Work work;
  for (double t = 0.0;;) {
    const int flag = CVode(m, stop, s.y, &t, CV_NORMAL);
    long steps = 0;
    CVodeGetNumSteps(m, &steps);
    work.steps += steps;
    if (flag < 0) work.note = "failed, flag " + std::to_string(flag);
    if (flag != CV_ROOT_RETURN) break;
    p.toggle(t);
    CVodeReInit(m, t, s.y);
  }
  CVodeFree(&m);
  work.evaluations = calls.evaluations;
  work.guard_evaluations = calls.guards;
  work.events = p.events;
  work.error = p.last_event;
  return work;
}

inline Work run_heat_ida(Heat p, double stop, double rtol, double atol) {
  Sundials s(p.n);
  for (long i = 0; i < p.n; ++i) s.values()[i] = p.start(i);
  p.rhs(s.values(), s.slopes());
  HeatCallbacks calls{&p, {}};
  void* m = IDACreate(s.context);
  IDAInit(m, HeatCallbacks::residual, 0.0, s.y, s.yp);
  IDASStolerances(m, rtol, atol);
  IDASetUserData(m, &calls);
  IDASetMaxNumSteps(m, -1);
  s.matrix = SUNSparseMatrix(p.n, p.n, 3 * p.n, CSC_MAT, s.context);
  s.linear = SUNLinSol_KLU(s.y, s.matrix, s.context);
  IDASetLinearSolver(m, s.linear, s.matrix);
  IDASetJacFn(m, HeatCallbacks::sparse);
  IDARootInit(m, 1, HeatCallbacks::guard_dae);
  IDASetNoInactiveRootWarn(m);
  int falling = -1;
  IDASetRootDirection(m, &falling);
  IDASetStopTime(m, stop);
  Work work;
  for (double t = 0.0;;) {
    const int flag = IDASolve(m, stop, &t, s.y, s.yp, IDA_NORMAL);
    long steps = 0;
    IDAGetNumSteps(m, &steps);
    work.steps += steps;
    if (flag < 0) work.note = "failed, flag " + std::to_string(flag);
    if (flag != IDA_ROOT_RETURN) break;
    p.toggle(t);
    p.rhs(s.values(), s.slopes());
    IDAReInit(m, t, s.y, s.yp);
  }
  IDAFree(&m);
  work.evaluations = calls.evaluations;
  work.guard_evaluations = calls.guards;
  work.events = p.events;
  work.error = p.last_event;
  return work;
}

}  // namespace saltus::bench
