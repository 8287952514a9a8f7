// What executors need of a study beside its public functions.
#pragma once

#include <saltus/study/study.hpp>

#include <atomic>
#include <cstdint>

#include "study/layout.hpp"
#include "study/member_run.hpp"

namespace saltus {

struct StudyAccess {
  static const StudyLayout& layout(const Study& study);
  /// The model with the values of a member. Throws ModelError for values that it does not take.
  static CompiledModel member(const Study& study, std::int64_t index);
  /// The values of a member, and room for its results.
  static MemberOutcome begin(const Study& study, std::int64_t index);
  /// A member by a Simulator, where members do not follow each other.
  static MemberOutcome run(const Study& study, std::int64_t index, const std::atomic<bool>& stop);
};

}  // namespace saltus
