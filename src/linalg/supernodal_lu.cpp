// X. S. Li, An overview of SuperLU, ACM Trans. Math. Softw. 31 (2005) 302-325. Real and complex values differ in the
// names of functions only; `Slu` picks them.
#include "linalg/supernodal_lu.hpp"

#include <algorithm>
#include <cassert>
#include <vector>

#include "base/finite.hpp"
#include "linalg/no_solution.hpp"

#ifdef SALTUS_HAS_SUPERLU
#include <slu_ddefs.h>
#include <slu_zdefs.h>
#endif

namespace saltus {

#ifdef SALTUS_HAS_SUPERLU
namespace {

template <class Scalar>
struct Slu;

template <>
struct Slu<double> {
  using Value = double;
  static constexpr Dtype_t type = SLU_D;
  static constexpr auto create = dCreate_CompCol_Matrix;
  static constexpr auto create_dense = dCreate_Dense_Matrix;
  static constexpr auto factor = dgstrf;
  static constexpr auto solve = dgstrs;
};

template <>
struct Slu<std::complex<double>> {
  using Value = doublecomplex;
  static constexpr Dtype_t type = SLU_Z;
  static constexpr auto create = zCreate_CompCol_Matrix;
  static constexpr auto create_dense = zCreate_Dense_Matrix;
  static constexpr auto factor = zgstrf;
  static constexpr auto solve = zgstrs;
};

/// Whether almost every entry has its mirror image and the diagonal is full: then an ordering of A + A' with pivots on
/// the diagonal, where they are large enough, brings less fill than one of A' A.
bool nearly_symmetric(const SparsePattern& p) {
  std::size_t mirrored = 0;
  for (int j = 0; j < p.columns; ++j) {
    const auto has = [&p](int i, int column) {
      return std::binary_search(p.row.begin() + p.start[column], p.row.begin() + p.start[column + 1], i);
    };
    if (!has(j, j)) return false;
    for (int k = p.start[j]; k < p.start[j + 1]; ++k) mirrored += has(j, p.row[k]);
  }
  return 10 * mirrored >= 9 * p.row.size();
}

}  // namespace

template <class Scalar>
struct BasicSupernodalLu<Scalar>::State {
  using Value = typename Slu<Scalar>::Value;

  SparsePattern pattern;
  std::vector<Scalar> values;
  superlu_options_t options{};
  std::vector<int> column_order, row_order, tree;
  SuperMatrix lower{}, upper{};
  GlobalLU_t global{};
  bool ordered = false, factorised = false;

  State() = default;
  ~State() { release(); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  void release() {
    if (!factorised) return;
    Destroy_SuperNode_Matrix(&lower);
    Destroy_CompCol_Matrix(&upper);
    factorised = false;
  }
};

template <class Scalar>
bool BasicSupernodalLu<Scalar>::available() {
  return true;
}

template <class Scalar>
void BasicSupernodalLu<Scalar>::set_pattern(const SparsePattern& pattern) {
  state_ = std::make_unique<State>();
  State& s = *state_;
  s.pattern = pattern;
  const auto n = static_cast<std::size_t>(pattern.columns);
  for (auto* order : {&s.column_order, &s.row_order, &s.tree}) order->resize(n);
  set_default_options(&s.options);
  const bool symmetric = nearly_symmetric(pattern);
  s.options.ColPerm = symmetric ? MMD_AT_PLUS_A : COLAMD;
  s.options.SymmetricMode = symmetric ? YES : NO;
  s.options.DiagPivotThresh = symmetric ? 0.1 : 1.0;
}

template <class Scalar>
bool BasicSupernodalLu<Scalar>::factorise(std::span<const Scalar> values) {
  State& s = *state_;
  assert(static_cast<int>(values.size()) == s.pattern.nonzeros());
  s.release();
  if (!all_finite(values)) return false;
  const int n = s.pattern.columns;
  s.values.assign(values.begin(), values.end());
  SuperMatrix A{}, permuted{};
  Slu<Scalar>::create(&A, n, n, s.pattern.nonzeros(), reinterpret_cast<typename State::Value*>(s.values.data()),
                      s.pattern.row.data(), s.pattern.start.data(), SLU_NC, Slu<Scalar>::type, SLU_GE);
  if (!s.ordered) get_perm_c(s.options.ColPerm, &A, s.column_order.data());
  s.options.Fact = s.ordered ? SamePattern : DOFACT;
  s.ordered = true;
  sp_preorder(&s.options, &A, s.column_order.data(), s.tree.data(), &permuted);
  SuperLUStat_t statistics;
  StatInit(&statistics);
  int info = 0;
  Slu<Scalar>::factor(&s.options, &permuted, sp_ienv(2), sp_ienv(1), s.tree.data(), nullptr, 0, s.column_order.data(),
                      s.row_order.data(), &s.lower, &s.upper, &s.global, &statistics, &info);
  StatFree(&statistics);
  Destroy_CompCol_Permuted(&permuted);
  Destroy_SuperMatrix_Store(&A);
  s.factorised = info >= 0 && info <= n;  // beyond n: memory was short, and no factors are there
  if (info > 0) s.release();
  return info == 0;
}

template <class Scalar>
void BasicSupernodalLu<Scalar>::solve(std::span<Scalar> b) const {
  State& s = *state_;
  if (!s.factorised) return no_solution(b);
  assert(static_cast<int>(b.size()) == s.pattern.columns);
  const int n = s.pattern.columns;
  SuperMatrix B{};
  Slu<Scalar>::create_dense(&B, n, 1, reinterpret_cast<typename State::Value*>(b.data()), n, SLU_DN, Slu<Scalar>::type,
                            SLU_GE);
  SuperLUStat_t statistics;
  StatInit(&statistics);
  int info = 0;
  Slu<Scalar>::solve(NOTRANS, &s.lower, &s.upper, s.column_order.data(), s.row_order.data(), &B, &statistics, &info);
  StatFree(&statistics);
  Destroy_SuperMatrix_Store(&B);
}

template <class Scalar>
double BasicSupernodalLu<Scalar>::entries() const {
  if (!state_ || !state_->factorised) return 0.0;
  return static_cast<double>(static_cast<const SCformat*>(state_->lower.Store)->nnz) +
         static_cast<double>(static_cast<const NCformat*>(state_->upper.Store)->nnz);
}

#else

template <class Scalar>
struct BasicSupernodalLu<Scalar>::State {};

template <class Scalar>
bool BasicSupernodalLu<Scalar>::available() {
  return false;
}
template <class Scalar>
void BasicSupernodalLu<Scalar>::set_pattern(const SparsePattern&) {}
template <class Scalar>
bool BasicSupernodalLu<Scalar>::factorise(std::span<const Scalar>) {
  return false;
}
template <class Scalar>
void BasicSupernodalLu<Scalar>::solve(std::span<Scalar> b) const {
  no_solution(b);
}
template <class Scalar>
double BasicSupernodalLu<Scalar>::entries() const {
  return 0.0;
}

#endif

template <class Scalar>
BasicSupernodalLu<Scalar>::BasicSupernodalLu() = default;
template <class Scalar>
BasicSupernodalLu<Scalar>::~BasicSupernodalLu() = default;
template <class Scalar>
BasicSupernodalLu<Scalar>::BasicSupernodalLu(BasicSupernodalLu&&) noexcept = default;
template <class Scalar>
BasicSupernodalLu<Scalar>& BasicSupernodalLu<Scalar>::operator=(BasicSupernodalLu&&) noexcept = default;

template class BasicSupernodalLu<double>;
template class BasicSupernodalLu<std::complex<double>>;

}  // namespace saltus
