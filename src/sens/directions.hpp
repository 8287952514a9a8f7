// By what a run is differentiated, and how the start moves with it.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <string>
#include <vector>

#include "sens/mode_tangents.hpp"

namespace saltus {

/// One of `parameter`, `variable`, `discrete` is not -1.
struct Direction {
  int parameter = -1;
  int variable = -1;  ///< start value of a variable that the systems carry
  int discrete = -1;  ///< start value of a discrete variable
  DirectionInfo info;
};

/// Throws UsageError for names by which a run cannot be differentiated.
std::vector<Direction> find_directions(const CompiledModel& model, const std::vector<std::string>& names);

/// How the start value of a variable that the systems carry, or of a discrete variable, moves with a parameter.
struct StartEntry {
  bool discrete;
  std::size_t place;
  int parameter;
  double value;
};
/// All that are not zero.
std::vector<StartEntry> start_entries(const CompiledModel& model);

/// How the start moves along a direction.
struct StartChange {
  std::vector<double> state, discrete;
};
StartChange start_change(const CompiledModel& model, const Direction& direction,
                         const std::vector<StartEntry>& entries);

}  // namespace saltus
