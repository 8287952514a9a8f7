// Takes the gradient of a functional backwards through the record of a run.
//
// A linear function of the changes of a run at a time (Covector: of the held variables of the mode, and of all data) is
// carried from the end to the start. Between events the adjoint equations are integrated; at an event the stages of the
// forward formula (forward_run.hpp) are transposed, in reverse order:
//
//   s+ = dx - x'+ tau                    in the mode behind the event
//   dx = what jumps and clauses make of it
//   dx = s + x' tau                      in the mode before it
//   tau = -(g_x s + g_p) / (g_t + g_x x')
#pragma once

#include <saltus/sens/adjoint.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sens/act_tangents.hpp"
#include "sens/adjoint_flow.hpp"
#include "sens/directions.hpp"
#include "sens/event_cause.hpp"
#include "sens/mode_tangents.hpp"
#include "sens/run_pieces.hpp"
#include "sens/sensitivity_code.hpp"

namespace saltus {

class AdjointRun {
 public:
  AdjointRun(const CompiledModel& model, const Functional& functional, const std::vector<std::string>& parameters,
             const SimulateOptions& options, const GradientOptions& how);
  FunctionalGradient run();

 private:
  /// What the functional reads at a point of a mode.
  struct ModeTerms {
    std::optional<Gradient> integrand;
    std::map<std::size_t, Gradient> values;  ///< by term: of final values and sums
    std::map<int, Gradient> guards;          ///< of the mode's system
  };

  struct GuardAtZero {
    std::string name;
    const Gradient* gradient;
  };

  std::vector<GuardAtZero> guards_at_zero(const Mode& mode, RecordedSystem& system);
  void count_events(const Trajectory& piece);
  void check_events() const;
  void find_events(std::size_t piece);
  bool walk();
  bool walk_piece(bool last_piece);
  bool check_touches(const RunLeg& leg);
  void begin_at_end(LinearPoint& point);
  bool pass_back(const RunLeg& leg, RecordedPath& path);
  bool find_rounds(const RunInstant& instant, std::vector<RoundMap>& rounds, const Mode* left);
  bool to_before_values(const RunLeg& leg, const LinearPoint& before, bool reset, InstantFunction& function);
  bool pull_through_jump(const LinearPoint& before, InstantFunction& function);
  bool pull_through_tail(const RunLeg& leg, const LinearPoint& before, const EventCauses& causes,
                         InstantFunction& function, InstantFunction& directly, std::vector<double>& of_unknowns);
  bool integrate_back(const RunLeg& leg, RecordedPath& path);
  bool follow_back(const RunLeg& leg, RecordedPath& path);
  bool integrate_smoothly(const RunLeg& leg, RecordedPath& path, Gradient* integrand);
  bool step_back(const RunLeg& leg, RecordedPath& path, Gradient* integrand);
  double error_ratio(const LinearPoint& point, std::span<const double> sizes, const Covector& error,
                     const Covector& function) const;
  struct StepsBack;
  std::shared_ptr<StepsBack> steps_back(const Mode& mode, Gradient* integrand);
  bool integrate_stretch(double late, double early, RecordedPath& path, Gradient* integrand);
  bool solve_initial_equations(InstantFunction& function);
  bool follows_start(const InstantChange& change) const;
  bool finish();
  bool add_integral(const RunLeg& leg, RecordedPath& path, Gradient& integrand);
  void change_held(LinearPoint& point, const std::vector<int>& held);
  InstantFunction at_fixed_time() const;
  ModeTerms& terms_of(const Mode& mode, const LinearPoint& point);
  Gradient& value_gradient(std::size_t term, const Mode& mode, const LinearPoint& point);
  Gradient& guard_gradient(int guard, const Mode& mode, const LinearPoint& point);
  bool fail(double t, std::string why);

  CompiledModel model_;
  const Functional& functional_;
  SimulateOptions options_;
  std::vector<Direction> directions_;
  BorrowedTools tools_;
  LinearModes linear_modes_;
  ActTangents& act_tangents_;
  std::vector<std::vector<int>> events_before_;  // by piece and term: events that are named by it, in earlier pieces
  RunInPieces run_;
  std::unique_ptr<RunRecord> record_;                     // of the piece that is gone through
  std::size_t piece_ = 0;                                 // its number
  std::vector<std::vector<std::size_t>> terms_of_event_;  // by event of the piece: terms that read it
  bool integrates_ = false;
  std::map<const LinearMode*, ModeTerms> mode_terms_;
  std::map<std::uint64_t, std::shared_ptr<ModeTangents>> jump_codes_;  // by the number of the structure
  std::map<std::uint64_t, std::shared_ptr<StepsBack>> steps_back_;     // likewise
  FunctionalGradient result_;

  // behind the instant that comes next on the way back
  Mode mode_;
  LinearPoint point_;
  Covector function_;
  double end_rate_ = 0.0;  // of the functional, where the end of the run moves
};

}  // namespace saltus
