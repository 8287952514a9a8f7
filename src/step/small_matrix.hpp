// Matrices of a few rows in extended precision, for the coefficients of methods. They are computed once, so that what
// counts is that this is short and compiles fast.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace saltus {

template <class T>
struct SmallMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<T> entries;  ///< by rows

  SmallMatrix(std::size_t r, std::size_t c) : rows(r), columns(c), entries(r * c, T(0)) {}
  T& operator()(std::size_t i, std::size_t j) { return entries[i * columns + j]; }
  const T& operator()(std::size_t i, std::size_t j) const { return entries[i * columns + j]; }

  static SmallMatrix identity(std::size_t n) {
    SmallMatrix unit(n, n);
    for (std::size_t i = 0; i < n; ++i) unit(i, i) = T(1);
    return unit;
  }
  SmallMatrix transposed() const {
    SmallMatrix result(columns, rows);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) result(j, i) = (*this)(i, j);
    return result;
  }
};

template <class T>
SmallMatrix<T> operator*(const SmallMatrix<T>& a, const SmallMatrix<T>& b) {
  SmallMatrix<T> product(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) product(i, j) += a(i, k) * b(k, j);
  return product;
}

/// a^{-1} b by elimination with pivots. A pivot that vanishes is taken as a rounding error.
template <class T>
SmallMatrix<T> solve(SmallMatrix<T> a, SmallMatrix<T> b) {
  const std::size_t n = a.rows;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(a(i, k)) > std::abs(a(best, k))) best = i;
    for (std::size_t j = 0; j < n; ++j) std::swap(a(k, j), a(best, j));
    for (std::size_t j = 0; j < b.columns; ++j) std::swap(b(k, j), b(best, j));
    if (a(k, k) == T(0)) a(k, k) = T(std::numeric_limits<long double>::epsilon());
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const T factor = a(i, k) / a(k, k);
      for (std::size_t j = k; j < n; ++j) a(i, j) -= factor * a(k, j);
      for (std::size_t j = 0; j < b.columns; ++j) b(i, j) -= factor * b(k, j);
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < b.columns; ++j) b(i, j) /= a(i, i);
  return b;
}

/// An eigenvalue with its right and left eigenvectors, left^T right = 1, |right| = 1.
struct EigenTriple {
  std::complex<long double> value;
  std::vector<std::complex<long double>> right, left;
};

/// Those of a matrix whose eigenvalues are simple: zeros of the characteristic polynomial, improved by inverse
/// iteration from both sides, which doubles and triples the digits.
inline std::vector<EigenTriple> eigenvalues(const SmallMatrix<long double>& a) {
  using Complex = std::complex<long double>;
  const std::size_t n = a.rows;

  // the characteristic polynomial (Faddeev, LeVerrier)
  std::vector<Complex> coefficients(n + 1);
  coefficients[n] = 1;
  SmallMatrix<long double> power = SmallMatrix<long double>::identity(n);
  for (std::size_t k = 1; k <= n; ++k) {
    power = a * power;
    long double trace = 0;
    for (std::size_t i = 0; i < n; ++i) trace += power(i, i);
    coefficients[n - k] = -trace / static_cast<long double>(k);
    for (std::size_t i = 0; i < n; ++i) power(i, i) += coefficients[n - k].real();
  }

  // its zeros, all at once (Durand, Kerner)
  const long double size = std::pow(std::abs(coefficients[0]), 1 / static_cast<long double>(n));
  std::vector<EigenTriple> found(n);
  for (std::size_t k = 0; k < n; ++k)
    found[k].value = size * std::pow(Complex(0.4L, 0.9L), static_cast<long double>(k));
  for (int round = 0; round < 500; ++round)
    for (EigenTriple& one : found) {
      Complex value = 0, others = 1;
      for (std::size_t k = n + 1; k-- > 0;) value = value * one.value + coefficients[k];
      for (const EigenTriple& other : found)
        if (&other != &one) others *= one.value - other.value;
      one.value -= value / others;
    }

  SmallMatrix<Complex> matrix(n, n);
  std::ranges::copy(a.entries, matrix.entries.begin());
  const auto sum = [n](const SmallMatrix<Complex>& u, const SmallMatrix<Complex>& v) {
    Complex result = 0;
    for (std::size_t i = 0; i < n; ++i) result += u(i, 0) * v(i, 0);
    return result;
  };
  for (EigenTriple& one : found) {
    SmallMatrix<Complex> right(n, 1), left(n, 1);
    std::ranges::fill(right.entries, Complex(1));
    std::ranges::fill(left.entries, Complex(1));
    for (int round = 0; round < 4; ++round) {
      SmallMatrix<Complex> shifted = matrix;
      for (std::size_t i = 0; i < n; ++i) shifted(i, i) -= one.value;
      right = solve(shifted, right);
      left = solve(shifted.transposed(), left);
      for (SmallMatrix<Complex>* v : {&right, &left}) {
        long double norm = 0;
        for (const Complex& x : v->entries) norm += std::norm(x);
        for (Complex& x : v->entries) x /= std::sqrt(norm);
      }
      one.value = sum(left, matrix * right) / sum(left, right);
    }
    one.right = right.entries;
    for (const Complex& x : left.entries) one.left.push_back(x / sum(left, right));
  }
  return found;
}

}  // namespace saltus
