// Friction as the Modelica Standard Library writes it: an automaton of truth values, accelerations and torques that
// need each other at one instant.
#include <string>

#include "load_helpers.hpp"

namespace saltus {
namespace {

constexpr const char* train = R"(package Train
  model Element "a frictional contact as an automaton"
    parameter Real tau0 = 1;
    Real w, a, sa, tau;
    Boolean forward(start = false, fixed = true), backward(start = false, fixed = true), locked(start = false);
    Integer mode(start = 3, fixed = true);
  equation
    forward = pre(mode) == 0 and sa > tau0 or initial() and w > 0;
    backward = pre(mode) == 0 and sa < -tau0 or initial() and w < 0;
    locked = not (pre(mode) == 1 or forward or pre(mode) == -1 or backward);
    a = if locked then 0 else if forward or pre(mode) == 1 then sa - tau0 else sa + tau0;
    tau = if locked then sa else if forward or pre(mode) == 1 then tau0 else -tau0;
    mode = if (pre(mode) == 1 or forward) and w > 0 then 1
      else if (pre(mode) == -1 or backward) and w < 0 then -1 else 0;
  end Element;
  model Automaton
    Element clutch(tau0 = 2), brake(tau0 = 1);
    Real w1(start = 0, fixed = true), w2(start = 0, fixed = true);
  equation
    clutch.w = w1 - w2;
    brake.w = w2;
    clutch.a = der(clutch.w);
    brake.a = der(brake.w);
    der(w1) = 5*sin(3*time) - clutch.tau;
    2*der(w2) = clutch.tau - brake.tau;
  end Automaton;
  model Sliding
    Real w1(start = 0, fixed = true), w2(start = 0, fixed = true);
  equation
    der(w1) = 5*sin(3*time) - 2*sign(w1 - w2);
    2*der(w2) = 2*sign(w1 - w2) - sign(w2);
  end Sliding;
end Train;
)";

// The second method is Saltus' own sliding motion. Velocities change by at most 8 a second and events are exact to a
// tolerance of 1e-9, so that 18 events and 6 seconds leave less than 1e-7.
TEST(FrictionAutomaton, MovesAsSlidingMotionDoes) {
  const Trajectory automaton = run(load_text(train, {.model_name = "Train.Automaton"}).model, 6.0, 1e-9);
  const Trajectory sliding = run(load_text(train, {.model_name = "Train.Sliding"}).model, 6.0, 1e-9);
  for (int k = 0; k <= 600; ++k) {
    EXPECT_NEAR(automaton.at(0.01 * k, "w1"), sliding.at(0.01 * k, "w1"), 1e-7) << k;
    EXPECT_NEAR(automaton.at(0.01 * k, "w2"), sliding.at(0.01 * k, "w2"), 1e-7) << k;
  }
}

// A brake whose normal force comes and goes, with the equations of the library's Brake. `force` pushes the mass.
std::string brake(const std::string& force) {
  return R"(package Brakes
  model Automaton
    parameter Real peak = 1;
    Real v(start = 0, fixed = true), a, f, sa, fn, f0, f0_max;
    Boolean free, forward(start = false, fixed = true), backward(start = false, fixed = true), locked(start = false);
    Integer mode(start = 3, fixed = true);
  equation
    fn = 10*sin(4*time);
    f0 = 0.5*fn;
    f0_max = peak*f0;
    free = fn <= 0;
    forward = pre(mode) == 0 and (sa > f0_max or pre(forward) and sa > f0) or pre(mode) == -1 and v > 1e-3
      or initial() and v > 0;
    backward = pre(mode) == 0 and (sa < -f0_max or pre(backward) and sa < -f0) or pre(mode) == 1 and v < -1e-3
      or initial() and v < 0;
    locked = not free and not (pre(mode) == 1 or forward or pre(mode) == -1 or backward);
    a = if locked then 0 else if free then sa else if forward then sa - f0_max else if backward then sa + f0_max
      else if pre(mode) == 1 then sa - f0_max else if pre(mode) == -1 then sa + f0_max else sa - sign(v)*f0_max;
    mode = if free then 2 else if (pre(mode) == 1 or pre(mode) == 2 or forward) and v > 0 then 1
      else if (pre(mode) == -1 or pre(mode) == 2 or backward) and v < 0 then -1 else 0;
    a = der(v);
    a = )" +
         force + R"( - f;
    f = if locked then sa else if free then 0 else if forward then f0 else if backward then -f0
      else if pre(mode) == 1 then f0 else -f0;
  end Automaton;
  model Sliding
    Real v(start = 0, fixed = true);
  equation
    der(v) = )" +
         force + R"( - (if sin(4*time) > 0 then 5*sin(4*time) else 0)*sign(v);
  end Sliding;
end Brakes;
)";
}

// Where the brake takes hold, `fn > 0`, the mass is at rest. That it would move if the brake were not locked by then is
// not seen by its automaton. (At a tolerance of 1e-9, with few events: errors below 1e-7, as above.)
TEST(FrictionAutomaton, ABrakeThatTakesHoldOfAMassAtRestIsLocked) {
  for (const std::string force : {"0", "0.3", "4*cos(3*time)", "-(if time > 0.3 then 3 else 0)"}) {
    const std::string text = brake(force);
    const Trajectory automaton = run(load_text(text, {.model_name = "Brakes.Automaton"}).model, 3.0, 1e-9);
    const Trajectory sliding = run(load_text(text, {.model_name = "Brakes.Sliding"}).model, 3.0, 1e-9);
    for (int k = 0; k <= 300; ++k)
      EXPECT_NEAR(automaton.at(0.01 * k, "v"), sliding.at(0.01 * k, "v"), 1e-7) << force << " at " << 0.01 * k;
  }
}

// From a = b = false the sweeps go round: (true, false), (false, true), (true, false), ...
std::string loop(const std::string& gain) {
  return R"(model M
  Boolean a(start = false, fixed = true), b(start = false, fixed = true);
  Integer k(start = 0, fixed = true);
  Real z, w;
equation
  when time >= 1 then
    k = 1;
  end when;
  a = pre(k) == 1 and z > 0;
  b = pre(k) == 1 and w > 0;
  z + z^3 = 1 + (if a then -3 else 0) + (if b then )" +
         gain + R"( else 0);
  w + w^3 = -1 + (if a then 3 else 0);
end M;
)";
}

TEST(LoopsOfTruths, ACombinationThatFitsItsOwnValuesIsFound) {
  const Trajectory result = run_text(loop("2.5"), 2.0);
  EXPECT_EQ(result.at(2.0, "a"), 1.0);
  EXPECT_EQ(result.at(2.0, "b"), 1.0);
  EXPECT_NEAR(result.at(2.0, "z"), 0.4238537990697, 1e-9);  // z + z^3 = 1/2
  EXPECT_NEAR(result.at(2.0, "w"), 1.0, 1e-9);              // w + w^3 = 2
}

TEST(LoopsOfTruths, WhereNoneFitsTheRunEndsWithTheirNames) {
  const Trajectory result = simulate(load_text(loop("1.5")).model, {.stop = 2.0});
  EXPECT_EQ(result.status().code, StatusCode::too_many_mode_changes);
  EXPECT_NE(result.status().message.find("do not settle: 'a', 'b'"), std::string::npos) << result.status().message;
}

}  // namespace
}  // namespace saltus
