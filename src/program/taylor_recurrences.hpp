// The recurrences of Taylor arithmetic: instructions, and the formula of each. Written once, used with numbers and with
// expressions (to record the recurrences themselves).
#pragma once

#include <saltus/base/interval.hpp>
#include <saltus/program/taylor.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "base/finite.hpp"

namespace saltus {

enum class TaylorOp : std::uint8_t {
  once,          // value at order 0 only: everything that does not vary, relations, logic
  add, sub, neg,
  scale,         // a varies, b does not: b a
  product,       // a b
  square,        // a a
  divide_by,     // b does not vary: a/b
  quotient,      // a/b
  sqrt, exp,
  power,         // a^b, b does not vary
  chain,         // y' = w a', w = b
  chain_minus,   // y' = -w a'
  chain_quotient,        // w y' = a'
  chain_quotient_minus,  // w y' = -a'
  atan2,         // a: y, b: x, c: x^2 + y^2
  select,        // a ? b : c by order 0 of a
  one_plus_square, one_minus_square,  // 1 + a^2, 1 - a^2
};

struct TaylorInstruction {
  TaylorOp op;
  Op first;  // how order 0 is computed
  NodeId result, a, b, c;
};

struct TaylorProgram::Recurrences {
  std::vector<double> constants;        // slots 0 …
  std::vector<std::uint32_t> group_start;  // first slot of each input group, and one past the last
  std::vector<std::vector<std::uint32_t>> outputs;
  std::vector<TaylorInstruction> code;     // for order 0
  std::vector<TaylorInstruction> varying;  // for the orders above: those that do more than `once`
  std::uint32_t slots = 0;
};

/// sum_{j=first..last} a_j b_{k-j}
template <class T>
T convolution(const T* a, const T* b, int first, int last, int k) {
  T s = 0.0;
  for (int j = first; j <= last; ++j) s += a[j] * b[k - j];
  return s;
}

/// (1/k) sum_{j=1..last} j a_j b_{k-j}
template <class T>
T chain(const T* a, const T* b, int last, int k) {
  T s = 0.0;
  double weight = 0.0;
  for (int j = 1; j <= last; ++j) s += ((weight += 1.0) * a[j]) * b[k - j];
  return s / static_cast<double>(k);
}

/// Coefficient k of a^2.
template <class T>
T square(const T* a, int k) {
  T s = 2.0 * convolution(a, a, 0, (k - 1) / 2, k);
  if (k % 2 == 0) s += a[k / 2] * a[k / 2];
  return s;
}

inline double choose(double condition, double yes, double no) {
  return condition != 0.0 ? yes : no;
}
/// Where the condition may change along the curve, so may the branch: nothing is known about its coefficients then.
inline Interval choose(Interval condition, Interval yes, Interval no) {
  if (!condition.contains(0.0)) return yes;
  return condition == Interval(0.0) ? no : Interval(-inf, inf);
}
inline Expr choose(const Expr& condition, const Expr& yes, const Expr& no) {
  return if_else(BoolExpr(condition), yes, no);
}

/// Coefficient k of a^b where a begins with zero. With a = t^m c, c(0) not zero, it is t^(m b) c^b: its first
/// coefficients vanish, and where m b is not an integer those behind it do not exist.
inline double power_of_zero(int k, const double* a, double b) {
  int m = 1;
  while (m <= k && a[m] == 0.0) ++m;
  const double first = m * b;
  if (m > k || first > k) return 0.0;
  const int last = k - static_cast<int>(first);  // the coefficient of c^b
  if (first != std::floor(first) || m + last > k) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> y{std::pow(a[m], b)};
  for (int n = 1; n <= last; ++n) {
    double s = 0.0;
    for (int j = 1; j <= n; ++j) s += (b * j - (n - j)) * a[m + j] * y[static_cast<std::size_t>(n - j)];
    y.push_back(s / (n * a[m]));
  }
  return y.back();
}

/// Coefficient k > 0 of one instruction with result y and operands a, b, c, all as rows of coefficients.
template <class T>
T coefficient(TaylorOp op, int k, const T* y, const T* a, const T* b, const T* c) {
  switch (op) {
    case TaylorOp::once: return 0.0;
    case TaylorOp::add: return a[k] + b[k];
    case TaylorOp::sub: return a[k] - b[k];
    case TaylorOp::neg: return -a[k];
    case TaylorOp::scale: return a[k] * b[0];
    case TaylorOp::product: return convolution(a, b, 0, k, k);
    case TaylorOp::square: return square(a, k);
    case TaylorOp::one_plus_square: return square(a, k);
    case TaylorOp::one_minus_square: return -square(a, k);
    case TaylorOp::divide_by: return a[k] / b[0];
    case TaylorOp::quotient: return (a[k] - convolution(b, y, 1, k, k)) / b[0];
    case TaylorOp::sqrt: return (a[k] - convolution(y, y, 1, k - 1, k)) / (2.0 * y[0]);
    case TaylorOp::exp: return chain(a, y, k, k);
    case TaylorOp::power: {
      if constexpr (std::is_same_v<T, double>)
        if (a[0] == 0.0 && b[0] > 0.0) return power_of_zero(k, a, b[0]);
      T s = 0.0;
      for (int j = 1; j <= k; ++j) s += (b[0] * static_cast<double>(j) - static_cast<double>(k - j)) * a[j] * y[k - j];
      s = s / (static_cast<double>(k) * a[0]);
      if constexpr (std::is_same_v<T, Expr>)  // of the cases of power_of_zero the usual one
        return if_else(a[0] >= 0.0 && a[0] <= 0.0 && b[0] > static_cast<double>(k), Expr(0.0), s);
      else
        return s;
    }
    case TaylorOp::chain: return chain(a, b, k, k);
    case TaylorOp::chain_minus: return -chain(a, b, k, k);
    case TaylorOp::chain_quotient: return (a[k] - chain(y, b, k - 1, k)) / b[0];
    case TaylorOp::chain_quotient_minus: return (-a[k] - chain(y, b, k - 1, k)) / b[0];
    case TaylorOp::atan2: return (chain(a, b, k, k) - chain(b, a, k, k) - chain(y, c, k - 1, k)) / c[0];
    case TaylorOp::select: return choose(a[0], b[k], c[k]);
  }
  return 0.0;
}

/// The change of coefficient k > 0 of an instruction that follows from changes da, db of coefficient k of a and b, all lower
/// coefficients staying: linear, and the same for all k. y, a, b, c are the coefficients of order 0.
template <class T>
T change(TaylorOp op, const T& y, const T& a, const T& b, const T& c, const T& da, const T& db) {
  switch (op) {
    case TaylorOp::once: return 0.0;
    case TaylorOp::add: return da + db;
    case TaylorOp::sub: return da - db;
    case TaylorOp::neg: return -da;
    case TaylorOp::scale: return da * b;
    case TaylorOp::product: return da * b + a * db;
    case TaylorOp::square:
    case TaylorOp::one_plus_square: return 2.0 * a * da;
    case TaylorOp::one_minus_square: return -2.0 * a * da;
    case TaylorOp::divide_by: return da / b;
    case TaylorOp::quotient: return (da - y * db) / b;
    case TaylorOp::sqrt: return da / (2.0 * y);
    case TaylorOp::exp: return y * da;
    case TaylorOp::power:
      if constexpr (std::is_same_v<T, double>)
        if (a == 0.0 && b >= 1.0) return b > 1.0 ? 0.0 : da;
      return b * y / a * da;
    case TaylorOp::chain: return b * da;
    case TaylorOp::chain_minus: return -(b * da);
    case TaylorOp::chain_quotient: return da / b;
    case TaylorOp::chain_quotient_minus: return -(da / b);
    case TaylorOp::atan2: return (da * b - db * a) / c;
    case TaylorOp::select: return 0.0;  // the operands are those of the branch: not needed here
  }
  return 0.0;
}

inline double first_coefficient(const TaylorInstruction& i, double a, double b, double c) {
  if (i.op == TaylorOp::one_plus_square) return 1.0 + a * a;
  if (i.op == TaylorOp::one_minus_square) return 1.0 - a * a;
  return apply(i.first, a, b, c);
}

}  // namespace saltus
