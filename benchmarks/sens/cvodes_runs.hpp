// CVODES with sensitivities: staggered corrector, exact Jacobians and exact right-hand sides of the sensitivities.
#pragma once

#include <cvodes/cvodes.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <algorithm>
#include <vector>

#include "problems.hpp"

namespace saltus::bench {

/// Whether errors of the sensitivities shorten the steps.
enum class SensitivityErrors { ignored, controlled };

/// What a problem gives to CVODES.
struct CvodesProblem {
  int n = 0, parameters = 0;
  std::vector<double> start, scales, atol;
  int band = -1;  ///< width of the band of the Jacobian on each side; -1: dense
  CVRhsFn rhs = nullptr;
  CVLsJacFn jacobian = nullptr;
  CVSensRhsFn sensitivities = nullptr;
};

/// Derivatives of the final values, parameter by parameter; without parameters: none.
inline std::vector<std::vector<double>> run_cvodes(const CvodesProblem& problem, void* data, double stop, double rtol,
                                                   SensitivityErrors errors, bool with_sensitivities) {
  SUNContext context = nullptr;
  SUNContext_Create(nullptr, &context);
  N_Vector y = N_VNew_Serial(problem.n, context), atol = N_VNew_Serial(problem.n, context);
  std::copy(problem.start.begin(), problem.start.end(), NV_DATA_S(y));
  std::copy(problem.atol.begin(), problem.atol.end(), NV_DATA_S(atol));
  void* const cvodes = CVodeCreate(CV_BDF, context);
  CVodeInit(cvodes, problem.rhs, 0.0, y);
  CVodeSVtolerances(cvodes, rtol, atol);
  CVodeSetUserData(cvodes, data);
  CVodeSetMaxNumSteps(cvodes, -1);
  SUNMatrix matrix = problem.band < 0 ? SUNDenseMatrix(problem.n, problem.n, context)
                                      : SUNBandMatrix(problem.n, problem.band, problem.band, context);
  SUNLinearSolver linear = problem.band < 0 ? SUNLinSol_Dense(y, matrix, context) : SUNLinSol_Band(y, matrix, context);
  CVodeSetLinearSolver(cvodes, linear, matrix);
  CVodeSetJacFn(cvodes, problem.jacobian);
  N_Vector* s = nullptr;
  std::vector<double> scales = problem.scales;
  if (with_sensitivities) {
    s = N_VCloneVectorArray(problem.parameters, y);
    for (int k = 0; k < problem.parameters; ++k) N_VConst(0.0, s[k]);
    CVodeSensInit(cvodes, problem.parameters, CV_STAGGERED, problem.sensitivities, s);
    CVodeSetSensParams(cvodes, nullptr, scales.data(), nullptr);
    CVodeSensEEtolerances(cvodes);
    CVodeSetSensErrCon(cvodes, errors == SensitivityErrors::controlled ? SUNTRUE : SUNFALSE);
  }
  CVodeSetStopTime(cvodes, stop);
  double t = 0.0;
  CVode(cvodes, stop, y, &t, CV_NORMAL);
  std::vector<std::vector<double>> result;
  if (with_sensitivities) {
    CVodeGetSens(cvodes, &t, s);
    for (int k = 0; k < problem.parameters; ++k) result.emplace_back(NV_DATA_S(s[k]), NV_DATA_S(s[k]) + problem.n);
    N_VDestroyVectorArray(s, problem.parameters);
  }
  void* memory = cvodes;
  CVodeFree(&memory);
  SUNLinSolFree(linear);
  SUNMatDestroy(matrix);
  N_VDestroy(y);
  N_VDestroy(atol);
  SUNContext_Free(&context);
  return result;
}

inline CvodesProblem robertson_for_cvodes(double atol) {
  CvodesProblem problem{.n = 3, .parameters = 3};
  problem.start = {1.0, 0.0, 0.0};
  problem.scales.assign(Robertson::p, Robertson::p + 3);
  problem.atol.assign(3, atol);
  problem.rhs = [](sunrealtype, N_Vector y, N_Vector dy, void*) {
    const double *const v = NV_DATA_S(y), *const p = Robertson::p;
    double* const d = NV_DATA_S(dy);
    d[0] = -p[0] * v[0] + p[1] * v[1] * v[2];
    d[2] = p[2] * v[1] * v[1];
    d[1] = -d[0] - d[2];
    return 0;
  };
  problem.jacobian = [](sunrealtype, N_Vector y, N_Vector, SUNMatrix J, void*, N_Vector, N_Vector, N_Vector) {
    const double *const v = NV_DATA_S(y), *const p = Robertson::p;
    const double first[3] = {-p[0], p[1] * v[2], p[1] * v[1]}, third[3] = {0.0, 2.0 * p[2] * v[1], 0.0};
    for (int j = 0; j < 3; ++j) {
      SM_ELEMENT_D(J, 0, j) = first[j];
      SM_ELEMENT_D(J, 1, j) = -first[j] - third[j];
      SM_ELEMENT_D(J, 2, j) = third[j];
    }
    return 0;
  };
  problem.sensitivities = [](int count, sunrealtype, N_Vector y, N_Vector, N_Vector* s, N_Vector* ds, void*, N_Vector,
                             N_Vector) {
    const double *const v = NV_DATA_S(y), *const p = Robertson::p;
    const double by[3][2] = {{-v[0], 0.0}, {v[1] * v[2], 0.0}, {0.0, v[1] * v[1]}};
    for (int k = 0; k < count; ++k) {
      const double* const u = NV_DATA_S(s[k]);
      double* const d = NV_DATA_S(ds[k]);
      d[0] = -p[0] * u[0] + p[1] * (v[2] * u[1] + v[1] * u[2]) + by[k][0];
      d[2] = 2.0 * p[2] * v[1] * u[1] + by[k][1];
      d[1] = -d[0] - d[2];
    }
    return 0;
  };
  return problem;
}

/// The rod, with what its functions share: conductivities of the faces.
struct HeatForCvodes {
  Heat heat;
  std::vector<double> faces;

  explicit HeatForCvodes(const Heat& rod) : heat(rod) {
    for (int f = 0; f <= rod.n; ++f) {
      const auto [node, share] = rod.face(f);
      faces.push_back((1.0 - share) * rod.conductivity(node) + share * rod.conductivity(node + 1));
    }
  }
  static const HeatForCvodes& of(void* data) { return *static_cast<HeatForCvodes*>(data); }
  double at(const double* T, int i) const { return i < 0 || i >= heat.n ? 0.0 : T[i]; }
  double flow(const double* T, int i) const {
    const auto f = static_cast<std::size_t>(i);
    return (faces[f + 1] * (at(T, i + 1) - T[i]) - faces[f] * (T[i] - at(T, i - 1))) * heat.inverse_square();
  }

  CvodesProblem problem(double atol) const {
    CvodesProblem problem{.n = heat.n, .parameters = heat.parameters, .band = 1};
    for (int i = 0; i < heat.n; ++i) problem.start.push_back(heat.start(i));
    for (int k = 0; k < heat.parameters; ++k) problem.scales.push_back(heat.conductivity(k));
    problem.atol.assign(static_cast<std::size_t>(heat.n), atol);
    problem.rhs = [](sunrealtype, N_Vector y, N_Vector dy, void* data) {
      const HeatForCvodes& self = of(data);
      const double* const T = NV_DATA_S(y);
      for (int i = 0; i < self.heat.n; ++i) NV_Ith_S(dy, i) = self.flow(T, i) / (1.0 + Heat::beta * T[i]);
      return 0;
    };
    problem.jacobian = [](sunrealtype, N_Vector y, N_Vector dy, SUNMatrix J, void* data, N_Vector, N_Vector, N_Vector) {
      const HeatForCvodes& self = of(data);
      const double* const T = NV_DATA_S(y);
      for (int i = 0; i < self.heat.n; ++i) {
        const auto f = static_cast<std::size_t>(i);
        const double c = 1.0 / (1.0 + Heat::beta * T[i]), d = c * self.heat.inverse_square();
        if (i > 0) SM_ELEMENT_B(J, i, i - 1) = self.faces[f] * d;
        if (i + 1 < self.heat.n) SM_ELEMENT_B(J, i, i + 1) = self.faces[f + 1] * d;
        SM_ELEMENT_B(J, i, i) = -(self.faces[f] + self.faces[f + 1]) * d - Heat::beta * c * NV_Ith_S(dy, i);
      }
      return 0;
    };
    problem.sensitivities = [](int count, sunrealtype, N_Vector y, N_Vector dy, N_Vector* s, N_Vector* ds, void* data,
                               N_Vector, N_Vector) {
      const HeatForCvodes& self = of(data);
      const double* const T = NV_DATA_S(y);
      for (int k = 0; k < count; ++k)
        for (int i = 0; i < self.heat.n; ++i)
          NV_Ith_S(ds[k], i) = (self.flow(NV_DATA_S(s[k]), i) - Heat::beta * NV_Ith_S(dy, i) * NV_Ith_S(s[k], i)) /
                               (1.0 + Heat::beta * T[i]);
      for (int f = 0; f <= self.heat.n; ++f) {
        const auto [node, share] = self.heat.face(f);
        const double step = (self.at(T, f) - self.at(T, f - 1)) * self.heat.inverse_square();
        for (const auto& [k, weight] : {std::pair(node, 1.0 - share), std::pair(node + 1, share)}) {
          if (f > 0) NV_Ith_S(ds[k], f - 1) += weight * step / (1.0 + Heat::beta * T[f - 1]);
          if (f < self.heat.n) NV_Ith_S(ds[k], f) -= weight * step / (1.0 + Heat::beta * T[f]);
        }
      }
      return 0;
    };
    return problem;
  }
};

}  // namespace saltus::bench
