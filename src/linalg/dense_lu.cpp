#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <Eigen/LU>

namespace saltus {

template <class Scalar>
struct BasicDenseLu<Scalar>::State {
  Eigen::PartialPivLU<Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>> lu;
  mutable Eigen::Matrix<Scalar, Eigen::Dynamic, 1> work;
  int n = 0;
  bool regular = false;
};

template <class Scalar>
BasicDenseLu<Scalar>::BasicDenseLu() : state_(std::make_unique<State>()) {}
template <class Scalar>
BasicDenseLu<Scalar>::~BasicDenseLu() = default;
template <class Scalar>
BasicDenseLu<Scalar>::BasicDenseLu(BasicDenseLu&&) noexcept = default;
template <class Scalar>
BasicDenseLu<Scalar>& BasicDenseLu<Scalar>::operator=(BasicDenseLu&&) noexcept = default;

template <class Scalar>
int BasicDenseLu<Scalar>::size() const {
  return state_->n;
}

template <class Scalar>
bool BasicDenseLu<Scalar>::factorise(int n, std::span<const Scalar> values) {
  assert(values.size() == static_cast<std::size_t>(n) * static_cast<std::size_t>(n));
  State& s = *state_;
  s.n = n;
  s.regular = std::ranges::all_of(values, [](const Scalar& v) { return std::isfinite(std::abs(v)); });
  if (!s.regular || n == 0) return s.regular;
  using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  s.lu.compute(Eigen::Map<const Dense>(values.data(), n, n));
  s.work.resize(n);
  const auto& factors = s.lu.matrixLU();
  for (int i = 0; i < n; ++i)
    if (!(std::abs(factors(i, i)) > 0.0) || !std::isfinite(std::abs(factors(i, i)))) s.regular = false;
  return s.regular;
}

template <class Scalar>
void BasicDenseLu<Scalar>::solve(std::span<Scalar> b) const {
  assert(state_->regular && static_cast<int>(b.size()) == state_->n);
  if (b.empty()) return;
  Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, 1>> x(b.data(), state_->n);
  state_->work = x;
  x.noalias() = state_->lu.permutationP() * state_->work;
  const auto& factors = state_->lu.matrixLU();
  factors.template triangularView<Eigen::UnitLower>().solveInPlace(x);
  factors.template triangularView<Eigen::Upper>().solveInPlace(x);
}

template <class Scalar>
void BasicDenseLu<Scalar>::solve_transposed(std::span<Scalar> b) const {
  assert(state_->regular && static_cast<int>(b.size()) == state_->n);
  if (b.empty()) return;
  Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, 1>> x(b.data(), state_->n);
  const auto& factors = state_->lu.matrixLU();
  factors.template triangularView<Eigen::Upper>().transpose().solveInPlace(x);
  factors.template triangularView<Eigen::UnitLower>().transpose().solveInPlace(x);
  state_->work = x;
  x.noalias() = state_->lu.permutationP().transpose() * state_->work;
}

template <class Scalar>
double BasicDenseLu<Scalar>::reciprocal_condition() const {
  if (!state_->regular) return 0.0;
  return state_->n == 0 ? 1.0 : static_cast<double>(state_->lu.rcond());
}

template class BasicDenseLu<double>;
template class BasicDenseLu<std::complex<double>>;

}  // namespace saltus
