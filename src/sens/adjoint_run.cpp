#include "sens/adjoint_run.hpp"

#include <fmt/format.h>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sens/gradient_sums.hpp"
#include "sens/observed.hpp"
#include "sens/start_choice.hpp"

namespace saltus {

namespace {

using Kind = Functional::Kind;

}  // namespace

AdjointRun::AdjointRun(const CompiledModel& model, const Functional& functional,
                       const std::vector<std::string>& parameters, const SimulateOptions& options,
                       const GradientOptions& how)
    : model_(model),
      functional_(functional),
      options_(options),
      directions_(find_directions(model, parameters)),
      tools_(model),
      linear_modes_(model_, tools_->linear),
      act_tangents_(tools_->acts),
      events_before_(1, std::vector<int>(functional.terms().size(), 0)),
      run_(model, options, how.memory / 2, [this](const Trajectory& piece) { count_events(piece); }),
      record_(run_.take_last()),
      result_{.parameters = parameters,
              .pieces = static_cast<int>(run_.pieces().size()),
              .trajectory = Trajectory(std::make_shared<CompiledModel>(model), options.start)} {
  integrates_ = std::ranges::any_of(functional.terms(), [](const auto& term) { return term.kind == Kind::integral; });
}

FunctionalGradient AdjointRun::run() {
  piece_ = run_.pieces().size() - 1;
  const Status end = record_->trajectory.status();
  if (end.ok()) check_events();
  if (!(end.ok() ? walk() : fail(end.t, "the run failed: " + end.message))) result_.derivatives.clear();
  if (piece_ + 1 == run_.pieces().size()) result_.trajectory = std::move(record_->trajectory);
  return std::move(result_);
}

bool AdjointRun::fail(double t, std::string why) {
  result_.why = fmt::format("at t = {:.12g} {}", t, why);
  return false;
}

namespace {

/// Whether a term of a functional is about an event.
bool names(const Functional::Term& term, const Event& event) {
  const auto in = [&](const std::vector<std::string>& list) {
    return std::ranges::find(list, term.event) != list.end();
  };
  return (term.kind == Kind::event_time || term.kind == Kind::event_sum) && (in(event.guards) || in(event.actions));
}

}  // namespace

void AdjointRun::count_events(const Trajectory& piece) {
  std::vector<int> counts = events_before_.back();
  piece.for_each_event([&](const Event& event) {
    for (std::size_t k = 0; k < counts.size(); ++k) counts[k] += names(functional_.terms()[k], event);
  });
  events_before_.push_back(std::move(counts));
}

/// Throws UsageError for events that the run does not have.
void AdjointRun::check_events() const {
  for (std::size_t k = 0; k < functional_.terms().size(); ++k) {
    const Functional::Term& term = functional_.terms()[k];
    if (term.kind != Kind::event_time && term.kind != Kind::event_sum) continue;
    const int count = events_before_.back()[k];
    if (term.kind == Kind::event_time && (term.number < 1 || count < term.number))
      throw UsageError(fmt::format("the run has {} events of '{}', and the functional asks for the time of number {}",
                                   count, term.event, term.number));
    const bool is_guard =
        std::ranges::any_of(model_.guards(), [&](const GuardInfo& g) { return g.name == term.event; });
    if (count == 0 && !is_guard)
      throw UsageError(fmt::format("the run has no event of '{}', and there is no guard of that name", term.event));
  }
}

/// Which terms read which events of a piece.
void AdjointRun::find_events(std::size_t piece) {
  const std::vector<Event>& events = record_->trajectory.events();
  terms_of_event_.assign(events.size(), {});
  std::vector<int> counts = events_before_[piece];
  for (std::size_t e = 0; e < events.size(); ++e)
    for (std::size_t k = 0; k < counts.size(); ++k) {
      const Functional::Term& term = functional_.terms()[k];
      if (!names(term, events[e])) continue;
      ++counts[k];
      if (term.kind == Kind::event_sum || counts[k] == term.number) terms_of_event_[e].push_back(k);
    }
}

AdjointRun::ModeTerms& AdjointRun::terms_of(const Mode& mode, const LinearPoint& point) {
  const auto [it, fresh] = mode_terms_.try_emplace(&point.mode());
  if (!fresh || !integrates_) return it->second;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  Expr sum = 0.0;
  for (const Functional::Term& term : functional_.terms())
    if (term.kind == Kind::integral)
      sum += term.weight * function_of_mode(term.value, model_, mode, system, point.mode());
  it->second.integrand = point.mode().gradient(sum);
  return it->second;
}

Gradient& AdjointRun::value_gradient(std::size_t term, const Mode& mode, const LinearPoint& point) {
  ModeTerms& terms = terms_of(mode, point);
  const auto it = terms.values.find(term);
  if (it != terms.values.end()) return it->second;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  const Expr value = function_of_mode(functional_.terms()[term].value, model_, mode, system, point.mode());
  return terms.values.emplace(term, point.mode().gradient(value)).first->second;
}

Gradient& AdjointRun::guard_gradient(int guard, const Mode& mode, const LinearPoint& point) {
  ModeTerms& terms = terms_of(mode, point);
  const auto it = terms.guards.find(guard);
  if (it != terms.guards.end()) return it->second;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
  return terms.guards.emplace(guard, point.mode().gradient(system.equations().guards[static_cast<std::size_t>(guard)]))
      .first->second;
}

bool AdjointRun::walk() {
  const std::size_t count = run_.pieces().size();
  for (piece_ = count - 1;; --piece_) {
    find_events(piece_);
    if (!record_->problem.empty()) return fail(record_->problem_time, record_->problem);
    if (!walk_piece(piece_ + 1 == count)) return false;
    if (piece_ == 0) return finish();
    if (!record_->start.empty()) return fail(record_->start.t, "something happened between two pieces of the run");
    if (piece_ + 1 == count) result_.trajectory = std::move(record_->trajectory);
    record_.reset();  // before the next one is made
    record_ = run_.make_again(piece_ - 1);
  }
}

bool AdjointRun::walk_piece(bool last_piece) {
  const Trajectory& run = record_->trajectory;
  const RunLeg& last = record_->legs.back();
  if (last_piece) mode_ = last.end.empty() ? last.mode : record_->final_mode;
  for (std::size_t i = record_->legs.size(); i-- > 0;) {
    const RunLeg& leg = record_->legs[i];
    LinearPoint point = linear_modes_.at(leg.mode);
    if (!point.mode().why().empty()) return fail(leg.to, point.mode().why());
    const bool nothing = &leg == &last && leg.end.empty();
    if (nothing && !last_piece) point.set_held(point_.held());  // the mode goes on behind it
    RecordedPath path(std::move(point), *leg.steps);
    if (!path.at(leg.to)) return fail(leg.to, "the equations of the mode cannot be linearised");
    if (nothing && !last_piece && path.point().mode().hidden_constraints()) {
      change_held(path.point(), {});  // at the latest here: a choice of long ago may be a bad one by now
    } else if (last_piece && nothing) {
      begin_at_end(path.point());
    } else if (last_piece && &leg == &last) {
      point_ = linear_modes_.at(mode_);
      if (!point_.mode().why().empty() || !point_.move(run.t_end(), record_->final_x, {}))
        return fail(run.t_end(), "the equations of the last mode cannot be linearised");
      begin_at_end(point_);
    }
    if (!check_touches(leg)) return false;
    if (!nothing && !pass_back(leg, path)) return false;
    if (!integrate_back(leg, path)) return false;
    mode_ = leg.mode;
    point_ = std::move(path.point());
  }
  return true;
}

/// Touches on the way must not matter.
bool AdjointRun::check_touches(const RunLeg& leg) {
  const std::vector<Event>& events = record_->trajectory.events();
  for (std::size_t e = leg.first_touch; e < leg.end.last_event; ++e) {
    if (events[e].kind != EventKind::touch) continue;
    const TouchedGuard what = touched_guard(model_, leg.mode, record_->trajectory, e);
    if (what.acts)
      return fail(events[e].t, fmt::format("'{}' is only touched (grazing), and something happens where it is crossed: "
                                           "the derivative does not exist",
                                           what.name));
    if (!terms_of_event_[e].empty())
      return fail(events[e].t, fmt::format("the functional reads a touch of '{}', which the adjoint does not follow; "
                                           "simulate_with_sensitivities does",
                                           what.name));
  }
  return true;
}

/// The function of changes at the end of the run that final values are.
void AdjointRun::begin_at_end(LinearPoint& point) {
  std::vector<double> function(point.mode().unknowns(), 0.0);
  function_ = point.covector();
  const std::vector<double> rates = point.rates();
  for (std::size_t k = 0; k < functional_.terms().size(); ++k) {
    const Functional::Term& term = functional_.terms()[k];
    if (term.kind != Kind::final_value) continue;
    Gradient& gradient = value_gradient(k, mode_, point);
    point.evaluate(gradient);
    result_.value += term.weight * gradient.value();
    add_unknowns(gradient, term.weight, function);
    add_data(gradient, term.weight, function_.data);
    end_rate_ += term.weight * rate_of(gradient, rates);
  }
  point.pull(function, function_);
}

/// The function of changes at a fixed time, as one of those of variables and data.
InstantFunction AdjointRun::at_fixed_time() const {
  InstantFunction result{.state = std::vector<double>(model_.variables().size(), 0.0)};
  for (std::size_t k = 0; k < function_.held.size(); ++k)
    result.state[static_cast<std::size_t>(point_.held()[k])] = function_.held[k];
  const auto parameters = static_cast<std::ptrdiff_t>(ModelAccess::values(model_).parameters.size());
  result.parameters.assign(function_.data.begin(), function_.data.begin() + parameters);
  // what stands behind the discrete variables are numbers of the mode alone
  const auto discretes = static_cast<std::ptrdiff_t>(mode_.discrete.size());
  result.discrete.assign(function_.data.begin() + parameters, function_.data.begin() + parameters + discretes);
  return result;
}

/// The same function in terms of other held variables.
void AdjointRun::change_held(LinearPoint& point, const std::vector<int>& held) {
  std::vector<double> function(point.mode().unknowns(), 0.0);
  for (std::size_t k = 0; k < function_.held.size(); ++k)
    function[static_cast<std::size_t>(point.mode().place(static_cast<std::size_t>(point.held()[k]), 0))] =
        function_.held[k];
  if (held.empty() ? !point.choose_held() : !point.hold(held)) return;
  Covector changed = point.covector();
  point.pull(function, changed);
  changed.time = 0.0;
  for (std::size_t k = 0; k < changed.data.size(); ++k) changed.data[k] += function_.data[k];
  function_ = std::move(changed);
}

/// Whether the fixed start values move as they do if all but the held ones follow from the equations.
bool AdjointRun::follows_start(const InstantChange& change) const {
  std::vector<double> held, data(point_.data().size(), 0.0);
  for (const int j : point_.held()) held.push_back(change.state[static_cast<std::size_t>(j)]);
  if (change.parameter >= 0) data[static_cast<std::size_t>(change.parameter)] = 1.0;
  const std::size_t parameters = ModelAccess::values(model_).parameters.size();
  std::ranges::copy(change.discrete, data.begin() + static_cast<std::ptrdiff_t>(parameters));
  const std::vector<double> dz = point_.push(held, data, 0.0);
  double size = 0.0;
  for (const double v : dz) size = std::max(size, std::abs(v));
  for (std::size_t j = 0; j < change.state.size(); ++j)
    if (model_.variables()[j].fixed &&
        !(std::abs(dz[static_cast<std::size_t>(point_.mode().place(j, 0))] - change.state[j]) <= 1e-6 * size))
      return false;
  return true;
}

/// The transposed of the start, and of what clauses do there.
bool AdjointRun::finish() {
  const RunLeg& first = record_->legs.front();
  const double t = first.from;
  auto& system = dynamic_cast<RecordedSystem&>(model_.system(first.mode));
  const bool from_equations = !ModelAccess::initial_residuals(model_).empty();
  InstantFunction function;
  std::vector<RoundMap> rounds;
  if (std::string why = samples_of_start_move(model_, *record_, directions_); !why.empty())
    return fail(t, std::move(why));
  if (!find_rounds(record_->start, rounds, nullptr)) return false;
  const bool reads_state = std::ranges::any_of(rounds, &RoundMap::reads_state);
  if (from_equations && reads_state)
    return fail(
        t, "a clause of the start reads variables that initial equations determine, which is not differentiated yet");
  if (from_equations) {
    if (!solve_initial_equations(function)) return false;
  } else {
    if (!system.structure().explicit_ode) {
      const StartChoice choice =
          choose_start(model_, *record_, system, value_at(first.steps->front(), t), directions_, rounds);
      if (!choice.why.empty()) return fail(t, choice.why);
      change_held(point_, choice.held);
    }
    function = at_fixed_time();
  }
  for (auto round = rounds.rbegin(); round != rounds.rend(); ++round) function.pull(*round);
  const std::vector<StartEntry> entries = start_entries(model_);
  // on surfaces, directions must not lead off them
  std::vector<Gradient> invariants;
  if (first.mode.on_surfaces())
    for (const Expr& e : system.equations().invariants) invariants.push_back(point_.mode().gradient(e));
  for (Gradient& g : invariants) point_.evaluate(g);
  const std::vector<GuardAtZero> zeros = guards_at_zero(first.mode, system);
  for (const Direction& d : directions_) {
    StartChange start = start_change(model_, d, entries);
    InstantChange change{0.0, start.state, start.discrete, d.parameter};
    for (const RoundMap& round : rounds) change.apply(round);
    if (first.mode.on_surfaces() && !system.structure().explicit_ode && !follows_start(change))
      return fail(t, fmt::format("the run starts on a surface, and '{}' moves the start off it: there is one "
                                 "derivative for each side, or none",
                                 d.info.name));
    const auto along = [&](const Gradient& g) {
      double sum = 0.0, size = 0.0;
      for (const Gradient::Entry& e : g.entries()) {
        const std::size_t parameters = function.parameters.size();
        const double part = e.group == LinearMode::by_unknown ? change.state[point_.mode().variable_of(e.place)]
                            : e.group != LinearMode::by_data  ? 0.0
                            : e.place >= parameters + change.discrete.size() ? 0.0
                            : e.place >= parameters                          ? change.discrete[e.place - parameters]
                            : static_cast<int>(e.place) == d.parameter       ? 1.0
                                                                             : 0.0;
        sum += e.value * part;
        size += std::abs(e.value * part);
      }
      return std::pair(sum, size);
    };
    for (const Gradient& g : invariants)
      if (const auto [sum, size] = along(g); std::abs(sum) > 1e-6 * size)
        return fail(t, fmt::format("the run starts on a surface, and '{}' moves the start off it: there is one "
                                   "derivative for each side, or none",
                                   d.info.name));
    for (const GuardAtZero& zero : zeros)
      if (const auto [sum, size] = along(*zero.gradient); std::abs(sum) > 1e-6 * size)
        return fail(t,
                    fmt::format("'{}' is zero at the start, and '{}' moves it: there is one derivative for each side; "
                                "simulate_with_sensitivities gives one of them",
                                zero.name, d.info.name));
    double sum = d.parameter >= 0 ? function.parameters[static_cast<std::size_t>(d.parameter)] : 0.0;
    for (std::size_t j = 0; j < start.state.size(); ++j) sum += function.state[j] * start.state[j];
    for (std::size_t k = 0; k < start.discrete.size(); ++k) sum += function.discrete[k] * start.discrete[k];
    if (!std::isfinite(sum)) return fail(t, "a derivative is not a finite number");
    result_.derivatives.push_back(sum);
  }
  return true;
}

/// Guards that are zero at the start of an explicit mode, and whose crossing matters.
std::vector<AdjointRun::GuardAtZero> AdjointRun::guards_at_zero(const Mode& mode, RecordedSystem& system) {
  std::vector<GuardAtZero> found;
  if (!point_.mode().is_explicit()) return found;
  constexpr double rounding = 64.0 * std::numeric_limits<double>::epsilon(), far = 1e-3;
  std::vector<Position> positions;
  model_.positions(mode, positions);
  std::vector<double> x, xp, g(static_cast<std::size_t>(system.structure().guards));
  double size = 1.0 + std::abs(point_.t());
  for (std::size_t j = 0; j < point_.mode().variables(); ++j) {
    x.push_back(point_.value(j, 0));
    xp.push_back(point_.value(j, 1));
    size = std::max(size, std::abs(x.back()));
  }
  system.guards(point_.t(), x, xp, g);
  for (int k = 0; k < static_cast<int>(model_.guards().size()); ++k) {
    const GuardInfo& info = model_.guards()[static_cast<std::size_t>(k)];
    if (side_of(positions[static_cast<std::size_t>(k)]) == 0 || info.time_only || info.same_as >= 0 ||
        std::abs(g[static_cast<std::size_t>(k)]) > far * size || !crossing_acts(model_, mode, k))
      continue;
    Gradient& gradient = guard_gradient(k, mode, point_);
    point_.evaluate(gradient);
    double terms = 0.0;
    for (const Gradient::Entry& e : gradient.entries())
      if (e.group == LinearMode::by_unknown) terms += std::abs(e.value * point_.unknowns()[e.place]);
    if (std::abs(gradient.value()) <= rounding * terms) found.push_back({info.name, &gradient});
  }
  return found;
}

/// The start satisfies the equations, the initial equations and the fixed start values: one linear system, transposed.
bool AdjointRun::solve_initial_equations(InstantFunction& function) {
  const std::vector<VariableInfo>& variables = model_.variables();
  for (const Direction& d : directions_)
    if (d.variable >= 0 && !variables[static_cast<std::size_t>(d.variable)].fixed)
      throw UsageError(fmt::format("'{}' is a guess: initial equations determine the start, and '{}' is not fixed",
                                   d.info.name, variables[static_cast<std::size_t>(d.variable)].name));
  std::vector<Gradient> conditions;
  for (const Expr& e : ModelAccess::initial_residuals(model_)) conditions.push_back(point_.mode().gradient(e));
  std::vector<int> fixed;
  for (std::size_t j = 0; j < variables.size(); ++j)
    if (variables[j].fixed) fixed.push_back(static_cast<int>(j));
  const std::size_t n = point_.mode().unknowns(), rows = point_.mode().equations();
  if (rows + conditions.size() + fixed.size() != n)
    return fail(point_.t(), "the initial equations and fixed start values are not as many as the degrees of freedom");
  std::vector<double> matrix(n * n, 0.0);  // by columns
  point_.add_equations(matrix, n);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    point_.evaluate(conditions[i]);
    for (const Gradient::Entry& e : conditions[i].entries())
      if (e.group == LinearMode::by_unknown) matrix[e.place * n + rows + i] += e.value;
  }
  for (std::size_t i = 0; i < fixed.size(); ++i)
    matrix[static_cast<std::size_t>(point_.mode().place(static_cast<std::size_t>(fixed[i]), 0)) * n + rows +
           conditions.size() + i] = 1.0;
  std::vector<double> w(n, 0.0);
  for (std::size_t k = 0; k < function_.held.size(); ++k)
    w[static_cast<std::size_t>(point_.mode().place(static_cast<std::size_t>(point_.held()[k]), 0))] = function_.held[k];
  DenseLu lu;
  if (!lu.factorise(static_cast<int>(n), matrix))
    return fail(point_.t(), "the initial equations are singular at the start");
  lu.solve_transposed(w);
  Covector start = function_;
  std::ranges::fill(start.held, 0.0);
  point_.add_data_of_equations(w, start.data);
  for (std::size_t i = 0; i < conditions.size(); ++i) add_data(conditions[i], -w[rows + i], start.data);
  function_ = std::move(start);
  function = at_fixed_time();
  for (std::size_t i = 0; i < fixed.size(); ++i)
    function.state[static_cast<std::size_t>(fixed[i])] = w[rows + conditions.size() + i];
  return true;
}

double FunctionalGradient::by(const std::string& parameter) const {
  const auto it = std::ranges::find(parameters, parameter);
  if (it == parameters.end()) throw UsageError(fmt::format("the gradient has no derivative by '{}'", parameter));
  if (!why.empty()) throw UsageError("the functional has no derivatives: " + why);
  return derivatives[static_cast<std::size_t>(it - parameters.begin())];
}

FunctionalGradient gradient(const CompiledModel& model, const Functional& functional,
                            const std::vector<std::string>& parameters, const SimulateOptions& options,
                            const GradientOptions& how) {
  return AdjointRun(model, functional, parameters, options, how).run();
}

FunctionalGradient gradient(const Model& model, const Functional& functional,
                            const std::vector<std::string>& parameters, const SimulateOptions& options,
                            const GradientOptions& how) {
  return gradient(CompiledModel(model), functional, parameters, options, how);
}

}  // namespace saltus
