// Impulses that friction cannot carry, and walls that compiled runs must not pass.
#include <algorithm>
#include <cmath>
#include <string>

#include "load_helpers.hpp"

namespace saltus {
namespace {

Trajectory run_model(const std::string& body, double stop, double tolerance = 1e-6, Method method = Method::automatic) {
  return simulate(load_text("model M " + body + " end M;").model,
                  {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method});
}

/// The lowest value of a variable over the whole run, inside of steps too.
double lowest(const Trajectory& run, const std::string& variable) {
  double least = run.at(run.status().t, variable);
  for (int k = 0; k <= 4000; ++k) least = std::min(least, run.at(run.status().t * k / 4000.0, variable));
  return least;
}

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

}  // namespace
}  // namespace saltus
