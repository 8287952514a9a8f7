// Lines of CSV files.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace saltus {

/// A comma, or a semicolon where the first line that is no remark (#) has no commas.
inline char csv_separator(const std::string& text) {
  std::size_t begin = 0;
  while (begin < text.size() && text[begin] == '#') begin = std::min(text.size(), text.find('\n', begin)) + 1;
  const std::string head = begin < text.size() ? text.substr(begin, text.find('\n', begin) - begin) : "";
  return head.find(',') == std::string::npos && head.find(';') != std::string::npos ? ';' : ',';
}

/// A field without the blanks around it.
inline std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

/// The fields of the line at `place`, which moves behind it; quoted fields may contain anything (RFC 4180).
inline std::vector<std::string> csv_line(const std::string& text, std::size_t& place, char separator) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (; place < text.size(); ++place) {
    const char c = text[place];
    if (quoted) {
      if (c != '"')
        fields.back() += c;
      else if (place + 1 < text.size() && text[place + 1] == '"')
        fields.back() += text[++place];
      else
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == separator) {
      fields.emplace_back();
    } else if (c == '\n') {
      ++place;
      break;
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace saltus
