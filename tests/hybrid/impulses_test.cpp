// What forces and torques give in the instant in which a constraint appears, against balances of momentum.
#include <gtest/gtest.h>
#include <saltus/hybrid/impulses.hpp>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {
namespace {

double impulse(CompiledModel& model, const Trajectory& run, std::size_t event, const std::string& name) {
  const std::vector<Impulse> found = impulses_of(model, run, run.events()[event]);
  const auto it = std::ranges::find(found, name, &Impulse::variable);
  return it == found.end() ? 0.0 : it->value;
}

TEST(Impulses, ALockedClutchPassesTheTorqueThatMakesSpeedsEqual) {
  CompiledModel model(load_modelica(R"(model Clutch
  parameter Real J1 = 2, J2 = 3;
  Real w1(start = 10, fixed = true), w2(start = 0, fixed = true);
  Real tau(unit = "N.m");
equation
  J1*der(w1) = -tau;
  J2*der(w2) = tau;
  if time < 1 then
    tau = 0;
  else
    w1 = w2;
  end if;
end Clutch;)",
                                    "model.mo")
                          .model);
  const Trajectory run = simulate(model, {.stop = 2.0, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 1u);
  // both have 2*10/(2 + 3) = 4 afterwards
  EXPECT_NEAR(run.at(2.0, "w2"), 4.0, 1e-9);
  EXPECT_NEAR(impulse(model, run, 0, "tau"), 2.0 * 3.0 / 5.0 * 10.0, 1e-8);
  const std::vector<std::string> texts = impulse_texts(impulses_of(model, run, run.events()[0]), 1);
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0], "impulse of tau: 12 N.m.s");
}

TEST(Impulses, ACapacitorThatIsShortedGivesItsCharge) {
  CompiledModel model(load_modelica(R"(model Capacitors
  parameter Real C1 = 1e-3, C2 = 3e-3;
  Real u1(start = 12, fixed = true), u2(start = 0, fixed = true), i;
equation
  C1*der(u1) = -i;
  C2*der(u2) = i;
  if time < 0.5 then
    i = 0;
  else
    u1 = u2;
  end if;
end Capacitors;)",
                                    "model.mo")
                          .model);
  const Trajectory run = simulate(model, {.stop = 1.0, .rtol = 1e-10, .atol = 1e-12});
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_NEAR(run.at(1.0, "u2"), 3.0, 1e-9);
  EXPECT_NEAR(impulse(model, run, 0, "i"), 9e-3, 1e-11);
}

TEST(Impulses, ARopeThatTightensTakesTheSpeedAlongIt) {
  // free fall from (0.6, 0) with length 1: tight at y = -0.8, where v = (0, -sqrt(2 g 0.8)) loses its part along the
  // rope
  CompiledModel model(load_modelica(R"(model Rope
  Real x(start = 0.6, fixed = true), y(start = 0, fixed = true);
  Real vx(start = 0, fixed = true), vy(start = 0, fixed = true), T(unit = "N");
  Boolean tight(start = false, fixed = true);
equation
  der(x) = vx;
  der(y) = vy;
  2*der(vx) = -T*x;
  2*der(vy) = -T*y - 2*9.81;
  if tight then
    x^2 + y^2 = 1;
  else
    T = 0;
  end if;
  when x^2 + y^2 > 1 then
    tight = true;
  end when;
end Rope;)",
                                    "model.mo")
                          .model);
  const Trajectory run = simulate(model, {.stop = 0.5, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_GE(run.events().size(), 1u);
  const double speed = -0.8 * -std::sqrt(2.0 * 9.81 * 0.8);  // outwards along the rope
  EXPECT_NEAR(impulse(model, run, 0, "T"), 2.0 * speed, 1e-7);
}

TEST(Impulses, ContinuousEventsHaveNone) {
  CompiledModel model(
      load_modelica("model M Real x(start = 0, fixed = true); equation der(x) = if x < 1 then 1 else 0.5; end M;",
                    "m.mo")
          .model);
  const Trajectory run = simulate(model, {.stop = 2.0});
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_TRUE(impulses_of(model, run, run.events()[0]).empty());
}

}  // namespace
}  // namespace saltus
