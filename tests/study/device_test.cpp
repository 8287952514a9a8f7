// The text for devices, compiled for this processor: members have the bits that they have in lanes. (What a device
// makes of it is compared by saltus_bench_studies, where there is one.)
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "study/device_flight.hpp"
#include "study/device_source.hpp"
#include "study/models.hpp"
#include "study/study_flight.hpp"

namespace saltus {
namespace {

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

std::vector<std::uint64_t> bits_of(const FlightMember& m) {
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

/// Flies all members of a study both ways. `attempts`: after so many steps the text stops, and goes on in another call.
void compare(const Model& model, const StudyPlan& plan, long long attempts, std::int64_t least) {
  const Study study(model, plan);
  const StudyFlight flight(study);
  ASSERT_TRUE(flight.possible());
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
  std::int64_t landed = 0;
  for (std::int64_t k = 0; k < study.members(); ++k) {
    const bool flies_in_lanes = in_lanes.contains(k) && in_lanes.at(k).parked == Parking::none;
    if (device.state(k) != flight::landed) {  // lanes would fly it
      EXPECT_FALSE(flies_in_lanes) << "member " << k;
      continue;
    }
    ++landed;
    FlightMember m;
    device.land(k, m);
    ASSERT_EQ(in_lanes.at(k).parked, Parking::none) << "member " << k;
    ASSERT_EQ(bits_of(m), bits_of(in_lanes.at(k))) << "member " << k;
  }
  EXPECT_GE(landed, least);
}

TEST(DeviceText, ImpactsHaveTheBitsOfLanes) {
  StudyPlan plan = testing::impact_plan(50);
  plan.collect = {{Collect::sample, "x"}, {Collect::sample, "v"}, {Collect::final_value, "T"}};
  compare(testing::impact_oscillator(), plan, 37, 100);
}

TEST(DeviceText, SlidesHaveTheBitsOfLanes) {
  compare(testing::dry_friction(),
          {.axes = {{"r", 1.0, 5.0, 100}},
           .simulate = {.stop = 100.0, .rtol = 1e-6, .atol = 1e-6},
           .collect = {{Collect::final_value, "x"}, {Collect::final_value, "v"}}},
          1'000'000, 100);
}

TEST(DeviceText, ExtremaAndMeansHaveTheBitsOfLanes) {
  StudyPlan impacts = testing::impact_plan(50);
  impacts.collect = {{Collect::maximum, "x"}, {Collect::minimum, "v"}, {Collect::mean, "v"}, {Collect::sample, "x"}};
  compare(testing::impact_oscillator(), impacts, 37, 100);
  compare(testing::dry_friction(),
          {.axes = {{"r", 1.0, 5.0, 100}},
           .simulate = {.stop = 100.0, .rtol = 1e-6, .atol = 1e-6},
           .collect_after = 61.3,
           .collect = {{Collect::minimum, "x"}, {Collect::mean, "v"}, {Collect::maximum, "v"}}},
          1'000'000, 100);
}

TEST(DeviceText, SamplesClocksAndCountersHaveTheBitsOfLanes) {
  Model m("sampled");
  const Expr gain = m.parameter("gain", 1.5);
  const Expr x = m.variable("x", 1.0, {.fixed = true}), energy = m.variable("energy");
  const Expr held = m.discrete("held", 0.0), count = m.discrete("count", 0.0);
  m.equation(der(x) == -0.3 * x + held + if_else(m.time() > 2.25, Expr(0.5), Expr(0.0)));
  m.equation(energy == exp(-x) * sqrt(1.0 + x * x) + log(2.0 + x * x));
  m.when(m.sample(0.0, 0.1)).assign(held, -gain * x).assign(count, m.pre(count) + 1.0);
  compare(m,
          {.axes = {{"gain", 0.5, 2.5, 70}},
           .simulate = {.stop = 5.05, .rtol = 1e-7, .atol = 1e-7},
           .collect = {{Collect::final_value, "energy"},
                       {Collect::mean, "energy"},
                       {Collect::maximum, "held"},
                       {Collect::count, "count"},
                       {Collect::first, "count"}}},
          100, 70);
}

// Guards that are not affine are proved on a device as in lanes: the same members fly, with the same bits.
TEST(DeviceText, NonlinearGuardsAreProvedAsInLanes) {
  Model pulse("pulse");
  const Expr c = pulse.parameter("c", 0.5), x = pulse.variable("x", 0.0, {.fixed = true}), n = pulse.discrete("n", 0.0);
  pulse.equation(der(x) == 1.0);
  pulse.when(1.0 - 4e4 * (x - c) * (x - c) > 0.5).assign(n, pulse.pre(n) + 1.0);
  compare(pulse, {.axes = {{"c", 0.1, 9.9, 100}}, .simulate = {.stop = 10.0}, .collect = {{Collect::count, "n"}}}, 1000,
          0);
  Model circle("circle");
  const Expr r = circle.parameter("r", 0.5), k = circle.discrete("k", 0.0);
  const Expr u = circle.variable("u", 1.0, {.fixed = true}), v = circle.variable("v", 0.0, {.fixed = true});
  circle.equation(der(u) == v);
  circle.equation(der(v) == -4.0 * u);
  circle.when(u * u > r).assign(k, circle.pre(k) + 1.0);
  compare(circle,
          {.axes = {{"r", 0.2, 0.9, 100}},
           .simulate = {.stop = 20.0, .rtol = 1e-7, .atol = 1e-7},
           .collect = {{Collect::final_value, "u"}, {Collect::count, "k"}}},
          1000, 90);
}

TEST(DeviceText, FunctionsWithoutTextAreRefusedByName) {
  Model m("tangent");
  const Expr a = m.parameter("a", 1.0), x = m.variable("x", 0.5, {.fixed = true});
  m.equation(der(x) == -a * tanh(x));
  const Study study(m, {.axes = {{"a", 0.5, 2.0, 70}}, .collect = {{Collect::final_value, "x"}}});
  const StudyFlight flight(study);
  ASSERT_TRUE(flight.possible());
  try {
    device_source(flight.task());
    FAIL() << "not refused";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("'tanh'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace saltus
