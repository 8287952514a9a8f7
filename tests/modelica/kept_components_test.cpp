// Large arrays of components that are kept, against the same models written out.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kept_helpers.hpp"

namespace saltus {
namespace {

const std::string heat = R"(
connector Port
  Real T;
  flow Real Q;
end Port;
model Mass
  parameter Real C = 1, T0 = 20;
  Real T(start = T0, fixed = true);
  Port p;
equation
  T = p.T;
  C*der(T) = p.Q;
end Mass;
model Wall
  parameter Real G = 1;
  Port a, b;
  Real Q;
equation
  Q = G*(a.T - b.T);
  a.Q = Q;
  b.Q = -Q;
end Wall;
model Heater
  parameter Real low = 19, high = 21, P = 3;
  Port p;
  Boolean on(start = false, fixed = true);
equation
  when p.T < low then
    on = true;
  elsewhen p.T > high then
    on = false;
  end when;
  p.Q = if on then -P else 0;
end Heater;
model Air
  parameter Real T = 12;
  Port p;
equation
  p.T = T;
end Air;
)";

std::string house(const std::string& masses, const std::string& heaters, const std::string& walls) {
  return heat + R"(
model House
  parameter Integer n = 120;
  Mass m[n])" +
         masses + R"(;
  Heater h[n])" +
         heaters + R"(;
  Wall w[n - 1])" +
         walls + R"(, o[n](each G = 0.1);
  Air air;
equation
  for i in 1:n loop
    connect(m[i].p, h[i].p);
    connect(m[i].p, o[i].a);
    connect(o[i].b, air.p);
  end for;
  for i in 1:n - 1 loop
    connect(m[i].p, w[i].a);
    connect(m[i + 1].p, w[i].b);
  end for;
end House;
)";
}

TEST(KeptComponents, RoomsWithHeaters) {
  const std::string starts = "(T0 = {19.2 + 1.6*abs(sin(3.7*i)) for i in 1:n})";
  compare(house(starts, "", ""), until(4.0), true, 1e-4);
  // numbers that differ from element to element, in equations, in relations, and with parameters behind them
  compare(house("(T0 = {19.2 + 1.6*abs(sin(3.7*i)) for i in 1:n}, C = {1 + 0.01*i for i in 1:n})",
                "(low = {18.5 + 0.005*i for i in 1:n}, each P = 4)", "(G = {0.5 + 0.001*i for i in 1:n - 1})"),
          until(4.0), true, 1e-4);
  compare(house("(T0 = fill(20.5, n), C = {if i == 3 then 1 else 2 for i in 1:n})", "(each low = 19.5)", ""),
          until(4.0), true, 1e-4);
  compare(house("(T(start = {19.2 + 1.6*abs(sin(3.7*i)) for i in 1:n}, each nominal = 20))", "", ""), until(4.0), true,
          1e-4);
}

/// A cosine over a row of equal masses keeps its shape and decays at the rate 4 G/C sin^2(pi/n).
TEST(KeptComponents, ARowOfMassesDecaysAsItShould) {
  constexpr int n = 120;
  constexpr double pi = 3.14159265358979323846, G = 40.0, C = 0.5;
  const auto system = compile(load_text(heat + R"(
model Row
  parameter Integer n = 120;
  Mass m[n](each C = 0.5, T0 = {cos(2*3.14159265358979323846*(i - 0.5)/n) for i in 1:n});
  Wall w[n - 1](each G = 40);
equation
  for i in 1:n - 1 loop
    connect(m[i].p, w[i].a);
    connect(w[i].b, m[i + 1].p);
  end for;
end Row;
)")
                                  .model);
  ASSERT_FALSE(is_written_out(*system));
  for (const Method method : {Method::automatic, Method::dopri5, Method::rodas5p, Method::bdf}) {
    SimulateOptions options = until(2.0, method);
    options.rtol = options.atol = 1e-9;
    const Trajectory run = simulate(system, options);
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    const double decay = std::exp(-4.0 * G / C * std::pow(std::sin(pi / n), 2) * 2.0);
    const std::vector<double> values = run.final();
    for (int i = 1; i <= n; ++i) {
      const std::string name = "m[" + std::to_string(i) + "].T";
      const auto at = std::ranges::find(run.variables(), name, &VariableInfo::name) - run.variables().begin();
      EXPECT_NEAR(values[static_cast<std::size_t>(at)], decay * std::cos(2.0 * pi * (i - 0.5) / n), 1e-6) << name;
    }
  }
}

TEST(KeptComponents, EventsAreNamedByTheirElements) {
  const auto system = compile(load_text(house("(each T0 = 20)", "", "")).model);
  ASSERT_FALSE(is_written_out(*system));
  const Trajectory run = simulate(system, until(2.0));
  ASSERT_TRUE(run.status().ok());
  ASSERT_FALSE(run.events().empty());
  bool names_later_ones = false;
  for (const Event& event : run.events()) {
    const std::string text = event.describe();
    for (const int i : {2, 50, 120}) {
      const std::string element = "h[" + std::to_string(i) + "].";
      if (text.find(element + "p.T") == std::string::npos) continue;
      EXPECT_NE(text.find(element + "low"), std::string::npos) << text;
      names_later_ones = true;
    }
  }
  EXPECT_TRUE(names_later_ones);
}

const std::string circuit = R"(
connector Pin
  Real v;
  flow Real i;
end Pin;
partial model TwoPin
  Pin p, n;
  Real v, i;
equation
  v = p.v - n.v;
  0 = p.i + n.i;
  i = p.i;
end TwoPin;
model Resistor
  extends TwoPin;
  parameter Real R = 1;
equation
  v = R*i;
end Resistor;
model Capacitor
  extends TwoPin;
  parameter Real C = 1;
equation
  C*der(v) = i;
end Capacitor;
model Ground
  Pin p;
equation
  p.v = 0;
end Ground;
model Source
  extends TwoPin;
equation
  v = sin(3*time);
end Source;
model Section "one inside of the other"
  Pin p, q, n;
  Resistor r(R = 0.1);
  Capacitor c(C = 0.01, v(start = 0, fixed = true));
equation
  connect(p, r.p);
  connect(r.n, q);
  connect(q, c.p);
  connect(c.n, n);
end Section;
)";

TEST(KeptComponents, LaddersOfResistorsAndCapacitors) {
  compare(circuit + R"(
model Ladder
  parameter Integer n = 150;
  Resistor r[n](each R = 0.1);
  Capacitor c[n](each C = 0.01, v(each start = 0, each fixed = true));
  Ground g;
  Source s;
equation
  connect(s.p, r[1].p);
  connect(s.n, g.p);
  for i in 1:n loop
    connect(r[i].n, c[i].p);
    connect(c[i].n, g.p);
  end for;
  for i in 1:n - 1 loop
    connect(r[i].n, r[i + 1].p);
  end for;
end Ladder;
)",
          until(1.0), true, 1e-6);
  // components of components, connections of whole arrays, an open end
  compare(circuit + R"(
model Sections
  Section a[110], b[110];
  Ground g;
  Source s;
equation
  connect(a.q, b.p);
  connect(s.p, a[1].p);
  connect(s.n, g.p);
  for i in 1:110 loop
    connect(a[i].n, g.p);
    connect(b[i].n, g.p);
  end for;
  for i in 2:110 loop
    connect(b[i - 1].q, a[i].p);
  end for;
end Sections;
)",
          until(0.5), true, 1e-6);
  // algebraic loops between states: two resistors in series
  compare(circuit + R"(
model Series
  parameter Integer n = 120;
  Resistor r1[n](each R = 0.1), r2[n](each R = 0.2);
  Capacitor c[n](each C = 0.01, v(start = {cos(0.1*i) for i in 1:n}, each fixed = true));
  Ground g;
equation
  connect(r1.n, r2.p);
  for i in 1:n loop
    connect(c[i].p, r1[i].p);
    connect(c[i].n, g.p);
    connect(r2[i].n, c[if i == n then 1 else i + 1].p);
  end for;
end Series;
)",
          until(0.5), true, 1e-6);
}

TEST(KeptComponents, GridsAndSignals) {
  compare(heat + R"(
model Plate
  parameter Integer n = 12;
  Mass m[n, n](T0 = {{sin(0.3*i)*cos(0.2*j) for j in 1:n} for i in 1:n});
  Wall x[n, n - 1], y[n - 1, n](each G = 0.5);
equation
  for i in 1:n loop
    for j in 1:n - 1 loop
      connect(m[i, j].p, x[i, j].a);
      connect(x[i, j].b, m[i, j + 1].p);
      connect(m[j, i].p, y[j, i].a);
      connect(y[j, i].b, m[j + 1, i].p);
    end for;
  end for;
end Plate;
)",
          until(1.0), true, 1e-6);
  compare(R"(
connector In = input Real;
connector Out = output Real;
block Lag
  parameter Real T = 0.1;
  In u;
  Out y(start = 0, fixed = true);
equation
  T*der(y) = u - y;
end Lag;
block Limit "switches"
  In u;
  Out y;
equation
  y = if u > 0.5 then 0.5 else if u < -0.5 then -0.5 else u;
end Limit;
block Wave
  Out y;
equation
  y = sin(5*time);
end Wave;
model Chain
  parameter Integer n = 130;
  Lag lag[n](T = {0.05 + 0.0001*i for i in 1:n}), own[n](each T = 0.5, y(start = {2*sin(i) for i in 1:n}));
  Limit limit[n];
  Wave wave;
equation
  connect(wave.y, lag[1].u);
  for i in 1:n loop
    connect(own[i].y, limit[i].u);
    connect(limit[i].y, own[i].u);
  end for;
  for i in 2:n loop
    connect(lag[i - 1].y, lag[i].u);
  end for;
end Chain;
)",
          until(1.0), true, 1e-5);
}

TEST(KeptComponents, ManyBranchesAtOneNode) {
  compare(heat + R"(
model Store "the sum of all flows moves one state"
  parameter Integer n = 130;
  Mass m[n](T0 = {19 + sin(0.1*i) for i in 1:n});
  Heater h[n];
  Wall w[n](G = {0.1 + 0.001*i for i in 1:n});
  Mass store(C = 50, T0 = 10);
equation
  for i in 1:n loop
    connect(m[i].p, w[i].a);
    connect(h[i].p, m[i].p);
    connect(w[i].b, store.p);
  end for;
end Store;
)",
          until(2.0), true, 1e-5);
}

TEST(KeptComponents, LoopsBesideComponents) {
  compare(heat + R"(
model Both
  parameter Integer n = 220;
  Mass m[n](T0 = {sin(0.1*i) for i in 1:n});
  Wall w[n];
  Air air(T = 1);
  Real x[n](each start = 1, each fixed = true), total(start = 0, fixed = true);
equation
  for i in 1:n loop
    connect(m[i].p, w[i].a);
    connect(w[i].b, air.p);
    der(x[i]) = air.p.T - 0.1*i*x[i];
  end for;
  der(total) = air.p.T + x[1];
end Both;
)",
          until(1.0), true, 1e-6);
}

TEST(KeptComponents, ElementsThatEquationsName) {
  const auto with = [](const std::string& declarations, const std::string& equations) {
    return heat + "model M parameter Integer n = 110; Mass m[n](T0 = {sin(0.1*i) for i in 1:n}); Wall w[n]; " +
           "Heater h[n](each low = 0.2, each high = 0.5); Air air; " + declarations +
           " equation for i in 1:n loop connect(m[i].p, w[i].a); connect(w[i].b, air.p); connect(h[i].p, m[i].p); "
           "end for; " +
           equations + " end M;";
  };
  const SimulateOptions options = until(0.5);
  compare(with("Real y;", "y = m[5].T + 2*m[n].p.Q;"), options, true, 1e-6);
  compare(with("Real y[n], z[n];", "for i in 1:n loop y[i] = m[i].T; z[i] = m[n + 1 - i].T*w[1].Q; end for;"), options,
          true, 1e-6);
  compare(with("discrete Real y(start = 0, fixed = true);", "when m[7].T < 0.9 then y = m[8].T; end when;"), options,
          true, 1e-6);
  compare(with("Real y(start = 0, fixed = true);", "der(y) = if h[3].on then 1 else 2;"), options, true, 1e-6);
}

TEST(KeptComponents, BooleanSignalsAndAssertions) {
  const std::string blocks = R"(
connector In = input Real;
connector Out = output Real;
connector BooleanIn = input Boolean;
connector BooleanOut = output Boolean;
block Room
  BooleanIn heating;
  Out T(start = 20, fixed = true);
equation
  der(T) = (if heating then 3 else 0) - 0.1*(T - 12);
  assert(T > HOT, "too cold");
end Room;
block Hysteresis
  parameter Real low = 19, high = 21;
  In u;
  BooleanOut y(start = false, fixed = true);
equation
  y = not pre(y) and u < low or pre(y) and u <= high;
end Hysteresis;
block Not
  BooleanIn u;
  BooleanOut y;
equation
  y = not u;
end Not;
model Rooms
  parameter Integer n = 110;
  Room room[n](T(start = {19.1 + 1.8*abs(sin(3.7*i)) for i in 1:n}));
  Hysteresis control[n](high = {20.5 + 0.005*i for i in 1:n});
  Not a[n], b[n];
equation
  connect(room.T, control.u);
  connect(control.y, a.u);
  for i in 1:n loop
    connect(a[i].y, b[i].u);
    connect(room[i].heating, b[i].y);
  end for;
end Rooms;
)";
  const auto with = [&](const std::string& limit) {
    std::string text = blocks;
    return text.replace(text.find("HOT"), 3, limit);
  };
  compare(with("0"), until(3.0), true, 1e-5);
  const auto run = [&](bool keep) {
    const auto system = compile(load_text(with("19.05"), {.keep_loops = keep}).model);
    EXPECT_EQ(is_written_out(*system), !keep);
    return simulate(system, until(3.0));
  };
  const Trajectory kept = run(true), flat = run(false);
  EXPECT_FALSE(kept.status().ok());
  EXPECT_EQ(kept.status().code, flat.status().code);
  EXPECT_EQ(kept.status().message, flat.status().message);
  EXPECT_NEAR(kept.t_end(), flat.t_end(), 1e-6);
}

TEST(KeptComponents, SampledComponentsAreWrittenOut) {
  compare(R"(
model Sampler
  parameter Real k = 1;
  Real x(start = 0, fixed = true);
  discrete Real held(start = 0, fixed = true);
equation
  der(x) = k - x;
  when sample(0.1, 0.2) then
    held = pre(held) + x;
  end when;
end Sampler;
model Samplers
  Sampler s[100](k = {0.01*i for i in 1:100});
end Samplers;
)",
          until(1.0), false);
}

TEST(KeptComponents, WrittenOutWhereOneElementDoesNotStandForAll) {
  const auto with = [](const std::string& declarations, const std::string& equations) {
    return heat + "model M parameter Integer n = 110; Mass m[n](T0 = {sin(0.1*i) for i in 1:n}); Wall w[n]; Air air; " +
           declarations + " equation for i in 1:n loop connect(m[i].p, w[i].a); connect(w[i].b, air.p); end for; " +
           equations + " end M;";
  };
  const SimulateOptions options = until(0.5);
  compare(with("Real y;", "y = m[5].T + sum(m.T);"), options, false);
  compare(with("Real y;", "y = m[5].T0*time;"), options, false);
  compare(heat + R"(
model Warm
  extends Mass;
  parameter Boolean cold = false;
  parameter Integer k = 1;
  Real extra[k];
initial equation
  if cold then
    T = 3;
  end if;
equation
  for i in 1:k loop
    extra[i] = i*T;
  end for;
end Warm;
model M
  Warm m[110](T0 = {0.1*i for i in 1:110}, T(each fixed = false), k = {1 + mod(i, 2) for i in 1:110});
end M;
)",
          options, false);
}

TEST(KeptComponents, WrittenOutWhereValuesDecideTheStates) {
  // a mass without capacity, and start values that belong to variables other than the states
  const auto row = [](const std::string& masses) {
    return heat + "model M parameter Integer n = 120; Mass m[n](" + masses +
           "); Wall w[n - 1]; equation for i in 1:n - 1 loop connect(m[i].p, w[i].a); connect(m[i + 1].p, w[i].b); "
           "end for; end M;";
  };
  compare(row("C = {if i == 7 then 0 else 1 for i in 1:n}, T(each fixed = false)"), until(0.5), false);
  compare(row("T(each fixed = false), p(T(start = {0.1*i for i in 1:n}, each fixed = true))"), until(0.5), false);
}

TEST(KeptComponents, ErrorsAndValuesFromOutside) {
  const std::string text = house("(each T0 = 20)", "", "");
  // one element with another value: the model is written out
  const auto other = compile(load_text(text, {.parameters = {{"w[3].G", 5.0}}}).model);
  EXPECT_TRUE(is_written_out(*other));
  // errors are those of the model that is written out
  for (const std::string& wrong :
       {heat + "model M Mass m[120](C = {1, 2}); end M;", heat + "model M Mass m[120](D = 1); end M;",
        heat + "model M Mass m[120]; Air a; equation connect(m[121].p, a.p); end M;",
        heat + "model M Mass m[120](C = 3); end M;",
        heat + "model M Mass m[120]; Heater h[120]; equation connect(m.p, h.q); end M;"}) {
    const std::string told = load_errors(wrong);
    EXPECT_NE(told, "");
    EXPECT_EQ(told, load_errors(wrong, {.keep_loops = false}));
  }
  // parameters of all elements are told
  const auto kept = compile(load_text(text).model), flat = compile(load_text(text, {.keep_loops = false}).model);
  const auto values = [](const HybridSystem& system) {
    std::vector<std::pair<std::string, double>> all;
    for (const VariableInfo& p : parameter_info(system)) all.emplace_back(p.name, p.start);
    std::ranges::sort(all);
    return all;
  };
  EXPECT_EQ(values(*kept), values(*flat));
}

/// Rooms in a row or a ring with random walls, heaters and shortcuts between rooms; declared and connected in a random
/// order.
std::string random_network(std::mt19937& random) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const int n = 100 + pick(30);
  const auto numbers = [&](const std::string& name, const std::string& by_index, const std::string& size) {
    switch (pick(3)) {
      case 0:
        return name + " = {" + by_index + " for i in 1:" + size + "}";
      case 1:
        return "each " + name + " = 1.25";
      default:
        return name + " = fill(0.75, " + size + ")";
    }
  };
  std::vector<std::string> declarations{
      "Mass m[n](T0 = {19 + 3*sin(1.7*i) for i in 1:n}, " + numbers("C", "0.5 + 0.01*i", "n") + ")",
      "Wall w[walls](" + numbers("G", "0.4 + 0.002*i", "walls") + ")"};
  const bool ring = pick(2) == 1;
  std::vector<std::string> connections{
      "for i in 1:n - 1 loop connect(m[i].p, w[i].a); connect(w[i].b, m[i + 1].p); end for;"};
  if (ring) connections.emplace_back("connect(m[n].p, w[n].a); connect(w[n].b, m[1].p);");
  if (pick(2)) {
    declarations.emplace_back("Heater h[n](" +
                              std::string(pick(2) ? "low = {18 + 0.01*i for i in 1:n}" : "each P = 5") + ")");
    connections.emplace_back(pick(2) ? "connect(m.p, h.p);" : "for i in 1:n loop connect(h[i].p, m[i].p); end for;");
  }
  if (pick(2)) {
    declarations.emplace_back("Wall o[n](" + numbers("G", "0.1 + 0.001*i", "n") + "); Air air(T = 5)");
    connections.emplace_back("for i in n:-1:1 loop connect(o[i].b, air.p); connect(m[i].p, o[i].a); end for;");
  }
  if (pick(3) == 0) {
    declarations.emplace_back("Wall s[n - 5]");
    connections.emplace_back("for k in 1:n - 5 loop connect(m[k].p, s[k].a); connect(s[k].b, m[k + 5].p); end for;");
  }
  std::shuffle(declarations.begin(), declarations.end(), random);
  std::shuffle(connections.begin(), connections.end(), random);
  std::string text = heat + "model Random\n  parameter Integer n = " + std::to_string(n) + ", walls = n - " +
                     (ring ? "0" : "1") + ";\n";
  for (const std::string& d : declarations) text += "  " + d + ";\n";
  text += "equation\n";
  for (const std::string& c : connections) text += "  " + c + "\n";
  return text + "end Random;\n";
}

TEST(KeptComponents, RandomNetworks) {
  compare_random(random_network, 20);
}

}  // namespace
}  // namespace saltus
