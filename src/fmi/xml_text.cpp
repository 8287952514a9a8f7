#include "fmi/xml_text.hpp"

#include <fmt/format.h>

namespace saltus {

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      case '\r':
        out += "&#13;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 32 ? '?' : c;
    }
  }
  return out;
}

XmlAttributes& XmlAttributes::add(std::string_view name, std::string_view value) {
  text_ += fmt::format(" {}=\"{}\"", name, xml_escaped(value));
  return *this;
}

XmlAttributes& XmlAttributes::add(std::string_view name, double value) {
  return add(name, fmt::format("{}", value));
}

}  // namespace saltus
