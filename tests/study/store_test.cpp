// Studies in folders: the same numbers, readable by others, that go on after an interruption.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/checksum.hpp"
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

TEST_F(StudyStore, ChangesNoFolderThatOnlyLooksLikeAStudy) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(5);
  // a Zarr group of another program, and a folder with the names of ours
  fs::create_directories(folder_ / "group" / "failures");
  std::ofstream(folder_ / "group" / ".zgroup") << "{\"zarr_format\": 2}";
  fs::create_directories(folder_ / "other" / ".blocks");
  std::ofstream(folder_ / "other" / ".zattrs") << "{\"format\": \"something else\"}";
  for (const char* name : {"group", "other"})
    for (const bool restart : {false, true})
      EXPECT_NE(refusal(m, plan, {.store = folder_ / name, .restart = restart}), "") << name;
  EXPECT_EQ(text_of(folder_ / "group" / ".zgroup"), "{\"zarr_format\": 2}");
  EXPECT_EQ(std::distance(fs::recursive_directory_iterator(folder_), fs::recursive_directory_iterator()), 6);
  // a study with a file of somebody else: it goes on, and it is not discarded
  run_study(m, plan, {.store = store()});
  std::ofstream(store() / "notes.txt") << "precious";
  EXPECT_EQ(refusal(m, plan, {.store = store()}), "");
  EXPECT_EQ(StudyResult::open(store()).check(), std::vector<std::string>{"notes.txt: no part of this study"});
  EXPECT_NE(refusal(m, plan, {.store = store(), .restart = true}).find("'notes.txt'"), std::string::npos);
  EXPECT_EQ(text_of(store() / "notes.txt"), "precious");
}

TEST_F(StudyStore, IsMadeAndReplacedByOneRename) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(5);
  const auto beside = [&] {  // what is left beside the folder
    return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()) - (fs::exists(store()) ? 1 : 0);
  };
  // a folder that cannot be filled is not there at all
  StudyPlan many = plan;
  many.axes[1].values.assign(20'000, 1.0);
  many.axes[1].spacing = Spacing::list;
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = 10'000;  // the plan does not fit
  setrlimit(RLIMIT_FSIZE, &small);
  const std::string problem = refusal(m, many, {.store = store()});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
  EXPECT_NE(problem.find("File too large"), std::string::npos) << problem;
  EXPECT_FALSE(fs::exists(store()));
  EXPECT_EQ(beside(), 0);
  // an empty folder is taken; a study that is discarded leaves nothing
  fs::create_directories(store());
  run_study(m, plan, {.store = store()});
  StudyPlan other = plan;
  other.simulate.rtol = 1e-7;
  run_study(m, other, {.store = store(), .restart = true});
  EXPECT_EQ(bits(StudyResult::open(store())), bits(run_study(m, other)));
  EXPECT_EQ(beside(), 0);
  // a process that is at work on the old study does not write into the new one
  bool replaced = false;
  const std::string late =
      refusal(m, other, {.store = store(), .restart = true, .block = 2, .progress = [&](const StudyProgress& p) {
                           if (p.done > 0 && !replaced) {
                             replaced = true;
                             run_study(m, plan, {.store = store(), .restart = true});
                           }
                           return true;
                         }});
  EXPECT_NE(late.find("was discarded or replaced"), std::string::npos) << late;
  EXPECT_EQ(bits(StudyResult::open(store())), bits(run_study(m, plan)));
}

// On a file system that cannot exchange two names, a kill between two renames leaves the old study under another name.
TEST_F(StudyStore, IsFoundWhereAReplacementWasInterrupted) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(5);
  const auto expected = bits(run_study(m, plan, {.store = store()}));
  const fs::path away = folder_ / ".study.zarr.0123456789abcdef.part.old";
  fs::rename(store(), away);
  fs::create_directories(folder_ / ".study.zarr.0000000000000000.part");  // the new one, of which nothing was known
  EXPECT_EQ(bits(StudyResult::open(store())), expected);
  EXPECT_FALSE(fs::exists(away));
  // one that has a successor is removed by the next study that is made here
  fs::create_directories(away);
  fs::create_directories(folder_ / ".study.zarr.notes.old");
  EXPECT_EQ(refusal(m, plan, {.store = store(), .restart = true}), "");
  EXPECT_FALSE(fs::exists(away));
  EXPECT_TRUE(fs::exists(folder_ / ".study.zarr.notes.old"));
}

TEST_F(StudyStore, KeepsFilesOfTheUserInItsFolders) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(5);
  run_study(m, plan, {.store = store()});
  for (const char* name : {"x/notes.part", "x/notes.txt", "notes.part"}) {
    const fs::path file = store() / name;
    std::ofstream(file) << "precious";
    fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
    EXPECT_EQ(refusal(m, plan, {.store = store()}), "");
    EXPECT_EQ(StudyResult::open(store()).check(),
              std::vector<std::string>{std::string(name) + ": no part of this study"});
    EXPECT_NE(refusal(m, plan, {.store = store(), .restart = true}).find("which is no part"), std::string::npos);
    EXPECT_EQ(text_of(file), "precious");
    fs::remove(file);
  }
}

// A block that is computed once more has no status until its numbers are there: other programs look at it, too.
TEST_F(StudyStore, ShowsNoStatusWithoutNumbers) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(20);
  run_study(m, plan, {.store = store(), .block = 8});
  fs::remove(store() / "x" / "3.0");
  bool seen = false;
  run_study(m, plan, {.store = store(), .progress = [&](const StudyProgress&) {
                        if (!fs::exists(store() / "x" / "3.0")) seen = true;
                        EXPECT_EQ(fs::exists(store() / "status" / "3"), fs::exists(store() / "x" / "3.0"));
                        return true;
                      }});
  EXPECT_TRUE(seen);
  EXPECT_EQ(StudyResult::open(store()).check(), std::vector<std::string>{});
}

TEST_F(StudyStore, TakesNoChunkOfAnotherStudyForAResult) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(20);
  StudyPlan other = plan;
  other.simulate.rtol = 1e-4;
  const auto expected = bits(run_study(m, plan));
  run_study(m, plan, {.store = store(), .block = 16});
  const fs::path foreign = folder_ / "foreign.zarr";
  run_study(m, other, {.store = foreign, .block = 16});
  const auto take = [&](const fs::path& file) {
    fs::copy_file(foreign / file, store() / file, fs::copy_options::overwrite_existing);
  };
  // a chunk alone is damage
  take("x/1.0");
  EXPECT_THROW(StudyResult::open(store()).values("x"), UsageError);
  EXPECT_EQ(StudyResult::open(store()).check(),
            std::vector<std::string>{"x/1.0: damaged, its bytes are not those that were written"});
  EXPECT_EQ(bits(run_study(m, plan, {.store = store()})), expected);
  // a whole block is missing in this study
  const StudyResult repaired = StudyResult::open(store());
  for (const StudyArray& array : repaired.arrays()) take(fs::path(array.name) / (array.width == 0 ? "1" : "1.0"));
  take(".blocks/1.json");
  EXPECT_EQ(StudyResult::open(store()).members_done(), 40 - 16);
  EXPECT_EQ(StudyResult::open(store()).values("status").at(16), member_not_run);
  EXPECT_EQ(StudyResult::open(store()).check(), std::vector<std::string>{".blocks/1.json: of another study"});
  EXPECT_EQ(bits(run_study(m, plan, {.store = store()})), expected);
  // one block under the name of another
  fs::copy_file(store() / ".blocks" / "0.json", store() / ".blocks" / "1.json", fs::copy_options::overwrite_existing);
  EXPECT_EQ(StudyResult::open(store()).members_done(), 40 - 16);
  EXPECT_EQ(bits(run_study(m, plan, {.store = store()})), expected);
}

TEST_F(StudyStore, ComparesItsAttributesWithItsPlan) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(15);
  run_study(m, plan, {.store = store(), .block = 10});
  const auto original = nlohmann::ordered_json::parse(text_of(store() / ".zattrs"));
  const auto refused = [&](const std::string& words, const auto& change) {
    auto json = original;
    change(json);
    json.erase("checksum");
    // as somebody would who knows how attributes are sealed
    json["checksum"] = checksum(json.dump(1, ' ', false) + "\n");
    std::ofstream(store() / ".zattrs") << json.dump(1, ' ', false) << "\n";
    std::string problem;
    try {
      StudyResult::open(store());
    } catch (const UsageError& error) {
      problem = error.what();
    }
    EXPECT_NE(problem.find(words), std::string::npos) << problem;
    EXPECT_NE(refusal(m, plan, {.store = store()}), "") << words;
  };
  using Json = nlohmann::ordered_json;
  refused("'../../evil', and 'mean(x)' in its plan", [](Json& j) { j["arrays"].back()["name"] = "../../evil"; });
  refused("it has 0 results", [](Json& j) { j["arrays"] = Json::array(); });
  refused("it has 31 members, and its plan 30", [](Json& j) { j["members"] = 31; });
  refused("another type or shape", [](Json& j) { j["arrays"].back()["width"] = 1'000'000; });
  refused("another type or shape", [](Json& j) { j["arrays"].back()["type"] = "byte"; });
  refused("blocks of 0 members", [](Json& j) { j["block"] = 0; });
  refused("blocks of 31 members", [](Json& j) { j["block"] = 31; });
  refused("key", [](Json& j) { j["block"] = 15; });
  refused("damaged", [](Json& j) { j["arrays"] = 3; });
  refused("damaged", [](Json& j) { j["identity"]["plan"]["axes"][1]["count"] = 1e300; });
  refused("damaged", [](Json& j) { j["identity"]["plan"]["collect"][0]["what"] = "everything"; });
  refused("version 1", [](Json& j) { j["version"] = 1; });
  refused("no study", [](Json& j) { j["format"] = 5; });
  // without the seal
  auto json = original;
  json["source"]["text"] = "model Other end Other;";
  std::ofstream(store() / ".zattrs") << json.dump(1, ' ', false) << "\n";
  EXPECT_NE(refusal(m, plan, {.store = store()}).find("not as it was written"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_.parent_path() / "evil"));
}

TEST_F(StudyStore, WritesNothingThroughLinks) {
  const Model m = testing::impact_oscillator();
  const StudyPlan plan = testing::impact_plan(5);
  run_study(m, plan, {.store = store(), .progress = [](const StudyProgress&) { return false; }});
  fs::remove_all(store() / "x");
  fs::remove_all(store() / ".blocks");
  fs::create_directories(folder_ / "elsewhere");
  fs::create_directory_symlink(folder_ / "elsewhere", store() / "x");
  EXPECT_NE(refusal(m, plan, {.store = store()}).find("is a file or a link"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_ / "elsewhere"));
}

// Processes that start together with one folder, as shards do: threads here, with the same process number.
TEST_F(StudyStore, IsCreatedByAnyNumberOfRacingShards) {
  const Model m = testing::impact_oscillator();
  StudyPlan plan = testing::impact_plan(8);
  plan.sampling.transient = 0;
  const auto expected = bits(run_study(m, plan));
  for (const bool reduce : {false, true})
    for (int round = 0; round < 10; ++round) {
      fs::remove_all(store());
      std::array<std::string, 4> problems;
      {
        std::vector<std::jthread> shards;
        for (std::size_t k = 0; k < problems.size(); ++k)
          shards.emplace_back([&, k] {
            StudyOptions options{.store = store(),
                                 .threads = 1,
                                 .block = 2,
                                 .shard = static_cast<std::int64_t>(k),
                                 .shards = static_cast<std::int64_t>(problems.size())};
            if (reduce) options.reduce = DensityPlan{.x = "omega", .y = "x", .columns = 20, .rows = 30};
            problems[k] = refusal(m, plan, options);
          });
      }
      for (const std::string& problem : problems) ASSERT_EQ(problem, "") << round << (reduce ? " density" : "");
      const StudyResult result = StudyResult::open(store());
      ASSERT_TRUE(result.finished()) << round;
      if (reduce) {
        ASSERT_EQ(result.density()->points(), 64);
      } else {
        ASSERT_EQ(bits(result), expected);
      }
      ASSERT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
    }
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
        (entry.path().filename().string().find_first_not_of("0123456789.") == std::string::npos ||
         entry.path().parent_path().filename() == ".blocks"))
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
