#include "flight/mode_entry.hpp"

#include <numeric>

#include "base/finite.hpp"

namespace saltus {

ModeEntry::Room::Room(const FlightTape& tape) : work(tape.at.workspace()) {
  data.resize(tape.data.size());
  slopes.resize(tape.n);
  for (auto* list : {&guards, &guard_slopes, &guard_curves}) list->resize(tape.guards.size());
  for (auto* list : {&clocks, &clock_slopes}) list->resize(tape.clocks.size());
  due.resize(tape.clocks.size());
  std::size_t group = 0;
  for (auto* list : {&slopes, &guards, &guard_slopes, &guard_curves, &clocks, &clock_slopes})
    out[group++] = list->data();
}

ModeEntry::ModeEntry(const FlightCode& code) : code_(code) {
  rooms_.reserve(code.tapes.size());  // they point into themselves
  for (const FlightTape& tape : code.tapes) rooms_.emplace_back(tape);
}

void ModeEntry::evaluate(const FlightMode& mode, const FlightNumbers& numbers, double t, const double* x) {
  room_ = &rooms_[mode.tape];
  code_.gather(mode, numbers, room_->data.data(), 1);
  const double* const in[] = {&t, x, room_->data.data()};
  code_.tapes[mode.tape].at(in, room_->out, room_->work);
}

bool ModeEntry::look(const FlightMode& mode, const FlightNumbers& numbers, double t, double h, const double* x,
                     std::span<const int> at_zero) {
  evaluate(mode, numbers, t, x);
  Room& r = *room_;
  left_ = -1;
  return all_finite(r.slopes) &&
         flight::on_their_sides(static_cast<int>(r.guards.size()), mode.sides.data(),
                                {r.guards.data(), r.guard_slopes.data(), r.guard_curves.data()}, at_zero.data(),
                                static_cast<int>(at_zero.size()), h, left_) &&
         flight::next_clocks(static_cast<int>(r.clocks.size()), mode.clock_sides.data(), r.clocks.data(),
                             r.clock_slopes.data(), t, next_clock_, r.due.data());
}

std::vector<int> all_guards(const FlightTape& tape) {
  std::vector<int> places(tape.guards.size());
  std::iota(places.begin(), places.end(), 0);
  return places;
}

}  // namespace saltus
