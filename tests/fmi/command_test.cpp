// FMUs from the command line.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/check.hpp"
#include "cli/fmu.hpp"
#include "cli/run.hpp"
#include "cli/sweep.hpp"
#include "fmi/fmu_master.hpp"

namespace saltus::fmi_tests {
namespace {

struct Outcome {
  cli::ExitCode code;
  std::string out, err;
};

Outcome saltus(const std::vector<std::string>& arguments) {
  std::ostringstream out, err;
  const cli::ExitCode code =
      cli::run_app({cli::run_command(), cli::fmu_command()}, arguments, {.out = out, .err = err});
  return {code, out.str(), err.str()};
}

const std::string ball = std::string(SALTUS_GALLERY) + "/BouncingBall.mo";

TEST(FmuCommand, exports_checks_and_runs) {
  const ScratchFile fmu("Ball.fmu"), csv("ball.csv");
  const Outcome written = saltus({"fmu", "export", ball, "--fmi", "3", "-o", fmu.path()});
  ASSERT_EQ(written.code, cli::ExitCode::success) << written.err;
  EXPECT_NE(written.out.find("FMI 3.0, model exchange and co-simulation"), std::string::npos) << written.out;
  const Outcome checked = saltus({"fmu", "check", fmu.path()});
  ASSERT_EQ(checked.code, cli::ExitCode::success) << checked.err;
  EXPECT_NE(checked.out.find("saltus run can run it"), std::string::npos) << checked.out;
  const Outcome run = saltus({"run", fmu.path(), "--set", "e=0.5", "--stop", "3", "--no-plot", "--csv", csv.path()});
  ASSERT_EQ(run.code, cli::ExitCode::success) << run.err;
  EXPECT_NE(run.out.find("1.42857142857"), std::string::npos) << run.out;  // sqrt(2 * 10 / 9.8)
  EXPECT_GT(std::filesystem::file_size(csv.path()), 100u);
}

TEST(FmuCommand, leaves_out_model_exchange_and_says_why_where_constraints_are_hidden) {
  const ScratchFile fmu("Rope.fmu");
  const std::string rope = std::string(SALTUS_GALLERY) + "/RopePendulum.mo";
  const Outcome written = saltus({"fmu", "export", rope, "-o", fmu.path()});
  ASSERT_EQ(written.code, cli::ExitCode::success) << written.err;
  EXPECT_NE(written.out.find("FMI 2.0, co-simulation"), std::string::npos) << written.out;
  EXPECT_NE(written.err.find("model exchange, which saltus run needs, is left out: at t = "), std::string::npos)
      << written.err;
  EXPECT_NE(written.err.find("hidden ones"), std::string::npos) << written.err;
  EXPECT_EQ(saltus({"fmu", "export", rope, "--kind", "both", "-o", fmu.path()}).code, cli::ExitCode::usage);
}

TEST(FmuCommand, says_before_a_run_that_an_fmu_is_code) {
  const ScratchFile fmu("Ball.fmu");
  ASSERT_EQ(saltus({"fmu", "export", ball, "--kind", "me", "-o", fmu.path()}).code, cli::ExitCode::success);
  const auto says = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"run", fmu.path(), "--no-plot"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = saltus(arguments);
    EXPECT_EQ(outcome.code, cli::ExitCode::success) << outcome.err;
    return outcome.err.find("native code of others") != std::string::npos;
  };
  unsetenv("SALTUS_ALLOW_FOREIGN_CODE");
  EXPECT_TRUE(says({}));
  EXPECT_FALSE(says({"--allow-foreign-code"}));
  EXPECT_TRUE(says({"--quiet"}));
  setenv("SALTUS_ALLOW_FOREIGN_CODE", "1", 1);
  EXPECT_FALSE(says({}));
  setenv("SALTUS_ALLOW_FOREIGN_CODE", "0", 1);
  EXPECT_TRUE(says({}));
  unsetenv("SALTUS_ALLOW_FOREIGN_CODE");
}

TEST(FmuCommand, runs_no_code_in_studies_and_other_commands) {
  const ScratchFile fmu("Ball.fmu");
  ASSERT_EQ(saltus({"fmu", "export", ball, "-o", fmu.path()}).code, cli::ExitCode::success);
  setenv("SALTUS_ALLOW_FOREIGN_CODE", "1", 1);
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"sweep", fmu.path(), "--over", "e=0.5:0.9:3"}, {"check", fmu.path()}}) {
    std::ostringstream out, err;
    EXPECT_EQ(cli::run_app({cli::sweep_command(), cli::check_command()}, words, {.out = out, .err = err}),
              cli::ExitCode::usage);
    EXPECT_NE(err.str().find("is an FMU, native code of others: only 'saltus run' runs it"), std::string::npos)
        << err.str();
  }
  unsetenv("SALTUS_ALLOW_FOREIGN_CODE");
}

TEST(FmuCommand, refuses_options_that_fmus_do_not_have) {
  const ScratchFile fmu("Ball.fmu");
  ASSERT_EQ(saltus({"fmu", "export", ball, "--kind", "me", "-o", fmu.path()}).code, cli::ExitCode::success);
  const std::vector<std::vector<std::string>> all = {
      {"--model", "A"}, {"--library", "."}, {"--unbalanced"}, {"--sensitivities", "e"}, {"--save-state", "x.json"}};
  for (const auto& options : all) {
    std::vector<std::string> arguments{"run", fmu.path()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = saltus(arguments);
    EXPECT_EQ(outcome.code, cli::ExitCode::usage);
    EXPECT_NE(outcome.err.find(options.front()), std::string::npos) << outcome.err;
  }
}

TEST(FmuCommand, runs_fmus_for_co_simulation) {
  const ScratchFile fmu("Ball.fmu"), csv("ball.csv");
  ASSERT_EQ(saltus({"fmu", "export", ball, "--kind", "cs", "-o", fmu.path()}).code, cli::ExitCode::success);
  const Outcome outcome =
      saltus({"run", fmu.path(), "--set", "e=0.5", "--stop", "1", "--max-step", "0.125", "--no-plot"});
  ASSERT_EQ(outcome.code, cli::ExitCode::success) << outcome.err;
  EXPECT_NE(outcome.err.find("from one communication point to the next, every 0.125"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.out.find("h = 5.1"), std::string::npos) << outcome.out;  // 10 - 9.8/2
}

TEST(FmuCommand, refuses_files_that_are_no_fmus) {
  const Outcome outcome = saltus({"fmu", "check", ball});
  EXPECT_EQ(outcome.code, cli::ExitCode::usage);
  EXPECT_NE(outcome.err.find("not a zip archive"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace saltus::fmi_tests
