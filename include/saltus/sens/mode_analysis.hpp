// The modes of a run: their structure and index, and how the run has spent its time in them.
#pragma once

#include <saltus/base/status.hpp>
#include <saltus/dae/characteristic_values.hpp>
#include <saltus/hybrid/simulator.hpp>
#include <saltus/model/compiled_model.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace saltus {

/// What the analysis of a mode says at one point, and what a run did in the mode.
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

  // of the run
  std::int64_t entered = 0;  ///< how often
  double time = 0.0;         ///< spent in it
  std::int64_t steps = 0;    ///< accepted ones, parts of steps up to events included
  double shortest_step = 0.0, longest_step = 0.0;
};

/// The modes that a run visits, in the order in which it does so, and how the run ended.
struct ModeAnalyses {
  std::vector<ModeAnalysis> modes;
  Status status;
};

/// Runs a model and analyses each mode where it is first entered, at most `most` of them. Modes that differ in discrete
/// values alone are one. A run without length analyses the mode of the start.
ModeAnalyses analyse_modes(const CompiledModel& model, const SimulateOptions& options, std::size_t most = 100);

}  // namespace saltus
