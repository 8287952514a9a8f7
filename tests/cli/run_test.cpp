// `saltus run` as a user calls it.
#include "cli/run.hpp"

#include <gtest/gtest.h>
#include <saltus/model/compiled_model.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <streambuf>

#include "cli/run_subject.hpp"

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

TEST_F(RunTest, GoesOnWhereAnotherRunEnded) {
  const std::string model = file("Ball.mo", ball), state = (folder / "state.json").string();
  const auto final_height = [&](const std::string& path) {
    std::ifstream in(path);
    return nlohmann::json::parse(in)["final"]["values"]["h"].get<double>();
  };
  const std::string whole = file("whole.json"), rest = file("rest.json");
  ASSERT_EQ(run({model, "--no-plot", "--stop", "8", "--json", whole}), ExitCode::success) << err;
  ASSERT_EQ(run({model, "--no-plot", "--stop", "5", "--save-state", state}), ExitCode::success) << err;
  ASSERT_EQ(run({model, "--no-plot", "--start-from", state, "--stop", "8", "--json", rest}), ExitCode::success) << err;
  EXPECT_NEAR(final_height(rest), final_height(whole),
              1e-7);  // the tolerance is 1e-10, and the ball bounces a few times
  EXPECT_EQ(run({model, "--start-from", state, "--start", "1"}), ExitCode::usage);
  EXPECT_NE(err.find("leave out --start"), std::string::npos) << err;
  const std::string other = file("Other.mo", "model Other Real x(start = 1); equation der(x) = -x; end Other;");
  EXPECT_EQ(run({other, "--no-plot", "--start-from", state}), ExitCode::usage);
  EXPECT_NE(err.find("one of the model 'Ball', not of 'Other'"), std::string::npos) << err;
  const std::string damaged = file("damaged.json", R"({"format": "saltus state", "version": 7})");
  EXPECT_EQ(run({model, "--no-plot", "--start-from", damaged}), ExitCode::usage);
  EXPECT_NE(err.find("another version (7)"), std::string::npos) << err;
}

TEST_F(RunTest, TheFileMayFollowOptionsThatCanBeRepeated) {
  const std::string model = file("Ball.mo", ball), lib = file("");
  EXPECT_EQ(run({"--no-plot", "--library", lib, model}), ExitCode::success) << err;
  EXPECT_EQ(run({"--no-plot", "--set", "v=1", "--set", "h=2", model}), ExitCode::success) << err;
  EXPECT_EQ(run({"--no-plot", "--rtol", "1e-5", model}), ExitCode::success) << err;
  EXPECT_EQ(run({"--no-plot", "--vars", "h,v", model}), ExitCode::success) << err;
  EXPECT_EQ(run({model, "--vars", "h", "v", "--no-plot"}), ExitCode::usage);
  EXPECT_NE(err.find("--vars a,b"), std::string::npos) << err;
}

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
  ASSERT_EQ(run({file("Ball.mo", ball), "--no-plot", "--quiet", "--set", "e=0.5", "--stop", "3", "--csv", csv, "--vars",
                 "h", "--intervals", "10"}),
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

TEST_F(RunTest, ParametersOfAnEnumerationAreSetByTheirLiterals) {
  const std::string model = file("Gear.mo", R"(
model Gear
  type Direction = enumeration(back, neutral, forward);
  parameter Direction d = Direction.neutral;
  Real x(start = 0, fixed = true);
equation
  der(x) = if d == Direction.back then -1 elseif d == Direction.forward then 2 else 0;
end Gear;)");
  for (const auto& [value, end] :
       {std::pair("forward", "x = 2\n"), std::pair("Direction.back", "x = -1\n"), std::pair("2", "x = 0\n")}) {
    ASSERT_EQ(run({model, "--no-plot", "--set", "d=" + std::string(value)}), ExitCode::success) << err;
    EXPECT_NE(out.find(end), std::string::npos) << out;
  }
  EXPECT_EQ(run({model, "--set", "d=sideways"}), ExitCode::usage);
  EXPECT_NE(err.find("back, neutral, forward"), std::string::npos) << err;
  EXPECT_EQ(run({model, "--set", "e=sideways"}), ExitCode::usage);
  EXPECT_NE(err.find("'sideways' is not a finite number"), std::string::npos) << err;
}

TEST_F(RunTest, RanksCanBeDecidedWithoutScaling) {
  const std::string model = file("Rod.mo", R"(
model Rod
  Real x(start = 0.6), y(start = -0.8), u, v, F(start = 1);
equation
  der(x) = u; der(y) = v; der(u) = -F*x; der(v) = -F*y - 9.81;
  x^2 + y^2 = 1;
end Rod;)");
  for (const std::string scaling : {"automatic", "nominal", "off"}) {
    ASSERT_EQ(run({model, "--no-plot", "--stop", "2", "--scaling", scaling}), ExitCode::success) << err;
    EXPECT_NE(out.find("x = 0.59172"), std::string::npos) << out;
  }
  EXPECT_EQ(run({model, "--scaling", "maybe"}), ExitCode::usage);
  EXPECT_NE(err.find("automatic"), std::string::npos) << err;
}

TEST_F(RunTest, ARunThatNeverStartsHasItsFilesAndNoPlot) {
  const std::string model = file("NeverStarts.mo", "model NeverStarts Real x; equation x*x = -1; end NeverStarts;");
  const std::string plot = file("never.svg"), csv = file("never.csv"), html = file("never.html");
  EXPECT_EQ(run({model, "--plot", plot, "--csv", csv, "--html", html}), ExitCode::failure) << err;
  EXPECT_NE(out.find("no plot: the run has only its first instant"), std::string::npos) << out;
  EXPECT_NE(out.find("0 steps"), std::string::npos) << out;
  EXPECT_EQ(out.find("\n: "), std::string::npos) << "no method was chosen: " << out;
  EXPECT_FALSE(std::filesystem::exists(plot));
  EXPECT_TRUE(std::filesystem::exists(csv));
  EXPECT_TRUE(std::filesystem::exists(html));
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
  refuses({"--no-plot", "--vars", "h,w", "--csv", file("a.csv")},
          "--vars: there is no variable 'w' in the model; saltus check lists the variables");
  refuses({"--phase", "h"}, "--phase wants two names");
  refuses({"--phase", "h,speed"}, "--phase: there is no variable 'speed'");
  refuses({"--plot", "ball.bmp"}, "'ball.bmp' must end in .svg");
  refuses({"--no-plot", "--csv", file("missing") + "/a.csv"}, "cannot write to");
  refuses({"--no-plot", "--json", file("missing") + "/a.json"}, "cannot write to");
  refuses({"--no-plot", "--max-step", "0"}, "max_step must be positive, not 0");
  refuses({"--no-plot", "--max-step", "nan"}, "max_step must be positive, not nan");
  if (!std::filesystem::exists("/dev/full")) return;
  EXPECT_EQ(run({model, "--no-plot", "--csv", "/dev/full"}), ExitCode::usage);
  EXPECT_NE(err.find("No space left on device"), std::string::npos) << err;
}

TEST_F(RunTest, ANumericalFailureHasExitCodeOneAndStillWritesItsFiles) {
  const std::string json = file("f.json");
  EXPECT_EQ(run({file("B.mo", "model B\n  Real x(start = 1, fixed = true);\nequation\n  der(x) = x^2;\nend B;\n"),
                 "--stop", "2", "--no-plot", "--json", json}),
            ExitCode::failure);
  const auto j = nlohmann::json::parse(std::ifstream(json));
  EXPECT_NE(j["status"]["code"], "success");
  EXPECT_NEAR(j["status"]["t"].get<double>(), 1.0, 1e-3);
}

// The relay switches at 1e-5, 3e-5, … , 999e-5 in a band of twenty tolerances; fifty in a row are chattering, the
// fiftieth at 99e-5.
TEST_F(RunTest, ChatteringIsReportedOrEndsTheRun) {
  const std::string band = file("Band.mo", R"(model Band
  Real x(start = 0, fixed = true);
  discrete Real direction(start = 1);
equation
  der(x) = direction;
  when x > 1e-5 then
    direction = -1;
  elsewhen x < -1e-5 then
    direction = 1;
  end when;
  annotation(experiment(StopTime = 0.01));
end Band;
)");
  const std::string json = file("band.json");
  ASSERT_EQ(run({band, "--no-plot", "--json", json}), ExitCode::success) << err;
  auto j = nlohmann::json::parse(std::ifstream(json));
  ASSERT_EQ(j["chattering"].size(), 1u);
  EXPECT_EQ(j["chattering"][0]["events"], 500);
  EXPECT_EQ(j["chattering"][0]["guards"].size(), 2u);
  EXPECT_NEAR(j["chattering"][0]["from"].get<double>(), 1e-5, 1e-9);
  EXPECT_NEAR(j["chattering"][0]["to"].get<double>(), 0.00999, 1e-6);
  ASSERT_EQ(run({band, "--no-plot", "--json", json, "--stop-on", "chattering"}), ExitCode::failure) << err;
  j = nlohmann::json::parse(std::ifstream(json));
  EXPECT_EQ(j["status"]["code"], "chattering");
  EXPECT_NEAR(j["status"]["t"].get<double>(), 0.00099, 1e-6);
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

TEST_F(RunTest, LimitsOfEventsAreOptions) {
  const std::string model = file("Ball.mo", ball);
  EXPECT_EQ(run({model, "--no-plot", "--max-events", "3"}), ExitCode::failure);
  EXPECT_NE((out + err).find("3 events were not enough"), std::string::npos) << out << err;
  EXPECT_EQ(run({model, "--no-plot", "--shortest-interval", "1"}), ExitCode::failure);
  EXPECT_NE((out + err).find("closer than shortest_interval = 1"), std::string::npos) << out << err;
  EXPECT_EQ(run({model, "--no-plot", "--stop", "3", "--max-events", "3", "--shortest-interval", "0.1",
                 "--max-mode-changes", "5"}),
            ExitCode::success)
      << out << err;
  EXPECT_EQ(run({model, "--no-plot", "--max-events", "-1"}), ExitCode::usage);
  EXPECT_EQ(run({model, "--no-plot", "--shortest-interval", "-1"}), ExitCode::usage);
  EXPECT_EQ(run({model, "--no-plot", "--max-mode-changes", "0"}), ExitCode::usage);
}

// x' = if x > 0 then -1 else 2: locked it falls for ever; with a stabilised field it slides.
TEST_F(RunTest, ModesAreLockedAndSlidesStabilised) {
  const std::string model = file("Fall.mo",
                                 "model Fall Real x(start = 1, fixed = true); equation der(x) = if x > 0 then -1 "
                                 "else 2; end Fall;");
  const std::string json = (folder / "fall.json").string();
  const auto document = [&] { return nlohmann::json::parse(std::ifstream(json)); };
  ASSERT_EQ(run({model, "--no-plot", "--stop", "3", "--lock-mode", "--json", json}), ExitCode::success) << err;
  EXPECT_NEAR(document()["final"]["values"]["x"].get<double>(), -2.0, 1e-9);
  EXPECT_TRUE(document()["statistics"]["events_by_kind"].empty());
  ASSERT_EQ(run({model, "--no-plot", "--stop", "3", "--stabilise-sliding", "50", "--json", json}), ExitCode::success)
      << err;
  EXPECT_NEAR(document()["final"]["values"]["x"].get<double>(), 0.0, 1e-6);
  EXPECT_EQ(document()["statistics"]["events_by_kind"]["slide_enter"], 1);
  EXPECT_EQ(run({model, "--no-plot", "--lock-mode", "--sensitivities", "x.start"}), ExitCode::usage);
  EXPECT_EQ(run({model, "--no-plot", "--stabilise-sliding", "-1"}), ExitCode::usage);
}

TEST_F(RunTest, AModeHasAMethodOfItsOwn) {
  const std::string model = file("Relay.mo",
                                 "model Relay Real x(start = 1, fixed = true); equation der(x) = if x > 0.5 then -x "
                                 "else -2*x; end Relay;");
  ASSERT_EQ(run({model, "--no-plot", "--mode-method", "x <= 0.5=radau"}), ExitCode::success) << err;
  EXPECT_NE(out.find("radau (asked for"), std::string::npos) << out;
  EXPECT_NE(out.find("dopri5"), std::string::npos) << out;
  ASSERT_EQ(run({model, "--no-plot", "--mode-method", "x <= 0.5=rado"}), ExitCode::usage);
  EXPECT_NE(err.find("did you mean 'radau'?"), std::string::npos) << err;
  ASSERT_EQ(run({model, "--no-plot", "--mode-method", "radau"}), ExitCode::usage);
  EXPECT_NE(err.find("write MODE=METHOD"), std::string::npos) << err;
  ASSERT_EQ(run({model, "--no-plot", "--mode-method", "sticking=radau"}), ExitCode::success) << err;
  EXPECT_NE(out.find("the run entered no mode 'sticking'"), std::string::npos) << out;
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
  const std::string model =
      file("Root.mo", "model Root\n  Real x(start = 1);\nequation\n  der(x) = -sqrt(x) - 0.1;\nend Root;\n");
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
  EXPECT_EQ(text.str(), "time,n,many\n0,1,0\n0.25,1,0\n0.25,2,0\n0.5,2,0\n0.5,3,0\n0.75,3,0\n0.75,4,1\n1,4,1\n1,5,1\n");
  const auto j = nlohmann::json::parse(std::ifstream(json));
  EXPECT_EQ(j["final"]["values"].size(), 2u);
  ASSERT_EQ(j["events"].size(), 5u);
  EXPECT_EQ(j["events"][3]["t"], 0.75);
  EXPECT_TRUE(std::filesystem::exists(plot));
  EXPECT_EQ(out.find("nothing"), std::string::npos) << out;
}

TEST_F(RunTest, TypesAreInTheSummaryAndInTheFiles) {
  const std::string csv = file("v.csv"), json = file("v.json");
  const std::string model = file("Valve.mo", R"(model Valve
  type Position = enumeration(closed, open);
  output Position position(start = Position.closed);
  Boolean late = time > 0.5;
  Integer n(start = 3);
  Real x(unit = "m") = time;
equation
  when time > 0.25 then
    position = Position.open;
    n = 4;
  end when;
end Valve;
)");
  ASSERT_EQ(run({model, "--no-plot", "--csv", csv, "--csv-units", "--json", json}), ExitCode::success) << err;
  EXPECT_NE(out.find("  position = open\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  late = true\n"), std::string::npos) << out;
  EXPECT_NE(out.find("  n = 4\n"), std::string::npos) << out;
  EXPECT_NE(out.find("mode: position = open"), std::string::npos) << out;
  const auto j = nlohmann::json::parse(std::ifstream(json));
  std::map<std::string, nlohmann::json> variables;
  for (const auto& v : j["variables"]) variables[v["name"]] = v;
  EXPECT_EQ(variables["position"]["type"], "enumeration");
  EXPECT_EQ(variables["position"]["literals"], (nlohmann::json{"closed", "open"}));
  EXPECT_EQ(variables["position"]["causality"], "output");
  EXPECT_EQ(variables["late"]["type"], "Boolean");
  EXPECT_EQ(variables["n"]["type"], "Integer");
  EXPECT_EQ(variables["x"]["type"], "Real");
  EXPECT_EQ(variables["x"]["unit"], "m");
  std::ifstream lines(csv);
  std::stringstream text;
  text << lines.rdbuf();
  EXPECT_NE(text.str().find("\"enumeration(closed, open)\""), std::string::npos) << text.str();
}

TEST_F(RunTest, ValuesOfAnotherTypeAreRefused) {
  const std::string model = file("Types.mo", R"(model Types
  type Level = enumeration(low, high);
  parameter Integer k = 2;
  parameter Boolean on = true;
  parameter Level level = Level.low;
  Real x = if on then k*time else Integer(level);
end Types;
)");
  EXPECT_EQ(run({model, "--no-plot", "--set", "k=3", "--set", "on=false", "--set", "level=2"}), ExitCode::success)
      << err;
  for (const char* setting : {"k=2.7", "on=3", "level=3", "level=1.5"})
    EXPECT_EQ(run({model, "--no-plot", "--set", setting}), ExitCode::usage) << setting;
  run({model, "--no-plot", "--set", "k=2.7"});
  EXPECT_NE(err.find("'k' is of type Integer and cannot be set to 2.7"), std::string::npos) << err;
  EXPECT_EQ(err.find("has no parameter"), std::string::npos) << err;
}

TEST_F(RunTest, ADashIsStandardOutput) {
  const std::string model = file("Ball.mo", ball);
  ASSERT_EQ(run({model, "--no-plot", "--csv", "-", "--times", "0:1:2"}), ExitCode::success) << err;
  EXPECT_EQ(out.substr(0, 9), "time,h,v\n") << out;
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 4);
  EXPECT_NE(err.find("success at t = 20"), std::string::npos) << err;
  ASSERT_EQ(run({model, "--no-plot", "--quiet", "--json", "-"}), ExitCode::success) << err;
  EXPECT_EQ(nlohmann::json::parse(out)["status"]["code"], "success");
  EXPECT_EQ(run({model, "--no-plot", "--json", "-", "--csv", "-"}), ExitCode::usage);
}

TEST_F(RunTest, AnOutputThatIsTheInputIsRefused) {
  const std::string model = file("Ball.mo", ball), copy = file("copy");
  EXPECT_EQ(run({model, "--no-plot", "--csv", model}), ExitCode::usage);
  std::filesystem::create_symlink(model, copy);
  EXPECT_EQ(run({model, "--no-plot", "--json", copy}), ExitCode::usage);
  EXPECT_NE(err.find("would replace the model"), std::string::npos) << err;
  std::stringstream text;
  text << std::ifstream(model).rdbuf();
  EXPECT_EQ(text.str(), ball);
}

TEST_F(RunTest, AFullDiskIsNoticedOnStandardOutput) {
  struct Full : std::streambuf {
    int overflow(int) override { return traits_type::eof(); }
  } full;
  std::ostream no_room(&full);
  std::ostringstream e;
  const std::string model = file("Ball.mo", ball);
  const ExitCode code = run_app({run_command()}, {"run", model, "--no-plot", "--csv", "-"}, {.out = no_room, .err = e});
  EXPECT_EQ(code, ExitCode::failure);
  EXPECT_NE(e.str().find("standard output"), std::string::npos) << e.str();
}

std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

TEST_F(RunTest, FilesAreTheSameWhereStepsAreNotKept) {
  const std::string ball_file = file("Ball.mo", ball);
  const std::string relay = file("Relay.mo", R"(model Relay
  Real x(start = 1, fixed = true), y(start = 0, fixed = true), z = 2*x;
equation
  der(x) = -sign(x) + 0.5*cos(3*time);
  der(y) = if y > 0.3 then -1 else x;
  annotation(experiment(StopTime = 4));
end Relay;
)");
  const std::vector<std::vector<std::string>> rows = {
      {}, {"--samples", "37"}, {"--times", "0.5:0.25:3"}, {"--intervals", "7"}, {"--csv-units"}};
  for (const std::string& model : {ball_file, relay})
    for (const std::vector<std::string>& more : rows) {
      const std::string one = file("one.csv"), two = file("two.csv"), one_mat = file("one.mat"),
                        two_mat = file("two.mat");
      std::vector<std::string> arguments = {model, "--no-plot", "--csv", one, "--mat", one_mat};
      arguments.insert(arguments.end(), more.begin(), more.end());
      ASSERT_EQ(run(arguments), ExitCode::success) << err;
      arguments[3] = two;
      arguments[5] = two_mat;
      for (const char* keep : {"0", "1e-6", "10"}) {  // nothing, some steps, all
        std::vector<std::string> bounded = arguments;
        bounded.insert(bounded.end(), {"--keep", keep});
        ASSERT_EQ(run(bounded), ExitCode::success) << err;
        EXPECT_EQ(out.find("kept: events and what the files have") != std::string::npos, keep != std::string("10"))
            << out;
        EXPECT_EQ(text_of_file(one), text_of_file(two)) << model << " " << keep;
        EXPECT_EQ(text_of_file(one_mat), text_of_file(two_mat)) << model << " " << keep;
      }
    }
}

TEST_F(RunTest, LoopsOverLargeArraysStayLoops) {
  const std::string rod = file("Rod.mo", R"(model Rod
  parameter Integer n = 300;
  parameter Real k = 50;
  Real T[n](start = {sin(i) for i in 1:n}, each fixed = true);
equation
  for i in 1:n loop
    der(T[i]) = k*(T[max(i - 1, 1)] - 2*T[i] + T[min(i + 1, n)]);
  end for;
end Rod;
)");
  const auto is_written_out = [&](const std::vector<std::string>& settings) {
    ModelOptions options;
    options.file = rod;
    options.settings = settings;
    return dynamic_cast<CompiledModel*>(load_subject(options).system.get()) != nullptr;
  };
  EXPECT_FALSE(is_written_out({}));
  EXPECT_FALSE(is_written_out({"n=400", "k=3"}));
  EXPECT_TRUE(is_written_out({"n=20"}));
}

TEST_F(RunTest, ARunWhoseStepsAreNotKeptHasItsEventsAndNoPlot) {
  const std::string model = file("Ball.mo", ball), json = file("ball.json"), other = file("other.json");
  ASSERT_EQ(run({model, "--draw", "--keep", "0", "--json", json}), ExitCode::success) << err;
  EXPECT_NE(out.find("kept: events and both ends"), std::string::npos) << out;
  EXPECT_NE(out.find("no plot: the steps of the run were not kept"), std::string::npos) << out;
  ASSERT_EQ(run({model, "--no-plot", "--json", other}), ExitCode::success) << err;
  auto a = nlohmann::json::parse(text_of_file(json)), b = nlohmann::json::parse(text_of_file(other));
  for (auto* document : {&a, &b}) (*document)["statistics"].erase("seconds");
  EXPECT_EQ(a, b);
  EXPECT_EQ(run({model, "--keep", "0", "--html", file("r.html")}), ExitCode::usage);
  EXPECT_EQ(run({model, "--keep", "-1"}), ExitCode::usage);
}

TEST_F(RunTest, NamesWithCommasCanBeChosen) {
  const std::string model = file("Names.mo", R"(model Names
  Real A[2, 2] = {{time, 2}, {3*time, 4}};
  Real 'a,b' = 5*time;
end Names;
)");
  ASSERT_EQ(run({model, "--no-plot", "--quiet", "--csv", "-", "--times", "1:1:1", "--vars", "A[2,1],'a,b'"}),
            ExitCode::success)
      << err;
  EXPECT_EQ(out, "time,\"A[2,1]\",\"'a,b'\"\n1,3,5\n");
  const std::string plot = file("p.svg");
  ASSERT_EQ(run({model, "--plot", plot, "--phase", "A[1,1],'a,b'"}), ExitCode::success) << err;
  EXPECT_TRUE(std::filesystem::exists(plot));
  ASSERT_EQ(run({model, "--plot", plot}), ExitCode::success) << err;
}

TEST_F(RunTest, ALoopThatDoesNotEndIsReported) {
  const std::string model = file("Forever.mo", R"(model Forever
  function f
    input Real x;
    output Real y;
  algorithm
    y := x;
    while true loop
      y := y + 1;
    end while;
  end f;
  Real x = f(2);
end Forever;
)");
  ASSERT_EQ(run({model, "--no-plot"}), ExitCode::usage);
  EXPECT_NE(err.find("Forever.mo:7:11: error: this 'while' loop has made"), std::string::npos) << err;
}

TEST_F(RunTest, AnEquationWithoutAValueIsNamedWithItsPart) {
  const std::string model = file("Tank.mo", R"(model Tank
  Real h(start = 1, fixed = true);
equation
  der(h) = -sqrt(h) - 0.1;
  annotation(experiment(StopTime = 10));
end Tank;
)");
  for (const char* method : {"dopri5", "rodas5p", "radau", "bdf", "taylor"}) {
    ASSERT_EQ(run({model, "--no-plot", "--quiet", "--method", method}), ExitCode::failure) << method;
    EXPECT_NE(err.find("'sqrt(h)' in 'der(h) = -sqrt(h) - 0.1"), std::string::npos) << method << ": " << err;
    EXPECT_NE(err.find("Tank.mo:4:3"), std::string::npos) << method << ": " << err;
  }
}

TEST_F(RunTest, EventsHaveTheNamesOfTheModel) {
  const std::string model = file("Pwm.mo", R"(model Pwm
  parameter Real fs = 10;
  Real saw = time*fs - floor(time*fs);
  Real d = 0.3 + 0.1*sin(time);
  Real x(start = 0, fixed = true);
equation
  der(x) = if saw < d then 1 else -1;
end Pwm;
)");
  ASSERT_EQ(run({model, "--no-plot"}), ExitCode::success) << err;
  EXPECT_NE(out.find("saw < d"), std::string::npos) << out;
  EXPECT_EQ(out.find("if "), std::string::npos) << out;
}

TEST_F(RunTest, TakesTolerancesOfSingleVariablesAndLimitsOfSteps) {
  const std::string model =
      file("Small.mo",
           "model Small\n  Real x(start = 1e-6, fixed = true), y(start = 1, fixed = true);\nequation\n"
           "  der(x) = -x; der(y) = -y;\nend Small;\n");
  const auto x_at_end = [&](std::vector<std::string> more) {
    const std::string json = file("small.json");
    more.insert(more.begin(), {model, "--no-plot", "--stop", "3", "--json", json});
    EXPECT_EQ(run(more), ExitCode::success) << err;
    return nlohmann::json::parse(std::ifstream(json))["final"]["values"]["x"].get<double>();
  };
  EXPECT_NEAR(x_at_end({"--atol", "1", "--rtol", "1e-6", "--atol", "x=1e-14"}), 1e-6 * std::exp(-3.0), 1e-11);
  EXPECT_NEAR(x_at_end({"--method", "bdf", "--max-order", "2", "--initial-step", "1e-4"}), 1e-6 * std::exp(-3.0), 1e-5);
  EXPECT_EQ(run({model, "--no-plot", "--atol", "z=1"}), ExitCode::usage);
  EXPECT_NE(err.find("'z' is not integrated"), std::string::npos) << err;
  EXPECT_EQ(run({model, "--no-plot", "--atol", "many"}), ExitCode::usage);
  EXPECT_EQ(run({model, "--no-plot", "--max-order", "1"}), ExitCode::usage);
  // one step may be wrong by a half for both, or for y alone
  EXPECT_NEAR(x_at_end({"--atol", "1e-14", "--rtol", "0.5", "--rtol", "x=1e-9"}), 1e-6 * std::exp(-3.0), 1e-13);
  EXPECT_EQ(run({model, "--no-plot", "--rtol", "z=1"}), ExitCode::usage);
  EXPECT_NE(err.find("--rtol: 'z' is not integrated"), std::string::npos) << err;
  EXPECT_EQ(run({model, "--no-plot", "--rtol", "x=0"}), ExitCode::usage);
}

TEST_F(RunTest, UnbalancedModelsRunOnRequest) {
  const std::string model =
      file("Contradiction.mo",
           "model Contradiction\n  Real x, y(start = 0, fixed = true);\nequation\n  x = 1;\n  x = 3;\n"
           "  der(y) = x;\nend Contradiction;\n");
  EXPECT_EQ(run({model, "--no-plot"}), ExitCode::usage);
  EXPECT_NE(err.find("1 equation is too many"), std::string::npos) << err;
  ASSERT_EQ(run({model, "--no-plot", "--unbalanced"}), ExitCode::success) << err;
  EXPECT_NE(out.find("values of least squares were taken"), std::string::npos) << out;
  EXPECT_NE(out.find("x = 2\n"), std::string::npos) << out;
}

TEST_F(RunTest, CountersOfGuardsAndSlidingStepsAreShown) {
  const std::string json = file("slide.json");
  const std::string model =
      file("Slide.mo",
           "model Slide\n  Real x(start = 0.5, fixed = true), y(start = 0, fixed = true);\nequation\n"
           "  der(x) = if x > 0 then -1 else 1;\n  der(y) = if sin(3*y) > 0.5 then 1 else 2;\nend Slide;\n");
  ASSERT_EQ(run({model, "--no-plot", "--json", json}), ExitCode::success) << err;
  const auto counters = nlohmann::json::parse(std::ifstream(json))["statistics"];
  const auto sliding = counters["sliding_steps"].get<int>(), guards = counters["guard_evaluations"].get<int>();
  EXPECT_GT(sliding, 0);  // from t = 0.5 on
  EXPECT_LT(sliding, counters["steps"].get<int>() + counters["events"].get<int>());
  EXPECT_GT(guards, 0);  // of the guard that is not linear
  EXPECT_GT(counters["guard_enclosures"].get<int>(), 0);
  EXPECT_NE(out.find(std::to_string(sliding) + " sliding steps, " + std::to_string(guards) + " guard evaluations, "),
            std::string::npos)
      << out;
  ASSERT_EQ(run({file("Ball.mo", ball), "--no-plot", "--stop", "1"}), ExitCode::success) << err;
  EXPECT_EQ(out.find("sliding"), std::string::npos) << out;            // nothing slides
  EXPECT_EQ(out.find("guard evaluations"), std::string::npos) << out;  // its guard is linear, and there is no event
}

}  // namespace
}  // namespace saltus::cli
