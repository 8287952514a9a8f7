// Every model of the gallery as an FMU for co-simulation, at several step sizes: its values are those of a run without
// an FMU.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>

#include "fmi/fmu_master.hpp"

namespace saltus::fmi_tests {
namespace {

/// A run of the model as `saltus run` makes it.
struct Reference {
  explicit Reference(const std::string& name) : source(gallery_model(name)), run(simulate(source.model, options())) {}

  SimulateOptions options() const {
    SimulateOptions o;
    o.start = source.experiment.start.value_or(0.0);
    o.stop = source.experiment.stop.value_or(o.start + 1.0);
    o.rtol = o.atol = source.experiment.tolerance.value_or(1e-6);
    return o;
  }
  /// Times at which values change so fast that errors of the event times show: near events.
  bool near_event(double t) const {
    const double width = 1e-5 * (run.t_end() - run.t_start());
    return std::ranges::any_of(run.events(), [&](const Event& e) { return std::abs(e.t - t) < width; });
  }
  /// The largest value of a variable, for relative errors.
  std::vector<double> sizes() const {
    std::vector<double> sizes(run.variables().size(), 1e-3);
    const auto samples = run.sample(200);
    for (const auto& row : samples.values)
      for (std::size_t k = 0; k < row.size(); ++k) sizes[k] = std::max(sizes[k], std::abs(row[k]));
    return sizes;
  }

  ModelicaModel source;
  Trajectory run;
};

/// Compares all variables at a communication point.
template <class Instance>
double largest_error(const Instance& instance, const Reference& reference, const std::vector<double>& sizes, double t) {
  const std::vector<double> exact = reference.run.at(t);
  double error = 0.0;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const VariableInfo& v = reference.run.variables()[k];
    const double value = instance.number(v.name, v.details->type);
    error = std::max(error, std::abs(value - exact[k]) / sizes[k]);
  }
  return error;
}

// Both runs have global errors of some hundred times the tolerance (they restart at different points); what remains is
// a bound that every gallery model keeps with its own tolerance, and that no wrong event, mode or value keeps.
double bound(const Reference& reference) {
  return std::max(1e-6, 3e3 * reference.options().rtol);
}

const std::vector<int> step_counts = {1, 2, 3, 7, 10, 16, 33, 50, 100, 144};

class Gallery : public testing::TestWithParam<std::string> {};

TEST_P(Gallery, co_simulation_2_at_ten_step_sizes_equals_a_run) {
  const Reference reference(GetParam());
  const std::vector<double> sizes = reference.sizes();
  const LoadedFmu fmu(reference.source, {.version = FmiVersion::fmi2});
  const Instance2 instance(fmu, fmi2::co_simulation);
  ASSERT_TRUE(instance.exists()) << last_message();
  const double start = reference.run.t_start(), stop = reference.run.t_end();
  double worst = 0.0;
  for (const int count : step_counts) {
    instance.initialise(start, reference.options().stop);
    for (int k = 0; k < count; ++k) {
      const double t = start + k * (stop - start) / count, h = (stop - start) / count;
      ASSERT_EQ(instance.step(t, h), fmi2::ok) << last_message();
      if (!reference.near_event(t + h) || k + 1 == count)
        worst = std::max(worst, largest_error(instance, reference, sizes, std::min(t + h, stop)));
    }
    ASSERT_EQ(instance.plain("fmi2Terminate"), fmi2::ok) << last_message();
    ASSERT_EQ(instance.plain("fmi2Reset"), fmi2::ok) << last_message();
  }
  EXPECT_LT(worst, bound(reference));
  RecordProperty("worst", fmt::format("{}", worst));
}

TEST_P(Gallery, co_simulation_3_at_ten_step_sizes_equals_a_run_also_with_early_return) {
  const Reference reference(GetParam());
  const std::vector<double> sizes = reference.sizes();
  const LoadedFmu fmu(reference.source, {.version = FmiVersion::fmi3});
  const double start = reference.run.t_start(), stop = reference.run.t_end();
  double worst = 0.0;
  for (const bool event_mode : {false, true}) {
    const Instance3 instance(fmu, {.event_mode = event_mode});
    ASSERT_TRUE(instance.exists()) << last_message();
    for (const int count : step_counts) {
      instance.initialise(start, reference.options().stop);
      if (event_mode) {
        ASSERT_EQ(instance.plain("fmi3EnterStepMode"), fmi3::ok) << last_message();
      }
      int early = 0;
      for (int k = 0; k < count; ++k) {
        const double end = k + 1 == count ? stop : start + (k + 1) * (stop - start) / count;
        double t = start + k * (stop - start) / count;
        while (t < end) {
          const auto outcome = instance.step(t, end - t);
          ASSERT_EQ(outcome.status, fmi3::ok) << last_message();
          ASSERT_EQ(outcome.early, outcome.event);
          ASSERT_TRUE(event_mode || !outcome.early);
          ASSERT_GT(outcome.t, t);
          t = outcome.t;
          if (!outcome.early) break;
          ++early;
          // the end of an early step is an event of the run, up to its error
          ASSERT_TRUE(reference.near_event(t)) << t;
          ASSERT_EQ(instance.plain("fmi3EnterEventMode"), fmi3::ok);
          bool again = true, terminate = true, nominals = true, values = true, defined = true;
          double next = 0.0;
          ASSERT_EQ(instance.call<fmi3::UpdateDiscreteStatesFunction>("fmi3UpdateDiscreteStates", &again, &terminate,
                                                                      &nominals, &values, &defined, &next),
                    fmi3::ok);
          ASSERT_FALSE(again || terminate);
          ASSERT_EQ(instance.plain("fmi3EnterStepMode"), fmi3::ok);
          if (early > 2000) break;  // accumulating events: a step for each is the importer's wish
        }
        ASSERT_NEAR(t, end, 1e-9 * (stop - start));
        if (!reference.near_event(end) || k + 1 == count)
          worst = std::max(worst, largest_error(instance, reference, sizes, end));
      }
      ASSERT_EQ(instance.plain("fmi3Terminate"), fmi3::ok);
      ASSERT_EQ(instance.plain("fmi3Reset"), fmi3::ok);
    }
  }
  EXPECT_LT(worst, bound(reference));
  RecordProperty("worst", fmt::format("{}", worst));
}

TEST_P(Gallery, two_instances_at_once_have_the_same_values) {
  const Reference reference(GetParam());
  const LoadedFmu fmu(reference.source, {.version = FmiVersion::fmi2});
  const Instance2 one(fmu, fmi2::co_simulation), other(fmu, fmi2::co_simulation), alone(fmu, fmi2::co_simulation);
  const double start = reference.run.t_start(), stop = reference.run.t_end(), h = (stop - start) / 8;
  for (const Instance2* instance : {&one, &other, &alone}) instance->initialise(start, reference.options().stop);
  const auto step = [&](const Instance2& instance, int k) {
    ASSERT_EQ(instance.step(start + k * h, h), fmi2::ok) << last_message();
  };
  for (int k = 0; k < 8; ++k) step(alone, k);
  for (int k = 0; k < 4; ++k) step(one, k);  // one is ahead
  for (int k = 0; k < 4; ++k) {
    step(other, k);
    step(one, 4 + k);
  }
  for (int k = 4; k < 8; ++k) step(other, k);
  for (const VariableInfo& v : reference.run.variables()) {
    const double expected = alone.number(v.name, v.details->type);
    EXPECT_EQ(one.number(v.name, v.details->type), expected) << v.name;
    EXPECT_EQ(other.number(v.name, v.details->type), expected) << v.name;
  }
}

TEST_P(Gallery, parameters_that_are_set_are_those_of_a_run) {
  const Reference reference(GetParam());
  const CompiledModel compiled(reference.source.model);
  const LoadedFmu fmu(reference.source, {.version = FmiVersion::fmi3});
  const auto parameters = compiled.parameters();
  if (parameters.empty()) GTEST_SKIP() << "it has no parameters";
  const auto [name, value] = parameters.front();
  const double changed = value == 0.0 ? 0.01 : 1.01 * value;
  const Trajectory expected = simulate(compiled.with_values({{name, changed}}), reference.options());
  ASSERT_TRUE(expected.status().ok()) << expected.status().message;
  const std::vector<double> sizes = reference.sizes();
  const Instance3 instance(fmu, {});
  ASSERT_EQ(instance.set(name, changed), fmi3::ok) << last_message();
  const double start = expected.t_start(), stop = expected.t_end(), h = (stop - start) / 5;
  instance.initialise(start, reference.options().stop);
  for (int k = 0; k < 5; ++k) ASSERT_EQ(instance.step(start + k * h, h).status, fmi3::ok) << last_message();
  const std::vector<double> values = expected.final();
  for (std::size_t k = 0; k < values.size(); ++k) {
    const VariableInfo& v = expected.variables()[k];
    EXPECT_LT(std::abs(instance.number(v.name, v.details->type) - values[k]) / sizes[k], bound(reference)) << v.name;
  }
}

INSTANTIATE_TEST_SUITE_P(models, Gallery, testing::ValuesIn(gallery_names()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace saltus::fmi_tests
