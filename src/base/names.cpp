#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>

#include <algorithm>
#include <cctype>

namespace saltus {

namespace {

constexpr std::string_view start_call = "(start)", start_member = ".start", derivative_call = "der(";

/// Whether a name has the form of a pattern, in which '*' stands for any letters and '?' for one. Iterative: the time
/// is at most the product of the lengths.
bool matches(std::string_view name, std::string_view pattern) {
  std::size_t n = 0, p = 0, star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

std::string without_blanks(std::string_view text) {
  std::string result;
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (quoted && c == '\\' && k + 1 < text.size()) {
      result += c;
      result += text[++k];
      continue;
    }
    if (c == '\'') quoted = !quoted;
    if (quoted || std::isspace(static_cast<unsigned char>(c)) == 0) result += c;
  }
  return result;
}

NameSpelling read_name(std::string_view text) {
  std::string name = without_blanks(text);
  if (name.size() > derivative_call.size() + 1 && name.starts_with(derivative_call) && name.ends_with(')'))
    return {name.substr(derivative_call.size(), name.size() - derivative_call.size() - 1),
            NameSpelling::Of::derivative};
  for (const std::string_view ending : {start_call, start_member})
    if (name.size() > ending.size() && name.ends_with(ending)) {
      name.resize(name.size() - ending.size());
      return {std::move(name), NameSpelling::Of::start};
    }
  return {std::move(name), NameSpelling::Of::itself};
}

std::optional<std::size_t> NameTable::find(std::string_view text) const {
  auto found = std::ranges::find(names_, text);
  if (found == names_.end()) found = std::ranges::find(names_, std::string_view(without_blanks(text)));
  if (found == names_.end()) return {};
  return static_cast<std::size_t>(found - names_.begin());
}

std::optional<std::size_t> NameTable::find_settable(std::string_view text) const {
  if (const auto exact = find(text)) return exact;
  const NameSpelling spelling = read_name(text);
  return spelling.of == NameSpelling::Of::start ? find(spelling.name) : std::nullopt;
}

std::vector<std::size_t> NameTable::find_all(std::string_view text) const {
  if (const auto one = find(text)) return {*one};
  const std::string name = without_blanks(text);
  const bool pattern = name.find_first_of("*?") != std::string::npos;
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < names_.size(); ++k)
    if (pattern ? matches(names_[k], name)
                : names_[k].starts_with(name) && names_[k].substr(name.size()).starts_with('['))
      result.push_back(k);
  return result;
}

std::string NameTable::hint(std::string_view text) const {
  const NameSpelling spelling = read_name(text);
  const std::string& name = spelling.name;
  if (const std::size_t bracket = name.rfind('['); bracket != std::string::npos && name.ends_with(']')) {
    std::vector<std::string_view> elements;
    for (const std::string_view known : names_)
      if (known.starts_with(std::string_view(name).substr(0, bracket + 1)) && known.find('.', bracket) == known.npos)
        elements.push_back(known);
    if (!elements.empty())
      return "; the elements of '" + name.substr(0, bracket) + "' are " + std::string(elements.front()) +
             (elements.size() == 1 ? "" : " to " + std::string(elements.back()));
  }
  const std::string near = nearest_name(name, names_);
  if (near.empty()) return "";
  const std::string_view ending = spelling.of == NameSpelling::Of::start ? start_member : "";
  return "; did you mean '" + near + std::string(ending) + "'?";
}

}  // namespace saltus
