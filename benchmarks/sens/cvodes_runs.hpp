// CVODES with derivatives. Forward: staggered corrector, exact equations of the sensitivities. Adjoint: checkpoints,
// exact adjoint equations, parameters by quadrature with its errors in the test.
#pragma once

#include <cvodes/cvodes.h>

#include "sundials_parts.hpp"

namespace saltus::bench {

class CvodesRun {
 public:
  /// `share`: of the tolerances of the problem.
  CvodesRun(const PeerProblem& problem, double share)
      : problem_(problem),
        rtol_(share * problem.rtol),
        atol_(share * problem.atol),
        y_(parts_.vector(problem.start)),
        memory_(CVodeCreate(CV_BDF, parts_.context)) {
    CVodeInit(memory_, rhs, 0.0, y_);
    CVodeSStolerances(memory_, rtol_, atol_);
    CVodeSetUserData(memory_, user());
    CVodeSetMaxNumSteps(memory_, -1);
    const auto [solver, matrix] = parts_.solver(problem, y_);
    CVodeSetLinearSolver(memory_, solver, matrix);
    CVodeSetJacFn(memory_, jacobian);
  }
  CvodesRun(const CvodesRun&) = delete;
  CvodesRun& operator=(const CvodesRun&) = delete;
  ~CvodesRun() { CVodeFree(&memory_); }

  void plain(double stop) {
    double t = 0.0;
    CVodeSetStopTime(memory_, stop);
    check_sundials(CVode(memory_, stop, y_, &t, CV_NORMAL), "CVode");
  }

  Gradients forward(double stop, SensitivityErrors errors) {
    N_Vector* const s = parts_.array(problem_.parameters, y_);
    std::vector<double> scales = problem_.scales;
    CVodeSensInit(memory_, problem_.parameters, CV_STAGGERED, tangents, s);
    CVodeSetSensParams(memory_, nullptr, scales.data(), nullptr);
    CVodeSensEEtolerances(memory_);
    CVodeSetSensErrCon(memory_, errors == SensitivityErrors::controlled ? SUNTRUE : SUNFALSE);
    plain(stop);
    double t = 0.0;
    CVodeGetSens(memory_, &t, s);
    return gradients_of(s, problem_);
  }

  /// Derivatives of the final value of the first variable.
  std::vector<double> adjoint(double stop) {
    double t = 0.0;
    int checkpoints = 0, way_back = 0;
    CVodeAdjInit(memory_, checkpoint_steps, CV_HERMITE);
    CVodeSetStopTime(memory_, stop);
    check_sundials(CVodeF(memory_, stop, y_, &t, CV_NORMAL, &checkpoints), "CVodeF");
    N_Vector lambda = parts_.vector(problem_.n), by = parts_.vector(problem_.parameters);
    NV_Ith_S(lambda, 0) = 1.0;
    CVodeCreateB(memory_, CV_BDF, &way_back);
    CVodeInitB(memory_, way_back, rhs_back, stop, lambda);
    CVodeSStolerancesB(memory_, way_back, rtol_, atol_);
    CVodeSetUserDataB(memory_, way_back, user());
    CVodeSetMaxNumStepsB(memory_, way_back, 1'000'000);
    const auto [solver, matrix] = parts_.solver(problem_, lambda);
    CVodeSetLinearSolverB(memory_, way_back, solver, matrix);
    CVodeSetJacFnB(memory_, way_back, jacobian_back);
    CVodeQuadInitB(memory_, way_back, by_parameters, by);
    CVodeQuadSStolerancesB(memory_, way_back, rtol_, atol_);
    CVodeSetQuadErrConB(memory_, way_back, SUNTRUE);
    check_sundials(CVodeB(memory_, 0.0, CV_NORMAL), "CVodeB");
    CVodeGetQuadB(memory_, way_back, &t, by);
    return {NV_DATA_S(by), NV_DATA_S(by) + problem_.parameters};
  }

 private:
  void* user() const { return const_cast<PeerProblem*>(&problem_); }

  static int rhs(sunrealtype, N_Vector y, N_Vector dy, void* data) {
    problem_of(data).rhs(NV_DATA_S(y), NV_DATA_S(dy));
    return 0;
  }
  static int jacobian(sunrealtype, N_Vector y, N_Vector, SUNMatrix J, void* data, N_Vector, N_Vector, N_Vector) {
    fill_matrix(problem_of(data), NV_DATA_S(y), 0.0, 1.0, false, J);
    return 0;
  }
  static int tangents(int count, sunrealtype, N_Vector y, N_Vector dy, N_Vector* s, N_Vector* ds, void* data, N_Vector,
                      N_Vector) {
    problem_of(data).tangents(NV_DATA_S(y), NV_DATA_S(dy), data_of(s, count), data_of(ds, count));
    return 0;
  }
  static int rhs_back(sunrealtype, N_Vector y, N_Vector w, N_Vector dw, void* data) {
    const PeerProblem& problem = problem_of(data);
    problem.transposed(NV_DATA_S(y), rhs_at(problem, NV_DATA_S(y)), NV_DATA_S(w), NV_DATA_S(dw));
    N_VScale(-1.0, dw, dw);
    return 0;
  }
  static int jacobian_back(sunrealtype, N_Vector y, N_Vector, N_Vector, SUNMatrix J, void* data, N_Vector, N_Vector,
                           N_Vector) {
    fill_matrix(problem_of(data), NV_DATA_S(y), 0.0, -1.0, true, J);
    return 0;
  }
  static int by_parameters(sunrealtype, N_Vector y, N_Vector w, N_Vector slope, void* data) {
    problem_of(data).by_parameters(NV_DATA_S(y), NV_DATA_S(w), NV_DATA_S(slope));
    N_VScale(-1.0, slope, slope);
    return 0;
  }

  const PeerProblem& problem_;
  double rtol_, atol_;
  SundialsParts parts_;
  N_Vector y_;
  void* memory_;
};

}  // namespace saltus::bench
