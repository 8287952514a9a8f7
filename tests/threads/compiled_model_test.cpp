// One compiled model, many runs at the same time.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "threads/models.hpp"

namespace saltus::testing {
namespace {

/// What a run gives that has the model to itself, compiled for it alone.
std::vector<Fingerprint> alone() {
  std::vector<Fingerprint> results;
  for (const Case& c : cases()) results.push_back(fingerprint(simulate(c.model(), c.options)));
  return results;
}

/// One compiled model for each, shared by the cases that have the same model.
std::vector<std::shared_ptr<const CompiledModel>> compile() {
  std::vector<std::shared_ptr<const CompiledModel>> models;
  std::vector<std::string> names;
  for (const Case& c : cases()) {
    const Model model = c.model();
    if (!names.empty() && names.back() == model.name())
      models.push_back(models.back());
    else
      models.push_back(std::make_shared<const CompiledModel>(model));
    names.push_back(model.name());
  }
  return models;
}

TEST(CompiledModelInThreads, TheCasesSucceedAndHaveEvents) {
  for (const Case& c : cases()) {
    const Trajectory run = simulate(c.model(), c.options);
    EXPECT_TRUE(run.status().ok()) << c.model().name() << ": " << run.status().message;
    EXPECT_GE(run.events().size(), 3u) << c.model().name();
  }
}

// All threads begin with all cases at once, in an order of their own, so that parts are compiled on first use by
// whoever comes first.
TEST(CompiledModelInThreads, GivesTheSameBitsForAnyNumberOfThreadsInAnyOrder) {
  const std::vector<Case> all = cases();
  const std::vector<Fingerprint> expected = alone();
  for (const int threads : {1, 2, 8}) {
    const auto models = compile();
    std::vector<std::vector<Fingerprint>> found(static_cast<std::size_t>(threads),
                                                std::vector<Fingerprint>(all.size()));
    in_threads(threads, [&](int thread) {
      std::vector<std::size_t> order(all.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(100 * threads + thread)));
      for (const std::size_t k : order)
        found[static_cast<std::size_t>(thread)][k] = fingerprint(simulate(*models[k], all[k].options));
    });
    for (const auto& results : found)
      for (std::size_t k = 0; k < all.size(); ++k)
        EXPECT_TRUE(results[k] == expected[k])
            << all[k].model().name() << ", case " << k << ", " << threads << " threads";
  }
}

TEST(CompiledModelInThreads, RunsInStepsDoNotDisturbEachOther) {
  const std::vector<Case> all = cases();
  const auto models = compile();
  const std::vector<Fingerprint> expected = alone();
  std::vector<Fingerprint> found(8);
  in_threads(8, [&](int thread) {
    const std::size_t k = static_cast<std::size_t>(thread) % all.size();
    Simulator run(std::make_shared<CompiledModel>(*models[k]), all[k].options);
    while (run.step()) run.trajectory().at(0.5 * run.t());
    found[static_cast<std::size_t>(thread)] = fingerprint(run.take());
  });
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_TRUE(found[k] == expected[k]) << all[k].model().name();
}

TEST(CompiledModelInThreads, OneModelIsCompiledByManyThreadsAtOnce) {
  const Model model = ball_on_table();
  const SimulateOptions options{.stop = 5.0};
  const Fingerprint expected = fingerprint(simulate(model, options));
  std::vector<Fingerprint> found(8);
  in_threads(8, [&](int thread) { found[static_cast<std::size_t>(thread)] = fingerprint(simulate(model, options)); });
  for (const Fingerprint& f : found) EXPECT_TRUE(f == expected);
}

TEST(CompiledModelInThreads, DescriptionsAreReadByAll) {
  const CompiledModel model(heater());
  const Mode mode = model.initial_mode();
  const std::string expected = model.describe(mode);
  std::vector<std::string> found(8);
  in_threads(8, [&](int thread) {
    for (int k = 0; k < 50; ++k) found[static_cast<std::size_t>(thread)] = model.describe(mode);
  });
  for (const std::string& text : found) EXPECT_EQ(text, expected);
}

}  // namespace
}  // namespace saltus::testing
