// Compiled modes and transitions as the executor asks for them, on a processor: FlightCode with what one thread needs
// to evaluate it.
#pragma once

#include <cstddef>
#include <vector>

#include "flight/executor.hpp"
#include "flight/flight_code.hpp"
#include "flight/mode_entry.hpp"

namespace saltus {

/// Bounds of guards that GuardBounds has none for.
class GuardEnclosures {
 public:
  virtual ~GuardEnclosures() = default;
  /// Of a guard (a place in the tape) over a piece of the last step. False: there are none.
  virtual bool find(std::size_t guard, const flight::StepPart& part, flight::GuardRange& range) = 0;
};

/// What runs have in common beside their code.
struct ExecutorRules {
  double rtol = 1e-6;
  std::vector<double> atol = {};  ///< by variable
  double max_step = 0.0;
  bool watches_stiffness = true;
  bool leaves_if_stiff = true;  ///< the run may take another method
};

class HostCode {
 public:
  struct Numbers {
    std::vector<double> x_, slope_, data_;
    std::vector<Arrivals> arrivals_;  ///< of time and variables
    FlightNumbers numbers;

    double* x() { return x_.data(); }
    double* slope() { return slope_.data(); }
    double* data() { return data_.data(); }
    Arrivals* arrivals() { return arrivals_.data(); }
    double* parameters() { return numbers.parameters.data(); }
    double* discretes() { return numbers.discretes.data(); }
    double* locks() { return numbers.locks.data(); }
    const double* x() const { return x_.data(); }
    const double* slope() const { return slope_.data(); }
    const double* data() const { return data_.data(); }
    const double* parameters() const { return numbers.parameters.data(); }
    const double* discretes() const { return numbers.discretes.data(); }
    const double* locks() const { return numbers.locks.data(); }
  };
  /// What is evaluated at a point of a mode. There are two at a time.
  struct Point {
    Point(HostCode& code, int which);
    double *x, *slope, *guards, *guard_slopes, *guard_curves, *clocks, *clock_slopes, *discretes, *locks, *data;
    unsigned char* due;
  };
  /// What the search for crossings works on.
  struct SearchRoom {
    explicit SearchRoom(HostCode& code);
    double *in, *out, *x, *values;
  };
  using State = flight::RunState<HostCode>;

  /// `code` must outlive this.
  HostCode(const FlightCode& code, ExecutorRules rules);

  const FlightCode& code() const { return code_; }
  const ExecutorRules& rules() const { return rules_; }
  /// Bounds for guards without a program of bounds.
  void use(GuardEnclosures* enclosures) { enclosures_ = enclosures; }
  /// Leaves a transition out.
  void forbid(int edge) { edges_[static_cast<std::size_t>(edge)].usable = false; }
  /// The transition and its mode by their number.
  const FlightEdge& edge(int e) const { return *edges_[static_cast<std::size_t>(e)].edge; }
  int number_of(const FlightEdge& edge) const;

  // --- what the executor asks for
  int variables() const { return variables_; }
  int discrete_numbers() const { return discretes_; }
  int lock_numbers() const { return locks_; }
  int data_count(int tape) const { return static_cast<int>(tape_of(tape).data.size()); }
  int stages() const { return code_.method.stages(); }
  int degree() const { return code_.method.dense_degree(); }
  const flight::Control& control() const { return code_.control; }
  const flight::Stiffness& stiffness() const { return code_.stiffness; }
  bool watches_stiffness() const { return watches_stiffness_; }
  bool leaves_if_stiff() const { return rules_.leaves_if_stiff; }
  double max_step() const { return rules_.max_step; }
  double rtol() const { return rules_.rtol; }
  const double* atol() const { return rules_.atol.data(); }

  int mode_tape(int mode) const { return static_cast<int>(mode_of(mode).tape); }
  bool needs_proof(int mode) const { return needs_proof_[static_cast<std::size_t>(mode)] != 0; }
  const signed char* sides(int mode) const { return mode_of(mode).sides.data(); }
  const signed char* clock_sides(int mode) const { return mode_of(mode).clock_sides.data(); }
  int guard_count(int tape) const { return static_cast<int>(tape_of(tape).guards.size()); }
  int clock_count(int tape) const { return static_cast<int>(tape_of(tape).clocks.size()); }
  const int* first(int tape) const { return tape_of(tape).first.data(); }
  const unsigned char* affine(int tape) const { return tape_of(tape).affine.data(); }
  const int* bound_place(int tape) const { return bound_places_[static_cast<std::size_t>(tape)].data(); }
  int bound_stride() const { return most_bounds_; }

  int first_edge(int mode) const { return first_edge_[static_cast<std::size_t>(mode)]; }
  int edge_guard(int e) const { return edge(e).guard; }
  long long edge_clocks(int e) const { return edge(e).clocks; }
  int edge_target(int e) const { return static_cast<int>(edge(e).target); }
  const int* edge_zeros() const { return zeros_.data(); }
  int first_zero(int e) const { return first_zero_[static_cast<std::size_t>(e)]; }

  void at(int tape, double t, const double* x, const double* data, Point& p);
  void guards(int tape, double t, const double* x, const double* data, double* values);
  void bounds(int tape, const double* in, const double* data, double* out);
  bool act(int e, double t, const double* x, const double* parameters, const double* discretes, double* x_new,
           double* d_new, double* l_new);
  void gather(int mode, const double* parameters, const double* discretes, const double* locks, double* data) const;
  bool constrained(int tape) const { return tape_of(tape).constrained(); }
  const unsigned char* differentiated(int tape) const { return tape_of(tape).state.data(); }
  void project(int tape, double t, const double* x, const double* data, double* moved);
  bool edge_projects(int e) const { return !edge(e).project.empty(); }
  void project_after(int e, double t, const double* x, const double* data, double* moved);
  bool enclose(const State&, const flight::End&, const flight::StepView&, int guard, const flight::StepPart& part,
               flight::GuardRange& range) {
    return enclosures_ && enclosures_->find(static_cast<std::size_t>(guard), part, range);
  }

  // --- what is done with its states
  /// The eliminated variables that are wanted, at a point of a mode.
  const double* observe(int mode, double t, const double* x, const double* data);

 private:
  struct Edge {
    const FlightEdge* edge;
    bool usable;
    Workspace work, project;
  };
  struct TapeWork {
    Workspace at, guard, bounds, observe, project;
  };
  const FlightTape& tape_of(int tape) const { return code_.tapes[static_cast<std::size_t>(tape)]; }
  const FlightMode& mode_of(int mode) const { return code_.modes[static_cast<std::size_t>(mode)]; }
  void make_room();

  const FlightCode& code_;
  ExecutorRules rules_;
  GuardEnclosures* enclosures_ = nullptr;
  int variables_ = 0, discretes_ = 0, locks_ = 0, most_bounds_ = 0;
  bool watches_stiffness_;
  std::vector<char> needs_proof_;
  std::vector<std::vector<int>> bound_places_;  // by tape
  std::vector<Edge> edges_;                     // of all modes, one after the other
  std::vector<int> first_edge_, first_zero_, zeros_;
  std::vector<TapeWork> tapes_;
  // workspace
  std::vector<double> points_[2], search_, set_, observed_;
  std::vector<unsigned char> due_[2];
  std::size_t most_guards_ = 0, most_clocks_ = 0, most_data_ = 0;
};

/// The outputs of a step tape with several lanes.
inline flight::StepView step_view(const double* const* out, std::size_t lane, int lanes) {
  return {.stride = lanes,
          .error = out[StepOutput::error][lane],
          .finite = out[StepOutput::finite][lane],
          .x = out[StepOutput::x] + lane,
          .slopes = out[StepOutput::slopes] + lane,
          .dense = out[StepOutput::dense] + lane,
          .guards = out[StepOutput::guards] + lane,
          .lower = out[StepOutput::lower] + lane,
          .upper = out[StepOutput::upper] + lane,
          .bernstein = out[StepOutput::bernstein] + lane,
          .scale = out[StepOutput::scale] + lane};
}

/// Puts a run with mode, time, variables and numbers to its begin: slopes, data, clocks. h: as in ModeEntry::look.
/// False: the point is not one of the mode.
bool begin_run(const FlightCode& code, ModeEntry& entry, HostCode::State& run, double h);

}  // namespace saltus
