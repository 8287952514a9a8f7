// Impulses that friction cannot carry, and walls that compiled runs must not pass.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "random_cases.hpp"
#include "run_helpers.hpp"

namespace saltus {
namespace {

// A counter in the clause must not hide that impacts accumulate, in compiled runs of any method.
TEST(Impulses, AWallIsNeverPassed) {
  const std::string body =
      "Real x(start=0.5,fixed=true), v(start=0,fixed=true); Integer n(start=0,fixed=true); equation der(x)=v; der(v) = "
      "-x - 0.2*v + 2.227*cos(2.813*time); when x < -0.097 then reinit(v, -0.541*v); n = pre(n)+1; end when;";
  double first = 0.0;
  for (const Method method : {Method::dop853, Method::dopri5, Method::taylor}) {
    const Trajectory run = run_model(body, 400.0, 1e-9, method);
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_GE(lowest(run, "x"), -0.097 - 1e-9);
    const double x = run.at(400.0, "x");
    if (first == 0.0) first = x;
    EXPECT_NEAR(x, first, 1e-5);
  }
}

// A sheet that takes half of the speed lets the body through: v = -sqrt(2 g) / 2 below it.
TEST(Impulses, AResetThatDoesNotTurnTheSpeedLetsTheSolutionThrough) {
  const Trajectory run = run_model(
      "Real x(start=1,fixed=true), v(start=0,fixed=true); equation der(x)=v; der(v)=-2; when x < 0 then reinit(v, "
      "0.5*pre(v)); end when;",
      2.0);
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  EXPECT_NEAR(run.at(2.0, "x"), -1.0 - 1.0, 1e-5);  // -v t - t^2 with v = 1 after t = 1
}

// A clutch that closes while one side sticks: momentum is kept, v = w = 1/2, and friction takes 0.05 a second of it.
TEST(Impulses, FrictionCarriesNoImpulse) {
  for (const char* equations :
       {"der(v) = F - 0.1*sign(v); der(w) = -F; if time > 1 then v = w; else F = 0; end if;",
        "der(w) = -F; if time > 1 then v - w = 0; else F = 0; end if; der(v) - F = -0.1*(if v > 0 then 1 else -1);",
        "2*der(v) = 2*F - 0.2*sign(1e6*v); der(w) + F = 0; if time > 1 then 3*v = 3*w; else F = 0; end if;"}) {
    SCOPED_TRACE(equations);
    const Trajectory run =
        run_model(std::string("Real v(start=0,fixed=true), w(start=1,fixed=true), F; equation ") + equations, 2.0);
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_NEAR(run.at(2.0, "v"), 0.45, 1e-6);
    EXPECT_NEAR(run.at(2.0, "w"), 0.45, 1e-6);
    EXPECT_NEAR(run.at(1.5, "v"), 0.475, 1e-6);
    EXPECT_NEAR(run.at(0.5, "v"), 0.0, 1e-9);
  }
}

// A rope becomes taut where nothing pulls at it: its force is zero after the impact, whatever rounding errors make of
// it. Later a load pulls it or slackens it. In four spellings, in units of length and mass by factors of 1e6, in random
// directions.
TEST(Ropes, AnImpactWithoutLoadDoesNotUseUpTheEdgeOfTheForce) {
  std::mt19937 random(static_cast<unsigned>(random_seed(7)));
  const auto number = [&](double low, double high) {
    return std::round(1e3 * std::uniform_real_distribution(low, high)(random)) / 1e3;
  };
  const auto text = [](double value) { return fmt::format("({:.17g})", value); };
  const int cases = random_cases(120);
  for (int k = 0; k < cases; ++k) {
    const double unit = std::vector{1.0, 1e-3, 1e3}[random() % 3],
                 mass = number(0.5, 3.0) * std::vector{1.0, 1e-3, 1e3}[random() % 3];
    const double length = number(0.5, 3.0), speed = number(0.3, 3.0), first = number(0.05, 0.3),
                 angle = number(0.0, 6.28);
    const double impact = (length - first) / speed, loaded = std::round(1e3 * (impact + number(0.3, 1.0))) / 1e3;
    const double rate = number(0.2, 2.0);
    const bool slackens = random() % 2 == 0;
    const std::string of = text(unit), m = text(mass), l = text(length * unit);
    const std::string load = m + "*" + of + "*(if time > " + text(loaded) + " then " + text(slackens ? -rate : rate) +
                             "*(time - " + text(loaded) + ") else 0)";
    const auto real = [&](const std::string& name, double start) {
      return "Real " + name + "(start = " + text(start * unit) + ", fixed = true, nominal = " + of + "); ";
    };
    const double c = std::cos(angle), s = std::sin(angle);
    std::string model = "model M Real F(nominal = " + text(mass * unit) + "), r(nominal = " + of +
                        "); Boolean taut(start = false, fixed = true); Integer n(start = 0, fixed = true); ";
    const std::string clauses = "when F < 0 then taut = false; n = pre(n) + 1; elsewhen r > " + l +
                                " then taut = true; n = pre(n); end when; end M;";
    const std::string plane = real("x", first * c) + real("y", first * s) + real("v", speed * c) +
                              real("w", speed * s) + "equation r = sqrt(x^2 + y^2); der(x) = v; der(y) = w; " + m +
                              "*der(v) = " + load + "*" + text(c) + " - F*x/r; " + m + "*der(w) = " + load + "*" +
                              text(s) + " - F*y/r; ";
    const std::string line =
        real("x", first) + real("v", speed) + "equation r = x; der(x) = v; " + m + "*der(v) + F = " + load + "; ";
    // the other mass rests, and is pulled along
    const std::string pair = real("x", first) + real("v", speed) + real("y", 0.0) + real("w", 0.0) +
                             "equation r = x - y; der(x) = v; der(y) = w; " + m + "*der(v) = " + load + " - F; " +
                             text(0.7 * mass) + "*der(w) = F; ";
    switch (k % 4) {
      case 0:
        model += plane + "if taut then r = " + l + "; else F = 0; end if; ";
        break;
      case 1:
        model += plane + "0 = if taut then x^2 + y^2 - " + l + "^2 else F; ";
        break;
      case 2:
        model += line + "if taut then r = " + l + "; else F = 0; end if; ";
        break;
      default:
        model += pair + "if taut then r = " + l + "; else F = 0; end if; ";
        break;
    }
    model += clauses;
    SCOPED_TRACE(model);
    const double stop = loaded + 1.0;
    const Trajectory run = simulate(load_text(model).model, {.stop = stop, .rtol = 1e-8, .atol = 1e-8});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    EXPECT_EQ(run.at(stop, "n"), slackens ? 1.0 : 0.0);
    EXPECT_EQ(run.at(0.5 * (impact + loaded), "n"), 0.0);
    for (const double t : {0.5 * impact, 0.5 * (impact + loaded), loaded + 0.5, stop}) {
      const double late = std::max(0.0, t - loaded);
      const double r = t < impact ? first + speed * t : length - (slackens ? rate * std::pow(late, 3) / 6.0 : 0.0);
      EXPECT_NEAR(run.at(t, "r"), unit * r, 1e-5 * unit) << t;
    }
  }
}

}  // namespace
}  // namespace saltus
