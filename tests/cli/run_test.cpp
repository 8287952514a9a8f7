// `saltus run` as a user calls it.
#include "cli/run.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace saltus::cli {
namespace {

struct RunTest : ::testing::Test {
  std::filesystem::path folder;
  std::string out, err;

  RunTest() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_run_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
  }
  ~RunTest() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name, const std::string& text = "") {
    const std::string path = (folder / name).string();
    if (!text.empty()) std::ofstream(path) << text;
    return path;
  }
  ExitCode run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    std::ostringstream o, e;
    const ExitCode code = run_app({run_command()}, arguments, {.out = o, .err = e});
    out = o.str();
    err = e.str();
    return code;
  }
};

constexpr const char* ball = R"(model Ball
  parameter Real e = 0.9;
  Real h(start = 10, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -9.8;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
  annotation(experiment(StopTime = 20, Tolerance = 1e-10));
end Ball;
)";

TEST_F(RunTest, AModelOfALibraryIsFoundByItsName) {
  std::filesystem::create_directories(folder / "lib" / "Toys");
  file("lib/Toys/package.mo", "within ;\npackage Toys\nend Toys;\n");
  file("lib/Toys/Ball.mo", std::string("within Toys;\n") + ball);
  const std::string lib = file("lib");
  ASSERT_EQ(run({"--library", lib, "--model", "Toys.Ball", "--no-plot"}), ExitCode::success) << err;
  EXPECT_NE(out.find("1.42857142857"), std::string::npos) << out;
  EXPECT_EQ(run({"--library", lib, "--model", "Toys.Bell", "--no-plot"}), ExitCode::usage);
  EXPECT_NE(err.find("there is no model 'Toys.Bell'"), std::string::npos) << err;
  EXPECT_EQ(run({"--library", lib}), ExitCode::usage);
  EXPECT_NE(err.find("name a Modelica file, or a class of a library"), std::string::npos) << err;
  EXPECT_EQ(run({"--library", lib + "/none", "--model", "Toys.Ball"}), ExitCode::usage);
  EXPECT_NE(err.find("does not exist"), std::string::npos) << err;
  ASSERT_EQ(setenv("MODELICAPATH", ("/nowhere:" + lib).c_str(), 1), 0);
  EXPECT_EQ(run({"--model", "Toys.Ball", "--no-plot", "--quiet"}), ExitCode::success) << err;
  unsetenv("MODELICAPATH");
}

TEST_F(RunTest, TheBallFromItsFileHasItsThirteenImpacts) {
  const std::string json = file("ball.json");
  ASSERT_EQ(run({file("Ball.mo", ball), "--no-plot", "--json", json}), ExitCode::success) << err;
  EXPECT_NE(out.find("1.42857142857"), std::string::npos) << out;
  EXPECT_NE(out.find("success at t = 20"), std::string::npos) << out;
  const auto j = nlohmann::json::parse(std::ifstream(json));
  ASSERT_EQ(j["events"].size(), 13u);
  double t = 10.0 / 7.0, interval = 2.0 * t;
  for (const auto& e : j["events"]) {
    EXPECT_NEAR(e["t"].get<double>(), t, 1e-9);
    EXPECT_EQ(e["kind"], "reset");
    t += interval *= 0.9;
  }
  EXPECT_EQ(j["parameters"]["e"], 0.9);
  EXPECT_NE(j["events"][0]["where"][0].get<std::string>().find("Ball.mo:7"), std::string::npos);
}

TEST_F(RunTest, ParametersAndTheTimeSpanCanBeSet) {
  const std::string csv = file("ball.csv");
  ASSERT_EQ(run({file("Ball.mo", ball), "--no-plot", "--quiet", "--set", "e=0.5", "--stop", "3", "--csv", csv, "--vars", "h",
                 "--intervals", "10"}),
            ExitCode::success)
      << err;
  EXPECT_EQ(out, "");
  std::ifstream in(csv);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "time,h");
  int rows = 0;
  while (std::getline(in, line)) ++rows;
  EXPECT_EQ(rows, 11 + 2 * 2);  // impacts at 10/7 and 20/7
}

TEST_F(RunTest, WrongInputHasExitCodeTwo) {
  EXPECT_EQ(run({file("missing.mo")}), ExitCode::usage);
  EXPECT_EQ(run({file("Ball.mo", ball), "--set", "e"}), ExitCode::usage);
  EXPECT_NE(err.find("NAME=VALUE"), std::string::npos) << err;
  EXPECT_EQ(run({file("Ball.mo"), "--set", "ee=1"}), ExitCode::usage);
  EXPECT_NE(err.find("ee"), std::string::npos) << err;
  EXPECT_EQ(run({file("Ball.mo"), "--method", "euler"}), ExitCode::usage);
  EXPECT_EQ(run({file("bad.mo", "model Bad\n  Real x;\nequation\n  der(x) = y;\nend Bad;\n")}), ExitCode::usage);
  EXPECT_NE(err.find("bad.mo:4:12"), std::string::npos) << err;
  EXPECT_EQ(run({file("Ball.mo"), "--no-plot", "--csv", "/nonexistent/folder/a.csv"}), ExitCode::usage);
}

TEST_F(RunTest, WhatCannotBeWrittenIsSaidBeforeTheRun) {
  const std::string model = file("Ball.mo", ball);
  const auto refuses = [&](std::vector<std::string> arguments, const std::string& text) {
    arguments.insert(arguments.begin(), model);
    EXPECT_EQ(run(arguments), ExitCode::usage) << text;
    EXPECT_NE(err.find(text), std::string::npos) << err;
    EXPECT_EQ(out, "");
  };
  refuses({"--no-plot", "--vars", "h,w", "--csv", file("a.csv")}, "--vars: there is no variable 'w' in the model; did you mean 'h'?");
  refuses({"--phase", "h"}, "--phase wants two names");
  refuses({"--phase", "h,speed"}, "--phase: there is no variable 'speed'");
  refuses({"--plot", "ball.bmp"}, "'ball.bmp' must end in .svg");
  refuses({"--no-plot", "--csv", file("missing") + "/a.csv"}, "cannot write to");
  refuses({"--no-plot", "--json", file("missing") + "/a.json"}, "cannot write to");
  refuses({"--no-plot", "--max-step", "0"}, "max_step must be positive, not 0");
  refuses({"--no-plot", "--max-step", "nan"}, "max_step must be positive, not nan");
  if (!std::filesystem::exists("/dev/full")) return;
  EXPECT_EQ(run({model, "--no-plot", "--csv", "/dev/full"}), ExitCode::usage);
  EXPECT_NE(err.find("is the disk full?"), std::string::npos) << err;
}

TEST_F(RunTest, ANumericalFailureHasExitCodeOneAndStillWritesItsFiles) {
  const std::string json = file("f.json");
  EXPECT_EQ(run({file("B.mo", "model B\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = x^2;\nend B;\n"), "--stop", "2",
                 "--no-plot", "--json", json}),
            ExitCode::failure);
  const auto j = nlohmann::json::parse(std::ifstream(json));
  EXPECT_NE(j["status"]["code"], "success");
  EXPECT_NEAR(j["status"]["t"].get<double>(), 1.0, 1e-3);
}

// The relay switches at 0.001, 0.003, … , 0.999; fifty in a row are chattering, the fiftieth at 0.099.
TEST_F(RunTest, ChatteringIsReportedOrEndsTheRun) {
  const std::string band = file("Band.mo", R"(model Band
  Real x(start = 0, fixed = true);
  discrete Real direction(start = 1);
equation
  der(x) = direction;
  when x > 0.001 then
    direction = -1;
  elsewhen x < -0.001 then
    direction = 1;
  end when;
  annotation(experiment(StopTime = 1));
end Band;
)");
  const std::string json = file("band.json");
  ASSERT_EQ(run({band, "--no-plot", "--json", json}), ExitCode::success) << err;
  auto j = nlohmann::json::parse(std::ifstream(json));
  ASSERT_EQ(j["chattering"].size(), 1u);
  EXPECT_EQ(j["chattering"][0]["events"], 500);
  EXPECT_EQ(j["chattering"][0]["guards"].size(), 2u);
  EXPECT_NEAR(j["chattering"][0]["from"].get<double>(), 0.001, 1e-9);
  EXPECT_NEAR(j["chattering"][0]["to"].get<double>(), 0.999, 1e-6);
  ASSERT_EQ(run({band, "--no-plot", "--json", json, "--stop-on", "chattering"}), ExitCode::failure) << err;
  j = nlohmann::json::parse(std::ifstream(json));
  EXPECT_EQ(j["status"]["code"], "chattering");
  EXPECT_NEAR(j["status"]["t"].get<double>(), 0.099, 1e-6);
  EXPECT_EQ(run({band, "--no-plot", "--stop-on", "rain"}), ExitCode::usage);
}

TEST_F(RunTest, APointFromWhichTheSolutionIsNotUniqueEndsTheRunOnRequest) {
  const std::string model = file("Repel.mo", R"(model Repel
  Real x(start = 0, fixed = true);
equation
  der(x) = if x > 0 then 1 else -1;
end Repel;
)");
  ASSERT_EQ(run({model, "--no-plot"}), ExitCode::success) << err;
  EXPECT_NE(out.find("not unique"), std::string::npos) << out;
  const std::string json = file("repel.json");
  ASSERT_EQ(run({model, "--no-plot", "--json", json, "--stop-on", "non-unique"}), ExitCode::failure) << err;
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(json))["status"]["code"], "non_unique");
}

TEST_F(RunTest, WritesAReportAlsoOfRunsThatFail) {
  const std::string html = file("ball.html");
  const auto text = [&] {
    std::stringstream page;
    page << std::ifstream(html).rdbuf();
    return page.str();
  };
  ASSERT_EQ(run({file("Ball.mo", ball), "--no-plot", "--html", html}), ExitCode::success) << err;
  EXPECT_NE(out.find("report: " + html), std::string::npos) << out;
  EXPECT_NE(text().find("\"event_count\":13"), std::string::npos);
  EXPECT_EQ(text().find(folder.string()), std::string::npos);  // no folder of this machine
  const std::string model = file("Root.mo", "model Root\n  Real x(start = 1);\nequation\n  der(x) = -sqrt(x) - 0.1;\nend Root;\n");
  ASSERT_EQ(run({model, "--no-plot", "--stop", "9", "--html", html}), ExitCode::failure) << err;
  EXPECT_NE(text().find("\"ok\":false"), std::string::npos);
  EXPECT_EQ(run({model, "--no-plot", "--html", "/nonexistent folder/a.html"}), ExitCode::usage);
}

TEST_F(RunTest, AModelWithoutContinuousVariablesHasFilesAndPlots) {
  const std::string csv = file("n.csv"), json = file("n.json"), plot = file("n.svg");
  const std::string model = file("Counter.mo", R"(model Counter
  Integer n(start = 0, fixed = true);
  Boolean many;
equation
  when sample(0, 0.25) then n = pre(n) + 1; end when;
  many = n > 3;
end Counter;
)");
  ASSERT_EQ(run({model, "--csv", csv, "--json", json, "--plot", plot, "--intervals", "2"}), ExitCode::success) << err;
  std::ifstream lines(csv);
  std::stringstream text;
  text << lines.rdbuf();
  EXPECT_EQ(text.str(),
            "time,n,many\n0,1,0\n0.25,1,0\n0.25,2,0\n0.5,2,0\n0.5,3,0\n0.75,3,0\n0.75,4,1\n1,4,1\n1,5,1\n");
  const auto j = nlohmann::json::parse(std::ifstream(json));
  EXPECT_EQ(j["final"]["values"].size(), 2u);
  ASSERT_EQ(j["events"].size(), 5u);
  EXPECT_EQ(j["events"][3]["t"], 0.75);
  EXPECT_TRUE(std::filesystem::exists(plot));
  EXPECT_EQ(out.find("nothing"), std::string::npos) << out;
}

}  // namespace
}  // namespace saltus::cli
