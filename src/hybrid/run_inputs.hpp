// The inputs of a run: which polynomial each follows, and which one comes next.
//
// The family acts where an input changes (InputInfo): the run writes the next polynomial into the mode before that.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/hybrid/simulator.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hybrid/input_course.hpp"

namespace saltus {

class RunInputs {
 public:
  /// Throws UsageError for signals of inputs that the family does not have, or that do not suit them.
  RunInputs(const HybridSystem& hybrid, const SimulateOptions& options, int direction);

  bool empty() const { return inputs_.empty(); }
  /// Puts into the mode what the inputs are at the start of a run.
  void begin(Mode& mode, double t);
  /// The same for a run that goes on from a saved state. Inputs without a signal go on as they were, and what was
  /// planned for them is dropped; the remark says so.
  void resume(Mode& mode, double t);
  /// Makes sure that the mode knows what comes next.
  void plan(Mode& mode) {
    if (!inputs_.empty()) plan_all(mode);
  }
  /// From time t on these inputs follow the given lines, and no signals any more. The changes are planned for t. Throws
  /// UsageError for what cannot be; then nothing has changed.
  void set(Mode& mode, double t, std::span<const InputChange> changes, SimulateOptions& options);

  /// Calls note(text) for each input that has jumped by more than the tolerance, and whose derivative occurs in the
  /// system: the derivative is an impulse.
  template <class Note>
  void note_impulses(const System& system, std::span<const double> before, std::span<const double> after, double rtol,
                     double atol, Note note) const {
    for (const Input& input : inputs_) {
      if (input.kept < 0 || !system.structure().differentiated(input.kept)) continue;
      const double a = before[static_cast<std::size_t>(input.kept)], b = after[static_cast<std::size_t>(input.kept)];
      if (std::abs(a - b) > rtol * std::max(std::abs(a), std::abs(b)) + atol * input.variable->nominal)
        note(impulse_text(input, b - a));
    }
  }

  /// About inputs without values; empty: there are none.
  std::string remark() const;

 private:
  struct Input {
    const InputInfo* info;
    const VariableInfo* variable;
    std::unique_ptr<InputCourse> course;  // null: it follows its line
    double planned = InputInfo::never;    // the time for which the next piece has been written
    bool given = false;                   // values, or by a saved state
    int kept = -1;                        // its number among the variables of the systems; -1: it is eliminated
  };
  int degree(const Input& input) const { return static_cast<int>(input.info->coefficients.size()) - 1; }
  Input& find(const std::string& name);
  static std::string impulse_text(const Input& input, double jump);
  void check(const Input& input, double value, double t) const;
  void plan_all(Mode& mode);
  double& change_time(const Input& input, Mode& mode) const {
    return mode.discrete[static_cast<std::size_t>(direction_ > 0 ? input.info->next : input.info->previous)];
  }
  /// Infinite times are no numbers for a mode.
  double bounded(double t) const;
  void write_next(const Input& input, const InputPiece& piece, Mode& mode) const;

  int direction_;
  std::vector<Input> inputs_;
  std::string resumed_;  // remark about inputs that go on from a saved state
};

}  // namespace saltus
