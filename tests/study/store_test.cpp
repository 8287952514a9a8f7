// Studies in folders: the same numbers, readable by others, that go on after an interruption.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <saltus/base/error.hpp>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "study/models.hpp"

namespace saltus {
namespace {

namespace fs = std::filesystem;
using testing::bits;

class StudyStore : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("saltus-study-" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path store() const { return folder_ / "study.zarr"; }

  std::string refusal(const Model& model, const StudyPlan& plan, const StudyOptions& options) const {
    try {
      run_study(model, plan, options);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  }

  fs::path folder_;
};

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  EXPECT_TRUE(in) << file;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// What temporary files are left.
std::vector<fs::path> parts(const fs::path& folder) {
  std::vector<fs::path> list;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".part") list.push_back(entry.path());
  return list;
}

TEST_F(StudyStore, HasTheNumbersOfAStudyInMemory) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(20);
  const auto expected = bits(run_study(m, plan));
  EXPECT_EQ(bits(run_study(m, plan, {.store = store(), .block = 16})), expected);
  const StudyResult opened = StudyResult::open(store());
  EXPECT_EQ(bits(opened), expected);
  EXPECT_EQ(opened.block_size(), 16);
  EXPECT_EQ(opened.blocks(), 3);
  EXPECT_TRUE(opened.finished());
  EXPECT_EQ(opened.plan().axes.at(1).count, 20);
  EXPECT_EQ(opened.plan().sampling.keep, 4);
  EXPECT_TRUE(parts(store()).empty());
}

TEST_F(StudyStore, IsAZarrGroupThatCanBeReadByHand) {
  const StudyResult result =
      run_study(testing::impact_oscillator(), testing::impact_plan(20), {.store = store(), .block = 16});
  const auto group = nlohmann::json::parse(text_of(store() / ".zgroup"));
  EXPECT_EQ(group.at("zarr_format"), 2);
  const auto array = nlohmann::json::parse(text_of(store() / "x" / ".zarray"));
  EXPECT_EQ(array.at("shape"), nlohmann::json::array({40, 4}));
  EXPECT_EQ(array.at("chunks"), nlohmann::json::array({16, 4}));
  EXPECT_EQ(array.at("dtype"), "<f8");
  EXPECT_TRUE(array.at("compressor").is_null());
  EXPECT_EQ(nlohmann::json::parse(text_of(store() / "x" / ".zattrs")).at("_ARRAY_DIMENSIONS"),
            nlohmann::json::array({"member", "sample"}));
  const std::string chunk = text_of(store() / "x" / "1.0");
  ASSERT_EQ(chunk.size(), 16u * 4u * 8u);
  double first = 0.0;
  std::memcpy(&first, chunk.data(), 8);
  EXPECT_EQ(first, result.values("x").at(16 * 4));
  EXPECT_EQ(text_of(store() / "status" / "2").size(), 16u);  // the last chunk is filled up
  EXPECT_EQ(text_of(store() / "status" / "2").back(), static_cast<char>(255));
}

TEST_F(StudyStore, GoesOnWhereItWasStopped) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(40);
  const auto expected = bits(run_study(m, plan));
  std::int64_t calls = 0;
  const StudyResult half = run_study(
      m, plan, {.store = store(), .block = 8, .progress = [&](const StudyProgress& p) { return p.done < 24; }});
  EXPECT_FALSE(half.finished());
  EXPECT_GE(half.members_done(), 16);
  EXPECT_EQ(half.values("status").back(), member_not_run);  // a running study can be looked at
  std::int64_t resumed = 0;
  const StudyResult whole =
      run_study(m, plan, {.store = store(), .threads = 2, .progress = [&](const StudyProgress& p) {
                            ++calls;
                            resumed = p.resumed;
                            return true;
                          }});
  EXPECT_TRUE(whole.finished());
  EXPECT_EQ(resumed, half.members_done() > 0 ? resumed : 0);
  EXPECT_GE(resumed, 16);
  EXPECT_EQ(bits(whole), expected);
}

TEST_F(StudyStore, HasTheSameBitsFromShards) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(40);
  const auto expected = bits(run_study(m, plan));
  for (const std::int64_t shard : {2, 0, 1}) {
    const StudyResult part = run_study(m, plan, {.store = store(), .block = 8, .shard = shard, .shards = 3});
    EXPECT_EQ(part.finished(), shard == 1);
  }
  EXPECT_EQ(bits(StudyResult::open(store())), expected);
}

TEST_F(StudyStore, RefusesAChangedPlanByName) {
  const Model m = testing::impact_oscillator();
  StudyPlan plan = testing::impact_plan(5);
  run_study(m, plan, {.store = store()});
  EXPECT_EQ(refusal(m, plan, {.store = store()}), "");
  StudyPlan other = plan;
  other.axes[1].count = 6;
  EXPECT_NE(refusal(m, other, {.store = store()}).find("plan.axes.1.count was 5 and is now 6"), std::string::npos);
  other = plan;
  other.simulate.rtol = 1e-7;
  EXPECT_NE(refusal(m, other, {.store = store()}).find("plan.simulate.rtol"), std::string::npos);
  Model changed = testing::impact_oscillator();
  changed.set("x", 0.25);
  EXPECT_NE(refusal(changed, plan, {.store = store()}).find("variable x start 0.25"), std::string::npos);
  EXPECT_NE(refusal(m, plan, {.store = store(), .block = 7}).find("blocks of 10 members"), std::string::npos);
  EXPECT_EQ(refusal(changed, plan, {.store = store(), .restart = true}), "");
}

TEST_F(StudyStore, RefusesFoldersThatAreSomethingElse) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(5);
  std::ofstream(folder_ / "precious.txt") << "data";
  EXPECT_NE(refusal(m, plan, {.store = folder_, .restart = true}).find("other files"), std::string::npos);
  EXPECT_TRUE(fs::exists(folder_ / "precious.txt"));
  EXPECT_NE(refusal(m, plan, {.store = folder_ / "precious.txt"}).find("is a file"), std::string::npos);
  EXPECT_THROW(StudyResult::open(folder_ / "nothing"), UsageError);
  run_study(m, plan, {.store = store()});
  std::ofstream(store() / ".zattrs") << "{ \"format\"";
  EXPECT_NE(refusal(m, plan, {.store = store()}).find("damaged"), std::string::npos);
}

// A limit on the size of files stands for a full disk: the file of samples is longer than all others.
TEST_F(StudyStore, LeavesNothingHalfWrittenOnAFullDisk) {
  const Model m = testing::impact_oscillator();
  StudyPlan plan = testing::impact_plan(64);
  plan.sampling.keep = 16;
  plan.sampling.transient = 0;
  plan.simulate.rtol = plan.simulate.atol = 1e-3;
  run_study(m, plan, {.store = store(), .block = 128, .progress = [](const StudyProgress&) { return false; }});
  // the folder alone is wanted: the block may have been done before it was stopped
  std::vector<fs::path> blocks;
  for (const auto& entry : fs::recursive_directory_iterator(store()))
    if (entry.is_regular_file() &&
        entry.path().filename().string().find_first_not_of("0123456789.") == std::string::npos)
      blocks.push_back(entry.path());
  for (const fs::path& block : blocks) fs::remove(block);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 10'000;  // steps and events of 128 members fit, samples do not
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string problem = refusal(m, plan, {.store = store()});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_NE(problem.find("File too large"), std::string::npos) << problem;
  EXPECT_NE(problem.find("repeat the same command"), std::string::npos);
  EXPECT_TRUE(parts(store()).empty());
  EXPECT_FALSE(fs::exists(store() / "steps" / "0"));
  EXPECT_EQ(StudyResult::open(store()).members_done(), 0);
  EXPECT_EQ(bits(run_study(m, plan, {.store = store()})), bits(run_study(m, plan)));
}

TEST_F(StudyStore, KeepsFailuresAndComputedArrays) {
  Model m("trouble");
  const Expr a = m.parameter("a", 1.0), x = m.variable("x", 1.0, {.fixed = true});
  m.equation(der(x) == a * x * x);
  const StudyPlan plan{.axes = {{"a", -1.0, 4.0, 6}},
                       .simulate = {.max_steps = 20'000},
                       .sampling = {.at = SampleAt::period, .period = 0.15, .transient = 2, .keep = 2},
                       .collect = {{Collect::sample, "x"}}};
  StudyResult result = run_study(m, plan, {.store = store(), .source = {{"file", "a.mo"}}});
  find_attractors(result);
  const StudyResult opened = StudyResult::open(store());
  EXPECT_EQ(opened.values("attractor"), result.values("attractor"));
  EXPECT_EQ(opened.values("attractor").back(), -1.0);
  EXPECT_EQ(opened.failures(5).size(), result.failures(5).size());
  EXPECT_GE(opened.failures(5).size(), 2u);
  EXPECT_EQ(opened.source("file"), "a.mo");
  EXPECT_EQ(bits(opened), bits(result));
  EXPECT_THROW(opened.array("attractors"), UsageError);
  EXPECT_EQ(bits(run_study(m, plan, {.store = store(), .source = {{"file", "a.mo"}}})), bits(result));
}

}  // namespace
}  // namespace saltus
