// How deep a text of JSON is nested.
#pragma once

#include <string_view>

namespace saltus {

/// True if arrays and objects of a text in JSON are nested deeper than in any file of Saltus. To write such a value, as
/// checksums need, takes a call for each level.
inline bool is_deep_json(std::string_view text) {
  constexpr int deepest = 64;
  int depth = 0;
  bool in_string = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (in_string) {
      if (c == '\\') ++k;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > deepest) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace saltus
