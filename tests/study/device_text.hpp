// Members of a study by all instances of the executor: in lanes, at width 1, and as the text for devices, compiled for
// this processor.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "study/device_flight.hpp"
#include "study/device_source.hpp"
#include "study/lane_flight.hpp"
#include "study/study_flight.hpp"

namespace saltus::study_tests {

namespace fs = std::filesystem;
using FlyMembers = void (*)(const flight::DeviceArrays&);

/// The text as a library of this process.
class CompiledText {
 public:
  explicit CompiledText(const FlightTask& task)
      : folder_(fs::temp_directory_path() / ("saltus_device_" + std::to_string(::getpid()))) {
    fs::remove_all(folder_);
    for (const auto& [name, text] : device_headers()) {
      fs::create_directories((folder_ / name).parent_path());
      std::ofstream(folder_ / name) << text;
    }
    std::ofstream(folder_ / "flight.cpp") << device_source(task);
#if defined(__x86_64__)
    const std::string target = " -mavx2 -mfma";
#else
    const std::string target;
#endif
    const std::string command = "c++ -std=c++20 -O2 -ffp-contract=off -fPIC -shared" + target + " -I" +
                                folder_.string() + " " + (folder_ / "flight.cpp").string() + " -o " +
                                (folder_ / "flight.so").string();
    if (std::system(command.c_str()) != 0) return;
    library_ = dlopen((folder_ / "flight.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_) fly_ = reinterpret_cast<FlyMembers>(dlsym(library_, "fly_members"));
  }
  ~CompiledText() {
    if (library_) dlclose(library_);
    fs::remove_all(folder_);
  }
  CompiledText(const CompiledText&) = delete;
  CompiledText& operator=(const CompiledText&) = delete;
  FlyMembers fly() const {
    return fly_;
  }

 private:
  fs::path folder_;
  void* library_ = nullptr;
  FlyMembers fly_ = nullptr;
};

/// All that a study keeps of a member, and where it has missed.
inline std::vector<std::uint64_t> bits_of(const FlightMember& m) {
  std::vector<std::uint64_t> all{static_cast<std::uint64_t>(m.run.steps), static_cast<std::uint64_t>(m.run.events),
                                 static_cast<std::uint64_t>(m.seen)};
  for (const auto* list : {&m.samples, &m.counts, &m.firsts, &m.final_values})
    for (const double v : *list) all.push_back(std::isnan(v) ? 0 : std::bit_cast<std::uint64_t>(v));
  for (const flight::WindowSums& window : m.windows)
    for (const double v : {window.low, window.high, window.integral}) all.push_back(std::bit_cast<std::uint64_t>(v));
  all.push_back(std::bit_cast<std::uint64_t>(m.window));
  all.push_back(std::bit_cast<std::uint64_t>(m.run.t));
  return all;
}

using Members = std::map<std::int64_t, FlightMember>;

/// In lanes, in this order. Each must have one outcome, however often it is in the list.
inline Members run_in_lanes(const StudyFlight& flight, const std::vector<std::int64_t>& order) {
  Members all;
  std::size_t next = 0;
  LaneFlight lanes(
      flight.task(),
      [&](FlightMember& m) {
        while (next < order.size())
          if (flight.begin(order[next++], m)) return true;
        return false;
      },
      [&](FlightMember& m) {
        const auto [known, fresh] = all.emplace(m.index, m);
        if (!fresh) {
          EXPECT_EQ(bits_of(m), bits_of(known->second)) << "member " << m.index;
        }
      });
  EXPECT_TRUE(lanes.run([] { return false; }));
  return all;
}

/// One by one, by an executor of width 1. `flight`: compiled for it.
inline Members run_alone(const StudyFlight& flight, std::int64_t members) {
  const FlightTask& wanted = flight.task();
  HostCode code(*wanted.code, wanted.rules);
  HostTask task(wanted, code);
  ModeEntry entry(*wanted.code);
  flight::Executor<HostCode> executor(code);
  std::vector<std::vector<std::vector<double>>> outputs;
  std::vector<TapeRunner::Memory> memory;
  for (const FlightTape& tape : wanted.code->tapes) {
    memory.push_back(tape.step.memory());
    auto& lists = outputs.emplace_back();
    for (const auto& group : tape.step.tape().outputs) lists.emplace_back(group.size());
  }
  Members all;
  for (std::int64_t index = 0; index < members; ++index) {
    FlightMember m;
    if (!flight.begin(index, m)) continue;
    HostCode::State& run = m.run;
    bool over = !task.begin(m, entry);
    if (over) m.missed = flight::Miss::no_transition;
    while (!over) {
      const flight::End end = executor.plan(run, run.stop);
      const auto tape = static_cast<std::size_t>(code.mode_tape(run.mode));
      const double* const in[] = {
          &run.t, &end.h, &end.t, run.x(), run.slope(), run.data(), &wanted.rules.rtol, wanted.rules.atol.data()};
      double* out[StepOutput::count];
      for (std::size_t k = 0; k < outputs[tape].size(); ++k) out[k] = outputs[tape][k].data();
      wanted.code->tapes[tape].step(in, out, memory[tape]);
      const flight::StepView step = step_view(out, 0, 1);
      HostSink sink(task, m);
      const auto j = executor.advance(run, end, step, executor.growth(run.motion, step.error), sink);
      m.missed = j.miss;
      over = j.verdict == flight::Verdict::missed;
      if (over || j.verdict == flight::Verdict::rejected || !(run.t >= run.stop || sink.enough())) continue;
      sink.finish(run);
      over = true;
    }
    all.emplace(index, m);
  }
  return all;
}

inline void expect_same_bits(const Members& a, const Members& b) {
  for (const auto& [index, member] : a) {
    if (!b.contains(index)) continue;
    EXPECT_EQ(member.missed, b.at(index).missed) << "member " << index;
    ASSERT_EQ(bits_of(member), bits_of(b.at(index))) << "member " << index;
  }
}

/// Runs all members of a study in lanes, in lanes shuffled, alone in a lane, in lanes that one member fills, at width 1
/// and as text, and expects the same bits.
class DeviceRun {
 public:
  /// `attempts`: after so many steps the text stops, and goes on in another call.
  DeviceRun(const Study& study, long long attempts) {
    const StudyFlight flight(study);
    if (!flight.possible()) {
      for (const std::string& why : flight.why()) refusal_ += (refusal_.empty() ? "" : "; ") + why;
      return;
    }
    compare_lanes(study, flight);
    try {
      run_as_text(study, flight, attempts);
    } catch (const UsageError& error) {
      refusal_ = error.what();
    }
  }

  /// Members that the text has brought to their end.
  const std::vector<std::int64_t>& landed() const { return landed_; }
  /// Why there is no text; "" if there is.
  const std::string& refusal() const { return refusal_; }

 private:
  void compare_lanes(const Study& study, const StudyFlight& flight) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(study.members()));
    std::iota(order.begin(), order.end(), 0);
    in_lanes_ = run_in_lanes(flight, order);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    expect_same_bits(in_lanes_, run_in_lanes(flight, order));
    for (std::size_t k = 0; k < order.size(); k += 1 + order.size() / 5) {
      expect_same_bits(in_lanes_, run_in_lanes(flight, {order[k]}));
      expect_same_bits(in_lanes_, run_in_lanes(flight, std::vector<std::int64_t>(flight_lanes, order[k])));
    }
    const StudyFlight alone(study, 1);
    expect_same_bits(in_lanes_, run_alone(alone, study.members()));
  }

  void run_as_text(const Study& study, const StudyFlight& flight, long long attempts) {
    const CompiledText text(flight.task());
    ASSERT_NE(text.fly(), nullptr) << "the text was not compiled";
    DeviceFlight device(flight.task(), study.members());
    ModeEntry entry(*flight.task().code);
    HostCode code(*flight.task().code, flight.task().rules);
    const HostTask host(flight.task(), code);
    for (std::int64_t k = 0; k < study.members(); ++k)
      if (FlightMember m; flight.begin(k, m) && host.begin(m, entry)) device.put(k, m);
    const flight::DeviceArrays arrays{study.members(),          attempts,
                                      flight.task().max_steps,  device.numbers().data(),
                                      device.integers().data(), device.samples().data(),
                                      device.finals().data()};
    const auto flies = [&] {
      for (std::int64_t k = 0; k < study.members(); ++k)
        if (device.state(k) == flight::flying) return true;
      return false;
    };
    std::int64_t missed_by_text = 0;
    for (int slice = 0; flies() && slice < 100000; ++slice) text.fly()(arrays);
    for (std::int64_t k = 0; k < study.members(); ++k) {
      const bool ends_in_lanes = in_lanes_.contains(k) && in_lanes_.at(k).missed == flight::Miss::none;
      if (device.state(k) != flight::landed) {  // lanes run it
        missed_by_text += ends_in_lanes;
        continue;
      }
      landed_.push_back(k);
      FlightMember m;
      device.take(k, m);
      ASSERT_TRUE(ends_in_lanes) << "member " << k;
      ASSERT_EQ(bits_of(m), bits_of(in_lanes_.at(k))) << "member " << k;
    }
    // functions have no value there beyond their limits: the underflow of an exponential
    EXPECT_LE(missed_by_text, 1 + study.members() / 32);
  }

  Members in_lanes_;
  std::vector<std::int64_t> landed_;
  std::string refusal_;
};

}  // namespace saltus::study_tests
