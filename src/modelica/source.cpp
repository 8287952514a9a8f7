#include "source.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "modelica/utf8.hpp"

namespace saltus::modelica {
namespace {

int count_characters(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return !is_continuation(c); }));
}

// A line longer than this is shown in part: `shown_before` bytes before the place and the rest behind it.
constexpr std::size_t shown_width = 160;
constexpr std::size_t shown_before = 60;
constexpr int most_continuations = 3;  // bytes of a character; there may be more where the text is no UTF-8

}  // namespace

SourceText::SourceText(std::string_view text, std::string file_name, std::uint32_t file)
    : text_(text.substr(text.starts_with("\xEF\xBB\xBF") ? 3 : 0)), file_name_(std::move(file_name)), file_(file) {
  assert(text.size() < max_size);
  line_begins_.push_back(0);
  for (std::size_t i = 0; i < text_.size(); ++i) {
    const bool ends = text_[i] == '\n' || (text_[i] == '\r' && !(i + 1 < text_.size() && text_[i + 1] == '\n'));
    if (ends) line_begins_.push_back(static_cast<std::uint32_t>(i + 1));
  }
}

LineColumn SourceText::position(std::uint32_t byte) const {
  const auto next = std::upper_bound(line_begins_.begin(), line_begins_.end(), byte);
  const auto line_index = static_cast<std::size_t>(next - line_begins_.begin()) - 1;
  const std::uint32_t begin = line_begins_[line_index];
  return {static_cast<int>(line_index) + 1, count_characters(text().substr(begin, byte - begin)) + 1};
}

SourceLocation SourceText::locate(const Location& where) const {
  const LineColumn at = position(where.begin);
  return {file_name_, at.line, at.column};
}

std::string_view SourceText::line(int number) const {
  if (number < 1 || static_cast<std::size_t>(number) > line_begins_.size()) return {};
  const std::uint32_t begin = line_begins_[static_cast<std::size_t>(number) - 1];
  const std::string_view rest = text().substr(begin);
  return rest.substr(0, rest.find_first_of("\r\n"));
}

Diagnostic SourceText::diagnose(Severity severity, const Location& where, std::string message, std::string hint) const {
  Diagnostic result{severity, locate(where), 1, std::move(message), std::move(hint), {}, 0};
  std::string_view shown = line(result.where.line);
  const std::uint32_t line_begin = line_begins_[static_cast<std::size_t>(result.where.line) - 1];
  std::size_t offset = std::min<std::size_t>(where.begin - line_begin, shown.size());
  const std::size_t underlined = std::min<std::size_t>(where.end > where.begin ? where.end - where.begin : 1,
                                                       std::max<std::size_t>(shown.size() - offset, 1));
  std::string prefix, suffix;
  std::size_t length = underlined;
  if (shown.size() > shown_width) {
    std::size_t first = offset > shown_before ? offset - shown_before : 0;
    for (int k = 0; k < most_continuations && first > 0 && is_continuation(shown[first]); ++k) --first;
    std::size_t last = std::min(first + shown_width, shown.size());
    for (int k = 0; k < most_continuations && last < shown.size() && is_continuation(shown[last]); ++k) ++last;
    if (first > 0) prefix = "... ";
    if (last < shown.size()) suffix = " ...";
    shown = shown.substr(first, last - first);
    offset -= first;
    length = std::min(length, std::max<std::size_t>(shown.size() - offset, 1));
  }
  result.caret = static_cast<int>(prefix.size()) + count_characters(shown.substr(0, offset));
  result.length = std::max(1, count_characters(shown.substr(offset, length)));
  result.source_line = prefix + std::string(shown) + suffix;
  return result;
}

std::string SourceText::quote(const SourceLocation& where) const {
  if (where.file != file_name_ || !where.known()) return {};
  const std::string_view shown = line(where.line);
  std::size_t offset = 0;
  for (int column = 1; offset < shown.size() && (column < where.column || is_continuation(shown[offset])); ++offset)
    if (!is_continuation(shown[offset])) ++column;
  const std::uint32_t begin =
      line_begins_[static_cast<std::size_t>(where.line) - 1] + static_cast<std::uint32_t>(offset);
  const std::string text = render(diagnose(Severity::error, {begin, begin, file_}, {}));
  const std::size_t first_line = text.find('\n');
  return text.substr(first_line + 1, text.size() - first_line - 2);
}

}  // namespace saltus::modelica
