// A model of cells as a HybridSystem: what happens in the whole is what happens in its cells.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/model/compiled_model.hpp>

#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/cell_code.hpp"
#include "model/cell_system.hpp"

namespace saltus {

/// Cells decide nothing for each other at an instant: a round of the whole is one round of each cell.
class CellFamily final : public HybridSystem {
 public:
  explicit CellFamily(std::shared_ptr<const CellCode> code);
  ~CellFamily() override;

  const std::shared_ptr<const CellCode>& code() const { return code_; }

  std::unique_ptr<HybridSystem> instance() const override;
  const std::string& name() const override { return code_->name(); }
  const std::vector<VariableInfo>& variables() const override { return code_->variables(); }
  const std::vector<VariableInfo>& observed() const override { return code_->observed(); }
  bool derives_variables() const override;
  const std::vector<GuardInfo>& guards() const override { return code_->guards(); }
  Mode initial_mode() const override { return code_->first_mode(); }
  std::string describe(const Mode& mode) const override;
  System& system(const Mode& mode) override;
  void forget_systems(std::span<const System* const> kept) override;
  bool can_stay_on_surfaces(const Mode& mode) override;
  void exit_guards(const Mode& mode, std::vector<int>& numbers) const override;
  bool same_equations(const Mode& a, const Mode& b) const override;
  bool same_time_guards(const Mode& a, const Mode& b) const override;
  int side(const Mode& mode, int guard) const override;
  void positions(const Mode& mode, std::vector<Position>& positions) const override;
  std::vector<int> dormant(const Mode& mode) const override;
  bool follow(Mode& mode, int guard, double value, int side) const override;
  void set_side(Mode& mode, int guard, int side) const override;
  void rest(Mode& mode, int guard) const override;
  bool rests(const Mode& mode, int guard) const override;
  double next_time_event(const Mode& mode, double t, int direction, std::vector<int>& guards) override;
  bool transition(const EventInput& input, Transition& transition) override;
  void end_instant(const EventInput& input, Transition& transition) override;
  void observe(const Mode& mode, double t, std::span<const double> x, std::span<const double> xp,
               std::span<double> values) override;
  std::uint64_t values_key() const override;
  std::shared_ptr<const FamilyParts> parts(int degree) const override;
  std::string_view clause_name(int condition) const override { return code_->clause_name(condition); }
  WrittenEquations* written_equations(const Mode& mode) override;

 private:
  struct State;
  class Equations;
  State& use();
  /// Values that follow from those of cells.
  void observe_followers(double t, std::span<double> values);
  /// One round, or the end, of all cells.
  template <class Round>
  bool in_cells(const EventInput& input, Transition& transition, Round&& round);
  /// Whether the cells in which two modes differ say so.
  template <class Same>
  bool same_in_cells(const Mode& a, const Mode& b, Same&& same) const;

  std::shared_ptr<const CellCode> code_;
  std::unique_ptr<State> state_;  // made when it is needed
};

/// The parts of a model of cells: one for each cell. Null: there are too few.
std::shared_ptr<const FamilyParts> make_cell_parts(const std::shared_ptr<const CellCode>& code, int degree);

}  // namespace saltus
