#include "flight/step_bounds.hpp"

namespace saltus {

StepBounds::StepBounds(const FlightTape& tape, int degree) : tape_(tape), degree_(degree) {
  if (tape.bounds.empty()) return;
  const std::size_t guards = tape.bounds.program.tape().outputs.front().size();
  work_ = tape.bounds.program.workspace();
  in_.resize(2 + 6 * tape.n);
  out_.resize(4 * guards);
  data_.resize(tape.data.size());
  groups_in_.push_back(in_.data());
  for (std::size_t group = 0; group < 6; ++group) groups_in_.push_back(in_.data() + 2 + group * tape.n);
  groups_in_.push_back(data_.data());
  for (std::size_t group = 0; group < 4; ++group) groups_out_.push_back(out_.data() + group * guards);
}

void StepBounds::start(const Step& step) {
  step_ = step;
  high_ = -1.0;
  for (std::size_t k = 0; k < data_.size(); ++k) data_[k] = step.data[k * step.stride];
}

bool StepBounds::find(std::size_t guard, const flight::StepPart& part, flight::GuardRange& range) {
  const int place = tape_.bounds.places.empty() ? -1 : tape_.bounds.places[guard];
  if (place < 0) return false;
  if (low_ != part.low || high_ != part.high) {
    low_ = part.low;
    high_ = part.high;
    flight::find_ranges(static_cast<int>(tape_.n), degree_, static_cast<int>(step_.stride), step_.t, step_.h, step_.x,
                        step_.dense, part, in_.data());
    tape_.bounds.program(groups_in_, groups_out_, work_);
  }
  range = {groups_out_[0][place], groups_out_[1][place], groups_out_[2][place], groups_out_[3][place]};
  return true;
}

}  // namespace saltus
