// Problems of optimal control with friction, impacts and switches, against closed forms and the best values known.
#include <gtest/gtest.h>
#include <saltus/optimise/optimise.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "optimise/gallery.hpp"

using namespace saltus;

namespace {

Optimum solved(const gallery::Case& c) {
  const Optimum best = optimise(c.model, c.programme, c.options);
  if (std::getenv("SALTUS_SHOW")) {
    std::printf("%s: %s\n  J %.9g violation %.1e iterations %d runs %d nudged %d\n", c.model.name().c_str(),
                std::string(to_string(best.status)).c_str(), best.objective, best.violation, best.iterations, best.runs,
                best.nudged);
    std::printf("  %s\n", best.message.c_str());
    for (const auto& n : best.notes) std::printf("  note %s\n", n.c_str());
    for (const auto& i : best.history)
      std::printf("   %4d f %.10g v %.2e R %.1e events %zu %s\n", i.runs, i.objective, i.violation, i.radius, i.events,
                  i.step.c_str());
  }
  return best;
}

TEST(Optimise, TwoRegions) {
  const Optimum best = solved(gallery::two_regions());
  EXPECT_EQ(best.status, OptimumStatus::optimal) << best.message;
  EXPECT_NEAR(best.objective, 1.5237728, 1e-6);
}

TEST(Optimise, FishingWithTwoSwitches) {
  const Optimum best = solved(gallery::fishing(2));
  EXPECT_EQ(best.status, OptimumStatus::optimal) << best.message;
  EXPECT_NEAR(best.objective, 1.3827554, 2e-6);
}

TEST(Optimise, VoiceCoilFromZeroControls) {
  const Optimum best = solved(gallery::voice_coil());
  EXPECT_TRUE(best.ok()) << best.message;
  EXPECT_LE(best.objective, 0.79445);
}

struct Known {
  const char* name;
  gallery::Case (*make)();
  double value;
};

/// SALTUS_SHOW=1 SALTUS_CASE=hopper: one of all problems, with its history.
TEST(Optimise, Chosen) {
  static const Known known[] = {
      {"voice_coil", gallery::voice_coil, 0.79443901},
      {"voice_coil_time", gallery::voice_coil_time, 7.6404352},
      {"sliding_mode", gallery::sliding_mode, 5.3930544},
      {"car_turbo", gallery::car_turbo, 40.0 / 3.0},
      {"car_turbo_free", gallery::car_turbo_free, 40.0 / 3.0},
      {"car_hysteresis", [] { return gallery::car_hysteresis(false); }, 10.229258},
      {"car_hysteresis_free", [] { return gallery::car_hysteresis(true); }, 10.133333},
      {"three_carts", gallery::three_carts, 274.11492},
      {"hopper", gallery::hopper, 1.0581867},
      {"throwing_ball", gallery::throwing_ball, 9.857},
      {"two_regions", gallery::two_regions, 1.5237728},
      {"three_regions", gallery::three_regions, 4.8790973},
      {"fishing_relaxed", gallery::fishing_relaxed, 1.3446573},
      {"fishing", [] { return gallery::fishing(2); }, 1.3827554},
      {"buck_start", gallery::buck_start, 9.9667261},
      {"friction_rest", gallery::friction_rest, 4.1866329},
      {"relay_period", gallery::relay_period, 0.7751474},
      {"batch_valves", gallery::batch_valves, 6.6717723},
      {"cart_pole", gallery::cart_pole, 2634.8325},
      {"tanks", gallery::tanks, 7.2998567},
      {"drop_and_slide", gallery::drop_and_slide, 67.955946},
      {"race_car", gallery::race_car, 3.152341},
  };
  const char* chosen = std::getenv("SALTUS_CASE");
  if (!chosen) GTEST_SKIP();
  for (const Known& k : known) {
    if (std::string(chosen) != k.name && std::string(chosen) != "all") continue;
    const std::clock_t begin = std::clock();
    const Optimum best = solved(k.make());
    std::printf("%-20s %-16s J %.8g (known %.8g) violation %.1e, %d iterations, %d runs, %d nudged, %.2f s\n", k.name,
                std::string(to_string(best.status)).c_str(), best.objective, k.value, best.violation, best.iterations,
                best.runs, best.nudged, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    std::fflush(stdout);
  }
}

}  // namespace
