#include "cli/app.hpp"

#include <gtest/gtest.h>
#include <saltus/base/build_info.hpp>
#include <saltus/base/error.hpp>

#include <CLI/CLI.hpp>
#include <memory>
#include <sstream>

namespace saltus::cli {
namespace {

struct Outcome {
  ExitCode code;
  std::string out;
  std::string err;
};

// A program with two commands: `greet NAME [--loud]` writes to out, `break WHAT` throws.
Outcome call(const std::vector<std::string>& arguments) {
  const Command greet{"greet", [](CLI::App& parent) -> Action {
                        struct Options {
                          std::string name;
                          bool loud = false;
                        };
                        auto options = std::make_shared<Options>();
                        CLI::App* app = parent.add_subcommand("greet", "Say hello");
                        app->add_option("NAME", options->name)->required();
                        app->add_flag("--loud", options->loud);
                        return [options](const Streams& streams) {
                          streams.out << "hello " << options->name << (options->loud ? "!" : "");
                          return options->name == "nobody" ? ExitCode::failure : ExitCode::success;
                        };
                      }};
  const Command broken{"break", [](CLI::App& parent) -> Action {
                         auto what = std::make_shared<std::string>();
                         parent.add_subcommand("break", "Throw")->add_option("WHAT", *what);
                         return [what](const Streams&) -> ExitCode {
                           if (*what == "model") throw ModelError({"a.mo", 3, 5}, "x has no equation");
                           throw std::runtime_error("disk full");
                         };
                       }};
  std::ostringstream out, err;
  const ExitCode code = run_app({greet, broken}, arguments, {.out = out, .err = err});
  return {code, out.str(), err.str()};
}

TEST(CliApp, VersionGoesToStdoutAndSucceeds) {
  const Outcome outcome = call({"--version"});
  EXPECT_EQ(outcome.code, ExitCode::success);
  EXPECT_EQ(outcome.out, "saltus " + build_info() + "\n");
  EXPECT_EQ(outcome.err, "");
}

TEST(CliApp, HelpListsEveryCommand) {
  const Outcome outcome = call({"--help"});
  EXPECT_EQ(outcome.code, ExitCode::success);
  EXPECT_NE(outcome.out.find("greet"), std::string::npos);
  EXPECT_NE(outcome.out.find("break"), std::string::npos);
}

TEST(CliApp, HelpOfACommandListsItsOptions) {
  const Outcome outcome = call({"greet", "--help"});
  EXPECT_EQ(outcome.code, ExitCode::success);
  EXPECT_NE(outcome.out.find("--loud"), std::string::npos);
}

TEST(CliApp, RunsTheCommandThatIsNamedWithItsOptions) {
  const Outcome outcome = call({"greet", "world", "--loud"});
  EXPECT_EQ(outcome.code, ExitCode::success);
  EXPECT_EQ(outcome.out, "hello world!");
}

TEST(CliApp, PassesTheExitCodeOfTheCommandThrough) {
  EXPECT_EQ(call({"greet", "nobody"}).code, ExitCode::failure);
}

TEST(CliApp, ArgumentsWithSpacesStayWhole) {
  EXPECT_EQ(call({"greet", "my model.mo"}).out, "hello my model.mo");
}

TEST(CliApp, NoCommandShowsTheHelpAsAnError) {
  const Outcome outcome = call({});
  EXPECT_EQ(outcome.code, ExitCode::usage);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("greet"), std::string::npos);
}

TEST(CliApp, AMistypedCommandIsAnsweredWithTheNearestOne) {
  const Outcome outcome = call({"gret", "world"});
  EXPECT_EQ(outcome.code, ExitCode::usage);
  EXPECT_NE(outcome.err.find("did you mean 'greet'?"), std::string::npos) << outcome.err;
}

TEST(CliApp, AnUnknownOptionIsAUsageErrorThatNamesIt) {
  const Outcome outcome = call({"greet", "world", "--quiet"});
  EXPECT_EQ(outcome.code, ExitCode::usage);
  EXPECT_NE(outcome.err.find("--quiet"), std::string::npos) << outcome.err;
}

TEST(CliApp, AMissingArgumentIsAUsageErrorThatNamesIt) {
  const Outcome outcome = call({"greet"});
  EXPECT_EQ(outcome.code, ExitCode::usage);
  EXPECT_NE(outcome.err.find("NAME"), std::string::npos) << outcome.err;
}

TEST(CliApp, AnErrorOfTheModelIsAUsageErrorWithItsPlace) {
  const Outcome outcome = call({"break", "model"});
  EXPECT_EQ(outcome.code, ExitCode::usage);
  EXPECT_NE(outcome.err.find("a.mo:3:5"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("x has no equation"), std::string::npos) << outcome.err;
}

TEST(CliApp, AnyOtherExceptionIsAFailureWithItsText) {
  const Outcome outcome = call({"break", "disk"});
  EXPECT_EQ(outcome.code, ExitCode::failure);
  EXPECT_NE(outcome.err.find("disk full"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace saltus::cli
