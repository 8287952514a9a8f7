// Expandable connectors: members that connections name (Modelica 3.7, 9.1.3).
#include <gtest/gtest.h>

#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

const std::string parts = R"(
connector RealInput = input Real;
connector RealOutput = output Real;
expandable connector Bus
end Bus;
expandable connector DeclaredBus
  Real speed(unit = "rad/s");
  Real unused;
end DeclaredBus;
model Source
  RealOutput y;
  parameter Real k = 1;
equation
  y = k*time;
end Source;
model Sink
  RealInput u;
end Sink;
)";

TEST(Buses, MembersAreThoseThatConnectionsName) {
  const auto r = run_text(parts + R"(
model M
  Bus bus;
  Source a(k = 2), b(k = 3);
  Sink x, y;
equation
  connect(a.y, bus.first);
  connect(x.u, bus.second);
  connect(bus.second, b.y);
  connect(y.u, bus.first);
end M;)",
                          1.0);
  EXPECT_NEAR(r.at(1.0, "bus.first"), 2.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "x.u"), 3.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "y.u"), 2.0, 1e-12);
}

// A sensor on the bus of a part is read by another part, and the other way round.
TEST(Buses, ConnectedBusesHaveTheSameMembers) {
  const auto r = run_text(parts + R"(
model Plant
  DeclaredBus bus;
  Source sensor(k = 3), list[2](k = {5, 7});
  Sink actuator;
equation
  connect(sensor.y, bus.speed);
  connect(bus.torque, actuator.u);
  connect(list.y, bus.list);
end Plant;
model Control
  Bus bus;
  Source command(k = 11);
  Sink speed, second;
equation
  connect(speed.u, bus.speed);
  connect(second.u, bus.list[2]);
  connect(bus.torque, command.y);
end Control;
model M
  Bus bus;
  Plant plant;
  Control control;
  Real twice = 2*bus.speed;
equation
  connect(plant.bus, bus);
  connect(bus, control.bus);
end M;)",
                          1.0);
  EXPECT_NEAR(r.at(1.0, "plant.actuator.u"), 11.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "control.speed.u"), 3.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "control.second.u"), 7.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "bus.list[1]"), 5.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "twice"), 6.0, 1e-12);
}

TEST(Buses, MembersMayBeBusesAndPhysicalConnectors) {
  const auto r = run_text(parts + R"(
connector Pin
  Real v;
  flow Real i;
end Pin;
model Resistor
  Pin p, n;
  parameter Real R = 2;
equation
  p.v - n.v = R*p.i;
  p.i + n.i = 0;
end Resistor;
model Battery
  Pin p;
equation
  p.v = 6;
end Battery;
model Ground
  Pin p;
equation
  p.v = 0;
end Ground;
model M
  Bus bus, sub;
  Battery battery;
  Resistor r1, r2(R = 4);
  Ground ground;
  Source s(k = 9);
  Sink q;
equation
  connect(battery.p, bus.power);
  connect(bus.power, r1.p);
  connect(r2.p, bus.power);
  connect(r1.n, ground.p);
  connect(r2.n, ground.p);
  connect(s.y, sub.q);
  connect(bus.signals, sub);
  connect(bus.signals.q, q.u);
end M;)",
                          1.0);
  EXPECT_NEAR(r.at(1.0, "battery.p.i"), -6.0 / 2.0 - 6.0 / 4.0, 1e-10);
  EXPECT_NEAR(r.at(1.0, "bus.power.v"), 6.0, 1e-12);
  EXPECT_NEAR(r.at(1.0, "q.u"), 9.0, 1e-12);
}

TEST(Buses, LoopsAndConditionsNameMembers) {
  const auto r = run_text(parts + R"(
model M
  parameter Integer n = 3;
  parameter Boolean reversed = true;
  Bus bus;
  Source s[n](k = 1:n);
  Sink x[n];
equation
  for i in 1:n loop
    connect(s[i].y, bus.y[i]);
    connect(x[i].u, bus.y[if reversed then n + 1 - i else i]);
  end for;
end M;)",
                          1.0);
  for (int k = 1; k <= 3; ++k) EXPECT_NEAR(r.at(1.0, "x[" + std::to_string(k) + "].u"), 4.0 - k, 1e-12);
}

// What a bus declares exists if something names it: an equation of the class, too.
TEST(Buses, DeclaredMembersThatNothingNamesDoNotExist) {
  const auto none = load_text(parts + "model M DeclaredBus bus; Real x = time; end M;").model;
  EXPECT_FALSE(none.data().names.contains("bus.speed"));
  const auto r =
      run_text(parts + "model M DeclaredBus bus; Real x = bus.unused; equation bus.unused = 2*time; end M;", 1.0);
  EXPECT_NEAR(r.at(1.0, "x"), 2.0, 1e-12);
}

TEST(Buses, AMemberHasTheUnitOfItsPartner) {
  const auto model = load_text(parts + R"(
model M
  Bus a;
  DeclaredBus b;
  Source s;
equation
  connect(s.y, b.speed);
  connect(a, b);
end M;)")
                         .model;
  const auto& info = model.data().variable_info[model.data().names.at("a.speed").index];
  EXPECT_EQ(info.details->unit, "rad/s");
}

TEST(Buses, WhatHasNoTypeIsRefused) {
  EXPECT_EQ(load_errors("expandable connector B end B;\nmodel M\n  B a, b;\nequation\n  connect(a.x, b.y);\nend M;\n"),
            R"(a.mo:5:3: error: the type of 'a.x' is not known: it is connected to nothing that has one
    connect(a.x, b.y);
    ^~~~~~~~~~~~~~~~~
hint: declare it in the expandable connector, or connect it to a connector of a component
a.mo:5:13: error: 'a' has no element 'x'
    connect(a.x, b.y);
              ^
)");
}

TEST(Buses, ABusThatContainsItselfIsRefused) {
  const std::string errors =
      load_errors("expandable connector B end B;\nmodel M\n  B a;\nequation\n  connect(a.x, a);\nend M;\n");
  EXPECT_NE(errors.find("contains itself"), std::string::npos) << errors;
}

TEST(Buses, AnIndexThatIsTooLargeIsRefused) {
  const std::string errors =
      load_errors(parts + "model M Bus bus; Source s; equation connect(s.y, bus.list[100000000000]); end M;");
  EXPECT_NE(errors.find("has more than 10000000 elements"), std::string::npos) << errors;
}

TEST(Buses, AMemberHasOneSource) {
  const std::string errors = load_errors(parts + R"(
model M
  Bus bus;
  Source a, b;
equation
  connect(a.y, bus.x);
  connect(b.y, bus.x);
end M;)");
  EXPECT_NE(errors.find("the sources 'a.y' and 'b.y' are connected to each other"), std::string::npos) << errors;
}

TEST(Buses, WhatNothingDrivesIsNamed) {
  const std::string errors = load_errors(parts +
                                         "model M Bus bus; Sink x, y; Real z(start = 0, fixed = true); "
                                         "equation connect(bus.q, x.u); connect(bus.q, y.u); der(z) = x.u; end M;");
  EXPECT_NE(errors.find("nothing gives 'bus.q' a value, and 'y.u' reads it"), std::string::npos) << errors;
}

}  // namespace
}  // namespace saltus
