// Derivatives that a model reads (`der(c) = d`, guards on der(c)) are those of the solution, in modes of any index.
//
// Random smooth equations with known solutions: blocks of chains N z' + z (index 1 to 4) and of z' = a z; multiples of
// derivatives of algebraic equations are added to other equations, so that the structure does not show the index; then
// dense changes of variables and combinations of equations, also with coefficients that depend on time, and curved
// variables. The right-hand sides follow from the solution, so that it is exact in every form.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "random_cases.hpp"

namespace saltus {
namespace {

using Random = std::mt19937;

double uniform(Random& random, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

/// a sin(w t + p) + b t + c.
struct Curve {
  double a, w, p, b, c;

  explicit Curve(Random& random)
      : a(uniform(random, 0.3, 1.5)),
        w(uniform(random, 0.5, 3.0)),
        p(uniform(random, 0.0, 6.0)),
        b(uniform(random, -1.0, 1.0)),
        c(uniform(random, -2.0, 2.0)) {}
  double at(double t) const { return a * std::sin(w * t + p) + b * t + c; }
  double slope(double t) const { return a * w * std::cos(w * t + p) + b; }
  Expr at(const Expr& t) const { return a * sin(w * t + p) + b * t + c; }
  Expr slope(const Expr& t) const { return a * w * cos(w * t + p) + b; }
};

using Rows = std::vector<std::vector<Expr>>;

Rows zeros(std::size_t n) {
  return Rows(n, std::vector<Expr>(n, Expr(0.0)));
}

/// A random matrix whose inverse is not large: rotations of planes and factors between 1/2 and 2.
std::vector<std::vector<double>> mixing(std::size_t n, Random& random) {
  std::vector<std::vector<double>> m(n, std::vector<double>(n, 0.0));
  for (std::size_t i = 0; i < n; ++i) m[i][i] = std::exp2(uniform(random, -1.0, 1.0));
  for (std::size_t k = 0; k < 2 * n && n > 1; ++k) {
    const std::size_t i = random() % n, j = (i + 1 + random() % (n - 1)) % n;
    const double angle = uniform(random, 0.0, 3.0), c = std::cos(angle), s = std::sin(angle);
    for (std::size_t q = 0; q < n; ++q) {
      const double a = m[i][q], b = m[j][q];
      m[i][q] = c * a - s * b;
      m[j][q] = s * a + c * b;
    }
  }
  return m;
}

struct Problem {
  std::vector<Curve> solution;
  std::vector<std::size_t> read;  ///< variables x_j beside which d_j = der(x_j) is a variable
  std::size_t guarded = 0;        ///< der(x_guarded) > threshold is counted
  double threshold = 0.0;
  Model model;

  explicit Problem(unsigned seed) : model("read derivatives") {
    Random random(seed);
    Rows E, A;
    draw_blocks(random, E, A);
    const std::size_t n = E.size();
    add_derivatives(random, E, A);
    const Expr t = model.time();
    change_variables(random, t, E, A);
    const auto P = mixing(n, random);
    for (std::size_t j = 0; j < n; ++j) solution.emplace_back(random);
    std::vector<Expr> x, xp;
    for (std::size_t j = 0; j < n; ++j) x.push_back(model.variable("x" + std::to_string(j), solution[j].at(0.0)));
    std::vector<double> bend(n, 0.0);
    if (random() % 3 == 0)
      for (double& b : bend) b = uniform(random, -0.3, 0.3);
    // u = x + b sin(x) and its derivative, at the variables and at the solution
    const auto u = [&](std::size_t j, const Expr& value) { return value + bend[j] * sin(value); };
    const auto up = [&](std::size_t j, const Expr& value, const Expr& slope) {
      return (1.0 + bend[j] * cos(value)) * slope;
    };
    for (std::size_t i = 0; i < n; ++i) {
      Expr left = 0.0, right = 0.0;
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t j = 0; j < n; ++j) {
          if (P[i][k] == 0.0) continue;
          left = left + P[i][k] * (E[k][j] * up(j, x[j], der(x[j])) + A[k][j] * u(j, x[j]));
          right = right + P[i][k] * (E[k][j] * up(j, solution[j].at(t), solution[j].slope(t)) +
                                     A[k][j] * u(j, solution[j].at(t)));
        }
      model.equation(left == right);
    }
    for (std::size_t j = 0; j < n; ++j)
      if (random() % 2 == 0 || j + 1 == n) {
        read.push_back(j);
        model.equation(model.variable("d" + std::to_string(j)) == der(x[j]));
      }
    guarded = read[random() % read.size()];
    const Curve& curve = solution[guarded];
    threshold = curve.b + 0.5 * curve.a * curve.w * uniform(random, -1.0, 1.0);
    const Expr count = model.discrete("count", 0.0);
    model.when(der(x[guarded]) > threshold).assign(count, model.pre(count) + 1.0);
  }

  /// Times at which the guarded derivative rises through its threshold.
  std::vector<double> crossings(double stop) const {
    const Curve& c = solution[guarded];
    std::vector<double> times;
    // cos(w t + p) = q rises through q at w t + p = 2 pi k - acos(q)
    const double q = (threshold - c.b) / (c.a * c.w);
    for (int k = -2; k < 10; ++k) {
      const double t = (2.0 * std::numbers::pi * k - std::acos(q) - c.p) / c.w;
      if (t > 0.0 && t < stop) times.push_back(t);
    }
    return times;
  }

 private:
  static void draw_blocks(Random& random, Rows& E, Rows& A) {
    std::vector<int> lengths;  // of chains; 0: a state
    const std::size_t blocks = 1 + random() % 3;
    for (std::size_t k = 0; k < blocks; ++k) lengths.push_back(static_cast<int>(random() % (k == 0 ? 5 : 3)));
    std::size_t n = 0;
    for (const int length : lengths) n += static_cast<std::size_t>(std::max(length, 1));
    E = A = zeros(n);
    std::size_t at = 0;
    for (const int length : lengths) {
      if (length == 0) {
        E[at][at] = 1.0;
        A[at][at] = uniform(random, -0.3, 1.0);
        ++at;
      }
      for (int k = 0; k < length; ++k, ++at) {
        A[at][at] = 1.0;
        if (k + 1 < length) E[at][at + 1] = uniform(random, 0.5, 1.5);
      }
    }
  }

  /// To equation i a multiple of the derivative of equation j, which has no derivatives itself.
  static void add_derivatives(Random& random, Rows& E, Rows& A) {
    const std::size_t n = E.size();
    const auto algebraic = [&](std::size_t i) {
      return std::ranges::all_of(E[i], [](const Expr& e) { return e.is_constant() && e.constant_value() == 0.0; });
    };
    for (std::size_t j = 0; j < n; ++j) {
      if (!algebraic(j) || random() % 3 == 0) continue;
      const std::size_t i = random() % n;
      if (i == j) continue;
      const double factor = uniform(random, 0.5, 2.0);
      for (std::size_t q = 0; q < n; ++q) E[i][q] = E[i][q] + factor * A[j][q];
    }
  }

  /// z = Q(t) x: E z' + A z = E Q x' + (A Q + E Q') x.
  static void change_variables(Random& random, const Expr& t, Rows& E, Rows& A) {
    const std::size_t n = E.size();
    const auto constant = mixing(n, random);
    Rows Q = zeros(n), Qp = zeros(n);
    const bool turns = n > 1 && random() % 3 == 0;
    const double rate = uniform(random, 0.2, 1.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) Q[i][j] = constant[i][j];
    if (turns)  // the first two columns
      for (std::size_t i = 0; i < n; ++i) {
        const double a = constant[i][0], b = constant[i][1];
        Q[i][0] = a * cos(rate * t) + b * sin(rate * t);
        Q[i][1] = b * cos(rate * t) - a * sin(rate * t);
        Qp[i][0] = rate * (b * cos(rate * t) - a * sin(rate * t));
        Qp[i][1] = -rate * (b * sin(rate * t) + a * cos(rate * t));
      }
    const auto times = [n](const Rows& a, const Rows& b) {
      Rows c = zeros(n);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t k = 0; k < n; ++k)
          for (std::size_t j = 0; j < n; ++j) c[i][j] = c[i][j] + a[i][k] * b[k][j];
      return c;
    };
    const Rows EQ = times(E, Q), AQ = times(A, Q), EQp = times(E, Qp);
    E = EQ;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) A[i][j] = AQ[i][j] + EQp[i][j];
  }
};

TEST(ReadDerivatives, AreThoseOfTheSolution) {
  constexpr double stop = 2.0, tolerance = 1e-8;
  // Each differentiation of a polynomial over a step of 0.05 or more costs a factor of some hundred in the worst case.
  constexpr double of_values = 1e4 * tolerance, of_slopes = 1e5 * tolerance;
  const int cases = random_cases(60), first = random_seed(1);
  int refused = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    const Problem problem(static_cast<unsigned>(seed));
    const Trajectory run = simulate(problem.model, {.stop = stop, .rtol = tolerance, .atol = tolerance});
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + run.status().message);
    if (!run.status().ok()) {
      ++refused;
      if (std::getenv("SALTUS_RANDOM_CASES")) std::printf("seed %d: %s\n", seed, run.status().message.c_str());
      continue;
    }
    for (const double t : {0.0, 0.31, 0.77, 1.234, 1.9, stop}) {
      for (std::size_t j = 0; j < problem.solution.size(); ++j)
        EXPECT_NEAR(run.at(t, "x" + std::to_string(j)), problem.solution[j].at(t), of_values)
            << "x" << j << " at " << t;
      for (const std::size_t j : problem.read)
        EXPECT_NEAR(run.at(t, "d" + std::to_string(j)), problem.solution[j].slope(t), of_slopes)
            << "d" << j << " at " << t;
    }
    const std::vector<double> crossings = problem.crossings(stop);
    const bool tight = std::ranges::any_of(crossings, [](double t) { return t < 1e-3 || t > stop - 1e-3; });
    if (!tight) {
      EXPECT_EQ(run.at(stop, "count"), static_cast<double>(crossings.size()));
    }
  }
  record_models(cases - refused);
  EXPECT_LE(refused, cases / 20);
}

}  // namespace
}  // namespace saltus
