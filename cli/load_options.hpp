// What all commands that read a model share.
#pragma once

#include <saltus/modelica/modelica.hpp>

#include <string>
#include <utility>
#include <vector>

namespace saltus::cli {

/// "mass=2.5" or "w=2*Modelica.Constants.pi" as a name and a number. Throws UsageError with an example otherwise.
std::pair<std::string, double> parse_setting(const std::string& text);

/// Reads the file with the settings applied.
ModelicaModel load(const std::string& file, const std::string& model, const std::vector<std::string>& settings);

}  // namespace saltus::cli
