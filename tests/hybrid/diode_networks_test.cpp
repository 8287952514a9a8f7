// Networks with many ideal diodes and random ones: sides are found by pivoting, whatever their number.
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

using std::numbers::pi;

/// A diode with these losses: a resistance where it conducts, a conductance where it blocks. 0: an ideal one.
struct Diode {
  Expr current, voltage;
  Diode(Model& m, const std::string& name, double loss) {
    const Expr s = m.variable(name, 0.0);
    current = if_else(s < 0.0, loss * s, s);
    voltage = if_else(s < 0.0, s, loss * s);
  }
};

constexpr double R = 10.0, L = 0.02, V = 100.0, w = 2.0 * pi * 50.0;

double phase_voltage(double t, int k, int phases) {
  return V * std::sin(w * t - 2.0 * pi * k / phases);
}

/// A bridge of 2n diodes from n phases to a load of R and L.
Model bridge(int phases) {
  Model m("bridge");
  const Expr load = m.variable("i", 0.0), plus = m.variable("plus", 0.0), minus = m.variable("minus", 0.0);
  Expr above = 0.0, below = 0.0;
  for (int k = 0; k < phases; ++k) {
    const Expr phase = V * sin(w * m.time() - 2.0 * pi * k / phases);
    const Diode upper(m, "upper" + std::to_string(k), 0.0), lower(m, "lower" + std::to_string(k), 0.0);
    m.equation(phase - plus == upper.voltage);
    m.equation(minus - phase == lower.voltage);
    above += upper.current;
    below += lower.current;
  }
  m.equation(above == load);
  m.equation(below == load);
  m.equation(L * der(load) == plus - minus - R * load);
  return m;
}

/// The current at the stop time: the load sees the highest phase less the lowest one. By the rule of Runge and Kutta,
/// in steps that end where phases are equal.
double load_current(int phases, double stop) {
  const auto slope = [&](double t, double i) {
    double highest = -V, lowest = V;
    for (int k = 0; k < phases; ++k) {
      highest = std::max(highest, phase_voltage(t, k, phases));
      lowest = std::min(lowest, phase_voltage(t, k, phases));
    }
    return (highest - lowest - R * i) / L;
  };
  const int steps = static_cast<int>(std::lround(stop / 0.02)) * 4 * phases * 50;
  const double h = stop / steps;
  double i = 0.0;
  for (int n = 0; n < steps; ++n) {
    const double t = n * h, a = slope(t, i), b = slope(t + h / 2, i + h / 2 * a), c = slope(t + h / 2, i + h / 2 * b),
                 d = slope(t + h, i + h * c);
    i += h / 6 * (a + 2 * b + 2 * c + d);
  }
  return i;
}

// In bridges with an even number of phases, two pairs of diodes take over from each other at one instant.
TEST(DiodeNetworks, BridgesOfAnySizeCommutate) {
  constexpr double stop = 0.06;
  for (const int phases : {2, 3, 4, 5, 6, 7, 8, 10, 15}) {
    const Trajectory run = simulate(bridge(phases), {.stop = stop, .rtol = 1e-8, .atol = 1e-8});
    ASSERT_TRUE(run.status().ok()) << phases << " phases: " << run.status().message;
    EXPECT_NEAR(run.at(stop, "i"), load_current(phases, stop), 1e-6) << phases << " phases";
    const std::size_t commutations = static_cast<std::size_t>(3 * phases * (phases % 2 == 0 ? 1 : 2));
    EXPECT_NEAR(static_cast<double>(run.events().size()), static_cast<double>(commutations), 2.0) << phases;
  }
}

/// Nodes with resistances to the ground, sources, coils, capacitors and diodes by chance. The diodes make no loops, in
/// which currents would not be unique.
Model random_network(unsigned seed, double loss) {
  std::mt19937 dice(seed);
  const auto whole = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(dice); };
  const auto real = [&](double low, double high) { return std::uniform_real_distribution<double>(low, high)(dice); };
  const int nodes = whole(2, 6);
  Model m("network");
  std::vector<Expr> potential{Expr(0.0)}, balance{Expr(0.0)};
  for (int k = 1; k <= nodes; ++k) {
    potential.push_back(m.variable("e" + std::to_string(k), 0.0));
    balance.push_back(-potential.back() / real(10.0, 300.0));
  }
  int count = 0;
  const auto join = [&](int from, int to, const Expr& current) {
    balance[static_cast<std::size_t>(from)] = balance[static_cast<std::size_t>(from)] - current;
    balance[static_cast<std::size_t>(to)] = balance[static_cast<std::size_t>(to)] + current;
  };
  const auto across = [&](int from, int to) {
    return potential[static_cast<std::size_t>(from)] - potential[static_cast<std::size_t>(to)];
  };
  const auto ends = [&] {
    const int from = whole(0, nodes), to = whole(0, nodes - 1);
    return std::pair(from, to < from ? to : to + 1);
  };
  for (int n = whole(1, 2); n > 0; --n) {
    const int node = whole(1, nodes);
    const Expr source = real(2.0, 10.0) * sin(real(1.0, 6.0) * m.time() + real(0.0, 6.0));
    join(node, 0, (potential[static_cast<std::size_t>(node)] - source) / real(0.1, 10.0));
  }
  for (int n = whole(0, 2); n > 0; --n) {
    const auto [from, to] = ends();
    const Expr charge = m.variable("q" + std::to_string(count++), real(-1.0, 1.0)),
               current = (across(from, to) - charge) / real(0.1, 2.0);
    m.equation(real(0.01, 0.1) * der(charge) == current);
    join(from, to, current);
  }
  for (int n = whole(0, 2); n > 0; --n) {
    const auto [from, to] = ends();
    const Expr current = m.variable("i" + std::to_string(count++), 0.0);
    m.equation(real(0.1, 2.0) * der(current) == across(from, to));
    join(from, to, current);
  }
  std::vector<int> part;  // by node: nodes that diodes join have the same number
  for (int k = 0; k <= nodes; ++k) part.push_back(k);
  for (int n = whole(2, 8); n > 0; --n) {
    const auto [from, to] = ends();
    const int a = part[static_cast<std::size_t>(from)], b = part[static_cast<std::size_t>(to)];
    if (a == b) continue;
    std::ranges::replace(part, a, b);
    const Diode diode(m, "s" + std::to_string(count++), loss);
    m.equation(across(from, to) == diode.voltage);
    join(from, to, diode.current);
  }
  for (int k = 1; k <= nodes; ++k) m.equation(balance[static_cast<std::size_t>(k)] == 0.0);
  return m;
}

// What an ideal diode does is the limit of what nearly ideal ones do. (Of 1500 networks 17 end with a message.)
TEST(DiodeNetworks, RandomOnesAgreeWithNearlyIdealDiodes) {
  constexpr double stop = 5.0;
  const int networks = random_cases(50), first = random_seed(1);
  int refused = 0;
  for (int seed = first; seed < first + networks; ++seed) {
    const Trajectory ideal = simulate(random_network(static_cast<unsigned>(seed), 0.0),
                                      {.stop = stop, .rtol = 1e-7, .atol = 1e-7}),
                     nearly = simulate(random_network(static_cast<unsigned>(seed), 1e-7),
                                       {.stop = stop, .rtol = 1e-7, .atol = 1e-7});
    if (!ideal.status().ok() || !nearly.status().ok()) {
      ++refused;
      continue;
    }
    for (int place = 0; place <= 40; ++place) {
      const double t = stop * place / 40.0;
      const std::vector<double> a = ideal.at(t), b = nearly.at(t);
      for (std::size_t k = 0; k < a.size(); ++k)
        if (ideal.variables()[k].name.starts_with("e")) {
          ASSERT_NEAR(a[k], b[k], 1e-3) << ideal.variables()[k].name << " at " << t << ", seed " << seed;
        }
    }
  }
  EXPECT_LE(refused, networks / 50);
}

}  // namespace
}  // namespace saltus
