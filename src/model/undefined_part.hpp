// Which part of an equation has no value at a point: the answer to "why is it not finite?".
#pragma once

#include <saltus/model/recorded_system.hpp>

#include <span>
#include <string>

namespace saltus {

/// A point of a recorded system.
struct RecordedPoint {
  double t = 0.0;
  std::span<const double> x, xp, data, locks;
};

/// The smallest part of an equation that is not finite at the point although its operands are, as text, and after a
/// line break what to do about an operation of this kind; "" if the equation is finite there. Branches that are not
/// taken do not count.
std::string undefined_part(const RecordedEquations& eq, std::size_t equation, const RecordedPoint& point);

}  // namespace saltus
