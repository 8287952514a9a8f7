// Very large modes: their workspace is given back whenever it is not needed, because memory is what limits them, and
// taking it anew costs nothing beside an event or a look at the whole state.
#pragma once

#include <cstddef>
#include <vector>

namespace saltus {

inline constexpr int very_large_mode = 25000;

/// Empties the lists if a mode with so many variables is very large.
template <class... List>
void give_back(std::size_t variables, List&... lists) {
  if (variables > static_cast<std::size_t>(very_large_mode)) (List().swap(lists), ...);
}

}  // namespace saltus
