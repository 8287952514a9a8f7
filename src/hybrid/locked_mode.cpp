#include <saltus/base/error.hpp>
#include <saltus/hybrid/locked_mode.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace saltus {

namespace {

/// The equations alone: relations need not agree with their expressions any more.
class EquationsAlone final : public WrittenEquations {
 public:
  WrittenEquations* of = nullptr;

  int count() const override { return of->count(); }
  std::string name(int i) const override { return of->name(i); }
  void residuals(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                 std::span<WrittenResidual> residuals) override {
    of->residuals(mode, t, values, xp, residuals);
  }
};

class LockedMode final : public HybridSystem {
 public:
  explicit LockedMode(std::shared_ptr<HybridSystem> of) : of_(std::move(of)) {}

  std::unique_ptr<HybridSystem> instance() const override {
    std::shared_ptr<HybridSystem> own = of_->instance();
    return own ? std::make_unique<LockedMode>(std::move(own)) : nullptr;
  }

  // --- switching
  void end_instant(const EventInput& input, Transition& transition) override {
    of_->end_instant(input, transition);
    if (transition.mode.on_surfaces()) {
      transition.failed = true;
      transition.message = "the mode cannot be locked: the run starts on a surface, " + of_->describe(transition.mode);
    }
    locked_ = true;
  }
  bool transition(const EventInput& input, Transition& transition) override {
    return !locked_ && of_->transition(input, transition);
  }
  int side(const Mode& mode, int guard) const override { return locked_ ? 0 : of_->side(mode, guard); }
  void positions(const Mode& mode, std::vector<Position>& positions) const override {
    of_->positions(mode, positions);
    if (locked_) std::ranges::fill(positions, Position::unwatched);
  }
  std::vector<int> dormant(const Mode& mode) const override {
    return locked_ ? std::vector<int>{} : of_->dormant(mode);
  }
  bool follow(Mode& mode, int guard, double value, int side) const override {
    return !locked_ && of_->follow(mode, guard, value, side);
  }
  double next_time_event(const Mode& mode, double t, int direction, std::vector<int>& fired) override {
    if (!locked_) return of_->next_time_event(mode, t, direction, fired);
    return direction * std::numeric_limits<double>::infinity();
  }
  bool complete_step(const Mode& mode, double t, std::span<const double> x) override {
    return !locked_ && of_->complete_step(mode, t, x);
  }
  WrittenEquations* written_equations(const Mode& mode) override {
    equations_.of = of_->written_equations(mode);
    return equations_.of ? &equations_ : nullptr;
  }

  // --- the same
  const std::string& name() const override { return of_->name(); }
  const std::vector<VariableInfo>& variables() const override { return of_->variables(); }
  const std::vector<GuardInfo>& guards() const override { return of_->guards(); }
  Mode initial_mode() const override { return of_->initial_mode(); }
  ExtraConditions* initial_conditions(const Mode& mode) override { return of_->initial_conditions(mode); }
  std::optional<double> start_time() const override { return of_->start_time(); }
  std::string describe(const Mode& mode) const override { return of_->describe(mode); }
  System& system(const Mode& mode) override { return of_->system(mode); }
  void exit_guards(const Mode& mode, std::vector<int>& numbers) const override { of_->exit_guards(mode, numbers); }
  void forget_systems(std::span<const System* const> kept) override { of_->forget_systems(kept); }
  bool same_equations(const Mode& a, const Mode& b) const override { return of_->same_equations(a, b); }
  bool same_time_guards(const Mode& a, const Mode& b) const override { return of_->same_time_guards(a, b); }
  void set_side(Mode& mode, int guard, int side) const override { of_->set_side(mode, guard, side); }
  void rest(Mode& mode, int guard) const override { of_->rest(mode, guard); }
  bool rests(const Mode& mode, int guard) const override { return of_->rests(mode, guard); }
  bool can_stay_on_surfaces(const Mode& mode) override { return of_->can_stay_on_surfaces(mode); }
  void take_paired_side(Mode& mode) const override { of_->take_paired_side(mode); }
  bool same_decisions(const Mode& a, const Mode& b) const override { return of_->same_decisions(a, b); }
  bool acts_alike(const Mode& a, const Mode& b) const override { return of_->acts_alike(a, b); }
  void identify(const Mode& mode, std::vector<double>& key) const override { of_->identify(mode, key); }
  const std::vector<VariableInfo>& observed() const override { return of_->observed(); }
  bool derives_variables() const override { return of_->derives_variables(); }
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override {
    of_->observe(mode, t, x, xp, values);
  }
  std::uint64_t values_key() const override { return of_->values_key(); }
  std::string_view clause_name(int condition) const override { return of_->clause_name(condition); }

 private:
  std::shared_ptr<HybridSystem> of_;
  EquationsAlone equations_;
  bool locked_ = false;
};

}  // namespace

std::shared_ptr<HybridSystem> lock_mode(std::shared_ptr<HybridSystem> system) {
  if (!system->inputs().empty())
    throw UsageError(
        fmt::format("the mode of '{}' cannot be locked: its inputs change by events; give them constant "
                    "values by equations",
                    system->name()));
  return std::make_shared<LockedMode>(std::move(system));
}

}  // namespace saltus
