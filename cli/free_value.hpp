// Values that are searched for, as they are written on the command line.
#pragma once

#include <limits>
#include <string>

namespace saltus::cli {

struct WrittenValue {
  std::string name;
  double guess = std::numeric_limits<double>::quiet_NaN();  ///< NaN: not given
  double lower = -std::numeric_limits<double>::infinity();
  double upper = std::numeric_limits<double>::infinity();
};

/// "mu", "mu=0.4", "mu=0.4:0.1:1" or "mu=:0:1". Throws UsageError, which names the option.
WrittenValue parse_free_value(const std::string& text, const std::string& option);

}  // namespace saltus::cli
