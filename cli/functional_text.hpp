// Functionals as they are written on the command line.
#pragma once

#include <saltus/sens/functional.hpp>

#include <string>

namespace saltus::cli {

class ModelExtension;

/// A sum of final_value(x), integral(x), event_time('x > 1', 2) and sum_over_events('x > 1', y) with numbers as
/// factors. Expressions become variables of the model. Throws UsageError, which names the option.
Functional parse_functional(const std::string& text, const std::string& option, ModelExtension& extension);

/// The same, or an expression without any of these, whose final value is meant.
Functional parse_value(const std::string& text, const std::string& option, ModelExtension& extension);

}  // namespace saltus::cli
