// Repeats a run from an earlier point, so that what follows a saved state has the bits of a run that was never saved.
//
// The point is the start of the run, or a later one from which explicit methods go on with the same bits. The run is
// repeated without a record up to the last step before the state that does not depend on the stop time. The state is
// shown until the run goes on: then its next steps are those of the longer run.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/fingerprint.hpp"
#include "hybrid/saved_memory.hpp"
#include "hybrid/simulator_impl.hpp"

namespace saltus {

namespace {

/// Sixty-four bits as two numbers, which an archive keeps.
void persist_bits(StateArchive& archive, std::uint64_t& bits) {
  auto low = static_cast<std::uint32_t>(bits), high = static_cast<std::uint32_t>(bits >> 32);
  archive(low, high);
  bits = static_cast<std::uint64_t>(high) << 32 | low;
}

bool has_functions(const SimulateOptions& options) {
  return std::ranges::any_of(options.inputs, [](const auto& input) { return input.second.data().function != nullptr; });
}

}  // namespace

// --- while the run goes on

/// The methods derive the size of the first step from the slopes. Where the state or the slopes are zero they take a
/// part of the run instead.
void Simulator::Impl::SavedRun::note_first_step() {
  constexpr double almost_zero = 2e-5;  // in tolerances; the methods compare with half of it
  double largest_value = 0.0, largest_slope = 0.0;
  for (std::size_t j = 0; j < run.x.size(); ++j) {
    const double rtol = run.options.rtol_each.size() > j ? run.options.rtol_each[j] : run.options.rtol;
    const double atol = run.options.atol_each.size() > j ? run.options.atol_each[j] : run.options.atol;
    const double scale = std::max(atol + rtol * std::abs(run.x[j]), std::numeric_limits<double>::min());
    largest_value = std::max(largest_value, std::abs(run.x[j]) / scale);
    largest_slope = std::max(largest_slope, std::abs(run.xp[j]) / scale);
  }
  const bool by_slopes = largest_value > almost_zero && largest_slope > almost_zero;
  if (!history.free_until && !(by_slopes && run.system->structure().explicit_ode)) history.free_until = run.t;
}

void Simulator::Impl::SavedRun::keep_point() {
  constexpr std::int64_t pause = 32;
  constexpr std::size_t most_variables = 100'000;
  history.next_look = run.steps_made + pause;
  const double left = std::abs(run.options.stop - run.t);
  const double step = run.flights.flying() ? run.flights.next_step() : run.stepper->next_step();
  if (run.over || !run.alone || left > history.wanted * step || run.x.size() > most_variables ||
      has_functions(run.options))
    return;
  run.flights.show();
  bool remembers_steps = false;
  SimulatorState s = point(remembers_steps);
  if (!remembers_steps) return;
  close_memory(s.memory, {});
  history.begin = std::move(s);
  history.pauses.clear();
  history.steps_before = run.steps_made;
  history.repeatable = true;
  history.wanted = 0.125 * left / step;
}

// --- what a state keeps

/// What the course of a run depends on beside its beginning: options, and inputs between two times.
std::uint64_t Simulator::Impl::SavedRun::identify_course(double from, double to) const {
  constexpr int samples = 16;
  const SimulateOptions& o = run.options;
  Fingerprint all;
  all.add(identify_options(o, run.direction));
  for (const double limit : {static_cast<double>(o.max_mode_changes), static_cast<double>(o.local_events_from),
                             o.shortest_interval, o.stop_if_non_unique ? 1.0 : 0.0, o.stop_if_chattering ? 1.0 : 0.0})
    all.add(limit);
  for (const auto& [mode, method] : o.mode_methods) {
    all.add(std::string_view(mode));
    all.add(static_cast<double>(method));
  }
  for (const auto& [name, signal] : o.inputs) {
    const InputSignal::Data& data = signal.data();
    all.add(std::string_view(name));
    all.add(static_cast<double>(data.between));
    all.add_all(data.times);
    all.add_all(data.values);
    all.add_all(data.breaks);
    for (int k = 0; data.function && k <= samples; ++k) all.add(data.function(from + k * (to - from) / samples));
  }
  return all.value();
}

/// Nothing: the state alone tells how the run goes on, or the run cannot be repeated.
std::optional<SavedHistory> Simulator::Impl::SavedRun::saved_history(bool remembers_steps) const {
  const StatusCode code = run.result.status_.code;
  const bool ended = run.over && code != StatusCode::success && code != StatusCode::cancelled;
  if (!run.alone || !history.repeatable || ended || (remembers_steps && !history.free_until) ||
      run.steps_made - history.steps_before > RunHistory::most_steps)
    return {};
  const double from = history.begin ? history.begin->t : run.options.start;
  return SavedHistory{identify_course(from, run.t), history.free_until.value_or(run.t), history.pauses, history.begin};
}

void Simulator::Impl::SavedRun::persist_history(StateArchive& archive, SavedHistory& saved) {
  persist_bits(archive, saved.options);
  bool from_start = !saved.begin;
  archive(saved.point, saved.pauses, from_start);
  if (from_start) return;
  if (!saved.begin) saved.begin.emplace();
  SimulatorState& s = *saved.begin;
  Mode& m = s.mode;
  archive(s.t, s.x, s.xp, s.step, s.memory, m.automaton, m.discrete, m.locks, m.conditions, m.sees, m.sliding,
          m.contacts, m.contact_sides);
  persist_bits(archive, s.as_left);
}

std::optional<SavedHistory> Simulator::Impl::SavedRun::read_history(const SimulatorState& from) {
  std::vector<double> numbers = open_memory(from).history;
  if (numbers.empty()) return {};
  StateArchive archive(std::move(numbers));
  SavedHistory saved;
  persist_history(archive, saved);
  if (saved.begin) {
    saved.begin->model = from.model;
    saved.begin->variables = from.variables;
    saved.begin->origin = from.origin;
  }
  return saved;
}

// --- how another run goes on

std::unique_ptr<Simulator::Impl> Simulator::Impl::SavedRun::resumed(const std::shared_ptr<HybridSystem>& hybrid,
                                                                    const SimulateOptions& options,
                                                                    const SimulatorState& from) {
  auto own = std::make_unique<Impl>(hybrid, options, &from);
  if (own->over || !own->alone || !own->saved.as_left_) return own;
  const auto saved = read_history(from);
  const double begin = saved && saved->begin ? saved->begin->t : from.origin;
  if (!saved || saved->options != own->saved.identify_course(begin, from.t)) return own;
  std::unique_ptr<Impl> again = repeated(hybrid, options, from, *saved);
  if (!again) return own;
  Trajectory& record = again->result;
  record.t_start_ = record.t_end_ = record.values_from_ = from.t;
  record.initial_values_ = std::move(own->result.initial_values_);
  record.final_values_.clear();
  record.statistics_.events = 0;
  again->saved.forget_steps_until(from.t);
  if (again->t != from.t) again->saved.shown = from;
  again->asked = from.t;
  return again;
}

/// Null: the repeated run does not come to the point.
std::unique_ptr<Simulator::Impl> Simulator::Impl::SavedRun::repeated(const std::shared_ptr<HybridSystem>& hybrid,
                                                                     const SimulateOptions& options,
                                                                     const SimulatorState& from,
                                                                     const SavedHistory& saved) {
  std::unique_ptr<Impl> again;
  const auto begin = [&] {
    SimulateOptions o = options;
    o.start = from.origin;
    again = std::make_unique<Impl>(hybrid, std::move(o), saved.begin ? &*saved.begin : nullptr);
    again->result.events_->forget();
    again->result.events_->ignore_until(from.t, again->direction);
  };
  begin();
  for (const double pause : saved.pauses)
    if (!again->over) again->advance_to(pause, std::numeric_limits<std::int64_t>::max());
  while (!again->over && !again->reached(again->t, saved.point)) again->step();
  again->flights.show();
  if (!again->over && again->t == saved.point) return again;
  // the first step depends on the stop time: the last point before the state is found by running beyond it
  if (saved.begin || !saved.pauses.empty()) return nullptr;
  begin();
  std::int64_t steps = 0;
  for (; !again->over && !again->passed(from.t); ++steps) again->step();
  if (!again->passed(from.t)) return nullptr;
  begin();
  for (std::int64_t k = 1; k < steps; ++k) again->step();
  again->flights.show();
  return again;
}

void Simulator::Impl::SavedRun::begin_at_shown(std::unique_ptr<Impl>& impl) {
  if (!impl->saved.shown) return;
  const SimulatorState from = *impl->saved.shown;
  impl = std::make_unique<Impl>(impl->hybrid, impl->options, &from);
}

void Simulator::Impl::SavedRun::pass_shown() {
  const double t = shown->t;
  shown.reset();
  while (!run.over && !run.passed(t)) run.step();
  forget_steps_until(t);
  run.result.statistics_.events = static_cast<std::int64_t>(run.result.events_->size());
}

void Simulator::Impl::SavedRun::forget_steps_until(double t) {
  auto& segments = run.result.segments_;
  for (auto& segment : segments)
    std::erase_if(segment.steps, [&](const Trajectory::Step& step) { return run.reached(t, step.t_end); });
  while (segments.size() > 1 && segments.front().steps.empty()) segments.erase(segments.begin());
}

}  // namespace saltus
