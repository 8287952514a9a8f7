// Our matrices seen as Eigen's, for sources of this layer only.
#pragma once

#include <saltus/linalg/matrix.hpp>

#include <Eigen/Core>

namespace saltus {

inline Eigen::Map<Eigen::MatrixXd> map(Matrix& a) {
  return {a.data(), a.rows(), a.columns()};
}
inline Eigen::Map<const Eigen::MatrixXd> map(const Matrix& a) {
  return {a.data(), a.rows(), a.columns()};
}
inline Matrix copy(const Eigen::MatrixXd& a) {
  Matrix b(static_cast<int>(a.rows()), static_cast<int>(a.cols()));
  if (!b.empty()) map(b) = a;
  return b;
}

}  // namespace saltus
