// Gaussian elimination with row exchanges inside the band (Golub, Van Loan, Matrix Computations, section 4.3). Row i
// holds the columns i - lower … i + upper + lower; the last `lower` of them are room for what the exchanges bring.
// Multipliers stay where they arise, so that solving repeats the exchanges step by step. The diagonal is stored
// inverted and U's rows are divided by it: then each unknown waits for one product of the one before, which is what
// limits narrow bands.
#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <type_traits>

#include "linalg/no_solution.hpp"
#include "linalg/pivot_size.hpp"

namespace saltus {
namespace {

// A complex product written out: the operator would check for infinities in every one.
double times(double a, double b) {
  return a * b;
}
std::complex<double> times(const std::complex<double>& a, const std::complex<double>& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Lower and Upper are the numbers of diagonals where the compiler shall know them, or -1.
template <int Lower, int Upper, class Scalar>
struct Kernel {
  static constexpr bool by_diagonals = Lower == 1 && Upper == 1;
  int n, lower, reach;  // reach: diagonals of U

  Kernel(int size, int below, int above)
      : n(size), lower(Lower < 0 ? below : Lower), reach(Lower < 0 ? below + above : Lower + Upper) {}

  std::ptrdiff_t row_stride() const { return by_diagonals ? 1 : lower + reach + 1; }
  std::ptrdiff_t column_stride() const { return by_diagonals ? n : 1; }
  /// From the diagonal entry of row k to its entry c columns to the right, and to the entry d rows below in column k.
  std::ptrdiff_t right(int c) const { return c * column_stride(); }
  std::ptrdiff_t below(int d) const { return d * (row_stride() - column_stride()); }
  template <class Pointer>
  Pointer diagonal(Pointer a, int k) const {
    return a + k * row_stride() + lower * column_stride();
  }

  /// `exchanged`: whether rows had to change places.
  bool factorise(Scalar* a, int* pivot, bool& exchanged) const {
    exchanged = false;
    for (int k = 0; k < n; ++k) {
      Scalar* const row = diagonal(a, k);
      const int last = std::min(lower, n - 1 - k);
      double largest = size_of(row[0]);
      int best = 0;
      for (int d = 1; d <= last; ++d) {
        const double size = size_of(row[below(d)]);
        if (size > largest) largest = size, best = d;
      }
      if (!(largest > 0.0) || !std::isfinite(largest)) return false;
      pivot[k] = best;
      if (best > 0) {
        exchanged = true;
        for (int c = 0; c <= reach; ++c) std::swap(row[right(c)], row[below(best) + right(c)]);
      }
      row[0] = 1.0 / row[0];
      for (int d = 1; d <= last; ++d) {
        Scalar* const other = row + below(d);
        const Scalar factor = times(other[0], row[0]);
        other[0] = factor;
        if (factor == Scalar(0)) continue;
        for (int c = 1; c <= reach; ++c) other[right(c)] -= times(factor, row[right(c)]);
      }
      for (int c = 1; c <= reach; ++c) row[right(c)] = times(row[right(c)], row[0]);
    }
    return true;
  }

  /// Without exchanges U reaches no further than the matrix did.
  void solve(const Scalar* a, const int* pivot, bool exchanged, Scalar* b) const {
    if (exchanged)
      solve<true>(a, pivot, b);
    else
      solve<false>(a, pivot, b);
  }

  template <bool Exchanged>
  void solve(const Scalar* a, const int* pivot, Scalar* b) const {
    for (int k = 0; k < n; ++k) {
      const Scalar* const row = diagonal(a, k);
      if (Exchanged && pivot[k] > 0) std::swap(b[k], b[k + pivot[k]]);
      const int last = std::min(lower, n - 1 - k);
      for (int d = 1; d <= last; ++d) b[k + d] -= times(row[below(d)], b[k]);
    }
    const int far = Exchanged ? reach : reach - lower;
    for (int k = n; k-- > 0;) {
      const Scalar* const row = diagonal(a, k);
      const int last = std::min(far, n - 1 - k);
      Scalar sum = times(b[k], row[0]);
      for (int c = last; c >= 1; --c) sum -= times(row[right(c)], b[k + c]);
      b[k] = sum;
    }
  }
};

template <class Scalar, class Use>
auto with_kernel(int n, int lower, int upper, Use use) {
  if (lower == 1 && upper == 1) return use(Kernel<1, 1, Scalar>(n, lower, upper));
  if (lower == 2 && upper == 2) return use(Kernel<2, 2, Scalar>(n, lower, upper));
  return use(Kernel<-1, -1, Scalar>(n, lower, upper));
}

/// Tridiagonal matrices that need no exchanges, from both ends towards the middle: each unknown waits for its
/// neighbour, and two such chains take the time of one. The diagonals: lower, main, upper, and room for the inverse
/// pivots.
template <class Entry>
struct BothEnds {
  using Scalar = std::remove_const_t<Entry>;
  int n, middle;
  Entry *lower, *main, *upper, *inverse;

  BothEnds(int size, Entry* a)
      : n(size), middle(size / 2), lower(a), main(a + size), upper(a + 2 * size), inverse(a + 3 * size) {}

  /// False, with the matrix as it was: rows would have to change places, or a pivot is not finite.
  bool factorise() const {
    bool good = true;
    // the pivot of row k, from the inverse pivot of its neighbour: at least as large as what it has to remove
    const auto next = [&](int k, const Scalar& coupling, const Scalar& neighbour, const Scalar& removed) {
      const Scalar pivot = main[k] - times(coupling, neighbour);
      good = good && size_of(pivot) >= size_of(removed) && size_of(pivot) > 0.0;
      return inverse[k] = 1.0 / pivot;
    };
    Scalar top(0), bottom(0);
    for (int i = 0, k = n - 1; i < middle || k > middle; ++i, --k) {
      if (i < middle) top = next(i, i > 0 ? times(lower[i], upper[i - 1]) : Scalar(0), top, lower[i + 1]);
      if (k > middle) bottom = next(k, k + 1 < n ? times(upper[k], lower[k + 1]) : Scalar(0), bottom, upper[k - 1]);
    }
    Scalar pivot = main[middle];
    if (middle > 0) pivot -= times(times(lower[middle], upper[middle - 1]), top);
    if (middle + 1 < n) pivot -= times(times(upper[middle], lower[middle + 1]), bottom);
    if (!good || !(size_of(pivot) > 0.0) || !std::isfinite(size_of(pivot))) return false;
    inverse[middle] = 1.0 / pivot;
    // multipliers towards the middle, and what is divided by the pivots away from it
    for (int k = middle; k > 0; --k) {
      lower[k] = times(lower[k], inverse[k - 1]);
      upper[k - 1] = times(upper[k - 1], inverse[k - 1]);
    }
    for (int k = middle; k + 1 < n; ++k) {
      upper[k] = times(upper[k], inverse[k + 1]);
      lower[k + 1] = times(lower[k + 1], inverse[k + 1]);
    }
    return true;
  }

  /// Two unknowns x1, x2 of a chain x1 = c1 - m1 x0, x2 = c2 - m2 x1. The second one does not wait for the first:
  /// x2 = c2 - m2 c1 + m2 m1 x0. Factors m are below 1, so that rounding errors do not grow.
  struct Two {
    Scalar first, second;
    Two(const Scalar& c1, const Scalar& m1, const Scalar& c2, const Scalar& m2, const Scalar& x0)
        : first(c1 - times(m1, x0)), second((c2 - times(m2, c1)) + times(times(m2, m1), x0)) {}
  };

  void solve(Scalar* b) const {
    const int pairs = std::min(middle, n - 1 - middle);  // of rows at equal distances from the ends
    Scalar top(0), bottom(0);
    int begin = 0, end = n - 1;
    for (; begin + 1 < pairs; begin += 2, end -= 2) {
      const Two above(b[begin], lower[begin], b[begin + 1], lower[begin + 1], top);
      const Two below(b[end], upper[end], b[end - 1], upper[end - 1], bottom);
      b[begin] = above.first;
      b[begin + 1] = top = above.second;
      b[end] = below.first;
      b[end - 1] = bottom = below.second;
    }
    if (begin < pairs) {
      b[begin] = top = b[begin] - times(lower[begin], top);
      b[end] = bottom = b[end] - times(upper[end], bottom);
    }
    if (pairs < middle) b[pairs] = top = b[pairs] - times(lower[pairs], top);
    Scalar centre = b[middle];
    if (middle > 0) centre -= times(lower[middle], top);
    if (middle + 1 < n) centre -= times(upper[middle], bottom);
    b[middle] = top = bottom = times(centre, inverse[middle]);
    int i = middle - 1, k = middle + 1, pair = 0;
    for (; pair + 1 < pairs; pair += 2, i -= 2, k += 2) {
      const Two above(times(b[i], inverse[i]), upper[i], times(b[i - 1], inverse[i - 1]), upper[i - 1], top);
      const Two below(times(b[k], inverse[k]), lower[k], times(b[k + 1], inverse[k + 1]), lower[k + 1], bottom);
      b[i] = above.first;
      b[i - 1] = top = above.second;
      b[k] = below.first;
      b[k + 1] = bottom = below.second;
    }
    if (pair < pairs) {
      b[i] = top = times(b[i], inverse[i]) - times(upper[i], top);
      b[k] = bottom = times(b[k], inverse[k]) - times(lower[k], bottom);
    }
    if (pairs < middle) b[0] = times(b[0], inverse[0]) - times(upper[0], top);
  }
};

}  // namespace

template <class Scalar>
void BasicBandedLu<Scalar>::set_shape(int n, int lower, int upper) {
  assert(n >= 0 && lower >= 0 && upper >= 0);
  n_ = n;
  lower_ = lower;
  upper_ = upper;
  const int width = 2 * lower + upper + 1;
  row_stride_ = tridiagonal() ? 1 : static_cast<std::size_t>(width);
  column_stride_ = tridiagonal() ? static_cast<std::size_t>(n) : 1;
  values_.assign(static_cast<std::size_t>(n) * static_cast<std::size_t>(width), Scalar(0));
  values_.shrink_to_fit();
  regular_ = false;
  pivot_.assign(tridiagonal() ? 0 : static_cast<std::size_t>(n), 0);
}

template <class Scalar>
void BasicBandedLu<Scalar>::clear() {
  std::fill(values_.begin(), values_.end(), Scalar(0));
  regular_ = false;
}

template <class Scalar>
bool BasicBandedLu<Scalar>::factorise() {
  from_both_ends_ = tridiagonal() && n_ > 0 && BothEnds<Scalar>(n_, values_.data()).factorise();
  if (from_both_ends_) return regular_ = true;
  // what was tried has left its traces in the room for exchanges
  if (tridiagonal()) std::fill(values_.begin() + 3 * static_cast<std::ptrdiff_t>(n_), values_.end(), Scalar(0));
  pivot_.resize(static_cast<std::size_t>(n_));
  regular_ = with_kernel<Scalar>(n_, lower_, upper_, [this](const auto& kernel) {
    return kernel.factorise(values_.data(), pivot_.data(), exchanged_);
  });
  return regular_;
}

template <class Scalar>
void BasicBandedLu<Scalar>::solve(std::span<Scalar> b) const {
  if (!regular_) return no_solution(b);
  assert(static_cast<int>(b.size()) == n_);
  if (from_both_ends_) return BothEnds<const Scalar>(n_, values_.data()).solve(b.data());
  with_kernel<Scalar>(n_, lower_, upper_,
                      [&](const auto& kernel) { kernel.solve(values_.data(), pivot_.data(), exchanged_, b.data()); });
}

template class BasicBandedLu<double>;
template class BasicBandedLu<std::complex<double>>;

}  // namespace saltus
