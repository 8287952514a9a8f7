#include "cli/graph.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace saltus::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* thermostat = R"(model Thermostat
  Real T(start = 0.25, fixed = true);
  Boolean on(start = true, fixed = true);
equation
  on = T < 0 or pre(on) and T < 1;
  der(T) = if on then 1 else -1;
  annotation(experiment(StopTime = 10.25));
end Thermostat;
)";

struct Outcome {
  ExitCode code;
  std::string out, err;
};

/// A folder of its own with a model in it; the variable PATH is as before afterwards.
class Graph : public ::testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() /
             (std::string("saltus_graph_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
    const char* old = std::getenv("PATH");
    path = old ? old : "";
  }
  void TearDown() override {
    setenv("PATH", path.c_str(), 1);
    fs::remove_all(folder);
  }

  Outcome graph(const std::string& model, const std::vector<std::string>& more = {}) const {
    const fs::path file = folder / "Model.mo";
    std::ofstream(file) << model;
    std::vector<std::string> arguments{"graph", file.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    std::ostringstream out, err;
    const ExitCode code = run_app({graph_command()}, arguments, {.out = out, .err = err});
    return {code, out.str(), err.str()};
  }

  static std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path folder;
  std::string path;
};

TEST_F(Graph, OfAThermostatHasTwoModesAndTheTransitionsBetweenThem) {
  const Outcome run = graph(thermostat);
  EXPECT_EQ(run.code, ExitCode::success) << run.err;
  EXPECT_EQ(run.out, R"(digraph "Thermostat" {
  node [shape=box, style=rounded, fontname="sans-serif"];
  edge [fontname="sans-serif", fontsize=10];
  start [shape=point];
  mode0 [label="on = true, T < 1\nentered 6 times, time 5.25"];
  mode1 [label="on = false, T >= 0\nentered 5 times, time 5"];
  start -> mode0;
  mode0 -> mode1 [label="crossing, 5 times\nT < 1 becomes false"];
  mode1 -> mode0 [label="crossing, 5 times\nT < 0 becomes true"];
}
)");
  EXPECT_EQ(graph(thermostat).out, run.out);
}

TEST_F(Graph, TakesTheOptionsOfARun) {
  const Outcome run = graph(thermostat, {"--stop", "1", "--rtol", "1e-9", "--method", "radau", "--set", "T=0.5"});
  EXPECT_EQ(run.code, ExitCode::success) << run.err;
  EXPECT_NE(run.out.find("mode0 [label=\"on = true, T < 1\\nentered once, time 0.5\"]"), std::string::npos) << run.out;
}

TEST_F(Graph, IsWrittenAsDotWithoutGraphviz) {
  setenv("PATH", folder.c_str(), 1);
  const std::string file = (folder / "modes.dot").string();
  const Outcome run = graph(thermostat, {"-o", file});
  EXPECT_EQ(run.code, ExitCode::success) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(text_of(file), graph(thermostat).out);
}

TEST_F(Graph, SaysWhatIsMissingWithoutGraphviz) {
  setenv("PATH", folder.c_str(), 1);
  const fs::path file = folder / "modes.svg";
  const Outcome run = graph(thermostat, {"-o", file.string()});
  EXPECT_EQ(run.code, ExitCode::usage);
  EXPECT_NE(run.err.find("Debian package: graphviz"), std::string::npos) << run.err;
  EXPECT_NE(run.err.find(".dot file can be written without it"), std::string::npos) << run.err;
  EXPECT_FALSE(fs::exists(file));
}

// A script in its place shows what Graphviz is asked for, also for a name that a shell would take apart.
TEST_F(Graph, IsGivenToGraphvizForOtherFormats) {
  const fs::path program = folder / "dot";
  std::ofstream(program) << "#!/bin/sh\nwhile read -r line; do last=$line; done\n"
                            "echo \"$1 $last\"\n";
  fs::permissions(program, fs::perms::owner_all);
  setenv("PATH", folder.c_str(), 1);
  const fs::path file = folder / "it's $HOME.svg";
  const Outcome run = graph(thermostat, {"-o", file.string()});
  EXPECT_EQ(run.code, ExitCode::success) << run.err;
  EXPECT_EQ(text_of(file), "-Tsvg }\n");

  std::ofstream(program) << "#!/bin/sh\nwhile read -r line; do :; done\necho half; echo because >&2; exit 1\n";
  const Outcome failed = graph(thermostat, {"-o", file.string()});
  EXPECT_EQ(failed.code, ExitCode::usage);
  EXPECT_NE(failed.err.find("Graphviz failed to draw"), std::string::npos) << failed.err;
  EXPECT_NE(failed.err.find("because"), std::string::npos) << failed.err;
  EXPECT_EQ(text_of(file), "-Tsvg }\n");  // the old file stays
}

TEST_F(Graph, RefusesFilesThatItCannotMake) {
  const Outcome ending = graph(thermostat, {"-o", (folder / "modes.txt").string()});
  EXPECT_EQ(ending.code, ExitCode::usage);
  EXPECT_NE(ending.err.find("must end in .dot, .svg, .png or .pdf"), std::string::npos) << ending.err;
  const Outcome place = graph(thermostat, {"-o", (folder / "nowhere" / "modes.dot").string()});
  EXPECT_EQ(place.code, ExitCode::usage);
  EXPECT_NE(place.err.find("cannot write to"), std::string::npos) << place.err;
}

TEST_F(Graph, OfAFailedRunShowsWhatThereIs) {
  const Outcome run = graph(
      "model Grows Real x(start = 1, fixed = true); equation der(x) = x^2; "
      "annotation(experiment(StopTime = 2)); end Grows;");
  EXPECT_EQ(run.code, ExitCode::failure);
  EXPECT_NE(run.out.find("digraph \"Grows\""), std::string::npos) << run.out;
  EXPECT_NE(run.err.find("the graph shows the run up to there"), std::string::npos) << run.err;
}

TEST(DotText, EscapesLabels) {
  ModeGraph graph;
  graph.nodes.push_back({.description = "a \"b\" \\n c\nd &lt; e\tf", .entered = 1, .time = 1.0});
  const std::string text = dot_text(graph, "M.\"x\"", 40);
  EXPECT_NE(text.find(R"(digraph "M.\"x\"" {)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"(label="a \"b\" \\n c\nd &amp;lt; e f\nentered once)"), std::string::npos) << text;
}

TEST(DotText, DrawsTheModesThatHeldLongestAndOneNodeForTheOthers) {
  ModeGraph graph;
  for (std::size_t k = 0; k < 6; ++k)
    graph.nodes.push_back({.description = "m" + std::to_string(k), .entered = 1, .time = static_cast<double>(k)});
  for (std::size_t k = 0; k + 1 < 6; ++k)
    graph.edges.push_back({.from = k, .to = k + 1, .kind = EventKind::time, .count = 1, .first = 0.0});
  EXPECT_EQ(dot_text(graph, "m", 6).find("others"), std::string::npos);
  const std::string text = dot_text(graph, "m", 4);
  EXPECT_NE(text.find("mode0 [label"), std::string::npos) << text;
  EXPECT_NE(text.find("mode4 [label"), std::string::npos) << text;
  EXPECT_NE(text.find("mode5 [label"), std::string::npos) << text;
  EXPECT_EQ(text.find("mode3"), std::string::npos) << text;
  EXPECT_NE(text.find("3 other modes\\nentered 3 times, time 6\""), std::string::npos) << text;
  EXPECT_NE(text.find("mode0 -> others [style=dashed, label=\"once\"]"), std::string::npos) << text;
  EXPECT_NE(text.find("others -> others [style=dashed, label=\"2 times\"]"), std::string::npos) << text;
  EXPECT_NE(text.find("others -> mode4"), std::string::npos) << text;
}

}  // namespace
}  // namespace saltus::cli
