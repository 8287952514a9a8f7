// Modes whose algebraic equations Newton's method does not solve from the values before the event.
#include <cmath>
#include <string>

#include "load_helpers.hpp"

namespace saltus {
namespace {

// Behind an event the guess is what was before it; 0 is no guess for y^2 = 9, and 1/x has no value there.
TEST(ModeChanges, OtherGuessesAreTried) {
  for (const char* text :
       {"Real x(start=1, fixed=true), y; equation der(x) = -x; if time < 0.5 then y = 0; else y^2 = 9; end if;",
        "Real x(start=1, fixed=true), y; equation der(x) = -x; if time < 0.5 then y = 0; else 6/y = 2; end if;"}) {
    const ModelicaModel loaded = load_text(std::string("model M ") + text + " end M;");
    for (const Method method : {Method::automatic, Method::radau, Method::bdf, Method::rodas5p})
      for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
        const Trajectory run =
            simulate(loaded.model, {.stop = 1.0, .rtol = tolerance, .atol = tolerance, .method = method});
        ASSERT_EQ(run.status().code, StatusCode::success) << text << ": " << run.status().message;
        EXPECT_NEAR(run.at(0.4, "y"), 0.0, 1e-12);
        EXPECT_NEAR(run.at(1.0, "y"), 3.0, 50.0 * tolerance);
        EXPECT_NEAR(run.at(1.0, "x"), std::exp(-1.0), 50.0 * tolerance);
        ASSERT_EQ(run.events().size(), 1u);
        EXPECT_NE(run.events()[0].message.find("was found from others"), std::string::npos) << run.events()[0].message;
      }
  }
}

TEST(ModeChanges, WithoutASolutionEndTheRun) {
  const Trajectory run = simulate(load_text("model M Real x(start=1, fixed=true), y; equation der(x) = -x; if time < "
                                            "0.5 then y = 0; else y^2 = -9; end if; end M;")
                                      .model,
                                  {.stop = 1.0});
  EXPECT_FALSE(run.status().ok());
  EXPECT_NEAR(run.status().t, 0.5, 1e-9);
}

void expect_jumps_at_folds(const ModelicaModel& loaded) {
  const double fold = std::asin(0.7425), pi = std::acos(-1.0);
  for (const Method method : {Method::automatic, Method::radau, Method::bdf, Method::rodas5p})
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      SCOPED_TRACE(std::string(to_string(method)) + " at " + std::to_string(std::log10(tolerance)));
      const Trajectory run =
          simulate(loaded.model, {.stop = 8.0, .rtol = tolerance, .atol = tolerance, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      ASSERT_EQ(run.events().size(), 2u);
      EXPECT_NEAR(run.events()[0].t, pi + fold, 10.0 * tolerance);
      EXPECT_NEAR(run.events()[1].t, 2.0 * pi + fold, 10.0 * tolerance);
      for (const double t : {1.0, 3.9, 4.1, 7.0, 7.2, 8.0}) {
        const double y = t > pi + fold && t < 2.0 * pi + fold ? 15.0 : -15.0;
        EXPECT_NEAR(run.at(t, "y"), y, 1e-12) << t;
        EXPECT_NEAR(run.at(t, "v"), 1000.0 * (0.1 * y - 2.0 * std::sin(t)), 1e-9) << t;
      }
    }
}

// An amplifier with positive feedback. At the ends of its two branches u is -1.485 or 1.485, and the curve of v turns
// back there: v moves towards -15 or 15 on both sides of it. The solution jumps to the other branch, by 1000*0.1*30.
TEST(ModeChanges, WhereTheCurveFoldsTheSolutionJumpsToTheOtherBranch) {
  // the second has one relation more for each end: four of them turn together
  for (const char* text :
       {"Real u, v(start=-1000), y; equation u = 2*sin(time); v = 1000*(0.1*y - u); "
        "y = min(15, max(-15, v));",
        "Real top = 15, bottom = -15, u = 2*sin(time), v(start=-1000), y = min(top, max(bottom, v)); "
        "Boolean p = v >= top, q = v <= bottom; equation u = 0.1*y - v/1000; "
        "assert(top > bottom, \"\");"})
    expect_jumps_at_folds(load_text("model M " + std::string(text) + " end M;"));
}

}  // namespace
}  // namespace saltus
