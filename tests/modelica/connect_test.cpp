// Connections, if equations and the order of discrete equations.
#include <gtest/gtest.h>
#include <saltus/expr/print.hpp>
#include <saltus/hybrid/simulate.hpp>
#include <saltus/model/compiled_model.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

std::vector<std::string> equations_of(const ModelicaModel& m) {
  std::vector<std::string> texts;
  for (const auto& e : m.model.data().equations) texts.push_back(to_string(e.equation));
  return texts;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

const std::string pins =
    "connector Pin\n  Real v;\n  flow Real i;\nend Pin;\n"
    "model Part\n  Pin p, n;\nequation\n  p.i + n.i = 0;\n  p.v - n.v = p.i;\nend Part;\n";

TEST(Connect, PotentialsAreEqualAndFlowsSumUpToZero) {
  const auto e = equations_of(
      load_text(pins + "model M\n  Part a, b, c;\nequation\n  connect(a.n, b.p);\n  connect(b.p, c.p);\nend M;\n"));
  ASSERT_EQ(e.size(), 12u);
  EXPECT_TRUE(contains(e, "a.n.v = b.p.v"));
  EXPECT_TRUE(contains(e, "a.n.v = c.p.v"));
  EXPECT_TRUE(contains(e, "a.n.i + b.p.i + c.p.i = 0") || contains(e, "c.p.i + (a.n.i + b.p.i) = 0"));
  // unconnected flows are zero
  EXPECT_TRUE(contains(e, "a.p.i = 0"));
  EXPECT_TRUE(contains(e, "b.n.i = 0"));
  EXPECT_TRUE(contains(e, "c.n.i = 0"));
}

TEST(Connect, AnOwnConnectorShowsItsOtherFace) {
  const auto e = equations_of(load_text(
      pins +
      "model Two\n  Pin p, n;\n  Part a, b;\nequation\n  connect(p, a.p);\n  connect(a.n, b.p);\n"
      "  connect(b.n, n);\nend Two;\nmodel M\n  Two t;\n  Part c;\nequation\n  connect(t.p, c.p);\nend M;\n"));
  EXPECT_TRUE(contains(e, "t.a.p.i - t.p.i = 0") || contains(e, "t.p.i - t.a.p.i = 0")) << e.size();
  EXPECT_TRUE(contains(e, "t.p.i + c.p.i = 0"));
  EXPECT_TRUE(contains(e, "t.n.i = 0"));
  EXPECT_EQ(
      e.size(),
      load_text(pins +
                "model Two\n  Pin p, n;\n  Part a, b;\nequation\n  connect(p, a.p);\n  connect(a.n, b.p);\n"
                "  connect(b.n, n);\nend Two;\nmodel M\n  Two t;\n  Part c;\nequation\n  connect(t.p, c.p);\nend M;\n")
          .model.data()
          .variables.size());
}

TEST(Connect, ArraysOfConnectorsAndLoops) {
  const auto m = load_text(pins +
                           "model M\n  parameter Integer n = 4;\n  Part a[n];\n  Pin q[2];\n  Part c[2];\nequation\n"
                           "  for k in 1:n-1 loop\n    connect(a[k].n, a[k+1].p);\n  end for;\n  connect(q, c.p);\n"
                           "  q[1].v = 1;\n  q[2].v = 2;\nend M;\n");
  const auto e = equations_of(m);
  EXPECT_TRUE(contains(e, "a[1].n.i + a[2].p.i = 0"));
  EXPECT_TRUE(contains(e, "q[2].v = c[2].p.v"));
  // the flows of q are not known from outside: they are zero there as well
  EXPECT_TRUE(contains(e, "q[1].i = 0"));
}

TEST(Connect, AConnectionToAComponentThatIsSwitchedOffVanishes) {
  const auto m = load_text(pins +
                           "model M\n  parameter Boolean more = false;\n  Part a;\n  Part b if more;\nequation\n  "
                           "connect(a.n, b.p);\nend M;\n");
  EXPECT_EQ(m.model.data().variables.size(), 4u);
  EXPECT_TRUE(contains(equations_of(m), "a.n.i = 0"));
}

TEST(IfEquations, BranchesThatDetermineTheSameStayExplicit) {
  const auto m = load_text(
      "model M\n  Real x(start = 1, fixed = true), y;\nequation\n  if x > 0.5 then\n    der(x) = -1;\n    y = x;\n  "
      "else\n"
      "    y = 2*x;\n    der(x) = -x;\n  end if;\nend M;\n");
  EXPECT_EQ(equations_of(m),
            (std::vector<std::string>{"der(x) = if x > 0.5 then -1 else -x", "y = if x > 0.5 then x else 2*x"}));
  EXPECT_NEAR(run(m.model, 1.5).at(1.5, "x"), 0.5 * std::exp(-1.0), 1e-8);
}

TEST(IfEquations, BranchesMayDifferInStructure) {
  const auto m = load_text(
      "model Diode\n  Real u, i;\n  Boolean on = u > 0;\nequation\n  if on then\n    u = 0;\n  else\n    i = 0;\n  end "
      "if;\n"
      "  u + i = time;\nend Diode;\n");
  const auto e = equations_of(m);
  ASSERT_EQ(e.size(), 2u);
  EXPECT_EQ(e[0], "if u > 0 then u else i = 0");
  EXPECT_TRUE(m.notes.empty());
}

TEST(IfEquations, UnequalNumbersOfEquationsAreNoted) {
  const auto m = load_text(
      "model M\n  Real x, y;\nequation\n  der(x) = 1;\n  if x > 1 then\n    y = x;\n    der(y) = 1;\n  else\n    y = "
      "0;\n  end if;\nend M;\n");
  ASSERT_EQ(m.notes.size(), 1u);
  EXPECT_EQ(render(m.notes[0]),
            "test.mo:5:3: note: the branches of this 'if' have different numbers of equations: 2 and 1 in 'else'; "
            "where one is "
            "missing, it asks for nothing\n    if x > 1 then\n    ^~~~~~~~~~~~~\n");
}

TEST(DiscreteEquations, ValuesThatOthersNeedAreAssignedFirst) {
  // y needs u, which a later clause samples at the same instant
  const auto r = run_text(
      "model M\n  Real x(start = 0, fixed = true);\n  discrete Real u(start = -1), y(start = -1), z(start = "
      "-1);\nequation\n  der(x) = 1;\n"
      "  when sample(0.5, 0.5) then\n    z = 2*y;\n    y = u + 10;\n  end when;\n  when sample(0.5, 0.5) then\n    u = "
      "x;\n  end when;\nend M;\n",
      1.2);
  EXPECT_NEAR(r.at(1.1, "y"), 11.0, 1e-9);
  EXPECT_NEAR(r.at(1.1, "z"), 22.0, 1e-9);
}

TEST(DiscreteEquations, EventIterationSettlesChains) {
  const auto r = run_text(
      "model M\n  Real x(start = 0, fixed = true);\n  Boolean a(start = false), b(start = false), c(start = false);\n  "
      "Integer n(start = 0);\nequation\n"
      "  der(x) = 1;\n  a = x > 1;\n  when pre(a) then\n    b = true;\n  end when;\n  when b then\n    c = true;\n  "
      "end when;\n"
      "  when edge(c) then\n    n = pre(n) + 1;\n  end when;\nend M;\n",
      2.0);
  EXPECT_EQ(r.at(0.9, "c"), 0.0);
  EXPECT_EQ(r.at(1.1, "b"), 1.0);
  EXPECT_EQ(r.at(1.1, "c"), 1.0);
  EXPECT_EQ(r.at(1.9, "n"), 1.0);
}

TEST(DiscreteEquations, RelationsMayLookBack) {
  // the usual way to write a sampler: next is the time of the event after this one
  const auto r = run_text(
      "model M\n  discrete Real next(start = 0.5);\n  Integer n(start = 0);\n  Real x(start = 0, fixed = "
      "true);\nequation\n  der(x) = 1;\n"
      "  when time >= pre(next) then\n    n = pre(n) + 1;\n    next = pre(next) + n;\n  end when;\nend M;\n",
      5.0);
  // at 0.5, 1.5, 3.5
  EXPECT_EQ(r.at(0.4, "n"), 0.0);
  EXPECT_EQ(r.at(1.4, "n"), 1.0);
  EXPECT_EQ(r.at(3.4, "n"), 2.0);
  EXPECT_EQ(r.at(5.0, "n"), 3.0);
  EXPECT_NEAR(r.at(5.0, "next"), 6.5, 1e-12);
}

TEST(DiscreteEquations, InitialEquationsGiveStartValues) {
  const auto m = load_text(
      "model M\n  parameter Real x0 = 3;\n  Real x;\n  Integer n;\n  Boolean b;\ninitial equation\n  x = x0;\n  pre(n) "
      "= 5;\n  b = true;\nequation\n"
      "  der(x) = 1;\n  when x > 4 then\n    n = pre(n) + 1;\n    b = false;\n  end when;\nend M;\n");
  EXPECT_EQ(m.model.data().initial_equations.size(), 1u);
  EXPECT_EQ(m.model.data().variable_info[0].start, 3.0);
  EXPECT_EQ(m.model.data().discretes.at(0).start, 5.0);
  EXPECT_EQ(m.model.data().discretes.at(1).start, 1.0);
}

TEST(DiscreteEquations, ChangeAndIfInsideOfWhen) {
  const auto r = run_text(
      "model M\n  Integer k = integer(time);\n  Integer n(start = 0), odd(start = 0);\n  Real x;\nequation\n  der(x) = "
      "0;\n"
      "  when change(k) then\n    n = pre(n) + 1;\n    if mod(k, 2) == 1 then\n      odd = pre(odd) + 1;\n    end "
      "if;\n  end when;\nend M;\n",
      4.5);
  EXPECT_EQ(r.at(4.2, "n"), 4.0);
  EXPECT_EQ(r.at(4.2, "odd"), 2.0);
  EXPECT_EQ(r.at(2.5, "k"), 2.0);
}

// Rooms with heaters: by components, in two orders of connections, and by equations. 30 rooms settle events in the
// whole, 250 in the parts in which they happen.
TEST(Connect, RoomsByComponentsAreThoseByEquations) {
  const std::string classes = R"(
connector Port Real T; flow Real Q; end Port;
model Mass parameter Real T0 = 20; Real T(start = T0, fixed = true); Port p; equation T = p.T; der(T) = p.Q; end Mass;
model Wall parameter Real G = 1; Port a, b; Real Q; equation Q = G*(a.T - b.T); a.Q = Q; b.Q = -Q; end Wall;
model Air Port p; equation p.T = 12; end Air;
model Heater Port p; Boolean on(start = false, fixed = true); equation
  when p.T < 19 then on = true; elsewhen p.T > 21 then on = false; end when;
  p.Q = if on then -3 else 0;
end Heater;
)";
  const std::string starts = "{19.2 + 1.6*abs(sin(3.7*i)) for i in 1:n}";
  const auto components = [&](const std::string& connections) {
    return classes + "model M parameter Integer n = 30; Mass m[n](T0 = " + starts +
           "); Heater h[n]; Wall w[n-1], o[n](each G = 0.1); Air air; equation " + connections + " end M;";
  };
  const std::string by_equations =
      "model M parameter Integer n = 30; Real T[n](start = " + starts +
      ", each fixed = true); Boolean on[n](each start = false, each fixed = true); equation for i in 1:n loop "
      "der(T[i]) = (if i > 1 then T[max(i-1,1)] - T[i] else 0) + (if i < n then T[min(i+1,n)] - T[i] else 0) "
      "- 0.1*(T[i] - 12) + (if on[i] then 3 else 0); "
      "when T[i] < 19 then on[i] = true; elsewhen T[i] > 21 then on[i] = false; end when; end for; end M;";
  for (const double n : {30.0, 250.0}) {
    SCOPED_TRACE(n);
    const auto run = [&](const std::string& text) {
      return simulate(load_text(text, {.parameters = {{"n", n}}}).model, {.stop = 5.0, .rtol = 1e-8, .atol = 1e-8});
    };
    const Trajectory expected = run(by_equations);
    ASSERT_TRUE(expected.status().ok()) << expected.status().message;
    ASSERT_GT(expected.events().size(), n);
    for (const char* connections :
         {"for i in 1:n loop connect(m[i].p, h[i].p); connect(m[i].p, o[i].a); connect(o[i].b, air.p); end for; "
          "for i in 1:n-1 loop connect(m[i].p, w[i].a); connect(m[i+1].p, w[i].b); end for;",
          "for i in 1:n-1 loop connect(w[n-i].b, h[n-i+1].p); connect(h[n-i].p, w[n-i].a); end for; "
          "for i in 1:n loop connect(air.p, o[n+1-i].b); connect(o[i].a, h[i].p); connect(h[i].p, m[i].p); end for;"}) {
      const Trajectory found = run(components(connections));
      ASSERT_TRUE(found.status().ok()) << found.status().message;
      EXPECT_EQ(found.statistics().method.substr(0, 6), "dopri5");
      ASSERT_EQ(found.events().size(), expected.events().size());
      for (std::size_t k = 0; k < found.events().size(); ++k)
        EXPECT_NEAR(found.events()[k].t, expected.events()[k].t, 1e-6) << k;
      for (int i = 1; i <= static_cast<int>(n); ++i) {
        const std::string index = "[" + std::to_string(i) + "]";
        EXPECT_NEAR(found.at(5.0, "m" + index + ".T"), expected.at(5.0, "T" + index), 1e-6) << i;
      }
    }
  }
}

TEST(Connect, InputsOfPublicConnectorsAndRecordsAreInputsOfTheModel) {
  const std::string text =
      "connector Signals input Real u(start = 2); input Boolean on; output Real y; end Signals;\n"
      "connector Plug Signals inner_; end Plug;\n"
      "record Drive Real torque(start = 0.5); Real speed; end Drive;\n"
      "block Gain Signals s; equation s.y = if s.on then 3*s.u else 0; end Gain;\n"
      "model M\n  Signals bus[2], bound(u = 7, on = true);\n  Plug plug;\n  input Drive drive;\n  Gain gain;\n"
      "  output Real total;\nprotected\n  Signals node;\n"
      "equation\n  connect(bus[1].u, gain.s.u);\n  connect(bus[1].on, gain.s.on);\n  connect(gain.s.y, bus[1].y);\n"
      "  bus[2].y = bus[2].u;\n  bound.y = bound.u;\n  plug.inner_.y = plug.inner_.u;\n"
      "  node.u = gain.s.y;\n  node.on = true;\n  node.y = node.u;\n"
      "  total = drive.torque*drive.speed + bus[1].y;\nend M;\n";
  const CompiledModel compiled(load_text(text).model);
  std::vector<std::string> inputs, outputs;
  for (const InputInfo& input : compiled.inputs())
    inputs.push_back(compiled.observed()[static_cast<std::size_t>(input.variable)].name);
  for (const VariableInfo& v : compiled.observed())
    if (v.details->causality == Causality::output) outputs.push_back(v.name);
  std::ranges::sort(inputs);
  std::ranges::sort(outputs);
  EXPECT_EQ(inputs, (std::vector<std::string>{"bus[1].on", "bus[1].u", "bus[2].on", "bus[2].u", "drive.speed",
                                              "drive.torque", "plug.inner_.on", "plug.inner_.u"}));
  EXPECT_EQ(outputs, (std::vector<std::string>{"bound.y", "bus[1].y", "bus[2].y", "plug.inner_.y", "total"}));
  SimulateOptions options;
  options.inputs = {{"bus[1].u", InputSignal::constant(5.0)},
                    {"bus[1].on", InputSignal::constant(1.0)},
                    {"drive.speed", InputSignal::constant(4.0)}};
  const Trajectory run = simulate(compiled, options);
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_EQ(run.final()[run.index("total")], 0.5 * 4.0 + 3.0 * 5.0);
}

}  // namespace
}  // namespace saltus
