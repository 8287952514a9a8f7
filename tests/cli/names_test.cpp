// One way to name things: every command and option takes every spelling.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands.hpp"

namespace saltus::cli {
namespace {

constexpr const char* model = R"(model Names
  record Part Real c(start = 2); end Part;
  parameter Real k[3] = {1, 2, 3}, w = 0.1;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
  Real u[2](each start = 1, each fixed = true);
  Real m[2,2];
  Part b[2](c(each fixed = true));
equation
  der(h) = v;
  der(v) = -h - 0.4*v + w*sin(time);
  for i in 1:2 loop
    der(u[i]) = -k[i]*u[i];
    der(b[i].c) = -k[3]*b[i].c;
    for j in 1:2 loop m[i,j] = i*h + j; end for;
  end for;
  annotation(experiment(StopTime = 2, Tolerance = 1e-8));
end Names;
)";

struct NamesOfCommands : ::testing::Test {
  std::filesystem::path folder;
  std::string file, out, err;

  NamesOfCommands() {
    folder = std::filesystem::temp_directory_path() /
             ("saltus_names_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder);
    file = (folder / "Names.mo").string();
    std::ofstream(file) << model;
  }
  ~NamesOfCommands() override { std::filesystem::remove_all(folder); }

  ExitCode call(const std::vector<std::string>& arguments) {
    std::ostringstream o, e;
    const std::vector<Command> commands = {run_command(),   check_command(),    graph_command(),    flatten_command(),
                                           sweep_command(), fit_command(),      poincare_command(), continue_command(),
                                           cycle_command(), lyapunov_command(), export_command()};
    const ExitCode code = run_app(commands, arguments, {.out = o, .err = e});
    out = o.str();
    err = e.str();
    return code;
  }
  /// What `saltus run` prints as CSV.
  std::string table(std::vector<std::string> options) {
    options.insert(options.begin(), {"run", file, "--quiet", "--samples", "3", "--csv", "-"});
    EXPECT_EQ(call(options), ExitCode::success) << err;
    return out;
  }
};

TEST_F(NamesOfCommands, AStartValueHasThreeSpellingsInEveryCommand) {
  const std::vector<std::string> spellings = {"h", "h.start", "h(start)", " h ( start )"};
  const std::string expected = table({"--set", "h=3"}), study = (folder / "sweep.zarr").string();
  EXPECT_NE(expected, table({}));
  for (const std::string& h : spellings) {
    EXPECT_EQ(table({"--set", h + "=3"}), expected) << h;
    for (const char* command : {"check", "graph", "flatten"})
      EXPECT_EQ(call({command, file, "--set", h + "=3"}), ExitCode::success) << command << ' ' << h << ": " << err;
    EXPECT_EQ(call({"run", file, "--sensitivities", h}), ExitCode::success) << h << ": " << err;
    EXPECT_NE(out.find("d/d(h.start)"), std::string::npos) << out;
    const std::vector<std::string> sweep = {"sweep",     file,       "--over", h + "=1:2:2",
                                            "--collect", "final(h)", "--out",  study};
    EXPECT_EQ(call(sweep), ExitCode::success) << h << ": " << err;  // the first one goes on for the others
    EXPECT_EQ(call({"export", study, "--csv", "-"}), ExitCode::success) << h << ": " << err;
    EXPECT_NE(out.substr(0, out.find('\n')).find("h(start)"), std::string::npos) << out;
  }
}

TEST_F(NamesOfCommands, ElementsAreFoundWithAndWithoutBlanks) {
  for (const char* name : {"m[1,2]", "m[1, 2]", " m[ 1 , 2 ] "})
    EXPECT_EQ(table({"--vars", name}), table({"--vars", "m[1,2]"})) << name;
  EXPECT_EQ(table({"--set", "b[ 2 ].c = 5"}), table({"--set", "b[2].c=5"}));
  EXPECT_NE(table({"--set", "b[2].c=5"}), table({}));
  EXPECT_EQ(call({"run", file, "--phase", "m[1, 2],h", "-o", (folder / "p.svg").string()}), ExitCode::success) << err;
}

TEST_F(NamesOfCommands, ArraysAndPatternsStandForTheirElements) {
  const auto head = [&](const char* names) {
    const std::string text = table({"--vars", names});
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(head("u"), "time,u[1],u[2]");
  EXPECT_EQ(head("u*"), "time,u[1],u[2]");
  EXPECT_EQ(head("b"), "time,b[1].c,b[2].c");
  EXPECT_EQ(head("b[?].c,h"), "time,b[1].c,b[2].c,h");
  EXPECT_EQ(head("h,*"), "time,h,v,u[1],u[2],\"m[1,1]\",\"m[1,2]\",\"m[2,1]\",\"m[2,2]\",b[1].c,b[2].c");
  const std::string all = table({"--set", "k={4,5,6}"});
  EXPECT_EQ(all, table({"--set", "k[1]=4", "--set", "k[2]=5", "--set", "k[3]=2*3"}));
  EXPECT_EQ(table({"--set", "u={3,4}"}), table({"--set", "u[1]=3", "--set", "u[2]=4"}));
  EXPECT_EQ(table({"--set", "u.start={3,4}"}), table({"--set", "u[1]=3", "--set", "u[2]=4"}));
  EXPECT_EQ(table({"--set", "u=3"}), table({"--set", "u={3,3}"}));
  EXPECT_EQ(table({"--atol", "u=1e-12"}), table({"--atol", "u[1]=1e-12", "--atol", "u[2]=1e-12"}));
}

TEST_F(NamesOfCommands, UnknownNamesAreRefusedByEveryCommand) {
  const auto refused = [&](const std::vector<std::string>& arguments, const char* hint) {
    EXPECT_EQ(call(arguments), ExitCode::usage) << arguments[0] << ' ' << arguments.back();
    EXPECT_NE(err.find(hint), std::string::npos) << arguments[0] << ' ' << arguments.back() << ": " << err;
  };
  for (const char* command : {"run", "check", "graph", "flatten"}) {
    refused({command, file, "--set", "u[7]=1"}, "the elements of 'u' are u[1] to u[2]");
    refused({command, file, "--set", "der(h)=1"}, "no parameter 'der(h)' to set");
  }
  refused({"run", file, "--vars", "u[7]"}, "the elements of 'u' are u[1] to u[2]");
  refused({"run", file, "--vars", "q*"}, "saltus check lists the variables");
  refused({"run", file, "--phase", "h,u[7]"}, "the elements of 'u' are u[1] to u[2]");
  refused({"run", file, "--atol", "u[7]=1"}, "the elements of 'u' are u[1] to u[2]");
  refused({"run", file, "--sensitivities", "k[7]"}, "the elements of 'k' are k[1] to k[3]");
  refused({"sweep", file, "--out", (folder / "no.zarr").string(), "--over", "k[7]=1:2:2"},
          "the elements of 'k' are k[1] to k[3]");
  refused({"sweep", file, "--over", "w=1:2:2", "--out", (folder / "no.zarr").string(), "--collect", "final(u[7])"},
          "u[7]");
  refused({"continue", file, "--over", "k[7]=1:2", "--period", "1"}, "k[7]");
}

}  // namespace
}  // namespace saltus::cli
