// Events, clauses and modes speak in the words of the model: relations as they were written, in flat names.
#include <algorithm>
#include <string>
#include <vector>

#include <saltus/study/study.hpp>

#include "load_helpers.hpp"

namespace saltus {
namespace {

std::vector<std::string> guards_of(const std::string& text) {
  std::vector<std::string> names;
  const CompiledModel model(load_text(text).model);
  for (const GuardInfo& guard : model.guards())
    if (guard.same_as < 0) names.push_back(guard.name);
  return names;
}

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

TEST(SourceText, RelationsKeepCallsConstantsAndOrder) {
  const std::vector<std::string> guards = guards_of(R"(model M
  constant Real c = 2.5;
  final parameter Real half = 0.5;
  parameter Real limit = 1;
  Real x(start = 0, fixed = true), y(start = 1, fixed = true), a, b, d;
  Real slip = y - 2*x;
equation
  der(x) = 1;
  der(y) = -x;
  a = if abs(x) < 0.1 then 1 else 0;
  b = if limit*c < slip then 1 else half;
  d = if min(x, y) >= half + c/10 then 1 else 2;
end M;)");
  EXPECT_TRUE(contains(guards, "abs(x) < 0.1")) << guards.size();
  EXPECT_TRUE(contains(guards, "limit*c < slip"));
  EXPECT_TRUE(contains(guards, "min(x, y) >= half + c/10"));
}

TEST(SourceText, NamesAreThoseOfTheWholeModelAndIteratorsAreNumbers) {
  const std::vector<std::string> guards = guards_of(R"(model Clutch
  parameter Real high = 0.4;
  Real slip(start = 0, fixed = true), y;
equation
  der(slip) = 1;
  y = if slip > high then 1 else 0;
end Clutch;
model M
  Clutch c[2](high = {0.4, 0.6});
  Real z[2](each start = 0, each fixed = true);
equation
  for i in 1:2 loop
    der(z[i]) = if c[i].slip > i*c[1].high then 1 else 2;
  end for;
end M;)");
  for (const char* name : {"c[1].slip > c[1].high", "c[2].slip > c[2].high", "c[2].slip > 2*c[1].high"})
    EXPECT_TRUE(contains(guards, name)) << name;
}

TEST(SourceText, EventsSayWhatTheRelationBecomes) {
  const Trajectory run = run_text(R"(model M
  type State = enumeration(closed, open);
  parameter Real slipHigh = 0.4;
  Real slip(start = 0, fixed = true), w(start = 1, fixed = true);
  State s(start = State.closed, fixed = true);
  Boolean alarmHigh(start = false, fixed = true);
  Integer n(start = 0, fixed = true);
equation
  der(slip) = 1;
  der(w) = -1;
  alarmHigh = slip > slipHigh;
  when alarmHigh then
    s = State.open;
  end when;
  when s == State.open and w < 0.3 then
    n = pre(n) + 1;
  elsewhen w < -0.5 then
    n = pre(n) + 2;
  end when;
end M;)",
                                  2.0);
  ASSERT_EQ(run.events().size(), 3u);
  EXPECT_EQ(run.events()[0].guards, (std::vector<std::string>{"slip > slipHigh"}));
  EXPECT_EQ(run.events()[0].becomes, (std::vector<int>{+1}));
  EXPECT_EQ(run.events()[0].actions, (std::vector<std::string>{"when alarmHigh"}));
  EXPECT_EQ(run.events()[1].guards, (std::vector<std::string>{"w < 0.3"}));
  EXPECT_EQ(run.events()[1].becomes, (std::vector<int>{+1}));
  EXPECT_EQ(run.events()[1].direction, (std::vector<int>{-1}));
  EXPECT_EQ(run.events()[1].actions, (std::vector<std::string>{"when s == State.open and w < 0.3"}));
  EXPECT_EQ(run.events()[2].actions, (std::vector<std::string>{"elsewhen w < -0.5"}));
  EXPECT_EQ(run.events()[0].describe().substr(0, 54), "crossing: slip > slipHigh becomes true; when alarmHigh");
}

TEST(SourceText, ConditionsOfAVectorHaveTheirOwnNames) {
  const Trajectory run = run_text(R"(model M
  Real x(start = 0, fixed = true);
  Boolean high = x > 0.75;
  Integer n(start = 0, fixed = true);
equation
  der(x) = 1;
  when {x > 0.25, high} then
    n = pre(n) + 1;
  end when;
end M;)",
                                  1.0);
  ASSERT_EQ(run.events().size(), 2u);
  EXPECT_EQ(run.events()[0].actions, (std::vector<std::string>{"when x > 0.25"}));
  EXPECT_EQ(run.events()[1].actions, (std::vector<std::string>{"when high"}));
}

TEST(SourceText, WhatIsWatchedHasNoEliminatedVariables) {
  const CompiledModel model(load_text(R"(model M
  Real x(start = 0, fixed = true), y = 2*x + 1, z;
equation
  der(x) = 1;
  z = if y > 3 then 1 else 0;
end M;)")
                                .model);
  ASSERT_EQ(model.guards().size(), 1u);
  EXPECT_EQ(model.guards()[0].name, "y > 3");
  EXPECT_EQ(model.watched_text(0).find('y'), std::string::npos) << model.watched_text(0);
  EXPECT_NE(model.watched_text(0).find('x'), std::string::npos);
}

TEST(SourceText, ModesAndSurfacesAreWrittenAsTheModelIs) {
  const Trajectory run = run_text(R"(model M
  parameter Real belt = 0.5;
  Real v(start = 0, fixed = true);
equation
  der(v) = if v < belt then 1 else -1;
end M;)",
                                  1.0);
  ASSERT_EQ(run.events().size(), 1u);
  EXPECT_EQ(run.events()[0].surfaces, (std::vector<std::string>{"v = belt"}));
  EXPECT_EQ(run.events()[0].mode_before, "v < belt");
}

TEST(SourceText, StudiesTellModelsApartThatReadTheSame) {
  // the relation keeps the name of the constant, whose value is another one
  const auto description = [](const std::string& value) {
    const Model model = load_text("model M constant Real c = " + value + R"(; Real x(start = 0, fixed = true);
equation
  der(x) = if x > 0.1*c then 1 else 2;
end M;)")
                            .model;
    return Study(model, {.axes = {{"x", 0.0, 1.0, 2}}, .collect = {{Collect::final_value, "x"}}}).description();
  };
  EXPECT_NE(description("1"), description("2"));
  EXPECT_EQ(description("1"), description("1"));
}

TEST(SourceText, PassesOfLoopsAndLargeArraysAreMadeOfTheirOperations) {
  const std::string cell = R"(model Cell
  parameter Real limit = 1;
  constant Real share = 0.5;
  Real x(start = 0, fixed = true);
equation
  der(x) = if x > limit*share then 1 else 2;
end Cell;
)";
  EXPECT_EQ(guards_of(cell + "model M Cell c; end M;"), (std::vector<std::string>{"c.x > c.limit*c.share"}));
  EXPECT_EQ(guards_of(cell + "model M Cell c[2]; end M;").at(1), "c[2].x > c[2].limit*c[2].share");
  EXPECT_EQ(guards_of(cell + "model M Cell c[100]; end M;").at(1).find("share"), std::string::npos);
}

TEST(SourceText, LoopsThatAreKeptNameTheirOwnPass) {
  // one text for all passes would have the numbers of the first
  const Trajectory run = run_text(R"(model M
  parameter Integer n = 200;
  Real x[n](each start = 0, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = if x[i] > i/100 then 0.5 else 1;
  end for;
end M;)",
                                  0.035);
  ASSERT_EQ(run.events().size(), 3u);
  EXPECT_EQ(run.events()[0].guards.at(0).substr(0, 7), "x[1] > ");
  EXPECT_EQ(run.events()[2].guards.at(0).substr(0, 7), "x[3] > ");
  EXPECT_NE(run.events()[2].guards.at(0).find("3"), std::string::npos) << run.events()[2].guards.at(0);
  EXPECT_EQ(run.events()[2].guards.at(0).find("1/100"), std::string::npos) << run.events()[2].guards.at(0);
}

}  // namespace
}  // namespace saltus
