// Measured data from files, and fits as files.
#include <gtest/gtest.h>
#include <saltus/io/fit_files.hpp>
#include <saltus/saltus.hpp>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace saltus {
namespace {

class FitFiles : public ::testing::Test {
 protected:
  std::string file_ = ::testing::TempDir() + "fit_files_test.csv";

  void write(const std::string& text) { std::ofstream(file_) << text; }
  void expect_refused(const std::string& text, const std::string& why) {
    write(text);
    try {
      read_fit_data(file_);
      ADD_FAILURE() << "nothing was thrown; expected: " << why;
    } catch (const UsageError& problem) {
      EXPECT_NE(std::string(problem.what()).find(why), std::string::npos) << problem.what();
    }
  }
};

TEST_F(FitFiles, ColumnsAreSeriesAndFieldsMayBeMissing) {
  write("# a remark\ntime; x; sigma(x); y\n0; 1; 0.1; 2\n0.5; NA; 0.2;\n");
  const FitData data = read_fit_data(file_);
  ASSERT_EQ(data.series.size(), 2u);
  EXPECT_EQ(data.series[0].variable, "x");
  EXPECT_EQ(data.series[0].times, (std::vector<double>{0.0, 0.5}));
  EXPECT_EQ(data.series[0].values[0], 1.0);
  EXPECT_TRUE(std::isnan(data.series[0].values[1]));
  EXPECT_EQ(data.series[0].sigma, (std::vector<double>{0.1, 0.2}));
  EXPECT_EQ(data.series[1].variable, "y");
  EXPECT_TRUE(std::isnan(data.series[1].values[1]));
  EXPECT_TRUE(data.series[1].sigma.empty());
}

TEST_F(FitFiles, ColumnsAreTimesOfEvents) {
  write("when h < 0,\"slide_exit a, b\"\n1.5,2\n2.5,\n");
  const std::vector<FitEvents> events = read_fit_events(file_);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].event, "when h < 0");
  EXPECT_EQ(events[0].times, (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(events[1].event, "slide_exit a, b");
  EXPECT_TRUE(std::isnan(events[1].times[1]));
}

TEST_F(FitFiles, SayWhatIsWrongAndWhere) {
  expect_refused("0,1\n1,2\n", "line 1: '0' is a number; the first line must have the names");
  expect_refused("time,x\n0,1\n1,two\n", "line 3: 'two' is not a finite number");
  expect_refused("time,x\n0,1,2\n", "line 2: there are 3 fields instead of 2");
  expect_refused("time,x,x\n0,1,2\n", "two columns are called 'x'");
  expect_refused("time,x,sigma(y)\n0,1,2\n", "'sigma(y)' has the standard deviations of 'y', which is not there");
  expect_refused("time,x\n,1\n", "the time is missing in row 1");
  expect_refused("time,x\n", "no rows");
  expect_refused("time\n1\n", "one column");
  EXPECT_THROW(read_fit_data(file_ + ".absent"), UsageError);
}

TEST_F(FitFiles, AFitIsWrittenAsJson) {
  Model m("line");
  const Expr a = m.parameter("a", 1.0), y = m.variable("y", 0.0);
  m.parameter("idle", 3.0);
  m.equation(der(y) == a);
  FitData data;
  data.series.push_back({.variable = "y", .times = {1, 2}, .values = {2, 4}, .sigma = {0.5}});
  std::ostringstream out;
  write_fit_json(out, fit(m, data, {{.name = "a", .guess = 1.0, .lower = 0.0}, {"idle"}}));
  const auto document = nlohmann::json::parse(out.str());
  EXPECT_EQ(document["status"], "undetermined");
  EXPECT_NEAR(document["parameters"][0]["value"].get<double>(), 2.0, 1e-7);
  EXPECT_NEAR(document["parameters"][0]["error"].get<double>(), 0.5 / std::sqrt(5.0), 1e-7);
  EXPECT_EQ(document["parameters"][0]["lower"], 0.0);
  EXPECT_TRUE(document["parameters"][0]["upper"].is_null());
  EXPECT_TRUE(document["parameters"][1]["error"].is_null());
  EXPECT_TRUE(document["parameters"][1]["undetermined"]);
  EXPECT_TRUE(document["correlations"][0][1].is_null());
  EXPECT_EQ(document["residuals"].size(), 2u);
}

TEST_F(FitFiles, APlotNeedsARun) {
  EXPECT_THROW(write_fit_plot({}, "plot.svg", "nothing"), UsageError);
}

}  // namespace
}  // namespace saltus
