// Proofs that guards which are not affine stay on their sides.
#include "flight/pilot.hpp"

namespace saltus {

/// Whether no guard has left its side before the crossing, or in the whole step.
bool Pilot::proved(const flight::Crossing& crossing) {
  enclosing_ = false;
  Seat& s = seat();
  s.bounds.start({.t = t_, .h = end_.h, .x = s.x, .dense = s.dense, .data = s.data});
  return s.bounds.all_stay(mode().sides, crossing, motion_.left,
                           [&](std::size_t guard, const flight::StepPart& part) { return is_enclosed(guard, part); });
}

bool Pilot::is_enclosed(std::size_t guard, const flight::StepPart& part) {
  if (!system_) {
    write_mode(mode_now_);
    system_ = &model_.system(mode_now_);
  }
  if (!enclosing_) {
    write_dense(dense_);
    enclosure_.start(*system_, dense_);
    enclosing_ = true;
  }
  const int number = tape().guards[guard];
  const bool positive = mode().sides[guard] > 0, at_zero = part.leaves_zero || part.reaches_zero;
  if (!enclosure_.enclose(part.low, part.high, at_zero ? 1 : 0, std::span(&number, 1))) return false;
  const Interval value = enclosure_.coefficient(number, 0);
  if (positive ? value.lower > 0.0 : value.upper < 0.0) return true;
  if (!at_zero) return false;
  const Interval slope = enclosure_.coefficient(number, 1);
  const bool leaves = positive ? slope.lower > 0.0 : slope.upper < 0.0;
  const bool returns = positive ? slope.upper < 0.0 : slope.lower > 0.0;
  return (part.leaves_zero && leaves) || (part.reaches_zero && returns);
}

}  // namespace saltus
