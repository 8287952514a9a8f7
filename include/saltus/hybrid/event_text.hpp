// Events in words, for terminals, reports and tables.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace saltus {

/// What the crossing of a guard in a direction makes of the relation that it is named by: +1 true, -1 false, 0 neither.
int truth_change(const GuardInfo& guard, int direction);

/// What happens to a guard: "v1 > v2 becomes true", "sample(0, 1) is due", "indicator 1 (falling)". Direction 0: its
/// function touches zero. `becomes` as truth_change gives it.
std::string guard_change(const std::string& name, int direction, int becomes);

/// The variables that jump at an event, the largest changes in proportion to their size first: "v jumps from -3.1
/// to 2.5 m/s", "v jumps by 2.1e-06 from -1.6 m/s", "on changes from true to false". At most `most`, then how many
/// more. Only the size of the jump where the values of the event were not kept.
std::vector<std::string> jump_texts(const Event& event, const std::vector<VariableInfo>& variables, std::size_t most);

/// What happened, in one line, with the names of what jumped: Event::describe() knows no names.
std::string event_text(const Event& event, const std::vector<VariableInfo>& variables);

}  // namespace saltus
