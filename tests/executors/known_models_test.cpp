// Random models with known solutions, in many spellings, by all executors: at a time inside of their course, and by the
// loop at many.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "executors/execute.hpp"
#include "executors/known_models.hpp"
#include "random_cases.hpp"

namespace saltus::executors {
namespace {

constexpr double rtol = 1e-8;

Task task_of(const KnownModel& model) {
  return {model.text, model.low, model.high, {.stop = model.stop, .rtol = rtol, .atol = rtol, .max_steps = 100000}};
}

void expect_values(const KnownModel& model, const Values& exact, const std::function<double(const std::string&)>& value,
                   const std::string& where) {
  for (const auto& [name, wanted] : exact)
    EXPECT_NEAR(value(name) / model.unit.at(name), wanted, model.tolerance) << name << " " << where;
}

/// A model in a spelling that is refused by name has no answer that could be wrong.
bool is_refused(const KnownModel& model) {
  try {
    load_modelica("model M parameter Real p = 1; " + model.text + " end M;", "known.mo", {.model_name = "M"});
    return false;
  } catch (const ModelicaError& error) {
    EXPECT_NE(std::string(error.what()).find(" start"), std::string::npos) << error.what();
    return true;
  }
}

class KnownModels : public testing::TestWithParam<std::tuple<KnownClass, Executor>> {};

TEST_P(KnownModels, HaveTheirSolutions) {
  const auto& [known, executor] = GetParam();
#ifndef SALTUS_FMU_LIBRARY
  if (executor == Executor::exchange) GTEST_SKIP() << "built without FMUs";
#endif
  if (executor == Executor::cells && known.rests) GTEST_SKIP() << "many contacts in one model: docs/known-issues.md";
  if (executor == Executor::exchange && known.starts_discretes)
    GTEST_SKIP() << "initial equations of discrete variables are not exported: docs/known-issues.md";
  const bool loop = executor == Executor::loop;
  const int cases = random_cases(loop ? 20 : 2), first = random_seed();
  int solved = 0, runs = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    const KnownModel model = known.make(static_cast<unsigned>(seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + model.text);
    if (is_refused(model)) continue;
    const std::vector<Outcome> outcomes = execute(executor, task_of(model));
    const std::size_t every = std::max<std::size_t>(outcomes.size() / 4, 1);
    for (std::size_t k = 0; k < outcomes.size(); k += every) {
      const Outcome& one = outcomes[k];
      ++runs;
      if (one.values.empty() || one.status != StatusCode::success) {
        EXPECT_NE(one.refusal + one.message, "");
        continue;
      }
      ++solved;
      expect_values(
          model, model.exact(one.p, model.stop), [&](const std::string& name) { return one.values.at(name); },
          "at the end, p = " + std::to_string(one.p));
    }
    if (testing::Test::HasFailure()) return;
  }
  record_models(cases);
  if (loop) {
    expect_share(solved, 0.99, runs);
    EXPECT_GT(runs, cases / 2);  // a part of the spellings is refused at most
  }
}

TEST_P(KnownModels, HaveThemInsideTheRun) {
  const auto& [known, executor] = GetParam();
  if (executor != Executor::loop) GTEST_SKIP() << "the end of a run of any length is looked at by the other test";
  const int cases = random_cases(20), first = random_seed();
  for (int seed = first; seed < first + cases; ++seed) {
    const KnownModel model = known.make(static_cast<unsigned>(seed));
    if (is_refused(model)) continue;
    const double p = model.low + (model.high - model.low) * (0.5 + 0.5 * std::sin(1.0 + seed));
    SCOPED_TRACE("seed " + std::to_string(seed) + ", p = " + std::to_string(p) + ": " + model.text);
    const ModelicaModel loaded = load_modelica("model M parameter Real p = 1; " + model.text + " end M;", "known.mo",
                                               {.model_name = "M", .parameters = {{"p", p}}});
    for (const Method method : {Method::automatic, Method::radau}) {
      const Trajectory run = simulate(loaded.model, {.stop = model.stop, .rtol = rtol, .atol = rtol, .method = method});
      if (!run.status().ok()) {
        EXPECT_NE(run.status().message, "");
        continue;
      }
      for (int k = 1; k <= 40; ++k) {
        const double t = model.stop * k / 41.0;
        expect_values(
            model, model.exact(p, t), [&](const std::string& name) { return run.at(t, name); },
            "at t = " + std::to_string(t));
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  record_models(cases);
}

INSTANTIATE_TEST_SUITE_P(Classes, KnownModels,
                         testing::Combine(testing::ValuesIn(known_classes()), testing::ValuesIn(all_executors)),
                         [](const auto& test) {
                           return std::get<0>(test.param).name + name_of(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace saltus::executors
