// IDAS with derivatives, as cvodes_runs.hpp has them for CVODES: of the residual y' - f(y, p).
#pragma once

#include <idas/idas.h>

#include "sundials_parts.hpp"

namespace saltus::bench {

class IdasRun {
 public:
  /// `share`: of the tolerances of the problem.
  IdasRun(const PeerProblem& problem, double share)
      : problem_(problem),
        rtol_(share * problem.rtol),
        atol_(share * problem.atol),
        y_(parts_.vector(problem.start)),
        slope_(parts_.vector(problem.n)),
        memory_(IDACreate(parts_.context)) {
    problem.rhs(NV_DATA_S(y_), NV_DATA_S(slope_));
    IDAInit(memory_, residual, 0.0, y_, slope_);
    IDASStolerances(memory_, rtol_, atol_);
    IDASetUserData(memory_, user());
    IDASetMaxNumSteps(memory_, -1);
    const auto [solver, matrix] = parts_.solver(problem, y_);
    IDASetLinearSolver(memory_, solver, matrix);
    IDASetJacFn(memory_, jacobian);
  }
  IdasRun(const IdasRun&) = delete;
  IdasRun& operator=(const IdasRun&) = delete;
  ~IdasRun() { IDAFree(&memory_); }

  void plain(double stop) {
    double t = 0.0;
    IDASetStopTime(memory_, stop);
    check_sundials(IDASolve(memory_, stop, &t, y_, slope_, IDA_NORMAL), "IDASolve");
  }

  Gradients forward(double stop, SensitivityErrors errors) {
    N_Vector *const s = parts_.array(problem_.parameters, y_), *const ds = parts_.array(problem_.parameters, y_);
    problem_.tangents(NV_DATA_S(y_), NV_DATA_S(slope_), data_of(s, problem_.parameters),
                      data_of(ds, problem_.parameters));
    std::vector<double> scales = problem_.scales;
    IDASensInit(memory_, problem_.parameters, IDA_STAGGERED, tangents, s, ds);
    IDASetSensParams(memory_, nullptr, scales.data(), nullptr);
    IDASensEEtolerances(memory_);
    IDASetSensErrCon(memory_, errors == SensitivityErrors::controlled ? SUNTRUE : SUNFALSE);
    plain(stop);
    double t = 0.0;
    IDAGetSens(memory_, &t, s);
    return gradients_of(s, problem_);
  }

  /// Derivatives of the final value of the first variable.
  std::vector<double> adjoint(double stop) {
    double t = 0.0;
    int checkpoints = 0, way_back = 0;
    IDAAdjInit(memory_, checkpoint_steps, IDA_HERMITE);
    IDASetStopTime(memory_, stop);
    check_sundials(IDASolveF(memory_, stop, &t, y_, slope_, IDA_NORMAL, &checkpoints), "IDASolveF");
    N_Vector lambda = parts_.vector(problem_.n), rate = parts_.vector(problem_.n),
             by = parts_.vector(problem_.parameters);
    NV_Ith_S(lambda, 0) = 1.0;
    problem_.transposed(NV_DATA_S(y_), rhs_at(problem_, NV_DATA_S(y_)), NV_DATA_S(lambda), NV_DATA_S(rate));
    N_VScale(-1.0, rate, rate);
    IDACreateB(memory_, &way_back);
    IDAInitB(memory_, way_back, residual_back, stop, lambda, rate);
    IDASStolerancesB(memory_, way_back, rtol_, atol_);
    IDASetUserDataB(memory_, way_back, user());
    IDASetMaxNumStepsB(memory_, way_back, 1'000'000);
    const auto [solver, matrix] = parts_.solver(problem_, lambda);
    IDASetLinearSolverB(memory_, way_back, solver, matrix);
    IDASetJacFnB(memory_, way_back, jacobian_back);
    IDAQuadInitB(memory_, way_back, by_parameters, by);
    IDAQuadSStolerancesB(memory_, way_back, rtol_, atol_);
    IDASetQuadErrConB(memory_, way_back, SUNTRUE);
    check_sundials(IDASolveB(memory_, 0.0, IDA_NORMAL), "IDASolveB");
    IDAGetQuadB(memory_, way_back, &t, by);
    return {NV_DATA_S(by), NV_DATA_S(by) + problem_.parameters};
  }

 private:
  void* user() const { return const_cast<PeerProblem*>(&problem_); }

  static int residual(sunrealtype, N_Vector y, N_Vector dy, N_Vector r, void* data) {
    problem_of(data).rhs(NV_DATA_S(y), NV_DATA_S(r));
    N_VLinearSum(1.0, dy, -1.0, r, r);
    return 0;
  }
  static int jacobian(sunrealtype, sunrealtype c, N_Vector y, N_Vector, N_Vector, SUNMatrix J, void* data, N_Vector,
                      N_Vector, N_Vector) {
    fill_matrix(problem_of(data), NV_DATA_S(y), c, -1.0, false, J);
    return 0;
  }
  static int tangents(int count, sunrealtype, N_Vector y, N_Vector, N_Vector, N_Vector* s, N_Vector* ds, N_Vector* r,
                      void* data, N_Vector, N_Vector, N_Vector) {
    const PeerProblem& problem = problem_of(data);
    problem.tangents(NV_DATA_S(y), rhs_at(problem, NV_DATA_S(y)), data_of(s, count), data_of(r, count));
    for (int k = 0; k < count; ++k) N_VLinearSum(1.0, ds[k], -1.0, r[k], r[k]);
    return 0;
  }
  static int residual_back(sunrealtype, N_Vector y, N_Vector, N_Vector w, N_Vector dw, N_Vector r, void* data) {
    const PeerProblem& problem = problem_of(data);
    problem.transposed(NV_DATA_S(y), rhs_at(problem, NV_DATA_S(y)), NV_DATA_S(w), NV_DATA_S(r));
    N_VLinearSum(1.0, dw, 1.0, r, r);
    return 0;
  }
  static int jacobian_back(sunrealtype, sunrealtype c, N_Vector y, N_Vector, N_Vector, N_Vector, N_Vector, SUNMatrix J,
                           void* data, N_Vector, N_Vector, N_Vector) {
    fill_matrix(problem_of(data), NV_DATA_S(y), c, 1.0, true, J);
    return 0;
  }
  static int by_parameters(sunrealtype, N_Vector y, N_Vector, N_Vector w, N_Vector, N_Vector slope, void* data) {
    problem_of(data).by_parameters(NV_DATA_S(y), NV_DATA_S(w), NV_DATA_S(slope));
    N_VScale(-1.0, slope, slope);
    return 0;
  }

  const PeerProblem& problem_;
  double rtol_, atol_;
  SundialsParts parts_;
  N_Vector y_, slope_;
  void* memory_;
};

}  // namespace saltus::bench
