// XML as text, written element by element.
#pragma once

#include <string>
#include <string_view>

namespace saltus {

/// Text for attributes: markup and line ends escaped. Control characters, which XML cannot hold, become '?'.
std::string xml_escaped(std::string_view text);

/// Builds the attributes of an element: XmlAttributes().add("name", name).add("start", 1.0).text()
class XmlAttributes {
 public:
  XmlAttributes& add(std::string_view name, std::string_view value);
  XmlAttributes& add(std::string_view name, const char* value) { return add(name, std::string_view(value)); }
  /// With all digits that are needed to read the same number back.
  XmlAttributes& add(std::string_view name, double value);
  XmlAttributes& add(std::string_view name, std::size_t value) { return add(name, std::to_string(value)); }
  XmlAttributes& add(std::string_view name, int value) { return add(name, std::to_string(value)); }
  /// Only if the text is not empty.
  XmlAttributes& add_some(std::string_view name, std::string_view value) {
    return value.empty() ? *this : add(name, value);
  }
  /// " a="1" b="2"", with a leading blank.
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace saltus
