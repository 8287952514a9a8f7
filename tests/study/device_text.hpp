// The text for devices, compiled for this processor: what it makes of the members of a study.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <saltus/base/error.hpp>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "study/device_flight.hpp"
#include "study/device_source.hpp"
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

inline std::vector<std::uint64_t> bits_of(const FlightMember& m) {
  std::vector<std::uint64_t> all{static_cast<std::uint64_t>(m.steps), static_cast<std::uint64_t>(m.events),
                                 static_cast<std::uint64_t>(m.seen)};
  for (const auto* list : {&m.samples, &m.counts, &m.firsts, &m.final_values})
    for (const double v : *list) all.push_back(std::isnan(v) ? 0 : std::bit_cast<std::uint64_t>(v));
  for (std::size_t d = 0; d < m.windows.variables(); ++d)
    for (const double v : {m.windows[d].low, m.windows[d].high, m.windows[d].integral})
      all.push_back(std::bit_cast<std::uint64_t>(v));
  all.push_back(std::bit_cast<std::uint64_t>(m.window));
  all.push_back(std::bit_cast<std::uint64_t>(m.t));
  return all;
}

/// Flies all members of a study as text and in lanes, and expects the same bits.
class DeviceRun {
 public:
  /// `attempts`: after so many steps the text stops, and goes on in another call.
  DeviceRun(const Study& study, long long attempts) {
    const StudyFlight flight(study);
    if (!flight.possible()) {
      for (const std::string& why : flight.why()) refusal_ += (refusal_.empty() ? "" : "; ") + why;
      return;
    }
    try {
      fly(study, flight, attempts);
    } catch (const UsageError& error) {
      refusal_ = error.what();
    }
  }

  /// Members that the text has flown to their end.
  const std::vector<std::int64_t>& landed() const { return landed_; }
  /// Why there is no text; "" if there is.
  const std::string& refusal() const { return refusal_; }

 private:
  void fly(const Study& study, const StudyFlight& flight, long long attempts) {
    const CompiledText text(flight.task());
    ASSERT_NE(text.fly(), nullptr) << "the text was not compiled";
    std::map<std::int64_t, FlightMember> in_lanes;
    std::int64_t next = 0;
    LaneFlight lanes(
        flight.task(),
        [&](FlightMember& m) {
          while (next < study.members())
            if (flight.begin(next++, m)) return true;
          return false;
        },
        [&](FlightMember& m) { in_lanes.emplace(m.index, m); });
    ASSERT_TRUE(lanes.run([] { return false; }));

    DeviceFlight device(flight.task(), study.members());
    ModeEntry entry(*flight.task().code);
    for (std::int64_t k = 0; k < study.members(); ++k)
      if (FlightMember m; flight.begin(k, m)) device.take_off(k, m, entry);
    const flight::DeviceArrays arrays{study.members(),          attempts,
                                      flight.task().max_steps,  device.numbers().data(),
                                      device.integers().data(), device.samples().data(),
                                      device.finals().data()};
    const auto flies = [&] {
      for (std::int64_t k = 0; k < study.members(); ++k)
        if (device.state(k) == flight::flying) return true;
      return false;
    };
    for (int slice = 0; flies() && slice < 100000; ++slice) text.fly()(arrays);
    for (std::int64_t k = 0; k < study.members(); ++k) {
      const bool flies_in_lanes = in_lanes.contains(k) && in_lanes.at(k).parked == Parking::none;
      if (device.state(k) != flight::landed) {  // lanes would fly it
        EXPECT_FALSE(flies_in_lanes) << "member " << k;
        continue;
      }
      landed_.push_back(k);
      FlightMember m;
      device.land(k, m);
      ASSERT_EQ(in_lanes.at(k).parked, Parking::none) << "member " << k;
      ASSERT_EQ(bits_of(m), bits_of(in_lanes.at(k))) << "member " << k;
    }
  }

  std::vector<std::int64_t> landed_;
  std::string refusal_;
};

}  // namespace saltus::study_tests
