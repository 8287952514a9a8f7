// What saltus run runs: a model that was read, or an FMU.
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/modelica/modelica.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/load_options.hpp"

namespace saltus::cli {

struct RunSubject {
  std::shared_ptr<HybridSystem> system;
  std::optional<Model> model = {};  ///< what it was made of; nothing for FMUs
  Experiment experiment;
  std::string description;
  std::vector<VariableInfo> parameters;  ///< all, with their values in the run
  std::vector<std::string> notes;        ///< for the user, each with a line end
};

/// True for files that are FMUs by their names.
bool is_fmu(const std::string& file);

/// Reads the Modelica model that the options name.
RunSubject load_subject(const ModelOptions& options);

}  // namespace saltus::cli
