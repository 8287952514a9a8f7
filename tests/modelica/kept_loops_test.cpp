// Loops over large arrays that are kept, against the same models written out: the same steps, events and values.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compile.hpp>
#include <saltus/model/compiled_model.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "kept_helpers.hpp"

namespace saltus {
namespace {

const std::string rod = R"(
model Rod
  parameter Integer n = 300;
  parameter Real c = 900;
  Real T[n](start = {sin(3.14159*i/(n + 1)) for i in 1:n}, each fixed = true);
equation
  der(T[1]) = c*(T[2] - 2*T[1]);
  for i in 2:n-1 loop
    der(T[i]) = c*(T[i-1] - 2*T[i] + T[i+1]);
  end for;
  der(T[n]) = c*(T[n-1] - 2*T[n]);
end Rod;
)";

const std::string plate = R"(
model Plate
  parameter Integer n = 15;
  parameter Real low = 19, high = 21;
  Real T[n, n](start = {{19.2 + 1.6*abs(sin(3.7*i + 9.1*j)) for j in 1:n} for i in 1:n}, each fixed = true);
  Boolean on[n, n](start = {{i > j for j in 1:n} for i in 1:n}, each fixed = true);
equation
  for i in 1:n loop
    for j in 1:n loop
      der(T[i, j]) = T[max(i - 1, 1), j] + T[min(i + 1, n), j] + T[i, max(j - 1, 1)] + T[i, min(j + 1, n)]
        - 4*T[i, j] - 0.1*(T[i, j] - 12) + (if on[i, j] then 2 else 0);
      when T[i, j] < low then
        on[i, j] = true;
      elsewhen T[i, j] > high then
        on[i, j] = false;
      end when;
    end for;
  end for;
end Plate;
)";

TEST(KeptLoops, RodWithEveryMethod) {
  for (const Method method :
       {Method::automatic, Method::dopri5, Method::dop853, Method::rodas5p, Method::radau, Method::bdf})
    compare(rod, until(0.01, method));
}

TEST(KeptLoops, TaylorSeriesAgreeWithinTheTolerance) {
  const auto loops = compile(load_text(rod).model);
  const Trajectory a = simulate(loops, until(0.001, Method::taylor));
  const Trajectory b = simulate(load_text(rod).model, {.stop = 0.001, .rtol = 1e-10, .atol = 1e-10});
  ASSERT_TRUE(a.status().ok()) << a.status().message;
  for (std::size_t k = 0; k < a.final().size(); ++k) ASSERT_NEAR(a.final()[k], b.final()[k], 1e-6);
}

TEST(KeptLoops, ThermostatsInTheirCellsAndInTheWhole) {
  compare(plate, until(4.0));
  SimulateOptions global = until(2.0);
  global.local_events_from = -1;
  compare(plate, global);
  compare(plate, until(2.0, Method::rodas5p));
  compare(plate, until(1.0, Method::dop853));
}

TEST(KeptLoops, RingsBranchesAndVariablesThatFollow) {
  compare(R"(
model Ring
  parameter Integer n = 240;
  parameter Real k = 3;
  Real x[n](start = {sin(0.7*i) for i in 1:n}, each fixed = true), v[n](each start = 0, each fixed = true);
  Real force[n], power[n];
  Real clock(start = 0, fixed = true), first = x[1] + clock;
equation
  der(clock) = 1 - 0.1*x[n];
  for j in 1:n loop
    der(x[j]) = v[j];
    der(v[j]) = force[j];
    force[j] = k*(x[if j == 1 then n else j - 1] - x[j])
      + (if j == n then k*x[1] elseif j > n - 3 then sin(time) else k*x[j + 1]) - k*x[j];
    power[j] = force[j]*v[j];
  end for;
end Ring;
)",
          until(2.0), true, 1e-12);
}

TEST(KeptLoops, EquationsThatDependOnIterators) {
  compare(R"(
model Chain
  parameter Integer n = 120;
  parameter Boolean damped = true;
  Real x[2, n](each start = 1, each fixed = true);
equation
  for i in 1:2, j in 1:n loop
    if i == 1 and j <> 3 then
      der(x[1, j]) = x[2, j];
    elseif i == 1 then
      der(x[i, j]) = 2*x[2, end] - x[1, j];
    else
      if damped then
        der(x[i, j]) = -x[1, j] - 0.1*x[2, j];
      else
        der(x[i, j]) = -x[1, j];
      end if;
    end if;
  end for;
end Chain;
)",
          until(3.0));
}

TEST(KeptLoops, GuardsOfEveryKind) {
  compare(R"(
model Cells
  parameter Integer n = 220;
  Real x[n](start = {0.3*cos(1.1*i) for i in 1:n}, each fixed = true), v[n](each start = 1, each fixed = true);
  Boolean big[n], out[n];
  Integer count[n](each start = 0, each fixed = true);
  Real next[n](start = {0.5 + 0.01*i for i in 1:n}, each fixed = true);
  discrete Real last[n](each start = 0, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = v[i];
    der(v[i]) = -x[i] + 0.01*x[max(i - 1, 1)] + 0.1*last[i];
    big[i] = x[i]*x[i] + v[i]*v[i] > 1.05;
    out[i] = pre(big[i]) and sin(x[i]) > 0.5;
    der(next[i]) = 0;
    when {x[i]^3 > 0.2, pre(count[i]) > 2 and v[i] < -0.3} then
      count[i] = pre(count[i]) + 1;
      last[i] = x[i];
    end when;
  end for;
end Cells;
)",
          until(4.0), true, 1e-5);  // written out, it falls into other parts
}

TEST(KeptLoops, NumbersThatDifferFromPassToPass) {
  const std::string text = R"(
model Numbers
  parameter Integer n = 230;
  parameter Real k = 0.3, r[n] = {0.01*i + 0.2 for i in 1:n}, limit[n] = {0.3 + 0.1*sin(i) for i in 1:n};
  parameter Boolean fast[n] = {mod(i, 3) == 0 for i in 1:n};
  Real x[n](start = {cos(0.3*i) for i in 1:n}, each fixed = true), y[n];
  Boolean low[n](each start = false, each fixed = true);
  discrete Real level[n](start = r, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = -r[i]*x[i] + k*i/n*sin(time) + (if fast[i] then -x[i] else x[max(i - 1, 1)]*r[min(i + 1, n)])
      + (if low[i] then 1 + 0.001*i else -0.2) + (if r[i] > 1.5 then 0.1 else 0.2) - 0.1*x[i]^(1 + 2*mod(i, 2));
    y[i] = 0.01*i*x[i] + r[i]^2 + (if i < 4 then i - 2 else 0);
    when x[i] < -limit[i] then
      low[i] = true;
      level[i] = 0.1*i + x[i];
    elsewhen x[i] > limit[i]/2 then
      low[i] = false;
      level[i] = pre(level[i]) + r[i];
    end when;
  end for;
end Numbers;
)";
  compare(text, until(2.0), true, 1e-5);
  compare(text, until(1.0, Method::rodas5p), true, 1e-5);
  const auto system = compile(load_text(text).model);
  const std::vector<VariableInfo> parameters = parameter_info(*system);
  const std::vector<VariableInfo> flat = parameter_info(*compile(load_text(text, {.keep_loops = false}).model));
  ASSERT_EQ(parameters.size(), flat.size());
  for (std::size_t k = 0; k < flat.size(); ++k) {
    EXPECT_EQ(parameters[k].name, flat[k].name);
    EXPECT_EQ(parameters[k].start, flat[k].start);
  }
  const Trajectory run = simulate(system, until(0.5));
  EXPECT_EQ(run.variables().back().name, "level[230]");  // numbers of passes are not shown
}

TEST(KeptLoops, SlidesOfCells) {
  const std::string belt = R"(
model Belt
  parameter Integer n = 220;
  Real x[n](start = {0.8*sin(7.31*i) for i in 1:n}, each fixed = true);
  Real v[n](start = {0.2*cos(3.7*i) for i in 1:n}, each fixed = true);
  Real friction[n];
equation
  for i in 1:n loop
    der(x[i]) = v[i];
    der(v[i]) = 0.2*(x[max(i - 1, 1)] - 2*x[i] + x[min(i + 1, n)]) - x[i] + friction[i];
    friction[i] = -sign(v[i] - 0.3)/(1 + abs(v[i] - 0.3));
  end for;
end Belt;
)";
  SimulateOptions global = until(2.0);
  global.local_events_from = -1;
  compare(belt, until(4.0), true, 1e-5);
  compare(belt, global, true, 1e-5);
  compare(belt, until(0.5, Method::rodas5p), true, 1e-5);
  // all begin on their surfaces
  compare(R"(
model Chain
  parameter Integer n = 210;
  Real x[n](each start = 0, each fixed = true), v[n](each start = 0, each fixed = true);
equation
  for j in 1:n loop
    der(x[j]) = v[j];
    der(v[j]) = (if j == 1 then 1.2*sin(time) else x[max(j - 1, 1)]) - 2*x[j]
      + (if j == n then x[n] else x[min(j + 1, n)]) - 0.3*sign(v[j]);
  end for;
end Chain;
)",
          until(6.0), true, 1e-4);
}

TEST(KeptLoops, ResetsAndContactsOfCells) {
  compare(R"(
model Neurons
  parameter Integer n = 230;
  Real v[n](start = {mod(0.618*j, 1.0) for j in 1:n}, each fixed = true), s[n](each start = 0, each fixed = true);
equation
  for j in 1:n loop
    der(v[j]) = 1.2 - v[j] + 0.2*s[if j == 1 then n else j - 1];
    der(s[j]) = -10*s[j];
    when v[j] > 1 then
      reinit(v[j], 0);
      reinit(s[j], s[j] + 1);
    end when;
  end for;
end Neurons;
)",
          until(3.0), true, 1e-5);
  // each comes to rest after infinitely many impacts, and is lifted again
  const std::string balls = R"(
model Balls
  parameter Integer n = 205;
  Real h[n](start = {0.2 + 0.1*sin(j) for j in 1:n}, each fixed = true), v[n](each start = 0, each fixed = true);
  Real a(start = 0, fixed = true);
equation
  der(a) = 1;
  for j in 1:n loop
    der(h[j]) = v[j];
    der(v[j]) = -10 + (if j == 7 then 6*a else 0);
    when h[j] < 0 then
      reinit(v[j], -0.5*pre(v[j]));
    end when;
  end for;
end Balls;
)";
  compare(balls, until(2.5), true, 1e-4);
}

TEST(KeptLoops, WrittenOutWhereCellsAreNotEnough) {
  const auto with = [](const std::string& declarations, const std::string& equations) {
    return "model M parameter Integer n = 210; Real x[n](each start = 1, each fixed = true); " + declarations +
           " equation " + equations + " end M;";
  };
  const SimulateOptions options = until(0.5);
  // sums over all, whole arrays, chains of algebraic variables
  compare(with("", "for i in 1:n loop der(x[i]) = -x[i] + 0.001*sum(x); end for;"), options, false);
  compare(with("Real y[n];",
               "y[1] = x[1]; for i in 2:n loop y[i] = y[i-1] + x[i]; end for; "
               "for i in 1:n loop der(x[i]) = -0.01*y[i]; end for;"),
          options, false);
  compare(with("", "der(x) = -x;"), options, false);
  // what concerns all cells
  compare(
      with("discrete Real q[n](each start = 0, each fixed = true);",
           "for i in 1:n loop der(x[i]) = -x[i] + q[i]; when sample(0, 0.1) then q[i] = pre(q[i]) + 0.01; end when; "
           "end for;"),
      options, false);
  compare(
      with("Boolean on(start = false, fixed = true);",
           "for i in 1:n loop der(x[i]) = if on then 0 else -x[i]; end for; when x[1] < 0.8 then on = true; end when;"),
      options, false);
}

TEST(KeptLoops, WhatIsSaidOfSomePassesOnlyCounts) {
  // the rule of a surface stands behind a whole loop; one variable of many is fixed, and decides where its state begins
  compare(R"(model M Real x[210](each start = 1, each fixed = true); equation
    for i in 1:210 loop der(x[i]) = if x[i] > 0.8 then -1 else 1; end for annotation(__saltus_surface = "stop");
    end M;)",
          until(0.5), false);
  compare(R"(model M Real x[210](each start = 1), y[210](each start = 3, fixed = {i == 7 for i in 1:210}); equation
    for i in 1:210 loop der(x[i]) = -x[i]; y[i] = 2*x[i]; end for; end M;)",
          until(0.5), false);
}

TEST(KeptLoops, ChangesOfTheModelWriteItOut) {
  ModelicaModel source = load_text(rod);
  EXPECT_EQ(source.model.name(), "Rod");
  EXPECT_TRUE(source.model.content().loops());
  EXPECT_EQ(source.model.data().variables.size(), 300u);
  EXPECT_EQ(source.model.symbol("T[3]").name(), "T[3]");
  EXPECT_EQ(source.model.time().name(), "time");
  EXPECT_FALSE(is_written_out(*compile(source.model)));  // reading changes nothing
  source.model.set("T[3]", 5.0);
  const auto changed = compile(source.model);
  EXPECT_TRUE(is_written_out(*changed));
  EXPECT_EQ(changed->variables()[2].start, 5.0);
  // start values of single elements, from outside
  const auto given = load_text(rod, {.parameters = {{"T[7]", 2.0}}});
  EXPECT_EQ(compile(given.model)->variables()[6].start, 2.0);
}

TEST(KeptLoops, ErrorsAreThoseOfTheModelWrittenOut) {
  const auto same = [](const std::string& text) {
    SCOPED_TRACE(text);
    const std::string told = load_errors(text);
    EXPECT_NE(told, "");
    EXPECT_EQ(told, load_errors(text, {.keep_loops = false}));
  };
  same("model M Real x[300]; equation for i in 1:300 loop der(x[i]) = x[i + 1]; end for; end M;");
  same("model M Real x[300]; equation for i in 1:300 loop der(x[i]) = y[i]; end for; end M;");
  same("model M Real x[300]; Boolean b[300]; equation for i in 1:300 loop der(x[i]) = b[i]; end for; end M;");
  same("model M Real x[300]; Boolean b[300]; equation for i in 1:300 loop der(x[i]) = 1; end for; end M;");
  const auto of_compile = [](const std::string& text, bool keep) -> std::string {
    try {
      compile(load_text(text, {.keep_loops = keep}).model);
    } catch (const ModelError& error) {
      return error.what();
    }
    return "";
  };
  for (const char* range : {"2:300", "1:299"}) {
    const std::string text =
        std::string("model M Real x[300]; equation for i in ") + range + " loop der(x[i]) = -x[i]; end for; end M;";
    EXPECT_NE(of_compile(text, true), "");
    EXPECT_EQ(of_compile(text, true), of_compile(text, false));
  }
}

TEST(KeptLoops, WhatFailsInARunIsNamedByItsCell) {
  compare(R"(
model Roots
  parameter Integer n = 250;
  Real x[n](start = {1 + 0.01*i for i in 1:n}, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = -2*sqrt(x[i]) - 0.1*x[max(i - 1, 1)];
  end for;
end Roots;
)",
          until(3.0), true, 1e-10);
}

TEST(KeptLoops, RunsCanBeSavedAndContinued) {
  const auto system = compile(load_text(plate).model);
  ASSERT_FALSE(is_written_out(*system));
  Simulator whole(system, until(2.0, Method::dopri5)), first(system, until(2.0, Method::dopri5));
  whole.run();
  ASSERT_TRUE(first.advance_to(1.0));
  Simulator second(system, until(2.0, Method::dopri5), first.state());
  second.run();
  ASSERT_TRUE(second.status().ok());
  for (std::size_t k = 0; k < whole.x().size(); ++k) ASSERT_NEAR(second.x()[k], whole.x()[k], 1e-4);
}

/// Numbers of passes belong to the model, not to its state: as parameters do.
TEST(KeptLoops, RunsGoOnWithOtherNumbers) {
  const auto text = [](const char* rates) {
    return R"(
model Decays
  parameter Integer n = 220;
  parameter Real r[n] = {)" +
           std::string(rates) + R"( for i in 1:n};
  Real x[n](start = {1 + 0.01*i for i in 1:n}, each fixed = true);
  Boolean low[n](each start = false, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = -r[i]*x[i];
    when x[i] < 0.75 then
      low[i] = true;
    end when;
  end for;
end Decays;
)";
  };
  for (const bool keep : {true, false}) {
    const auto slow = compile(load_text(text("0.5 + 0.001*i"), {.keep_loops = keep}).model);
    const auto fast = compile(load_text(text("1.1 + 0.002*i"), {.keep_loops = keep}).model);
    ASSERT_EQ(is_written_out(*slow), !keep);
    Simulator first(slow, until(2.0));
    ASSERT_TRUE(first.advance_to(1.0));
    Simulator second(fast, until(2.0), first.state());
    second.run();
    ASSERT_TRUE(second.status().ok());
    const std::vector<double> values = second.trajectory().final();
    for (int i = 1; i <= 220; ++i) {
      const double exact = (1 + 0.01 * i) * std::exp(-(0.5 + 0.001 * i) - (1.1 + 0.002 * i));
      EXPECT_NEAR(values[static_cast<std::size_t>(i) - 1], exact, 1e-5) << i;
      EXPECT_EQ(values[static_cast<std::size_t>(i) + 219], exact < 0.75 ? 1.0 : 0.0) << i;
    }
  }
}

/// A loop with a random body: reads of neighbours, branches on iterators, and something that happens in each pass.
std::string random_loop(std::mt19937& random) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const char* const neighbours[] = {"max(i - 1, 1)",
                                    "min(i + 1, n)",
                                    "if i == 1 then n else i - 1",
                                    "max(1, min(n, i + 3))",
                                    "n + 1 - i",
                                    "1",
                                    "end"};
  const char* const shapes[] = {"{}", "sin({})", "0.1*{}*{}", "cos({} - 0.3)", "({} + time)", "{}/(1 + {}^2)"};
  const auto with = [](std::string text, const std::string& element) {
    for (std::size_t at; (at = text.find("{}")) != std::string::npos;) text.replace(at, 2, element);
    return text;
  };
  const auto term = [&](const std::string& array) {
    return with(shapes[pick(6)], array + "[" + (pick(2) ? "i" : neighbours[pick(7)]) + "]");
  };
  const auto sum = [&](const std::string& own) {
    std::string text = "-" + own;
    for (int k = pick(3); k >= 0; --k)
      text += (pick(2) ? " + " : " - ") + std::string("0.3*") + term(pick(2) ? "x" : "y");
    if (pick(3) == 0) text += " + (if i <= 3 then " + term("x") + " else " + term("y") + ")";
    if (pick(3) == 0) text += " - 0.01*i*" + own;
    if (pick(3) == 0) text += " + r[i]*sin(" + own + ")";
    return text;
  };
  std::string drive, events;
  const std::string level = pick(3) == 0 ? "(0.1 + r[i])" : std::to_string(0.1 + 0.1 * pick(4));
  switch (pick(6)) {
    case 0:
      drive = " + (if on[i] then 1 else 0)";
      events = "when x[i] < -" + level + " then on[i] = true; elsewhen x[i] > " + level +
               " then on[i] = " + (pick(2) ? "false" : "not pre(on[i])") + "; end when;\n";
      break;
    case 1:
      drive = " - 0.7*sign(x[i] - " + level + ")";
      events = "on[i] = x[i] > " + level + ";\n";
      break;
    case 2:
      events = "on[i] = y[i] > x[i];\nwhen x[i] > " + level +
               " then reinit(x[i], -0.5*x[i]); reinit(y[i], y[i] + 0.1); end when;\n";
      break;
    case 3:
      drive = " + (if x[i]^2 + y[i]^2 > " + level + " then -1 else 0.5)";
      events = "on[i] = not x[i] < 0;\n";
      break;
    case 4:
      drive = " + abs(x[i])";
      events = "on[i] = pre(on[i]) and time < 1 or x[i] > " + level + ";\n";
      break;
    default:
      drive = " + noEvent(if x[i] > 0 then 0.3 else 0.1)*x[i]";
      events = "when {x[i] > " + level + ", y[i] < 0} then on[i] = not pre(on[i]); end when;\n";
  }
  std::string flux, separate;  // variables that other passes read, in this loop or in another one
  if (pick(2)) {
    (pick(2) ? flux : separate) = "w[i] = " + term("x") + " - 0.2*" + term(pick(2) ? "x" : "y") + ";\n";
    drive += " + 0.3*" + term("w") + (pick(2) ? " - 0.1*w[i]" : "");
    separate += pick(2) ? "u[i] = " + term("w") + " + " + term("y") + ";\n" : "u[i] = der(x[i]);\n";
  } else {
    flux = "w[i] = time;\nu[i] = 1;\n";
  }
  const std::string body = "der(x[i]) = " + sum("x[i]") + drive + ";\nder(y[i]) = " + sum("y[i]") +
                           ";\nz[i] = " + term("x") + ";\n" + flux + events +
                           (separate.empty() ? "" : "end for;\nfor i in 1:n loop\n" + separate);
  return "model Random\n  parameter Integer n = " + std::to_string(205 + pick(20)) +
         ";\n  parameter Real r[n] = {0.001*i for i in 1:n};\n  Real x[n](start = {sin(1.3*i) for i in 1:n}, each "
         "fixed = true);\n"
         "  Real y[n](start = {cos(0.9*i) for i in 1:n}, each fixed = true), z[n], w[n], u[n];\n  Boolean on[n](each "
         "start = " +
         (pick(2) ? "true" : "false") + ");\nequation\n  for i in 1:n loop\n" + body + "  end for;\nend Random;\n";
}

/// Steps became shorter and shorter, because guards were rounding errors, until time stood still.
TEST(KeptLoops, GuardsOfRoundingErrorsDoNotStopTime) {
  std::mt19937 random(880227);
  SimulateOptions options = until(1.0);
  options.rtol = options.atol = 1e-8;
  compare(random_loop(random), options, true, 1e-5);
}

TEST(KeptLoops, RandomLoops) {
  compare_random(random_loop, 25);
}

}  // namespace
}  // namespace saltus
