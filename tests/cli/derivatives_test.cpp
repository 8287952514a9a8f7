// The commands that work on derivatives of runs: fit, cycle, continue, lyapunov.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/continue.hpp"
#include "cli/cycle.hpp"
#include "cli/fit.hpp"
#include "cli/gradient.hpp"
#include "cli/lyapunov.hpp"

namespace saltus::cli {
namespace {

struct DerivativesTest : ::testing::Test {
  std::filesystem::path folder;
  std::string out, err, model, data;

  DerivativesTest() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_derivatives_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
    model = (folder / "Forced.mo").string();
    data = (folder / "data.csv").string();
    std::ofstream(model) << "model Forced\n  parameter Real k = 1, w = 2;\n"
                            "  Real x(start = 1, fixed = true);\nequation\n"
                            "  der(x) = -k*x + sin(w*time);\nend Forced;\n";
    // x' = -2 x + sin 2 t from 1: x = (sin 2t - cos 2t)/4 + 5/4 exp(-2t)
    std::ofstream(data) << "time,x,level\n";
    for (double t = 0.0; t <= 2.0; t += 0.25) {
      const double x = (std::sin(2.0 * t) - std::cos(2.0 * t)) / 4.0 + 1.25 * std::exp(-2.0 * t);
      std::ofstream(data, std::ios::app) << t << ',' << std::to_string(x) << ',' << std::to_string(3.0 * x) << '\n';
    }
  }
  ~DerivativesTest() override { std::filesystem::remove_all(folder); }

  ExitCode call(const std::vector<std::string>& arguments) {
    std::ostringstream o, e;
    const ExitCode code =
        run_app({gradient_command(), fit_command(), cycle_command(), continue_command(), lyapunov_command()}, arguments,
                {.out = o, .err = e});
    out = o.str();
    err = e.str();
    return code;
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& why) {
    EXPECT_EQ(call(arguments), ExitCode::usage) << out;
    EXPECT_NE(err.find(why), std::string::npos) << err;
  }
};

// x = exp(-k t) + …: of x' = -k x + sin(w t) with k = 1, w = 2 from x0 = 1, x(2) and its derivatives in closed form.
TEST_F(DerivativesTest, AGradientIsThatOfTheSolution) {
  ASSERT_EQ(call({"gradient", model, "--of", "final_value(x) - 2*integral(3*x)", "--by", "x.start,k", "--stop", "2",
                  "--json", "-"}),
            ExitCode::success)
      << err;
  const auto document = nlohmann::json::parse(out);
  const double k = 1.0, w = 2.0, t = 2.0;
  // x = a exp(-k t) + (k sin(w t) - w cos(w t))/n with n = k^2 + w^2 and a = x0 + w/n
  const auto value = [&](double rate, double x0) {
    const double n = rate * rate + w * w, a = x0 + w / n;
    const double x = a * std::exp(-rate * t) + (rate * std::sin(w * t) - w * std::cos(w * t)) / n;
    const double area =
        a * (1.0 - std::exp(-rate * t)) / rate + (rate * (1.0 - std::cos(w * t)) / w - std::sin(w * t)) / n;
    return x - 6.0 * area;
  };
  const double h = 1e-5, by_k = (value(k + h, 1.0) - value(k - h, 1.0)) / (2.0 * h);
  EXPECT_NEAR(document["value"].get<double>(), value(k, 1.0), 1e-7);
  EXPECT_NEAR(document["derivatives"]["x.start"].get<double>(), std::exp(-t) - 6.0 * (1.0 - std::exp(-t)), 1e-7);
  EXPECT_NEAR(document["derivatives"]["k"].get<double>(), by_k, 1e-7);
  EXPECT_NE(err.find("derivative"), std::string::npos) << err;
}

// A clock passes 0.5 and 1.5: times of events and sums over them.
TEST_F(DerivativesTest, AGradientOfEvents) {
  std::ofstream(model) << "model Clock\n  parameter Real a = 0.5, q = 3;\n  Real x(start = 0, fixed = true), y;\n"
                          "equation\n  der(x) = 1 + 0.1*a;\n  y = q*x;\n"
                          "  when x > a then\n    reinit(x, -1);\n  end when;\nend Clock;\n";
  const std::string cost = "event_time('when x > a', 2) + 1e-1 * sum_over_events('when x > a', y^2)";
  ASSERT_EQ(call({"gradient", model, "--of", cost, "--by", "a,q", "--stop", "2.5", "--json", "-"}), ExitCode::success)
      << err;
  // the second event at (a + (1 + a))/(1 + 0.1 a), y^2 = (q a)^2 at both
  const auto document = nlohmann::json::parse(out);
  const double s = 1.05, a = 0.5, q = 3.0;
  EXPECT_NEAR(document["value"].get<double>(), 2.0 / s + 0.2 * q * q * a * a, 1e-8);
  EXPECT_NEAR(document["derivatives"]["a"].get<double>(), 2.0 / s - 0.2 / (s * s) + 0.4 * q * q * a, 1e-7);
  EXPECT_NEAR(document["derivatives"]["q"].get<double>(), 0.4 * q * a * a, 1e-7);
}

TEST_F(DerivativesTest, WrongGradientsAreRefused) {
  expect_refused({"gradient", model, "--by", "k"}, "say what to differentiate");
  expect_refused({"gradient", model, "--of", "final_value(x)"}, "say by which parameters");
  expect_refused({"gradient", model, "--of", "x", "--by", "k"}, "'x' is none of these");
  expect_refused({"gradient", model, "--of", "final(x)", "--by", "k"}, "there is no term 'final'");
  expect_refused({"gradient", model, "--of", "event_time('x > 1')", "--by", "k"}, "'event_time' has 2 arguments");
  expect_refused({"gradient", model, "--of", "event_time('x > 1', 0)", "--by", "k"}, "number of an event");
  expect_refused({"gradient", model, "--of", "2 final_value(x)", "--by", "k"}, "a number has no '*'");
  expect_refused({"gradient", model, "--of", "final_value(z)", "--by", "k"}, "z");
  expect_refused({"gradient", model, "--of", "final_value(x)", "--by", "kk"}, "kk");
}

TEST_F(DerivativesTest, AFitPrintsAndWritesWhatItFinds) {
  ASSERT_EQ(call({"fit", model, "--data", data, "--columns", "x", "--over", "k=1.3:0.1:5", "--json", "-"}),
            ExitCode::success)
      << err;
  const auto document = nlohmann::json::parse(out);
  EXPECT_EQ(document["status"], "converged");
  EXPECT_NEAR(document["parameters"][0]["value"].get<double>(), 2.0, 1e-4);  // the data have six digits
  EXPECT_NE(err.find("converged after"), std::string::npos) << err;          // words go elsewhere then
}

TEST_F(DerivativesTest, AColumnMayBeAnExpression) {
  ASSERT_EQ(call({"fit", model, "--data", data, "--measure", "level=3*x", "--over", "k", "--sigma", "x=0.1", "--sigma",
                  "level=0.3"}),
            ExitCode::success)
      << err;
  EXPECT_NE(out.find("18 values, 17 degrees of freedom"), std::string::npos) << out;
}

TEST_F(DerivativesTest, WindowsGiveTheSameFit) {
  ASSERT_EQ(call({"fit", model, "--data", data, "--columns", "x", "--over", "k=5", "--windows", "3", "--json", "-"}),
            ExitCode::success)
      << err;
  EXPECT_NEAR(nlohmann::json::parse(out)["parameters"][0]["value"].get<double>(), 2.0, 1e-4);
}

TEST_F(DerivativesTest, WrongFitsAreRefused) {
  expect_refused({"fit", model, "--data", data}, "say which parameters to find");
  expect_refused({"fit", model, "--over", "k"}, "say where the measured data are");
  expect_refused({"fit", model, "--data", data, "--over", "k"}, "the column 'level'");
  expect_refused({"fit", model, "--data", data, "--columns", "y", "--over", "k"}, "there is no column 'y'");
  expect_refused({"fit", model, "--data", data, "--columns", "x", "--over", "k=1:2"}, "NAME=GUESS:LOWER:UPPER");
  expect_refused({"fit", model, "--data", data, "--columns", "x", "--over", "k=9:0:1"}, "lies outside of its bounds");
  expect_refused({"fit", model, "--data", data, "--columns", "x", "--over", "q"}, "'q'");
  expect_refused({"fit", model, "--data", data, "--columns", "x", "--over", "k=two"},
                 "--over k: 'two' is not a finite");
  expect_refused({"fit", model, "--data", data, "--columns", "x", "--over", "k", "--sigma", "z=1"}, "'z'");
  expect_refused({"fit", model, "--data", data, "--measure", "level", "--over", "k"}, "--measure wants");
  EXPECT_EQ(call({"fit", model, "--data", data, "--columns", "x", "--over", "k=4", "--max-runs", "1"}),
            ExitCode::failure);
  EXPECT_NE(out.find("not_converged"), std::string::npos) << out;
}

TEST_F(DerivativesTest, ACycleHasItsMultiplier) {
  ASSERT_EQ(call({"cycle", model, "--period", "2*pi/w", "--json", "-"}), ExitCode::success) << err;
  const auto document = nlohmann::json::parse(out);
  EXPECT_NEAR(document["period"].get<double>(), std::acos(-1.0), 1e-9);
  EXPECT_NEAR(document["multipliers"][0][0].get<double>(), std::exp(-std::acos(-1.0)), 1e-8);
  EXPECT_NEAR(document["start"]["x"].get<double>(), -2.0 / 5.0, 1e-8);  // of (sin 2t - 2 cos 2t)/5
  EXPECT_TRUE(document["stable"]);
  expect_refused({"cycle", model}, "say what the period of the cycle is");
  expect_refused({"cycle", model, "--period", "-1"}, "--period wants a positive number");
  expect_refused({"cycle", model, "--section", "x"}, "--section wants");
}

TEST_F(DerivativesTest, ABranchIsATable) {
  const std::string csv = (folder / "branch.csv").string();
  ASSERT_EQ(call({"continue", model, "--over", "k=1:2", "--period", "2*pi/w", "--csv", csv}), ExitCode::success) << err;
  EXPECT_NE(out.find("finished"), std::string::npos) << out;
  std::ifstream in(csv);
  std::string head, row;
  std::getline(in, head);
  EXPECT_EQ(head, "k,period,stable,multiplier,x,min(x),max(x)");
  int rows = 0;
  while (std::getline(in, row)) {
    ++rows;
    double k = 0.0, period = 0.0, stable = 0.0, multiplier = 0.0;
    ASSERT_EQ(std::sscanf(row.c_str(), "%lf,%lf,%lf,%lf", &k, &period, &stable, &multiplier), 4) << row;
    EXPECT_NEAR(multiplier, std::exp(-k * std::acos(-1.0)), 1e-7);
    EXPECT_EQ(stable, 1.0);
  }
  EXPECT_GT(rows, 5);
  expect_refused({"continue", model, "--period", "1"}, "say which parameter");
  expect_refused({"continue", model, "--over", "k=1", "--period", "1"}, "--over wants NAME=FROM:TO");
}

TEST_F(DerivativesTest, ExponentsAreATable) {
  ASSERT_EQ(call({"lyapunov", model, "--intervals", "20", "--interval", "0.7"}), ExitCode::success) << err;
  EXPECT_NE(out.find("finished: average over 14"), std::string::npos) << out;
  EXPECT_NE(out.find("-1"), std::string::npos) << out;
  expect_refused({"lyapunov", model, "--state", "y"}, "no variable 'y'");
}

}  // namespace
}  // namespace saltus::cli
