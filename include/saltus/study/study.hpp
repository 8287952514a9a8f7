// Study: a model with a plan, ready to run members in any number of threads.
//
//   Model m = …;
//   StudyPlan plan{.axes = {{"omega", 0.6, 1.6, 1000}}, .simulate = {.stop = 50.0}, .collect = {{Collect::maximum,
//   "x"}}}; StudyResult result = run_study(m, plan); result.values("max(x)");
#pragma once

#include <saltus/hybrid/trajectory.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>
#include <saltus/study/plan.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace saltus {

/// How a member ended: the codes of StatusCode, and these.
inline constexpr int member_killed = 252;       ///< its process crashed, or the system ended it
inline constexpr int member_out_of_time = 253;  ///< StudyPlan::member_seconds have passed
inline constexpr int member_refused = 254;      ///< the model does not take its values
inline constexpr int member_not_run = 255;
/// The status of a member as a word: "success", "not_finite", "out_of_time", …
std::string member_status_text(int status);
/// True for success and for runs that the model ended.
bool member_ok(int status);

/// One array of results, with a number (or `width` samples) for each member.
struct StudyArray {
  enum class Type { real, integer, byte };
  std::string name;
  Type type = Type::real;
  std::int64_t width = 0;  ///< 0: one number for each member; otherwise so many samples
  std::string description = {}, unit = {};
  bool coordinate = false;  ///< a value that varies

  std::int64_t numbers() const { return width == 0 ? 1 : width; }
  /// What stands for members that were not run.
  double missing() const;
};

/// A member that did not end well.
struct MemberFailure {
  std::int64_t index = 0;
  int status = member_not_run;
  double t = 0.0;
  std::string message;
};

/// Results of consecutive members.
struct BlockResult {
  std::vector<std::vector<double>> columns;  ///< one for each of the arrays; the samples of a member stand side by side
  std::vector<MemberFailure> failures;       ///< in order of index
};

/// Counts the crossings of a condition: a discrete variable of this name grows by one whenever the condition becomes
/// true. For sections and for Collect::count and Collect::first.
void count_crossings(Model& model, const BoolExpr& condition, const std::string& name);

/// A member is a function of (study, index): threads, blocks and neighbours do not show in its numbers. Functions are
/// const and may be called from several threads at once.
class Study {
 public:
  /// Compiles. Throws ModelError or UsageError for a plan that does not fit the model: unknown names, missing samples.
  Study(const Model& model, StudyPlan plan);
  ~Study();
  Study(Study&&) noexcept;
  Study& operator=(Study&&) noexcept;

  const StudyPlan& plan() const;
  const CompiledModel& model() const;
  std::int64_t members() const;
  /// Varied values first, then status, steps, events and t_end, then what is collected.
  const std::vector<StudyArray>& arrays() const;
  /// The model in words: what identifies it beside its plan.
  const std::string& description() const;

  /// Members of one unit run one after the other: one, or a line of the last axis where members follow each other.
  std::int64_t unit_size() const;
  /// A result with room for so many members, none of which was run.
  BlockResult empty_block(std::int64_t count) const;
  /// Runs the members of a unit and puts their numbers into the columns of a block that begins with the member `first`;
  /// other units may do so at the same time. Returns those that failed, or nothing if `stop` became true before the
  /// end: then the block has no use.
  std::optional<std::vector<MemberFailure>> run_unit(std::int64_t unit, std::int64_t first,
                                                     std::vector<std::vector<double>>& columns,
                                                     const std::atomic<bool>& stop) const;

  /// A member once more, with all its steps and events: the run behind the numbers. It ends at the last sample; a
  /// status `cancelled` then means that nothing more was wanted.
  Trajectory run_member(std::int64_t index) const;

 private:
  friend struct StudyAccess;  // what executors need
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace saltus
