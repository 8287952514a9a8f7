#include <gtest/gtest.h>
#include <saltus/io/result_files.hpp>
#include <saltus/saltus.hpp>

#include <nlohmann/json.hpp>
#include <sstream>

namespace saltus {
namespace {

Trajectory ball() {
  Model m("ball");
  const Expr h = m.variable("h", 1.0, {.unit = "m"}), v = m.variable("v,odd", 0.0);
  m.equation(der(h) == v);
  m.equation(der(v) == -2.0);
  m.when(h < 0.0, {"ball.mo", 7, 3}).reset(v, -v);
  return simulate(m, {.stop = 1.5, .rtol = 1e-9, .atol = 1e-9});
}

TEST(WriteCsv, HasBothSidesOfAnEventAndReadsBackExactly) {
  const Trajectory run = ball();
  std::ostringstream out;
  write_csv(out, run, 3);
  std::istringstream in(out.str());
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "time,h,\"v,odd\"");
  std::vector<std::array<double, 3>> rows;
  while (std::getline(in, line)) {
    std::array<double, 3> row{};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lf,%lf,%lf", &row[0], &row[1], &row[2]), 3);
    rows.push_back(row);
  }
  ASSERT_EQ(rows.size(), 6u);  // 0, 0.5, impact twice (at about 1, a hair before or after the grid point), 1, 1.5
  EXPECT_EQ(rows[1][1], run.at(0.5, "h"));
  std::vector<double> at_impact;
  for (const auto& row : rows)
    if (row[0] == run.events()[0].t) at_impact.push_back(row[2]);
  ASSERT_EQ(at_impact.size(), 2u);
  EXPECT_NEAR(at_impact[0], -2.0, 1e-8);
  EXPECT_NEAR(at_impact[1], 2.0, 1e-8);
}

TEST(WriteCsv, UnknownVariablesAreRefused) {
  std::ostringstream out;
  EXPECT_THROW(write_csv(out, ball(), 3, {"hh"}), UsageError);
}

TEST(WriteJson, FollowsTheContract) {
  const Trajectory run = ball();
  std::ostringstream out;
  write_json(out, run, {"ball", {{"g", 2.0}}});
  const auto j = nlohmann::json::parse(out.str());
  EXPECT_EQ(j["model"], "ball");
  EXPECT_EQ(j["status"]["code"], "success");
  EXPECT_EQ(j["status"]["t"], 1.5);
  EXPECT_EQ(j["parameters"]["g"], 2.0);
  EXPECT_EQ(j["final"]["values"]["h"].get<double>(), run.final()[0]);
  ASSERT_EQ(j["events"].size(), 1u);
  const auto& e = j["events"][0];
  EXPECT_EQ(e["kind"], "reset");
  EXPECT_EQ(e["guards"][0], "h < 0");
  EXPECT_EQ(e["becomes"][0], true);
  EXPECT_EQ(e["direction"][0], -1);
  EXPECT_EQ(e["where"][0], "ball.mo:7:3");
  EXPECT_NEAR(e["before"]["v,odd"].get<double>(), -2.0, 1e-8);
  EXPECT_NEAR(e["after"]["v,odd"].get<double>(), 2.0, 1e-8);
  EXPECT_NEAR(e["jump"].get<double>(), 4.0, 1e-8);
  for (const char* key : {"steps", "rejected", "evaluations", "jacobians", "factorisations", "events", "restarts", "seconds"})
    EXPECT_TRUE(j["statistics"].contains(key)) << key;
  const auto& graph = j["mode_graph"];
  ASSERT_EQ(graph["nodes"].size(), 1u);
  EXPECT_EQ(graph["nodes"][0]["entered"], 1);
  EXPECT_NEAR(graph["nodes"][0]["time"].get<double>(), 1.5, 1e-14);
  ASSERT_EQ(graph["edges"].size(), 1u);
  const auto& edge = graph["edges"][0];
  EXPECT_EQ(edge["from"], 0);
  EXPECT_EQ(edge["to"], 0);
  EXPECT_EQ(edge["count"], 1);
  EXPECT_EQ(edge["first"], e["t"]);
  for (const char* key : {"kind", "guards", "direction", "actions"}) EXPECT_EQ(edge[key], e[key]) << key;
}

}  // namespace
}  // namespace saltus
