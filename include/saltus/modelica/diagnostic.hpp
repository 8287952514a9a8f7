// What the Modelica reader has to say about a text: errors, warnings and notes with the place they point at.
#pragma once

#include <saltus/base/error.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace saltus {

/// How bad it is. Only `error` keeps a model from being used; a `note` explains the diagnostic before it.
enum class Severity { error, warning, note };

/// One message about one place. It carries the source line with it, so it can be shown after the text is gone.
struct Diagnostic {
  Severity severity = Severity::error;
  SourceLocation where;     ///< line and column count from 1; the column counts characters, not bytes
  int length = 1;           ///< characters to underline, on that line
  std::string message;      ///< one sentence without a full stop: what is wrong
  std::string hint;         ///< what to write instead; may be empty
  std::string source_line;  ///< the line, or a part of a very long one; empty when there is none to show
  int caret = 0;            ///< where in `source_line` the underlining begins, in characters from 0
};

/// The text that a user sees, ending with a newline:
///
///     ball.mo:4:13: error: expected ';' after the equation
///       der(h) = v
///                 ^
///     hint: ...
std::string render(const Diagnostic& diagnostic);

/// Collects the diagnostics of a text, in order of their place. Bounded: what comes after `limit` errors is counted
/// but not kept, because nobody reads it. A second error at the same place is dropped: it follows from the first.
class Diagnostics {
 public:
  static constexpr std::size_t default_limit = 50;

  explicit Diagnostics(std::size_t limit = default_limit) : limit_(limit) {}

  void add(Diagnostic diagnostic);
  /// Appends all of `other`, for models that come from several files.
  void add(const Diagnostics& other);
  /// Orders by file (as they first appear), line and column, keeping notes behind what they explain.
  void sort();

  const std::vector<Diagnostic>& items() const { return items_; }
  bool empty() const { return items_.empty(); }
  bool has_errors() const { return errors_ > 0; }
  /// All errors that were added, also those beyond the limit.
  std::size_t error_count() const { return errors_ + dropped_; }
  /// True when the limit is reached: there is no point in looking for more.
  bool full() const { return errors_ >= limit_; }
  /// All diagnostics, one after the other, as `render` shows them.
  std::string render() const;

 private:
  std::vector<Diagnostic> items_;
  std::size_t limit_;
  std::size_t errors_ = 0;
  std::size_t dropped_ = 0;
};

/// A Modelica text that cannot be used. `what()` is the rendered text of all diagnostics, `where()` the place of the
/// first error.
class ModelicaError : public ModelError {
 public:
  /// `diagnostics` must hold at least one error.
  explicit ModelicaError(Diagnostics diagnostics);
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  Diagnostics diagnostics_;
  std::string text_;
};

}  // namespace saltus
