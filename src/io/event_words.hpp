// Events in words: what happened at an instant, for readers who do not know the model.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// "begins to slide".
std::string_view title_of(EventKind kind);

/// One fact a line: guards, clauses, surfaces, jumps, doubts. `variables` are those of the trajectory to which the
/// event belongs.
std::vector<std::string> explain(const Event& event, const std::vector<VariableInfo>& variables);

}  // namespace saltus
