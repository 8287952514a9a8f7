#include "hybrid/kept_modes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <vector>

namespace saltus {
namespace {

/// A walk through modes of a size: each step changes few numbers, or goes back to one of the last modes.
std::vector<Mode> walk(std::size_t discretes, std::size_t locks, int steps, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  Mode mode{.automaton = 0,
            .discrete = std::vector<double>(discretes, 0.0),
            .locks = std::vector<double>(locks, 1.0),
            .conditions = {}};
  std::vector<Mode> modes{mode};
  for (int k = 0; k < steps; ++k) {
    if (below(5) == 0) mode = modes[modes.size() - 1 - below(std::min<std::size_t>(modes.size(), 6))];
    for (std::size_t changes = below(3); changes-- > 0;) {
      if (discretes > 0) mode.discrete[below(discretes)] += 1.0;
      if (locks > 0) {
        double& lock = mode.locks[below(locks)];
        lock = 1.0 - lock;
      }
    }
    if (below(4) == 0) {
      const int guard = static_cast<int>(below(50));
      const auto place = std::ranges::lower_bound(mode.sliding, guard);
      if (place != mode.sliding.end() && *place == guard)
        mode.sliding.erase(place);
      else
        mode.sliding.insert(place, guard);
    }
    if (below(20) == 0) mode.automaton = static_cast<int>(below(3));
    if (below(10) == 0) {
      mode.contacts = {static_cast<int>(below(9))};
      mode.contact_sides = {below(2) == 0 ? -1 : +1};
    }
    modes.push_back(mode);
  }
  return modes;
}

TEST(KeptModes, GiveBackWhatTheyWereGiven) {
  for (const std::size_t size : {0u, 1u, 3u, 20u, 400u, 3000u})
    for (const unsigned seed : {1u, 2u, 3u}) {
      KeptModes kept;
      const std::vector<Mode> modes = walk(size / 3, size, 300, seed);
      std::vector<int> numbers;
      int with_new_numbers = 0;
      for (std::size_t k = 0; k < modes.size(); ++k) {
        const auto alike = [&](const Mode& other) {
          return other.automaton == modes[k].automaton && other.sliding == modes[k].sliding &&
                 other.contacts == modes[k].contacts && other.contact_sides == modes[k].contact_sides;
        };
        const std::size_t like = k < 5 ? k : k - 1 - k % 5;
        const bool in_numbers = k % 3 == 2 && like < k && alike(modes[like]);
        with_new_numbers += in_numbers ? 1 : 0;
        numbers.push_back(in_numbers ? kept.keep_new(modes[k], numbers[like]) : kept.keep(modes[k]));
      }
      EXPECT_GT(with_new_numbers, 20);
      const KeptModes copied = kept;
      for (std::size_t k = 0; k < modes.size(); ++k) {
        ASSERT_EQ(kept.mode(numbers[k]), modes[k]) << size << " " << seed << " " << k;
        ASSERT_EQ(copied.mode(numbers[k]), modes[k]);
      }
      KeptModes::Read last;
      for (std::size_t k = 0; k < modes.size(); ++k) ASSERT_EQ(kept.read(numbers[k], last), modes[k]);
      ASSERT_LE(kept.size(), modes.size());
    }
}

TEST(KeptModes, GiveBackModesOfWhichOnlyChangesAreTold) {
  constexpr std::size_t discretes = 200, locks = 600;
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  KeptModes kept;
  Mode mode{.automaton = 0,
            .discrete = std::vector<double>(discretes, 0.0),
            .locks = std::vector<double>(locks, 1.0),
            .conditions = {}};
  std::vector<Mode> modes{mode};
  std::vector<int> numbers{kept.keep(mode)};
  for (int k = 0; k < 1500; ++k) {
    std::vector<std::size_t> places;
    for (int changes = 0; changes < 3; ++changes) {
      const std::size_t place = below(discretes + locks);
      places.push_back(place);
      (place < discretes ? mode.discrete[place] : mode.locks[place - discretes]) = static_cast<double>(below(4));
    }
    if (k % 5 == 0) mode.sliding = {static_cast<int>(below(40)), 50 + static_cast<int>(below(40))};
    if (k % 11 == 0) mode.contacts = {static_cast<int>(below(9))}, mode.contact_sides = {-1};
    modes.push_back(mode);
    std::vector<int> before, now, toggled;
    surface::list(modes[modes.size() - 2], before);
    surface::list(mode, now);
    std::ranges::set_symmetric_difference(before, now, std::back_inserter(toggled));
    if (k % 3 == 0) std::ranges::reverse(toggled);
    Mode unaware = mode;  // surfaces are told, not looked for
    if (k % 2 == 0) unaware.sliding = {7}, unaware.contacts = {}, unaware.contact_sides = {};
    numbers.push_back(k % 100 == 99 ? kept.keep(mode) : kept.keep_changed(unaware, places, toggled));
  }
  EXPECT_EQ(kept.keep_changed(mode, {}, {}), numbers.back());
  EXPECT_EQ(kept.keep(mode), numbers.back());
  for (std::size_t k = 0; k < modes.size(); ++k) ASSERT_EQ(kept.mode(numbers[k]), modes[k]) << k;
  KeptModes::Read last;  // in turn, with jumps forward and back
  for (std::size_t k = 0, reads = 0; k < modes.size() && reads < 5000; ++reads) {
    ASSERT_EQ(kept.read(numbers[k], last), modes[k]) << k;
    k = reads % 40 == 39 ? below(modes.size()) : k + below(4);
  }
}

TEST(KeptModes, NumberEqualModesAlike) {
  KeptModes kept;
  Mode a{.automaton = 0, .discrete = std::vector<double>(100, 0.0), .locks = {1.0}, .conditions = {1.0}};
  Mode b = a;
  b.discrete[50] = 2.0;
  Mode c = a;
  c.conditions = {0.0};  // only the next event reads it
  c.sees = {1};
  EXPECT_EQ(kept.keep(a), 0);
  EXPECT_EQ(kept.keep(b), 1);
  EXPECT_EQ(kept.keep(a), 0);
  EXPECT_EQ(kept.keep(c), 0);
  EXPECT_EQ(kept.keep(b), 1);
  b.discrete[50] = -0.0;  // zero, too
  EXPECT_EQ(kept.keep(b), 0);
  EXPECT_EQ(kept.size(), 2u);
}

}  // namespace
}  // namespace saltus
