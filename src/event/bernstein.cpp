// Root isolation by Descartes' rule of signs on Bernstein coefficients with bisection (Lane and Riesenfeld 1981;
// Mourrain, Rouillier and Roy 2005): the number of roots of p in a cell is the number of sign changes of its
// coefficients there, less an even number. Coefficients below the noise count as either sign, which gives a smallest
// and a largest number of changes.
#include <saltus/base/error.hpp>
#include <saltus/event/bernstein.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/finite.hpp"

namespace saltus {
namespace {

constexpr int max_degree = Bernstein::max_degree;
// Cells are not divided below this width; 2^-46 is finer than any root of a double polynomial on [0, 1] can be placed.
constexpr int max_depth = 46;
// A cell in which |p| stays below this many noise levels has nothing more to tell.
constexpr double hopeless = 4.0;

using Coefficients = std::array<double, max_degree + 1>;

struct Tables {
  double binomial[2 * max_degree + 1][2 * max_degree + 1] = {};
  // T_k(2s - 1) = sum_i chebyshev[n][k][i] B_i^n(s)
  double chebyshev[max_degree + 1][max_degree + 1][max_degree + 1] = {};
  // s^k = sum_i monomial[n][k][i] B_i^n(s)
  double monomial[max_degree + 1][max_degree + 1][max_degree + 1] = {};

  constexpr Tables() {
    for (int n = 0; n <= 2 * max_degree; ++n) {
      binomial[n][0] = binomial[n][n] = 1.0;
      for (int k = 1; k < n; ++k) binomial[n][k] = binomial[n - 1][k - 1] + binomial[n - 1][k];
    }
    for (int n = 0; n <= max_degree; ++n) {
      for (int k = 0; k <= n; ++k) {
        for (int i = 0; i <= n; ++i) {
          monomial[n][k][i] = i < k ? 0.0 : binomial[i][k] / binomial[n][k];
          // degree k: (-1)^(k-j) C(2k,2j)/C(k,j); raised to degree n with the weights C(k,j) C(n-k,i-j) / C(n,i)
          long double sum = 0.0L;
          for (int j = std::max(0, i - (n - k)); j <= std::min(k, i); ++j) {
            const long double term = static_cast<long double>(binomial[2 * k][2 * j]) * binomial[n - k][i - j];
            sum += (k - j) % 2 == 0 ? term : -term;
          }
          chebyshev[n][k][i] = static_cast<double>(sum / binomial[n][i]);
        }
      }
    }
  }
};

constexpr Tables tables;

Bernstein combine(std::span<const double> c, double noise,
                  const double (&basis)[max_degree + 1][max_degree + 1][max_degree + 1]) {
  Bernstein p;
  p.degree = static_cast<int>(c.size()) - 1;
  const auto& rows = basis[p.degree];
  for (int k = 0; k <= p.degree; ++k) {
    for (int i = 0; i <= p.degree; ++i) p.b[i] += c[k] * rows[k][i];
  }
  p.noise = noise;
  return p;
}

void check_degree(std::span<const double> c) {
  if (c.empty() || c.size() > static_cast<std::size_t>(max_degree) + 1) {
    throw UsageError(
        "Bernstein: a polynomial needs 1 to 17 coefficients; split the interval and fit a lower degree on each part");
  }
}

struct SignCount {
  int least = 0;  // changes among the coefficients that have a sign
  int most = 0;   // changes if the others choose theirs to make many
};

SignCount count_changes(const Coefficients& b, int n, double noise) {
  SignCount count;
  constexpr int never = -1000;
  int plus = 0, minus = 0;  // most changes so far if the present coefficient is taken as + or -
  int last = 0;
  for (int i = 0; i <= n; ++i) {
    const int sign = b[i] > noise ? 1 : b[i] < -noise ? -1 : 0;
    if (sign != 0) {
      if (last == -sign) ++count.least;
      last = sign;
    }
    const int to_plus = i == 0 ? 0 : std::max(plus, minus + 1);
    const int to_minus = i == 0 ? 0 : std::max(minus, plus + 1);
    plus = sign >= 0 ? to_plus : never;
    minus = sign <= 0 ? to_minus : never;
  }
  count.most = std::max(plus, minus);
  return count;
}

struct Part {
  double low, width;
  int depth;
  Coefficients b;
};

// Writes the coefficients on [0, s] and [s, 1] of the polynomial with coefficients b.
void divide(const Coefficients& b, int n, double s, Coefficients& left, Coefficients& right) {
  Coefficients work = b;
  left[0] = work[0];
  right[n] = work[n];
  for (int r = 1; r <= n; ++r) {
    for (int i = 0; i <= n - r; ++i) work[i] += s * (work[i + 1] - work[i]);
    left[r] = work[0];
    right[n - r] = work[n - r];
  }
}

// Collects cells from left to right, joins neighbours that have no sign, and knows the sign of p at each border.
class Collector {
 public:
  explicit Collector(RootCells& roots) : roots_(roots) {
    roots_.count = 0;
    roots_.first_sign = 0;
    roots_.complete = true;
  }
  void signed_part(signed char sign) {
    settle(sign);
    last_ = sign;
  }
  void simple(double low, double high, signed char before) {
    settle(before);
    last_ = static_cast<signed char>(-before);
    push({low, high, RootKind::simple, before, last_});
  }
  void unresolved(double low, double high) {
    if (!open_) {
      push({low, high, RootKind::zero, last_, 0});
      open_ = true;
    } else if (roots_.complete) {
      roots_.cell[static_cast<std::size_t>(roots_.count) - 1].high = high;
    }
  }
  void finish() {
    if (open_) classify(0);
  }

 private:
  void push(const RootCell& cell) {
    if (roots_.count == RootCells::capacity) {
      roots_.complete = false;
    } else {
      roots_.cell[static_cast<std::size_t>(roots_.count++)] = cell;
    }
  }
  void settle(signed char sign) {
    if (roots_.first_sign == 0) roots_.first_sign = sign;
    if (open_) classify(sign);
    open_ = false;
  }
  void classify(signed char after) {
    if (!roots_.complete) return;
    RootCell& cell = roots_.cell[static_cast<std::size_t>(roots_.count) - 1];
    cell.after = after;
    cell.kind = cell.before == 0 && after == 0 ? RootKind::zero
                : cell.before == 0             ? RootKind::zero_at_start
                : after == 0                   ? RootKind::zero_at_end
                : cell.before == after         ? RootKind::even
                                               : RootKind::odd;
  }

  RootCells& roots_;
  signed char last_ = 0;
  bool open_ = false;
};

}  // namespace

Bernstein Bernstein::from_monomial(std::span<const double> c, double noise) {
  check_degree(c);
  return combine(c, noise, tables.monomial);
}

Bernstein Bernstein::from_chebyshev(std::span<const double> a, double noise) {
  check_degree(a);
  return combine(a, noise, tables.chebyshev);
}

double Bernstein::value(double s) const {
  double slope;
  return value(s, slope);
}

double Bernstein::value(double s, double& slope) const {
  Coefficients work = b;
  slope = 0.0;
  for (int r = degree; r >= 1; --r) {
    if (r == 1) slope = degree * (work[1] - work[0]);
    for (int i = 0; i < r; ++i) work[i] += s * (work[i + 1] - work[i]);
  }
  return work[0];
}

double Bernstein::magnitude() const {
  double largest = 0.0;
  for (int i = 0; i <= degree; ++i) largest = std::max(largest, std::abs(b[i]));
  return largest;
}

void Bernstein::deflate_start() {
  if (degree == 0) return;
  const double n = degree;
  for (int i = 0; i < degree; ++i) b[i] = b[i + 1] * (n / (i + 1));
  b[degree] = 0.0;
  --degree;
  // (e(s) - e(0))/s is a value of e' in between, and Markov's inequality bounds e' by 2 n^2 max|e|.
  noise *= 2.0 * n * n;
}

void isolate_roots(const Bernstein& p, RootCells& roots, bool until_negative) {
  Collector collect(roots);
  const int n = p.degree;
  // de Casteljau's scheme adds less than n eps max|b| altogether on the way to any cell.
  const double noise = p.noise + n * eps * p.magnitude();
  double finite = 0.0 * noise;
  for (int i = 0; i <= n; ++i) finite += 0.0 * p.b[i];
  if (finite != 0.0) {  // no numbers, no answer
    collect.unresolved(0.0, 1.0);
    collect.finish();
    roots.complete = false;
    return;
  }
  std::array<Part, max_depth + 2> stack;
  int top = 0;
  stack[0].low = 0.0;
  stack[0].width = 1.0;
  stack[0].depth = 0;
  stack[0].b = p.b;
  while (top >= 0) {
    Part& part = stack[static_cast<std::size_t>(top)];
    double least = part.b[0], largest = part.b[0];
    for (int i = 1; i <= n; ++i) {
      least = std::min(least, part.b[i]);
      largest = std::max(largest, part.b[i]);
    }
    if (least > noise) {
      collect.signed_part(1);
      --top;
      continue;
    }
    if (largest < -noise) {
      collect.signed_part(-1);
      --top;
      if (until_negative) return;
      continue;
    }
    const double high = part.low + part.width;
    const double first = part.b[0], last = part.b[n];
    if (std::abs(first) > noise && std::abs(last) > noise && (first < 0.0) != (last < 0.0)) {
      const SignCount changes = count_changes(part.b, n, noise);
      if (changes.least == 1 && changes.most == 1) {
        if (until_negative && first < 0.0) {
          collect.signed_part(-1);
          return;
        }
        collect.simple(part.low, high, first > 0.0 ? 1 : -1);
        --top;
        if (until_negative) return;
        continue;
      }
    }
    if (part.depth == max_depth || std::max(largest, -least) <= hopeless * noise) {
      collect.unresolved(part.low, high);
      --top;
      continue;
    }
    // The left part goes on top of the stack. A root on the border would be hard to see from both sides: divide beside
    // it.
    Part& left = stack[static_cast<std::size_t>(top) + 1];
    const Coefficients whole = part.b;
    double ratio = 0.5;
    divide(whole, n, ratio, left.b, part.b);
    if (std::abs(part.b[0]) <= noise) {
      ratio = 0.4375;
      divide(whole, n, ratio, left.b, part.b);
    }
    left.low = part.low;
    left.width = ratio * part.width;
    left.depth = ++part.depth;
    part.low += left.width;
    part.width -= left.width;
    ++top;
  }
  collect.finish();
}

double root_in(const Bernstein& p, const RootCell& cell, double& slope) {
  // Newton's method inside a shrinking bracket; bisection where it would leave the bracket or is slow. Values come from
  // Horner's scheme in w = s/(1-s) or its inverse, whichever is at most 1: p(s) = (1-s)^n sum_i C(n,i) b_i w^i, without
  // cancellation beyond that of p.
  const int n = p.degree;
  const auto& binomial = tables.binomial;
  Coefficients value_terms, slope_terms;
  for (int i = 0; i <= n; ++i) value_terms[i] = binomial[n][i] * p.b[i];
  for (int i = 0; i < n; ++i) slope_terms[i] = n * binomial[n - 1][i] * (p.b[i + 1] - p.b[i]);
  const auto evaluate = [&](double s) {
    const bool left = s <= 0.5;
    const double base = left ? 1.0 - s : s, w = left ? s / base : (1.0 - s) / base;
    double v = value_terms[left ? n : 0], d = 0.0, power = 1.0;
    for (int i = 1; i <= n; ++i) v = v * w + value_terms[left ? n - i : i];
    if (n > 0) d = slope_terms[left ? n - 1 : 0];
    for (int i = 1; i < n; ++i) {
      d = d * w + slope_terms[left ? n - 1 - i : i];
      power *= base;
    }
    slope = d * power;
    return v * power * (n > 0 ? base : 1.0);
  };
  // Below a part of the noise, or of the rounding errors, values say nothing.
  const double enough = 0.25 * p.noise + eps * p.magnitude();
  double low = cell.low, high = cell.high;
  const bool falling = cell.before > 0;
  const double first = p.b[0], last = p.b[static_cast<std::size_t>(n)];
  double s = low == 0.0 && high == 1.0 && first != last ? first / (first - last) : 0.5 * (low + high);
  double previous = high - low;
  for (int iteration = 0; iteration < 100; ++iteration) {
    const double v = evaluate(s);
    if (std::abs(v) <= enough) return s;
    ((v > 0.0) == falling ? low : high) = s;
    const double move = slope == 0.0 ? std::numeric_limits<double>::infinity() : -v / slope;
    double next = s + move;
    if (!(next > low && next < high) || std::abs(move) > 0.5 * previous) next = 0.5 * (low + high);
    previous = std::abs(next - s);
    if (previous <= eps * std::max(high, eps)) return next;
    s = next;
  }
  return s;
}

}  // namespace saltus
