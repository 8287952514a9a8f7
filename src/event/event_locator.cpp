// The walk over a step: the whole of it first, halves where a guard is not resolved, from left to right until an event
// is found.
#include "event_locator_impl.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace saltus {

void EventLocator::Impl::make_room(std::size_t count) {
  guards = count;
  rows.resize((finest_grid + 1) * guards);
  sides.resize(guards);
  margins.resize(guards);
  probe_row.resize(guards);
  noise.resize(guards);
  closer_row.resize(guards);
  suspects.reserve(guards);
  candidates.reserve(guards);
  linear_candidates.reserve(guards);
}

// The usual case: all guards that are watched are linear, and their polynomials do not come near to zero.
bool EventLocator::Impl::far_from_zero(const DensePolynomial& step, std::span<const GuardWatch> given,
                                       std::span<const LinearGuard> linear) {
  if (linear.empty() || step.degree > Bernstein::max_degree) return false;
  std::size_t watched = 0;
  for (const GuardWatch& w : given) watched += w.side != 0 ? 1 : 0;
  const auto n = static_cast<std::size_t>(step.variables);
  for (const LinearGuard& guard : linear) {
    if (static_cast<std::size_t>(guard.guard) >= given.size() || guard.variables.size() != guard.coefficients.size()) return false;
    const double side = given[static_cast<std::size_t>(guard.guard)].side;
    if (side == 0.0) continue;
    double start = guard.constant + guard.time * step.t0, moved = std::abs(guard.time * step.h);
    for (std::size_t i = 0; i < guard.variables.size(); ++i) {
      const auto j = static_cast<std::size_t>(guard.variables[i]);
      if (j >= n) return false;
      const double* x = step.c.data() + j;
      const double coefficient = guard.coefficients[i];
      start += coefficient * *x;
      double reach = 0.0;
      for (int d = 1; d <= step.degree; ++d) reach += std::abs(x[static_cast<std::size_t>(d) * n]);
      moved += std::abs(coefficient) * reach;
    }
    if (!(side * start * (1.0 - 1e-12) > moved)) return false;
    --watched;
  }
  return watched == 0;
}

void EventLocator::Impl::begin(System& system, const DensePolynomial& step, std::span<const GuardWatch> given) {
  const Structure& structure = system.structure();
  if (static_cast<int>(given.size()) != structure.guards) {
    throw UsageError("EventLocator: give one GuardWatch for each of the " + std::to_string(structure.guards) +
                     " guards of the system (side 0 for those not watched), not " + std::to_string(given.size()));
  }
  if (step.variables != structure.variables) {
    throw UsageError("EventLocator: the step has " + std::to_string(step.variables) + " variables, the system " +
                     std::to_string(structure.variables) + "; give the dense output of a step of this system");
  }
  composite.start(system, step);
  watch = given;
  if (guards != given.size()) make_room(given.size());
  linear_candidates.clear();
  touches.clear();
  candidates.clear();
  suspects.clear();
  noise_known = false;
  proved = true;
  not_finite = false;
  last_fraction = 1.0;
  finite_until = step.t1();
  fineness = 0.0;
  direction = step.h < 0.0 ? -1.0 : 1.0;
  unit = unit_at(step.t1());
  evaluations_before = composite.evaluations;
}

// Ends the search before the first point of the present piece at which a suspect is not finite.
void EventLocator::Impl::shorten_to_finite() {
  not_finite = true;
  const auto good = [&](const double* row) {
    double sum = 0.0;
    for (const int k : suspects) sum += 0.0 * row[k];
    return sum == 0.0;
  };
  const int stride = finest_grid / sampled;
  double low = piece.low, high = piece.high;
  if (!good(rows.data())) {
    high = low;
  } else {
    for (int j = stride; j <= finest_grid; j += stride) {
      const double s = j == finest_grid ? piece.high : piece.low + (piece.high - piece.low) * grid_point(j);
      if (!good(rows.data() + static_cast<std::size_t>(j) * guards)) {
        high = s;
        break;
      }
      low = s;
    }
  }
  const double fine = unit / std::abs(composite.step().h);
  for (int i = 0; i < 80 && high - low > 2.0 * fine; ++i) {
    const double middle = 0.5 * (low + high);
    composite.at_fraction(middle, probe_row.data());
    (good(probe_row.data()) ? low : high) = middle;
  }
  last_fraction = low;
  finite_until = composite.time(low);
  piece.high = low;
  sampled = 0;
}

// Searches the linear guards; `sampling` says whether any others are watched. False: a linear guard has no values.
bool EventLocator::Impl::prepare(std::span<const LinearGuard> linear, bool& sampling) {
  for (std::size_t k = 0; k < guards; ++k) sides[k] = watch[k].side;
  const DensePolynomial& step = composite.step();
  bool finite = true;
  if (step.degree <= Bernstein::max_degree) {
    for (const LinearGuard& guard : linear) {
      const auto fits = [&](int j) { return j >= 0 && j < step.variables; };
      if (guard.guard < 0 || guard.guard >= static_cast<int>(guards) ||
          guard.variables.size() != guard.coefficients.size() ||
          !std::all_of(guard.variables.begin(), guard.variables.end(), fits)) {
        throw UsageError(
            "EventLocator: a LinearGuard needs the number of a guard of the system, variables of the system, and one "
            "coefficient for each of them");
      }
      if (sides[static_cast<std::size_t>(guard.guard)] == 0.0) continue;
      sides[static_cast<std::size_t>(guard.guard)] = 0.0;
      finite = search_linear(guard) && finite;
    }
  }
  std::swap(candidates, linear_candidates);
  sampling = std::any_of(sides.begin(), sides.end(), [](double side) { return side != 0.0; });
  return finite;
}

bool EventLocator::Impl::earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> given,
                                  std::span<const LinearGuard> linear, LocatedEvent& event) {
  ++statistics.steps;
  evaluations_before = composite.evaluations;
  if (far_from_zero(step, given, linear)) {
    touches.clear();
    proved = true;
    not_finite = false;
    finite_until = step.t1();
    fineness = 0.0;
    return false;
  }
  begin(system, step, given);
  if (guards == 0 || step.h == 0.0) return false;
  piece = {0.0, 1.0, 0};
  sampled = 0;
  bool sampling = false;
  if (!prepare(linear, sampling)) {
    not_finite = true;
    finite_until = step.t0;
    return false;
  }
  if (sampling) {
    sample(coarse_grid);
    first_test();
    statistics.suspects += static_cast<std::int64_t>(suspects.size());
  }
  resume = 1.0;
  if (suspects.empty()) {
    std::swap(candidates, linear_candidates);
    if (candidates.empty()) return false;
    if (settle(event)) return true;
    if (!go_on()) return false;
  }
  std::array<Piece, 64> stack;
  int top = 0;
  for (;;) {
    switch (search_piece()) {
      case Verdict::found:
        if (settle(event)) return true;
        if (go_on()) continue;
        break;
      case Verdict::nothing:
        break;
      case Verdict::split: {
        const double middle = 0.5 * (piece.low + piece.high);
        stack[static_cast<std::size_t>(top++)] = {middle, piece.high, piece.depth + 1};
        piece = {piece.low, middle, piece.depth + 1};
        sampled = 0;
        continue;
      }
      case Verdict::not_finite:
        shorten_to_finite();
        top = 0;
        if (piece.high <= piece.low || exhausted()) return false;
        continue;
    }
    if (top == 0) return false;
    piece = stack[static_cast<std::size_t>(--top)];
    sampled = 0;
  }
}

// None of the candidates held: whether a part of the piece is left behind the first of them, which becomes the piece
// then.
bool EventLocator::Impl::go_on() {
  const double from = resume;
  resume = 1.0;
  if (!(from > piece.low && from < piece.high)) return false;
  piece.low = from;
  sampled = 0;
  const double t = composite.time(from);
  std::erase_if(touches, [&](const GuardTouch& x) { return !ahead(t, x.t_low); });  // they will be seen again
  std::erase_if(linear_candidates, [&](const Candidate& c) {
    return std::find(suspects.begin(), suspects.end(), c.guard) != suspects.end();
  });
  return true;
}

// Makes an event of the candidates, if one of them holds.
bool EventLocator::Impl::settle(LocatedEvent& event) {
  if (!choose(event)) return false;
  event.proved = proved;
  ++statistics.events;
  std::erase_if(touches, [&](const GuardTouch& x) { return ahead(x.t_low, event.t_after); });
  return true;
}

EventLocator::EventLocator(EventOptions options) : impl_(std::make_unique<Impl>()) {
  if (options.max_depth < 0 || options.max_depth > 60)
    throw UsageError("EventOptions: max_depth must be between 0 and 60");
  impl_->options = options;
}
EventLocator::~EventLocator() = default;
EventLocator::EventLocator(EventLocator&&) noexcept = default;
EventLocator& EventLocator::operator=(EventLocator&&) noexcept = default;

bool EventLocator::earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> watch,
                            LocatedEvent& event, std::span<const LinearGuard> linear) {
  const bool found = impl_->earliest(system, step, watch, linear, event);
  impl_->statistics.evaluations += impl_->composite.evaluations - impl_->evaluations_before;
  return found;
}

std::span<const GuardTouch> EventLocator::touches() const {
  return impl_->touches;
}
bool EventLocator::proved() const {
  return impl_->proved;
}
bool EventLocator::not_finite() const {
  return impl_->not_finite;
}
double EventLocator::finite_until() const {
  return impl_->finite_until;
}
double EventLocator::fineness() const {
  return impl_->fineness;
}
const EventStatistics& EventLocator::statistics() const {
  return impl_->statistics;
}

}  // namespace saltus
