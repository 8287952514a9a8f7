// Lyapunov exponents against exact values.
#include <gtest/gtest.h>
#include <saltus/modelica/modelica.hpp>
#include <saltus/saltus.hpp>
#include <saltus/sens/lyapunov.hpp>

#include <cmath>
#include <numbers>

namespace saltus {
namespace {

Model load(const std::string& text) {
  return load_modelica(text, "model.mo").model;
}

TEST(Lyapunov, ExponentsOfALinearSystemAreItsEigenvalues) {
  const Model model = load(R"(model Linear
  Real x(start = 1, fixed = true), y(start = 1, fixed = true);
equation
  der(x) = 0.3*x + y;
  der(y) = -0.8*y;
end Linear;)");
  const LyapunovExponents found = lyapunov_exponents(model, {.interval = 1.0, .intervals = 200});
  ASSERT_EQ(found.status, LyapunovStatus::finished) << found.message;
  ASSERT_EQ(found.values.size(), 2u);
  // the basis turns into its place in the first intervals: an error of 1/time
  EXPECT_NEAR(found.values[0], 0.3, 0.01);
  EXPECT_NEAR(found.values[1], -0.8, 0.01);
  EXPECT_NEAR(found.values[0] + found.values[1], -0.5, 1e-7);  // the divergence
  EXPECT_NEAR(found.time, 200.0, 1e-9);
}

TEST(Lyapunov, ExponentOfTheTripleMapIsTheLogarithmOfThree) {
  // x' = x ln 3, and the whole part is taken away at t = 1, 2, …: chaos with events
  const Model model = load(R"(model Triple
  Real x(start = 0.3141592653589793, fixed = true);
equation
  der(x) = 1.0986122886681098*x;
  when sample(1, 1) then
    reinit(x, pre(x) - floor(pre(x)));
  end when;
end Triple;)");
  LyapunovOptions options{.interval = 0.9, .intervals = 100};
  const LyapunovExponents found = lyapunov_exponents(model, options);
  ASSERT_EQ(found.status, LyapunovStatus::finished) << found.message;
  EXPECT_NEAR(found.values[0], std::log(3.0), 1e-7);
}

TEST(Lyapunov, ABallOnAVibratingTableContractsAreas) {
  // v+ = -e v- + kick: areas shrink by e^2 for each impact and by the ratio of speeds; over long times the sum of the
  // exponents is the mean of log of the determinants
  const Model model = load(R"(model Ball
  parameter Real e = 0.8, a = 1.1;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -1;
  when h < 0 then
    reinit(v, -e*pre(v) + a*(1.5 + cos(3*time)));
  end when;
end Ball;)");
  const LyapunovExponents found = lyapunov_exponents(model, {.interval = 5.0, .intervals = 60});
  ASSERT_EQ(found.status, LyapunovStatus::finished) << found.message;
  // determinant of an impact: e v+/v-, whose product telescopes but for the flights, in which the speed only changes
  // its sign: the sum is the number of impacts times log e, over the time, up to the ends
  const Trajectory run = simulate(model, {.stop = found.t_end, .rtol = 1e-10, .atol = 1e-12});
  const double impacts = static_cast<double>(run.statistics().events);
  EXPECT_NEAR(found.values[0] + found.values[1], impacts * std::log(0.8) / found.time, 4.0 / found.time);
}

TEST(Lyapunov, ASlideTakesADirectionAway) {
  const Model model = load(R"(model DryFriction
  Real x(start = -0.7, fixed = true), v(start = 0.35, fixed = true);
equation
  der(x) = v;
  der(v) = -x + sin(time/3) - 0.4*sign(v);
end DryFriction;)");
  const LyapunovExponents found = lyapunov_exponents(model, {.interval = 7.3, .transient = 20.0, .intervals = 60});
  ASSERT_EQ(found.status, LyapunovStatus::finished) << found.message;
  // the multiplier of the cycle is 0.356316593031 in a period of 6 pi
  EXPECT_NEAR(found.values[0], std::log(0.356316593031) / (6.0 * std::numbers::pi), 3.0 / found.time);
  EXPECT_TRUE(std::isinf(found.values[1]) && found.values[1] < 0.0);
}

TEST(Lyapunov, SaysWhatIsWrong) {
  const Model model = load(R"(model Ends
  Real x(start = 1, fixed = true);
equation
  der(x) = 1;
  when x > 5 then
    terminate("far enough");
  end when;
end Ends;)");
  EXPECT_THROW(lyapunov_exponents(model, {.interval = 0.0}), UsageError);
  EXPECT_THROW(lyapunov_exponents(model, {.variables = {"z"}}), UsageError);
  const LyapunovExponents found = lyapunov_exponents(model, {.interval = 1.0, .intervals = 10});
  EXPECT_EQ(found.status, LyapunovStatus::no_derivative);
  EXPECT_NE(found.message.find("the run ended at t = 4"), std::string::npos) << found.message;
  EXPECT_NEAR(found.values[0], 0.0, 1e-9);  // of what there is
}

}  // namespace
}  // namespace saltus
