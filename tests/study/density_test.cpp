// Densities: the same counts in any order, and studies of which nothing else is kept.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "study/models.hpp"

namespace saltus {
namespace {

namespace fs = std::filesystem;

struct Point {
  double x, y;
};

std::vector<Point> cloud(std::size_t count, unsigned seed) {
  std::mt19937_64 source(seed);
  const auto uniform = [&] { return static_cast<double>(source() >> 11) * 0x1p-53; };
  std::vector<Point> points;
  for (std::size_t k = 0; k < count; ++k)
    points.push_back({uniform() * 3.0 - 1.0, std::exp(8.0 * uniform()) - 500.0 * uniform()});
  return points;
}

Density density_of(const std::vector<Point>& points, std::int64_t columns, std::int64_t rows) {
  Density density(columns, rows);
  for (const Point& p : points) density.add(p.x, p.y);
  return density;
}

void expect_same(const Density& a, const Density& b) {
  EXPECT_EQ(a.points(), b.points());
  EXPECT_EQ(a.x().low, b.x().low);
  EXPECT_EQ(a.x().cell, b.x().cell);
  EXPECT_EQ(a.y().low, b.y().low);
  EXPECT_EQ(a.y().cell, b.y().cell);
  EXPECT_EQ(a.counts(), b.counts());
}

TEST(Density, CountsEveryPointInItsCell) {
  const std::vector<Point> points = cloud(20'000, 1);
  const Density density = density_of(points, 50, 40);
  const DensityAxis x = density.x(), y = density.y();
  EXPECT_LE(x.count, 50);
  EXPECT_GT(x.count, 25);  // half as wide cells would not fit
  EXPECT_LE(y.count, 40);
  EXPECT_GT(y.count, 20);
  std::vector<std::int64_t> expected(static_cast<std::size_t>(x.count * y.count), 0);
  for (const Point& p : points) {
    const auto column = static_cast<std::int64_t>(std::floor((p.x - x.low) / x.cell));
    const auto row = static_cast<std::int64_t>(std::floor((p.y - y.low) / y.cell));
    ++expected[static_cast<std::size_t>(row * x.count + column)];
  }
  EXPECT_EQ(density.counts(), expected);
  EXPECT_EQ(density.points(), 20'000);
  EXPECT_EQ(density.count(3, 2), expected[static_cast<std::size_t>(2 * x.count + 3)]);
}

TEST(Density, DoesNotDependOnTheOrderOfPoints) {
  std::vector<Point> points = cloud(3000, 2);
  points.push_back({0.0, 1e12});  // far from the others
  const Density first = density_of(points, 64, 33);
  std::mt19937 source(3);
  for (int k = 0; k < 5; ++k) {
    std::ranges::shuffle(points, source);
    expect_same(density_of(points, 64, 33), first);
  }
  std::ranges::sort(points, {}, &Point::y);
  expect_same(density_of(points, 64, 33), first);
  std::ranges::reverse(points);
  expect_same(density_of(points, 64, 33), first);
}

TEST(Density, PartsAddUpToTheWhole) {
  const std::vector<Point> points = cloud(4000, 4);
  Density sum(30, 70);
  for (std::size_t part = 0; part < 7; ++part) {
    std::vector<Point> some;
    for (std::size_t k = part; k < points.size(); k += 7) some.push_back(points[k]);
    sum.add(density_of(some, 30, 70));
  }
  expect_same(sum, density_of(points, 30, 70));
  Density again(30, 70);
  again.restore(sum.range(), sum.counts());
  expect_same(again, sum);
}

TEST(Density, TakesNumbersOfAllSizes) {
  const double big = std::numeric_limits<double>::max(), small = std::numeric_limits<double>::denorm_min();
  Density density(10, 10);
  EXPECT_EQ(density.x().count, 0);
  EXPECT_TRUE(density.counts().empty());
  density.add(std::nan(""), 1.0);
  density.add(1.0, std::numeric_limits<double>::infinity());
  EXPECT_EQ(density.points(), 0);
  for (const double x : {0.0, small, -small, 1.0, 1.0, std::nextafter(1.0, 2.0), -1e300, big, -big}) density.add(x, x);
  EXPECT_EQ(density.points(), 9);
  std::int64_t sum = 0;
  for (const std::int64_t n : density.counts()) sum += n;
  EXPECT_EQ(sum, 9);
  Density one(10, 10);
  one.add(3.25, -7.5);
  EXPECT_EQ(one.counts(), std::vector<std::int64_t>{1});
  EXPECT_THROW(Density(0, 5), UsageError);
  EXPECT_THROW(Density(100'000, 100'000), UsageError);
  EXPECT_THROW(one.restore({0, 1, 0, 1}, {1, 2, 3}), UsageError);
}

class DensityStudy : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("saltus-density-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
  const Model model_ = testing::impact_oscillator();
  const StudyPlan plan_ = testing::impact_plan(40);
  const DensityPlan reduce_{.x = "omega", .y = "x", .columns = 20, .rows = 30};
};

/// The density of what a study has stored.
Density density_of(const StudyResult& result) {
  Density density(20, 30);
  const std::vector<double> x = result.values("omega"), y = result.values("x");
  const std::size_t width = y.size() / x.size();
  for (std::size_t k = 0; k < y.size(); ++k) density.add(x[k / width], y[k]);
  return density;
}

TEST_F(DensityStudy, IsThatOfTheMembers) {
  const StudyResult whole = run_study(model_, plan_);
  const StudyResult reduced = run_study(model_, plan_, {.block = 7, .reduce = reduce_});
  ASSERT_TRUE(reduced.density());
  expect_same(*reduced.density(), density_of(whole));
  EXPECT_TRUE(reduced.finished());
  EXPECT_EQ(reduced.count_by_status(), whole.count_by_status());
  EXPECT_FALSE(whole.density());
  EXPECT_THROW(reduced.values("x"), UsageError);
  EXPECT_THROW(run_study(model_, plan_, {.reduce = DensityPlan{.x = "omega", .y = "nothing"}}), UsageError);
}

TEST_F(DensityStudy, GoesOnAndMeetsOtherShards) {
  const Density expected = density_of(run_study(model_, plan_));
  // stopped after some blocks
  const auto stopped = run_study(model_, plan_,
                                 {.store = folder_,
                                  .block = 4,
                                  .progress = [](const StudyProgress& p) { return p.done < 12; },
                                  .reduce = reduce_});
  EXPECT_FALSE(stopped.finished());
  EXPECT_GT(stopped.members_done(), 0);
  const std::int64_t first_members = stopped.members_done();
  // the rest in two shards, one of them in lanes of a block size that the folder knows
  const auto shard = run_study(model_, plan_, {.store = folder_, .shard = 1, .shards = 2, .reduce = reduce_});
  EXPECT_GT(shard.members_done(), first_members);
  EXPECT_FALSE(shard.finished());
  const auto last = run_study(model_, plan_, {.store = folder_, .shard = 0, .shards = 2, .reduce = reduce_});
  EXPECT_TRUE(last.finished());
  expect_same(*last.density(), expected);
  const StudyResult opened = StudyResult::open(folder_);
  EXPECT_TRUE(opened.finished());
  expect_same(*opened.density(), expected);
  // the array for other programs
  std::ifstream file(folder_ / "density" / "0.0", std::ios::binary);
  std::vector<std::int64_t> counts(expected.counts().size());
  file.read(reinterpret_cast<char*>(counts.data()), static_cast<std::streamsize>(8 * counts.size()));
  EXPECT_EQ(counts, expected.counts());
  // another raster is another study
  DensityPlan other = reduce_;
  other.rows = 31;
  EXPECT_THROW(run_study(model_, plan_, {.store = folder_, .reduce = other}), UsageError);
  EXPECT_THROW(run_study(model_, plan_, {.store = folder_}), UsageError);
}

TEST_F(DensityStudy, SaysWhichFileIsDamaged) {
  run_study(model_, plan_, {.store = folder_, .reduce = reduce_});
  const Density expected = density_of(run_study(model_, plan_));
  const fs::path part = folder_ / ".parts" / "0-of-1.density";
  EXPECT_TRUE(StudyResult::open(folder_).check().empty());
  fs::resize_file(part, fs::file_size(part) - 8);
  const StudyResult opened = StudyResult::open(folder_);
  try {
    opened.density();
    ADD_FAILURE() << "read";
  } catch (const UsageError& problem) {
    EXPECT_NE(std::string(problem.what()).find(part.string()), std::string::npos) << problem.what();
  }
  ASSERT_EQ(opened.check().size(), 1u);
  EXPECT_NE(opened.check().front().find("0-of-1.density"), std::string::npos);
  // the same command computes it once more
  expect_same(*run_study(model_, plan_, {.store = folder_, .reduce = reduce_}).density(), expected);
  EXPECT_TRUE(StudyResult::open(folder_).check().empty());
}

TEST_F(DensityStudy, CountsNoBlockTwiceAndNoPartOfAnotherStudy) {
  const Density expected = density_of(run_study(model_, plan_));
  run_study(model_, plan_, {.store = folder_, .block = 4, .reduce = reduce_});
  // the same blocks by another partition, as of a process that ran at the same time
  const fs::path other = folder_.string() + ".other";
  fs::remove_all(other);
  run_study(model_, plan_, {.store = other, .block = 4, .shard = 1, .shards = 2, .reduce = reduce_});
  fs::copy_file(other / ".parts" / "1-of-2.density", folder_ / ".parts" / "1-of-2.density");
  EXPECT_THROW(StudyResult::open(folder_).density(), UsageError);
  expect_same(*run_study(model_, plan_, {.store = folder_, .reduce = reduce_}).density(), expected);
  // blocks of another plan under the name of a part
  StudyPlan changed = plan_;
  changed.simulate.rtol = 1e-5;
  fs::remove_all(other);
  run_study(model_, changed, {.store = other, .block = 4, .shard = 1, .shards = 2, .reduce = reduce_});
  fs::copy_file(other / ".parts" / "1-of-2.density", folder_ / ".parts" / "1-of-2.density");
  expect_same(*StudyResult::open(folder_).density(), expected);
  EXPECT_EQ(StudyResult::open(folder_).check(), std::vector<std::string>{"1-of-2.density: of another study"});
  fs::remove_all(other);
}

}  // namespace
}  // namespace saltus
