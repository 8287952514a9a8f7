// How much memory a run of a very large mode needs beside the system itself: a thermostat on a rod, written by hand.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulator.hpp>

#include <cmath>
#include <limits>

#include "suites/count_allocations.hpp"

namespace saltus {
namespace {

/// Variable 2i is the energy of cell i, 2i + 1 its temperature.
class Rod final : public System {
 public:
  explicit Rod(int cells) : cells_(cells) {
    const int n = 2 * cells;
    structure_.variables = structure_.equations = n;
    structure_.guards = 1;
    structure_.constant_mass = true;
    structure_.guard_variables = {sensor()};
    std::vector<std::pair<int, int>> x, xp;
    for (int i = 0; i < cells; ++i) {
      for (const int k : {i - 1, i, i + 1})
        if (k >= 0 && k < cells) x.emplace_back(2 * k, 2 * i + 1);
      x.emplace_back(2 * i + 1, 2 * i);
      x.emplace_back(2 * i + 1, 2 * i + 1);
      xp.emplace_back(2 * i, 2 * i);
    }
    structure_.state_pattern = make_pattern(n, n, x);
    structure_.derivative_pattern = make_pattern(n, n, xp);
  }
  int sensor() const { return 2 * (cells_ / 4) + 1; }
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    double left = on ? 4.0 : 0.0;
    for (int i = 0; i < cells_; ++i) {
      const double T = x[2 * i + 1], right = i + 1 < cells_ ? (T - x[2 * i + 3]) * cells_ : T;
      F[2 * i] = xp[2 * i] - (left - right) * cells_;
      F[2 * i + 1] = x[2 * i] - T - 0.2 * T * T;
      left = right;
    }
  }
  void jacobian(double, std::span<const double> x, std::span<const double>, std::span<double> Fx, std::span<double> Fxp) override {
    const double d = static_cast<double>(cells_) * cells_;
    std::size_t k = 0;
    for (int i = 0; i < cells_; ++i) {
      Fx[k++] = 1.0;
      if (i > 0) Fx[k++] = -d;
      Fx[k++] = (i > 0 ? d : 0.0) + (i + 1 < cells_ ? d : cells_);
      Fx[k++] = -1.0 - 0.4 * x[2 * i + 1];
      if (i + 1 < cells_) Fx[k++] = -d;
      Fxp[i] = 1.0;
    }
  }
  void guards(double, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    g[0] = on ? x[sensor()] - 1.05 : 0.95 - x[sensor()];
  }

  bool on = true;

 private:
  int cells_;
  Structure structure_;
};

class Thermostat final : public HybridSystem {
 public:
  explicit Thermostat(int cells) : rod_(cells) {
    for (int i = 0; i < cells; ++i) {
      const double T = 0.9 * (1.0 - 0.3 * (i + 0.5) / cells);
      variables_.push_back({.name = "e" + std::to_string(i), .start = T + 0.2 * T * T});
      variables_.push_back({.name = "T" + std::to_string(i), .start = T});
    }
  }
  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override { return {.automaton = 0, .discrete = {}, .locks = {0.0}, .conditions = {}}; }
  std::string describe(const Mode& mode) const override { return mode.automaton == 0 ? "on" : "off"; }
  System& system(const Mode& mode) override {
    rod_.on = mode.automaton == 0;
    return rod_;
  }
  int side(const Mode& mode, int) const override { return mode.locks[0] != 0.0 ? +1 : -1; }
  void set_side(Mode& mode, int, int side) const override { mode.locks[0] = side > 0 ? 1.0 : 0.0; }
  double next_time_event(const Mode&, double, int direction, std::vector<int>&) override {
    return direction * std::numeric_limits<double>::infinity();
  }
  bool transition(const EventInput&, Transition& transition) override {
    if (transition.mode.locks[0] == 0.0) return false;
    transition.mode.automaton = 1 - transition.mode.automaton;
    transition.mode.locks[0] = 0.0;
    return true;
  }

 private:
  std::string name_ = "thermostat";
  Rod rod_;
  std::vector<VariableInfo> variables_;
  std::vector<GuardInfo> guards_ = {{"the sensor reaches its limit"}};
};

TEST(LargeModeMemory, ARunNeedsFiftyNumbersForEachVariable) {
  const int cells = 30000;  // all workspaces are above the size from which they are given back
  const auto model = std::make_shared<Thermostat>(cells);
  suite::forget_peak();
  Simulator simulator(model, {.stop = 0.3, .rtol = 1e-4, .atol = 1e-4, .method = Method::rodas5p, .keep_steps = false, .keep_event_values = false});
  simulator.run();
  const double bytes = static_cast<double>(suite::peak_bytes()) / (2.0 * cells);
  EXPECT_TRUE(simulator.status().ok()) << simulator.status().message;
  EXPECT_GE(simulator.trajectory().events().size(), 2u);
  // Eight stages of rodas5p, its six vectors and the matrix of three entries for each variable with its factors make 30 numbers, the
  // state, the event that is being approached and its consistent values 15.
  EXPECT_LE(bytes, 50.0 * sizeof(double));
}

TEST(LargeModeMemory, NamesTakeNoRoomForDetailsThatAreNotThere) {
  EXPECT_LE(sizeof(VariableInfo), sizeof(std::string) + 4 * sizeof(double));
}

}  // namespace
}  // namespace saltus
