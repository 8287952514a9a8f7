#include "sens/forward_run.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "model/model_access.hpp"
#include "sens/jump_tangents.hpp"
#include "sens/observed.hpp"
#include "sens/start_choice.hpp"

namespace saltus {

namespace {

/// Data and locks of a mode. Modes with the same equations share a system: discrete variables and relations that only
/// results read are those of another mode there.
struct NumbersOfMode {
  std::vector<double> data, locks;

  NumbersOfMode(const CompiledModel& model, const Mode& mode, const RecordedSystem& system) {
    const auto all = system.data();
    data.assign(all.begin(), all.end());
    locks.assign(system.locks().begin(), system.locks().end());
    const std::size_t parameters = ModelAccess::values(model).parameters.size();
    if (data.size() < parameters + mode.discrete.size() || locks.size() != mode.locks.size()) return;
    std::ranges::copy(mode.discrete, data.begin() + static_cast<std::ptrdiff_t>(parameters));
    locks = mode.locks;
  }
};

}  // namespace

ForwardRun::ForwardRun(const CompiledModel& model, const std::vector<std::string>& parameters,
                       const SimulateOptions& options, const SensitivityOptions& sensitivity)
    : model_(model),
      options_(options),
      sensitivity_(sensitivity),
      directions_(find_directions(model, parameters)),
      tools_(model),
      linear_modes_(model_, tools_->linear),
      act_tangents_(tools_->acts),
      record_(model, options),
      result_(std::make_unique<SensitivityRun::Impl>(std::move(record_.trajectory))) {}

SensitivityRun ForwardRun::run() {
  for (const Direction& d : directions_) result_->parameters.push_back(d.info.name);
  result_->sides.resize(directions_.size());
  if (walk()) {
    result_->end = result_->trajectory.t_end();
    note_sides();
  }
  note_end();
  return SensitivityRun(std::move(result_));
}

bool ForwardRun::fail(double t, std::string text) {
  result_->end = t;
  result_->why = std::move(text);
  return false;
}

/// The event at which they end says so.
void ForwardRun::note_end() {
  if (result_->why.empty()) return;
  auto& noted = result_->events;
  const std::vector<Event>& events = result_->trajectory.events();
  if (noted.size() < events.size() && events[noted.size()].t == result_->end)
    noted.push_back({.t = events[noted.size()].t});
  if (noted.empty() || noted.back().t != result_->end) return;
  noted.back().smoothness = Smoothness::undefined;
  noted.back().text = result_->why;
}

bool ForwardRun::begin() {
  const std::vector<StartEntry> entries = start_entries(model_);
  for (const Direction& d : directions_) {
    StartChange change = start_change(model_, d, entries);
    changes_.push_back({0.0, std::move(change.state), std::move(change.discrete), d.parameter});
  }
  note_events(record_.start);
  if (std::string why = samples_of_start_move(model_, record_, directions_); !why.empty())
    return fail(record_.trajectory.t_start(), std::move(why));
  return take_acts(record_.start);
}

bool ForwardRun::walk() {
  if (!begin()) return false;
  for (const RunLeg& leg : record_.legs) {
    const bool last = &leg == &record_.legs.back() && record_.problem.empty();
    const bool first = &leg == &record_.legs.front();
    if (!open(leg.mode, leg.from, value_at(leg.steps->front(), leg.from), first)) return false;
    mark_equal_data();
    if (first) mark_start();
    if (!integrate(leg)) return false;
    for (std::size_t e = leg.first_touch; e < leg.end.first_event; ++e)
      if (!pass_touch(leg, e)) return false;
    if (last && leg.end.empty()) {
      finish(false);
      return true;
    }
    if (!leave(leg)) return false;
    if (leg.contact && !take_tail(leg.steps->back(), *leg.contact)) return false;
    if (!last) continue;
    if (!open(record_.final_mode, result_->trajectory.t_end(), record_.final_x, false)) return false;
    finish(result_->trajectory.status().code == StatusCode::terminated);
  }
  return record_.problem.empty() || fail(record_.problem_time, record_.problem);
}

void ForwardRun::finish(bool moving_end) {
  std::vector<double> slopes;  // of what is observed
  std::vector<std::vector<double>> along;
  const std::size_t n = now_.n();
  if (now_.work) {
    const std::span<const double> x = std::span(now_.y).first(n), xp = std::span(now_.y).subspan(n, n);
    const std::vector<double> s = in_lanes();
    std::vector<double> f(n), sp(s.size());
    now_.work->slopes(now_.t, x, *now_.values, s, f, sp);
    slopes = now_.work->observe_time(now_.t, x, xp, std::span(now_.yp).subspan(n, n), *now_.values);
    along = now_.work->observe(now_.t, x, xp, *now_.values, s, sp);
  } else if (now_.constrained) {
    const ConstrainedTangents& mode = *now_.constrained;
    const std::span<const double> x = std::span(now_.y).first(n), xp = std::span(now_.y).subspan(n, n);
    slopes = mode.observer().observe_time(now_.t, x, xp, std::span(now_.yp).subspan(n, n), *now_.values);
    along =
        mode.observer().observe(now_.t, x, xp, *now_.values, mode.part(now_.unknowns, 0), mode.part(now_.unknowns, 1));
  } else {
    const std::size_t count = now_.code->observed();
    std::vector<double> all(count * (directions_.size() + 1));
    now_.code->observe(now_.tangents->equations(), now_.t, now_.y, now_.yp, all);
    slopes.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
    for (auto first = all.begin() + static_cast<std::ptrdiff_t>(count); first != all.end();
         first += static_cast<std::ptrdiff_t>(count))
      along.emplace_back(first, first + static_cast<std::ptrdiff_t>(count));
  }
  result_->at_end = along;
  for (std::size_t k = 0; k < directions_.size() && moving_end; ++k)
    for (std::size_t j = 0; j < slopes.size(); ++j) along[k][j] += slopes[j] * changes_[k].time;
  result_->final = std::move(along);
}

std::vector<double> ForwardRun::data_change(std::size_t direction, std::size_t count) const {
  std::vector<double> change(count, 0.0);
  const std::size_t parameters = ModelAccess::values(model_).parameters.size();
  if (const int p = directions_[direction].parameter; p >= 0) change[static_cast<std::size_t>(p)] = 1.0;
  const std::vector<double>& discrete = changes_[direction].discrete;
  std::copy(discrete.begin(), discrete.end(), change.begin() + static_cast<std::ptrdiff_t>(parameters));
  return change;
}

std::vector<double> ForwardRun::time_changes() const {
  std::vector<double> result;
  for (const InstantChange& change : changes_) result.push_back(change.time);
  return result;
}

std::vector<std::vector<double>> ForwardRun::data_changes() const {
  std::vector<std::vector<double>> result;
  const std::size_t count = now_.system->data().size();
  for (std::size_t k = 0; k < directions_.size(); ++k) result.push_back(data_change(k, count));
  return result;
}

bool ForwardRun::open(const Mode& mode, double t, std::vector<double> x, bool start) {
  if (!assigned_remain(mode)) return fail(t, "the record of the run has rounds that were taken back");
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  const std::vector<double> y_before = std::move(now_.y);
  now_ = {.mode = mode, .system = &system, .t = t};
  const std::size_t n = now_.n(), m = directions_.size(), shared = model_.variables().size();
  x.resize(n, 0.0);
  std::vector<double> xp(n, 0.0);
  std::vector<char> held(n, 1);
  const bool is_explicit = system.structure().explicit_ode;
  const bool from_equations = start && !ModelAccess::initial_residuals(model_).empty();
  if (is_explicit) {
    system.rhs(t, x, xp);
  } else {
    if (!open_implicit(t, x, xp, held, start)) return false;
    if (!start && reset_.empty() && linear_modes_.at(mode).mode().hidden_constraints() &&
        !is_consistent(t, x, xp, held) && !jump_along_impulses(std::span(y_before).first(shared), x))
      return false;
  }
  now_.y = x;
  now_.y.insert(now_.y.end(), xp.begin(), xp.end());
  for (std::size_t k = 0; k < m; ++k)
    for (std::size_t j = 0; j < n; ++j)
      now_.y.push_back(j < shared ? changes_[k].state[j] - xp[j] * changes_[k].time : 0.0);
  now_.yp.assign(now_.y.size(), 0.0);
  std::vector<char> all_held;
  for (std::size_t k = 0; k < m + 2; ++k) all_held.insert(all_held.end(), held.begin(), held.end());
  if (from_equations) {
    make_segment(all_held);
    if (!solve_start(held)) return false;
  }
  if (is_explicit) {
    if (!open_explicit(start)) return false;
  } else if (open_constrained(held)) {
    // at a start variables that are not held are guesses, unless the start is on a surface
    // behind a reset they follow (follows_reset)
    std::vector<double> given = now_.y;
    take_constrained();
    given.swap(now_.y);
    if ((start ? mode.on_surfaces() : reset_.empty()) && !stays(given, start)) return false;
    now_.y = std::move(given);
  } else {
    make_segment(all_held);
    if (!make_consistent(all_held, start)) return false;
    make_segment(all_held);
  }
  if (std::ranges::all_of(now_.y, [](double v) { return std::isfinite(v); })) return true;
  return fail(t, "the equations cannot be differentiated here: a derivative is not a finite number");
}

/// Whether the changes at the instant are those of a solution of the mode that begins: then nothing jumps.
bool ForwardRun::is_consistent(double t, std::span<const double> x, std::span<const double> xp,
                               std::span<const char> held) {
  LinearPoint point = linear_modes_.at(now_.mode);
  if (!point.mode().why().empty()) return false;
  std::vector<int> variables;
  for (std::size_t j = 0; j < held.size(); ++j)
    if (held[j]) variables.push_back(static_cast<int>(j));
  point.set_held(variables);
  if (variables.size() + point.mode().equations() != point.mode().unknowns() || !point.move(t, x, xp)) return false;
  const std::size_t shared = model_.variables().size();
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    const auto change = [&](std::size_t j) {
      return j < shared ? changes_[k].state[j] - xp[j] * changes_[k].time : 0.0;
    };
    std::vector<double> moved;
    for (const int j : variables) moved.push_back(change(static_cast<std::size_t>(j)));
    const std::vector<double> all = point.push(moved, data_change(k, now_.system->data().size()), 0.0);
    double size = 1.0 / directions_[k].info.scale;
    for (std::size_t j = 0; j < shared; ++j) size = std::max(size, std::abs(changes_[k].state[j]));
    for (std::size_t j = 0; j < std::min(shared, now_.n()); ++j)
      if (now_.system->structure().differentiated(static_cast<int>(j)) &&
          !(std::abs(all[static_cast<std::size_t>(point.mode().place(j, 0))] - change(j)) <=
            (1e-9 + 10.0 * options_.rtol) * size))
        return false;
  }
  return true;
}

/// The code of the equations of the present mode with their derivatives.
std::shared_ptr<ModeTangents> ForwardRun::code_with_derivatives() {
  std::shared_ptr<ModeTangents>& code = codes_[&now_.system->equations()];
  if (code) return code;
  std::vector<DirectionInfo> infos;
  for (const Direction& d : directions_) infos.push_back(d.info);
  return code =
             std::make_shared<ModeTangents>(*now_.system, observed_variables(model_, now_.mode, *now_.system), infos);
}

/// The equations of the mode together with their derivatives, from the present point on.
void ForwardRun::make_segment(std::span<const char> held) {
  now_.code = code_with_derivatives();
  const NumbersOfMode mode(model_, now_.mode, *now_.system);
  now_.tangents =
      std::make_shared<SegmentSystem>(now_.code, now_.code->with_values(mode.data, mode.locks, data_changes()), now_.y,
                                      std::vector<char>(held.begin(), held.end()));
}

std::shared_ptr<TangentWork> ForwardRun::work_of_mode() {
  std::shared_ptr<TangentWork>& work = works_[now_.system->structure().id.number()];
  if (!work)
    work = std::make_shared<TangentWork>(tools_.code().tangents(model_, now_.mode, *now_.system), directions_.size());
  return work;
}

/// A mode that is not explicit, at its beginning. False: it has no regular linearisation, or other held variables.
bool ForwardRun::open_constrained(std::span<const char> held) {
  const std::uint64_t number = now_.system->structure().id.number();
  if (!constrained_.contains(number)) {
    const std::shared_ptr<const LinearMode> mode = linear_modes_.code(now_.mode);
    constrained_[number] = mode->why().empty() ? std::make_shared<ConstrainedTangents>(mode, work_of_mode()) : nullptr;
  }
  const std::shared_ptr<ConstrainedTangents> mode = constrained_[number];
  if (!mode) return false;
  const std::size_t n = now_.n();
  std::vector<int> variables;
  for (std::size_t j = 0; j < n; ++j)
    if (held[j]) variables.push_back(static_cast<int>(j));
  const NumbersOfMode of_mode(model_, now_.mode, *now_.system);
  now_.values =
      std::make_shared<const TangentValues>(mode->observer().lanes(), of_mode.data, of_mode.locks, data_changes());
  const std::span<const double> x = std::span(now_.y).first(n), xp = std::span(now_.y).subspan(n, n);
  if (!mode->open(*now_.values, now_.t, x, xp, variables)) return false;
  const Lanes& lanes = mode->flowing();
  now_.unknowns.assign(lanes.size(), 0.0);
  for (std::size_t k = 0; k < directions_.size(); ++k)
    for (const int j : variables)
      now_.unknowns[lanes.place(k, static_cast<std::size_t>(mode->mode().place(static_cast<std::size_t>(j), 0)))] =
          now_.s(k, static_cast<std::size_t>(j));
  if (!mode->follow(*now_.values, now_.unknowns)) return false;
  now_.constrained = mode;
  return true;
}

/// What the point of a constrained mode and its derivatives are.
void ForwardRun::take_constrained() {
  const ConstrainedTangents::Point at = now_.constrained->point();
  const std::size_t n = now_.n();
  now_.y.assign(at.x.begin(), at.x.end());
  now_.y.insert(now_.y.end(), at.xp.begin(), at.xp.end());
  now_.yp.assign(at.xp.begin(), at.xp.end());
  now_.yp.insert(now_.yp.end(), at.xpp.begin(), at.xpp.end());
  const std::vector<double> s = now_.constrained->part(now_.unknowns, 0), sp = now_.constrained->part(now_.unknowns, 1);
  const Lanes& lanes = now_.constrained->observer().lanes();
  for (std::size_t k = 0; k < directions_.size(); ++k)
    for (std::size_t j = 0; j < n; ++j) {
      now_.y.push_back(s[lanes.place(k, j)]);
      now_.yp.push_back(sp[lanes.place(k, j)]);
    }
}

bool ForwardRun::open_explicit(bool start) {
  const std::shared_ptr<TangentWork> work = now_.work = work_of_mode();
  const NumbersOfMode mode(model_, now_.mode, *now_.system);
  now_.values = std::make_shared<const TangentValues>(work->lanes(), mode.data, mode.locks, data_changes());
  std::vector<double> s = in_lanes();
  const std::span<const double> x = std::span(now_.y).first(now_.n());
  if (work->project(now_.t, x, *now_.values, s)) {
    const std::vector<double> before = now_.y;
    take_lanes(s);
    std::vector<double> projected = before;
    projected.swap(now_.y);
    if (!stays(projected, start)) return false;
    now_.y = std::move(projected);
  }
  find_slopes(s);
  return true;
}

/// The tangents of all directions, as lanes.
std::vector<double> ForwardRun::in_lanes() const {
  const Lanes& lanes = now_.work->lanes();
  std::vector<double> s(lanes.size(), 0.0);
  for (std::size_t k = 0; k < lanes.directions; ++k)
    for (std::size_t j = 0; j < lanes.n; ++j) s[lanes.place(k, j)] = now_.s(k, j);
  return s;
}

void ForwardRun::take_lanes(std::span<const double> s) {
  const Lanes& lanes = now_.work->lanes();
  for (std::size_t k = 0; k < lanes.directions; ++k)
    for (std::size_t j = 0; j < lanes.n; ++j) now_.y[(k + 2) * lanes.n + j] = s[lanes.place(k, j)];
}

/// x' and the derivatives of x' and of the tangents `s` by time.
void ForwardRun::find_slopes(std::span<const double> s) {
  const Lanes& lanes = now_.work->lanes();
  const std::size_t n = lanes.n;
  const std::span<const double> x = std::span(now_.y).first(n);
  const std::span<double> f = std::span(now_.y).subspan(n, n);
  std::vector<double> sp(s.size());
  now_.work->slopes(now_.t, x, *now_.values, s, f, sp);
  const std::vector<double> bend = now_.work->bend(now_.t, x, f, *now_.values);
  now_.yp.resize(now_.y.size());
  std::ranges::copy(f, now_.yp.begin());
  std::ranges::copy(bend, now_.yp.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t k = 0; k < lanes.directions; ++k)
    for (std::size_t j = 0; j < n; ++j) now_.yp[(k + 2) * n + j] = sp[lanes.place(k, j)];
}

/// Consistent values of the mode, and which of its variables the others follow from.
bool ForwardRun::open_implicit(double t, std::vector<double>& x, std::vector<double>& xp, std::vector<char>& held,
                               bool start) {
  held.assign(x.size(), 0);
  if (start && ModelAccess::initial_residuals(model_).empty()) {
    StartChoice choice = choose_start(model_, record_, *now_.system, x, directions_, rounds_);
    if (!choice.why.empty()) return fail(t, std::move(choice.why));
    x = std::move(choice.x);
    xp = std::move(choice.xp);
    for (const int j : choice.held) held[static_cast<std::size_t>(j)] = 1;
    return true;
  }
  const Initialisation found = initialise(*now_.system, t, x, {.preferred = reset_});  // as the run does
  if (!found.ok()) return fail(t, "the values of the mode cannot be made consistent again: " + found.message);
  x = found.x;
  xp = found.xp;
  for (const int j : found.held) held[static_cast<std::size_t>(j)] = 1;
  if (start || reset_.empty()) return true;
  std::string why = follows_reset(*now_.system, t, x_reset_, x, found.held, options_.rtol);
  return why.empty() || fail(t, std::move(why));
}

/// How the start moves where initial equations determine it: their derivatives hold, and start values that are fixed
/// move as they say. `held`: the variables from which the others follow in the mode.
bool ForwardRun::solve_start(std::span<const char> held) {
  const std::size_t n = now_.n();
  const std::vector<VariableInfo>& variables = model_.variables();
  InitialisationOptions options;
  for (std::size_t block = 0; block < directions_.size() + 2; ++block)
    for (std::size_t j = 0; j < n; ++j)
      if (block < 2 ? held[j] != 0 : j < variables.size() && variables[j].fixed)
        options.fixed.push_back(static_cast<int>(block * n + j));
  for (const Direction& d : directions_)
    if (d.variable >= 0 && !variables[static_cast<std::size_t>(d.variable)].fixed)
      throw UsageError(fmt::format("'{}' is a guess: initial equations determine the start, and '{}' is not fixed",
                                   d.info.name, variables[static_cast<std::size_t>(d.variable)].name));
  RecordedSystem& tangents = now_.tangents->equations();
  const auto conditions = now_.code->conditions(ModelAccess::initial_residuals(model_), tangents);
  options.conditions = conditions.get();
  const Initialisation found = initialise(tangents, now_.t, now_.y, options);
  if (!found.ok()) return fail(now_.t, "the derivatives of the initial equations have no solution: " + found.message);
  if (found.freedom > 0)
    return fail(now_.t, "the initial equations leave the start open, and start values that are not fixed fill in");
  now_.y = found.x;
  return true;
}

bool ForwardRun::jump_along_impulses(std::span<const double> x_before, std::span<const double> x) {
  std::vector<JumpChange> changes;
  for (std::size_t k = 0; k < directions_.size(); ++k)
    changes.push_back({changes_[k].state, data_change(k, now_.system->data().size()), changes_[k].time});
  std::string why = jump_tangents(*now_.system, *code_with_derivatives(), now_.t, x_before, x, options_.rtol, changes);
  if (!why.empty()) return fail(now_.t, std::move(why));
  for (std::size_t k = 0; k < directions_.size(); ++k) changes_[k].state = std::move(changes[k].state);
  return true;
}

/// Whether derivatives lie on the constraints and surfaces of the mode, as they do if all was differentiated that
/// happens where the mode begins. `consistent`: the nearest that do.
bool ForwardRun::stays(std::span<const double> consistent, bool start) {
  const std::size_t n = now_.n();
  for (std::size_t k = 0; k < directions_.size(); ++k) {
    double size = 1.0 / directions_[k].info.scale;
    for (std::size_t j = 0; j < n; ++j) size = std::max(size, std::abs(consistent[(k + 2) * n + j]));
    for (std::size_t j = 0; j < n; ++j) {
      const std::size_t place = (k + 2) * n + j;
      if (!now_.system->structure().differentiated(static_cast<int>(j))) continue;
      if (std::abs(consistent[place] - now_.y[place]) <= (1e-4 + 100.0 * options_.rtol) * size) continue;
      const std::string name = now_.system->variable_name(static_cast<int>(j));
      return fail(now_.t,
                  start ? fmt::format("the run starts on a surface, and '{}' moves the start of '{}' off it: there "
                                      "is one derivative for each side, or none",
                                      directions_[k].info.name, name)
                        : fmt::format("the mode constrains '{}' anew in a way that is not differentiated yet", name));
    }
  }
  return true;
}

/// Algebraic parts of the tangents, and their slopes, where the mode has no regular linearisation.
bool ForwardRun::make_consistent(std::span<const char> held, bool start) {
  RecordedSystem& tangents = now_.tangents->equations();
  InitialisationOptions options;
  for (std::size_t j = 0; j < held.size(); ++j)
    if (held[j]) options.fixed.push_back(static_cast<int>(j));
  const Initialisation found = initialise(tangents, now_.t, now_.y, options);
  if (!found.ok()) return fail(now_.t, "the derivatives of the constraints have no solution: " + found.message);
  // at a start variables that are not held are guesses, unless the start is on a surface
  // behind a reset they follow (follows_reset)
  const bool checked = start ? now_.mode.on_surfaces() : reset_.empty();
  if (checked && !stays(found.x, start)) return false;
  now_.y = found.x;
  now_.yp = found.xp;
  return true;
}

bool ForwardRun::integrate(const RunLeg& leg) {
  return now_.work || now_.constrained ? follow_steps(leg) : solve_with_derivatives(leg.to);
}

/// Derivatives along the steps of the run.
bool ForwardRun::follow_steps(const RunLeg& leg) {
  TangentTolerance tolerance{
      .rtol = options_.rtol_each.empty() ? options_.rtol : *std::ranges::min_element(options_.rtol_each),
      .control = sensitivity_.control};
  const double atol = options_.atol_each.empty() ? options_.atol : *std::ranges::min_element(options_.atol_each);
  for (const Direction& d : directions_) tolerance.least.push_back(atol / tolerance.rtol / d.info.scale);
  const double from = now_.t;
  std::shared_ptr<TangentMode> mode = now_.work;
  if (now_.constrained) mode = now_.constrained;
  auto flow =
      std::make_unique<TangentFlow>(mode, now_.values, *leg.steps, from, now_.constrained ? now_.unknowns : in_lanes());
  const std::string why = flow->advance(leg.to, tableau_of(leg.own_steps()), tolerance, options_.max_steps);
  if (!why.empty()) return fail(flow->t(), "the derivatives cannot be integrated: " + why);
  now_.t = leg.to;
  const Trajectory::Step& last = leg.own_steps().back();
  std::vector<double> s(flow->s().begin(), flow->s().end());
  if (now_.constrained) {
    SolutionPath path(*leg.steps);
    now_.unknowns = std::move(s);
    if (!now_.constrained->move(now_.t, path, *now_.values) || !now_.constrained->follow(*now_.values, now_.unknowns))
      return fail(now_.t, "the equations of the mode cannot be linearised");
    take_constrained();
  } else {
    const std::vector<double> x = value_at(last, leg.to);
    std::ranges::copy(x, now_.y.begin());
    now_.work->project(now_.t, x, *now_.values, s);
    take_lanes(s);
    find_slopes(s);
  }
  result_->pieces.push_back({from, leg.to, std::move(flow), nullptr});
  return true;
}

/// The equations of the mode are integrated once more, together with their derivatives.
bool ForwardRun::solve_with_derivatives(double to) {
  SimulateOptions options;
  options.start = now_.t;
  options.stop = to;
  const double rtol = options_.rtol_each.empty() ? options_.rtol : *std::ranges::min_element(options_.rtol_each);
  const double atol = options_.atol_each.empty() ? options_.atol : *std::ranges::min_element(options_.atol_each);
  options.rtol = std::max(0.1 * rtol, 1e-13);
  options.atol = 0.1 * atol;
  options.method = options_.method;
  options.max_step = options_.max_step;
  options.max_steps = options_.max_steps;
  options.max_order = options_.max_order;
  const double from = now_.t;
  Simulator simulator(now_.tangents, options);
  simulator.run();
  if (simulator.status().code != StatusCode::success)
    return fail(simulator.t(), "the derivatives cannot be integrated: " + simulator.status().message);
  now_.t = to;
  now_.y.assign(simulator.x().begin(), simulator.x().end());
  RecordedSystem& tangents = now_.tangents->equations();
  const Initialisation found = initialise(tangents, to, now_.y);
  if (!found.ok()) return fail(to, "the derivatives are not consistent at the end of the mode: " + found.message);
  now_.y = found.x;
  now_.yp = found.xp;
  result_->pieces.push_back({from, to, nullptr, std::make_unique<Trajectory>(simulator.take())});
  return true;
}

/// The rounds of the instant, one after the other.
bool ForwardRun::take_acts(const RunInstant& instant) {
  const double t = instant.t;
  reset_.clear();
  assigned_.clear();
  rounds_.clear();
  const Mode* const left = now_.system ? &now_.mode : nullptr;
  for (std::size_t a = instant.first_act; a < instant.last_act; ++a) {
    const Act& act = record_.acts[a];
    if (a > instant.first_act)
      if (const std::string why = moved_between(record_.acts[a - 1], act, left, model_, options_.rtol); !why.empty())
        return fail(t, "what happens here is not differentiated yet: " + why);
    RoundMap& map = rounds_.emplace_back();
    if (const std::string why = act_tangents_.find(act, a == instant.first_act, left, linear_modes_, map); !why.empty())
      return fail(t, "what happens here is not differentiated yet: " + why);
    if (!left && map.reads_state() && !ModelAccess::initial_residuals(model_).empty())
      return fail(t,
                  "a clause of the start reads variables that initial equations determine, which is not "
                  "differentiated yet");
    for (InstantChange& change : changes_) change.apply(map);
    x_reset_ = act.x_after;
    for (const RoundMap::Row& row : map.rows)
      if (row.reset)
        reset_.push_back(static_cast<int>(row.target));
      else
        assigned_[row.target] = act.mode_after.discrete[row.target];
  }
  return true;
}

/// Whether the mode behind an instant has the discrete values that the noted rounds have given: if not, the run has
/// taken rounds back that are noted.
bool ForwardRun::assigned_remain(const Mode& mode) {
  const std::vector<int>& pulses = ModelAccess::logic(model_).pulses;
  return std::ranges::all_of(assigned_, [&](const auto& value) {
    return mode.discrete[value.first] == value.second ||
           std::ranges::find(pulses, static_cast<int>(value.first)) != pulses.end();
  });
}

}  // namespace saltus
