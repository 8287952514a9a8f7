// Networks of ideal diodes: which of them conduct is found from the equations, at the start and at every event.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "event/properties.hpp"

namespace saltus {
namespace {

using std::numbers::pi;

/// An ideal diode as a curve with the parameter s: it conducts the current s > 0 without a voltage, or blocks the voltage s <= 0.
struct Diode {
  Expr s, current, voltage;
  Diode(Model& m, const std::string& name)
      : s(m.variable(name, 0.0)), current(if_else(s > 0, s, 0.0)), voltage(if_else(s > 0, 0.0, s)) {}
};

// Three phases, six diodes, a load of R and L. No resistance, no capacitance anywhere else: at a commutation one diode takes over the whole
// current from another, and both together would short two phases.
TEST(Network, SixDiodeBridgeFindsItsModeAtEveryEvent) {
  constexpr double w = 2.0 * pi * 50.0, V = 325.0, R = 10.0, L = 0.02, shift = 0.1, stop = 0.1;
  Model m("bridge");
  const auto load = m.variable("i", 0.0), plus = m.variable("plus", 0.0), minus = m.variable("minus", 0.0);
  Expr above = 0.0, below = 0.0;
  for (int k = 0; k < 3; ++k) {
    const Expr phase = V * sin(w * m.time() + shift - 2.0 * pi * k / 3.0);
    const Diode upper(m, "upper" + std::to_string(k + 1)), lower(m, "lower" + std::to_string(k + 1));
    m.equation(phase - plus == upper.voltage);
    m.equation(minus - phase == lower.voltage);
    above += upper.current;
    below += lower.current;
  }
  m.equation(above == load);
  m.equation(below == load);
  m.equation(L * der(load) + R * load == plus - minus);
  const Trajectory run = simulate(m, {.stop = stop, .rtol = 1e-9, .atol = 1e-9});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  // two phases are equal at w t + shift = pi/6 + k pi/3 when they are the highest, or the lowest, of the three
  std::vector<double> expected;
  for (int k = 0; (pi / 6 + k * pi / 3 - shift) / w < stop; ++k)
    if (const double t = (pi / 6 + k * pi / 3 - shift) / w; t > 0) expected.push_back(t);
  ASSERT_EQ(run.events().size(), expected.size());
  // the current: L i' + R i = highest - lowest, a piece of a sine wave of amplitude sqrt(3) V in each interval
  const double amplitude = std::sqrt(3.0) * V, Z = std::hypot(R, w * L), lag = std::atan2(w * L, R);
  double i = 0.0, t = 0.0;
  for (std::size_t k = 0; k <= expected.size(); ++k) {
    const double next = k < expected.size() ? expected[k] : stop;
    if (k < expected.size()) {
      EXPECT_NEAR(run.events()[k].t, next, 1e-12) << k;
      EXPECT_EQ(run.events()[k].guards.size(), 2u) << k;  // one takes over from another
    }
    // highest - lowest peaks in the middle of the interval between commutations
    const double middle = std::ceil((w * (0.5 * (t + next)) + shift - pi / 3) / (pi / 3) - 0.5) * (pi / 3) + pi / 3;
    const auto steady = [&](double when) { return amplitude / Z * std::cos(w * when + shift - middle - lag); };
    i = steady(next) + (i - steady(t)) * std::exp(-R / L * (next - t));
    t = next;
    EXPECT_NEAR(run.at(t, "i"), i, 1e-7 * (1.0 + std::abs(i))) << k;
  }
}

// One diode, a resistance and a capacitor: conducts while the source is above the capacitor.
TEST(Network, HalfWaveRectifierChargesItsCapacitor) {
  constexpr double w = 2.0 * pi, R = 0.1, load = 10.0, C = 0.5;
  Model m("rectifier");
  const auto u = m.variable("u", 0.0);
  const Diode d(m, "s");
  m.equation(sin(w * m.time()) - u == d.voltage + R * d.current);
  m.equation(C * der(u) == d.current - u / load);
  const Trajectory run = simulate(m, {.stop = 3.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  // on and off alternate; off is an exponential, and both kinds of event happen where the source equals the capacitor
  ASSERT_GE(run.events().size(), 5u);
  for (const Event& e : run.events()) EXPECT_NEAR(std::sin(w * e.t), run.at(e.t, "u"), 1e-8) << e.t;
  for (std::size_t k = 0; k + 1 < run.events().size(); k += 2) {
    const double off = run.events()[k].t, on = run.events()[k + 1].t;
    EXPECT_NEAR(run.at(on, "u"), run.at(off, "u") * std::exp(-(on - off) / (load * C)), 1e-8) << k;
  }
}

// The same bridge from components, with a potential at every node and a current through every pin, and two of them side by side: twelve
// diodes, of which four take over from four others at the same instant.
constexpr const char* components = R"(connector Pin
  Real v;
  flow Real i;
end Pin;
partial model TwoPin
  Pin p, n;
  Real u, i;
equation
  u = p.v - n.v;
  i = p.i;
  0 = p.i + n.i;
end TwoPin;
model IdealDiode
  extends TwoPin;
  Real s;
equation
  i = if s > 0 then s else 0;
  u = if s > 0 then 0 else s;
end IdealDiode;
model Resistor
  extends TwoPin;
  parameter Real R = 10;
equation
  u = R*i;
end Resistor;
model Inductor
  extends TwoPin;
  parameter Real L = 0.02;
equation
  L*der(i) = u;
end Inductor;
model Source
  extends TwoPin;
  parameter Real phase = 0;
equation
  u = 325*sin(314.1592653589793*time + 0.1 - phase);
end Source;
model Ground
  Pin p;
equation
  p.v = 0;
end Ground;
model Bridge
  Source s[3](phase = {0, 2.0943951023931953, 4.1887902047863905});
  IdealDiode up[3], low[3];
  Resistor r;
  Inductor l(i(start = 0, fixed = true));
  Ground g;
equation
  for k in 1:3 loop
    connect(s[k].n, g.p);
    connect(s[k].p, up[k].p);
    connect(up[k].n, r.p);
    connect(s[k].p, low[k].n);
    connect(low[k].p, l.n);
  end for;
  connect(r.n, l.p);
end Bridge;
model TwoBridges
  Bridge a, b;
end TwoBridges;
)";

TEST(Network, BridgesFromComponentsFindTheirModes) {
  constexpr double w = 314.1592653589793, V = 325.0, R = 10.0, L = 0.02, shift = 0.1, stop = 0.02;
  for (const std::string model : {"Bridge", "TwoBridges"}) {
    const ModelicaModel loaded = load_modelica(components, "components.mo", {.model_name = model});
    const Trajectory run = simulate(loaded.model, {.stop = stop, .rtol = 1e-8, .atol = 1e-8});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    ASSERT_EQ(run.events().size(), 6u) << model;
    const double amplitude = std::sqrt(3.0) * V, Z = std::hypot(R, w * L), lag = std::atan2(w * L, R);
    double i = 0.0, t = 0.0;
    for (std::size_t k = 0; k <= 6; ++k) {
      const double next = k < 6 ? (pi / 6 + static_cast<double>(k) * pi / 3 - shift) / w : stop;
      if (k < 6) {
        EXPECT_NEAR(run.events()[k].t, next, 1e-12) << k;
        EXPECT_EQ(run.events()[k].guards.size(), model == "Bridge" ? 2u : 4u) << k;
      }
      // highest - lowest peaks in the middle between the instants at which two phases are equal
      const auto steady = [&](double when) { return amplitude / Z * std::cos(w * when + shift - static_cast<double>(k) * pi / 3 - lag); };
      i = steady(next) + (i - steady(t)) * std::exp(-R / L * (next - t));
      t = next;
      const std::vector<std::string> names = model == "Bridge" ? std::vector<std::string>{"l.i"} : std::vector<std::string>{"a.l.i", "b.l.i"};
      for (const std::string& name : names) EXPECT_NEAR(run.at(t, name), i, 1e-6 * (1.0 + std::abs(i))) << k;
    }
  }
}

/// Solves A x = b by elimination with pivots; empty if A is singular.
std::vector<double> solve(std::vector<std::vector<double>> A, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k + 1; i < n; ++i)
      if (std::abs(A[i][k]) > std::abs(A[best][k])) best = i;
    if (std::abs(A[best][k]) < 1e-12) return {};
    std::swap(A[k], A[best]);
    std::swap(b[k], b[best]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = A[i][k] / A[k][k];
      for (std::size_t j = k; j < n; ++j) A[i][j] -= factor * A[k][j];
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= A[k][j] * b[j];
    b[k] /= A[k][k];
  }
  return b;
}

// Currents that swing flow into nodes with a resistance to the ground each, and diodes join the nodes to a tree: potentials and currents are
// unique. The reference tries all combinations at each instant.
TEST(Network, RandomTreesOfDiodesAgreeWithTheSearchOfAllCombinations) {
  testing::check_property(60, [] {
    const auto nodes = static_cast<std::size_t>(testing::number_in(2, 7)), diodes = nodes - 1;
    std::vector<double> conductance, amplitude, frequency, phase;
    for (std::size_t k = 0; k < nodes; ++k) {
      conductance.push_back(testing::real_in(0.2, 3.0));
      amplitude.push_back(testing::real_in(0.5, 3.0));
      frequency.push_back(testing::real_in(0.5, 4.0));
      phase.push_back(testing::real_in(0.0, 6.28));
    }
    std::vector<std::pair<std::size_t, std::size_t>> ends;  // from, to
    for (std::size_t k = 0; k < diodes; ++k) {
      std::size_t a = k + 1, b = static_cast<std::size_t>(testing::number_in(0, static_cast<std::int64_t>(k) + 1));
      if (testing::number_in(0, 2) == 0) std::swap(a, b);
      ends.emplace_back(a, b);
    }
    Model m("tree");
    std::vector<Expr> v;
    for (std::size_t k = 0; k < nodes; ++k) v.push_back(m.variable("v" + std::to_string(k)));
    std::vector<Expr> balance;
    for (std::size_t k = 0; k < nodes; ++k) balance.push_back(amplitude[k] * sin(frequency[k] * m.time() + phase[k]) - conductance[k] * v[k]);
    for (std::size_t k = 0; k < diodes; ++k) {
      const Diode d(m, "s" + std::to_string(k));
      const auto [from, to] = ends[k];
      m.equation(v[from] - v[to] == d.voltage);
      balance[from] = balance[from] - d.current;
      balance[to] = balance[to] + d.current;
    }
    for (const Expr& sum : balance) m.equation(sum == 0.0);
    constexpr double stop = 5.0;
    Simulator run(std::make_shared<CompiledModel>(m, ProgramOptions{.backend = Backend::interpreter}), {.stop = stop, .rtol = 1e-8, .atol = 1e-8});
    for (int place = 1; place < 40; ++place) {
      const double t = stop * place / 40.0;
      run.advance_to(t);
      RC_LOG() << run.status().message << '\n';
      RC_ASSERT(run.status().ok());
      std::vector<double> found;
      for (unsigned conducting = 0; conducting < (1u << diodes) && found.empty(); ++conducting) {
        const std::size_t n = nodes + diodes;
        std::vector<std::vector<double>> A(n, std::vector<double>(n, 0.0));
        std::vector<double> b(n, 0.0);
        for (std::size_t k = 0; k < nodes; ++k) {
          A[k][k] = conductance[k];
          b[k] = amplitude[k] * std::sin(frequency[k] * t + phase[k]);
        }
        for (std::size_t k = 0; k < diodes; ++k) {
          const auto [from, to] = ends[k];
          A[from][nodes + k] += 1.0;
          A[to][nodes + k] -= 1.0;
          if ((conducting >> k) & 1u)
            A[nodes + k][from] = 1.0, A[nodes + k][to] = -1.0;
          else
            A[nodes + k][nodes + k] = 1.0;
        }
        const std::vector<double> x = solve(A, b);
        bool fits = !x.empty();
        for (std::size_t k = 0; fits && k < diodes; ++k)
          fits = (conducting >> k) & 1u ? x[nodes + k] >= -1e-12 : x[ends[k].first] - x[ends[k].second] <= 1e-12;
        if (fits) found = x;
      }
      RC_ASSERT(!found.empty());
      // the ends of steps satisfy the equations to the tolerance, and conductances are 0.2 at least
      const std::vector<double> values = run.values();
      for (std::size_t k = 0; k < nodes; ++k) RC_ASSERT(std::abs(values[k] - found[k]) < 1e-6);
    }
  });
}

// While the current of the freewheeling diode decays below the tolerance its sign is uncertain; the other diode must not be late because of it.
/// A coil that a diode feeds from an alternating source; another diode lets its current go on while the source is negative.
Model freewheel(double amplitude, double frequency, double resistance, double inductance) {
  Model m("freewheel");
  const Expr i = m.variable("i", 0.0), u = m.variable("u", 0.0), s = m.variable("s", -1.0), i1 = m.variable("i1", 0.0),
             s2 = m.variable("s2", -1.0), i2 = m.variable("i2", 0.0), source = amplitude * sin(frequency * m.time());
  m.equation(i1 == if_else(s > 0.0, s, Expr(0.0)));
  m.equation(source - u == if_else(s > 0.0, Expr(0.0), s) + 0.01 * i1);
  m.equation(i2 == if_else(s2 > 0.0, s2, Expr(0.0)));
  m.equation(-u == if_else(s2 > 0.0, Expr(0.0), s2) + 0.01 * i2);
  m.equation(i1 + i2 == i);
  m.equation(inductance * der(i) == u - resistance * i);
  return m;
}

TEST(Network, ADecayingCurrentDoesNotHideTheOtherDiode) {
  for (const Method method : {Method::bdf, Method::radau5, Method::radau, Method::rodas5p, Method::rodas4})
    for (const double tolerance : {1e-4, 1e-5, 1e-6, 1e-8}) {
      constexpr double frequency = 2.61122;
      const Model m = freewheel(1.003, frequency, 1.38888, 0.0848441);
      const Trajectory run = simulate(m, {.stop = 10.0, .rtol = tolerance, .atol = tolerance, .method = method, .keep_steps = false});
      ASSERT_TRUE(run.status().ok()) << to_string(method) << " " << tolerance << ": " << run.status().message;
      // the source drives the current from each of its rising zeros on
      int rising = 0;
      for (const Event& event : run.events()) {
        for (std::size_t k = 0; k < event.guards.size(); ++k) {
          if (event.guards[k] != "s > 0" || event.direction[k] < 0) continue;
          const double zero = 2.0 * std::numbers::pi / frequency * ++rising;
          EXPECT_NEAR(event.t, zero, 10.0 * tolerance) << to_string(method) << " " << tolerance;
        }
      }
      EXPECT_EQ(rising, 4) << to_string(method) << " " << tolerance;
    }
}

TEST(Network, ACurrentThatHasDecayedDoesNotEndTheRun) {
  // when the source rises again, what is left of the current is far below the tolerance, and takes less time to change over than can be resolved
  constexpr double tolerance = 1e-6, stop = 10.0;
  for (int k = 0; k < 24; ++k) {
    const double frequency = 1.0 + 0.11 * k, inductance = 0.05 + 0.003 * k, decay = 25.0 + 0.7 * k;  // over half a period, as an exponent
    const auto model = std::make_shared<CompiledModel>(freewheel(1.0, frequency, decay * inductance * frequency / std::numbers::pi, inductance));
    const Trajectory reference = simulate(model, {.stop = stop, .rtol = 1e-10, .atol = 1e-10, .method = Method::bdf});
    ASSERT_TRUE(reference.status().ok()) << k << ": " << reference.status().message;
    for (const Method method : {Method::bdf, Method::radau5, Method::radau, Method::rodas5p, Method::rodas4}) {
      const Trajectory run = simulate(model, {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_TRUE(run.status().ok()) << k << ", " << to_string(method) << ": " << run.status().message;
      for (const double t : {0.37 * stop, 0.61 * stop, stop})  // errors of a few steps, each of one tolerance: older ones have decayed
        EXPECT_NEAR(run.at(t, "i"), reference.at(t, "i"), 100.0 * tolerance) << k << ", " << to_string(method) << ", t = " << t;
    }
  }
}

}  // namespace
}  // namespace saltus
