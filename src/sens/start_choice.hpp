// Which start values a run depends on.
#pragma once

#include <saltus/model/compiled_model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <span>
#include <string>
#include <vector>

#include "sens/directions.hpp"

namespace saltus {

struct StartChoice {
  std::string why;            ///< why it is not known; "" if it is
  std::vector<double> x, xp;  ///< the consistent start
  std::vector<int> held;      ///< variables whose start values count; all others follow
};

/// For a mode that is not explicit, and start values alone, at the values x with which a run begins. `unchanged`: no
/// clause has acted at the start. Throws UsageError for directions along which the start does not move.
StartChoice choose_start(const CompiledModel& model, RecordedSystem& system, double t, std::span<const double> x,
                         std::span<const Direction> directions, bool unchanged);

}  // namespace saltus
