// saltus optimise: what is asked for as text, files, exit codes.
#include <gtest/gtest.h>
#include <saltus/io/input_file.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/optimise.hpp"
#include "cli/run.hpp"

namespace saltus::cli {
namespace {

struct OptimiseCommand : ::testing::Test {
  std::filesystem::path folder;
  std::string out, err, cart;

  OptimiseCommand() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_optimise_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
    cart = file("Cart.mo",
                "model Cart\n  input Real u;\n  Real x(start = 0, fixed = true), v(start = 0, fixed = true);\n"
                "equation\n  der(x) = v;\n  der(v) = u;\nend Cart;\n");
  }
  ~OptimiseCommand() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name, const std::string& text = "") {
    const std::string path = (folder / name).string();
    if (!text.empty()) std::ofstream(path) << text;
    return path;
  }
  ExitCode call(std::vector<std::string> arguments) {
    std::ostringstream o, e;
    const ExitCode code = run_app({run_command(), optimise_command()}, arguments, {.out = o, .err = e});
    out = o.str();
    err = e.str();
    return code;
  }
  /// With the model and `optimise` in front.
  ExitCode optimise(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"optimise", cart});
    return call(arguments);
  }
  void expect_refused(const std::vector<std::string>& arguments, const std::string& why) {
    EXPECT_EQ(optimise(arguments), ExitCode::usage) << out;
    EXPECT_NE(err.find(why), std::string::npos) << err;
  }
};

const std::vector<std::string> to_one = {"--control", "u=0:1:10", "--minimise", "integral(u^2)",
                                         "--end",     "x = 1",    "--end",      "v = 0"};

std::vector<std::string> with(std::vector<std::string> list, const std::vector<std::string>& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

// The least energy with n constant controls is 12/(1 - 1/n^2).
TEST_F(OptimiseCommand, FindsControlsThatTheModelTakes) {
  const std::string table = file("u.csv"), result = file("r.csv");
  ASSERT_EQ(optimise(with(to_one, {"--json", "-", "--controls", table})), ExitCode::success) << err;
  const auto document = nlohmann::json::parse(out);
  EXPECT_EQ(document["status"], "optimal");
  EXPECT_NEAR(document["objective"].get<double>(), 12.0 / 0.99, 1e-7);
  EXPECT_EQ(document["controls"][0]["input"], "u");
  EXPECT_EQ(document["controls"][0]["values"].size(), 10U);
  EXPECT_EQ(document["conditions"].size(), 2U);
  EXPECT_EQ(document["conditions"][0]["label"], "x = 1");
  ASSERT_EQ(call({"run", cart, "--stop", "1", "--input", "u=" + table, "--quiet", "--csv", result, "--samples", "2"}),
            ExitCode::success)
      << err;
  std::ifstream in(result);
  std::string line, last;
  while (std::getline(in, line)) last = line;
  std::vector<double> values;  // time, u, x, v
  for (std::istringstream fields(last); std::getline(fields, line, ',');) values.push_back(std::stod(line));
  ASSERT_EQ(values.size(), 4U) << last;
  EXPECT_NEAR(values[2], 1.0, 1e-8);
  EXPECT_NEAR(values[3], 0.0, 1e-8);
}

TEST_F(OptimiseCommand, ReadsAProgrammeFromAFile) {
  const std::string programme =
      file("p.json", R"json({"control": ["u=4:linear"], "minimise": "integral(u^2)", "end": ["1 = x", "v = 0"],
                         "path": "-3 <= v"})json");
  ASSERT_EQ(optimise({"--programme", programme, "--stop", "1", "--json", "-"}), ExitCode::success) << err;
  EXPECT_NEAR(nlohmann::json::parse(out)["objective"].get<double>(), 12.0, 1e-6);
  expect_refused({"--programme", file("q.json", "{\"controls\": 3}")}, "'controls'");
  expect_refused({"--programme", file("r.json", "[]")}, "is no JSON object");
  expect_refused({"--programme", file("none.json")}, "cannot read");
}

TEST_F(OptimiseCommand, ReadsConditions) {
  // least time with |u| <= 1 and 0 <= v <= 0.5: half a second each at the ends, 1.5 at the limit
  ASSERT_EQ(optimise({"--control", "u=3:free", "--bounds", "u=-1:1", "--guess", "u=1,0,-1", "--free-stop", "3:1:9",
                      "--minimise", "time", "--end", "x = 1", "--end", "v = 0", "--path", "2*v <= 1", "--json", "-"}),
            ExitCode::success)
      << err;
  EXPECT_NEAR(nlohmann::json::parse(out)["objective"].get<double>(), 2.5, 1e-5);
}

TEST_F(OptimiseCommand, ExitCodesTellTheStatus) {
  EXPECT_EQ(static_cast<int>(optimise(with(to_one, {"--bounds", "u=-1:1", "--shooting", "single"}))), 3);
  EXPECT_NE(out.find("infeasible"), std::string::npos) << out;
  EXPECT_EQ(static_cast<int>(optimise(with(to_one, {"--max-runs", "1"}))), 4);
  EXPECT_NE(out.find("not_converged"), std::string::npos) << out;
  const std::string page = file("r.html");
  EXPECT_EQ(optimise(with(to_one, {"--html", page})), ExitCode::success);
  EXPECT_NE(out.find("optimal after"), std::string::npos) << out;
  std::ifstream in(page);
  const std::string html{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_NE(html.find("optimal: objective"), std::string::npos);
  EXPECT_EQ(optimise(with(to_one, {"--quiet"})), ExitCode::success);
  EXPECT_EQ(out + err, "");
}

TEST_F(OptimiseCommand, SaysWhatIsWrong) {
  expect_refused({"--minimise", "x"}, "say what is free");
  expect_refused({"--control", "u=4"}, "say what is to be minimised");
  expect_refused({"--control", "u", "--minimise", "x"}, "--control wants");
  expect_refused({"--control", "u=0:4", "--minimise", "x"}, "--control wants");
  expect_refused({"--control", "u=a", "--minimise", "x"}, "whole number");
  expect_refused({"--control", "w=4", "--minimise", "x"}, "is no input");
  expect_refused({"--control", "u=4", "--minimise", "x", "--bounds", "w=1:2"}, "'w' is no control");
  expect_refused({"--control", "u=4", "--minimise", "x", "--bounds", "u=1"}, "--bounds wants");
  expect_refused({"--control", "u=4", "--minimise", "x", "--end", "x"}, "--end wants");
  expect_refused({"--control", "u=4", "--minimise", "x", "--end", "0 <= 1"}, "--end wants");
  expect_refused({"--control", "u=4", "--minimise", "x", "--path", "x = 1"}, "an equation for all times");
  expect_refused({"--control", "u=4", "--minimise", "integral(x"}, "--minimise wants");
  expect_refused({"--control", "u=4", "--minimise", "x", "--free-stop", "3"}, "--free-stop wants");
  expect_refused({"--over", "v.start=1:2", "--minimise", "x"}, "--over wants");
}

}  // namespace
}  // namespace saltus::cli
