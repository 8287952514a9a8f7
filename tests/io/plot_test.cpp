#include <gtest/gtest.h>
#include <saltus/io/plot.hpp>
#include <saltus/saltus.hpp>

#include <filesystem>
#include <fstream>

namespace saltus {
namespace {

Trajectory oscillator() {
  Model m("oscillator");
  const Expr x = m.variable("x", 1.0, {.unit = "m"}), v = m.variable("v", 0.0, {.unit = "m/s"});
  m.equation(der(x) == v);
  m.equation(der(v) == -x);
  m.when(x > 0.0).record();
  return simulate(m, {.stop = 10.0});
}

TEST(PlotScript, HasAPanelPerUnitAndAMarkPerEvent) {
  const Trajectory run = oscillator();
  const std::string script = plot_script(run, "a.svg", {.title = "it's a `title`"});
  EXPECT_NE(script.find("layout 2,1"), std::string::npos);
  EXPECT_NE(script.find("set xrange [0:10]"), std::string::npos);
  EXPECT_NE(script.find("'it''s a `title`'"), std::string::npos);  // single quotes: nothing is executed
  std::size_t marks = 0;
  for (std::size_t p = script.find("set arrow"); p != std::string::npos; p = script.find("set arrow", p + 1)) ++marks;
  EXPECT_EQ(marks, run.events().size());
  EXPECT_NE(plot_script(run, "a.png", {.phase_x = "x", .phase_y = "v"}).find("$curve"), std::string::npos);
}

TEST(PlotScript, ShadesSlidingMotionOverTimeAndInThePhasePlane) {
  Model m("relay");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0);
  m.equation(der(x) == -sign(x));
  m.equation(der(y) == 1.0);
  const Trajectory run = simulate(m, {.stop = 2.0});
  EXPECT_NE(plot_script(run, "a.svg", {}).find("set object rectangle from 1,graph 0 to 2,graph 1"), std::string::npos);
  const std::string phase = plot_script(run, "a.svg", {.phase_x = "y", .phase_y = "x"});
  const auto begin = phase.find("$sliding << EOD\n") + 16;
  EXPECT_EQ(phase.substr(begin, 4), "1 0\n");
  EXPECT_NE(phase.find("title 'sliding'"), std::string::npos);
  EXPECT_EQ(plot_script(oscillator(), "a.svg", {}).find("'sliding'"), std::string::npos);
}

TEST(PlotScript, RefusesUnknownEndingsAndVariables) {
  const Trajectory run = oscillator();
  EXPECT_THROW(plot_script(run, "a.bmp", {}), UsageError);
  EXPECT_THROW(plot_script(run, "a.svg", {.variables = {"y"}}), UsageError);
}

TEST(WritePlot, MakesAFile) {
  const auto file = std::filesystem::temp_directory_path() / "saltus plot's test.svg";
  std::filesystem::remove(file);
  write_plot(oscillator(), file.string(), {});
  std::ifstream in(file);
  std::string first;
  std::getline(in, first);
  EXPECT_NE(first.find("<?xml"), std::string::npos);
  EXPECT_GT(std::filesystem::file_size(file), 5000u);
  std::filesystem::remove(file);
  EXPECT_THROW(write_plot(oscillator(), "/nonexistent folder/a.svg", {}), UsageError);
}

}  // namespace
}  // namespace saltus
