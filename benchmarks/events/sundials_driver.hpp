// CVODE and ARKODE with their own root finding, re-initialised at every event.
#pragma once

#include <arkode/arkode_erkstep.h>
#include <cvode/cvode.h>
#include <ida/ida.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include <string>

#include "measure.hpp"

namespace saltus::bench {

/// The parts that all drivers share; frees what it made.
struct Sundials {
  SUNContext context = nullptr;
  N_Vector y = nullptr, yp = nullptr;
  SUNMatrix matrix = nullptr;
  SUNLinearSolver linear = nullptr;
  SUNNonlinearSolver nonlinear = nullptr;

  explicit Sundials(sunindextype n) {
    SUNContext_Create(nullptr, &context);
    y = N_VNew_Serial(n, context);
    yp = N_VNew_Serial(n, context);
  }
  Sundials(const Sundials&) = delete;
  Sundials& operator=(const Sundials&) = delete;
  ~Sundials() {
    if (nonlinear) SUNNonlinSolFree(nonlinear);
    if (linear) SUNLinSolFree(linear);
    if (matrix) SUNMatDestroy(matrix);
    N_VDestroy(y);
    N_VDestroy(yp);
    SUNContext_Free(&context);
  }
  double* values() { return NV_DATA_S(y); }
  double* slopes() { return NV_DATA_S(yp); }
};

template <class Automaton>
struct Callbacks {
  Automaton* p;
  long evaluations = 0, guards = 0;

  static int rhs(sunrealtype t, N_Vector y, N_Vector dy, void* data) {
    auto* self = static_cast<Callbacks*>(data);
    ++self->evaluations;
    self->p->rhs(t, NV_DATA_S(y), NV_DATA_S(dy));
    return 0;
  }
  static int residual(sunrealtype t, N_Vector y, N_Vector yp, N_Vector r, void* data) {
    rhs(t, y, r, data);
    for (int k = 0; k < Automaton::n; ++k) NV_Ith_S(r, k) = NV_Ith_S(yp, k) - NV_Ith_S(r, k);
    return 0;
  }
  static int guard(sunrealtype t, N_Vector y, sunrealtype* g, void* data) {
    auto* self = static_cast<Callbacks*>(data);
    ++self->guards;
    g[0] = self->p->guard(t, NV_DATA_S(y));
    return 0;
  }
  static int guard_dae(sunrealtype t, N_Vector y, N_Vector, sunrealtype* g, void* data) { return guard(t, y, g, data); }
};

template <class Automaton>
Work finish(const Automaton& p, const Callbacks<Automaton>& calls, Work work, int flag) {
  work.evaluations = calls.evaluations;
  work.guard_evaluations = calls.guards;
  work.events = p.events;
  work.error = p.error();
  if (flag < 0) work.note = "failed, flag " + std::to_string(flag);
  return work;
}

template <class Automaton>
Work run_cvode(Automaton p, int family, double rtol, double atol) {
  Sundials s(Automaton::n);
  std::copy(p.y.begin(), p.y.end(), s.values());
  Callbacks<Automaton> calls{&p};
  void* m = CVodeCreate(family, s.context);
  CVodeInit(m, Callbacks<Automaton>::rhs, 0.0, s.y);
  CVodeSStolerances(m, rtol, atol);
  CVodeSetUserData(m, &calls);
  CVodeSetMaxNumSteps(m, -1);
  CVodeSetMaxHnilWarns(m, -1);
  if (p.longest_step < 1e100) CVodeSetMaxStep(m, p.longest_step);
  if (family == CV_BDF) {
    s.matrix = SUNDenseMatrix(Automaton::n, Automaton::n, s.context);
    s.linear = SUNLinSol_Dense(s.y, s.matrix, s.context);
    CVodeSetLinearSolver(m, s.linear, s.matrix);
  } else {
    s.nonlinear = SUNNonlinSol_FixedPoint(s.y, 0, s.context);
    CVodeSetNonlinearSolver(m, s.nonlinear);
  }
  CVodeRootInit(m, 1, Callbacks<Automaton>::guard);
  CVodeSetNoInactiveRootWarn(m);
  int falling = -1;
  CVodeSetRootDirection(m, &falling);
  Work work;
  int flag = 0;
  for (double t = 0.0; !p.done;) {
    const double limit = p.next_time();
    CVodeSetStopTime(m, limit);
    flag = CVode(m, limit, s.y, &t, CV_NORMAL);
    if (flag < 0) break;
    if (flag == CV_ROOT_RETURN)
      p.on_event(t, s.values());
    else
      p.on_time(t, s.values());
    long steps = 0;
    CVodeGetNumSteps(m, &steps);
    work.steps += steps;
    CVodeReInit(m, t, s.y);
  }
  CVodeFree(&m);
  return finish(p, calls, work, flag);
}

template <class Automaton>
Work run_arkode(Automaton p, double rtol, double atol) {
  Sundials s(Automaton::n);
  std::copy(p.y.begin(), p.y.end(), s.values());
  Callbacks<Automaton> calls{&p};
  void* m = ERKStepCreate(Callbacks<Automaton>::rhs, 0.0, s.y, s.context);
  ERKStepSStolerances(m, rtol, atol);
  ERKStepSetUserData(m, &calls);
  ERKStepSetTableNum(m, ARKODE_DORMAND_PRINCE_7_4_5);
  ERKStepSetMaxNumSteps(m, -1);
  ERKStepSetMaxHnilWarns(m, -1);
  if (p.longest_step < 1e100) ERKStepSetMaxStep(m, p.longest_step);
  ERKStepRootInit(m, 1, Callbacks<Automaton>::guard);
  ERKStepSetNoInactiveRootWarn(m);
  int falling = -1;
  ERKStepSetRootDirection(m, &falling);
  Work work;
  int flag = 0;
  for (double t = 0.0; !p.done;) {
    const double limit = p.next_time();
    ERKStepSetStopTime(m, limit);
    flag = ERKStepEvolve(m, limit, s.y, &t, ARK_NORMAL);
    if (flag < 0) break;
    if (flag == ARK_ROOT_RETURN)
      p.on_event(t, s.values());
    else
      p.on_time(t, s.values());
    long steps = 0;
    ERKStepGetNumSteps(m, &steps);
    work.steps += steps;
    ERKStepReInit(m, Callbacks<Automaton>::rhs, t, s.y);
  }
  ERKStepFree(&m);
  return finish(p, calls, work, flag);
}

template <class Automaton>
Work run_ida(Automaton p, double rtol, double atol) {
  Sundials s(Automaton::n);
  std::copy(p.y.begin(), p.y.end(), s.values());
  Callbacks<Automaton> calls{&p};
  p.rhs(0.0, s.values(), s.slopes());
  void* m = IDACreate(s.context);
  IDAInit(m, Callbacks<Automaton>::residual, 0.0, s.y, s.yp);
  IDASStolerances(m, rtol, atol);
  IDASetUserData(m, &calls);
  IDASetMaxNumSteps(m, -1);
  if (p.longest_step < 1e100) IDASetMaxStep(m, p.longest_step);
  s.matrix = SUNDenseMatrix(Automaton::n, Automaton::n, s.context);
  s.linear = SUNLinSol_Dense(s.y, s.matrix, s.context);
  IDASetLinearSolver(m, s.linear, s.matrix);
  IDARootInit(m, 1, Callbacks<Automaton>::guard_dae);
  IDASetNoInactiveRootWarn(m);
  int falling = -1;
  IDASetRootDirection(m, &falling);
  Work work;
  int flag = 0;
  for (double t = 0.0; !p.done;) {
    const double limit = p.next_time();
    IDASetStopTime(m, limit);
    flag = IDASolve(m, limit, &t, s.y, s.yp, IDA_NORMAL);
    if (flag < 0) break;
    if (flag == IDA_ROOT_RETURN)
      p.on_event(t, s.values());
    else
      p.on_time(t, s.values());
    long steps = 0;
    IDAGetNumSteps(m, &steps);
    work.steps += steps;
    p.rhs(t, s.values(), s.slopes());
    IDAReInit(m, t, s.y, s.yp);
  }
  IDAFree(&m);
  return finish(p, calls, work, flag);
}

}  // namespace saltus::bench
