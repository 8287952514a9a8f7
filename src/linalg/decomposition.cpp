// Thin wrappers over Eigen's Householder QR with column pivoting, and what follows from decompositions.
#include <saltus/linalg/decomposition.hpp>

#include <algorithm>
#include <cmath>

#include "linalg/eigen_map.hpp"
#include "linalg/require_finite.hpp"

#include <Eigen/QR>

namespace saltus {

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

double norm2_estimate(const Matrix& a) {
  if (a.empty()) return 0.0;
  require_finite(a);
  // start with the row sums of |A| so that no direction that matters is missed; eight steps are enough for a few per
  // cent
  const auto A = map(a);
  Eigen::VectorXd x = A.cwiseAbs().colwise().sum().transpose();
  double result = 0.0;
  for (int step = 0; step < 8; ++step) {
    const double length = x.norm();
    if (length == 0.0) return result;
    x /= length;
    const Eigen::VectorXd y = A * x;
    result = std::max(result, y.norm());
    x.noalias() = A.transpose() * y;
  }
  // the largest column is a lower bound too, and guards against a start vector that is orthogonal to the answer
  return std::max(result, A.colwise().norm().maxCoeff());
}

// A P = Q [R11 R12; 0 ~0], then [R11 R12]ᵀ = W S with S upper triangular: x = P W S^{-T} (Qᵀ b)_{1..r}.
struct LeastSquares::State {
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
  Eigen::HouseholderQR<Eigen::MatrixXd> rows;
  std::vector<double> pivots;
  int rank = 0;
};

LeastSquares::LeastSquares(const Matrix& a) : state_(std::make_unique<State>()) {
  require_finite(a);
  const int small = std::min(a.rows(), a.columns());
  if (small == 0) return;
  state_->qr.compute(map(a));
  for (int k = 0; k < small; ++k) state_->pivots.push_back(std::abs(state_->qr.matrixQR()(k, k)));
  truncate(small);
}
LeastSquares::~LeastSquares() = default;
LeastSquares::LeastSquares(LeastSquares&&) noexcept = default;
LeastSquares& LeastSquares::operator=(LeastSquares&&) noexcept = default;

std::span<const double> LeastSquares::pivots() const {
  return state_->pivots;
}
int LeastSquares::rank() const {
  return state_->rank;
}

void LeastSquares::truncate(int rank) {
  state_->rank = std::min(rank, static_cast<int>(state_->pivots.size()));
  const int r = state_->rank;
  if (r == 0) return;
  const Eigen::MatrixXd upper = state_->qr.matrixQR().topRows(r).triangularView<Eigen::Upper>();
  state_->rows.compute(upper.transpose());
}

std::vector<double> LeastSquares::solve(std::span<const double> b) const {
  const int r = state_->rank;
  const auto n = static_cast<std::size_t>(state_->qr.cols());
  std::vector<double> x(n, 0.0);
  if (r == 0) return x;
  Eigen::VectorXd c = Eigen::Map<const Eigen::VectorXd>(b.data(), static_cast<Eigen::Index>(b.size()));
  c.applyOnTheLeft(state_->qr.householderQ().adjoint());
  Eigen::VectorXd y = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(n));
  y.head(r) = state_->rows.matrixQR().topLeftCorner(r, r).triangularView<Eigen::Upper>().transpose().solve(c.head(r));
  y.applyOnTheLeft(state_->rows.householderQ());
  Eigen::Map<Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(n)) = state_->qr.colsPermutation() * y;
  return x;
}

double LeastSquares::unreachable(std::span<const double> b) const {
  if (state_->rank == 0) return norm(b);
  Eigen::VectorXd c = Eigen::Map<const Eigen::VectorXd>(b.data(), static_cast<Eigen::Index>(b.size()));
  c.applyOnTheLeft(state_->qr.householderQ().adjoint());
  return c.tail(c.size() - state_->rank).norm();
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
