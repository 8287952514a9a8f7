// States of runs as files: they are read as they were written, or refused.
#include <gtest/gtest.h>
#include <unistd.h>
#include <saltus/io/state_file.hpp>
#include <saltus/saltus.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "base/checksum.hpp"
#include "json_mutation.hpp"
#include "random_cases.hpp"

namespace saltus {
namespace {

namespace fs = std::filesystem;

/// Two explicit modes, a relay on which the solution slides, impacts, a counter.
Model rich_model() {
  Model m("rich");
  const Expr x = m.variable("x", 1.0, {.fixed = true}), v = m.variable("v", 0.0, {.fixed = true});
  const Expr y = m.variable("y", 0.5, {.fixed = true});
  const Expr n = m.discrete("n", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -9.81 + 0.1 * n);
  m.equation(der(y) == 0.3 * cos(m.time()) - sign(y));
  m.when(x < 0.0).reset(v, -0.8 * v).assign(n, n + 1.0);
  return m;
}

class StateFile : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = fs::temp_directory_path() / ("saltus-state-" + std::to_string(::getpid()) + ".json");
  }
  void TearDown() override { fs::remove(file_); }
  void write(const std::string& text) const { std::ofstream(file_, std::ios::binary) << text; }
  /// What the run ends with; empty if the state is refused.
  std::vector<double> final_values(const SimulatorState& state) const {
    Simulator run(compiled_, options_, state);
    run.run();
    return run.trajectory().final();
  }
  SimulatorState saved(double t) const {
    Simulator run(compiled_, options_);
    run.advance_to(t);
    return run.state();
  }
  static std::string text_of(const SimulatorState& state) {
    std::ostringstream out;
    write_state(out, state);
    return out.str();
  }

  fs::path file_;
  std::shared_ptr<CompiledModel> compiled_ = std::make_shared<CompiledModel>(rich_model());
  SimulateOptions options_{.stop = 3.0};
};

TEST_F(StateFile, ReadsBackWhatWasWritten) {
  for (const double t : {0.0, 0.3, 1.0, 2.5}) {
    const SimulatorState state = saved(t);
    write(text_of(state));
    EXPECT_EQ(read_state(file_.string()), state);
    EXPECT_EQ(final_values(read_state(file_.string())), final_values(state));
  }
}

TEST_F(StateFile, RefusesVersionsAndChangesByHand) {
  const std::string text = text_of(saved(1.0));
  const auto refusal = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    const auto place = changed.find(from);
    EXPECT_NE(place, std::string::npos) << from;
    changed.replace(place, from.size(), to);
    write(changed);
    try {
      read_state(file_.string());
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refusal("\"version\":5", "\"version\":2").find("another version (2)"), std::string::npos);
  EXPECT_NE(refusal("saltus state", "saltus study").find("no saved state"), std::string::npos);
  EXPECT_NE(refusal("\"automaton\":0", "\"automaton\":7").find("not as it was written"), std::string::npos);
  EXPECT_NE(refusal("\"checksum\":", "\"check\":").find("not as it was written"), std::string::npos);
  EXPECT_EQ(refusal(",\"mode\"", ", \"mode\""), "");  // the same state
}

// Bytes are flipped, cut, repeated and moved: what is read is the state, or it is refused.
TEST_F(StateFile, IsRefusedAfterDamage) {
  const SimulatorState state = saved(1.0);
  const std::string text = text_of(state);
  const int rounds = random_cases(2000);
  std::mt19937 dice(static_cast<unsigned>(random_seed(1)));
  const auto below = [&](std::size_t size) { return std::uniform_int_distribution<std::size_t>(0, size - 1)(dice); };
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string changed = text;
    const std::size_t at = below(text.size()), other = below(text.size());
    switch (below(5)) {
      case 0:
        changed[at] = static_cast<char>(changed[at] ^ (1U << below(8)));
        break;
      case 1:
        changed.resize(at);
        break;
      case 2:
        changed.insert(at, text.substr(other, below(30)));
        break;
      case 3:
        changed.erase(at, 1 + below(30));
        break;
      default:
        changed[at] = text[other];
    }
    write(changed);
    try {
      ASSERT_EQ(read_state(file_.string()), state) << "seed " << round;
    } catch (const UsageError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, rounds / 2);
}

// A value is changed and the seal renewed: the state is refused, the run fails, or it goes on with numbers.
TEST_F(StateFile, IsRefusedWhereItIsSealed) {
  using Json = nlohmann::ordered_json;
  const std::string text = text_of(saved(1.0));
  const int rounds = random_cases(500);
  std::mt19937 dice(static_cast<unsigned>(random_seed(3)));
  options_.stop = 1.1;
  options_.max_steps = 1000;
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    Json json = Json::parse(text);
    json.erase("checksum");
    mutate_json(json, dice);
    if (json.is_object()) {
      json.erase("checksum");
      json["checksum"] = checksum(json.dump());
    }
    write(json.dump());
    try {
      Simulator run(compiled_, options_, read_state(file_.string()));
      run.run();
      if (!run.status().ok()) continue;
      for (const double value : run.trajectory().final()) ASSERT_TRUE(std::isfinite(value)) << json.dump();
    } catch (const UsageError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, rounds / 2);
}

TEST_F(StateFile, IsNoDeepRecursion) {
  const std::string text = text_of(saved(1.0));
  const auto place = text.find("\"x\":");
  ASSERT_NE(place, std::string::npos);
  write(text.substr(0, place + 4) + std::string(300'000, '[') + std::string(300'000, ']') + "}");
  EXPECT_THROW(read_state(file_.string()), UsageError);
}

// States that programs have changed: what is out of range is refused, and nothing crashes.
TEST_F(StateFile, IsInRangeBeforeItIsUsed) {
  const SimulatorState state = saved(1.0);
  ASSERT_FALSE(state.memory.empty());
  ASSERT_FALSE(state.mode.sliding.empty());
  const auto refused = [&](const auto& change) {
    SimulatorState changed = state;
    change(changed);
    EXPECT_THROW(final_values(changed), UsageError);
  };
  refused([](SimulatorState& s) { s.mode.automaton = 1; });
  refused([](SimulatorState& s) { s.mode.automaton = -1; });
  refused([](SimulatorState& s) { s.mode.sliding.front() = 99; });
  refused([](SimulatorState& s) { s.mode.sliding.insert(s.mode.sliding.begin(), 99); });
  refused([](SimulatorState& s) { s.mode.contacts = {0}; });
  refused([](SimulatorState& s) { s.mode.contacts = {0}, s.mode.contact_sides = {5}; });
  refused([](SimulatorState& s) { s.mode.sees.front() = 17; });
  refused([](SimulatorState& s) { s.mode.discrete.clear(); });
  refused([](SimulatorState& s) { s.x.pop_back(); });
  refused([](SimulatorState& s) { s.memory.resize(3); });
  refused([](SimulatorState& s) { s.t = std::nan(""); });
  std::mt19937 dice(static_cast<unsigned>(random_seed(2)));
  const int rounds = random_cases(200);
  for (int round = 0; round < rounds; ++round) {
    SimulatorState changed = state;
    const std::size_t place = std::uniform_int_distribution<std::size_t>(0, state.memory.size() - 1)(dice);
    const double values[] = {-1.0, 1e300, std::nan(""), 1e9, 0.5, changed.memory[place] + 1.0};
    changed.memory[place] = values[dice() % 6];
    if (std::bit_cast<std::uint64_t>(changed.memory[place]) == std::bit_cast<std::uint64_t>(state.memory[place]))
      continue;
    EXPECT_THROW(final_values(changed), UsageError) << place;
  }
}

}  // namespace
}  // namespace saltus
