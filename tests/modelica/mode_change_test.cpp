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

}  // namespace
}  // namespace saltus
