#include <saltus/base/error.hpp>

#include <algorithm>
#include <cctype>
#include <vector>

namespace saltus {

std::string to_string(const SourceLocation& where) {
  if (!where.known()) return where.file;
  std::string text = where.file + ":" + std::to_string(where.line);
  if (where.column > 0) text += ":" + std::to_string(where.column);
  return text;
}

Error::Error(const SourceLocation& where, const std::string& text)
    : std::runtime_error(where.known() || !where.file.empty() ? to_string(where) + ": " + text : text), where_(where) {}

std::size_t largest_distance(std::string_view name) {
  constexpr std::size_t most = 3;
  return name.size() < 2 ? 0 : std::min(most, (name.size() + 2) / 3);
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

}  // namespace saltus
