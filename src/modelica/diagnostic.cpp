#include <saltus/modelica/diagnostic.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "modelica/utf8.hpp"

namespace saltus {
namespace {

const char* name_of(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "";
}

const SourceLocation& place_of_first_error(const Diagnostics& diagnostics) {
  static const SourceLocation nowhere;
  for (const auto& item : diagnostics.items())
    if (item.severity == Severity::error) return item.where;
  return nowhere;
}

}  // namespace

std::string render(const Diagnostic& diagnostic) {
  std::string text = to_string(diagnostic.where);
  if (!text.empty()) text += ": ";
  text += std::string(name_of(diagnostic.severity)) + ": " + diagnostic.message + "\n";
  if (!diagnostic.source_line.empty()) {
    text += "  ";
    // Control characters could move the cursor of a terminal; a tab stays, and is repeated in the line of the caret.
    for (char c : diagnostic.source_line)
      text += (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F ? '?' : c;
    text += "\n  ";
    int column = 0;
    for (char c : diagnostic.source_line) {
      if (is_continuation(c)) continue;
      if (column++ == diagnostic.caret) break;
      text += c == '\t' ? '\t' : ' ';
    }
    for (; column < diagnostic.caret; ++column) text += ' ';
    text += '^';
    if (diagnostic.length > 1) text.append(static_cast<std::size_t>(diagnostic.length - 1), '~');
    text += "\n";
  }
  if (!diagnostic.hint.empty()) text += "hint: " + diagnostic.hint + "\n";
  return text;
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (diagnostic.severity == Severity::error) {
    for (const auto& item : items_)
      if (item.severity == Severity::error && item.where.line == diagnostic.where.line &&
          item.where.column == diagnostic.where.column && item.where.file == diagnostic.where.file &&
          diagnostic.where.known())
        return;
    if (errors_ >= limit_) {
      ++dropped_;
      return;
    }
    ++errors_;
  } else if (items_.size() >= 2 * limit_) {
    return;  // warnings and notes are bounded too
  }
  items_.push_back(std::move(diagnostic));
}

void Diagnostics::add(const Diagnostics& other) {
  for (const auto& item : other.items()) add(item);
  dropped_ += other.dropped_;
}

void Diagnostics::sort() {
  // A note belongs to the diagnostic before it: groups are sorted, by the place of their first member.
  std::vector<std::pair<SourceLocation, std::size_t>> keys;
  for (const auto& item : items_) {
    if (item.severity == Severity::note && !keys.empty())
      keys.emplace_back(keys.back().first, keys.size());
    else
      keys.emplace_back(item.where, keys.size());
  }
  // files in the order in which they first appear
  std::map<std::string, std::size_t> rank;
  for (const auto& item : items_) rank.emplace(item.where.file, rank.size());
  const auto order = [&](const SourceLocation& where) {
    return std::tuple(rank.at(where.file), where.line, where.column);
  };
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const auto& a, const auto& b) { return order(a.first) < order(b.first); });
  std::vector<Diagnostic> sorted;
  sorted.reserve(items_.size());
  for (const auto& key : keys) sorted.push_back(std::move(items_[key.second]));
  items_ = std::move(sorted);
}

std::string Diagnostics::render() const {
  std::string text;
  for (const auto& item : items_) text += saltus::render(item);
  if (dropped_ > 0)
    text += "... and " + std::to_string(dropped_) + (dropped_ == 1 ? " more error\n" : " more errors\n");
  else if (full())
    text += "... stopped after " + std::to_string(limit_) + " errors\n";
  return text;
}

ModelicaError::ModelicaError(Diagnostics diagnostics)
    : ModelError(place_of_first_error(diagnostics), "the Modelica text has errors"),
      diagnostics_(std::move(diagnostics)),
      text_(diagnostics_.render()) {}

}  // namespace saltus
