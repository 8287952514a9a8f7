#include "cli/given_tolerances.hpp"

#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace saltus::cli {

GivenTolerances::GivenTolerances(const char* option, const std::vector<std::string>& given) : option_(option) {
  for (const std::string& text : given)
    if (const std::size_t equals = text.rfind('='); equals == std::string::npos)
      for_all_ = number(text);
    else
      named_.emplace_back(text.substr(0, equals), number(text.substr(equals + 1)));
}

std::vector<double> GivenTolerances::each(const std::vector<VariableInfo>& variables,
                                          const std::function<double(const VariableInfo&)>& usual) const {
  std::vector<double> result;
  if (named_.empty()) return result;
  for (const VariableInfo& v : variables) result.push_back(usual(v));
  const NameTable names(variables, [](const VariableInfo& v) -> std::string_view { return v.name; });
  for (const auto& [name, value] : named_) {
    const std::vector<std::size_t> found = names.find_all(name);
    if (found.empty())
      throw UsageError(fmt::format("{}: '{}' is not integrated: there is no such variable, or it follows from others{}",
                                   option_, name, names.hint(name)));
    for (const std::size_t k : found) result[k] = value;
  }
  return result;
}

double GivenTolerances::number(const std::string& text) const {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0.0) || !std::isfinite(value))
    throw UsageError(fmt::format("{} wants a number that is not negative, or NAME=NUMBER; got '{}'", option_, text));
  return value;
}

}  // namespace saltus::cli
