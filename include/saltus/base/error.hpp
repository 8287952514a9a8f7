// Errors of use: what the library throws when it is handed something that cannot work.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace saltus {

/// A place in a text that a user wrote. Line and column count from 1; line 0 means "unknown".
struct SourceLocation {
  std::string file;
  int line = 0;
  int column = 0;

  bool known() const { return line > 0; }
  bool operator==(const SourceLocation&) const = default;
};

/// "file:line:column", "file:line", or "" when unknown.
std::string to_string(const SourceLocation& where);

/// Base of all exceptions that Saltus throws. The text says what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : std::runtime_error(text) {}
  Error(const SourceLocation& where, const std::string& text);
  const SourceLocation& where() const { return where_; }

 private:
  SourceLocation where_;
};

/// Wrong use of a function of the library (arguments that do not fit, mixing of two models, …).
class UsageError : public Error {
 public:
  using Error::Error;
};

/// A model that is not well formed (too few equations, unknown names, …).
class ModelError : public Error {
 public:
  using Error::Error;
};

/// The candidate nearest to `name` in edit distance, or "" if none is near; for "did you mean" texts. Near is a third
/// of the letters and at most three, or the same letters in another case. A single letter is near to nothing else.
template <class Names>
std::string nearest_name(std::string_view name, const Names& candidates);

/// Edit distance (insertions, deletions, substitutions, swaps of neighbours).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The largest edit distance at which a name is taken for a misspelled one.
std::size_t largest_distance(std::string_view name);

/// Whether two names are the same but for capital letters.
bool same_letters(std::string_view a, std::string_view b);

template <class Names>
std::string nearest_name(std::string_view name, const Names& candidates) {
  std::string best;
  std::size_t best_distance = largest_distance(name) + 1;
  for (const auto& candidate : candidates) {
    if (same_letters(name, candidate)) return std::string(candidate);
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace saltus
