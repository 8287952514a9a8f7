// What `saltus check` has found, for programs.
#pragma once

#include <saltus/base/status.hpp>
#include <saltus/dae/characteristic_values.hpp>
#include <saltus/model/compiled_model.hpp>
#include <saltus/model/model.hpp>

#include <ostream>
#include <string>
#include <vector>

namespace saltus::cli {

/// What the analysis of a mode says at one point.
struct ModeAnalysis {
  std::string mode;  ///< its description; "" if there is one mode only
  double t = 0.0;    ///< where it was analysed
  bool stands_still = false, explicit_ode = false, linear = false;
  int variables = 0;  ///< of the system

  // what follows is known of implicit modes only
  int index = 0, degrees_of_freedom = 0, blocks = 0;
  std::string singularity;  ///< why the structure is singular; "" if it is regular
  bool certified = false;
  double reciprocal_condition = 0.0;
  CharacteristicNumbers numbers;
  std::string decision;
  double kept = 1.0, dropped = 0.0;
  std::vector<std::string> undetermined;
};

/// All that is written.
struct CheckResult {
  const ModelData& model;
  const CompiledModel& compiled;
  const std::vector<ModeAnalysis>& modes;
  const Status& status;
};

void write_check_json(std::ostream& out, const CheckResult& result);

}  // namespace saltus::cli
