// delay(x, T) of what changes at events (Modelica 3.7, 3.7.2.1): the value T ago, and the one at the start until then.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/modelica/flat_text.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

/// Times in the middle between multiples of `grid`, so that no change is near them.
std::vector<double> times_between(double grid, double stop) {
  std::vector<double> times;
  for (double t = 0.5 * grid; t < stop; t += grid) times.push_back(t);
  return times;
}

TEST(Delays, AStaircaseComesLater) {
  const auto r = run_text(R"(model M
  discrete Real u(start = 2);
  Real y = delay(u, 0.25);
equation
  when sample(0.1, 0.1) then
    u = pre(u) + time^2;
  end when;
end M;)",
                          2.0);
  for (const double t : times_between(0.01, 1.99)) EXPECT_EQ(r.at(t, "y"), r.at(std::max(t - 0.25, 0.0), "u")) << t;
}

// Seven changes are on their way at the same time; Booleans, Integers and expressions, too.
TEST(Delays, ManyChangesAreOnTheirWay) {
  const auto r = run_text(R"(model M
  Boolean b = sin(9*time) > 0.3;
  Integer n(start = 1, fixed = true);
  Boolean late = delay(b, 0.73);
  Integer behind = delay(n, 0.73);
  Real level = delay(if b then 3 else n/2, 0.73);
  Real number = if b then 3 else n/2;
equation
  when sample(0.1, 0.1) then
    n = pre(n)*2 - integer(pre(n)/50)*100;
  end when;
end M;)",
                          3.0);
  int checked = 0;
  for (const double t : times_between(0.0137, 2.9)) {
    const double then = std::max(t - 0.73, 0.0);
    for (const auto& [late, now] : {std::pair("late", "b"), std::pair("behind", "n"), std::pair("level", "number")})
      EXPECT_EQ(r.at(t, late), r.at(then, now)) << late << " at " << t;
    ++checked;
  }
  EXPECT_GT(checked, 200);
}

// A ring: b is its own opposite one second ago. Changes come at whole seconds, exactly.
TEST(Delays, ALoopOscillates) {
  const auto model = load_text(R"(model M
  Boolean b(start = false);
  Real x(start = 0, fixed = true);
equation
  b = if time < 0.5 then false else not delay(b, 1);
  der(x) = if b then 1 else -1;
end M;)");
  const auto r = run(model.model, 6.2);
  // b: false until 0.5, true until 1.5, …
  for (const double t : times_between(0.25, 6.0))
    EXPECT_EQ(r.at(t, "b"), std::fmod(std::floor(t - 0.5) + 2.0, 2.0) == 0.0 && t > 0.5 ? 1.0 : 0.0) << t;
  std::vector<double> changes;
  for (std::size_t k = 0; k < r.events().size(); ++k)
    if (r.events()[k].t > 0.0) changes.push_back(r.events()[k].t);
  for (const double expected : {1.5, 2.5, 3.5, 4.5, 5.5}) {
    bool found = false;
    for (const double t : changes) found = found || t == expected;
    EXPECT_TRUE(found) << expected;
  }
  EXPECT_NEAR(r.at(6.0, "x"), -0.5 + 1.0 - 1.0 + 1.0 - 1.0 + 1.0 - 0.5, 1e-9);
}

// A relay that sees x one second late: x' = -x - s. Its switching times are known in closed form.
TEST(Delays, ARelaySeesTheStateLate) {
  const auto r = run_text(R"(model M
  Real x(start = 1, fixed = true);
  Boolean above = x > 0;
  Boolean seen = delay(above, 1);
equation
  der(x) = -x - (if seen then 1 else -1);
end M;)",
                          12.0);
  std::vector<double> switching{1.0 + std::log(2.0)};
  while (switching.back() + 1.0 + std::log(2.0 - std::exp(-1.0)) < 12.0)
    switching.push_back(switching.back() + 1.0 + std::log(2.0 - std::exp(-1.0)));
  const auto x = [&](double t) {
    if (t <= switching[0]) return 2.0 * std::exp(-t) - 1.0;
    std::size_t k = 0;
    while (k + 1 < switching.size() && switching[k + 1] <= t) ++k;
    const double sign = k % 2 == 0 ? 1.0 : -1.0;
    return sign * (1.0 + (std::exp(-1.0) - 2.0) * std::exp(-(t - switching[k])));
  };
  for (const double t : times_between(0.03, 11.9)) EXPECT_NEAR(r.at(t, "x"), x(t), 1e-8) << t;
}

// Of several rounds of one instant the last one counts, also where x changes in each of them.
TEST(Delays, AnInstantHasOneValue) {
  const auto r = run_text(R"(model M
  Integer a(start = 0, fixed = true), b(start = 0, fixed = true), c(start = 0, fixed = true);
  Integer sum = a + 10*b + 100*c, late = delay(sum, 1);
equation
  when {time >= 0.5, time >= 0.8} then
    a = pre(a) + 1;
  end when;
  when {a == 1, a == 2} then
    b = pre(b) + 1;
  end when;
  when {b == 1, b == 2} then
    c = pre(c) + 1;
  end when;
end M;)",
                          2.0);
  EXPECT_EQ(r.at(0.6, "sum"), 111.0);
  EXPECT_EQ(r.at(0.9, "sum"), 222.0);
  EXPECT_EQ(r.at(1.4, "late"), 0.0);
  EXPECT_EQ(r.at(1.6, "late"), 111.0);
  EXPECT_EQ(r.at(1.9, "late"), 222.0);
}

TEST(Delays, TheStartIsTheValueAfterInitialisation) {
  const auto r = run_text(R"(model M
  Real x(start = 4, fixed = true);
  Integer n(start = 0) = if x > 3 then 7 else 5;
  Integer late = delay(n, 0.5);
equation
  der(x) = -4;
end M;)",
                          1.0);
  EXPECT_EQ(r.at(0.0, "late"), 7.0);
  EXPECT_EQ(r.at(0.7, "late"), 7.0);  // n falls at 0.25
  EXPECT_EQ(r.at(0.8, "late"), 5.0);
}

TEST(Delays, TheDelayTimeIsAParameter) {
  const std::string text = R"(model M
  parameter Real T = 0.2;
  Boolean b = time > 0.3;
  Boolean late = delay(b, T);
end M;)";
  Model model = load_text(text).model;
  for (const double T : {0.2, 0.45}) {
    model.set("T", T);
    const Trajectory r = run(model, 1.0);
    EXPECT_EQ(r.at(0.3 + T - 0.01, "late"), 0.0);
    EXPECT_EQ(r.at(0.3 + T + 0.01, "late"), 1.0);
  }
  const auto none = run_text(text, 1.0, {.parameters = {{"T", 0.0}}});
  EXPECT_EQ(none.at(0.31, "late"), 1.0);
}

// Changes that are on their way are part of a saved state.
TEST(Delays, ASavedRunGoesOnWithTheSameBits) {
  const auto model = load_text(R"(model M
  Real x(start = 1, fixed = true);
  Boolean above = x > 0;
  Boolean seen = delay(above, 1);
equation
  der(x) = -x - (if seen then 1 else -1);
end M;)")
                         .model;
  const auto compiled = std::make_shared<CompiledModel>(model);
  const SimulateOptions options{.stop = 9.0};
  Simulator whole(compiled, options), first(compiled, options);
  whole.advance_to(3.1);
  first.advance_to(3.1);
  Simulator second(compiled, options, first.state());
  whole.advance_to(9.0);
  second.advance_to(9.0);
  EXPECT_EQ(whole.values(), second.values());
}

TEST(Delays, TooManyChangesEndTheRun) {
  const auto r = simulate(load_text(R"(model M
  Integer n(start = 0, fixed = true);
  Integer late = delay(n, 10);
equation
  when sample(0.1, 0.1) then
    n = pre(n) + 1;
  end when;
end M;)")
                              .model,
                          {.stop = 8.0});
  EXPECT_FALSE(r.status().ok());
  EXPECT_NE(r.status().message.find("more than 32 changes are on their way in 'delay(n, 10)'"), std::string::npos)
      << r.status().message;
  EXPECT_NEAR(r.status().t, 3.3, 1e-9);
}

TEST(Delays, ModelsWithDelaysAreNotWritten) {
  const ModelicaModel model = load_text("model M Boolean b = time > 0.3, late = delay(b, 1); end M;");
  try {
    flat_text(model);
    ADD_FAILURE() << "written";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot be written as text: it has delays"), std::string::npos);
  }
}

TEST(Delays, ALongChainOfNamesIsNoCrash) {
  const std::string errors = load_errors(R"(model M
  parameter Integer n = 20000;
  Real x[n];
  Real y = delay(x[n], 1);
equation
  x[1] = if time > 1 then 1 else 0;
  for k in 2:n loop
    x[k] = 2*x[k - 1];
  end for;
end M;)");
  EXPECT_NE(errors.find("nested too deeply"), std::string::npos) << errors;
}

TEST(Delays, WhatIsNotSupportedIsRefused) {
  const auto error = [](const std::string& body) { return load_errors("model M\n" + body + "\nend M;\n"); };
  EXPECT_EQ(error("  Real x(start = 1);\nequation\n  der(x) = delay(x, 1);"),
            R"(a.mo:4:12: error: 'delay' of 'x' is not supported: 'x' changes between events
    der(x) = delay(x, 1);
             ^~~~~~~~~~~
hint: a delay can be taken of what changes at events only
)");
  EXPECT_NE(error("  Real y = delay(time, 1);").find("'time' changes between events"), std::string::npos);
  EXPECT_NE(error("  Boolean b = time > 1; Real y = delay(noEvent(if time > 1 then 1 else 2), 1);")
                .find("changes between events"),
            std::string::npos);
  EXPECT_NE(error("  Boolean b = time > 1, y = delay(b, -1);").find("the delay time is -1"), std::string::npos);
  EXPECT_NE(error("  Boolean b = time > 1, y = delay(b, 2, 1);").find("must lie between 0 and 1"), std::string::npos);
  EXPECT_NE(error("  Boolean b = time > 1, y = delay(b, time, 5);").find("a delay time that varies"),
            std::string::npos);
}

}  // namespace
}  // namespace saltus
