// Which start values a run depends on.
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <span>
#include <string>
#include <vector>

#include "sens/act_tangents.hpp"
#include "sens/directions.hpp"
#include "sens/run_record.hpp"

namespace saltus {

struct StartChoice {
  std::string why;            ///< why it is not known; "" if it is
  std::vector<double> x, xp;  ///< the consistent start
  std::vector<int> held;      ///< variables whose start values count, or what clauses made of them; all others follow
};

/// For a mode that is not explicit, and start values alone, at the values x with which a run begins. `rounds`: what
/// clauses did at the start. Throws UsageError for directions along which the start does not move.
StartChoice choose_start(CompiledModel& model, const RunRecord& record, RecordedSystem& system,
                         std::span<const double> x, std::span<const Direction> directions,
                         std::span<const RoundMap> rounds);

/// A sample that is taken where the run starts is taken there or not at all. Returns "" if its time moves along none of
/// the directions, or that it does.
std::string samples_of_start_move(const CompiledModel& model, const RunRecord& record,
                                  std::span<const Direction> directions);

}  // namespace saltus
