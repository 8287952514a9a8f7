// Models with parameters, written once for Saltus and once by hand for peers.
#pragma once

#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

namespace saltus::bench {

inline Model van_der_pol() {
  Model m("van der Pol");
  const Expr mu = m.parameter("mu", 5.0), a = m.parameter("a", 1.0), b = m.parameter("b", 1.0),
             c = m.parameter("c", 0.0);
  const Expr x = m.variable("x", 2.0), y = m.variable("y", 0.0);
  m.equation(der(x) == b * y);
  m.equation(der(y) == mu * (1.0 - x * x) * y - a * x + c);
  return m;
}

inline Model dry_friction() {
  Model m("dry friction");
  const Expr F = m.parameter("F", 0.4), w = m.parameter("w", 0.5), A = m.parameter("A", 1.0), k = m.parameter("k", 1.0);
  const Expr x = m.variable("x", 0.3), v = m.variable("v", 0.2);
  m.equation(der(x) == v);
  m.equation(der(v) == -k * x + A * cos(w * m.time()) - F * sign(v));
  return m;
}

inline Model bouncing_ball() {
  Model m("ball");
  const Expr g = m.parameter("g", 9.8), e = m.parameter("e", 0.999), d = m.parameter("d", 0.001),
             k = m.parameter("k", 0.0);
  const Expr h = m.variable("h", 10.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -g - d * v + k * h);
  m.when(h < 0.0).reset(v, -e * v);
  return m;
}

inline Model two_pendulums() {
  Model m("two pendulums");
  const Expr g = m.parameter("g", 9.8), l = m.parameter("l", 1.0), d = m.parameter("d", 0.01),
             k = m.parameter("k", 0.5);
  const Expr a = m.variable("a", 1.0), b = m.variable("b", 0.5), u = m.variable("u", 0.0), v = m.variable("v", 0.0);
  m.equation(der(a) == u);
  m.equation(der(b) == v);
  m.equation(der(u) == -g / l * sin(a) - d * u + k * sin(b - a));
  m.equation(der(v) == -g / l * sin(b) - d * v - k * sin(b - a));
  return m;
}

struct Robertson {
  static constexpr double p[3] = {0.04, 1e4, 3e7};

  static Model model() {
    Model m("Robertson");
    const Expr p1 = m.parameter("p1", p[0]), p2 = m.parameter("p2", p[1]), p3 = m.parameter("p3", p[2]);
    const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), z = m.variable("z", 0.0);
    m.equation(der(x) == -p1 * x + p2 * y * z);
    m.equation(der(y) == p1 * x - p2 * y * z - p3 * y * y);
    m.equation(der(z) == p3 * y * y);
    return m;
  }
};

/// A rod whose conductivity is piecewise linear between `parameters` nodes and whose capacity grows with the
/// temperature: (1 + beta T) T' = (k T_x)_x, in n cells, with cold ends.
struct Heat {
  static constexpr double beta = 0.4;
  int n, parameters;

  double conductivity(int k) const { return 1.0 + 0.01 * k; }
  double start(int i) const { return std::sin(std::numbers::pi * (i + 1) / (n + 1)); }
  /// The two nodes of a face, and the share of the second one.
  std::pair<int, double> face(int f) const {
    const double place = static_cast<double>(f) / n * (parameters - 1);
    const int k = std::min(static_cast<int>(place), parameters - 2);
    return {k, place - k};
  }
  double inverse_square() const { return static_cast<double>(n + 1) * (n + 1); }

  Model model() const {
    Model m("heat");
    std::vector<Expr> k, T, flow;
    for (int i = 0; i < parameters; ++i) k.push_back(m.parameter("k" + std::to_string(i), conductivity(i)));
    for (int i = 0; i < n; ++i) T.push_back(m.variable("T" + std::to_string(i), start(i)));
    const auto at = [&](int i) { return i < 0 || i >= n ? Expr(0.0) : T[static_cast<std::size_t>(i)]; };
    for (int f = 0; f <= n; ++f) {
      const auto [node, share] = face(f);
      const auto j = static_cast<std::size_t>(node);
      flow.push_back(((1.0 - share) * k[j] + share * k[j + 1]) * (at(f) - at(f - 1)));
    }
    for (int i = 0; i < n; ++i) {
      const auto j = static_cast<std::size_t>(i);
      m.equation(der(T[j]) == (flow[j + 1] - flow[j]) * inverse_square() / (1.0 + beta * T[j]));
    }
    return m;
  }
};

/// A square plate of m x m cells with cold edges, in strips of their own conductivity, whose capacity grows with the
/// temperature: matrices of a five-point grid.
inline Model plate(int m, int parameters) {
  Model model("plate");
  std::vector<Expr> k, T;
  for (int i = 0; i < parameters; ++i) k.push_back(model.parameter("k" + std::to_string(i), 1.0 + 0.01 * i));
  const auto place = [&](int i, int j) { return static_cast<std::size_t>(i * m + j); };
  const auto wave = [&](int i) { return std::sin(std::numbers::pi * (i + 1) / (m + 1)); };
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j)
      T.push_back(model.variable("T" + std::to_string(i) + "_" + std::to_string(j), wave(i) * wave(j)));
  const auto at = [&](int i, int j) { return i < 0 || i >= m || j < 0 || j >= m ? Expr(0.0) : T[place(i, j)]; };
  const double scale = static_cast<double>(m + 1) * (m + 1);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < m; ++j) {
      const Expr& here = T[place(i, j)];
      const Expr sum = at(i + 1, j) + at(i - 1, j) + at(i, j + 1) + at(i, j - 1) - 4.0 * here;
      model.equation(der(here) ==
                     k[static_cast<std::size_t>(j * parameters / m)] * sum * scale / (1.0 + Heat::beta * here));
    }
  return model;
}

/// A pendulum in Cartesian coordinates, with a rope that is not quite stiff in its force: an index of three.
inline Model cartesian_pendulum() {
  Model m("pendulum");
  const Expr g = m.parameter("g", 9.81), L = m.parameter("L", 1.0), d = m.parameter("d", 0.05),
             k = m.parameter("k", 0.1);
  const Expr x = m.variable("x", 0.6), y = m.variable("y", -0.8), u = m.variable("u", 0.0), v = m.variable("v", 0.0),
             f = m.variable("f", 0.0);
  m.equation(der(x) == u);
  m.equation(der(y) == v);
  m.equation(der(u) == -f * x - d * u - k * x);
  m.equation(der(v) == -f * y - d * v - g);
  m.equation(x * x + y * y == L * L);
  return m;
}

/// A chain of cells that each have an equation without derivatives: an index of one.
inline Model algebraic_chain(int n) {
  Model m("chain");
  const Expr a = m.parameter("a", 1.0), b = m.parameter("b", 0.3), c = m.parameter("c", 20.0),
             w = m.parameter("w", 2.0);
  std::vector<Expr> x, z;
  for (int i = 0; i < n; ++i) x.push_back(m.variable("x" + std::to_string(i), std::sin(1.0 + i)));
  for (int i = 0; i < n; ++i) z.push_back(m.variable("z" + std::to_string(i), 0.0));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Expr left = i == 0 ? sin(w * m.time()) : x[i - 1];
    m.equation(der(x[i]) == -a * x[i] + z[i]);
    m.equation(z[i] + b * z[i] * z[i] * z[i] == c * (left - x[i]));
  }
  return m;
}

/// A ring of oscillators with five parameters each.
inline Model ring(int n) {
  Model m("ring");
  std::vector<Expr> x;
  for (int i = 0; i < n; ++i) x.push_back(m.variable("x" + std::to_string(i), std::sin(1.0 + i)));
  for (int i = 0; i < n; ++i) {
    std::vector<Expr> p;
    for (int k = 0; k < 5; ++k) p.push_back(m.parameter("p" + std::to_string(5 * i + k), 0.3 + 0.1 * k + 0.01 * i));
    const Expr &me = x[static_cast<std::size_t>(i)], &left = x[static_cast<std::size_t>((i + n - 1) % n)],
               &right = x[static_cast<std::size_t>((i + 1) % n)];
    m.equation(der(me) == p[0] * right - p[1] * left - p[2] * me * me * me + p[3] * me + p[4] * sin(m.time()));
  }
  return m;
}

}  // namespace saltus::bench
