// Very large modes: their workspace is given back whenever it is not needed, because memory is what limits them, and
// taking it anew costs nothing beside an event or a look at the whole state.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace saltus {

inline constexpr int very_large_mode = 10000;

/// Empties those of the lists that belong to a very large mode.
inline void give_back(std::initializer_list<std::vector<double>*> lists) {
  for (std::vector<double>* list : lists)
    if (list->capacity() > static_cast<std::size_t>(very_large_mode)) std::vector<double>().swap(*list);
}

}  // namespace saltus
