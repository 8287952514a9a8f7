// One mode with its tangents, as a family of a single mode without events: what a run between two events integrates.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <memory>
#include <string>
#include <vector>

#include "sens/mode_tangents.hpp"

namespace saltus {

class SegmentSystem final : public HybridSystem {
 public:
  /// `held`: variables that keep their start values, by place.
  SegmentSystem(std::shared_ptr<const ModeTangents> code, RecordedSystem system, std::span<const double> start,
                const std::vector<char>& held)
      : code_(std::move(code)), system_(std::move(system)) {
    for (std::size_t j = 0; j < start.size(); ++j)
      variables_.push_back({.name = system_.variable_name(static_cast<int>(j)),
                            .start = start[j],
                            .fixed = held[j] != 0,
                            .nominal = system_.nominal(static_cast<int>(j))});
    observed_.resize(code_->observed() * (start.size() / code_->variables() - 1));
  }

  RecordedSystem& equations() { return system_; }
  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override { return {}; }
  std::string describe(const Mode&) const override { return ""; }
  System& system(const Mode&) override { return system_; }
  int side(const Mode&, int) const override { return 0; }
  void set_side(Mode&, int, int) const override {}
  bool transition(const EventInput&, Transition&) override { return false; }
  const std::vector<VariableInfo>& observed() const override { return observed_; }
  bool derives_variables() const override { return false; }
  void observe(const Mode&, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override {
    code_->observe(system_, t, x, xp, values);
  }

 private:
  std::shared_ptr<const ModeTangents> code_;
  RecordedSystem system_;
  std::string name_ = "tangents";
  std::vector<VariableInfo> variables_, observed_;
  std::vector<GuardInfo> guards_;
};

}  // namespace saltus
