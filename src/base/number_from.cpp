#include "base/number_from.hpp"

#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <string>
#include <version>

namespace saltus {

namespace {

/// True if std::from_chars takes the whole text as a finite number. std::strtod takes more: blanks, '+', hexadecimals.
bool is_number(std::string_view text) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
    return at - begin;
  };
  if (at < text.size() && text[at] == '-') ++at;
  std::size_t mantissa = digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    mantissa += digits();
  }
  if (mantissa == 0) return false;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == text.size();
}

}  // namespace

std::errc number_by_strtod(std::string_view text, double& value) {
  if (!is_number(text)) return std::errc::invalid_argument;
  std::string copy(text);
  // std::strtod reads the decimal point of the program's locale.
  if (const std::size_t point = copy.find('.'); point != std::string::npos)
    copy.replace(point, 1, std::localeconv()->decimal_point);
  const double read = std::strtod(copy.c_str(), nullptr);
  const bool vanished = read == 0.0 && text.substr(0, text.find_first_of("eE")).find_first_of("123456789") != text.npos;
  if (std::isinf(read) || vanished) return std::errc::result_out_of_range;
  value = read;
  return std::errc();
}

std::errc number_from(std::string_view text, double& value) {
#ifdef __cpp_lib_to_chars
  double read = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (end != text.data() + text.size()) return std::errc::invalid_argument;
  if (problem != std::errc()) return problem;
  if (!std::isfinite(read)) return std::errc::invalid_argument;  // "inf" and "nan" are words
  value = read;
  return std::errc();
#else
  return number_by_strtod(text, value);
#endif
}

}  // namespace saltus
