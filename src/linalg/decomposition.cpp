// Thin wrappers over Eigen: divide-and-conquer bidiagonal SVD (it falls back to one-sided Jacobi for small blocks) and
// Householder QR with column pivoting.
#include <saltus/base/error.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>

#include "linalg/eigen_map.hpp"

#include <Eigen/QR>
#include <Eigen/SVD>

namespace saltus {
namespace {

Matrix copy(const Eigen::MatrixXd& a) {
  Matrix b(static_cast<int>(a.rows()), static_cast<int>(a.cols()));
  if (!b.empty()) map(b) = a;
  return b;
}

void require_finite(const Matrix& a) {
  for (int j = 0; j < a.columns(); ++j)
    if (!std::ranges::all_of(a.column(j), [](double v) { return std::isfinite(v); }))
      throw UsageError("decomposition: the matrix has entries that are not finite; check the values before calling");
}

}  // namespace

Svd svd(const Matrix& a, SvdForm form) {
  const int small = std::min(a.rows(), a.columns());
  const bool full = form == SvdForm::full;
  if (small == 0)
    return {full ? Matrix::identity(a.rows()) : Matrix(a.rows(), 0),
            {},
            full ? Matrix::identity(a.columns()) : Matrix(a.columns(), 0)};
  require_finite(a);
  const unsigned options = full ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const Eigen::BDCSVD<Eigen::MatrixXd> result(map(a), options);
  const auto& s = result.singularValues();
  return {copy(result.matrixU()), {s.data(), s.data() + s.size()}, copy(result.matrixV())};
}

std::vector<double> singular_values(const Matrix& a) {
  if (a.empty()) return {};
  require_finite(a);
  const Eigen::BDCSVD<Eigen::MatrixXd> result(map(a));
  const auto& s = result.singularValues();
  return {s.data(), s.data() + s.size()};
}

double norm2(const Matrix& a) {
  const auto s = singular_values(a);
  return s.empty() ? 0.0 : s.front();
}

PivotedQr pivoted_qr(const Matrix& a) {
  PivotedQr result;
  result.permutation.resize(static_cast<std::size_t>(a.columns()));
  if (a.empty()) {
    for (int j = 0; j < a.columns(); ++j) result.permutation[j] = j;
    result.Q = Matrix::identity(a.rows());
    result.R = Matrix(a.rows(), a.columns());
    return result;
  }
  require_finite(a);
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(map(a));
  result.Q = copy(qr.householderQ() * Eigen::MatrixXd::Identity(a.rows(), a.rows()));
  result.R = copy(qr.matrixQR().triangularView<Eigen::Upper>());
  for (int j = 0; j < a.columns(); ++j) result.permutation[j] = static_cast<int>(qr.colsPermutation().indices()[j]);
  for (int j = 0; j < std::min(a.rows(), a.columns()); ++j) result.pivots.push_back(std::abs(result.R(j, j)));
  return result;
}

Matrix pseudo_inverse(const Svd& decomposition, int rank) {
  const Matrix& U = decomposition.U;
  const Matrix& V = decomposition.V;
  Matrix scaled(V.rows(), rank);
  for (int j = 0; j < rank; ++j)
    for (int i = 0; i < V.rows(); ++i) scaled(i, j) = V(i, j) / decomposition.s[j];
  Matrix inverse(V.rows(), U.rows());
  if (rank > 0 && !inverse.empty()) map(inverse).noalias() = map(scaled) * map(U).leftCols(rank).transpose();
  return inverse;
}

}  // namespace saltus
