// The proof that guards stay on their sides. Samples may miss what happens between them; interval arithmetic does not.
//
// On a piece [a, b] of the step with middle m and radius r, u (a guard times its side) stays on its side if one of
// these holds:
//   natural:     the enclosure of u over the piece is positive
//   mean value:  u(m) - r max |u'| > 0, with the enclosure of u' over the piece
//   monotone:    u' has one sign, and u is not negative at the end towards which it falls
//   known zero:  the piece begins at a known zero of multiplicity p, and u^(p) > 0
// Otherwise the piece is halved. "Positive" and "negative" are meant up to the rounding of u, which is the width of its
// enclosure at a point, and to the noise that is given for it (GuardWatch). A point at which u is certainly negative is
// a crossing that the samples have not shown.
#include "event_locator_impl.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {
namespace {

// A guard that comes within so many of its rounding errors of zero, and not certainly beyond, touches zero.
constexpr double rounding_errors = 4.0;
// Pieces shorter than so many units in the last place of time are not halved.
constexpr double shortest_piece = 64.0;

double magnitude(Interval a) {
  return std::max(std::abs(a.lower), std::abs(a.upper));
}

}  // namespace

Interval EventLocator::Impl::enclosed(int k, int order) const {
  const Interval g = enclosure.coefficient(k, order);
  return watch[static_cast<std::size_t>(k)].side > 0 ? g : -g;
}

// Removes from `list` the guards that stay on their sides on [low, high] by their enclosures there, and finds the
// slopes of the others; `strict`: guards that come to zero, within the noise that is given for them, do not stay.
void EventLocator::Impl::test_natural(double low, double high, std::vector<int>& list, bool strict) {
  int order = 1;
  for (const int k : list)
    if (low == 0.0)
      order = std::clamp<int>(watch[static_cast<std::size_t>(k)].known_root, order, StepEnclosure::max_order);
  enclosable = enclosure.enclose(low, high, order, list);
  if (!enclosable) return;
  std::erase_if(list, [&](int k) {
    const int known =
        low == 0.0 ? std::min<int>(watch[static_cast<std::size_t>(k)].known_root, StepEnclosure::max_order) : 0;
    return enclosed(k, 0).lower > (strict ? 0.0 : -given_noise(k)) || (known > 0 && enclosed(k, known).lower > 0.0);
  });
  for (const int k : list) slopes[static_cast<std::size_t>(k)] = enclosed(k, 1);
}

// The same by the mean value form; `strict`: guards that touch zero do not stay. `below` becomes true if a guard is
// certainly beyond zero in the middle.
void EventLocator::Impl::test_mean_value(double low, double high, std::vector<int>& list, bool strict, bool& below) {
  const double middle = 0.5 * (low + high), radius = std::max(high - middle, middle - low);
  enclosure.enclose(middle, middle, 0, list);
  std::erase_if(list, [&](int k) {
    const Interval value = enclosed(k, 0);
    const bool negative = value.upper < -given_noise(k);
    const double spread = radius * magnitude(slopes[static_cast<std::size_t>(k)]);
    const double allowed = std::max(given_noise(k), rounding_errors * value.width());
    if (value.lower - spread > (negative || strict ? 0.0 : -allowed)) return true;
    below = below || negative;
    return false;
  });
}

// The same by monotonicity. `ends`: the guards that leave their sides at the very end of the piece.
void EventLocator::Impl::test_monotone(double low, double high, std::vector<int>& list, std::span<const int> ends,
                                       bool& below) {
  const auto at_end = [&](double s, auto wanted) {
    monotone.clear();
    for (const int k : list)
      if (wanted(k)) monotone.push_back(k);
    if (monotone.empty()) return;
    enclosure.enclose(s, s, 0, monotone);
    std::erase_if(list, [&](int k) {
      if (std::find(monotone.begin(), monotone.end(), k) == monotone.end()) return false;
      const bool known = s == 0.0 && watch[static_cast<std::size_t>(k)].known_root > 0;
      const bool leaves = s == high && std::find(ends.begin(), ends.end(), k) != ends.end();
      const bool negative = enclosed(k, 0).upper < -given_noise(k) && !known && !leaves;
      below = below || (negative && s == high);
      return !negative;
    });
  };
  at_end(low, [&](int k) { return slopes[static_cast<std::size_t>(k)].lower > 0.0; });
  at_end(high, [&](int k) { return slopes[static_cast<std::size_t>(k)].upper < 0.0; });
}

// Takes out of the search the guards that need no samples. `open` becomes the list of the others.
void EventLocator::Impl::clear_guards() {
  open.clear();
  for (std::size_t k = 0; k < guards; ++k)
    if (sides[k] != 0.0) open.push_back(static_cast<int>(k));
  bool below = false;
  enclosure.start(composite.system(), composite.step());
  const auto at_zero = [&](int k) { return watch[static_cast<std::size_t>(k)].known_root > 0; };
  if (!std::ranges::all_of(open, at_zero)) {  // most are cleared by their values alone, which cost less than slopes
    enclosable = enclosure.enclose(0.0, 1.0, 0, open);
    if (!enclosable) return;
    std::erase_if(open, [&](int k) { return enclosed(k, 0).lower > 0.0; });
  }
  if (!open.empty()) test_natural(0.0, 1.0, open, true);
  if (!enclosable) return;
  if (!open.empty()) test_mean_value(0.0, 1.0, open, true, below);
  for (std::size_t k = 0, i = 0; k < guards; ++k) {
    if (i < open.size() && open[i] == static_cast<int>(k))
      ++i;
    else
      sides[k] = 0.0;
  }
}

// Proves that the open guards stay on their sides on [low, high]; those of `ends` leave them at `high`. A crossing that
// no sample has shown is left in `gap`.
EventLocator::Impl::Proof EventLocator::Impl::prove(double low, double high, std::span<const int> ends) {
  struct Part {
    double low, high;
    std::size_t first, last;  // its guards, in `pending`
  };
  std::array<Part, 128> stack;
  std::size_t top = 0;
  Proof result = Proof::complete;
  pending = open;
  stack[top++] = {low, high, 0, open.size()};
  while (top > 0) {
    const Part part = stack[--top];
    pending.resize(part.last);
    remaining.assign(pending.begin() + static_cast<std::ptrdiff_t>(part.first), pending.end());
    bool below = false;
    test_natural(part.low, part.high, remaining, false);
    if (!remaining.empty()) test_mean_value(part.low, part.high, remaining, false, below);
    double end = 0.5 * (part.low + part.high);
    if (!remaining.empty() && !below) {
      test_monotone(part.low, part.high, remaining, part.high == high ? ends : std::span<const int>(), below);
      end = part.high;
    }
    if (below) {
      gap = {part.low, end};
      return Proof::crossing;
    }
    if (remaining.empty()) continue;
    if (enclosure.calls - enclosures_before > options.max_enclosures) return Proof::incomplete;
    const double middle = 0.5 * (part.low + part.high);
    if ((part.high - part.low) * std::abs(composite.step().h) <= shortest_piece * unit || top + 2 > stack.size()) {
      result = Proof::incomplete;
      continue;
    }
    pending.insert(pending.end(), remaining.begin(), remaining.end());
    stack[top++] = {middle, part.high, part.last, pending.size()};
    stack[top++] = {part.low, middle, part.last, pending.size()};
  }
  return result;
}

// Completes the search: what the samples have shown is proved to be all, or corrected until it is.
bool EventLocator::Impl::confirm(bool found, LocatedEvent& event) {
  enclosures_before = enclosure.calls;
  double from = 0.0;
  for (;;) {
    const double limit = found ? std::min(composite.fraction(event.t_before), 1.0) : last_fraction;
    if (!(limit > from)) return found;
    unit = unit_at(composite.time(limit));
    const Proof outcome = prove(from, limit, found ? std::span<const int>(event.guards) : std::span<const int>());
    if (outcome == Proof::incomplete) proved = false;
    if (outcome != Proof::crossing) return found;
    candidates.clear();
    for (const int k : remaining) {
      if (u_at(k, composite.time(gap.high)) >= 0.0) continue;
      const bool known = gap.low == 0.0 && watch[static_cast<std::size_t>(k)].known_root > 0;
      candidates.push_back({.guard = k,
                            .low = gap.low,
                            .guess = gap.high,
                            .high = gap.high,
                            .blur = gap.high - gap.low,
                            .trust_low = known});
    }
    piece = {gap.low, gap.high, 0};
    if (candidates.empty() || !choose(event)) {
      proved = false;
      return found;
    }
    found = true;
    from = gap.low;
    ++statistics.hidden;
  }
}

}  // namespace saltus
