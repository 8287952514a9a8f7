// What a step with local events leaves: segments and steps with the polynomials of parts, and events, in the result;
// values, mode and watched guards for the next step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "hybrid/local_step.hpp"

namespace saltus {

namespace {

/// From here on a part has another polynomial, and perhaps another mode.
struct Moment {
  double t;
  int track;
  std::size_t piece;
};

}  // namespace

void Simulator::Impl::LocalEvents::Work::record() {
  std::vector<Moment> moments;
  for (std::size_t k = 0; k < tracks.size(); ++k)
    for (std::size_t i = 0; i < tracks[k].pieces.size(); ++i)
      moments.push_back({tracks[k].pieces[i].begin(), static_cast<int>(k), i});
  std::vector<Happening> happenings;
  for (std::size_t k = 0; k < tracks.size(); ++k)
    for (std::size_t i = 0; i < tracks[k].events.size(); ++i)
      happenings.push_back({tracks[k].events[i].t, static_cast<int>(k), i});
  std::ranges::stable_sort(moments, {}, &Moment::t);
  std::ranges::stable_sort(happenings, {}, &Happening::t);
  run.result.events_->modes().keep(run.mode);
  recorded_states.assign(tracks.size(), 0);
  slides_now = run.mode.sliding.size();
  contacts_now = run.mode.contacts.size();
  const auto base = std::make_shared<const DensePolynomial>(*all);
  std::shared_ptr<const PolynomialOfPart> last;
  double begin = t0;
  const Method made_by = run.steppers.method();
  const auto keep_until = [&](double end) {
    if (!run.options.keep_steps || !(end > begin)) return;
    DensePolynomial step{begin, end - begin, base->degree, base->variables, {}, last};
    run.result.segments_.back().steps.push_back({last ? std::move(step) : *base, end, true, made_by});
    begin = end;
  };
  std::size_t moment = 0, happening = 0;
  while (moment < moments.size() || happening < happenings.size()) {
    const double t = std::min(moment < moments.size() ? moments[moment].t : never,
                              happening < happenings.size() ? happenings[happening].t : never);
    keep_until(t);
    begin = std::max(begin, t);
    for (; moment < moments.size() && moments[moment].t <= t + 4.0 * sliver; ++moment) {
      if (!run.options.keep_steps) continue;
      PartTrack& track = tracks[static_cast<std::size_t>(moments[moment].track)];
      auto next = std::make_shared<PolynomialOfPart>();
      const FamilyPart part =
          parts->part(static_cast<std::size_t>(track_part[static_cast<std::size_t>(moments[moment].track)]));
      next->all = base;
      next->before = std::move(last);
      next->variables.assign(part.variables.begin(), part.variables.end());
      next->polynomial = track.pieces[moments[moment].piece].polynomial;
      last = std::move(next);
    }
    const std::size_t first = happening;
    while (happening < happenings.size() && happenings[happening].t <= t + 4.0 * sliver) ++happening;
    if (happening == first) continue;
    note_events(std::span(happenings).subspan(first, happening - first), t);
  }
  keep_until(t1);
}

/// Records the events of one instant as one.
void Simulator::Impl::LocalEvents::Work::note_events(std::span<const Happening> happenings, double t) {
  KeptModes& modes = run.result.events_->modes();
  const int mode_before = modes.keep_changed(run.mode, {}, {});
  std::vector<std::size_t> places;
  std::vector<int> toggled;
  EventShape shape;
  EventNumbers numbers{.t = t};
  std::vector<int> guards, directions;
  std::vector<double> slope_before, slope_after;
  std::vector<std::string> actions;
  std::string message;
  for (const auto& happening : happenings) {
    const auto k = static_cast<std::size_t>(happening.track);
    const PartEvent& event = tracks[k].events[happening.event];
    const FamilyPart part = parts->part(static_cast<std::size_t>(track_part[k]));
    const PartShape& part_shape = *parts->shape(part.shape);
    const Mode &before = tracks[k].states[recorded_states[k]].mode, &now = tracks[k].states[event.state].mode;
    recorded_states[k] = event.state;
    give_mode(part, part_shape, now, run.mode, places);
    find_toggled(part, part_shape, before, now, toggled);
    slides_now += now.sliding.size() - before.sliding.size();
    contacts_now += now.contacts.size() - before.contacts.size();
    if (&happening == &happenings.front() || event.kind == EventKind::reset) shape.kind = event.kind;
    guards.insert(guards.end(), event.guards.begin(), event.guards.end());
    directions.insert(directions.end(), event.directions.begin(), event.directions.end());
    slope_before.insert(slope_before.end(), event.slope_before.begin(), event.slope_before.end());
    slope_after.insert(slope_after.end(), event.slope_after.begin(), event.slope_after.end());
    for (const std::string& number : event.actions) actions.push_back(clause_name(part, number));
    if (!event.message.empty()) message += (message.empty() ? "" : "; ") + event.message;
    numbers.jump = std::max(numbers.jump, event.jump);
    if (event.cause != JumpCause::none) numbers.cause = event.cause;
    numbers.proved = numbers.proved && event.proved;
  }
  const std::vector<std::string_view> action_views(actions.begin(), actions.end());
  const int mode_after = modes.keep_changed(run.mode, places, toggled);
  shape.guards = guards;
  shape.directions = directions;
  shape.actions = action_views;
  shape.message = message;
  numbers.slope_before = slope_before;
  numbers.slope_after = slope_after;
  ++run.result.statistics_.events;
  ++run.result.statistics_.local_events;
  run.result.events_->add(mode_before, mode_after, shape, numbers);
  if (!run.options.keep_steps) return;
  auto& segments = run.result.segments_;
  if (!segments.empty() && segments.back().steps.empty()) segments.pop_back();
  segments.push_back({mode_after, slides_now > 0, contacts_now > 0, {}});
}

/// The name of a clause of the small family, as the large one has it.
std::string Simulator::Impl::LocalEvents::Work::clause_name(const FamilyPart& part, const std::string& number) const {
  const auto k = static_cast<std::size_t>(std::stoul(number));
  return std::string(run.hybrid->clause_name(part.conditions[k]));
}

void Simulator::Impl::LocalEvents::Work::commit() {
  run.t = t1;
  const std::span<const double> x1 = run.stepper->x();
  run.x.assign(x1.begin(), x1.end());
  std::vector<std::size_t> places;
  std::vector<int> toggled;
  for (std::size_t k = 0; k < tracks.size(); ++k) {
    const FamilyPart part = parts->part(static_cast<std::size_t>(track_part[k]));
    const PartShape& shape = *parts->shape(part.shape);
    places.clear();
    give_mode(part, shape, tracks[k].states.back().mode, run.mode, places);
    find_toggled(part, shape, tracks[k].states.front().mode, tracks[k].states.back().mode, toggled);
    for (std::size_t i = 0; i < part.variables.size(); ++i)
      run.x[static_cast<std::size_t>(part.variables[i])] = tracks[k].x_end[i];
  }
  surface::toggle(std::move(toggled), run.mode);
  run.result.t_end_ = t1;
  run.result.final_values_.clear();
  run.result.statistics_.part_runs += runs;
}

void Simulator::Impl::LocalEvents::Work::note_sides(const PartShape& shape, std::span<const GuardWatch> watch,
                                                    PartTrack& track) {
  track.sides.clear();
  for (const GuardWatch& w : watch)
    if (w.known_root > 0) return;
  for (const int own : shape.guards) track.sides.push_back(watch[static_cast<std::size_t>(own)].side);
}

std::span<const GuardWatch> Simulator::Impl::LocalEvents::Work::find_watch() {
  if (!run.bands.empty()) return {};
  const std::size_t family = part_of_guard.size();
  next_watch.assign(run.watch.begin(), run.watch.begin() + static_cast<std::ptrdiff_t>(family));
  for (std::size_t k = 0; k < tracks.size(); ++k) {
    const FamilyPart part = parts->part(static_cast<std::size_t>(track_part[k]));
    if (tracks[k].sides.size() != part.guards.size()) return {};
    for (std::size_t i = 0; i < part.guards.size(); ++i)
      next_watch[static_cast<std::size_t>(part.guards[i])] = {.side = tracks[k].sides[i]};
  }
  if (std::ranges::any_of(next_watch, [](const GuardWatch& w) { return w.known_root > 0; })) return {};
  return next_watch;
}

}  // namespace saltus
