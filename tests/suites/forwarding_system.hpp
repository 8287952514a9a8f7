// A HybridSystem that hands everything on to another one: what tests that look in between begin with.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace saltus::suite {

class ForwardingSystem : public HybridSystem {
 public:
  explicit ForwardingSystem(std::shared_ptr<HybridSystem> behind) : behind_(std::move(behind)) {}

  std::unique_ptr<HybridSystem> instance() const override {
    auto another = behind_->instance();
    return another ? std::make_unique<ForwardingSystem>(std::shared_ptr<HybridSystem>(std::move(another))) : nullptr;
  }
  const std::string& name() const override { return behind_->name(); }
  const std::vector<VariableInfo>& variables() const override { return behind_->variables(); }
  const std::vector<GuardInfo>& guards() const override { return behind_->guards(); }
  const std::vector<InputInfo>& inputs() const override { return behind_->inputs(); }
  Mode initial_mode() const override { return behind_->initial_mode(); }
  ExtraConditions* initial_conditions(const Mode& mode) override { return behind_->initial_conditions(mode); }
  std::optional<double> start_time() const override { return behind_->start_time(); }
  std::string describe(const Mode& mode) const override { return behind_->describe(mode); }
  System& system(const Mode& mode) override { return behind_->system(mode); }
  void exit_guards(const Mode& mode, std::vector<int>& numbers) const override { behind_->exit_guards(mode, numbers); }
  void forget_systems(std::span<const System* const> kept) override { behind_->forget_systems(kept); }
  bool same_equations(const Mode& a, const Mode& b) const override { return behind_->same_equations(a, b); }
  bool same_time_guards(const Mode& a, const Mode& b) const override { return behind_->same_time_guards(a, b); }
  int side(const Mode& mode, int guard) const override { return behind_->side(mode, guard); }
  void positions(const Mode& mode, std::vector<Position>& positions) const override {
    behind_->positions(mode, positions);
  }
  std::vector<int> dormant(const Mode& mode) const override { return behind_->dormant(mode); }
  bool follow(Mode& mode, int guard, double value, int side) const override {
    return behind_->follow(mode, guard, value, side);
  }
  void set_side(Mode& mode, int guard, int side) const override { behind_->set_side(mode, guard, side); }
  void rest(Mode& mode, int guard) const override { behind_->rest(mode, guard); }
  bool rests(const Mode& mode, int guard) const override { return behind_->rests(mode, guard); }
  bool can_stay_on_surfaces(const Mode& mode) override { return behind_->can_stay_on_surfaces(mode); }
  double next_time_event(const Mode& mode, double t, int direction, std::vector<int>& guards) override {
    return behind_->next_time_event(mode, t, direction, guards);
  }
  bool transition(const EventInput& input, Transition& transition) override {
    return behind_->transition(input, transition);
  }
  void end_instant(const EventInput& input, Transition& transition) override {
    behind_->end_instant(input, transition);
  }
  void take_paired_side(Mode& mode) const override { behind_->take_paired_side(mode); }
  bool same_decisions(const Mode& a, const Mode& b) const override { return behind_->same_decisions(a, b); }
  bool acts_alike(const Mode& a, const Mode& b) const override { return behind_->acts_alike(a, b); }
  void identify(const Mode& mode, std::vector<double>& key) const override { behind_->identify(mode, key); }
  WrittenEquations* written_equations(const Mode& mode) override { return behind_->written_equations(mode); }
  const std::vector<VariableInfo>& observed() const override { return behind_->observed(); }
  bool derives_variables() const override { return behind_->derives_variables(); }
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override {
    behind_->observe(mode, t, x, xp, values);
  }

 protected:
  HybridSystem& behind() const { return *behind_; }

 private:
  std::shared_ptr<HybridSystem> behind_;
};

}  // namespace saltus::suite
