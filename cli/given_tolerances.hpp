// --rtol and --atol as they are given: a number for all variables, NAME=NUMBER for one.
#pragma once

#include <saltus/dae/hybrid_system.hpp>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace saltus::cli {

class GivenTolerances {
 public:
  /// Throws UsageError for texts of another form.
  GivenTolerances(const char* option, const std::vector<std::string>& given);

  const std::optional<double>& for_all() const { return for_all_; }
  /// One number for each of the variables, `usual` for those without a name; empty if none is named. Throws UsageError
  /// for names that are not variables.
  std::vector<double> each(const std::vector<VariableInfo>& variables,
                           const std::function<double(const VariableInfo&)>& usual) const;

 private:
  double number(const std::string& text) const;

  const char* option_;
  std::optional<double> for_all_;
  std::vector<std::pair<std::string, double>> named_;
};

}  // namespace saltus::cli
