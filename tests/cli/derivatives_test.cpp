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
    const ExitCode code = run_app({fit_command(), cycle_command(), continue_command(), lyapunov_command()}, arguments,
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
