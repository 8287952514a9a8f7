// What runs of CVODES and IDAS share: vectors, matrices, and who frees them.
#pragma once

#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "peer_problems.hpp"

namespace saltus::bench {

/// Whether errors of the sensitivities shorten the steps.
enum class SensitivityErrors { ignored, controlled };

using Gradients = std::vector<std::vector<double>>;  // by parameter: of the variables at the end

inline void check_sundials(int flag, const char* what) {
  if (flag < 0) throw std::runtime_error(std::string(what) + " failed with " + std::to_string(flag));
}

inline const PeerProblem& problem_of(void* data) {
  return *static_cast<const PeerProblem*>(data);
}

/// f at y, in memory of the thread.
inline const double* rhs_at(const PeerProblem& problem, const double* y) {
  thread_local std::vector<double> f;
  f.resize(static_cast<std::size_t>(problem.n));
  problem.rhs(y, f.data());
  return f.data();
}

inline std::vector<double*> data_of(N_Vector* vectors, int count) {
  std::vector<double*> result;
  for (int k = 0; k < count; ++k) result.push_back(NV_DATA_S(vectors[k]));
  return result;
}

/// matrix = shift + factor J, or with the transposed of J.
inline void fill_matrix(const PeerProblem& problem, const double* y, double shift, double factor, bool transposed,
                        SUNMatrix matrix) {
  const bool dense = problem.band < 0;
  const double* const f = rhs_at(problem, y);
  problem.jacobian(y, f, [&](int i, int j, double value) {
    const int row = transposed ? j : i, column = transposed ? i : j;
    const double entry = factor * value + (i == j ? shift : 0.0);
    if (dense)
      SM_ELEMENT_D(matrix, row, column) = entry;
    else
      SM_ELEMENT_B(matrix, row, column) = entry;
  });
}

/// The context, vectors and matrices of one run.
class SundialsParts {
 public:
  SundialsParts() { SUNContext_Create(nullptr, &context); }
  SundialsParts(const SundialsParts&) = delete;
  SundialsParts& operator=(const SundialsParts&) = delete;
  ~SundialsParts() {
    for (SUNLinearSolver solver : solvers_) SUNLinSolFree(solver);
    for (SUNMatrix matrix : matrices_) SUNMatDestroy(matrix);
    for (N_Vector vector : vectors_) N_VDestroy(vector);
    for (const auto& [array, count] : arrays_) N_VDestroyVectorArray(array, count);
    SUNContext_Free(&context);
  }

  N_Vector vector(int n, double value = 0.0) {
    vectors_.push_back(N_VNew_Serial(n, context));
    N_VConst(value, vectors_.back());
    return vectors_.back();
  }
  N_Vector vector(const std::vector<double>& values) {
    N_Vector v = vector(static_cast<int>(values.size()));
    std::copy(values.begin(), values.end(), NV_DATA_S(v));
    return v;
  }
  N_Vector* array(int count, N_Vector like) {
    N_Vector* const result = N_VCloneVectorArray(count, like);
    for (int k = 0; k < count; ++k) N_VConst(0.0, result[k]);
    arrays_.emplace_back(result, count);
    return result;
  }
  std::pair<SUNLinearSolver, SUNMatrix> solver(const PeerProblem& problem, N_Vector y) {
    const bool dense = problem.band < 0;
    matrices_.push_back(dense ? SUNDenseMatrix(problem.n, problem.n, context)
                              : SUNBandMatrix(problem.n, problem.band, problem.band, context));
    solvers_.push_back(dense ? SUNLinSol_Dense(y, matrices_.back(), context)
                             : SUNLinSol_Band(y, matrices_.back(), context));
    return {solvers_.back(), matrices_.back()};
  }

  SUNContext context = nullptr;

 private:
  std::vector<N_Vector> vectors_;
  std::vector<std::pair<N_Vector*, int>> arrays_;
  std::vector<SUNMatrix> matrices_;
  std::vector<SUNLinearSolver> solvers_;
};

inline Gradients gradients_of(N_Vector* s, const PeerProblem& problem) {
  Gradients result;
  for (int k = 0; k < problem.parameters; ++k) result.emplace_back(NV_DATA_S(s[k]), NV_DATA_S(s[k]) + problem.n);
  return result;
}

/// Steps between two checkpoints of the way back.
inline constexpr long checkpoint_steps = 150;

}  // namespace saltus::bench
