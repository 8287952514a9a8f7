// The small commands: new, explain, completion; and what several commands share.
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <sstream>

#include "cli/check.hpp"
#include "cli/compare.hpp"
#include "cli/completion.hpp"
#include "cli/explain.hpp"
#include "cli/load_options.hpp"
#include "cli/new_model.hpp"
#include "cli/progress.hpp"
#include "cli/run.hpp"

namespace saltus::cli {
namespace {

struct CommandsTest : ::testing::Test {
  std::filesystem::path folder;
  std::string out, err;

  CommandsTest() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_commands_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
  }
  ~CommandsTest() override { std::filesystem::remove_all(folder); }

  ExitCode call(const std::vector<std::string>& arguments) {
    std::ostringstream o, e;
    const ExitCode code = run_app({run_command(), check_command(), compare_command(), new_model_command(),
                                   explain_command(), completion_command()},
                                  arguments, {.out = o, .err = e});
    out = o.str();
    err = e.str();
    return code;
  }
};

TEST_F(CommandsTest, ANewModelRunsAndIsNotOverwritten) {
  const std::string name = (folder / "MyModel").string();
  ASSERT_EQ(call({"new", name}), ExitCode::success) << err;
  EXPECT_NE(out.find("saltus run " + name + ".mo"), std::string::npos) << out;
  ASSERT_EQ(call({"run", name + ".mo", "--no-plot"}), ExitCode::success) << err;
  EXPECT_NE(out.find("reset"), std::string::npos) << out;
  EXPECT_NE(out.find("slide_enter"), std::string::npos) << out;
  EXPECT_EQ(call({"new", name + ".mo"}), ExitCode::usage);
  EXPECT_NE(err.find("--force"), std::string::npos) << err;
  EXPECT_EQ(call({"new", name, "--force"}), ExitCode::success);
  for (const char* wrong : {"3d", "my model", "a-b", "x;y"})
    EXPECT_EQ(call({"new", (folder / wrong).string()}), ExitCode::usage) << wrong;
}

// Samples at 0.25 and 0.75: x(1) = 2 - 2 t0 - h.
TEST_F(CommandsTest, ARunIsDifferentiatedByTheTimesOfSamples) {
  const std::string file = (folder / "Ramp.mo").string(), csv = (folder / "Ramp.csv").string();
  std::ofstream(file) << "model Ramp\n  parameter Real t0 = 0.25, h = 0.5;\n  Real x(start = 0, fixed = true);\n"
                         "  discrete Real q(start = 0, fixed = true);\nequation\n  der(x) = q;\n"
                         "  when sample(t0, h) then\n    q = pre(q) + 1;\n  end when;\nend Ramp;\n";
  ASSERT_EQ(call({"run", file, "--no-plot", "--stop", "1", "--sensitivities", "t0,h", "--vars", "x", "--csv", csv,
                  "--times", "0:1:1"}),
            ExitCode::success)
      << err;
  std::ifstream table(csv);
  std::string line, last;
  while (std::getline(table, line)) last = line;
  EXPECT_TRUE(last.ends_with(",-2,-1")) << last;  // x itself has a rounding error
}

TEST_F(CommandsTest, ARunIsDifferentiatedByParametersAndStartValues) {
  const std::string file = (folder / "Decay.mo").string(), csv = (folder / "Decay.csv").string();
  std::ofstream(file) << "model Decay\n  parameter Real k = 2;\n  Real x(start = 1, fixed = true);\nequation\n"
                         "  der(x) = -k*x;\n  when x < 0.5 then\n    reinit(x, 1);\n  end when;\nend Decay;\n";
  const std::vector<std::string> common = {"run", file, "--no-plot", "--stop", "0.5", "--rtol", "1e-10"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return call(more);
  };
  ASSERT_EQ(with({"--sensitivities", "k,x.start", "--csv", csv, "--intervals", "2"}), ExitCode::success) << err;
  // the event at ln(2)/k; behind it x = exp(ln 2 - k t)
  EXPECT_NE(out.find("d/d(k)        d/d(x.start)"), std::string::npos) << out;
  EXPECT_NE(out.find("-0.1732867951"), std::string::npos) << out;
  EXPECT_NE(out.find("derivatives of final values"), std::string::npos) << out;
  EXPECT_NE(out.find("-0.367879441"), std::string::npos) << out;
  std::ifstream table(csv);
  std::string head;
  std::getline(table, head);
  EXPECT_EQ(head, "time,x,d(x)/d(k),d(x)/d(x.start)");
  const std::string json = (folder / "d.json").string();
  ASSERT_EQ(with({"--sensitivities", "k,x.start", "--json", json}), ExitCode::success) << err;
  std::stringstream content;
  content << std::ifstream(json).rdbuf();
  for (const char* part : {"\"sensitivities\": {", "\"smoothness\": \"smooth\"", "\"dt\": ["})
    EXPECT_NE(content.str().find(part), std::string::npos) << part;
  const std::string empty = (folder / "empty.csv").string();
  EXPECT_EQ(with({"--sensitivities", "kk", "--csv", empty}), ExitCode::usage);
  EXPECT_FALSE(std::filesystem::exists(empty));
  EXPECT_NE(err.find("did you mean 'k'"), std::string::npos) << err;
  EXPECT_EQ(with({"--sensitivities", "k", "--log", "steps"}), ExitCode::usage);
}

// The solution stands still, and the run takes steps that are much too long for its derivative exp(1.5 t).
TEST_F(CommandsTest, ErrorsOfDerivativesAreTestedUnlessToldNotTo) {
  const std::string file = (folder / "Still.mo").string();
  std::ofstream(file) << "model Still\n  Real x(start = 0, fixed = true), y(start = 0, fixed = true);\nequation\n"
                         "  der(x) = 1.5*x + y;\n  der(y) = -x^2 - 0.5*y;\nend Still;\n";
  const auto derivative = [&](std::vector<std::string> more) {
    const std::vector<std::string> common = {"run",     file,       "--no-plot",       "--stop",  "4",      "--rtol",
                                             "1e-7",    "--method", "dopri5",          "--csv",   "-",      "-q",
                                             "--times", "0:4:4",    "--sensitivities", "x.start", "--vars", "x"};
    more.insert(more.begin(), common.begin(), common.end());
    EXPECT_EQ(call(more), ExitCode::success) << err;
    return std::stod(out.substr(out.rfind(',') + 1));
  };
  const double exact = std::exp(6.0);
  EXPECT_NEAR(derivative({}), exact, 1e-4 * exact);
  EXPECT_GT(std::abs(derivative({"--no-sensitivity-control"}) - exact), 1e-4 * exact);
  EXPECT_EQ(call({"run", file, "--no-sensitivity-control"}), ExitCode::usage);
  EXPECT_NE(err.find("--sensitivities"), std::string::npos) << err;
}

TEST_F(CommandsTest, ColumnsOfDerivativesAreEmptyWhereThereAreNone) {
  const std::string file = (folder / "Order.mo").string(), csv = (folder / "Order.csv").string();
  std::ofstream(file)
      << "model Order\n  parameter Real x0 = 0;\n  Real x(start = x0, fixed = true), y(start = 0, fixed = true),\n"
         "    v(start = 1, fixed = true), w(start = 0, fixed = true);\nequation\n  der(x) = 1;\n"
         "  der(y) = 1;\n  der(v) = 0;\n  der(w) = 0;\n  when x > 1 then\n    reinit(v, 2*pre(v));\n"
         "  end when;\n  when y > 1 then\n    reinit(w, pre(v));\n  end when;\nend Order;\n";
  ASSERT_EQ(call({"run", file, "--no-plot", "--stop", "2", "--sensitivities", "x0", "--csv", csv, "--times",
                  "0:1.5:1.5", "--vars", "x"}),
            ExitCode::success)
      << err;
  std::ifstream table(csv);
  std::string head, first, last;
  std::getline(table, head);
  std::getline(table, first);
  std::getline(table, last);
  EXPECT_EQ(head, "time,x,d(x)/d(x0)");
  EXPECT_EQ(first, "0,0,1");
  EXPECT_TRUE(last.starts_with("1.5,1.5") && last.ends_with(",")) << last;
}

TEST_F(CommandsTest, EveryStatusIsExplained) {
  ASSERT_EQ(call({"explain"}), ExitCode::success);
  EXPECT_NE(out.find("too_many_mode_changes"), std::string::npos);
  ASSERT_EQ(call({"explain", "step-too-small"}), ExitCode::success);
  EXPECT_NE(out.find("What to do:"), std::string::npos);
  EXPECT_EQ(call({"explain", "zenno"}), ExitCode::usage);
  EXPECT_NE(err.find("did you mean 'zeno'"), std::string::npos) << err;
}

TEST_F(CommandsTest, CompletionKnowsCommandsOptionsAndChoices) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    ASSERT_EQ(call({"completion", shell}), ExitCode::success) << shell;
    for (const char* word : {"compare", "explain", "html", "method", "rodas5p", "time-tol", "non-unique"})
      EXPECT_NE(out.find(word), std::string::npos) << shell << ' ' << word;
  }
  EXPECT_EQ(call({"completion", "tcsh"}), ExitCode::usage);
}

TEST_F(CommandsTest, BashCompletesWithTheScript) {
  ASSERT_EQ(call({"completion", "bash"}), ExitCode::success);
  const std::string script = (folder / "saltus.bash").string(), answer = (folder / "answer").string();
  std::ofstream(script) << out
                        << "COMP_WORDS=(saltus run --method ro); COMP_CWORD=3; _saltus; echo \"${COMPREPLY[@]}\"\n"
                        << "COMP_WORDS=(saltus run --max-); COMP_CWORD=2; _saltus; echo \"${COMPREPLY[@]}\"\n"
                        << "COMP_WORDS=(saltus co); COMP_CWORD=1; _saltus; echo \"${COMPREPLY[@]}\"\n";
  if (std::system(("bash --norc '" + script + "' >'" + answer + "' 2>&1").c_str()) != 0)
    GTEST_SKIP() << "there is no bash";
  std::stringstream text;
  text << std::ifstream(answer).rdbuf();
  EXPECT_EQ(text.str(),
            "rodas4 rodas5p\n--max-step --max-order --max-steps --max-events --max-mode-changes\ncompare completion\n");
}

TEST_F(CommandsTest, HelpIsOneScreen) {
  ASSERT_EQ(call({"--help"}), ExitCode::success);
  EXPECT_LE(std::count(out.begin(), out.end(), '\n'), 30);
  for (const char* word : {"saltus new", "--html", "saltus compare", "saltus explain"})
    EXPECT_NE(out.find(word), std::string::npos) << word;
}

TEST(Setting, ValuesAreNumbersOrExpressionsOfConstants) {
  EXPECT_EQ(parse_setting("a=2.5"), (std::pair<std::string, double>("a", 2.5)));
  EXPECT_EQ(parse_setting("a=true").second, 1.0);
  EXPECT_EQ(parse_setting("a=2 > 3 or 1 < 2").second, 1.0);
  EXPECT_EQ(parse_setting("a.b[2]=-3/4").second, -0.75);
  EXPECT_EQ(parse_setting("a=if 1 > 2 then 5 else sqrt(16)").second, 4.0);
  EXPECT_DOUBLE_EQ(parse_setting("a=2*Modelica.Constants.pi").second, 2.0 * std::numbers::pi);
  for (const char* wrong : {"a", "=1", "a=", "a=b", "a=1/0", "a=1; Real y", "a=1); parameter Real z = (2", "a=1 2",
                            "a=nan", "a=\"x\"", "a={1,2}"})
    EXPECT_THROW(parse_setting(wrong), UsageError) << wrong;
}

TEST(ProgressLine, SaysHowMuchTimeIsLeft) {
  // a quarter of the way took 10 seconds: three times as much is left
  const std::string line = progress_line({.t = 2.5, .start = 0.0, .stop = 10.0, .steps = 100, .events = 3}, 10.0);
  EXPECT_EQ(line, "[#######                       ]  25 %  t = 2.5  100 steps  3 events  30 s left");
  EXPECT_NE(progress_line({.t = 9.0, .start = 10.0, .stop = 0.0, .steps = 1, .events = 0}, 1000.0).find(" 10 %"),
            std::string::npos);
  EXPECT_NE(progress_line({.t = 9.0, .start = 10.0, .stop = 0.0, .steps = 1, .events = 0}, 1000.0).find("2.5 h left"),
            std::string::npos);
  EXPECT_NE(progress_line({.t = 3.0, .start = 3.0, .stop = 3.0, .steps = 0, .events = 9}, 1.0).find("100 %"),
            std::string::npos);
  EXPECT_EQ(progress_line({.t = 0.0, .start = 0.0, .stop = 10.0, .steps = 0, .events = 0}, 1.0).find("left"),
            std::string::npos);
}

TEST(ProgressLine, OfASearchCountsFromTheEndOfItsTransient) {
  const Progress run{.t = 2.5, .start = 0.0, .stop = 10.0, .steps = 100, .events = 3};
  // of 50 seconds 10 went into the transient: a quarter of the branch took 40, and three quarters are left
  EXPECT_EQ(search_line({.doing = "17 points, r = 1.2", .share = 0.25}, 10.0, run, 50.0),
            "[#######                       ]  25 %  17 points, r = 1.2  t = 2.5  2 min left");
  EXPECT_EQ(search_line({.doing = "iteration 4 of at most 30", .share = 0.1, .upper_bound = true}, 10.0, run, 11.0),
            "iteration 4 of at most 30  t = 2.5  at most 9 s left");
  // before there is a share only the run is known: a quarter of it took 4 seconds
  EXPECT_EQ(search_line({.doing = "guess", .upper_bound = true}, 0.0, run, 4.0),
            "guess  t = 2.5  12 s left of this run");
}

}  // namespace
}  // namespace saltus::cli
