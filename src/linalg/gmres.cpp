// Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd edition, SIAM 2003: GMRES by Givens rotations (algorithm
// 6.9 and section 6.5.3), from the left preconditioned (9.3.1) by ILU(0) (algorithm 10.4), modified: the fill that is
// dropped is added to the diagonal (10.3.5), which keeps the action on smooth vectors. Long steps of diffusion need
// half the iterations, and residuals say more about errors.
//
// With W = diag(weights) the method sees W^{-1} M^{-1} A W: its residuals are about errors in units of the weights. By
// how much they underestimate these, the smallest diagonal entry of the triangular factor of the Hessenberg matrix
// says.
#include "linalg/gmres.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/finite.hpp"
#include "linalg/pivot_size.hpp"

namespace saltus {
namespace {

/// A pivot below this part of the diagonal entry is too small for an incomplete factorisation.
constexpr double smallest_pivot = 1e-3;
constexpr int longest_basis = 30;
/// Entries of all vectors of a basis that stay in the cache together.
constexpr std::size_t piece = 1024;

double conjugate(double v) {
  return v;
}
std::complex<double> conjugate(const std::complex<double>& v) {
  return std::conj(v);
}
double wide(float v) {
  return v;
}
std::complex<double> wide(const std::complex<float>& v) {
  return v;
}

}  // namespace

template <class Scalar>
bool BasicGmres<Scalar>::set_pattern(const SparsePattern& pattern, std::span<const Scalar> values) {
  n_ = pattern.columns;
  const auto n = static_cast<std::size_t>(n_);
  // Units of rows and columns in which these have equal sums (Sinkhorn): there is one such scaling, so that those of
  // the user do not count.
  std::vector<double> row(n), column(n, 1.0);
  for (int sweep = 0; sweep < 10; ++sweep) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int j = 0; j < n_; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k)
        row[pattern.row[k]] += size_of(values[k]) * column[j];
    for (double& r : row) {
      if (!(r > 0.0)) return false;
      r = 1.0 / r;
    }
    for (int j = 0; j < n_; ++j) {
      double sum = 0.0;
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) sum += size_of(values[k]) * row[pattern.row[k]];
      if (!(sum > 0.0)) return false;
      column[j] = 1.0 / sum;
    }
  }
  // the column of the largest entry of each row
  std::vector<double> largest(n, 0.0);
  std::vector<int> column_of(n, -1);
  for (int j = 0; j < n_; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) {
      const int i = pattern.row[k];
      if (const double size = size_of(values[k]) * row[i] * column[j]; size > largest[i]) {
        largest[i] = size;
        column_of[i] = j;
      }
    }
  row_.assign(n, -1);
  for (int i = 0; i < n_; ++i) {
    if (column_of[i] < 0 || row_[column_of[i]] >= 0) return false;
    row_[column_of[i]] = i;
  }
  start_.assign(n + 1, 0);
  for (const int i : pattern.row) ++start_[column_of[i] + 1];
  std::partial_sum(start_.begin(), start_.end(), start_.begin());
  std::vector<int> next(start_.begin(), start_.end() - 1);
  column_.resize(pattern.row.size());
  place_.resize(pattern.row.size());
  diagonal_.resize(n);
  for (int j = 0; j < n_; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) {
      const int i = column_of[pattern.row[k]], here = next[i]++;
      column_[here] = j;
      place_[here] = k;
      if (i == j) diagonal_[i] = here;
    }
  value_.resize(column_.size());
  factor_.resize(column_.size());
  inverse_.resize(n);
  x_.resize(n);
  r_.resize(n);
  basis_.clear();
  return true;
}

template <class Scalar>
bool BasicGmres<Scalar>::factorise(std::span<const Scalar> values) {
  for (std::size_t k = 0; k < value_.size(); ++k) value_[k] = values[place_[k]];
  std::vector<int> where(static_cast<std::size_t>(n_), -1);  // of columns in the row at hand
  std::vector<Scalar> row;
  smallest_ = 1.0;
  for (int i = 0; i < n_; ++i) {
    const int begin = start_[i], end = start_[i + 1], diagonal = diagonal_[i];
    row.assign(value_.begin() + begin, value_.begin() + end);
    for (int k = begin; k < end; ++k) where[column_[k]] = k - begin;
    const double least = smallest_pivot * size_of(value_[diagonal]);
    Scalar dropped = 0.0;
    for (int k = begin; k < diagonal; ++k) {
      const int p = column_[k];
      const Scalar l = row[k - begin];  // times the diagonal of U, by which the rest of row p is divided
      for (int q = diagonal_[p] + 1; q < start_[p + 1]; ++q) {
        const Scalar product = l * wide(factor_[q]);
        if (const int at = where[column_[q]]; at >= 0)
          row[at] -= product;
        else
          dropped += product;
      }
      factor_[k] = static_cast<Single>(l);
    }
    for (int k = begin; k < end; ++k) where[column_[k]] = -1;
    Scalar pivot = row[diagonal - begin] - dropped;
    if (size_of(pivot) < least) pivot = row[diagonal - begin];
    if (!(size_of(pivot) >= least) || !(least > 0.0)) return false;
    inverse_[i] = 1.0 / pivot;
    for (int k = diagonal + 1; k < end; ++k) factor_[k] = static_cast<Single>(row[k - begin] * inverse_[i]);
  }
  return true;
}

/// v := M^{-1} v with M = L (D^{-1} U), L with the diagonal of U in it.
template <class Scalar>
void BasicGmres<Scalar>::precondition(std::vector<Scalar>& v) const {
  const Single* const factor = factor_.data();
  const int* const column = column_.data();
  for (int i = 0; i < n_; ++i) {
    Scalar sum = v[i];
    for (int k = start_[i]; k < diagonal_[i]; ++k) sum -= wide(factor[k]) * v[column[k]];
    v[i] = sum * inverse_[i];
  }
  for (int i = n_ - 1; i >= 0; --i) {
    Scalar sum = v[i];
    for (int k = diagonal_[i] + 1; k < start_[i + 1]; ++k) sum -= wide(factor[k]) * v[column[k]];
    v[i] = sum;
  }
}

/// r := M^{-1} (b - A x).
template <class Scalar>
void BasicGmres<Scalar>::residual(std::span<const Scalar> b, const std::vector<Scalar>& x) {
  for (int i = 0; i < n_; ++i) {
    Scalar sum = b[row_[i]];
    for (int k = start_[i]; k < start_[i + 1]; ++k) sum -= value_[k] * x[column_[k]];
    r_[i] = sum;
  }
  precondition(r_);
}

template <class Scalar>
double BasicGmres<Scalar>::largest_in_weights(std::span<const double> weights) const {
  double largest = 0.0;
  for (std::size_t j = 0; j < r_.size(); ++j) {
    const double size = size_of(r_[j]) / weights[j];
    if (!std::isfinite(size)) return inf;
    largest = std::max(largest, size);
  }
  return largest;
}

/// Subtracts from r its parts along the first k + 1 vectors of the basis, which go into column_of_h_; returns what is
/// left of its norm.
template <class Scalar>
double BasicGmres<Scalar>::orthogonalise(int k) {
  const std::size_t n = r_.size(), count = static_cast<std::size_t>(k) + 1;
  std::fill_n(column_of_h_.begin(), count, Scalar(0));
  for (std::size_t first = 0; first < n; first += piece) {
    const std::size_t last = std::min(first + piece, n);
    for (std::size_t m = 0; m < count; ++m) {
      const Single* const v = basis_[m].data();
      Scalar sums[4] = {};
      std::size_t j = first;
      for (; j + 4 <= last; j += 4)
        for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += conjugate(wide(v[j + lane])) * r_[j + lane];
      for (; j < last; ++j) sums[0] += conjugate(wide(v[j])) * r_[j];
      column_of_h_[m] += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
  }
  double norm = 0.0;
  for (std::size_t first = 0; first < n; first += piece) {
    const std::size_t last = std::min(first + piece, n);
    for (std::size_t m = 0; m < count; ++m) {
      const Single* const v = basis_[m].data();
      const Scalar part = column_of_h_[m];
      for (std::size_t j = first; j < last; ++j) r_[j] -= part * wide(v[j]);
    }
    double sum = 0.0;
    for (std::size_t j = first; j < last; ++j) sum += std::norm(r_[j]);
    norm += sum;
  }
  return std::sqrt(norm);
}

/// Adds to x what reduces the residual r to `target` (root mean square, in weights), or as far as the longest basis
/// goes; returns the number of iterations.
template <class Scalar>
int BasicGmres<Scalar>::cycle(std::span<const double> weights, double target, int most) {
  const std::size_t n = r_.size();
  const double all = std::sqrt(static_cast<double>(n));
  const auto stride = static_cast<std::size_t>(longest_basis) + 1;
  column_of_h_.resize(stride + 1);
  h_.resize(stride * stride);
  sines_.resize(stride);
  cosines_.resize(stride);
  g_.assign(stride + 1, Scalar(0));
  double norm = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    r_[j] /= weights[j];
    norm += std::norm(r_[j]);
  }
  norm = std::sqrt(norm);
  g_[0] = norm;
  const auto keep = [&](int k) {  // r / norm is vector k of the basis
    if (static_cast<int>(basis_.size()) <= k) basis_.emplace_back(n);
    const double scale = 1.0 / norm;
    for (std::size_t j = 0; j < n; ++j) basis_[k][j] = static_cast<Single>(r_[j] * scale);
  };
  int k = 0;
  while (k < std::min(most, longest_basis) && norm > 0.0 && (k == 0 || size_of(g_[k]) > all * target * smallest_)) {
    keep(k);
    const Single* const v = basis_[k].data();
    for (int i = 0; i < n_; ++i) {
      Scalar sum = 0.0;
      for (int e = start_[i]; e < start_[i + 1]; ++e) sum += value_[e] * (weights[column_[e]] * wide(v[column_[e]]));
      r_[i] = sum;
    }
    precondition(r_);
    for (std::size_t j = 0; j < n; ++j) r_[j] /= weights[j];
    norm = orthogonalise(k);
    if (!std::isfinite(norm)) break;
    for (int m = 0; m < k; ++m) {
      const Scalar upper = column_of_h_[m], lower = column_of_h_[m + 1];
      column_of_h_[m] = cosines_[m] * upper + sines_[m] * lower;
      column_of_h_[m + 1] = cosines_[m] * lower - conjugate(sines_[m]) * upper;
    }
    const Scalar upper = column_of_h_[k];
    const double length = std::hypot(std::abs(upper), norm);
    if (!(length > 0.0)) break;
    const Scalar phase = std::abs(upper) > 0.0 ? upper / std::abs(upper) : Scalar(1);
    cosines_[k] = std::abs(upper) / length;
    sines_[k] = phase * (norm / length);
    column_of_h_[k] = phase * length;
    for (int m = 0; m <= k; ++m) h_[m + static_cast<std::size_t>(k) * stride] = column_of_h_[m];
    g_[k + 1] = -conjugate(sines_[k]) * g_[k];
    g_[k] *= cosines_[k];
    smallest_ = std::min(smallest_, length);
    ++k;
  }
  // back substitution, then x += W V y
  for (int m = k - 1; m >= 0; --m) {
    for (int q = m + 1; q < k; ++q) g_[m] -= h_[m + static_cast<std::size_t>(q) * stride] * g_[q];
    g_[m] /= h_[m + static_cast<std::size_t>(m) * stride];
  }
  for (std::size_t first = 0; first < n; first += piece) {
    const std::size_t last = std::min(first + piece, n);
    Scalar sum[piece] = {};
    for (int m = 0; m < k; ++m)
      for (std::size_t j = first; j < last; ++j) sum[j - first] += g_[m] * wide(basis_[m][j]);
    for (std::size_t j = first; j < last; ++j) x_[j] += weights[j] * sum[j - first];
  }
  return k;
}

template <class Scalar>
bool BasicGmres<Scalar>::solve(std::span<Scalar> b, std::span<const double> weights, double tolerance, int most) {
  iterations_ = 0;
  std::fill(x_.begin(), x_.end(), Scalar(0));
  residual(b, x_);
  double largest = largest_in_weights(weights), target = tolerance;
  int idle_cycles = 0;
  while (largest > tolerance * smallest_) {
    if (!std::isfinite(largest) || iterations_ >= most) return false;
    const int done = cycle(weights, target, most - iterations_);
    if (done == 0) return false;
    iterations_ += done;
    residual(b, x_);
    const double before = largest;
    largest = largest_in_weights(weights);
    // the largest error is larger than the mean
    if (largest > tolerance * smallest_) target *= std::min(0.5, tolerance * smallest_ / largest);
    // the mean gets smaller with every iteration, the largest error may wait for the next cycle
    if (!(largest < 0.9 * before) && ++idle_cycles > 2) return false;
  }
  std::copy(x_.begin(), x_.end(), b.begin());
  return true;
}

template class BasicGmres<double>;
template class BasicGmres<std::complex<double>>;

}  // namespace saltus
