// A truncated power series as one writes it by hand: the plain C++ way to the Taylor coefficients of a solution.
//
// The right-hand side is called once per order. Since it is straight-line code, every call performs the same operations
// in the same sequence: operation number i keeps its coefficients in row i of a table and adds one with each call. So
// all coefficients together cost O(N^2) per operation, as with a recorded program. `Order` is the current order: a
// number
// (`RunTimeOrder`), or a constant, with which the compiler unrolls all sums.
#pragma once

#include <cmath>

namespace saltus::bench {

struct RunTimeOrder {
  inline static int value = 0;
};
template <int K>
struct FixedOrder {
  static constexpr int value = K;
};

/// Coefficients 0 … N.
template <int N, class Order>
class Series {
 public:
  inline static double* next_row = nullptr;  // set to the start of the table before each call

  Series() = default;
  explicit Series(double value) : c(row()) { c[k()] = k() == 0 ? value : 0.0; }
  /// A variable: its coefficients up to the current order are at p.
  static Series at(double* p) {
    Series s;
    s.c = p;
    return s;
  }
  double coefficient() const { return c[k()]; }

  friend Series operator+(const Series& a, const Series& b) { return make(a.c[k()] + b.c[k()]); }
  friend Series operator-(const Series& a, const Series& b) { return make(a.c[k()] - b.c[k()]); }
  friend Series operator-(const Series& a) { return make(-a.c[k()]); }
  friend Series operator+(const Series& a, double b) { return b + a; }
  friend Series operator+(double a, const Series& b) { return make(k() == 0 ? a + b.c[0] : b.c[k()]); }
  friend Series operator-(double a, const Series& b) { return make(k() == 0 ? a - b.c[0] : -b.c[k()]); }
  friend Series operator-(const Series& a, double b) { return make(k() == 0 ? a.c[0] - b : a.c[k()]); }
  friend Series operator*(double a, const Series& b) { return make(a * b.c[k()]); }
  friend Series operator*(const Series& a, double b) { return make(a.c[k()] * b); }
  friend Series operator*(const Series& a, const Series& b) {
    double s = 0.0;
    for (int j = 0; j <= k(); ++j) s += a.c[j] * b.c[k() - j];
    return make(s);
  }
  friend Series operator/(double a, const Series& b) { return divide(k() == 0 ? a : 0.0, b); }
  friend Series operator/(const Series& a, const Series& b) { return divide(a.c[k()], b); }
  /// The square costs half a product.
  friend Series square(const Series& a) {
    double s = 0.0;
    for (int j = 0; 2 * j < k(); ++j) s += a.c[j] * a.c[k() - j];
    return make(k() % 2 == 0 ? 2.0 * s + a.c[k() / 2] * a.c[k() / 2] : 2.0 * s);
  }
  /// Sine and cosine need each other.
  friend void sine_cosine(const Series& a, Series& sine, Series& cosine) {
    sine.c = row();
    cosine.c = row();
    if (k() == 0) {
      sine.c[0] = std::sin(a.c[0]);
      cosine.c[0] = std::cos(a.c[0]);
      return;
    }
    double s = 0.0, c = 0.0;
    for (int j = 1; j <= k(); ++j) {
      const double slope = j * a.c[j];
      s += slope * cosine.c[k() - j];
      c -= slope * sine.c[k() - j];
    }
    sine.c[k()] = s / k();
    cosine.c[k()] = c / k();
  }
  friend Series cos(const Series& a) {
    Series sine, cosine;
    sine_cosine(a, sine, cosine);
    return cosine;
  }

 private:
  static int k() { return Order::value; }
  static double* row() {
    double* const p = next_row;
    next_row += N + 1;
    return p;
  }
  static Series make(double value) {
    Series s;
    s.c = row();
    s.c[k()] = value;
    return s;
  }
  static Series divide(double a, const Series& b) {
    Series q;
    q.c = row();
    for (int j = 1; j <= k(); ++j) a -= b.c[j] * q.c[k() - j];
    q.c[k()] = a / b.c[0];
    return q;
  }

  double* c = nullptr;
};

}  // namespace saltus::bench
