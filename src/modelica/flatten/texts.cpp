// External functions of texts and names of files, known by the names of their C functions. Texts are known when a model
// is read, and so are these.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "modelica/flatten/flattener.hpp"
#include "modelica/flatten/random.hpp"

namespace saltus::modelica {

namespace {

// 1, 2 or 3 as the literals Less, Equal and Greater of the standard library.
std::int64_t compared(std::string a, std::string b, bool case_matters) {
  if (!case_matters)
    for (std::string* text : {&a, &b})
      std::ranges::transform(*text, text->begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return a < b ? 1 : a == b ? 2 : 3;
}

}  // namespace

// Empty: there is no such function.
std::optional<Value> Flattener::call_text(std::string_view name, const std::vector<Value>& arguments,
                                          const Location& where) {
  const auto is = [&](std::string_view known, std::initializer_list<TypeKind> types) {
    return name == known && std::ranges::equal(arguments, types, [](const Value& value, TypeKind type) {
             return value.type == type && value.is_scalar();
           });
  };
  using enum TypeKind;
  if (is("ModelicaStrings_length", {string}))
    return Value::integer(static_cast<std::int64_t>(arguments[0].text.size()));
  if (is("ModelicaStrings_substring", {string, integer, integer})) {
    const std::int64_t first = this->integer(arguments[1], where, "the beginning of a part of a text");
    const std::int64_t last = this->integer(arguments[2], where, "the end of a part of a text");
    const auto size = static_cast<std::int64_t>(arguments[0].text.size());
    if (first < 1 || last > size || last < first - 1)
      throw Fault{where, "a text of " + std::to_string(size) + " characters has no part from " + std::to_string(first) +
                             " to " + std::to_string(last)};
    return Value::string(
        arguments[0].text.substr(static_cast<std::size_t>(first - 1), static_cast<std::size_t>(last - first + 1)));
  }
  if (is("ModelicaStrings_compare", {string, string, boolean}) && arguments[2].scalar().is_constant())
    return Value::integer(
        compared(arguments[0].text, arguments[1].text, arguments[2].scalar().constant_value() != 0.0));
  if (is("ModelicaStrings_hashString", {string})) return Value::integer(hash_of(arguments[0].text));
  if (is("ModelicaStrings_skipWhiteSpace", {string, integer})) {
    const std::string& text = arguments[0].text;
    std::int64_t at =
        std::max<std::int64_t>(1, this->integer(arguments[1], where, "the beginning of a part of a text"));
    while (at <= static_cast<std::int64_t>(text.size()) &&
           std::isspace(static_cast<unsigned char>(text[static_cast<std::size_t>(at - 1)])))
      ++at;
    return Value::integer(at);
  }
  if (is("ModelicaInternal_fullPathName", {string})) {
    std::error_code ignored;
    return Value::string(std::filesystem::absolute(scopes_.file_named(arguments[0].text, where), ignored).string());
  }
  return std::nullopt;
}

}  // namespace saltus::modelica
