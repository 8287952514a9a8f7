// KLU behind a small class. Real and complex values differ in the names of KLU's functions only; `Klu` picks them.
#include <saltus/base/error.hpp>
#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include <klu.h>

#include "linalg/no_solution.hpp"

namespace saltus {
namespace {

template <class Scalar>
struct Klu;

template <>
struct Klu<double> {
  static constexpr auto factor = klu_factor;
  static constexpr auto refactor = klu_refactor;
  static constexpr auto solve = klu_solve;
  static constexpr auto growth = klu_rgrowth;
  static constexpr auto condition = klu_condest;
  static constexpr auto free_numeric = klu_free_numeric;
  static void solve_transposed(klu_symbolic* s, klu_numeric* f, int n, double* b, klu_common* c) {
    klu_tsolve(s, f, n, 1, b, c);
  }
};

template <>
struct Klu<std::complex<double>> {
  static constexpr auto factor = klu_z_factor;
  static constexpr auto refactor = klu_z_refactor;
  static constexpr auto solve = klu_z_solve;
  static constexpr auto growth = klu_z_rgrowth;
  static constexpr auto condition = klu_z_condest;
  static constexpr auto free_numeric = klu_z_free_numeric;
  static void solve_transposed(klu_symbolic* s, klu_numeric* f, int n, double* b, klu_common* c) {
    klu_z_tsolve(s, f, n, 1, b, 0, c);
  }
};

// Below this reciprocal pivot growth the old pivots are not reused.
constexpr double smallest_growth = 1e-3;

}  // namespace

template <class Scalar>
struct BasicSparseLu<Scalar>::State {
  SparsePattern pattern;
  std::vector<Scalar> values;  // kept for the condition estimate
  mutable klu_common common{};
  klu_symbolic* symbolic = nullptr;
  klu_numeric* numeric = nullptr;
  bool regular = false;

  State() { klu_defaults(&common); }
  ~State() { release(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  /// True if no pivot is zero. klu_refactor does not look at those of blocks of one row.
  bool has_pivots() const {
    const auto* pivots = static_cast<const Scalar*>(numeric->Udiag);
    return std::all_of(pivots, pivots + pattern.columns, [](const Scalar& pivot) { return pivot != Scalar(0); });
  }
  double* raw() { return reinterpret_cast<double*>(values.data()); }
  void release_numeric() {
    if (numeric) Klu<Scalar>::free_numeric(&numeric, &common);
    numeric = nullptr;
  }
  void release() {
    release_numeric();
    if (symbolic) klu_free_symbolic(&symbolic, &common);
    symbolic = nullptr;
  }
};

template <class Scalar>
BasicSparseLu<Scalar>::BasicSparseLu() : state_(std::make_unique<State>()) {}
template <class Scalar>
BasicSparseLu<Scalar>::~BasicSparseLu() = default;
template <class Scalar>
BasicSparseLu<Scalar>::BasicSparseLu(BasicSparseLu&&) noexcept = default;
template <class Scalar>
BasicSparseLu<Scalar>& BasicSparseLu<Scalar>::operator=(BasicSparseLu&&) noexcept = default;

template <class Scalar>
int BasicSparseLu<Scalar>::size() const {
  return state_->pattern.columns;
}

template <class Scalar>
bool BasicSparseLu<Scalar>::analyse(const SparsePattern& pattern) {
  if (pattern.rows != pattern.columns) throw UsageError("SparseLu: the matrix must be square");
  State& s = *state_;
  s.release();
  s.pattern = pattern;
  s.regular = false;
  if (pattern.columns == 0) return true;
  s.symbolic = klu_analyze(pattern.columns, s.pattern.start.data(), s.pattern.row.data(), &s.common);
  return s.symbolic && s.symbolic->structural_rank == pattern.columns;
}

template <class Scalar>
double BasicSparseLu<Scalar>::expected_entries() const {
  const klu_symbolic* s = state_->symbolic;
  return s ? std::max(s->lnz, 0.0) + std::max(s->unz, 0.0) : 0.0;
}

template <class Scalar>
double BasicSparseLu<Scalar>::expected_operations() const {
  return state_->symbolic ? std::max(state_->symbolic->est_flops, 0.0) : 0.0;
}

template <class Scalar>
bool BasicSparseLu<Scalar>::factorise(std::span<const Scalar> values) {
  State& s = *state_;
  assert(static_cast<int>(values.size()) == s.pattern.nonzeros());
  s.regular = s.pattern.columns == 0;
  if (s.regular) return true;
  if (!s.symbolic || s.symbolic->structural_rank < s.pattern.columns) return false;
  for (const Scalar& value : values)
    if (!std::isfinite(std::abs(value))) return false;
  s.values.assign(values.begin(), values.end());
  int* start = s.pattern.start.data();
  int* row = s.pattern.row.data();
  if (s.numeric && Klu<Scalar>::refactor(start, row, s.raw(), s.symbolic, s.numeric, &s.common) &&
      Klu<Scalar>::growth(start, row, s.raw(), s.symbolic, s.numeric, &s.common) &&
      s.common.rgrowth > smallest_growth && s.has_pivots()) {
    s.regular = true;
    return true;
  }
  s.release_numeric();
  s.numeric = Klu<Scalar>::factor(start, row, s.raw(), s.symbolic, &s.common);
  s.regular = s.numeric && s.common.status == KLU_OK;
  if (!s.regular) s.release_numeric();
  return s.regular;
}

template <class Scalar>
void BasicSparseLu<Scalar>::solve(std::span<Scalar> b) const {
  if (!state_->regular) return no_solution(b);
  assert(static_cast<int>(b.size()) == size());
  if (b.empty()) return;
  Klu<Scalar>::solve(state_->symbolic, state_->numeric, size(), 1, reinterpret_cast<double*>(b.data()),
                     &state_->common);
}

template <class Scalar>
void BasicSparseLu<Scalar>::solve_transposed(std::span<Scalar> b) const {
  if (!state_->regular) return no_solution(b);
  assert(static_cast<int>(b.size()) == size());
  if (b.empty()) return;
  Klu<Scalar>::solve_transposed(state_->symbolic, state_->numeric, size(), reinterpret_cast<double*>(b.data()),
                                &state_->common);
}

template <class Scalar>
double BasicSparseLu<Scalar>::reciprocal_condition() const {
  State& s = *state_;
  if (!s.regular) return 0.0;
  if (size() == 0) return 1.0;
  if (!Klu<Scalar>::condition(s.pattern.start.data(), s.raw(), s.symbolic, s.numeric, &s.common)) return 0.0;
  return s.common.condest > 0.0 && std::isfinite(s.common.condest) ? 1.0 / s.common.condest : 0.0;
}

template <class Scalar>
void BasicSparseLu<Scalar>::release_factors() {
  state_->release_numeric();
  std::vector<Scalar>().swap(state_->values);
  state_->regular = false;
}

template <class Scalar>
int BasicSparseLu<Scalar>::determinant_sign() const requires std::same_as<Scalar, double> {
  const State& s = *state_;
  if (!s.regular) return 0;
  if (s.pattern.columns == 0) return +1;
  // P A Q = L U with a unit diagonal in L and positive row scaling
  const int n = s.pattern.columns;
  std::vector<char> seen(static_cast<std::size_t>(n));
  const auto parity = [&](const int* permutation) {
    int sign = +1;
    seen.assign(seen.size(), 0);
    for (int k = 0; k < n; ++k) {
      int length = 0;
      for (int j = k; !seen[j]; j = permutation[j], ++length) seen[j] = 1;
      if (length > 0 && length % 2 == 0) sign = -sign;
    }
    return sign;
  };
  int sign = parity(s.numeric->Pnum) * parity(s.symbolic->Q);
  const double* diagonal = static_cast<const double*>(s.numeric->Udiag);
  for (int k = 0; k < n; ++k)
    if (diagonal[k] < 0.0) sign = -sign;
  return sign;
}

template class BasicSparseLu<double>;
template class BasicSparseLu<std::complex<double>>;

}  // namespace saltus
