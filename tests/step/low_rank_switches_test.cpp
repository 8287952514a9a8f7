// Switches that change a few rows of a constant Jacobian: the steps of Rosenbrock methods with corrected factors,
// against those of steppers that know nothing of earlier modes.
#include <gtest/gtest.h>
#include <saltus/step/rosenbrock.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace saltus {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();

/// Heat in a plate of m x m cells with a source in its middle and losses everywhere. Valves add losses in single cells,
/// a bridge joins two cells far apart, a lamp warms a row of cells by what one of them is colder than 1. Beside it
/// stand p + q = 2 T_0 and p + (1 + delta) q = 2 T_0, so that q = 0 and p = 2 T_0 for every delta.
class Plate final : public System {
 public:
  Plate(int m, double s) : m_(m), cells_(m * m), s_(s), valves(2, 0.0) {
    std::vector<std::pair<int, int>> places, diagonal;
    for (int i = 0; i < cells_; ++i) {
      places.emplace_back(i, i);
      diagonal.emplace_back(i, i);
      for_each_neighbour(i, [&](int j) { places.emplace_back(i, j); });
      if (i < m) places.emplace_back(i, sensor());
    }
    places.insert(places.end(), {{1, cells_ - 2}, {cells_ - 2, 1}});
    for (int i = cells_; i < cells_ + 2; ++i) places.insert(places.end(), {{i, 0}, {i, cells_}, {i, cells_ + 1}});
    structure_.equations = structure_.variables = cells_ + 2;
    structure_.state_pattern = make_pattern(cells_ + 2, cells_ + 2, places);
    structure_.derivative_pattern = make_pattern(cells_ + 2, cells_ + 2, diagonal);
    structure_.constant_mass = structure_.constant_jacobian = true;
  }
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    for (int i = 0; i < cells_; ++i) {
      double sum = i == cells_ / 2 ? 10.0 : 0.0;
      for_each_neighbour(i, [&](int j) { sum += s_ * (x[j] - x[i]); });
      if (i < m_) sum += lamp * (1.0 - x[sensor()]);
      F[i] = xp[i] - sum + everywhere * x[i];
    }
    for (std::size_t k = 0; k < valves.size(); ++k) F[valve(k)] += s_ * valves[k] * x[valve(k)];
    F[1] += s_ * bridge * (x[1] - x[cells_ - 2]);
    F[cells_ - 2] += s_ * bridge * (x[cells_ - 2] - x[1]);
    F[cells_] = x[cells_] + x[cells_ + 1] - 2.0 * x[0];
    F[cells_ + 1] = x[cells_] + (1.0 + delta) * x[cells_ + 1] - 2.0 * x[0];
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    const SparsePattern& p = structure_.state_pattern;
    std::ranges::fill(Fx, 0.0);
    std::ranges::fill(Fxp, 1.0);
    const auto add = [&](int i, int j, double value) {
      const auto begin = p.row.begin() + p.start[j], end = p.row.begin() + p.start[j + 1];
      Fx[static_cast<std::size_t>(std::lower_bound(begin, end, i) - p.row.begin())] += value;
    };
    for (int i = 0; i < cells_; ++i) {
      add(i, i, everywhere);
      for_each_neighbour(i, [&](int j) { add(i, j, -s_), add(i, i, s_); });
      if (i < m_) add(i, sensor(), lamp);
    }
    for (std::size_t k = 0; k < valves.size(); ++k) add(valve(k), valve(k), s_ * valves[k]);
    for (const auto& [i, j] : {std::pair{1, cells_ - 2}, {cells_ - 2, 1}})
      add(i, i, s_ * bridge), add(i, j, -s_ * bridge);
    for (int i = cells_; i < cells_ + 2; ++i)
      add(i, 0, -2.0), add(i, cells_, 1.0), add(i, cells_ + 1, i == cells_ ? 1.0 : 1.0 + delta);
  }
  int valve(std::size_t k) const { return (static_cast<int>(k) + 1) * cells_ / 4 + 3; }
  int sensor() const { return m_ * (m_ / 3) + m_ / 2; }
  int cells() const { return cells_; }

 private:
  template <class Visit>
  void for_each_neighbour(int i, Visit visit) const {
    if (i % m_ > 0) visit(i - 1);
    if (i % m_ < m_ - 1) visit(i + 1);
    if (i >= m_) visit(i - m_);
    if (i < cells_ - m_) visit(i + m_);
  }
  int m_, cells_;
  double s_;
  Structure structure_;

 public:
  std::vector<double> valves;
  double bridge = 0.0, lamp = 0.0, delta = 1.0, everywhere = 1.0;
};

struct Outcome {
  std::vector<double> x;
  std::vector<double> times;  // of all steps
  StepStatistics statistics;
  std::string description;
};

constexpr double longest = 0x1p-7;  // one of the sizes in which factors are kept

/// Steps of one size, and shorter ones to each switch; `set(plate, k)` makes mode k.
template <class Set>
Outcome integrate(const std::string& method, bool anew, int switches, Set set, int m = 24) {
  const RosenbrockTableau& tableau = method == "rodas4" ? rodas_4() : rodas_5p();
  Plate plate(m, 2000.0);
  Outcome result{std::vector<double>(static_cast<std::size_t>(plate.cells() + 2), 0.0), {}, {}, ""};
  std::vector<double> xp(result.x.size(), 0.0);
  xp[static_cast<std::size_t>(plate.cells() / 2)] = 10.0;
  const StepOptions options{.rtol = 0.1, .atol = {0.1}, .max_step = longest};
  std::unique_ptr<Stepper> stepper = make_rosenbrock(tableau, options);
  for (int k = 0; k < switches; ++k) {
    set(plate, k);
    if (anew && k > 0) {
      result.statistics += stepper->statistics();
      stepper = make_rosenbrock(tableau, options);
    }
    const double t0 = k * 6.4 * longest, t1 = (k + 1) * 6.4 * longest;
    stepper->start(plate, {.t = t0, .x = result.x, .xp = xp, .step = longest});
    while (stepper->t() < t1) {
      EXPECT_TRUE(stepper->advance(t1).ok());
      result.times.push_back(stepper->t());
    }
    result.x.assign(stepper->x().begin(), stepper->x().end());
    xp.assign(stepper->xp().begin(), stepper->xp().end());
  }
  result.statistics += stepper->statistics();
  result.description = stepper->linear_algebra();
  return result;
}

/// Errors of solutions are `condition` times eps; a step adds them with factors whose sum is 23 at most, and the
/// equations damp what came before.
void expect_same(const Outcome& one, const Outcome& other, double condition) {
  ASSERT_EQ(one.times, other.times);
  ASSERT_EQ(one.statistics.rejected, 0);
  double largest = 0.0;
  for (const double value : other.x) largest = std::max(largest, std::abs(value));
  for (std::size_t j = 0; j < one.x.size(); ++j)
    EXPECT_NEAR(one.x[j], other.x[j], 23.0 * static_cast<double>(one.times.size()) * condition * eps * largest) << j;
}

constexpr double stiff = 1.0 + 8.0 * 2000.0 * longest;  // condition of a step

class LowRankSwitches : public testing::TestWithParam<std::string> {};

TEST_P(LowRankSwitches, CorrectedFactorsGiveTheStepsOfNewOnes) {
  std::mt19937 random(11);
  std::vector<unsigned> modes;
  for (int k = 0; k < 80; ++k) modes.push_back(static_cast<unsigned>(random()));
  const auto set = [&](Plate& plate, int k) {
    for (unsigned i = 0; i < 2; ++i) plate.valves[i] = 3.0 * (modes[static_cast<std::size_t>(k)] >> i & 1u);
    plate.bridge = 5.0 * (modes[static_cast<std::size_t>(k)] >> 4 & 1u);
    plate.lamp = 100.0 * (modes[static_cast<std::size_t>(k)] >> 5 & 1u);
  };
  const Outcome kept = integrate(GetParam(), false, 80, set, 40), anew = integrate(GetParam(), true, 80, set, 40);
  expect_same(kept, anew, stiff);
  EXPECT_EQ(anew.statistics.low_rank_updates, 0);
  EXPECT_EQ(anew.statistics.factorisations, 160);
  // of the 80 modes 16 come before step sizes are known to come again; then a mode has one for the step to its end
  EXPECT_GE(kept.statistics.low_rank_updates, 55);
  EXPECT_LE(kept.statistics.factorisations, 2 * 18 + 62);
  EXPECT_NE(kept.description.find("corrected behind switches"), std::string::npos) << kept.description;
}

// The matrix that was factorised first is nearly singular; corrections would have errors of its condition number.
TEST_P(LowRankSwitches, BadlyConditionedCorrectionsAreLeftToNewFactors) {
  const auto set = [](Plate& plate, int k) { plate.delta = k < 40 ? 1e-9 : 1.0; };
  const Outcome kept = integrate(GetParam(), false, 60, set), anew = integrate(GetParam(), true, 60, set);
  EXPECT_EQ(kept.statistics.low_rank_updates, 0);
  // those of the new mode are kept, too
  EXPECT_LE(kept.statistics.factorisations, 120);
  EXPECT_GE(kept.statistics.factorisations, 60);
  expect_same(kept, anew, stiff);
  EXPECT_NEAR(kept.x[static_cast<std::size_t>(24 * 24)], 2.0 * kept.x[0], 1e-12);
  EXPECT_EQ(kept.description.find("corrected"), std::string::npos) << kept.description;
}

TEST_P(LowRankSwitches, ASensorThatManyCellsReadIsOneTerm) {
  const auto set = [](Plate& plate, int k) { plate.lamp = k < 20 ? 0.0 : 100.0; };
  const Outcome kept = integrate(GetParam(), false, 40, set), anew = integrate(GetParam(), true, 40, set);
  expect_same(kept, anew, stiff);
  EXPECT_GE(kept.statistics.low_rank_updates, 1);
}

TEST_P(LowRankSwitches, MoreTermsThanFactorsAreWorthMakeNewFactors) {
  const auto set = [](Plate& plate, int k) { plate.everywhere = k < 30 ? 1.0 : 2.0; };
  const Outcome kept = integrate(GetParam(), false, 60, set), anew = integrate(GetParam(), true, 60, set);
  expect_same(kept, anew, stiff);
  EXPECT_EQ(kept.statistics.low_rank_updates, 0);
}

std::string name_of(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

INSTANTIATE_TEST_SUITE_P(Methods, LowRankSwitches, testing::Values("rodas4", "rodas5p"), name_of);

}  // namespace
}  // namespace saltus
