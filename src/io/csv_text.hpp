// Lines of CSV files.
#pragma once

#include <string>
#include <vector>

namespace saltus {

/// A comma, or a semicolon where the first line has no commas.
inline char csv_separator(const std::string& text) {
  const std::string head = text.substr(0, text.find('\n'));
  return head.find(',') == std::string::npos && head.find(';') != std::string::npos ? ';' : ',';
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
