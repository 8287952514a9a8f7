// Damaged studies: what is read is the number that was computed, marked as not run, or refused, and the command of the
// study makes it whole again.
#include <gtest/gtest.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/checksum.hpp"
#include "json_mutation.hpp"
#include "random_cases.hpp"
#include "study/models.hpp"

namespace saltus {
namespace {

namespace fs = std::filesystem;
using testing::bits;
using Json = nlohmann::ordered_json;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class StudyDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("saltus-damage-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    plan_.sampling.transient = 1;
  }
  void TearDown() override {
    // nothing was written beside the study
    for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path(), store());
    fs::remove_all(folder_);
  }
  fs::path store() const { return folder_ / "study.zarr"; }

  StudyResult run() const { return run_study(model_, plan_, {.store = store(), .block = 4, .reduce = reduce_}); }
  std::string refusal() const {
    try {
      run();
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator(store()))
      if (entry.is_regular_file()) all.push_back(entry.path());
    std::ranges::sort(all);
    return all;
  }
  std::size_t below(std::size_t size) { return std::uniform_int_distribution<std::size_t>(0, size - 1)(dice_); }

  /// Truncates a file, flips a bit, empties it, makes it longer, removes it, or gives it the bytes of another one.
  void damage(const std::vector<fs::path>& all, const fs::path& file) {
    const std::string before = text_of(file);
    std::string after = before;
    switch (below(6)) {
      case 0:
        after.resize(below(before.size()));
        break;
      case 1:
        after[below(before.size())] ^= static_cast<char>(1U << below(8));
        break;
      case 2:
        after.clear();
        break;
      case 3:
        after += before.substr(below(before.size()));
        break;
      case 4:
        after = text_of(all[below(all.size())]);
        break;
      default:
        fs::remove(file);
        return;
    }
    std::ofstream(file, std::ios::binary) << after;
  }
  /// Whether the study can only be read again after its attributes are put back.
  bool is_attributes(const fs::path& file) const { return file == store() / ".zattrs"; }

  /// A value in a sealed file is changed, and the seal renewed.
  std::string resealed(const std::string& text) {
    Json json = Json::parse(text);
    json.erase("checksum");
    mutate_json(json, dice_);
    if (!json.is_object()) return json.dump();
    json.erase("checksum");
    json["checksum"] = checksum(json.dump(1, ' ', false) + "\n");
    return json.dump(1, ' ', false) + "\n";
  }

  fs::path folder_;
  Model model_ = testing::impact_oscillator();
  StudyPlan plan_ = testing::impact_plan(6);
  std::optional<DensityPlan> reduce_;
  std::mt19937 dice_{static_cast<unsigned>(random_seed(1))};
};

TEST_F(StudyDamage, IsFoundInEachFileOfArrays) {
  StudyResult result = run();
  find_attractors(result);
  const auto expected = bits(result);
  const std::vector<fs::path> all = files();
  const int rounds = random_cases(60);
  int refused = 0, marked = 0, unharmed = 0;
  for (int round = 0; round < rounds; ++round) {
    const fs::path& file = all[below(all.size())];
    const std::string before = text_of(file);
    damage(all, file);
    try {
      const StudyResult opened = StudyResult::open(store());
      const bool whole = opened.check().empty();
      const auto now = bits(opened);
      if (now == expected && whole) {
        ++unharmed;  // the same text, written in another way
      } else if (now != expected) {
        ++marked;
        const std::vector<double> status = opened.values("status"), good = result.values("status");
        const std::vector<double> x = opened.values("x"), computed = result.values("x");
        for (std::size_t k = 0; k < status.size(); ++k) {
          if (status[k] == member_not_run) continue;
          ASSERT_EQ(status[k], good[k]) << file;
          for (std::size_t i = 4 * k; i < 4 * k + 4; ++i) ASSERT_EQ(x[i], computed[i]) << file;
        }
      }
    } catch (const UsageError&) {
      ++refused;
    }
    const std::string problem = refusal();
    if (is_attributes(file)) {
      std::ofstream(file, std::ios::binary) << before;
    } else {
      ASSERT_EQ(problem, "") << file;
      StudyResult again = StudyResult::open(store());
      find_attractors(again);
    }
    const StudyResult repaired = StudyResult::open(store());
    ASSERT_EQ(bits(repaired), expected) << file;
    ASSERT_EQ(repaired.check(), std::vector<std::string>{}) << file;
  }
  EXPECT_GT(refused, rounds / 6);
  EXPECT_GT(marked, 0);
  EXPECT_LT(unharmed, rounds / 4);
}

TEST_F(StudyDamage, IsFoundInEachFileOfDensities) {
  reduce_ = DensityPlan{.x = "omega", .y = "x", .columns = 20, .rows = 30};
  const StudyResult result = run();
  const std::vector<std::int64_t> expected = result.density()->counts();
  const std::vector<fs::path> all = files();
  const int rounds = random_cases(60);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    const fs::path& file = all[below(all.size())];
    const std::string before = text_of(file);
    damage(all, file);
    try {
      const StudyResult opened = StudyResult::open(store());
      if (opened.finished()) {
        ASSERT_EQ(opened.density()->counts(), expected) << file;
      }
      for (const auto& [status, count] : opened.count_by_status()) {
        if (status == 0) {
          ASSERT_TRUE(count == 12 || !opened.finished()) << file;
        }
      }
    } catch (const UsageError&) {
      ++refused;
    }
    const std::string problem = refusal();
    if (is_attributes(file))
      std::ofstream(file, std::ios::binary) << before;
    else
      ASSERT_EQ(problem, "") << file;
    const StudyResult repaired = StudyResult::open(store());
    ASSERT_EQ(repaired.density()->counts(), expected) << file;
    ASSERT_EQ(repaired.check(), std::vector<std::string>{}) << file;
  }
  EXPECT_GT(refused, 0);
}

// The seals are right, what they seal is not: no crash, and nothing is written elsewhere.
TEST_F(StudyDamage, IsRefusedWhereItIsSealed) {
  for (const bool density : {false, true}) {
    fs::remove_all(store());
    if (density) reduce_ = DensityPlan{.x = "omega", .y = "x", .columns = 20, .rows = 30};
    {
      StudyResult result = run();
      if (!density) find_attractors(result);
    }
    std::vector<fs::path> sealed{store() / ".zattrs"};
    for (const fs::path& file : files())
      if (file.extension() == ".json") sealed.push_back(file);
    const int rounds = random_cases(200) / 2;
    int refused = 0;
    for (int round = 0; round < rounds; ++round) {
      const fs::path& file = sealed[round % 2 == 0 ? 0 : below(sealed.size())];
      const std::string before = text_of(file);
      std::ofstream(file, std::ios::binary) << resealed(before);
      try {
        const StudyResult opened = StudyResult::open(store());
        if (opened.blocks() <= 1000 && opened.members() <= 100'000) {
          opened.check();
          opened.count_by_status();
          opened.failures(10);
          for (const StudyArray& array : opened.arrays())
            if (!density && array.numbers() <= 1000) opened.values(array.name);
        }
      } catch (const UsageError&) {
        ++refused;
      }
      refusal();
      std::ofstream(file, std::ios::binary) << before;
      ASSERT_EQ(refusal(), "") << file;
    }
    EXPECT_GT(refused, rounds / 3);
  }
}

TEST_F(StudyDamage, IsNoDeepRecursion) {
  run();
  const std::string text = text_of(store() / ".zattrs"), index = text_of(store() / ".blocks" / "0.json");
  const std::string deep = "{\"deep\":" + std::string(300'000, '[') + std::string(300'000, ']') + ",";
  std::ofstream(store() / ".blocks" / "0.json") << deep << index.substr(1);
  EXPECT_EQ(StudyResult::open(store()).members_done(), 8);
  std::ofstream(store() / ".zattrs") << deep << text.substr(1);
  EXPECT_NE(refusal().find("nested too deeply"), std::string::npos);
  EXPECT_THROW(StudyResult::open(store()), UsageError);
}

}  // namespace
}  // namespace saltus
