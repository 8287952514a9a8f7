#include <gtest/gtest.h>
#include <saltus/io/plot.hpp>
#include <saltus/saltus.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

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
  EXPECT_NE(script.find("set ylabel 'x [m]'"), std::string::npos);
  EXPECT_NE(script.find("set ylabel 'v [m/s]'"), std::string::npos);
  EXPECT_NE(script.find("set xrange [0:10]"), std::string::npos);
  EXPECT_NE(script.find(R"("it\047s a \140title\140")"), std::string::npos);  // nothing is executed
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

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (auto p = text.find(word); p != std::string::npos; p = text.find(word, p + 1)) ++n;
  return n;
}

TEST(PlotScript, ManyEventsAreTicksAboveThePanelsAndTheKeySaysHowMany) {
  Model m("clock");
  const Expr x = m.variable("x", 0.0), s = m.discrete("s", 1.0);
  m.equation(der(x) == s);
  m.when(m.sample(0.5, 1.0)).assign(s, -m.pre(s));
  const std::string script = plot_script(simulate(m, {.stop = 1000.0}), "a.svg", {});
  EXPECT_NE(script.find("title '1000 events'"), std::string::npos);
  EXPECT_EQ(script.find(",graph 0 to"), std::string::npos) << "no line across the curve";
  EXPECT_LE(count(script, "set arrow from"), 701u);  // those on one pixel are one
  // swings a thousand times over 700 columns: a band from -0.5 to 0.5
  EXPECT_NE(script.find("using 1:2:3 with filledcurves"), std::string::npos);
  EXPECT_NE(script.find("title 'x (range)'"), std::string::npos);
}

TEST(PlotScript, BooleansAndSmallIntegersAreRowsOfBoxes) {
  Model m("steps");
  const Expr x = m.variable("x", 0.0, {.unit = "V"}), n = m.discrete("n", 0.0), b = m.discrete("b", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.sample(1.0, 1.0)).assign(n, m.pre(n) + 1.0).assign(b, 1.0 - m.pre(b));
  const std::string script = plot_script(simulate(m, {.stop = 4.5}), "a.svg", {});
  EXPECT_NE(script.find("set ytics ('n' 1.5, 'b' 0.5)"), std::string::npos) << script;
  EXPECT_EQ(count(script, "rectangle from"), 5u + 5u);
  EXPECT_NE(script.find("'4' at 4.25"), std::string::npos) << "values are written into the boxes";
  EXPECT_EQ(script.find("'x, n"), std::string::npos) << "they share no axis with a voltage";
}

TEST(PlotScript, UnitsHaveSiPrefixesAndQuantitiesOfOtherSizeOtherPanels) {
  Model m("small");
  const Expr i = m.variable("i", 2e-5, {.unit = "A"}), p = m.variable("p", 3e6, {.unit = "Pa"}),
             w = m.variable("w", 1.0, {.unit = "kg"});
  const Expr a = m.variable("a", 1.0), b = m.variable("b", 1e4);
  for (const Expr& x : {i, p, w, a, b}) m.equation(der(x) == -x);
  const std::string script = plot_script(simulate(m, {.stop = 0.02}), "a.svg", {});
  for (const char* label : {"'i [µA]'", "'p [MPa]'", "'w [kg]'", "'time [ms]'", "set ylabel 'a'", "set ylabel 'b'"})
    EXPECT_NE(script.find(label), std::string::npos) << label;
  EXPECT_NE(script.find("$d0 << EOD\n0 20\n"), std::string::npos);  // 2e-5 A are 20 µA
}

TEST(PlotScript, PhasePlotsHaveArrowsStartEndAndSurfaces) {
  Model m("relay");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0);
  m.equation(der(x) == -sign(x - 0.5 * y) + 0.5);
  m.equation(der(y) == 1.0);
  const auto compiled = std::make_shared<CompiledModel>(m);
  const Trajectory run = simulate(compiled, {.stop = 3.0});
  const std::string script = plot_script(run, "a.svg", {.phase_x = "x", .phase_y = "y", .system = compiled.get()});
  EXPECT_GE(count(script, "set arrow"), 1u);
  for (const char* word : {"title 'start'", "title 'end'", "title 'surface'", "title 'sliding'"})
    EXPECT_NE(script.find(word), std::string::npos) << word;
  const auto place = script.find("$surfaces << EOD\n") + 17;
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::istringstream(script.substr(place, 200)) >> x0 >> y0 >> x1 >> y1;
  EXPECT_NEAR(x0, 0.5 * y0, 1e-6);
  EXPECT_NEAR(x1, 0.5 * y1, 1e-6);
  EXPECT_EQ(plot_script(run, "a.svg", {.phase_x = "x", .phase_y = "y"}).find("'surface'"), std::string::npos);
}

TEST(PlotScript, SizesAreNamesOrPixels) {
  EXPECT_NE(plot_script(oscillator(), "a.svg", {.size = parse_plot_size("1200x800")}).find("size 1200,800"),
            std::string::npos);
  EXPECT_NE(plot_script(oscillator(), "a.png", {.size = parse_plot_size("slide")})
                .find("size 1280,720 font 'DejaVu Sans,20'"),
            std::string::npos);
  EXPECT_NE(plot_script(oscillator(), "a.pdf", {.size = parse_plot_size("paper")}).find("size 3.542in"),
            std::string::npos);
  for (const char* wrong : {"", "x", "12x", "50x50", "1200x800x3", "-1x5", "poster"})
    EXPECT_THROW(parse_plot_size(wrong), UsageError) << wrong;
}

/// What stands behind a word in a script, as a number.
double number_behind(const std::string& script, const std::string& word) {
  const std::size_t place = script.find(word);
  return place == std::string::npos ? NAN : std::strtod(script.c_str() + place + word.size(), nullptr);
}

TEST(PlotScript, LettersShrinkAndMarksAreFewerWhereManyPanelsShareASmallPicture) {
  Model m("units");
  for (const char* unit : {"m", "kg", "K", "A", "mol", "cd"}) {
    const Expr x = m.variable(unit, 1.0, {.unit = unit});
    m.equation(der(x) == -3.0 * x);
  }
  const Trajectory run = simulate(m, {.stop = 1.0});
  const std::string slide = plot_script(run, "a.png", {.size = parse_plot_size("slide")});
  const double points = number_behind(slide, "font 'DejaVu Sans,");
  EXPECT_LT(points, 16.0);
  EXPECT_GT(points, 8.0);
  // the room of a panel: at least five letters, and marks at its axis are farther apart than a letter is high
  const double top = number_behind(slide, "set tmargin at screen "),
               bottom = number_behind(slide, "set bmargin at screen ");
  const double height = (top - bottom) * 720.0, letter = points * 96.0 / 72.0;
  EXPECT_GT(height, 4.0 * letter);
  double low = 0.0, high = 0.0, distance = 0.0;
  const std::size_t place = slide.find("set yrange [");
  ASSERT_NE(place, std::string::npos);
  ASSERT_EQ(std::sscanf(slide.c_str() + place, "set yrange [%lf:%lf]\nset ytics %lf", &low, &high, &distance), 3);
  EXPECT_GT(distance / (high - low) * height, letter);
  EXPECT_NE(plot_script(run, "a.png", {}).find("set ytics auto"), std::string::npos);
}

TEST(PlotScript, KeysStandAboveThePanelsWhereThereIsNoRoomBeside) {
  const std::string beside = plot_script(oscillator(), "a.svg", {}),
                    above = plot_script(oscillator(), "a.svg", {.size = parse_plot_size("paper")});
  EXPECT_EQ(beside.find("set key at screen"), std::string::npos);
  EXPECT_EQ(count(above, "set key at screen"), 2u);  // one for each panel
  EXPECT_GT(number_behind(above, "set rmargin at screen "), 0.9);
  // 8 points are 10.67 pixels, which is what gnuplot wants to hear for SVG files
  EXPECT_NE(above.find("font 'DejaVu Sans,10.67'"), std::string::npos);
}

TEST(PlotScript, LongNamesKeepBothEndsInTheKey) {
  Model m("long");
  const std::string prefix = "a_very_long_name_of_a_sensor_in_some_room_of_";
  for (const char* room : {"the_cellar", "the_attic"}) {
    const Expr x = m.variable(prefix + room, 1.0);
    m.equation(der(x) == -x);
  }
  const std::string script = plot_script(simulate(m, {.stop = 1.0}), "a.svg", {});
  EXPECT_NE(script.find("title 'a_very_long_name_of…e_room_of_the_cellar'"), std::string::npos) << script;
  EXPECT_NE(script.find("the_attic'"), std::string::npos);
}

TEST(PlotScript, ValuesStandInBoxesThatAreWideEnough) {
  Model m("states");
  const Expr s = m.discrete("s", 1.0, {.type = VariableType::enumeration, .literals = {"charging", "idle"}});
  const Expr x = m.variable("x", 0.0);
  m.equation(der(x) == 1.0);
  m.when(m.time() > 0.3).assign(s, 2.0);
  m.when(m.time() > 9.0).assign(s, 1.0);
  const std::string script = plot_script(simulate(m, {.stop = 10.0}), "a.svg", {});
  EXPECT_NE(script.find("'idle' at 4.65"), std::string::npos) << script;
  EXPECT_NE(script.find("'charging' at 9.5"), std::string::npos);
  EXPECT_EQ(script.find("'charging' at 0.15"), std::string::npos) << "the box has 20 pixels";
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
