// `saltus run --input` as a user calls it.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/check.hpp"
#include "cli/run.hpp"

namespace saltus::cli {
namespace {

constexpr const char* tank = R"(model Tank
  input Real u(start = 2) "inflow";
  input Boolean open;
  input Integer n(start = 1);
  Real x(start = 0, fixed = true);
equation
  der(x) = u*n - (if open then 1 else 0);
  annotation(experiment(StopTime = 4, Tolerance = 1e-8));
end Tank;
)";

struct InputTest : ::testing::Test {
  std::filesystem::path folder;
  std::string out, err;

  InputTest() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_input_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
  }
  ~InputTest() override { std::filesystem::remove_all(folder); }

  std::string file(const std::string& name, const std::string& text) {
    const std::string path = (folder / name).string();
    std::ofstream(path) << text;
    return path;
  }
  ExitCode run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    arguments.insert(arguments.end(), {"--no-plot", "--model", "Tank", file("Tank.mo", tank)});
    std::ostringstream o, e;
    const ExitCode code = run_app({run_command(), check_command()}, arguments, {.out = o, .err = e});
    out = o.str();
    err = e.str();
    return code;
  }
  /// A number behind "  name = " in the summary.
  double value(const std::string& name) const {
    const auto place = out.find("\n  " + name + " = ");
    return place == std::string::npos ? NAN : std::stod(out.substr(place + name.size() + 6));
  }
};

TEST_F(InputTest, ReadsTheColumnOfAnInput) {
  const std::string path = file("a.csv", "time,other,u\n0,9,0\n2,9,4\n4,9,4\n");
  ASSERT_EQ(run({"--input", "u=" + path}), ExitCode::success) << err;
  EXPECT_NEAR(value("x"), 12.0, 1e-6);
  ASSERT_EQ(run({"--input", "u=" + path + ":held"}), ExitCode::success) << err;
  EXPECT_NEAR(value("x"), 8.0, 1e-6);
}

TEST_F(InputTest, ReadsTheOnlyColumnWhateverItsName) {
  ASSERT_EQ(run({"--input", "u=" + file("a.csv", "t;flow\n# a remark\n0;1\n\n4;1\n")}), ExitCode::success) << err;
  EXPECT_NEAR(value("x"), 4.0, 1e-6);
  ASSERT_EQ(run({"--input", "u=" + file("b.csv", "0,1\r\n4,3\r\n")}), ExitCode::success) << err;  // without names
  EXPECT_NEAR(value("x"), 8.0, 1e-6);
}

TEST_F(InputTest, ReadsAllInputsOfAFile) {
  const std::string path =
      file("a.csv", "time, u, open, n, more\n0, 1, false, 1, 5\n1, 1, true, 1, 5\n2, 1, false, 3, 5\n");
  ASSERT_EQ(run({"--input", path}), ExitCode::success) << err;
  EXPECT_NEAR(value("x"), 1.0 + 0.0 + 6.0, 1e-6);
  EXPECT_EQ(out.find("nothing is given"), std::string::npos);
}

TEST_F(InputTest, SaysWhichInputsHaveNoValues) {
  ASSERT_EQ(run({}), ExitCode::success) << err;
  EXPECT_NEAR(value("x"), 8.0, 1e-6);
  EXPECT_NE(out.find("nothing is given for 3 inputs, which keep their start values: u, open, n"), std::string::npos)
      << out;
}

TEST_F(InputTest, RefusesWithTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"time,u\n0,1\n1,abc\n", "line 3: 'abc' is not a finite number"},
      {"time,u\n0,1\n1,nan\n", "line 3: 'nan' is not a finite number"},
      {"time,u\n0,1\n2,1\n\n1,1\n", "line 5: the time goes back, from 2 to 1"},
      {"time,u\n0,1\n1\n", "line 3: there are 1 fields instead of 2"},
      {"time,u\n", "no rows"},
      {"", "no rows"},
      {"time,v,w\n0,1,1\n", "none is called 'u'; they are v, w"}};
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(run({"--input", "u=" + file("a.csv", text)}), ExitCode::usage) << text;
    EXPECT_NE(err.find(message), std::string::npos) << err;
    EXPECT_NE(err.find("a.csv"), std::string::npos) << err;
  }
  EXPECT_EQ(run({"--input", "u=" + (folder / "none.csv").string()}), ExitCode::usage);
  EXPECT_NE(err.find("cannot be opened"), std::string::npos) << err;
  const std::string good = file("good.csv", "time,u\n0,1\n");
  EXPECT_EQ(run({"--input", "w=" + good}), ExitCode::usage);
  EXPECT_NE(err.find("'w' is not an input of the model"), std::string::npos) << err;
  EXPECT_EQ(run({"--input", "u=" + good, "--input", good}), ExitCode::usage);
  EXPECT_NE(err.find("given twice"), std::string::npos) << err;
  EXPECT_EQ(run({"--input", file("other.csv", "time,y\n0,1\n")}), ExitCode::usage);
  EXPECT_NE(err.find("none of its columns is an input of the model, which has u, open, n"), std::string::npos) << err;
  EXPECT_EQ(run({"--input", "n=" + file("half.csv", "0,0.5\n")}), ExitCode::usage);
  EXPECT_NE(err.find("is an Integer, and is given 0.5"), std::string::npos) << err;
}

TEST_F(InputTest, GoesOnWithTheSameFile) {
  const std::string path = file("a.csv", "time,u\n0,0\n1,1\n3,1\n3,5\n"), state = (folder / "state.json").string();
  ASSERT_EQ(run({"--input", path}), ExitCode::success) << err;
  const double whole = value("x");
  EXPECT_NEAR(whole, 0.5 + 2.0 + 5.0, 1e-6);
  ASSERT_EQ(run({"--input", path, "--stop", "1.5", "--save-state", state}), ExitCode::success) << err;
  ASSERT_EQ(run({"--input", path, "--start-from", state}), ExitCode::success) << err;
  EXPECT_EQ(value("x"), whole);
}

TEST_F(InputTest, ReadsBackWhatAnotherRunHasWritten) {
  const std::string result = (folder / "result.csv").string();
  ASSERT_EQ(run({"--input", "u=" + file("a.csv", "0,0\n1,1\n1,3\n4,0\n"), "--csv", result}), ExitCode::success) << err;
  const double expected = value("x");
  ASSERT_EQ(run({"--input", "u=" + result}), ExitCode::success) << err;
  EXPECT_NEAR(value("x"), expected, 1e-6);
}

TEST_F(InputTest, CheckShowsInputs) {
  std::ostringstream o, e;
  ASSERT_EQ(run_app({check_command()}, {"check", file("Tank.mo", tank)}, {.out = o, .err = e}), ExitCode::success);
  EXPECT_NE(o.str().find("u  start = 2, input"), std::string::npos) << o.str();
  EXPECT_NE(o.str().find("open  start = false, input"), std::string::npos) << o.str();
}

}  // namespace
}  // namespace saltus::cli
