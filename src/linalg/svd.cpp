// Singular values by one-sided Jacobi rotations of the triangular factor of a QR decomposition with column pivoting (Drmač and
// Veselić, SIAM J. Matrix Anal. Appl. 29, 2008). Small singular values keep their digits where columns have different scales, and
// nothing in it can fail: Eigen's divide and conquer has wrong results, or reads out of bounds, for some sparse matrices, and
// Eigen's two-sided Jacobi is several times slower.
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "linalg/eigen_map.hpp"
#include "linalg/require_finite.hpp"

#include <Eigen/Jacobi>
#include <Eigen/QR>

namespace saltus {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

// columns are scaled to at most about 1; squares of what is below this underflow
constexpr double negligible_square = 1e-280;
// quadratic convergence: five to ten sweeps do; further ones would move rounding errors only
constexpr int most_sweeps = 60;

/// Rotates the columns of X until they are orthogonal within rounding errors, and those of J (if it has any) with them.
void orthogonalise(MatrixXd& X, MatrixXd& J) {
  const double tolerance = std::numeric_limits<double>::epsilon() * std::max(8.0, std::sqrt(static_cast<double>(X.rows())));
  Eigen::VectorXd square = X.colwise().squaredNorm();
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < most_sweeps; ++sweep) {
    rotated = false;
    for (Index i = 0; i + 1 < X.cols(); ++i)
      for (Index j = i + 1; j < X.cols(); ++j) {
        if (std::min(square[i], square[j]) < negligible_square) continue;
        const double product = X.col(i).dot(X.col(j));
        if (std::abs(product) <= tolerance * std::sqrt(square[i]) * std::sqrt(square[j])) continue;
        rotated = true;
        const double half = 0.5 * (square[i] - square[j]) / product;
        const double tangent = std::copysign(1.0 / (std::abs(half) + std::hypot(1.0, half)), half);
        double cosine = 1.0 / std::hypot(1.0, tangent), sine = cosine * tangent;
        if (square[i] < square[j]) cosine = -std::exchange(sine, cosine);  // the longer one comes first, which saves sweeps
        const Eigen::JacobiRotation<double> rotation(cosine, -sine);
        X.applyOnTheRight(i, j, rotation);
        if (J.cols() != 0) J.applyOnTheRight(i, j, rotation);
        square[i] = X.col(i).squaredNorm();
        square[j] = X.col(j).squaredNorm();
      }
  }
}

/// A = U diag(s) Vᵀ from A P = Q R and Rᵀ J = W diag(s): U = Q J and V = P W.
struct Factors {
  Eigen::ColPivHouseholderQR<MatrixXd> qr;
  MatrixXd J, W;              // columns in the order of s; those of W only where s > 0
  std::vector<double> s;
  Index rank = 0;             // number of s > 0
};

Factors factors(const Matrix& a, bool vectors) {
  Factors f;
  const Index k = std::min(a.rows(), a.columns());
  const double scale = map(a).cwiseAbs().maxCoeff();
  f.s.assign(static_cast<std::size_t>(k), 0.0);
  f.qr.compute(scale > 0.0 ? MatrixXd(map(a) / scale) : MatrixXd(map(a)));
  MatrixXd X = MatrixXd(f.qr.matrixQR().topRows(k).triangularView<Eigen::Upper>()).transpose();
  MatrixXd J = vectors ? MatrixXd::Identity(k, k) : MatrixXd();
  orthogonalise(X, J);

  Eigen::VectorXd length = X.colwise().norm();
  for (double& v : length)
    if (v * v < negligible_square) v = 0.0;
  std::vector<Index> order(static_cast<std::size_t>(k));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, [&](Index i, Index j) { return length[i] > length[j]; });
  for (Index i = 0; i < k; ++i) {
    const double v = length[order[static_cast<std::size_t>(i)]];
    f.s[static_cast<std::size_t>(i)] = v * scale;
    if (v > 0.0) f.rank = i + 1;
  }
  if (!vectors) return f;
  f.J.resize(k, k);
  f.W.resize(X.rows(), f.rank);
  for (Index i = 0; i < k; ++i) {
    const Index from = order[static_cast<std::size_t>(i)];
    f.J.col(i) = J.col(from);
    if (i < f.rank) f.W.col(i) = X.col(from) / length[from];
  }
  return f;
}

/// The first columns of an orthogonal matrix that begins with the orthonormal columns of W.
MatrixXd completed(const MatrixXd& W, Index columns) {
  MatrixXd all = MatrixXd::Identity(W.rows(), columns);
  if (W.cols() == 0) return all;
  if (W.cols() < columns) all.applyOnTheLeft(Eigen::HouseholderQR<MatrixXd>(W).householderQ());
  all.leftCols(W.cols()) = W;
  return all;
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
  Factors f = factors(a, true);
  MatrixXd U = MatrixXd::Identity(a.rows(), full ? a.rows() : small);
  U.topLeftCorner(small, small) = f.J;
  U.applyOnTheLeft(f.qr.householderQ());
  const MatrixXd V = f.qr.colsPermutation() * completed(f.W, full ? a.columns() : small);
  return {copy(U), std::move(f.s), copy(V)};
}

std::vector<double> singular_values(const Matrix& a) {
  if (a.empty()) return {};
  require_finite(a);
  return factors(a, false).s;
}

double norm2(const Matrix& a) {
  const auto s = singular_values(a);
  return s.empty() ? 0.0 : s.front();
}

}  // namespace saltus
