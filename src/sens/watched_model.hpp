// A compiled model that notes what its clauses do in a run. The run does not see a difference.
#pragma once

#include <saltus/dae/easier_start.hpp>
#include <saltus/model/compiled_model.hpp>

#include <memory>
#include <string>
#include <vector>

#include "model/acts.hpp"
#include "model/model_access.hpp"
#include "model/wrapped_model.hpp"

namespace saltus {

class WatchedModel final : public HybridSystem, public EasierStart, public WrappedModel {
 public:
  /// All instances write into the same list.
  WatchedModel(const CompiledModel& model, std::shared_ptr<std::vector<Act>> acts)
      : model_(model), acts_(std::move(acts)) {}

  std::unique_ptr<HybridSystem> instance() const override { return std::make_unique<WatchedModel>(model_, acts_); }
  const CompiledModel& model() const override { return model_; }
  const std::string& name() const override { return model_.name(); }
  const std::vector<VariableInfo>& variables() const override { return model_.variables(); }
  const std::vector<GuardInfo>& guards() const override { return model_.guards(); }
  const std::vector<InputInfo>& inputs() const override { return model_.inputs(); }
  Mode initial_mode() const override { return model_.initial_mode(); }
  ExtraConditions* initial_conditions(const Mode& mode) override { return model_.initial_conditions(mode); }
  std::optional<double> start_time() const override { return model_.start_time(); }
  std::string describe(const Mode& mode) const override { return model_.describe(mode); }
  System& system(const Mode& mode) override { return model_.system(mode); }
  void exit_guards(const Mode& mode, std::vector<int>& numbers) const override { model_.exit_guards(mode, numbers); }
  void forget_systems(std::span<const System* const> kept) override { model_.forget_systems(kept); }
  bool same_equations(const Mode& a, const Mode& b) const override { return model_.same_equations(a, b); }
  bool same_time_guards(const Mode& a, const Mode& b) const override { return model_.same_time_guards(a, b); }
  int side(const Mode& mode, int guard) const override { return model_.side(mode, guard); }
  void positions(const Mode& mode, std::vector<Position>& positions) const override {
    model_.positions(mode, positions);
  }
  void set_side(Mode& mode, int guard, int side) const override { model_.set_side(mode, guard, side); }
  std::vector<int> dormant(const Mode& mode) const override { return model_.dormant(mode); }
  bool follow(Mode& mode, int guard, double value, int side) const override {
    return model_.follow(mode, guard, value, side);
  }
  void rest(Mode& mode, int guard) const override { model_.rest(mode, guard); }
  bool rests(const Mode& mode, int guard) const override { return model_.rests(mode, guard); }
  bool can_stay_on_surfaces(const Mode& mode) override { return model_.can_stay_on_surfaces(mode); }
  double next_time_event(const Mode& mode, double t, int direction, std::vector<int>& fired) override {
    return model_.next_time_event(mode, t, direction, fired);
  }
  bool transition(const EventInput& input, Transition& transition) override;
  void end_instant(const EventInput& input, Transition& transition) override { model_.end_instant(input, transition); }
  void take_paired_side(Mode& mode) const override { model_.take_paired_side(mode); }
  const std::vector<VariableInfo>& observed() const override { return model_.observed(); }
  bool same_decisions(const Mode& a, const Mode& b) const override { return model_.same_decisions(a, b); }
  bool acts_alike(const Mode& a, const Mode& b) const override { return model_.acts_alike(a, b); }
  void identify(const Mode& mode, std::vector<double>& key) const override { model_.identify(mode, key); }
  bool derives_variables() const override { return model_.derives_variables(); }
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override {
    model_.observe(mode, t, x, xp, values);
  }
  std::uint64_t values_key() const override { return model_.values_key(); }
  WrittenEquations* written_equations(const Mode& mode) override { return model_.written_equations(mode); }
  std::shared_ptr<HybridSystem> eased(double share, std::span<const double> values) const override {
    return model_.eased(share, values);
  }

 private:
  CompiledModel model_;
  std::shared_ptr<std::vector<Act>> acts_;
};

}  // namespace saltus
