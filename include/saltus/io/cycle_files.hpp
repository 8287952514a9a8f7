// Cycles as files.
#pragma once

#include <saltus/sens/cycle.hpp>

#include <iosfwd>

namespace saltus {

/// A cycle as a JSON document: status, period, start, multipliers. Multipliers are pairs of real and imaginary parts.
void write_cycle_json(std::ostream& out, const Cycle& cycle);

}  // namespace saltus
