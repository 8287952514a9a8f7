// Problems of optimal control with friction, impacts and switches, against closed forms and the best values known.
#include <gtest/gtest.h>
#include <saltus/optimise/optimise.hpp>

#include <cstdio>

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

}  // namespace
