#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <complex>
#include <type_traits>
#include <utility>
#include <vector>

#include <Eigen/LU>

#include "linalg/no_solution.hpp"
#include "linalg/pivot_size.hpp"

namespace saltus {

namespace {

/// Up to this size plain loops are faster than Eigen's, whose calls cost more than the work (measured), and faster still
/// when the compiler knows how long they are.
constexpr int largest_small = 4;

/// Calls f with n as a constant.
template <class F>
auto with_constant(int n, F&& f) {
  switch (n) {
    case 1: return f(std::integral_constant<std::size_t, 1>());
    case 2: return f(std::integral_constant<std::size_t, 2>());
    case 3: return f(std::integral_constant<std::size_t, 3>());
    default: return f(std::integral_constant<std::size_t, 4>());
  }
}
static_assert(largest_small == 4);

}  // namespace

template <class Scalar>
struct BasicDenseLu<Scalar>::State {
  using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

  Eigen::PartialPivLU<Dense> lu;  // of large matrices
  mutable Eigen::Matrix<Scalar, Eigen::Dynamic, 1> work;
  std::vector<Scalar> values, factors;  // of small ones, by columns; the diagonal of the factors is inverted
  std::vector<int> pivot;               // row exchanged with row k in step k
  int n = 0;
  bool regular = false;

  bool small() const { return n <= largest_small; }

  bool factorise_small(std::span<const Scalar> matrix) {
    values.assign(matrix.begin(), matrix.end());
    factors = values;
    pivot.resize(static_cast<std::size_t>(n));
    return with_constant(n, [this](auto size) { return this->factorise_small(size); });
  }

  template <class Size>
  bool factorise_small(Size size) {
    Scalar* const all = factors.data();
    for (std::size_t k = 0; k < size; ++k) {
      Scalar* column = all + k * size;
      std::size_t best = k;
      for (std::size_t i = k + 1; i < size; ++i)
        if (std::norm(column[i]) > std::norm(column[best])) best = i;
      pivot[k] = static_cast<int>(best);
      if (best != k)
        for (std::size_t j = 0; j < size; ++j) std::swap(all[j * size + k], all[j * size + best]);
      const double length = size_of(column[k]);
      if (!(length > 0.0) || !std::isfinite(length)) return false;
      column[k] = Scalar(1) / column[k];
      for (std::size_t i = k + 1; i < size; ++i) column[i] *= column[k];
      for (std::size_t j = k + 1; j < size; ++j) {
        Scalar* other = all + j * size;
        const Scalar factor = other[k];
        for (std::size_t i = k + 1; i < size; ++i) other[i] -= column[i] * factor;
      }
    }
    return true;
  }

  template <class Size>
  void solve_small(Size size, Scalar* b) const {
    const Scalar* const all = factors.data();
    const int* const exchanged = pivot.data();
    for (std::size_t k = 0; k + 1 < size; ++k) std::swap(b[k], b[exchanged[k]]);
    for (std::size_t k = 0; k + 1 < size; ++k) {
      const Scalar* column = all + k * size;
      for (std::size_t i = k + 1; i < size; ++i) b[i] -= column[i] * b[k];
    }
    for (std::size_t k = size; k-- > 0;) {
      const Scalar* column = all + k * size;
      b[k] *= column[k];
      for (std::size_t i = 0; i < k; ++i) b[i] -= column[i] * b[k];
    }
  }

  void solve_small_transposed(Scalar* b) const {
    const auto size = static_cast<std::size_t>(n);
    for (std::size_t k = 0; k < size; ++k) {
      const Scalar* column = factors.data() + k * size;
      for (std::size_t i = 0; i < k; ++i) b[k] -= column[i] * b[i];
      b[k] *= column[k];
    }
    for (std::size_t k = size; k-- > 0;) {
      const Scalar* column = factors.data() + k * size;
      for (std::size_t i = k + 1; i < size; ++i) b[k] -= column[i] * b[i];
    }
    for (std::size_t k = size; k-- > 0;) std::swap(b[k], b[pivot[k]]);
  }
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
  s.regular = std::ranges::all_of(values, [](const Scalar& v) { return std::isfinite(size_of(v)); });
  if (!s.regular || n == 0) return s.regular;
  if (s.small()) return s.regular = s.factorise_small(values);
  using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  s.lu.compute(Eigen::Map<const Dense>(values.data(), n, n));
  s.work.resize(n);
  const auto& factors = s.lu.matrixLU();
  for (int i = 0; i < n; ++i)
    if (!(size_of(factors(i, i)) > 0.0) || !std::isfinite(size_of(factors(i, i)))) s.regular = false;
  return s.regular;
}

template <class Scalar>
void BasicDenseLu<Scalar>::solve(std::span<Scalar> b) const {
  if (!state_->regular) return no_solution(b);
  assert(static_cast<int>(b.size()) == state_->n);
  if (b.empty()) return;
  if (state_->small()) return with_constant(state_->n, [&](auto size) { state_->solve_small(size, b.data()); });
  Eigen::Map<Eigen::Matrix<Scalar, Eigen::Dynamic, 1>> x(b.data(), state_->n);
  state_->work = x;
  x.noalias() = state_->lu.permutationP() * state_->work;
  const auto& factors = state_->lu.matrixLU();
  factors.template triangularView<Eigen::UnitLower>().solveInPlace(x);
  factors.template triangularView<Eigen::Upper>().solveInPlace(x);
}

template <class Scalar>
void BasicDenseLu<Scalar>::solve_transposed(std::span<Scalar> b) const {
  if (!state_->regular) return no_solution(b);
  assert(static_cast<int>(b.size()) == state_->n);
  if (b.empty()) return;
  if (state_->small()) return state_->solve_small_transposed(b.data());
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
  if (state_->n == 0) return 1.0;
  if (state_->small())
    state_->lu.compute(Eigen::Map<const typename State::Dense>(state_->values.data(), state_->n, state_->n));
  return static_cast<double>(state_->lu.rcond());
}

template class BasicDenseLu<double>;
template class BasicDenseLu<std::complex<double>>;

}  // namespace saltus
