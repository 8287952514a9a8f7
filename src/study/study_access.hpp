// What executors need of a study beside its public functions.
#pragma once

#include <saltus/study/study.hpp>

#include <atomic>
#include <cstdint>
#include <functional>

#include "study/layout.hpp"
#include "study/member_run.hpp"

namespace saltus {

struct StudyAccess {
  static const StudyLayout& layout(const Study& study);
  /// The model with the values of a member. Throws ModelError for values that it does not take.
  static CompiledModel member(const Study& study, std::int64_t index);
  /// The values of a member, and room for its results.
  static MemberOutcome begin(const Study& study, std::int64_t index);
  /// Runs the members of a unit from one on, which begins as after a failure, and passes on each with its number in the
  /// unit. False: `stop` became true.
  static bool run_unit(const Study& study, std::int64_t unit, std::int64_t from, const std::atomic<bool>& stop,
                       const std::function<void(std::int64_t, const MemberOutcome&)>& keep);
  /// The index of a member, from its number in a unit.
  static std::int64_t index(const Study& study, std::int64_t unit, std::int64_t number);
  /// A member by a Simulator, where members do not follow each other.
  static MemberOutcome run(const Study& study, std::int64_t index, const std::atomic<bool>& stop);
};

}  // namespace saltus
