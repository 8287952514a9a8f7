// Stream connectors: what fluid carries (Modelica 3.7, chapter 15).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "effort.hpp"
#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

const std::string parts = R"(
connector Port
  Real p;
  flow Real m;
  stream Real h;
end Port;
model Source "sends what it is told to, and takes what comes"
  Port port;
  parameter Real m = 1, h = 1;
  Real entering = inStream(port.h);
equation
  port.m = -m;
  port.h = h;
end Source;
model Taker "never sends"
  Port port(m(min = 0));
  parameter Real m = 1;
  Real entering = inStream(port.h);
equation
  port.m = m;
  port.h = 1e6;
end Taker;
model Ambient
  Port port;
  parameter Real h = 9;
  Real entering = inStream(port.h);
  Real passing = actualStream(port.h);
  Real power = port.m*actualStream(port.h);
equation
  port.p = 0;
  port.h = h;
end Ambient;
model Pipe
  Port a, b;
equation
  a.m + b.m = 0;
  a.p = b.p;
  a.h = inStream(b.h);
  b.h = inStream(a.h);
end Pipe;
model Section "a level between"
  Port a, b;
  Pipe pipe;
equation
  connect(a, pipe.a);
  connect(pipe.b, b);
end Section;
)";

/// The value that connector i of a set receives, by the definition; flows into the components.
double received(std::size_t i, const std::vector<double>& flows, const std::vector<double>& values, double eps) {
  double s = 0.0, weights = 0.0, mean = 0.0;
  for (std::size_t j = 0; j < flows.size(); ++j)
    if (j != i) s += std::max(-flows[j], 0.0);
  const double r = std::min(s / eps, 1.0), a = r * r * (3.0 - 2.0 * r);
  for (std::size_t j = 0; j < flows.size(); ++j) {
    if (j == i) continue;
    const double w = a * std::max(-flows[j], 0.0) + (1.0 - a) * eps;
    weights += w;
    mean += w * values[j];
  }
  return mean / weights;
}

// Random sets, with flows down to far below the threshold: values by the definition, the balance of what flows where
// all flows exceed it.
TEST(Streams, SetsMixByTheDefinition) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  constexpr double eps = 1e-6;
  for (int trial = 0; trial < test_cases(40); ++trial) {
    const std::size_t n = 3 + random() % 3;
    std::vector<double> flows, values;
    std::string declared, connected;
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) {
      flows.push_back(k + 1 < n ? (2.0 * unit(random) - 1.0) * std::pow(10.0, 1.0 - 10.0 * unit(random)) : -sum);
      sum += flows.back();
      values.push_back(1e3 + 3e3 * unit(random));
      const std::string name = "s" + std::to_string(k);
      declared += k + 1 < n ? "  Source " + name + "(m = " + std::to_string(0) + ", h = 0);\n"
                            : "  Ambient " + name + "(h = 0);\n";
      if (k > 0) connected += "  connect(s0.port, " + name + ".port);\n";
    }
    Model model = load_text(parts + "model M\n" + declared + "equation\n" + connected + "end M;").model;
    for (std::size_t k = 0; k < n; ++k) {
      const std::string name = "s" + std::to_string(k);
      if (k + 1 < n) model.set(name + ".m", -flows[k]);
      model.set(name + ".h", values[k]);
    }
    const Trajectory r = run(model, 0.0);
    double power = 0.0, largest = 0.0;
    bool clear = true;
    for (std::size_t k = 0; k < n; ++k) {
      const double entering = r.at(0.0, "s" + std::to_string(k) + ".entering");
      EXPECT_NEAR(entering, received(k, flows, values, eps), 1e-9) << "trial " << trial << ", connector " << k;
      power += flows[k] * (flows[k] > 0.0 ? entering : values[k]);
      largest = std::max(largest, std::abs(flows[k]));
      clear = clear && std::abs(flows[k]) > eps;
    }
    // exact, or lost in a flow below the threshold times the spread of values
    EXPECT_LE(std::abs(power), 1e-12 * largest * 4e3 + (clear ? 0.0 : 4.0 * static_cast<double>(n) * eps * 3e3));
  }
}

TEST(Streams, WithOneSenderNoFlowMatters) {
  const auto r = run_text(parts + R"(
model M
  Source s(m = 3, h = 20);
  Taker t(m = 1);
  Ambient k;
equation
  connect(s.port, t.port);
  connect(s.port, k.port);
end M;)",
                          0.0);
  EXPECT_EQ(r.at(0.0, "s.entering"), 9.0);  // the taker never sends: the ambient alone could
  EXPECT_EQ(r.at(0.0, "k.entering"), 20.0);
  EXPECT_NEAR(r.at(0.0, "t.entering"), 20.0, 1e-4);  // the ambient would send: its weight is within the threshold
  EXPECT_NEAR(r.at(0.0, "k.power"), 2.0 * 20.0, 1e-12);
}

TEST(Streams, AConnectorOnItsOwnReceivesItsOwnValue) {
  const auto r = run_text(parts + "model M Ambient k(h = 4); end M;", 0.0);
  EXPECT_EQ(r.at(0.0, "k.entering"), 4.0);
  EXPECT_EQ(r.at(0.0, "k.power"), 0.0);
}

// Two sources before a chain of sections, where flow may turn round: fluid keeps its value on the way.
TEST(Streams, ValuesPassThroughLevels) {
  const auto r = run_text(parts + R"(
model M
  Source s1(m = 1, h = 10), s2(m = 3, h = 20);
  Section w[3];
  Ambient k;
equation
  connect(s1.port, w[1].a);
  connect(s2.port, w[1].a);
  connect(w[1].b, w[2].a);
  connect(w[2].b, w[3].a);
  connect(w[3].b, k.port);
end M;)",
                          0.0);
  EXPECT_NEAR(r.at(0.0, "k.entering"), 17.5, 1e-12);
  EXPECT_NEAR(r.at(0.0, "k.passing"), 17.5, 1e-12);
  EXPECT_NEAR(r.at(0.0, "w[2].pipe.a.h"), 9.0, 1e-12);
}

// m = cos(t) into the ambient: value 5 comes in, 9 goes out. The product is continuous, its integral in closed form.
TEST(Streams, TheFlowTurnsRound) {
  const auto r = run_text(parts + R"(
model Swing
  Port port;
equation
  port.m = -cos(time);
  port.h = 5;
end Swing;
model M
  Swing s;
  Section w;
  Ambient k;
  Real E(start = 0, fixed = true);
equation
  connect(s.port, w.a);
  connect(w.b, k.port);
  der(E) = k.power;
end M;)",
                          4.0);
  EXPECT_NEAR(r.at(1.0, "E"), 5.0 * std::sin(1.0), 1e-8);
  EXPECT_NEAR(r.at(4.0, "E"), 5.0 + 9.0 * (std::sin(4.0) - 1.0), 1e-8);
  EXPECT_EQ(r.at(1.0, "k.passing"), 5.0);
  EXPECT_EQ(r.at(2.0, "k.passing"), 9.0);
}

// A stirred tank of constant mass: h' = m/M (h_in - h).
TEST(Streams, ATankIsFilledWithWhatComes) {
  const auto r = run_text(parts + R"(
model Tank
  Port a, b;
  Real h(start = 1, fixed = true);
equation
  a.m + b.m = 0;
  a.p = b.p;
  a.h = h;
  b.h = h;
  2*der(h) = a.m*(actualStream(a.h) - actualStream(b.h));
end Tank;
model M
  Source s(m = 0.5, h = 3);
  Tank tank;
  Ambient k;
equation
  connect(s.port, tank.a);
  connect(tank.b, k.port);
end M;)",
                          4.0);
  for (const double t : {1.0, 4.0}) EXPECT_NEAR(r.at(t, "tank.h"), 3.0 - 2.0 * std::exp(-0.25 * t), 1e-8);
}

TEST(Streams, ArraysOfPortsAndOfStreams) {
  const auto r = run_text(R"(
connector Port
  Real p;
  flow Real m;
  stream Real x[2];
end Port;
model Source
  Port port;
  parameter Real m = 1, x[2] = {1, 2};
equation
  port.m = -m;
  port.x = x;
end Source;
model Node
  parameter Integer n = 2;
  Port ports[n];
  Real x[2] = {4, 5};
  Real flows[n, 2];
equation
  for i in 1:n loop
    ports[i].p = 0;
    ports[i].x = x;
    flows[i, :] = ports[i].m*actualStream(ports[i].x);
  end for;
end Node;
model M
  Source a(m = 2), b(m = -3);
  Node node;
  Real total[2] = {sum(node.flows[:, k]) for k in 1:2};
equation
  connect(a.port, node.ports[1]);
  connect(b.port, node.ports[2]);
end M;)",
                          0.0);
  EXPECT_NEAR(r.at(0.0, "total[1]"), 2.0 * 1.0 - 3.0 * 4.0, 1e-12);
  EXPECT_NEAR(r.at(0.0, "total[2]"), 2.0 * 2.0 - 3.0 * 5.0, 1e-12);
}

TEST(Streams, WrongUsesAreRefused) {
  const auto error = [](const std::string& body) { return load_errors(parts + body); };
  EXPECT_NE(error("model M Port c; Real x = inStream(c.p); equation c.h = 1; c.p = 0; end M;")
                .find("'inStream' needs a variable of a connector that has the prefix 'stream'"),
            std::string::npos);
  EXPECT_NE(error("function f input Real u; output Real y; algorithm y := inStream(u); end f; "
                  "model M Real x = f(time); end M;")
                .find("'inStream' has no meaning in a function"),
            std::string::npos);
  EXPECT_NE(load_errors("connector C stream Real h; end C; model M C c; Real x = actualStream(c.h); "
                        "equation c.h = 1; end M;")
                .find("has no scalar flow beside it"),
            std::string::npos);
  EXPECT_NE(load_errors("connector C flow Real m, n; stream Real h; end C; model M C c; Real x = actualStream(c.h); "
                        "equation c.h = 1; end M;")
                .find("more than one flow: 'm' and 'n'"),
            std::string::npos);
}

}  // namespace
}  // namespace saltus
