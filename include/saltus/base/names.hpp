// The spellings of names that every command, option and call understands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saltus {

/// What a text means: a variable or parameter, its start value, or its derivative.
struct NameSpelling {
  enum class Of { itself, start, derivative };

  std::string name;  ///< without blanks
  Of of = Of::itself;
};

/// The text without the blanks that stand outside of quoted names: "a[2, 1]" is "a[2,1]".
std::string without_blanks(std::string_view text);

/// Reads "h", "a.b[2, 1].c", "h.start", "h(start)" or "der(h)". The name need not exist.
NameSpelling read_name(std::string_view text);

/// The names of a model or a result. Views: the strings must outlive the table.
class NameTable {
 public:
  NameTable() = default;
  explicit NameTable(const std::vector<std::string>& names) : names_(names.begin(), names.end()) {}
  /// From any range, with the name of each element.
  template <class Range, class Name>
  NameTable(const Range& range, Name name) {
    for (const auto& element : range) names_.push_back(name(element));
  }

  /// The place of what a text names: as it is written, or else without blanks. Empty if there is none, and for
  /// derivatives and start values.
  std::optional<std::size_t> find(std::string_view text) const;
  /// The same for values that can be set, where "h.start" and "h(start)" mean h as well. A name that is written exactly
  /// so comes first: "a.start" may be a member of a record.
  std::optional<std::size_t> find_settable(std::string_view text) const;
  /// All that a text names: one variable, the elements of the array "u" (members of records included), or those that a
  /// pattern with '*' and '?' matches. Empty if there is none.
  std::vector<std::size_t> find_all(std::string_view text) const;
  /// What to add to a message about a text that names nothing: "; did you mean 'height'?", "; the elements of 'u' are
  /// u[1] to u[5]", or "".
  std::string hint(std::string_view text) const;

 private:
  std::vector<std::string_view> names_;
};

}  // namespace saltus
