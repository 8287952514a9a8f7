// Commands, options and methods as users of other programs write them.
#include "cli/habits.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/check.hpp"
#include "cli/run.hpp"

namespace saltus::cli {
namespace {

using Words = std::vector<std::string>;

/// The arguments as run and check take them.
Words ours(const Words& arguments) {
  CLI::App app;
  run_command().add(app);
  check_command().add(app);
  return in_our_spelling(app, arguments);
}

TEST(Habits, AModelAloneIsRun) {
  EXPECT_EQ(ours({"Ball.mo", "--stop", "3"}), (Words{"run", "Ball.mo", "--stop", "3"}));
  EXPECT_EQ(ours({"dir/Ball.fmu"}), (Words{"run", "dir/Ball.fmu"}));
  EXPECT_EQ(ours({"Ball.txt"}), (Words{"Ball.txt"}));
}

TEST(Habits, CommandsOfOtherProgramsMeanOurs) {
  EXPECT_EQ(ours({"simulate", "Ball.mo"}), (Words{"run", "Ball.mo"}));
  EXPECT_EQ(ours({"help"}), (Words{"--help"}));
  EXPECT_EQ(ours({"help", "run"}), (Words{"run", "--help"}));
  EXPECT_EQ(ours({"help", "simulate"}), (Words{"run", "--help"}));
  EXPECT_EQ(ours({"-v"}), (Words{"--version"}));
  EXPECT_EQ(ours({"version"}), (Words{"--version"}));
}

TEST(Habits, OptionsOfOtherProgramsMeanOurs) {
  EXPECT_EQ(ours({"run", "B.mo", "--tolerance", "1e-8"}), (Words{"run", "B.mo", "--rtol", "1e-8"}));
  EXPECT_EQ(ours({"run", "B.mo", "--stopTime=3"}), (Words{"run", "B.mo", "--stop=3"}));
  EXPECT_EQ(ours({"run", "B.mo", "-stopTime=3"}), (Words{"run", "B.mo", "--stop=3"}));
  EXPECT_EQ(ours({"run", "B.mo", "--stop-time", "3"}), (Words{"run", "B.mo", "--stop", "3"}));
  EXPECT_EQ(ours({"run", "B.mo", "--start_time=1"}), (Words{"run", "B.mo", "--start=1"}));
  EXPECT_EQ(ours({"run", "B.mo", "--solver", "RK45"}), (Words{"run", "B.mo", "--method", "RK45"}));
  EXPECT_EQ(ours({"run", "B.mo", "--maxStep", "0.1"}), (Words{"run", "B.mo", "--max-step", "0.1"}));
  EXPECT_EQ(ours({"run", "B.mo", "-rtol", "1e-8"}), (Words{"run", "B.mo", "--rtol", "1e-8"}));
}

TEST(Habits, OurOwnOptionsValuesAndUnknownOptionsStayAsTheyAre) {
  const Words own{"run",     "B.mo",    "-q",  "--set", "x=-1", "--set=t0=3",
                  "-oB.csv", "--phase", "x,v", "-",     "-1",   "--nonsense"};
  EXPECT_EQ(ours(own), own);
  // check has no tolerance to take its place
  EXPECT_EQ(ours({"check", "B.mo", "--tolerance", "1e-8"}), (Words{"check", "B.mo", "--tolerance", "1e-8"}));
}

struct HabitsOfRuns : ::testing::Test {
  std::filesystem::path folder;
  std::string out, err;

  HabitsOfRuns() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_habits_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
    std::ofstream(path("Decay.mo"))
        << "model Decay Real x(start = 1, fixed = true); equation der(x) = -x; end Decay;\n";
  }
  ~HabitsOfRuns() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  ExitCode call(const Words& arguments, bool terminal = false) {
    std::ostringstream o, e;
    const ExitCode code = run_app({run_command()}, arguments, {.out = o, .err = e, .terminal = terminal});
    out = o.str();
    err = e.str();
    return code;
  }
};

TEST_F(HabitsOfRuns, AFileIsWrittenInTheFormatOfItsEnding) {
  ASSERT_EQ(call({"simulate", path("Decay.mo"), "-o", path("x.csv"), "-o", path("x.json"), "--stopTime", "2",
                  "--solver", "Tsit5", "--tolerance=1e-9"}),
            ExitCode::success)
      << err;
  EXPECT_NE(out.find("success at t = 2"), std::string::npos) << out;
  EXPECT_NE(out.find("tsit5"), std::string::npos) << out;
  EXPECT_TRUE(std::filesystem::exists(path("x.csv")));
  EXPECT_TRUE(std::filesystem::exists(path("x.json")));
  EXPECT_EQ(call({"run", path("Decay.mo"), "-o", path("x.txt")}), ExitCode::usage);
  EXPECT_NE(err.find("must end in .csv, .json"), std::string::npos) << err;
  EXPECT_EQ(call({"run", path("Decay.mo"), "-o", path("a.csv"), "--csv", path("b.csv")}), ExitCode::usage);
  EXPECT_NE(err.find("leave out one of them"), std::string::npos) << err;
}

TEST_F(HabitsOfRuns, APlotIsDrawnWhereItIsAskedForOrSeen) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder);
  ASSERT_EQ(call({"Decay.mo"}), ExitCode::success) << err;
  EXPECT_FALSE(std::filesystem::exists("Decay.svg"));
  EXPECT_EQ(out.find("plot"), std::string::npos) << out;
  ASSERT_EQ(call({"Decay.mo"}, true), ExitCode::success) << err;
  EXPECT_TRUE(std::filesystem::exists("Decay.svg"));
  EXPECT_NE(out.find("plot: Decay.svg"), std::string::npos) << out;
  std::filesystem::remove("Decay.svg");
  ASSERT_EQ(call({"run", "Decay.mo", "--draw"}), ExitCode::success) << err;
  EXPECT_TRUE(std::filesystem::exists("Decay.svg"));
  std::filesystem::remove("Decay.svg");
  ASSERT_EQ(call({"run", "Decay.mo", "--draw", "--no-plot"}, true), ExitCode::success) << err;
  EXPECT_FALSE(std::filesystem::exists("Decay.svg"));
  ASSERT_EQ(call({"run", "Decay.mo", "-o", "other.svg"}), ExitCode::success) << err;
  EXPECT_TRUE(std::filesystem::exists("other.svg"));
  std::filesystem::current_path(before);
}

TEST_F(HabitsOfRuns, NoTableOfEventsIsPrintedForZero) {
  std::ofstream(path("Saw.mo")) << "model Saw Real x(start = 0, fixed = true); equation der(x) = 1; when x > 0.3 then "
                                   "reinit(x, 0); end when; end Saw;\n";
  ASSERT_EQ(call({path("Saw.mo"), "--events", "0"}), ExitCode::success) << err;
  EXPECT_EQ(out.find("reset"), std::string::npos) << out;
  EXPECT_NE(out.find("3 events"), std::string::npos) << out;
}

TEST_F(HabitsOfRuns, AnUnknownMethodIsAnsweredWithTheNearestOrAll) {
  EXPECT_EQ(call({"run", path("Decay.mo"), "--method", "rodas4p"}), ExitCode::usage);
  EXPECT_NE(err.find("there is no method 'rodas4p'; did you mean 'rodas4'?"), std::string::npos) << err;
  EXPECT_EQ(call({"run", path("Decay.mo"), "--method", "euler"}), ExitCode::usage);
  EXPECT_NE(err.find("there are auto; dopri5"), std::string::npos) << err;
}

}  // namespace
}  // namespace saltus::cli
