// Problems of optimal control with friction, impacts and switches, against closed forms and the best values known.
#include <gtest/gtest.h>
#include <saltus/optimise/optimise.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "effort.hpp"
#include "optimise/gallery.hpp"
#include "optimise/problem.hpp"

using namespace saltus;

namespace {

struct Known {
  const char* name;
  gallery::Case (*make)();
  double value;        ///< the best that is known
  double share;        ///< how much more counts as found
  bool slow = false;   ///< left out unless more effort is asked for
  bool local = false;  ///< impacts make many local optima: only feasibility is asked for
};

const Known known[] = {
    {"voice_coil", gallery::voice_coil, 0.79443901, 1e-5},
    {"voice_coil_time", gallery::voice_coil_time, 7.6404352, 1e-5},
    {"sliding_mode", gallery::sliding_mode, 5.3930544, 1e-5},
    {"car_turbo", gallery::car_turbo, 40.0 / 3.0, 1e-5},
    {"car_turbo_free", gallery::car_turbo_free, 40.0 / 3.0, 1e-5},
    {"car_hysteresis", [] { return gallery::car_hysteresis(false); }, 10.229258, 1e-5},
    {"car_hysteresis_free", [] { return gallery::car_hysteresis(true); }, 10.133333, 1e-5},
    {"three_carts", gallery::three_carts, 213.46786, 1e-3},
    {"hopper", gallery::hopper, 1.0581867, 1e-4},
    {"throwing_ball", gallery::throwing_ball, 9.857, 1e-3, false, true},
    {"two_regions", gallery::two_regions, 1.5237728, 1e-6},
    {"three_regions", gallery::three_regions, 4.8790973, 1e-5},
    {"fishing_relaxed", gallery::fishing_relaxed, 1.3446573, 1e-6},
    {"fishing_switches", [] { return gallery::fishing(2); }, 1.3827554, 1e-6},
    {"buck_start", gallery::buck_start, 9.9667261, 1e-3, false, true},
    {"friction_rest", gallery::friction_rest, 4.1866329, 1e-4},
    {"relay_period", gallery::relay_period, 0.7751474, 1e-5},
    {"batch_valves", gallery::batch_valves, 6.6717723, 1e-3, true},
    {"cart_pole", gallery::cart_pole, 2314.69, 1e-3, true, true},
    {"tanks", gallery::tanks, 7.2998567, 1e-5},
    {"drop_and_slide", gallery::drop_and_slide, 67.955946, 1e-4},
    {"race_car", gallery::race_car, 3.152341, 1e-3, true},
};

class Problems : public ::testing::TestWithParam<Known> {};

void show(const Optimum& best) {
  for (const std::string& note : best.notes) std::printf("  note %s\n", note.c_str());
  for (const OptimiseIteration& i : best.history)
    std::printf("   %4d f %.10g v %.2e R %.1e events %zu %s\n", i.runs, i.objective, i.violation, i.radius, i.events,
                i.step.c_str());
  std::printf("  %s\n", best.message.c_str());
}

/// SALTUS_SHOW=1 prints what was found, SALTUS_SHOW=2 the history, too.
TEST_P(Problems, EndAtTheBestValue) {
  const Known& k = GetParam();
  if (k.slow && test_effort() < 2) GTEST_SKIP() << "takes long: SALTUS_TEST_EFFORT=2";
  const gallery::Case c = k.make();
  const std::clock_t begin = std::clock();
  const Optimum best = optimise(c.model, c.programme, c.options);
  if (const char* asked = std::getenv("SALTUS_SHOW")) {
    std::printf("%-20s %-16s J %.8g (known %.8g) violation %.1e, %d iterations, %d runs, %d nudged, %.2f s\n", k.name,
                std::string(to_string(best.status)).c_str(), best.objective, k.value, best.violation, best.iterations,
                best.runs, best.nudged, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    if (*asked == '2') show(best);
    std::fflush(stdout);
  }
  EXPECT_NE(best.status, OptimumStatus::failed) << best.message;
  EXPECT_LE(best.runs, c.options.max_runs + 4);
  if (k.local) return;
  EXPECT_LE(best.violation, c.options.tolerance) << best.message;
  EXPECT_LE(best.objective, k.value * (1.0 + k.share)) << best.message;
}

/// Objective and rows against differences, at a random point of each problem.
TEST_P(Problems, DerivativesAreThoseOfDifferences) {
  const Known& k = GetParam();
  gallery::Case c = k.make();
  c.options.simulate.rtol = 1e-11;
  c.options.simulate.atol = 1e-13;
  const Transcript transcript(c.model, c.programme, c.options);
  Problem problem(transcript, c.options);
  std::mt19937_64 random(3);
  const auto uniform = [&] { return static_cast<double>(random() >> 11) / 9007199254740992.0; };
  const std::vector<double> guess = transcript.guess();
  Eigen::VectorXd x = Eigen::Map<const Eigen::VectorXd>(guess.data(), problem.n());
  for (Eigen::Index i = 0; i < x.size(); ++i)
    x[i] = std::clamp(x[i] + 0.2 * problem.scale[i] * (uniform() - 0.5), problem.lower[i], problem.upper[i]);
  const auto here = problem.evaluate(x);
  ASSERT_TRUE(here) << problem.failure();
  if (problem.nudged > 0) GTEST_SKIP() << "no derivative there";
  int compared = 0;
  for (int trial = 0; trial < 6; ++trial) {  // along random directions
    Eigen::VectorXd d(x.size());
    for (Eigen::Index i = 0; i < x.size(); ++i) d[i] = problem.scale[i] * (uniform() - 0.5);
    const double h = 1e-6;
    const auto ahead = problem.evaluate(x + h * d), behind = problem.evaluate(x - h * d);
    if (!ahead || !behind || ahead->piece != here->piece || behind->piece != here->piece) continue;
    ++compared;
    const auto near = [&](double slope, double a, double b, double size, const std::string& what) {
      EXPECT_NEAR(slope, (a - b) / (2.0 * h), 2e-5 * std::max({1.0, size, std::abs(slope)})) << k.name << ": " << what;
    };
    near(here->g.dot(d), ahead->f, behind->f, std::abs(here->f), "objective");
    for (Eigen::Index i = 0; i < problem.m(); ++i)
      near(here->A.row(i).dot(d), ahead->c[i], behind->c[i], std::abs(here->c[i]),
           problem.rows[static_cast<std::size_t>(i)].label);
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Optimise, Problems, ::testing::ValuesIn(known),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
