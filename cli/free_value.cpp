#include "cli/free_value.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>

#include <vector>

#include "cli/load_options.hpp"

namespace saltus::cli {

WrittenValue parse_free_value(const std::string& text, const std::string& option) {
  const auto equals = text.find('=');
  WrittenValue value{.name = text.substr(0, equals)};
  if (equals == std::string::npos) return value;
  std::vector<std::string> parts(1);
  for (const char c : text.substr(equals + 1))
    if (c == ':')
      parts.emplace_back();
    else
      parts.back() += c;
  if (value.name.empty() || (parts.size() != 1 && parts.size() != 3))
    throw UsageError(
        fmt::format("{0} wants NAME, NAME=GUESS or NAME=GUESS:LOWER:UPPER, for example {0} mu=0.4:0.1:1,k; "
                    "got '{1}'",
                    option, text));
  const auto number = [&](std::size_t k, double& target) {
    if (k < parts.size() && !parts[k].empty()) target = parse_setting(value.name + "=" + parts[k], option).second;
  };
  number(0, value.guess);
  number(1, value.lower);
  number(2, value.upper);
  return value;
}

}  // namespace saltus::cli
