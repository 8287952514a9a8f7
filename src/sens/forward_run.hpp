// Takes derivatives through a run: between events they follow its steps (tangent_flow.hpp), at an event the formula
//
//   tau = -(g_x s + g_p) / (g_t + g_x x')          how the time of the event moves, in the mode before it
//   dx  = s + x' tau                               to the event
//   dx := what the clauses make of it              round by round
//   s   = dx - x' tau                              back to a fixed time, with x' of the mode behind it
//
// is applied to the record of the run. Nothing is located or decided anew.
#pragma once

#include <saltus/sens/sensitivities.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sens/act_tangents.hpp"
#include "sens/constrained_tangents.hpp"
#include "sens/directions.hpp"
#include "sens/event_cause.hpp"
#include "sens/guard_orders.hpp"
#include "sens/run_record.hpp"
#include "sens/segment_system.hpp"
#include "sens/sensitivity_code.hpp"
#include "sens/sensitivity_run.hpp"
#include "sens/tangent_flow.hpp"

namespace saltus {

class ForwardRun {
 public:
  ForwardRun(const CompiledModel& model, const std::vector<std::string>& parameters, const SimulateOptions& options,
             const SensitivityOptions& sensitivity);
  SensitivityRun run();

 private:
  /// A point of a mode with its tangents.
  struct Point {
    Mode mode;
    RecordedSystem* system = nullptr;  ///< of the mode
    // an explicit mode has `work`, one with a regular linearisation `constrained`, any other one `code` and `tangents`
    std::shared_ptr<TangentWork> work;
    std::shared_ptr<ConstrainedTangents> constrained;
    std::shared_ptr<const TangentValues> values;  ///< of the two
    std::vector<double> unknowns;                 ///< what flows in constrained modes
    std::shared_ptr<ModeTangents> code;           ///< the equations with their derivatives
    std::shared_ptr<SegmentSystem> tangents;      ///< likewise, with values
    double t = 0.0;
    std::vector<double> y, yp;  ///< x, x', s of each direction; and their derivatives

    std::size_t n() const { return static_cast<std::size_t>(system->structure().variables); }
    double x(std::size_t j) const { return y[j]; }
    double slope(std::size_t j) const { return y[n() + j]; }
    double bend(std::size_t j) const { return yp[n() + j]; }
    double s(std::size_t k, std::size_t j) const { return y[(k + 2) * n() + j]; }
    double sp(std::size_t k, std::size_t j) const { return yp[(k + 2) * n() + j]; }
  };
  /// Why an event happened where it did.
  struct Cause {
    int guard = -1;  ///< -1: none
    std::vector<double> time_change;
    std::string remark;
    std::vector<int> guards = {};                        ///< that fired together, by their own
    std::vector<std::vector<double>> time_changes = {};  ///< of each of them
    std::vector<std::string> names = {};
    int apart = -1;  ///< a direction that moves them by different times; -1: there is none
    Smoothness smoothness = Smoothness::smooth;
  };

  /// A guard at zero that a direction moves.
  struct MovedZero {
    std::string guard;
    int number;  ///< of the guard
    std::size_t direction;
    int side;  ///< on which the guard is in the mode
    double slope, along;
  };
  /// The last event that directions may move.
  struct LastInstant {
    double t = 0.0;
    std::vector<double> moves = {};  ///< of its time, by direction; infinite: not one number
  };

  /// A relation that reads data alone.
  struct DataRelation {
    std::string text;
    Gradient function;
  };

  bool walk();
  bool begin();
  bool open(const Mode& mode, double t, std::vector<double> x, bool start);
  bool open_implicit(double t, std::vector<double>& x, std::vector<double>& xp, std::vector<char>& held, bool start);
  bool open_constrained(std::span<const char> held);
  bool is_consistent(double t, std::span<const double> x, std::span<const double> xp, std::span<const char> held);
  bool make_consistent(std::span<const char> held, bool start);
  bool stays(std::span<const double> consistent, bool start);
  bool solve_start(std::span<const char> held);
  bool jump_along_impulses(std::span<const double> x_before, std::span<const double> x);
  bool integrate(const RunLeg& leg);
  bool solve_with_derivatives(double to);
  bool follow_steps(const RunLeg& leg);
  void take_constrained();
  std::shared_ptr<TangentWork> work_of_mode();
  std::vector<double> in_lanes() const;
  void take_lanes(std::span<const double> s);
  void find_slopes(std::span<const double> s);
  bool open_explicit(bool start);
  std::shared_ptr<ModeTangents> code_with_derivatives();
  void make_segment(std::span<const char> held);
  Gradient& guard(int number);
  std::vector<std::vector<double>> data_changes() const;
  void note_events(const RunInstant& instant);
  bool leave(const RunLeg& leg);
  bool take_acts(const RunInstant& instant);
  bool assigned_remain(const Mode& mode);
  bool take_tail(const Trajectory::Step& tail, const RunInstant& contact);
  bool find_cause(const RunLeg& leg);
  bool pass_in_both_orders(double t);
  bool pass_touch(const RunLeg& leg, std::size_t event);
  void finish(bool moving_end);
  double run_direction() const;
  void mark_one_sided(std::size_t direction, double t, const std::string& why);
  std::vector<MovedZero> moved_zeros(double near);
  void mark_start();
  void mark_equal_data();
  void take_sides(std::size_t direction, std::size_t variable, bool jumps, double other, bool growing_is_other);
  bool same_value(double a, double b, double nominal) const;
  void mark_events_after_stop();
  void mark_event_at_stop();
  void note_sides();
  void note_smoothness(EventSensitivity& event) const;
  GuardRate rate(Gradient& gradient, double t) const;
  std::vector<double> data_change(std::size_t direction, std::size_t count) const;
  std::vector<double> time_changes() const;
  /// The sensitivities end here.
  bool fail(double t, std::string text);
  void note_end();

  CompiledModel model_;
  SimulateOptions options_;
  SensitivityOptions sensitivity_;
  std::vector<Direction> directions_;
  BorrowedTools tools_;
  LinearModes linear_modes_;
  ActTangents& act_tangents_;
  std::map<const RecordedEquations*, std::shared_ptr<ModeTangents>> codes_;
  std::map<std::uint64_t, std::shared_ptr<TangentWork>> works_;                // by the number of the structure
  std::map<std::uint64_t, std::shared_ptr<ConstrainedTangents>> constrained_;  // likewise; null: there are none
  RunRecord record_;
  std::unique_ptr<SensitivityRun::Impl> result_;

  Point now_;
  Cause cause_;
  LastInstant last_instant_;
  std::map<const RecordedEquations*, std::vector<DataRelation>> data_relations_;
  std::vector<InstantChange> changes_;      // in an instant, by direction; `discrete` counts between instants, too
  std::vector<RoundMap> rounds_;            // of the instant
  std::vector<int> reset_;                  // variables that the model has set in the instant
  std::vector<double> x_reset_;             // what it has made of the variables
  std::map<std::size_t, double> assigned_;  // discrete variables that it has set, and their values
};

}  // namespace saltus
