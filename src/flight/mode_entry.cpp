#include "flight/mode_entry.hpp"

#include <numeric>

#include "base/finite.hpp"

namespace saltus {

ModeEntry::ModeEntry(const FlightCode& code) : code_(code) {
  for (const FlightTape& tape : code.tapes) work_.push_back(tape.at.workspace());
}

void ModeEntry::evaluate(const FlightMode& mode, const FlightNumbers& numbers, double t, const double* x) {
  const FlightTape& tape = code_.tapes[mode.tape];
  data_.resize(tape.data.size());
  code_.gather(mode, numbers, data_.data(), 1);
  slopes_.resize(tape.n);
  for (auto* list : {&guards_, &guard_slopes_, &guard_curves_}) list->resize(tape.guards.size());
  for (auto* list : {&clocks_, &clock_slopes_}) list->resize(tape.clocks.size());
  const double* const in[] = {&t, x, data_.data()};
  double* const out[] = {slopes_.data(),       guards_.data(), guard_slopes_.data(),
                         guard_curves_.data(), clocks_.data(), clock_slopes_.data()};
  tape.at(in, out, work_[mode.tape]);
}

bool ModeEntry::look(const FlightMode& mode, const FlightNumbers& numbers, double t, double h, const double* x,
                     const std::vector<int>& at_zero) {
  const FlightTape& tape = code_.tapes[mode.tape];
  evaluate(mode, numbers, t, x);
  left_ = -1;
  due_.resize(tape.clocks.size());
  return all_finite(slopes_) &&
         flight::on_their_sides(static_cast<int>(guards_.size()), mode.sides.data(),
                                {guards_.data(), guard_slopes_.data(), guard_curves_.data()}, at_zero.data(),
                                static_cast<int>(at_zero.size()), h, left_) &&
         flight::next_clocks(static_cast<int>(clocks_.size()), mode.clock_sides.data(), clocks_.data(),
                             clock_slopes_.data(), t, next_clock_, due_.data());
}

std::vector<int> all_guards(const FlightTape& tape) {
  std::vector<int> places(tape.guards.size());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

}  // namespace saltus
