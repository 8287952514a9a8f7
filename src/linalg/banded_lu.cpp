// Gaussian elimination with row exchanges inside the band (Golub, Van Loan, Matrix Computations, section 4.3). Row i
// holds the columns i - lower … i + upper + lower; the last `lower` of them are room for what the exchanges bring.
// Multipliers stay where they arise, so that solving repeats the exchanges step by step. The diagonal is stored
// inverted and U's rows are divided by it: then each unknown waits for one product of the one before, which is what
// limits narrow bands.
#include <saltus/linalg/lu.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace saltus {
namespace {

double size_of(double v) { return std::abs(v); }
double size_of(const std::complex<double>& v) { return std::abs(v.real()) + std::abs(v.imag()); }

// A complex product written out: the operator would check for infinities in every one.
double times(double a, double b) { return a * b; }
std::complex<double> times(const std::complex<double>& a, const std::complex<double>& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Lower and Upper are the numbers of diagonals where the compiler shall know them, or -1.
template <int Lower, int Upper, class Scalar>
struct Kernel {
  int n, lower, reach;  // reach: diagonals of U
  std::size_t width;

  Kernel(int size, int below, int above)
      : n(size),
        lower(Lower < 0 ? below : Lower),
        reach(Lower < 0 ? below + above : Lower + Upper),
        width(static_cast<std::size_t>(lower + reach + 1)) {}

  /// `exchanged`: whether rows had to change places.
  bool factorise(Scalar* a, int* pivot, bool& exchanged) const {
    exchanged = false;
    for (int k = 0; k < n; ++k) {
      Scalar* const row = a + static_cast<std::size_t>(k) * width + static_cast<std::size_t>(lower);  // from column k
      const int last = std::min(lower, n - 1 - k);
      double largest = size_of(row[0]);
      int best = 0;
      for (int d = 1; d <= last; ++d) {
        const double size = size_of(row[static_cast<std::size_t>(d) * (width - 1)]);
        if (size > largest) largest = size, best = d;
      }
      if (!(largest > 0.0) || !std::isfinite(largest)) return false;
      pivot[k] = best;
      if (best > 0) {
        exchanged = true;
        std::swap_ranges(row, row + reach + 1, row + static_cast<std::size_t>(best) * (width - 1));
      }
      row[0] = 1.0 / row[0];
      for (int d = 1; d <= last; ++d) {
        Scalar* const other = row + static_cast<std::size_t>(d) * (width - 1);
        const Scalar factor = times(other[0], row[0]);
        other[0] = factor;
        if (factor == Scalar(0)) continue;
        for (int c = 1; c <= reach; ++c) other[c] -= times(factor, row[c]);
      }
      for (int c = 1; c <= reach; ++c) row[c] = times(row[c], row[0]);
    }
    return true;
  }

  /// Without exchanges U reaches no further than the matrix did.
  void solve(const Scalar* a, const int* pivot, bool exchanged, Scalar* b) const {
    if (exchanged)
      solve<true>(a, pivot, b);
    else if (Lower == 1 && Upper == 1)
      solve_tridiagonal(a, b);
    else
      solve<false>(a, pivot, b);
  }

  /// The carried unknown stays in a register.
  void solve_tridiagonal(const Scalar* a, Scalar* b) const {
    const Scalar* row = a + 1;  // (multiplier, inverse pivot, U, room)
    Scalar carried(0);
    for (int k = 0; k < n; ++k, row += 4) b[k] = carried = b[k] - times(row[-1], carried);
    carried = Scalar(0);
    for (int k = n; k-- > 0;) {
      row -= 4;
      b[k] = carried = times(b[k], row[0]) - times(row[1], carried);
    }
  }

  template <bool Exchanged>
  void solve(const Scalar* a, const int* pivot, Scalar* b) const {
    for (int k = 0; k < n; ++k) {
      const Scalar* const row = a + static_cast<std::size_t>(k) * width + static_cast<std::size_t>(lower);
      if (Exchanged && pivot[k] > 0) std::swap(b[k], b[k + pivot[k]]);
      const int last = std::min(lower, n - 1 - k);
      for (int d = 1; d <= last; ++d) b[k + d] -= times(row[static_cast<std::size_t>(d) * (width - 1)], b[k]);
    }
    const int far = Exchanged ? reach : reach - lower;
    for (int k = n; k-- > 0;) {
      const Scalar* const row = a + static_cast<std::size_t>(k) * width + static_cast<std::size_t>(lower);
      const int last = std::min(far, n - 1 - k);
      Scalar sum = times(b[k], row[0]);
      for (int c = last; c >= 1; --c) sum -= times(row[c], b[k + c]);
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

}  // namespace

template <class Scalar>
void BasicBandedLu<Scalar>::set_shape(int n, int lower, int upper) {
  assert(n >= 0 && lower >= 0 && upper >= 0);
  n_ = n;
  lower_ = lower;
  upper_ = upper;
  width_ = 2 * lower + upper + 1;
  values_.assign(static_cast<std::size_t>(n) * static_cast<std::size_t>(width_), Scalar(0));
  values_.shrink_to_fit();
  pivot_.assign(static_cast<std::size_t>(n), 0);
}

template <class Scalar>
void BasicBandedLu<Scalar>::clear() {
  std::fill(values_.begin(), values_.end(), Scalar(0));
}

template <class Scalar>
bool BasicBandedLu<Scalar>::factorise() {
  return with_kernel<Scalar>(n_, lower_, upper_,
                             [this](const auto& kernel) { return kernel.factorise(values_.data(), pivot_.data(), exchanged_); });
}

template <class Scalar>
void BasicBandedLu<Scalar>::solve(std::span<Scalar> b) const {
  assert(static_cast<int>(b.size()) == n_);
  with_kernel<Scalar>(n_, lower_, upper_,
                      [&](const auto& kernel) { kernel.solve(values_.data(), pivot_.data(), exchanged_, b.data()); });
}

template class BasicBandedLu<double>;
template class BasicBandedLu<std::complex<double>>;

}  // namespace saltus
