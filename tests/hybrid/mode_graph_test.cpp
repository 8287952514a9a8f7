// The automaton of a run: which modes are nodes, which events are edges, and how long and how often.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numeric>

namespace saltus {
namespace {

SimulateOptions to(double stop) {
  return {.stop = stop, .rtol = 1e-9, .atol = 1e-9};
}

/// What holds for the graph of every run.
void expect_sound(const Trajectory& run, const ModeGraph& graph) {
  ASSERT_FALSE(graph.nodes.empty());
  double time = 0.0;
  std::size_t entered = 0, arrivals = 1;  // the start
  for (const ModeGraph::Node& node : graph.nodes) {
    EXPECT_GE(node.entered, 1u) << node.description;
    time += node.time;
    entered += node.entered;
  }
  for (const ModeGraph::Edge& edge : graph.edges) {
    ASSERT_LT(edge.from, graph.nodes.size());
    ASSERT_LT(edge.to, graph.nodes.size());
    EXPECT_GE(edge.count, 1u);
    EXPECT_EQ(edge.guards.size(), edge.direction.size());
    if (edge.from != edge.to) arrivals += edge.count;
  }
  EXPECT_EQ(entered, arrivals);
  // a sum of as many intervals as there are events, each with a rounding error of the largest time
  const double span = std::abs(run.t_end() - run.t_start());
  EXPECT_NEAR(time, span, 1e-15 * span * static_cast<double>(run.events().size() + 1));
}

TEST(ModeGraph, AModelWithoutEventsHasOneNodeAndNoEdge) {
  Model m("decay");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == -x);
  const Trajectory run = simulate(m, to(2.0));
  const ModeGraph graph = run.mode_graph();
  expect_sound(run, graph);
  EXPECT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].time, 2.0);
  EXPECT_TRUE(graph.edges.empty());
}

/// Heats at the rate 1 from 0 to 1, cools at the rate -1 from 1 to 0.
Model thermostat() {
  Model m("thermostat");
  const Expr T = m.variable("T", 0.25);
  ExplicitMode on = m.mode("on"), off = m.mode("off");
  on.equation(der(T) == 1.0);
  off.equation(der(T) == -1.0);
  on.transition(T > 1.0).to(off);
  off.transition(T < 0.0).to(on);
  return m;
}

TEST(ModeGraph, AThermostatHasTwoNodesAndTwoEdgesWithCounts) {
  const Trajectory run = simulate(thermostat(), to(10.25));
  const ModeGraph graph = run.mode_graph();
  expect_sound(run, graph);
  ASSERT_EQ(graph.nodes.size(), 2u);
  ASSERT_EQ(graph.edges.size(), 2u);
  EXPECT_EQ(graph.nodes[0].description.substr(0, 2), "on");
  EXPECT_EQ(graph.nodes[1].description.substr(0, 3), "off");
  // on until 0.75, then off and on in turn for 1 each; the last whole interval, on, ends at 9.75 + 1 > 10.25
  const ModeGraph::Edge &switches_off = graph.edges[0], &switches_on = graph.edges[1];
  EXPECT_EQ(switches_off.from, 0u);
  EXPECT_EQ(switches_off.to, 1u);
  EXPECT_EQ(switches_off.kind, EventKind::transition);
  EXPECT_EQ(switches_off.guards, (std::vector<std::string>{"T > 1"}));
  EXPECT_EQ(switches_off.direction, (std::vector{1}));
  EXPECT_EQ(switches_off.count, 5u);
  EXPECT_NEAR(switches_off.first, 0.75, 1e-8);
  EXPECT_EQ(switches_on.count, 5u);
  EXPECT_NEAR(switches_on.first, 1.75, 1e-8);
  EXPECT_FALSE(switches_on.actions.empty());
  EXPECT_EQ(graph.nodes[0].entered, 6u);
  EXPECT_EQ(graph.nodes[1].entered, 5u);
  EXPECT_NEAR(graph.nodes[1].time, 5.0, 1e-7);
}

TEST(ModeGraph, NeedsNeitherStepsNorTheModel) {
  SimulateOptions o = to(10.25);
  o.keep_steps = false;
  const Trajectory run = simulate(thermostat(), o);
  const ModeGraph graph = run.mode_graph();
  expect_sound(run, graph);
  EXPECT_EQ(graph.edges.size(), 2u);
}

TEST(ModeGraph, StickSlipHasANodeForSlidingAndNodesForBothDirections) {
  Model m("stick_slip");
  const Expr x = m.variable("x", 0.0), v = m.variable("v", 0.0), t = m.time();
  m.equation(der(x) == v);
  m.equation(der(v) == 1.2 * sin(t) - sign(v));
  const Trajectory run = simulate(m, to(30.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const ModeGraph graph = run.mode_graph();
  expect_sound(run, graph);
  std::size_t sliding = 0;
  for (const ModeGraph::Node& node : graph.nodes) sliding += node.description.find("sliding") != std::string::npos;
  EXPECT_EQ(sliding, 1u);
  EXPECT_EQ(graph.nodes.size(), 3u);
  bool enters = false, leaves = false;
  for (const ModeGraph::Edge& edge : graph.edges) {
    enters |= edge.kind == EventKind::slide_enter;
    leaves |= edge.kind == EventKind::slide_exit;
  }
  EXPECT_TRUE(enters && leaves);
}

TEST(ModeGraph, CountersAndSampledValuesDoNotMultiplyNodes) {
  Model m("counter");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0), n = m.discrete("n", 0.0),
             held = m.discrete("held", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x > 0.0).assign(n, m.pre(n) + 1.0).assign(held, v);
  const Trajectory run = simulate(m, to(40.0));
  const ModeGraph graph = run.mode_graph();
  expect_sound(run, graph);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].description, "x > 0");
  EXPECT_EQ(graph.nodes[1].description, "x <= 0");
  ASSERT_EQ(graph.edges.size(), 2u);
  // x = cos t falls through 0 at pi / 2 + 2 pi k, seven times up to 40, and rises at 3 pi / 2 + 2 pi k, six times
  EXPECT_EQ(graph.edges[0].count, 7u);
  EXPECT_TRUE(graph.edges[0].actions.empty());
  EXPECT_EQ(graph.edges[1].count, 6u);
  EXPECT_EQ(graph.edges[1].actions.size(), 1u);
}

TEST(ModeGraph, ABouncingBallHasOneNodeWithALoopThenContact) {
  Model m("ball");
  const Expr h = m.variable("h", 1.0), v = m.variable("v", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -0.5 * m.pre(v));
  const Trajectory run = simulate(m, to(5.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  const ModeGraph graph = run.mode_graph();
  expect_sound(run, graph);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_NE(graph.nodes[1].description.find("in contact with"), std::string::npos) << graph.nodes[1].description;
  std::size_t impacts = 0, contacts = 0;
  for (const ModeGraph::Edge& edge : graph.edges) {
    if (edge.kind == EventKind::reset && edge.from == 0 && edge.to == 0) impacts += edge.count;
    if (edge.kind == EventKind::contact && edge.from == 0 && edge.to == 1) contacts += edge.count;
  }
  EXPECT_EQ(contacts, 1u);
  EXPECT_GT(impacts, 10u);
  // the ball flies for sqrt(2/g) and, with the restitution 1/2, twice that in all rebounds together
  EXPECT_NEAR(graph.nodes[0].time, 3.0 * std::sqrt(2.0 / 9.81), 1e-6);
}

TEST(ModeGraph, OfARunBackwardsHasPositiveTimes) {
  Model m("backwards");
  const Expr x = m.variable("x", 1.0);
  m.equation(der(x) == if_else(x > 0.0, 1.0, 2.0));
  const Trajectory run = simulate(m, to(-2.0));
  const ModeGraph graph = run.mode_graph();
  expect_sound(run, graph);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_NEAR(graph.nodes[0].time, 1.0, 1e-8);
  EXPECT_NEAR(graph.nodes[1].time, 1.0, 1e-8);
}

}  // namespace
}  // namespace saltus
