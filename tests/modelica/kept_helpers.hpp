// Models whose loops and arrays of components are kept, against the same models written out.
#pragma once

#include <gtest/gtest.h>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compile.hpp>
#include <saltus/model/compiled_model.hpp>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "load_helpers.hpp"
#include "random_cases.hpp"

namespace saltus {

inline bool is_written_out(const HybridSystem& system) {
  return dynamic_cast<const CompiledModel*>(&system) != nullptr;
}

inline SimulateOptions until(double stop, Method method = Method::automatic) {
  return {.stop = stop, .rtol = 1e-6, .atol = 1e-6, .method = method, .flights_after = -1};
}

/// Runs a text both ways and compares everything that a user can see. Where passes have expressions in common, sums of
/// the model that is written out may have another order: then values differ by rounding errors, and what steps make of
/// them.
inline void compare(const std::string& text, const SimulateOptions& options, bool kept = true,
                    double difference = 0.0) {
  SCOPED_TRACE(text);
  const auto near = [&](const std::vector<double>& p, const std::vector<double>& q) {
    ASSERT_EQ(p.size(), q.size());
    for (std::size_t k = 0; k < p.size(); ++k) ASSERT_NEAR(p[k], q[k], difference) << k;
  };
  const auto loops = compile(load_text(text).model);
  const auto flat = compile(load_text(text, {.keep_loops = false}).model);
  EXPECT_EQ(is_written_out(*loops), !kept);
  ASSERT_TRUE(is_written_out(*flat));
  const Trajectory a = simulate(loops, options), b = simulate(flat, options);
  EXPECT_EQ(a.status().code, b.status().code) << a.status().message << " | " << b.status().message;
  if (difference == 0.0) {
    EXPECT_EQ(a.status().message, b.status().message);
  }
  EXPECT_NEAR(a.t_end(), b.t_end(), difference);
  near(a.final(), b.final());
  if (difference == 0.0) {
    EXPECT_EQ(a.statistics().steps, b.statistics().steps);
  }
  EXPECT_TRUE(a.statistics().local_events > 0 || b.statistics().local_events == 0);
  ASSERT_EQ(a.variables().size(), b.variables().size());
  for (std::size_t k = 0; k < a.variables().size(); ++k) {
    ASSERT_EQ(a.variables()[k].name, b.variables()[k].name);
    ASSERT_EQ(a.variables()[k].start, b.variables()[k].start);
    ASSERT_EQ(a.variables()[k].fixed, b.variables()[k].fixed);
    ASSERT_EQ(a.variables()[k].nominal, b.variables()[k].nominal);
    ASSERT_EQ(*a.variables()[k].details, *b.variables()[k].details);
  }
  const auto words = [&](const Event& event) {  // terms in texts have another order where those in sums have
    const std::string said = event.describe();
    return difference == 0.0 ? said : said.substr(0, said.find_first_of(":;"));
  };
  ASSERT_EQ(a.events().size(), b.events().size());
  for (std::size_t k = 0; k < a.events().size(); ++k) {
    ASSERT_NEAR(a.events()[k].t, b.events()[k].t, difference);
    ASSERT_EQ(words(a.events()[k]), words(b.events()[k]));
  }
  const double middle = 0.5 * (a.t_start() + a.t_end());
  near(a.at(middle), b.at(middle));
  if (difference == 0.0) {
    EXPECT_EQ(loops->describe(a.mode(a.segments().back())), flat->describe(b.mode(b.segments().back())));
  }
}

/// The same for texts that `make` writes by chance, of which at least half must be kept.
inline void compare_random(std::string (*make)(std::mt19937&), int usual_cases) {
  const int cases = random_cases(usual_cases), first = random_seed(1);
  int kept = 0;
  SimulateOptions options = until(1.0);
  options.rtol = options.atol = 1e-8;
  for (int seed = first; seed < first + cases; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(static_cast<unsigned>(seed));
    const std::string text = make(random);
    const bool stays = !is_written_out(*compile(load_text(text).model));
    kept += stays;
    compare(text, options, stays, stays ? 1e-5 : 0.0);
    if (::testing::Test::HasFailure()) return;
  }
  record_models(kept);
  EXPECT_GE(2 * kept, cases);
}

}  // namespace saltus
