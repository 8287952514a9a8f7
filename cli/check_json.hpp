// What `saltus check` has found, for programs.
#pragma once

#include <saltus/base/status.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>
#include <saltus/sens/mode_analysis.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace saltus::cli {

/// All that is written.
struct CheckResult {
  const ModelData& model;
  const CompiledModel& compiled;
  const std::vector<ModeAnalysis>& modes;
  const Status& status;
};

void write_check_json(std::ostream& out, const CheckResult& result);

}  // namespace saltus::cli
