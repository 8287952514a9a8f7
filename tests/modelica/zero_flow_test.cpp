// semiLinear where its first argument is zero: the rules of the specification (3.7.4.5) choose one solution.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

TEST(ZeroFlow, AChainTakesTheValueFromWhichThePositiveFlowComes) {
  const auto r = run_text(R"(model M
  Real m = if time < 0.5 then 0 elseif time < 1 then time - 0.5 else 0.5 - time;
  Real y, h;
equation
  y = semiLinear(m, 5, h);
  y = semiLinear(m, h, 7);
end M;)",
                          2.0);
  EXPECT_EQ(r.at(0.25, "h"), 5.0);
  EXPECT_EQ(r.at(0.75, "h"), 5.0);
  EXPECT_EQ(r.at(1.5, "h"), 7.0);
  EXPECT_NEAR(r.at(0.75, "y"), 5.0 * 0.25, 1e-12);
  EXPECT_NEAR(r.at(1.5, "y"), -7.0, 1e-12);
}

TEST(ZeroFlow, ChainsMayBeLongAndTurnedRound) {
  const auto r = run_text(R"(model M
  Real m = if time < 1 then 0 else 1 - time;
  Real y, s[3], b = -m, c = -y;
equation
  y = semiLinear(m, s[2], s[3]);
  y = semiLinear(m, 5, s[1]);
  c = semiLinear(b, s[2], s[1]);
  c = semiLinear(-m, 9, s[3]);
end M;)",
                          2.0);
  for (const char* s : {"s[1]", "s[2]", "s[3]"}) {
    EXPECT_TRUE(r.at(0.5, s) == 5.0 || r.at(0.5, s) == 9.0) << s;
    EXPECT_EQ(r.at(0.5, s), r.at(0.5, "s[1]"));
    EXPECT_EQ(r.at(2.0, s), 9.0) << s;
  }
  EXPECT_NEAR(r.at(2.0, "y"), -9.0, 1e-12);
}

TEST(ZeroFlow, APortWithoutFlowHasTheValueInside) {
  const auto r = run_text(R"(model M
  Real m, y, h;
equation
  m = 0;
  y = 0;
  y = semiLinear(m, h, 3 + time);
end M;)",
                          1.0);
  EXPECT_NEAR(r.at(1.0, "h"), 4.0, 1e-12);
}

// A network of pipes whose flow stops, rests and turns round: temperatures follow from balances in closed form.
TEST(ZeroFlow, ConnectedPipesRestAndTurnRound) {
  const std::string text = R"(model M
  connector Port
    Real p;
    flow Real m;
    Real h;
    flow Real H;
  end Port;
  model Pipe
    Port a, b;
    Real T(start = 1, fixed = true);
  equation
    a.m + b.m = 0;
    a.p - b.p = a.m;
    a.H + b.H = der(T);
    a.H = semiLinear(a.m, a.h, T);
    b.H = semiLinear(b.m, b.h, T);
  end Pipe;
  model Source
    Port a;
  equation
    a.m = if time < 1 then 0 elseif time < 2 then -1 else 1;
    a.H = semiLinear(a.m, a.h, 3);
  end Source;
  model Sink
    Port a;
  equation
    a.p = 0;
    a.H = semiLinear(a.m, a.h, 9);
  end Sink;
  Source s;
  Pipe one, two(T(start = 2));
  Sink k;
equation
  connect(s.a, one.a);
  connect(one.b, two.a);
  connect(two.b, k.a);
end M;)";
  const auto r = run_text(text, 3.0);
  EXPECT_EQ(r.at(0.5, "one.T"), 1.0);
  EXPECT_EQ(r.at(0.5, "two.T"), 2.0);
  EXPECT_TRUE(r.at(0.5, "one.b.h") == 1.0 || r.at(0.5, "one.b.h") == 2.0);
  // one.T' = 3 - one.T, two.T' = one.T - two.T with tau = t - 1
  const double e = std::exp(-1.0), one = 3.0 - 2.0 * e, two = 3.0 - 2.0 * e - e;
  EXPECT_NEAR(r.at(2.0, "one.T"), one, 1e-8);
  EXPECT_NEAR(r.at(2.0, "two.T"), two, 1e-8);
  // back: two.T' = 9 - two.T, one.T' = two.T - one.T
  EXPECT_NEAR(r.at(3.0, "two.T"), 9.0 + (two - 9.0) * e, 1e-8);
  EXPECT_NEAR(r.at(3.0, "one.T"), 9.0 + (two - 9.0) * e + (one - 9.0) * e, 1e-8);
}

// A pump without mass between two reservoirs: its balance has a third term, which is zero.
TEST(ZeroFlow, ElementsWithoutMassPassTheEnthalpyOn) {
  const auto r = run_text(R"(model M
  Real m = if time < 1 then 0 elseif time < 2 then time - 1 else 1 - time;
  Real Ha, Hb, Q, ha, hb, h;
equation
  Ha = semiLinear(m, ha, h);
  Hb = semiLinear(-m, hb, h);
  Q + (Ha + Hb) = 0;
  Q = 0;
  -Ha = semiLinear(-m, ha, 5);
  -Hb = semiLinear(m, hb, 9);
end M;)",
                          3.0);
  for (const char* name : {"ha", "hb", "h"}) {
    EXPECT_TRUE(r.at(0.5, name) == 5.0 || r.at(0.5, name) == 9.0) << name;
    EXPECT_EQ(r.at(0.5, name), r.at(0.5, "h"));
    EXPECT_EQ(r.at(1.5, name), 5.0) << name;
    EXPECT_EQ(r.at(2.5, name), 9.0) << name;
  }
  EXPECT_NEAR(r.at(1.5, "Ha"), 2.5, 1e-12);
  EXPECT_NEAR(r.at(2.5, "Ha"), -13.5, 1e-12);
}

TEST(ZeroFlow, ArraysAreTakenElementByElement) {
  const auto r = run_text(
      "model M\n  Real y[2] = semiLinear(time - 1, {2, 3}, {5, 7}), z[2] = semiLinear({time, -time}, {2, 3}, 11);\nend "
      "M;\n",
      2.0);
  EXPECT_EQ(r.at(2.0, "y[2]"), 3.0);
  EXPECT_EQ(r.at(0.0, "y[2]"), -7.0);
  EXPECT_EQ(r.at(2.0, "z[1]"), 4.0);
  EXPECT_EQ(r.at(2.0, "z[2]"), -22.0);
  EXPECT_NE(load_errors("model M\n  Real y[2] = semiLinear(time, {2, 3}, {5, 7, 8});\nend M;\n")
                .find("the arguments of 'semiLinear' have the sizes"),
            std::string::npos);
}

}  // namespace
}  // namespace saltus
