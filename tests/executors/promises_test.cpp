// Every executor keeps every promise, or refuses by name: then the loop runs the model, with the same answers.
#include "executors/promises.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "executors/execute.hpp"

namespace saltus::executors {
namespace {

class Promises : public testing::TestWithParam<std::tuple<Executor, Promise>> {};

TEST_P(Promises, AreKeptOrRefused) {
  const auto& [executor, promise] = GetParam();
  if (promise.known_issue.contains(executor)) GTEST_SKIP() << "see docs/known-issues.md";
#ifndef SALTUS_FMU_LIBRARY
  if (executor == Executor::exchange) GTEST_SKIP() << "built without FMUs";
#endif
  SimulateOptions options{.stop = promise.stop, .rtol = 1e-8, .atol = 1e-8};
  const std::vector<Outcome> outcomes = execute(executor, {promise.text, promise.low, promise.high, options});
  ASSERT_FALSE(outcomes.empty());
  std::size_t taken = 0;
  for (const Outcome& one : outcomes) {
    SCOPED_TRACE("p = " + std::to_string(one.p));
    taken += one.taken;
    if (one.values.empty()) {
      EXPECT_NE(one.refusal, "") << "nothing has run, and nothing says why";
      continue;
    }
    EXPECT_EQ(one.status, promise.status) << one.message;
    if (promise.unproved_by.contains(executor)) {
      EXPECT_FALSE(one.proved);
      EXPECT_NE(one.message.find("it is not proved"), std::string::npos) << one.message;
      continue;
    }
    for (const auto& [name, value] : promise.exact(one.p))
      EXPECT_NEAR(one.values.at(name), value, promise.tolerance) << name;
  }
  if (promise.refused_by.contains(executor))
    EXPECT_EQ(taken, 0u) << "it is said to be refused";
  else
    EXPECT_GT(taken, 0u) << outcomes.front().refusal;
}

std::string name_of_test(const testing::TestParamInfo<Promises::ParamType>& test) {
  const Promise& promise = std::get<Promise>(test.param);
  return std::string(name_of(std::get<Executor>(test.param))) + "_" + std::to_string(promise.number) + promise.name;
}

INSTANTIATE_TEST_SUITE_P(Executors, Promises,
                         testing::Combine(testing::ValuesIn(all_executors), testing::ValuesIn(promises())),
                         name_of_test);

}  // namespace
}  // namespace saltus::executors
