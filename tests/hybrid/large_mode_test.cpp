// A thermostat on a rod in many cells, as differential-algebraic equations of index 1: what is done otherwise in very large modes (ordering
// kept between events, memory given back, structure-exploiting matrices) must not change the answer.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>

namespace saltus {
namespace {

/// Energy e and temperature T of each cell; heated on the left while the sensor asks for it.
Model rod(int cells) {
  Model m("rod");
  std::vector<Expr> T, e;
  for (int i = 0; i < cells; ++i) {
    const double start = 0.9 * (1.0 - 0.3 * (i + 0.5) / cells);
    T.push_back(m.variable("T" + std::to_string(i), start));
    e.push_back(m.variable("e" + std::to_string(i), start + 0.2 * start * start));
  }
  const Expr heater = m.discrete("heater", 1.0);
  Expr left = 4.0 * heater;
  for (int i = 0; i < cells; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const Expr right = i + 1 < cells ? (T[k] - T[k + 1]) * static_cast<double>(cells) : T[k];
    m.equation(der(e[k]) == (left - right) * static_cast<double>(cells));
    m.equation(e[k] == T[k] + 0.2 * T[k] * T[k]);
    left = right;
  }
  const Expr sensor = T[static_cast<std::size_t>(cells / 4)];
  m.when(sensor > 1.05).assign(heater, 0.0);
  m.when(sensor < 0.95).assign(heater, 1.0);
  return m;
}

std::vector<double> switching_times(const std::shared_ptr<CompiledModel>& model, Method method, double tolerance) {
  const Trajectory run = simulate(model, {.stop = 0.4, .rtol = tolerance, .atol = tolerance, .method = method,
                                          .keep_steps = false, .keep_event_values = false});
  EXPECT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_NE(run.statistics().method.find("banded (1 + 1), 6000 of 12000 eliminated"), std::string::npos)
      << run.statistics().method;
  EXPECT_EQ(&run.variables(), &model->observed());  // names are not copied
  std::vector<double> times;
  for (const Event& event : run.events())
    if (!event.actions.empty()) times.push_back(event.t);
  return times;
}

TEST(LargeMode, TwoMethodsSwitchAtTheSameTimes) {
  const auto model = std::make_shared<CompiledModel>(rod(6000));
  const std::vector<double> one = switching_times(model, Method::rodas5p, 1e-6), two = switching_times(model, Method::radau5, 1e-6);
  ASSERT_GE(one.size(), 2u);
  ASSERT_EQ(one.size(), two.size());
  // errors of T of some tolerances, over the slope of the sensor, about 1, add up from switch to switch
  for (std::size_t k = 0; k < one.size(); ++k) EXPECT_NEAR(one[k], two[k], 1e-4) << k;
}

}  // namespace
}  // namespace saltus
