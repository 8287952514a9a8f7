#include "sens/fit_problem.hpp"

#include <fmt/format.h>
#include <saltus/base/names.hpp>
#include <saltus/sens/sensitivities.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace saltus {

namespace {

constexpr std::array event_kinds = {EventKind::initial,    EventKind::crossing,    EventKind::reset,
                                    EventKind::transition, EventKind::slide_enter, EventKind::slide_exit,
                                    EventKind::contact,    EventKind::release,     EventKind::time,
                                    EventKind::record,     EventKind::touch,       EventKind::terminal};

bool is_measured_event(const Event& event, const std::string& name) {
  const std::string kind(to_string(event.kind));
  const auto is = [&](const std::string& part) { return name == part || name == kind + " " + part; };
  return name == kind || std::ranges::any_of(event.guards, is) || std::ranges::any_of(event.actions, is);
}

/// "x" of "x.start": as CompiledModel::with_values calls the start value.
std::string name_of_value(const CompiledModel& model, const std::string& name) {
  static const std::string ending = ".start";
  const auto declared = model.parameters();
  const bool is_parameter = std::ranges::any_of(declared, [&](const auto& p) { return p.first == name; });
  return !is_parameter && name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

double value_in(const CompiledModel& model, const std::string& name) {
  for (const auto& [parameter, value] : model.parameters())
    if (parameter == name) return value;
  const std::string variable = name_of_value(model, name);
  for (const VariableInfo& v : model.observed())
    if (v.name == variable) return v.start;
  return 0.0;
}

}  // namespace

FitProblem::FitProblem(const CompiledModel& model, const FitData& data, const std::vector<FitParameter>& parameters,
                       const FitOptions& options)
    : model_(model), parameters_(parameters), simulate_(options.simulate) {
  if (parameters.empty()) throw UsageError("a fit needs at least one parameter");
  if (!simulate_.keep_steps) throw UsageError("a fit reads values between steps: keep_steps = false leaves none");
  for (FitParameter& p : parameters_) {
    if (std::isnan(p.guess)) p.guess = value_in(model, p.name);
    if (!(p.lower < p.upper))
      throw UsageError(
          fmt::format("the bounds of '{}' are {} and {}: the first must be less", p.name, p.lower, p.upper));
    if (!(p.lower <= p.guess && p.guess <= p.upper))
      throw UsageError(
          fmt::format("the guess {} of '{}' lies outside of its bounds, {} and {}", p.guess, p.name, p.lower, p.upper));
  }
  for (const FitSeries& series : data.series) add_series(series);
  const bool only_events = targets_.empty();
  for (const FitEvents& events : data.events) add_events(events);
  if (targets_.empty()) throw UsageError("there are no measured values to fit");
  if (targets_.size() < parameters_.size())
    throw UsageError(fmt::format("{} measured values cannot determine {} parameters: measure more, or fit fewer",
                                 targets_.size(), parameters_.size()));
  has_sigmas_ = sigmas_given_.value_or(false);
  last_ = simulate_.start;
  for (const Target& target : targets_) last_ = std::max(last_, target.t);
  // an event may come later than it was measured
  const bool has_events = only_events || !data.events.empty();
  simulate_.stop = has_events ? last_ + 0.5 * (last_ - simulate_.start) : last_;
  if (!(simulate_.stop > simulate_.start)) throw UsageError("all values were measured at the start of the run");
  // says what is wrong with the names, before anything runs
  SimulateOptions nothing = simulate_;
  nothing.progress = [](const Progress&) { return false; };
  nothing.stop = simulate_.start + 1e-9 * (simulate_.stop - simulate_.start);
  std::vector<std::string> names;
  for (const FitParameter& p : parameters_) names.push_back(p.name);
  simulate_with_sensitivities(model_, names, nothing);
}

double FitProblem::sigma_of(const std::vector<double>& sigma, std::size_t k, std::size_t count,
                            const std::string& what) {
  if (sigmas_given_.value_or(!sigma.empty()) != !sigma.empty())
    throw UsageError("standard deviations must be given for all measured values or for none; '" + what + "' differs");
  sigmas_given_ = !sigma.empty();
  if (sigma.empty()) return 1.0;
  if (sigma.size() != 1 && sigma.size() != count)
    throw UsageError(fmt::format("'{}' has {} values and {} standard deviations", what, count, sigma.size()));
  const double value = sigma.size() == 1 ? sigma[0] : sigma[k];
  if (!(value > 0.0 && std::isfinite(value)))
    throw UsageError(fmt::format("a standard deviation of '{}' is {}; it must be positive", what, value));
  return value;
}

void FitProblem::add_series(const FitSeries& series) {
  const std::vector<VariableInfo>& observed = model_.observed();
  const NameTable names(observed, [](const VariableInfo& v) -> std::string_view { return v.name; });
  const auto found = names.find(series.variable);
  if (!found)
    throw UsageError(fmt::format("there is no variable '{}' in the model to compare with{}", series.variable,
                                 names.hint(series.variable)));
  if (series.times.size() != series.values.size())
    throw UsageError(
        fmt::format("'{}' has {} times and {} values", series.variable, series.times.size(), series.values.size()));
  const std::string label = series.label.empty() ? series.variable : series.label;
  for (std::size_t k = 0; k < series.times.size(); ++k) {
    if (std::isnan(series.values[k])) continue;
    if (!(series.times[k] >= simulate_.start) || !std::isfinite(series.times[k]))
      throw UsageError(fmt::format("'{}' was measured at t = {}, before the run starts at {}", label, series.times[k],
                                   simulate_.start));
    if (!std::isfinite(series.values[k]))
      throw UsageError(fmt::format("the value of '{}' at t = {} is not finite", label, series.times[k]));
    targets_.push_back({.label = label,
                        .variable = *found,
                        .t = series.times[k],
                        .measured = series.values[k],
                        .sigma = sigma_of(series.sigma, k, series.values.size(), label)});
  }
}

void FitProblem::check_event_names(const Trajectory& run) const {
  for (const Target& target : targets_) {
    if (target.event.empty() ||
        std::ranges::any_of(run.events(), [&](const Event& e) { return is_measured_event(e, target.event); }))
      continue;
    std::vector<std::string> names;
    for (const EventKind kind : event_kinds) {
      const std::string name(to_string(kind));
      names.push_back(name);
      for (const GuardInfo& guard : model_.guards()) names.push_back(name + " " + guard.name);
    }
    for (const GuardInfo& guard : model_.guards()) names.push_back(guard.name);
    if (std::ranges::find(names, target.event) != names.end()) continue;
    const std::string near = nearest_name(target.event, names);
    throw UsageError(
        fmt::format("no event is called '{}'; write a guard or a clause as the table of events shows it ('h >= 0', "
                    "'when h < 0'), a "
                    "kind ('slide_exit'), or a kind and a guard{}",
                    target.event, near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
}

void FitProblem::add_events(const FitEvents& events) {
  for (std::size_t k = 0; k < events.times.size(); ++k) {
    const double t = events.times[k];
    if (std::isnan(t)) continue;
    if (!(t >= simulate_.start) || !std::isfinite(t))
      throw UsageError(fmt::format("event {} '{}' was measured at t = {}, before the run starts at {}", k + 1,
                                   events.event, t, simulate_.start));
    targets_.push_back({.label = fmt::format("{} #{}", events.event, k + 1),
                        .event = events.event,
                        .number = k,
                        .t = t,
                        .measured = t,
                        .sigma = sigma_of(events.sigma, k, events.times.size(), events.event)});
  }
}

CompiledModel FitProblem::with(std::span<const double> p) const {
  std::vector<std::pair<std::string, double>> changes;
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    changes.emplace_back(name_of_value(model_, parameters_[k].name), p[k]);
  return model_.with_values(changes);
}

std::vector<std::size_t> FitProblem::places_of_events(const Trajectory& run) const {
  const std::vector<Event>& events = run.events();
  std::vector<std::size_t> places(targets_.size(), events.size());
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].event.empty()) continue;
    std::size_t seen = 0;
    for (std::size_t e = 0; e < events.size(); ++e)
      if (is_measured_event(events[e], targets_[i].event) && seen++ == targets_[i].number) {
        places[i] = e;
        break;
      }
  }
  return places;
}

double FitProblem::value_at(const Trajectory& run, double t, std::size_t variable) const {
  const int variables[1] = {static_cast<int>(variable)};
  double value[1];
  run.sample(std::span(&t, 1), variables, value);
  return value[0];
}

FitProblem::OtherSide FitProblem::other_side(const Trajectory& run, const Target& target, double value) const {
  const std::vector<Event>& events = run.events();
  OtherSide best{.event = events.size(), .value = value};
  if (jumps_ == Jumps::strict) return best;
  const auto jumps = [&](const Event& e) {
    return e.cause != JumpCause::none && !e.before.empty() && e.before[target.variable] != e.after[target.variable];
  };
  // the jumps before and behind the value
  std::size_t beside[2] = {events.size(), events.size()};
  for (std::size_t e = 0; e < events.size(); ++e)
    if (jumps(events[e])) {
      beside[events[e].t > target.t] = e;
      if (events[e].t > target.t) break;
    }
  const double span = last_ - simulate_.start, little = 1e-6 * span;
  for (const std::size_t e : beside) {
    if (e == events.size()) continue;
    const Event& event = events[e];
    const bool later = event.t > target.t;
    const double at = (later ? event.after : event.before)[target.variable];
    const double beyond = std::clamp(event.t + (later ? little : -little), run.t_start(), run.t_end());
    const double slope = beyond == event.t ? 0.0 : (value_at(run, beyond, target.variable) - at) / (beyond - event.t);
    const double distance = (event.t - target.t) / (0.1 * span), factor = 1.0 + distance * distance;
    const double difference = (at + slope * (target.t - event.t) - target.measured) * factor;
    if (std::abs(difference) < std::abs(best.value - target.measured))
      best = {.event = e, .factor = factor, .value = target.measured + difference};
  }
  return best;
}

std::optional<std::vector<double>> FitProblem::modelled(const Trajectory& run) {
  const std::vector<std::size_t> places = places_of_events(run);
  std::vector<double> result;
  other_sides_ = 0;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const Target& target = targets_[i];
    if (!target.event.empty()) {
      result.push_back(places[i] < run.events().size() ? run.events()[places[i]].t : run.t_end());
      continue;
    }
    if (target.t > run.t_end()) {
      failure_ = fmt::format("the run ends at t = {:.9g} ({}), before '{}' was measured at t = {:.9g}{}{}", run.t_end(),
                             to_string(run.status().code), target.label, target.t,
                             run.status().message.empty() ? "" : ": ", run.status().message);
      return {};
    }
    const double value = value_at(run, target.t, target.variable);
    if (!std::isfinite(value)) {
      failure_ = fmt::format("'{}' is not finite at t = {:.9g}", target.label, target.t);
      return {};
    }
    const OtherSide other = other_side(run, target, value);
    if (other.event < run.events().size()) ++other_sides_;
    result.push_back(other.value);
  }
  return result;
}

std::optional<std::vector<double>> FitProblem::residuals(std::span<const double> p) {
  ++runs_;
  try {
    Simulator simulator(std::make_shared<CompiledModel>(with(p)), simulate_);
    simulator.run();
    run_ = simulator.take();
  } catch (const ModelError& problem) {  // a value that the model does not take
    failure_ = problem.what();
    return {};
  }
  if (runs_ == 1) check_event_names(*run_);
  const auto values = modelled(*run_);
  if (!values) return {};
  modelled_ = *values;
  std::vector<double> result;
  for (std::size_t i = 0; i < targets_.size(); ++i)
    result.push_back((modelled_[i] - targets_[i].measured) / targets_[i].sigma);
  return result;
}

bool FitProblem::has_all_derivatives(const SensitivityRun& run) const {
  const std::vector<std::size_t> places = places_of_events(run.trajectory());
  if (run.why().empty() && run.trajectory().t_end() >= simulate_.stop) return true;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const bool missing = places[i] >= run.trajectory().events().size();
    if (targets_[i].event.empty() ? targets_[i].t >= run.end() && !(run.why().empty() && targets_[i].t == run.end())
                                  : missing || places[i] >= run.events().size() || run.events()[places[i]].dt.empty())
      return false;
  }
  return true;
}

std::optional<Matrix> FitProblem::jacobian(std::span<const double> p) {
  std::vector<std::string> names;
  for (const FitParameter& q : parameters_) names.push_back(q.name);
  ++derivatives_;
  const SensitivityRun run = simulate_with_sensitivities(with(p), names, simulate_);
  if (!has_all_derivatives(run)) {
    notes_.insert(fmt::format("differences of runs took the place of derivatives: {}", run.why()));
    return differences(p);
  }
  const std::vector<std::size_t> places = places_of_events(run.trajectory());
  Matrix result(values(), parameters());
  // the derivative of a side that is continued is the one at its end
  const auto derivative_of_value = [&](const Target& target, const std::string& name) {
    const std::vector<Event>& events = run.trajectory().events();
    const OtherSide other = other_side(run.trajectory(), target, value_at(run.trajectory(), target.t, target.variable));
    if (other.event >= run.events().size() || events[other.event].t >= run.end())
      return run.at(target.t, name)[target.variable];
    const double t = events[other.event].t;
    return other.factor * (t > target.t ? run.at(t, name) : run.before(t, name))[target.variable];
  };
  for (std::size_t k = 0; k < names.size(); ++k)
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const Target& target = targets_[i];
      double derivative = 0.0;
      if (target.event.empty())
        derivative = derivative_of_value(target, names[k]);
      else if (places[i] < run.events().size() && !run.events()[places[i]].dt.empty())
        derivative = run.events()[places[i]].dt[k];
      else if (places[i] < run.trajectory().events().size())
        notes_.insert(fmt::format("'{}' has no derivative by the parameters and was left out of steps", target.label));
      result(static_cast<int>(i), static_cast<int>(k)) = derivative / target.sigma;
    }
  return result;
}

/// Central differences; one-sided at bounds and where one of the two runs fails.
std::optional<Matrix> FitProblem::differences(std::span<const double> p) {
  const std::optional<Trajectory> run = run_;
  const std::vector<double> modelled = modelled_;
  Matrix result(values(), parameters());
  bool ok = true;
  for (std::size_t k = 0; k < parameters_.size() && ok; ++k) {
    const double scale = std::max(std::abs(p[k]), p[k] == 0.0 ? 1.0 : 0.0);
    const double h = scale * std::cbrt(std::max(simulate_.rtol, 1e-13));
    std::vector<double> ends[2];
    double places[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<double> q(p.begin(), p.end());
      q[k] = std::clamp(p[k] + (side == 0 ? -h : h), parameters_[k].lower, parameters_[k].upper);
      auto r = residuals(q);
      if (!r) {
        q[k] = p[k];
        r = residuals(q);
      }
      if (r) ends[side] = *r;
      ok = ok && r;
      places[side] = q[k];
    }
    ok = ok && places[1] > places[0];
    for (std::size_t i = 0; ok && i < targets_.size(); ++i)
      result(static_cast<int>(i), static_cast<int>(k)) = (ends[1][i] - ends[0][i]) / (places[1] - places[0]);
  }
  run_ = run;
  modelled_ = modelled;
  if (!ok) return {};
  return result;
}

std::vector<FitResidual> FitProblem::table() const {
  std::vector<FitResidual> result;
  for (std::size_t i = 0; i < std::min(targets_.size(), modelled_.size()); ++i) {
    const Target& target = targets_[i];
    const std::string variable = target.event.empty() ? model_.observed()[target.variable].name : "";
    result.push_back({target.label, variable, target.t, target.measured, modelled_[i],
                      (modelled_[i] - target.measured) / target.sigma});
  }
  return result;
}

std::vector<std::string> FitProblem::missing_events() const {
  std::vector<std::string> result;
  if (!run_) return result;
  const std::vector<std::size_t> places = places_of_events(*run_);
  for (std::size_t i = 0; i < targets_.size(); ++i)
    if (!targets_[i].event.empty() && places[i] >= run_->events().size()) result.push_back(targets_[i].label);
  return result;
}

}  // namespace saltus
