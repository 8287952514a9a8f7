// Starts that Newton's method does not manage from the guess that is given. Each model has an exact answer and a
// neighbour in another formulation, and runs with every method that takes it at three tolerances: wrong answers of this
// kind do not depend on the tolerance, only methods and formulations show them.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "load_helpers.hpp"

namespace saltus {
namespace {

struct Case {
  const char* name;
  const char* text;                        ///< declarations, `equation` and equations
  std::map<std::string, double> at_start;  ///< exact
  std::map<std::string, double> at_end;    ///< exact, at t = 0.9
  const char* remark = "";                 ///< a part of the message of the successful run
};

constexpr double stop = 0.9;
const char* const other = "was found from others";

const std::vector<Case>& cases() {
  const double root = std::acos(stop), decay = std::exp(-3.0 * stop);
  const double speed = std::sqrt(4.0 - 2.0 * stop);
  const double steep = 5.0 + std::atanh(0.5) / 100.0;
  static const std::vector<Case> all{
      {"square", "Real x; equation x^2 = 9;", {{"x", 3.0}}, {{"x", 3.0}}, other},
      {"square, negative guess", "Real x(start=-1); equation x^2 = 9;", {{"x", -3.0}}, {{"x", -3.0}}},
      {"square beside a state",
       "Real x, y(start=1, fixed=true); equation x^2 = 9; der(y) = -x*y;",
       {{"x", 3.0}, {"y", 1.0}},
       {{"x", 3.0}, {"y", decay}},
       other},
      {"square in two equations",
       "Real x, z, y(start=1, fixed=true); equation x*z = 9; z = x + 0*y; der(y) = -x*y;",
       {{"x", 3.0}},
       {{"x", 3.0}, {"z", 3.0}, {"y", decay}},
       other},
      {"reciprocal", "Real x; equation 2*(1/x) = 1;", {{"x", 2.0}}, {{"x", 2.0}}, other},
      {"reciprocal of a state",
       "Real x, y(start=1, fixed=true); equation der(y) = -y; (y + 1)/x = 1;",
       {{"x", 2.0}},
       {{"x", 1.0 + std::exp(-stop)}},
       other},
      {"cosine", "Real x; equation cos(x) = time;", {{"x", std::acos(0.0)}}, {{"x", root}}, other},
      {"cosine in two equations",
       "Real x, y; equation cos(x) = y; y = time;",
       {{"x", std::acos(0.0)}},
       {{"x", root}},
       other},
      {"steep, far from the guess",
       "Real x, y(start=1, fixed=true); equation tanh(100*(x - 5)) = 0.5; der(y) = -y;",
       {{"x", steep}},
       {{"x", steep}, {"y", std::exp(-stop)}},
       other},
      {"circle and hyperbola",
       "Real x, y; equation x^2 + y^2 = 25; x*y = 12;",
       {{"x", 4.0}, {"y", 3.0}},
       {{"x", 4.0}},
       other},
      {"initial equation",
       "Real x; initial equation x^2 = 9; equation der(x) = -3*x;",
       {{"x", 3.0}},
       {{"x", 3.0 * decay}},
       other},
      {"initial equation of a mode that is not explicit",
       "Real x, z; initial equation x^2 = 9; equation der(x) = -3*z; z + z^3 = x + x^3;",
       {{"x", 3.0}},
       {{"x", 3.0 * decay}},
       other},
      // k = 3 by der(x) = -3 at x = 1
      {"parameter as unknown",
       "parameter Real k(fixed=false, start=0); Real x(start=1, fixed=true); initial equation der(x) = -3; "
       "equation der(x) = -k*x;",
       {{"k", 3.0}},
       {{"k", 3.0}, {"x", decay}}},
      {"parameter as unknown of a square",
       "parameter Real k(fixed=false, start=0); Real x(start=1, fixed=true); initial equation der(x) = -9; "
       "equation der(x) = -k^2*x;",
       {{"k", 3.0}},
       {{"k", 3.0}, {"x", std::exp(-9.0 * stop)}},
       other},
      {"linear, initial equation",
       "Real x, y; initial equation x = 1; equation der(x) + der(y) = -x; x - y = cos(time);",
       {{"x", 1.0}, {"y", 0.0}},
       {}},
      {"linear, fixed start value",
       "Real x(start=1, fixed=true), y; equation der(x) + der(y) = -x; x - y = cos(time);",
       {{"x", 1.0}, {"y", 0.0}},
       {}},
      {"linear of index 2, initial equation",
       "Real x, y, z; initial equation x = 1; equation der(x) = -z; der(y) = z; x - y = 2*time;",
       {{"x", 1.0}, {"y", 1.0}, {"z", -1.0}},
       {{"x", 1.0 + stop}, {"y", 1.0 - stop}, {"z", -1.0}}},
      {"a power of zero under a derivative",
       "parameter Real p=9.5; Real x(start=0, fixed=true), y, v; equation der(x) = 1; y = abs(x)^p; v = der(y);",
       {{"y", 0.0}, {"v", 0.0}},
       {{"v", 9.5 * std::pow(stop, 8.5)}}},
      {"a power of zero, and a surface that the second derivative leaves",
       "parameter Real p=9.5; Real x(start=0, fixed=true), y; equation der(x) = 2*time + y - time^(2*p); y = "
       "abs(x)^p;",
       {{"y", 0.0}},
       {{"x", stop * stop}}},
      // v v' = -1: the equations have no value where all derivatives are zero
      {"a derivative in a denominator",
       "Real s(start=0, fixed=true), v(start=2, fixed=true), w; equation v = der(s); w = der(s); der(v) = -1/w;",
       {{"w", 2.0}},
       {{"v", speed}, {"s", (8.0 - speed * speed * speed) / 3.0}}},
      {"a derivative in a denominator, of which nothing else is known",
       "Real x(start=0, fixed=true); equation 1/der(x) = 2;",
       {},
       {{"x", 0.5 * stop}}},
      {"a derivative in a denominator, behind a constraint",
       "Real s(start=0, fixed=true), v(start=2, fixed=true), r, w; equation v = der(s); r = s + sin(time); w = der(r); "
       "der(v) = -1/(w - cos(time));",
       {{"w", 3.0}, {"r", 0.0}},
       {{"v", speed}, {"r", (8.0 - speed * speed * speed) / 3.0 + std::sin(stop)}}},
  };
  return all;
}

std::string text_of(const Case& c) {
  return std::string("model M ") + c.text + " end M;";
}

/// True if the method refuses the equations as such, which is no wrong answer.
bool refused(Method method, const Status& status) {
  return method != Method::automatic && status.code == StatusCode::singular_mode &&
         (status.message.find("explicit") != std::string::npos ||
          status.message.find("use method") != std::string::npos);
}

class Starts : public testing::TestWithParam<int> {};

TEST_P(Starts, HaveTheirExactAnswersWithEveryMethod) {
  const Case& c = cases()[static_cast<std::size_t>(GetParam())];
  SCOPED_TRACE(c.name);
  const ModelicaModel loaded = load_text(text_of(c));
  int methods = 0;
  for (const MethodInfo& method : method_table())
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      SCOPED_TRACE(std::string(method.name) + " at " + std::to_string(std::log10(tolerance)));
      const Trajectory run =
          simulate(loaded.model, {.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method.method});
      if (refused(method.method, run.status())) continue;
      ++methods;
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      EXPECT_NE(run.status().message.find(c.remark), std::string::npos) << run.status().message;
      // values at the start have the errors of Newton's method only
      for (const auto& [name, value] : c.at_start)
        EXPECT_NEAR(run.at(0.0, name), value, 1e-9 * (1.0 + std::abs(value))) << name;
      for (const auto& [name, value] : c.at_end)
        EXPECT_NEAR(run.at(stop, name), value, 50.0 * tolerance * (1.0 + std::abs(value))) << name;
    }
  EXPECT_GE(methods, 9);  // the implicit methods and `auto`, at three tolerances
}

INSTANTIATE_TEST_SUITE_P(All, Starts, testing::Range(0, static_cast<int>(cases().size())),
                         [](const testing::TestParamInfo<int>& which) {
                           std::string name = cases()[static_cast<std::size_t>(which.param)].name;
                           for (char& c : name)
                             if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
                           return std::to_string(which.param) + "_" + name;
                         });

// From (0, 0) every point of the circle is as near: the energy and the constraints tell a right motion from a wrong
// one.
TEST(Starts, APendulumLeavesItsGuessAtTheCentre) {
  for (const char* rod : {"x^2 + y^2 = 1;", "sqrt(x^2 + y^2) = 1;"})
    for (const Method method : {Method::automatic, Method::taylor, Method::radau, Method::bdf, Method::rodas5p}) {
      SCOPED_TRACE(std::string(rod) + " " + std::string(to_string(method)));
      const ModelicaModel loaded = load_text(
          std::string(
              "model M Real x, y, u, v, L; equation der(x) = u; der(y) = v; der(u) = -L*x; der(v) = -L*y - 9.81; ") +
          rod + " end M;");
      const Trajectory run = simulate(loaded.model, {.stop = stop, .rtol = 1e-8, .atol = 1e-8, .method = method});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      const auto energy = [&](double t) {
        return 0.5 * (std::pow(run.at(t, "u"), 2) + std::pow(run.at(t, "v"), 2)) + 9.81 * run.at(t, "y");
      };
      for (const double t : {0.0, stop}) EXPECT_NEAR(std::hypot(run.at(t, "x"), run.at(t, "y")), 1.0, 1e-7) << t;
      EXPECT_NEAR(energy(stop), energy(0.0), 1e-5);  // 50 tolerances times the acceleration
    }
}

// h(w) = r with h(w) = w above zero and -a w below has one solution on each side. In seven spellings, five units and
// any order of the declarations the guess chooses the side, and the whole run stays there.
TEST(Starts, GuessesChooseTheSidesOfRelations) {
  constexpr double tolerance = 1e-8;
  std::mt19937 random(12);
  const auto number = [&](double low, double high) {
    return std::round(100.0 * std::uniform_real_distribution(low, high)(random)) / 100.0;
  };
  for (int k = 0; k < 140; ++k) {
    const double a = number(0.3, 3.0), c = number(0.5, 4.0), guess = (random() % 2 == 0 ? 1 : -1) * number(0.3, 9.0);
    const auto factor = [&] { return guess > 0.0 ? 1.0 : -1.0 / a; };
    const double unit = std::vector{1.0, 1e-7, 1e-3, 1e3, 1e7}[random() % 5];
    const auto text = [](double value) { return fmt::format("({:.17g})", value); };
    const std::string of = text(unit), slope = text(a), right = of + "*(" + text(c) + " + time)";
    const auto real = [&](const std::string& name, double start) {
      return "Real " + name + "(start = " + text(start) + ", nominal = " + of + "); ";
    };
    const std::string w = real("w", guess * unit), h = "(if w > 0 then w else -" + slope + "*w)";
    const std::string bend = "(1 - " + slope + ")/2*w + (1 + " + slope + ")/2*abs(w)";
    const std::vector<std::pair<std::string, std::string>> spellings{
        {w, h + " = " + right + ";"},
        {w + "Boolean b; ", "(if b then w else -" + slope + "*w) = " + right + "; b = w > 0;"},
        {real("w", 0.0) + real("v", -guess * unit), "(if v < 0 then -v else " + slope + "*v) = " + right + "; w = -v;"},
        {"Real r; " + w, "r = " + right + "; r = " + bend + ";"},
        {w + "Real r; ", "max(w, -" + slope + "*w) = r; r = " + right + ";"},
        {"Real i(start = 0, fixed = true); " + w, "der(i) = w/" + of + "; " + right + " = " + bend + ";"},
        {w + real("u", 0.0), "u + 0.1*u^3/" + of + "^2 = " + h + "; u + 0.1*u^3/" + of + "^2 = " + right + ";"}};
    const auto& [declarations, equations] = spellings[static_cast<std::size_t>(k) % spellings.size()];
    const std::string model = "model M " + declarations + "equation " + equations + " end M;";
    SCOPED_TRACE(model);
    const Trajectory run = simulate(load_text(model).model, {.stop = 1.0, .rtol = tolerance, .atol = tolerance * unit});
    ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
    for (const double t : {0.0, 0.3, 0.7, 1.0})
      EXPECT_NEAR(run.at(t, "w"), unit * factor() * (c + t), 100.0 * tolerance * unit * (c + t) / std::min(a, 1.0))
          << t;
  }
}

// Newton's method may jump over a nearer root. It is told where that may be so, in any unit, and nowhere else.
TEST(Starts, ARootFarFromItsGuessIsTold) {
  for (const double unit : {1.0, 1e-7, 1e7}) {
    const auto message = [&](double start, std::string equation) {
      const std::string of = fmt::format("({:.17g})", unit);
      for (std::size_t at = 0; (at = equation.find('y', at)) != std::string::npos; at += of.size())
        equation.replace(at, 1, "(w/" + of + ")");
      const Trajectory run = simulate(load_text("model M Real w(start = " + fmt::format("{:.17g}", start * unit) +
                                                ", nominal = " + of + "); equation " + equation + " end M;")
                                          .model,
                                      {.stop = 0.1});
      EXPECT_TRUE(run.status().ok()) << run.status().message;
      return run.status().message;
    };
    for (const auto& [start, equation] : std::vector<std::pair<double, std::string>>{
             {1.6, "sin(y) = 0.1 + 0.1*time;"}, {-0.9, "y^3 - 3*y = 2.5 + time;"}}) {
      EXPECT_NE(message(start, equation).find("was found from the start value"), std::string::npos) << equation;
    }
    for (const auto& [start, equation] :
         std::vector<std::pair<double, std::string>>{{0.1, "y^2 = 4 + time;"},
                                                     {0.1, "y + 0.1*y^3 = 5 + time;"},
                                                     {3.0, "sin(y) = 0.1 + 0.1*time;"},
                                                     {2.0, "y^3 - 3*y = 2.5 + time;"}}) {
      EXPECT_EQ(message(start, equation), "") << equation;
    }
  }
}

// Where the other side of the guess is left at once, the sum of x and y, which is a state, slides at zero.
TEST(Starts, GuessesOnASideThatIsLeftAtOnceDoNotKeepTheSlide) {
  const std::vector<std::pair<std::string, std::string>> spellings{
      {"y", "y = der(x) + der(y); der(x) + der(y) = if x + y > 0 then -1 else 1;"},
      {"y, s", "y = der(s); s = x + y; der(s) = if s > 0 then -1 else 1;"},
      {"y", "y = der(x) + der(y); y = -sign(x + y);"}};
  for (const char* const start : {"1", "-1", "3", "-8"})
    for (const auto& [others, equations] : spellings) {
      const std::string model =
          std::string("model M Real x(start = ") + start + "), " + others + "; equation " + equations + " end M;";
      SCOPED_TRACE(model);
      const Trajectory run = simulate(load_text(model).model, {.stop = 3.0, .rtol = 1e-8, .atol = 1e-8});
      ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
      const double sum = run.at(0.0, "x") + run.at(0.0, "y"), end = run.at(3.0, "x") + run.at(3.0, "y");
      EXPECT_NEAR(end, std::copysign(std::max(0.0, std::abs(sum) - 3.0), sum), 1e-6);  // towards zero, and there
    }
}

// Ebers and Moll; the current of the base is 1/101 of that of the emitter within 1e-9. Residuals at the point that was
// found are the proof.
TEST(Starts, ATransistorStageStartsFromZero) {
  const ModelicaModel loaded = load_text(
      "model M constant Real Is = 1e-14, Vt = 0.02585; Real vb, vc, ve, ib, ic, iF, iR; equation "
      "iF = Is*(exp((vb - ve)/Vt) - 1); iR = Is*(exp((vb - vc)/Vt) - 1); ib = iF/100 + iR; ic = iF - 2*iR; "
      "(12 - vb)/100e3 = vb/20e3 + ib; (12 - vc)/4.7e3 = ic; ve/1e3 = ib + ic; end M;");
  const Trajectory run = simulate(loaded.model, {.stop = 1.0, .rtol = 1e-8, .atol = 1e-8});
  ASSERT_EQ(run.status().code, StatusCode::success) << run.status().message;
  const auto value = [&](const char* name) { return run.at(0.0, name); };
  EXPECT_NEAR(value("iF"), 1e-14 * std::expm1((value("vb") - value("ve")) / 0.02585), 1e-9 * value("iF"));
  EXPECT_NEAR((12.0 - value("vb")) / 100e3, value("vb") / 20e3 + value("ib"), 1e-12);
  EXPECT_NEAR((12.0 - value("vc")) / 4.7e3, value("ic"), 1e-12);
  EXPECT_NEAR(value("ve") / 1e3, value("ib") + value("ic"), 1e-12);
  EXPECT_NEAR(value("ib") * 101.0, value("ve") / 1e3, 1e-9 * value("ve") / 1e3);
}

// What has no solution is refused, in bounded time.
TEST(Starts, EquationsWithoutASolutionAreRefused) {
  for (const char* text : {"Real x; equation x^2 = -9;", "Real x; equation exp(x) = -1;",
                           "Real x, y; equation x^2 + y^2 = 1; x + y = 3;", "Real x; equation 1/x = 0;"}) {
    const ModelicaModel loaded = load_text(std::string("model M ") + text + " end M;");
    const Trajectory run = simulate(loaded.model, {.stop = 1.0});
    EXPECT_FALSE(run.status().ok()) << text << ": " << run.status().message;
  }
}

// No combination of the switches has values. Each of the 256 needs an analysis, because of the initial equation.
TEST(Starts, ASearchOverSwitchesEndsSoonAndNamesThem) {
  const Trajectory run = simulate(load_text(R"(
model Impossible
  parameter Integer n = 40;
  Real x[n], s[8], z;
initial equation
  z = 1;
equation
  der(z) = -z;
  for i in 1:n loop
    x[i] + 0.1*sin(x[i]) = z + i;
  end for;
  for k in 1:8 loop
    s[k]^2 + (if s[k] >= 0 then 1 else 2) = 0;
  end for;
end Impossible;
)")
                                      .model,
                                  {.stop = 1.0});
  EXPECT_EQ(run.status().code, StatusCode::initialisation_failed);
  EXPECT_NE(run.status().message.find("the search over combinations of 8 switches ('s[1] >= 0', 's[2] >= 0', "),
            std::string::npos)
      << run.status().message;
}

// fixed = true says that the variable has its start value before the run. What gives it another one contradicts that.
TEST(FixedStarts, OfDiscreteVariablesAreNotOverruled) {
  const auto text = [](const std::string& declaration, const std::string& initial) {
    return "model M\n  " + declaration + ";\n  Real x(start = 0, fixed = true);\n" + initial +
           "\nequation\n  der(x) = if d then 1 else -1;\n  when time > 0.5 then\n    d = not pre(d);\n  end when;\nend "
           "M;\n";
  };
  const std::string fixed = "Boolean d(start = true, fixed = true)";
  for (const std::string initial :
       {"initial equation\n  pre(d) = false;", "initial equation\n  d = false;", "initial algorithm\n  d := false;"}) {
    const std::string errors = load_errors(text(fixed, initial));
    EXPECT_NE(errors.find("'d' is fixed at its start value true, but this gives it the value false"), std::string::npos)
        << initial << ": " << errors;
    EXPECT_TRUE(errors.find("a.mo:4:") != std::string::npos || errors.find("a.mo:5:") != std::string::npos) << errors;
    // not fixed, the start value is a proposal
    EXPECT_NEAR(run_text(text("Boolean d(start = true)", initial), 0.5).at(0.5, "x"), -0.5, 1e-9) << initial;
  }
  // the same value twice is no contradiction
  EXPECT_NEAR(run_text(text(fixed, "initial equation\n  pre(d) = true;"), 0.5).at(0.5, "x"), 0.5, 1e-9);
  const std::string elements = "discrete Real d[2](start = {1, 2}, each fixed = true);\n  Real x = d[1] + d[2];\n";
  const std::string clause = "equation\n  when time > 0.5 then\n    d = {3, 4};\n  end when;\nend M;\n";
  EXPECT_EQ(load_errors("model M\n  " + elements + "initial equation\n  d = {1, 2};\n" + clause), "");
  EXPECT_NE(load_errors("model M\n  " + elements + "initial equation\n  d = {1, 2.5};\n" + clause)
                .find("'d[2]' is fixed at its start value 2, but this gives it the value 2.5"),
            std::string::npos);
}

// Three latches: of two switches each exactly one is on, and to flip both leads back and forth. So combinations of six
// switches are searched, in a mode of 187 variables with hidden constraints. It is regular by its structure, and a
// combination is cheap: the search must not be given up after the first one. Whichever switches are on, three of them
// push a chain of 60 rigidly coupled masses.
TEST(Starts, ASearchOverCheapCombinationsIsNotGivenUp) {
  const Trajectory chain = run_text(
      "model Chain\n  parameter Integer n = 60;\n  Real x[n], v[n], f[n + 1], s[3](each start = 0.5), r[3](each start "
      "= 0.5);\n"
      "initial equation\n  x[1] = 0;\n  v[1] = 0;\nequation\n  for i in 1:3 loop\n"
      "    s[i] = 1 - 2*(if r[i] > 0 then 1 else 0) + 0.1*v[1];\n"
      "    r[i] = 1 - 2*(if s[i] > 0 then 1 else 0) + 0.1*v[1];\n  end for;\n"
      "  f[1] = sum((if s[i] > 0 then 1 else 0) + (if r[i] > 0 then 1 else 0) for i in 1:3);\n  f[n + 1] = 0;\n"
      "  for i in 1:n loop\n    der(x[i]) = v[i];\n    der(v[i]) = f[i] - f[i + 1];\n  end for;\n"
      "  for i in 2:n loop\n    x[i] = x[1] - i;\n  end for;\nend Chain;\n",
      2.0);
  ASSERT_TRUE(chain.status().ok()) << chain.status().message;
  EXPECT_NEAR(chain.at(2.0, "x[1]"), 3.0 / 60.0 * 2.0, 1e-9);
  EXPECT_NEAR(chain.at(2.0, "x[60]"), 3.0 / 60.0 * 2.0 - 60.0, 1e-9);
  for (const std::string k : {"1", "2", "3"})
    EXPECT_LT(chain.at(1.0, "s[" + k + "]") * chain.at(1.0, "r[" + k + "]"), 0.0);
}

}  // namespace
}  // namespace saltus
