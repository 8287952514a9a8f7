// The text for devices, compiled for this processor: members have the bits that they have in lanes. (What a device
// makes of it is compared by saltus_bench_studies, where there is one.)
#include <gtest/gtest.h>

#include "study/device_text.hpp"
#include "study/models.hpp"

namespace saltus {
namespace {

/// `least`: members that the text flies to their end. `attempts`: as in DeviceRun.
void compare(const Model& model, const StudyPlan& plan, long long attempts, std::size_t least) {
  const study_tests::DeviceRun device(Study(model, plan), attempts);
  EXPECT_EQ(device.refusal(), "");
  EXPECT_GE(device.landed().size(), least);
}

TEST(DeviceText, ImpactsHaveTheBitsOfLanes) {
  StudyPlan plan = testing::impact_plan(50);
  plan.collect = {{Collect::sample, "x"}, {Collect::sample, "v"}, {Collect::final_value, "T"}};
  compare(testing::impact_oscillator(), plan, 37, 100);
}

TEST(DeviceText, SlidesHaveTheBitsOfLanes) {
  compare(testing::dry_friction(),
          {.axes = {{"r", 1.0, 5.0, 100}},
           .simulate = {.stop = 100.0, .rtol = 1e-6, .atol = 1e-6},
           .collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}}},
          1'000'000, 100);
}

TEST(DeviceText, ExtremaAndMeansHaveTheBitsOfLanes) {
  StudyPlan impacts = testing::impact_plan(50);
  impacts.collect = {{Collect::maximum, "x"}, {Collect::minimum, "v"}, {Collect::mean, "v"}, {Collect::sample, "x"}};
  compare(testing::impact_oscillator(), impacts, 37, 100);
  compare(testing::dry_friction(),
          {.axes = {{"r", 1.0, 5.0, 100}},
           .simulate = {.stop = 100.0, .rtol = 1e-6, .atol = 1e-6},
           .collect_after = 61.3,
           .collect = {{Collect::minimum, "x"}, {Collect::mean, "v"}, {Collect::maximum, "v"}}},
          1'000'000, 100);
}

TEST(DeviceText, SamplesClocksAndCountersHaveTheBitsOfLanes) {
  Model m("sampled");
  const Expr gain = m.parameter("gain", 1.5);
  const Expr x = m.variable("x", 1.0, {.fixed = true}), energy = m.variable("energy");
  const Expr held = m.discrete("held", 0.0), count = m.discrete("count", 0.0);
  m.equation(der(x) == -0.3 * x + held + if_else(m.time() > 2.25, Expr(0.5), Expr(0.0)));
  m.equation(energy == exp(-x) * sqrt(1.0 + x * x) + log(2.0 + x * x));
  m.when(m.sample(0.0, 0.1)).assign(held, -gain * x).assign(count, m.pre(count) + 1.0);
  compare(m,
          {.axes = {{"gain", 0.5, 2.5, 70}},
           .simulate = {.stop = 5.05, .rtol = 1e-7, .atol = 1e-7},
           .collect = {{Collect::final_value, "energy"},
                       {Collect::mean, "energy"},
                       {Collect::maximum, "held"},
                       {Collect::count, "count"},
                       {Collect::first, "count"}}},
          100, 70);
}

// Guards that are not affine are proved on a device as in lanes: the same members fly, with the same bits.
TEST(DeviceText, NonlinearGuardsAreProvedAsInLanes) {
  Model pulse("pulse");
  const Expr c = pulse.parameter("c", 0.5), x = pulse.variable("x", 0.0, {.fixed = true}), n = pulse.discrete("n", 0.0);
  pulse.equation(der(x) == 1.0);
  pulse.when(exp(-4e4 * (x - c) * (x - c)) > 0.5).assign(n, pulse.pre(n) + 1.0);
  const StudyPlan plan{.axes = {{"c", 0.1, 9.9, 100}}, .simulate = {.stop = 10.0}, .collect = {{Collect::count, "n"}}};
  compare(pulse, plan, 1000, 97);
  Model circle("circle");
  const Expr r = circle.parameter("r", 0.5), k = circle.discrete("k", 0.0);
  const Expr u = circle.variable("u", 1.0, {.fixed = true}), v = circle.variable("v", 0.0, {.fixed = true});
  circle.equation(der(u) == v);
  circle.equation(der(v) == -4.0 * u);
  circle.when(u * u > r).assign(k, circle.pre(k) + 1.0);
  compare(circle,
          {.axes = {{"r", 0.2, 0.9, 100}},
           .simulate = {.stop = 20.0, .rtol = 1e-7, .atol = 1e-7},
           .collect = {{Collect::final_value, "u"}, {Collect::count, "k"}}},
          1000, 90);
}

// Steps, arrivals and resets on constraints of index 3, with the impulse of the rod.
TEST(DeviceText, ConstraintsHaveTheBitsOfLanes) {
  compare(testing::pendulum_at_a_wall(),
          {.axes = {{"restitution", 0.7, 0.99, 70}},
           .simulate = {.stop = 4.0, .rtol = 1e-7, .atol = 1e-7},
           .collect = {{Collect::final_value, "u"}, {Collect::maximum, "force"}, {Collect::count, "impacts"}}},
          50, 70);
}

TEST(DeviceText, FunctionsWithoutTextAreRefusedByName) {
  Model m("tangent");
  const Expr a = m.parameter("a", 1.0), x = m.variable("x", 0.5, {.fixed = true});
  m.equation(der(x) == -a * tanh(x));
  const Study study(m, {.axes = {{"a", 0.5, 2.0, 70}}, .collect = {{Collect::final_value, "x"}}});
  const study_tests::DeviceRun device(study, 1000);
  EXPECT_TRUE(device.landed().empty());
  EXPECT_NE(device.refusal().find("'tanh'"), std::string::npos) << device.refusal();
}

}  // namespace
}  // namespace saltus
