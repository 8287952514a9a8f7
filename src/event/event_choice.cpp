// From candidates to the event: refinement on the guards themselves, and which of them fire together.
#include "event_locator_impl.hpp"

#include <algorithm>
#include <cmath>

namespace saltus {
namespace {

// The fit promises the other side in a place; the guard may reach it up to so many units later. For a zero within the
// noise at the end of the step this lies beyond the step.
constexpr double beyond_end = 64.0;
// Where rounding makes a plateau of zeros, its beginning is looked for up to so many units back.
constexpr double longest_plateau = 1024.0;
// Noise joins events of different guards up to this part of the step, no further.
constexpr double widest_window = 1e-9;

}  // namespace

// The bracket has its outer end; backwards to the first point that is on the guard's side.
inline void EventLocator::Impl::walk_back(Candidate& c, Bracket& bracket, double stride) {
  const double t_start = composite.step().t0, t_low = composite.time(c.low);
  for (;; stride *= 4.0) {
    if (bracket.t_out == t_start) {  // out from the beginning
      c.at_start = true;
      bracket.t_in = t_start;
      bracket.u_in = 0.0;
      bracket.t_out = t_start + direction * unit;
      bracket.u_out = u_at(c.guard, bracket.t_out);
      return;
    }
    double t = bracket.t_out - direction * stride;
    const bool at_low = ahead(bracket.t_out, t_low) && !ahead(t, t_low);
    if (at_low) t = t_low;
    if (ahead(t_start, t)) t = t_start;
    const double value = u_at(c.guard, t);
    if (value >= 0.0 || (at_low && c.trust_low)) {
      bracket.t_in = t;
      bracket.u_in = value >= 0.0 ? value : std::numeric_limits<double>::min();
      return;
    }
    bracket.t_out = t;
    bracket.u_out = value;
  }
}

// The bracket has its inner end; forwards to the first point that is not. False: there is none.
inline bool EventLocator::Impl::walk_forward(const Candidate& c, Bracket& bracket, double stride) {
  double t_limit = composite.time(c.high);
  for (;; stride *= 4.0) {
    if (!ahead(t_limit, bracket.t_in)) {
      // The fit promised the other side here; rounding may have moved it a little.
      double t_end = composite.time(c.high);
      t_end += direction * beyond_end * unit_at(t_end);
      if (not_finite && ahead(t_end, finite_until)) t_end = finite_until;
      if (!ahead(t_end, bracket.t_in)) return false;
      t_limit = t_end;
      stride = unit;
    }
    const double t = bracket.t_in + direction * stride;
    bracket.t_out = ahead(t, t_limit) ? t_limit : t;
    bracket.u_out = u_at(c.guard, bracket.t_out);
    if (!(bracket.u_out >= 0.0)) return true;
    bracket.t_in = bracket.t_out;
    bracket.u_in = bracket.u_out;
  }
}

// A root that is known to the last place lies between two neighbouring times. Both are looked at, none after the other: for a small model
// that takes half of the time. False: they do not show it, and (t, value) is the better of them, or the guess.
inline bool EventLocator::Impl::try_neighbours(const Candidate& c, Bracket& bracket, double& t, double& value) {
  const DensePolynomial& step = composite.step();
  const double moved = c.guess * step.h;
  t = composite.time(c.guess);
  unit = unit_at(t);  // a step may be so long that a unit at its end is coarse
  const double next = direction * unit, t_out = ((t - step.t0) - moved) * direction > 0.0 ? t : t + next, t_in = t_out - next;
  if (!(c.slope > 0.0) || c.fit_noise > 0.0 || !ahead(t_in, composite.time(c.low)) || ahead(t_out, composite.time(c.high))) {
    value = u_at(c.guard, t);
    return false;
  }
  const double u_in = u_at(c.guard, t_in), u_out = u_at(c.guard, t_out);
  bracket = {t_in, u_in, t_out, u_out};
  t = u_out >= 0.0 ? t_out : t_in;
  value = u_out >= 0.0 ? u_out : u_in;
  return u_in >= 0.0 && u_out < 0.0;
}

// From a candidate to a bracket on the guard itself: outwards from the guess until both signs are seen, then inwards.
// False: the guard does not reach the other side.
[[gnu::hot]] bool EventLocator::Impl::refine(Candidate& c, Bracket& bracket) {
  double t, value;
  if (!try_neighbours(c, bracket, t, value)) {
    // By the slope the zero lies |value| / slope away; half a unit more leads to the next number behind it.
    const double length = std::abs(composite.step().h);
    const double stride = std::max(unit, c.slope > 0.0 ? length * std::abs(value) / c.slope + 0.5 * unit : length * c.blur);
    if (value < 0.0) {
      bracket.t_out = t;
      bracket.u_out = value;
      walk_back(c, bracket, stride);
    } else {
      bracket.t_in = t;
      bracket.u_in = value;
      if (!walk_forward(c, bracket, stride)) return false;
    }
    unit = unit_at(bracket.t_out);
    if (bracket.width() > 1.5 * unit) shrink([&](double time) { return u_at(c.guard, time); }, bracket, unit);
  }
  // A zero exactly on a representable time belongs to neither side.
  for (double back = unit; bracket.u_in == 0.0 && back <= longest_plateau * unit; back *= 2.0) {
    const double earlier = bracket.t_in - direction * back;
    if (ahead(composite.step().t0, earlier)) break;
    const double there = u_at(c.guard, earlier);
    if (there > 0.0) {
      bracket.t_in = earlier;
      bracket.u_in = there;
    }
  }
  return std::isfinite(bracket.u_out);
}

// Refines candidates in the order of the earliest time that they may have until one holds; it goes to the back.
inline bool EventLocator::Impl::refine_first(Bracket& bracket) {
  const auto earlier = [](const Candidate& x, const Candidate& y) { return x.guess - x.blur < y.guess - y.blur; };
  while (!candidates.empty()) {
    if (candidates.size() > 1) std::swap(*std::min_element(candidates.begin(), candidates.end(), earlier), candidates.back());
    if (refine(candidates.back(), bracket)) return true;
    const Candidate c = candidates.back();
    candidates.pop_back();
    give_up(c);
  }
  return false;
}

// The fit promised a crossing and the guard does not keep it.
void EventLocator::Impl::give_up(Candidate c) {
  if (c.may_vanish) {
    touches.push_back({c.guard, composite.time(c.low), composite.time(c.high), RootKind::zero_at_end});
    return;
  }
  // A touch, as a rule, that the fit saw a little too low.
  resume = std::min(resume, c.high);
  if (std::find(suspects.begin(), suspects.end(), c.guard) == suspects.end()) suspects.push_back(c.guard);
  const Closer closer = c.closer ? Closer::undecided : look_closer(c.guard, c.low, c.high);
  if (closer == Closer::undecided) not_resolved(c.guard);
  if (closer == Closer::undecided || closer == Closer::touch)
    touches.push_back({c.guard, composite.time(c.low), composite.time(c.high), RootKind::even});
}

// How far noise of the guard itself may move the zero, as a fraction of the step. Few events need it, so that it is estimated here.
double EventLocator::Impl::noise_blur_of(const Candidate& c) {
  return c.fit_noise > 0.0 ? c.blur * std::min(1.0, noise_of(c.guard, c.magnitude) / c.fit_noise) : c.noise_blur;
}

// How far from the winner's bracket others count as simultaneous; 0 if no other may be near.
double EventLocator::Impl::window_of(const Bracket& bracket) {
  const Candidate& winner = candidates.back();
  const double length = std::abs(composite.step().h), same = options.simultaneous * unit;
  const double s = composite.fraction(bracket.t_out) + winner.blur + 8.0 * same / length;
  double window = 0.0;
  for (std::size_t i = 0; i + 1 < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    if (c.guess - c.blur > s) continue;
    window = std::max(window, same + length * std::min(noise_blur_of(c) + noise_blur_of(winner), widest_window));
  }
  return window;
}

// The winner is the last candidate. Those that leave their sides with it join; one that does so earlier takes its place.
void EventLocator::Impl::join_others(Bracket& best, LocatedEvent& event) {
  const std::size_t others = candidates.size() - 1;
  const auto out = [&](const Candidate& c) {
    return watch[c.guard].side * probe_row[static_cast<std::size_t>(c.guard)] < 0.0;
  };
  double window = 0.0, t_window = 0.0;
  for (std::size_t round = 0; round <= others; ++round) {
    window = window_of(best);
    if (window == 0.0) break;
    t_window = best.t_in - direction * window;
    if (ahead(composite.step().t0, t_window)) t_window = composite.step().t0;
    // One that is out before the window is earlier in truth.
    composite.at_time(t_window, probe_row.data());
    const auto earlier = std::find_if(candidates.begin(), candidates.end() - 1, [&](const Candidate& c) {
      return out(c) && !(c.trust_low && !ahead(t_window, composite.time(c.low)));
    });
    if (earlier == candidates.end() - 1) break;
    Bracket bracket;
    if (!refine(*earlier, bracket) || !ahead(best.t_in, bracket.t_in)) break;
    best = bracket;
    std::swap(*earlier, candidates.back());
  }
  event.guards[0] = candidates.back().guard;
  if (window == 0.0) return;
  const double t_later = best.t_out + direction * window;
  composite.at_time(t_later, probe_row.data());
  for (std::size_t i = 0; i < others; ++i) {
    if (out(candidates[i])) event.guards.push_back(candidates[i].guard);
  }
  if (event.guards.size() > 1) {
    best.t_in = t_window;
    best.t_out = t_later;
  }
  std::sort(event.guards.begin(), event.guards.end());
}

// Makes an event of the earliest of the candidates that holds, with those that fire together with it.
[[gnu::hot]] bool EventLocator::Impl::choose(LocatedEvent& event) {
  Bracket best;
  if (!refine_first(best)) return false;
  event.guards.resize(1);
  event.guards[0] = candidates.back().guard;
  if (candidates.size() > 1) join_others(best, event);
  event.t_before = best.t_in;
  event.t_after = best.t_out;
  event.at_start = candidates.back().at_start;
  event.directions.resize(event.guards.size());
  for (std::size_t i = 0; i < event.guards.size(); ++i)
    event.directions[i] = static_cast<signed char>(-watch[event.guards[i]].side);
  ++statistics.events;
  if (!touches.empty()) std::erase_if(touches, [&](const GuardTouch& x) { return ahead(x.t_low, event.t_after); });
  return true;
}

}  // namespace saltus
