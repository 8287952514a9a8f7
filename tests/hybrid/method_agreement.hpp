// The events of a model as each method sees them, compared with those of an accurate run.
#pragma once

#include <saltus/saltus.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace saltus::testing {

constexpr double tolerance = 1e-6;

inline const std::vector<Method> implicit_methods = {Method::radau5, Method::radau, Method::rodas5p, Method::rodas4, Method::bdf};
inline const std::vector<Method> all_methods = {Method::radau5, Method::radau,  Method::rodas5p, Method::rodas4, Method::bdf,
                                                Method::dopri5, Method::tsit5, Method::dop853,  Method::taylor};

/// Numbers between -1 and 1, or others.
class Random {
 public:
  explicit Random(unsigned seed) : bits_(seed) {}
  double operator()() { return uniform_(bits_); }
  double operator()(double low, double high) { return low + 0.5 * (high - low) * (1.0 + uniform_(bits_)); }
  /// Spread evenly over orders of magnitude.
  double power_of_ten(double low, double high) { return std::pow(10.0, (*this)(low, high)); }
  unsigned whole() { return static_cast<unsigned>(bits_()); }

 private:
  std::mt19937 bits_;
  std::uniform_real_distribution<double> uniform_{-1.0, 1.0};
};

/// How a model is run, by whom, and by whom accurately.
struct Comparison {
  double stop = 10.0;
  Method reference = Method::radau;
  std::vector<Method> methods = implicit_methods;
  double atol = 1.0;  ///< relative to rtol

  SimulateOptions options(Method method, double rtol) const {
    return {.stop = stop, .rtol = rtol, .atol = atol * rtol, .method = method, .keep_steps = false, .keep_event_values = false};
  }
};

inline std::vector<Event> events_of(Simulator simulator, const std::string& what) {
  simulator.run();
  const Trajectory run = simulator.take();
  EXPECT_TRUE(run.status().ok()) << what << ": " << run.status().message;
  return run.events();
}

/// A simulator that has been stopped at arbitrary times, some of them close together, and that was given an arbitrary first step.
inline Simulator paused(const std::shared_ptr<CompiledModel>& model, SimulateOptions options, unsigned seed) {
  Random random(seed);
  options.initial_step = random.power_of_ten(-6.0, 0.0);
  Simulator simulator(model, options);
  for (double t = 0.0; t < options.stop && !simulator.finished(); simulator.advance_to(t))
    t = std::min(options.stop, t + random.power_of_ten(-4.0, 0.0));
  return simulator;
}

/// `margins`: by event, in time.
inline void expect_same_events(const std::vector<Event>& found, const std::vector<Event>& expected, const std::vector<double>& margins,
                               const std::string& what) {
  EXPECT_EQ(found.size(), expected.size()) << what;
  for (std::size_t k = 0; k < std::min(found.size(), expected.size()) && !::testing::Test::HasFailure(); ++k) {
    const std::string which = what + ", event " + std::to_string(k);
    EXPECT_EQ(to_string(found[k].kind), to_string(expected[k].kind)) << which;
    EXPECT_EQ(found[k].guards, expected[k].guards) << which;
    EXPECT_EQ(found[k].direction, expected[k].direction) << which;
    EXPECT_NEAR(found[k].t, expected[k].t, margins[k]) << which;
  }
}

/// Compares the events of all methods, and those of a paused run by one of them, with those of an accurate run. `make` has a parameter that moves
/// what decides about events: models where two hundred tolerances make a difference come too near to touching a surface. Returns whether this one
/// does not. As far as they move an event, or what changes at unit speed, errors that have grown from one event to the next may move it too.
inline bool compare(const std::function<Model(double)>& make, const Comparison& comparison, unsigned seed) {
  const std::string what = "seed " + std::to_string(seed);
  const auto accurate = [&](const std::shared_ptr<CompiledModel>& model, double rtol) {
    return events_of(Simulator(model, comparison.options(comparison.reference, rtol)), what + ", reference");
  };
  const auto model = std::make_shared<CompiledModel>(make(0.0));
  const std::vector<Event> expected = accurate(model, 1e-11);
  const auto same_kind = [](const Event& a, const Event& b) { return a.kind == b.kind && a.direction == b.direction; };
  std::vector<double> margins(expected.size(), 200.0 * tolerance);
  for (const double shift : {-200.0, -50.0, -10.0, 10.0, 50.0, 200.0}) {
    const std::vector<Event> beside = accurate(std::make_shared<CompiledModel>(make(shift * tolerance)), 1e-10);
    if (!std::equal(beside.begin(), beside.end(), expected.begin(), expected.end(), same_kind)) return false;
    for (std::size_t k = 0; k < margins.size(); ++k) margins[k] = std::max(margins[k], std::abs(beside[k].t - expected[k].t));
  }
  const auto named = [&](Method method) { return what + ", " + std::string(to_string(method)); };
  for (const Method method : comparison.methods) {
    expect_same_events(events_of(Simulator(model, comparison.options(method, tolerance)), named(method)), expected, margins, named(method));
    if (::testing::Test::HasFailure()) return true;
  }
  const Method method = comparison.methods[seed % comparison.methods.size()];
  const std::string how = named(method) + ", paused";
  expect_same_events(events_of(paused(model, comparison.options(method, tolerance), seed), how), expected, margins, how);
  return true;
}

/// The same for many models of a family, most of which must be far enough from touching.
inline void expect_agreement(Model (*make)(unsigned seed, double shift), const Comparison& comparison, unsigned cases) {
  unsigned compared = 0;
  for (unsigned seed = 0; seed < cases; ++seed) {
    compared += compare([&](double shift) { return make(seed, shift); }, comparison, seed);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, cases / 2);
}

}  // namespace saltus::testing
