// Thyristors that are fired by timers, at any phase of their voltage.
#include <cmath>
#include <string>

#include "load_helpers.hpp"

namespace saltus {
namespace {

Trajectory fired(const std::string& text, double stop, Method method) {
  return simulate(load_text(text).model, {.stop = stop, .rtol = 1e-9, .atol = 1e-9, .method = method});
}

// The timer counts from the last time at which u became true. At that instant it must not be seen with the time before:
// y would be 2 for a moment, and what remembers it would stay on.
std::string timer(const std::string& start, const std::string& u, const std::string& more) {
  return "model M Boolean u = " + u + ", late; discrete Real entry(start = " + start +
         ", fixed = true); Real y, x(start = 0, fixed = true); Boolean on(start = false, fixed = true); " + more +
         " equation when u then entry = time; end when; y = if u then time - entry else 0; late = y > 1.1; "
         "on = pre(on) or late; der(x) = if on then 1 else 0;";
}

TEST(Firing, ATimerThatBeginsIsNotSeenWithItsOldTime) {
  for (const Method method : {Method::automatic, Method::radau}) {
    const std::string late = timer("0", "sin(3.141592653589793*(time - 0.25)) > 0", "") + " end M;";
    const Trajectory never = fired(late, 10.0, method);
    ASSERT_TRUE(never.status().ok()) << never.status().message;
    EXPECT_EQ(never.at(10.0, "on"), 0.0);
    EXPECT_EQ(never.at(10.0, "x"), 0.0);
    EXPECT_NEAR(never.at(8.75, "y"), 0.5, 1e-9);
  }
}

TEST(Firing, ATimerThatBeginsWithTheRunIsNotSeenWithItsOldTime) {
  const Trajectory never =
      fired(timer("-5", "sin(3.141592653589793*time) > 0", "") + " end M;", 2.5, Method::automatic);
  ASSERT_TRUE(never.status().ok()) << never.status().message;
  EXPECT_EQ(never.at(2.5, "x"), 0.0);
  EXPECT_NEAR(never.at(2.5, "y"), 0.5, 1e-9);
}

TEST(Firing, ATimerThatAResetBeginsIsNotSeenWithItsOldTime) {
  const std::string text = timer("-5", "z > 0", "Real z(start = -1, fixed = true);") +
                           " der(z) = 1; when time > 0.5 then reinit(z, 0); end when; end M;";
  const Trajectory late = fired(text, 2.0, Method::automatic);
  ASSERT_TRUE(late.status().ok()) << late.status().message;
  EXPECT_EQ(late.at(1.5, "on"), 0.0);
  EXPECT_NEAR(late.at(1.5, "y"), 1.0, 1e-12);
  EXPECT_EQ(late.at(1.61, "on"), 1.0);
  EXPECT_NEAR(late.at(2.0, "x"), 0.4, 1e-9);  // from 0.5 + 1.1 on
}

// One thyristor of a dimmer is fired shortly before the end of its half wave, at it, or behind it. Behind the zero of
// its current it blocks, until the end of the run.
std::string dimmer(double ahead, const std::string& load) {
  return "model Dimmer constant Real w = 100*3.141592653589793; parameter Real ahead = " +
         std::to_string(ahead * 1e12) +
         "e-12, Ron = 1e-9, Goff = 1e-9; Boolean fire = time > 0.01 - ahead and time < 0.012; "
         "Real v, i, s1, s2, i1, i2, q(start = 0, fixed = true); "
         "Boolean off1(start = true, fixed = true), off2(start = true, fixed = true); "
         "equation 155*sin(w*time) = v + " +
         load +
         "; v = s1*(if off1 then 1 else Ron); i1 = s1*(if off1 then Goff else 1); "
         "-v = s2*(if off2 then 1 else Ron); i2 = s2*(if off2 then Goff else 1); i = i1 - i2; der(q) = i; "
         "off1 = s1 < 0 or pre(off1) and not fire; off2 = s2 < 0 or pre(off2); ";
}

TEST(Firing, AThyristorConductsUntilTheZeroOfItsVoltage) {
  const double w = 100.0 * M_PI, R = 10.0;
  for (const Method method : {Method::automatic, Method::radau, Method::bdf})
    for (const double ahead : {4e-3, 1e-3, 1e-5, 1e-7, 1e-9, 1e-10, 1e-12, 0.0, -1e-12, -1e-10, -1e-9, -1e-6, -1e-3}) {
      const Trajectory run = fired(dimmer(ahead, "10*i") + "end Dimmer;", 0.03, method);
      ASSERT_TRUE(run.status().ok()) << ahead << ": " << run.status().message;
      EXPECT_EQ(run.at(0.011, "off1"), 1.0) << ahead;
      EXPECT_EQ(run.at(0.025, "off1"), 1.0) << ahead;
      EXPECT_NEAR(run.at(0.025, "i"), 155.0 / (R + 0.5e9), 1e-9) << ahead;
      // both thyristors leak
      const double leaks = 155.0 / (R + 0.5e9) / w;
      const double charge = ahead > 0.0 ? 155.0 / (R * w) * (1.0 - std::cos(w * ahead)) : 0.0;
      EXPECT_NEAR(run.at(0.02, "q"), charge, 3.0 * leaks + 1e-8) << ahead;
    }
}

TEST(Firing, ACoilCarriesTheCurrentOverTheZeroOfTheVoltage) {
  const double w = 100.0 * M_PI, R = 10.0, L = 0.02;
  for (const Method method : {Method::automatic, Method::radau})
    // within 1e-8 s of the zero the run may be refused, see known issues
    for (const double ahead : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 2e-8, -2e-8, -1e-7, -1e-6, -1e-5, -1e-3}) {
      const std::string text = dimmer(ahead, "10*i + 0.02*der(i)") + "initial equation i = 0; end Dimmer;";
      const Trajectory run = fired(text, 0.03, method);
      ASSERT_TRUE(run.status().ok()) << ahead << ": " << run.status().message;
      EXPECT_EQ(run.at(0.0125, "off1"), 1.0) << ahead;
      EXPECT_EQ(run.at(0.025, "off1"), 1.0) << ahead;
      EXPECT_NEAR(run.at(0.025, "i"), 0.0, 1e-6) << ahead;
      if (ahead < 1e-6) continue;
      // di/dt = (v - R i)/L from the time at which it was fired
      const double begin = 0.01 - ahead, t = 0.01, phase = std::atan2(w * L, R);
      const double size = 155.0 / std::hypot(R, w * L);
      const double i = size * (std::sin(w * t - phase) - std::sin(w * begin - phase) * std::exp(-R / L * ahead));
      EXPECT_NEAR(run.at(t, "i"), i, 1e-6) << ahead;
    }
}

}  // namespace
}  // namespace saltus
