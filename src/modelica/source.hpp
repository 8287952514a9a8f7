// A source text and the places in it.
#pragma once

#include <saltus/modelica/diagnostic.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace saltus::modelica {

/// A stretch of text: bytes [begin, end) of file number `file`. `SourceText` turns it into line and column. Places in
/// one file are ordered by `begin`, which is how the order of equations in a file can be compared.
struct Location {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t file = 0;

  bool operator==(const Location&) const = default;
};

/// From the beginning of `first` to the end of `last`.
inline Location span(const Location& first, const Location& last) {
  return {first.begin, last.end, first.file};
}

struct LineColumn {
  int line = 0;
  int column = 0;
};

/// A text in memory with its line table. Lines end with LF, CRLF or CR; a leading byte order mark is not part of the
/// text.
class SourceText {
 public:
  /// Texts must be smaller than this (places are 32 bit); `parse` diagnoses larger ones.
  static constexpr std::size_t max_size = std::size_t{1} << 30;

  /// `text.size()` must be below `max_size`. `file` is the number that the locations in this text carry.
  SourceText(std::string_view text, std::string file_name, std::uint32_t file = 0);

  std::string_view text() const { return text_; }
  std::string_view text(const Location& where) const { return text().substr(where.begin, where.end - where.begin); }
  const std::string& file_name() const { return file_name_; }
  std::uint32_t file() const { return file_; }

  /// Line and column (in characters) of a byte; both count from 1.
  LineColumn position(std::uint32_t byte) const;
  SourceLocation locate(const Location& where) const;
  /// The text of a line without its end.
  std::string_view line(int number) const;

  /// A diagnostic that points at `where` and carries its source line.
  Diagnostic diagnose(Severity severity, const Location& where, std::string message, std::string hint = {}) const;
  /// The line of a place in this text with a caret below it; "" for places in other texts.
  std::string quote(const SourceLocation& where) const;

 private:
  std::string text_;
  std::string file_name_;
  std::uint32_t file_;
  std::vector<std::uint32_t> line_begins_;
};

}  // namespace saltus::modelica
