// The walk over a step: the whole of it first, halves where a guard is not resolved, from left to right until an event
// is found.
#include "event_locator_impl.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace saltus {
namespace {

[[noreturn, gnu::cold]] void refuse_sizes(const Structure& structure, int variables, std::size_t watched) {
  if (static_cast<int>(watched) != structure.guards) {
    throw UsageError("EventLocator: give one GuardWatch for each of the " + std::to_string(structure.guards) +
                     " guards of the system (side 0 for those not watched), not " + std::to_string(watched));
  }
  throw UsageError("EventLocator: the step has " + std::to_string(variables) + " variables, the system " +
                   std::to_string(structure.variables) + "; give the dense output of a step of this system");
}

}  // namespace

void EventLocator::Impl::make_room(std::size_t count) {
  rows.resize((finest_grid + 1) * count);
  for (std::vector<double>* row : {&sides, &margins, &probe_row, &noise, &closer_row}) row->resize(count);
  suspects.reserve(count);
  candidates.reserve(count);
  linear_candidates.reserve(count);
  slopes.resize(count);
  for (std::vector<int>* list : {&open, &remaining, &monotone}) list->reserve(count);
}

void EventLocator::Impl::begin(System& system, const DensePolynomial& step, std::span<const GuardWatch> given) {
  composite.start(system, step);
  watch = given;
  guards = given.size();
  if (guards > sides.size()) make_room(guards);
  linear_candidates.clear();
  candidates.clear();
  suspects.clear();
  noise_known = false;
  last_fraction = resume = 1.0;
  direction = std::copysign(1.0, step.h);
  unit = unit_at(step.t1());
  evaluations_before = composite.evaluations;
  piece = {0.0, 1.0, 0};
  sampled = 0;
}

[[gnu::hot]] bool EventLocator::Impl::earliest(System& system, const DensePolynomial& step, std::span<const GuardWatch> given,
                                  std::span<const LinearGuard> linear, LocatedEvent& event) {
  const Structure& structure = system.structure();
  if (static_cast<int>(given.size()) != structure.guards || step.variables != structure.variables)
    refuse_sizes(structure, step.variables, given.size());
  ++statistics.steps;
  touches.clear();
  proved = resolved = linear_resolved = true;
  not_finite = false;
  finite_until = step.t1();
  fineness = 0.0;
  if (given.empty() || step.h == 0.0 || far_from_zero(step, given, linear)) return false;
  begin(system, step, given);
  return search(linear, event);
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

// A fit of guard k is not known to its noise.
void EventLocator::Impl::not_resolved(int k) {
  resolved = false;
  if (std::find(open.begin(), open.end(), k) == open.end()) linear_resolved = false;
}

// What the samples show, and the proof that it is all.
[[gnu::hot]] bool EventLocator::Impl::search(std::span<const LinearGuard> linear, LocatedEvent& event) {
  open.clear();
  bool found = search_all(linear, event);
  if (!open.empty()) {
    if (enclosable)
      found = confirm(found, event);
    else
      proved = false;
  }
  proved = proved && linear_resolved;
  if (found) event.proved = proved;
  return found;
}

// Linear guards first. The others are sampled on the whole step if their enclosures do not clear them, and on its parts
// where a suspect is not resolved.
[[gnu::hot]] bool EventLocator::Impl::search_all(std::span<const LinearGuard> linear, LocatedEvent& event) {
  bool sampling = false;
  if (!search_linear(linear, sampling)) {
    not_finite = true;
    finite_until = composite.step().t0;
    return false;
  }
  if (sampling) {
    clear_guards();
    sampling = !open.empty();
  }
  if (sampling) {
    sample(coarse_grid);
    first_test();
    statistics.suspects += static_cast<std::int64_t>(suspects.size());
  }
  if (suspects.empty()) {
    if (candidates.empty()) return false;
    if (choose(event)) return true;
    if (!go_on()) return false;
  } else {
    std::swap(candidates, linear_candidates);
  }
  std::array<Piece, 64> stack;
  int top = 0;
  for (;;) {
    switch (search_piece()) {
      case Verdict::found:
        if (choose(event)) return true;
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
  return impl_->earliest(system, step, watch, linear, event);
}

void EventLocator::find_uncertain(System& system, const DensePolynomial& step, std::span<const GuardWatch> watch,
                                  std::span<const LinearGuard> linear, std::vector<int>& uncertain) {
  impl_->find_uncertain(system, step, watch, linear, uncertain);
}

std::span<const GuardTouch> EventLocator::touches() const {
  return impl_->touches;
}
bool EventLocator::proved() const {
  return impl_->proved;
}
bool EventLocator::resolved() const {
  return impl_->resolved;
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
  impl_->statistics.evaluations = impl_->composite.evaluations;
  impl_->statistics.enclosures = impl_->enclosure.calls;
  return impl_->statistics;
}

}  // namespace saltus
