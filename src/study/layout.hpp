// Where the numbers of a member are, and which variables they come from.
#pragma once

#include <saltus/study/study.hpp>

#include <cstddef>
#include <vector>

namespace saltus {

/// Places of the arrays that all studies have, after the varied values.
enum class FixedArray : std::size_t { status, path, steps, events, t_end, kept };

struct StudyLayout {
  std::vector<StudyArray> arrays;
  std::size_t varied = 0;              ///< the first arrays are varied values
  std::size_t fixed = 0;               ///< where the fixed arrays begin
  std::size_t collected = 0;           ///< where the collectors begin
  std::vector<std::size_t> variables;  ///< by collector: position among the observed variables
  int sampling_variable = -1;          ///< period or counter, among the observed variables
  bool integrates = false;             ///< there are minima, maxima or means
  std::vector<std::size_t> dense;      ///< observed variables of these

  std::size_t place(FixedArray array) const { return fixed + static_cast<std::size_t>(array); }
};

/// The results that a plan asks for, as far as the plan alone says: start values have `start_suffix` at the end of
/// their names, and results have units and descriptions, if the model says so. Throws UsageError for collectors that do
/// not fit the sampling.
std::vector<StudyArray> arrays_of(const StudyPlan& plan);
inline constexpr const char* start_suffix = "(start)";
/// Names of results are names of folders. Throws UsageError for those that are not, and for two equal ones.
void check_result_names(const std::vector<StudyArray>& arrays);

/// Throws UsageError for names that the model does not have and collectors that do not fit the sampling.
StudyLayout make_layout(const StudyPlan& plan, const Model& model, const CompiledModel& compiled);

/// What identifies a model: its parameters, variables, equations and clauses, one a line. Values that vary are left
/// out.
std::string describe_model(const StudyPlan& plan, const Model& model);

}  // namespace saltus
