// How a run ends: the last clauses, why no step succeeds any more, and what the result says about it.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include "base/finite.hpp"
#include "hybrid/failure_places.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {

namespace {}
namespace {

std::string unproved_steps(const RunStatistics& statistics, double first) {
  return fmt::format(
      "in {} of {} steps, the first at t = {:.9g}, it is not proved that no condition changes and changes back (guards "
      "of external functions, or too fast for the search); compare with a smaller max_step (--max-step)",
      statistics.unproved, statistics.steps, first);
}

}  // namespace

void Simulator::Impl::RunEnd::finish(Failure outcome) {
  const Transition& transition = run.instant.transition;
  run.observation.refine();
  run.observation.observe(run.values_before);
  run.keep_state();
  run.instant.begin(run.mode_before);
  if (!run.instant.settle(
          {.t = run.t, .mode = &run.mode_before, .x = run.state_before, .xp = run.slope_before, .terminal = true}))
    return end(run.instant.failure());
  if (!transition.fired.empty() || !same(run.mode.discrete, run.mode_before.discrete)) {
    run.observation.observe(run.values_after);
    run.recorder.record({.kind = EventKind::terminal,
                         .mode_before = &run.mode_before,
                         .mode_after = &run.mode,
                         .actions = transition.fired,
                         .message = run.recorder.message_of_settled()},
                        {.t = run.t, .before = run.values_before, .after = run.values_after});
  }
  end(std::move(outcome));
}

void Simulator::Impl::RunEnd::report_failure(const StepOutcome& outcome) {
  if (outcome.result == StepResult::not_finite && run.approach.cross_edge()) return;
  const std::string name = outcome.worst >= 0 ? run.system->variable_name(outcome.worst) : "";
  const std::string where =
      name.empty() ? "" : fmt::format(", worst for '{}'{}", name, equation_with(*run.system, outcome.worst));
  std::vector<std::string> culprits;
  if (!name.empty()) culprits.push_back(name);
  if (Failure reason = run.regularity.explain(run.t, run.x, run.xp)) {
    reason.culprits = std::move(culprits);
    return end(std::move(reason));
  }
  switch (outcome.result) {
    case StepResult::not_finite:
      return end_not_finite(where, std::move(culprits));
    case StepResult::singular:
      if (run.stepper->takes_hidden_constraints() && !run.system->structure().explicit_ode)
        return report_structure(outcome, culprits);
      return end({StatusCode::singular_mode, fmt::format("the equations are singular at t = {:.12g}{}", run.t, where),
                  culprits});
    default:
      return end({StatusCode::step_too_small,
                  fmt::format("the step size fell below the resolution of time at t = {:.12g}{}", run.t, where),
                  culprits});
  }
}

void Simulator::Impl::RunEnd::end_not_finite(const std::string& where, std::vector<std::string> culprits) {
  run.find_derivatives();
  const std::string equation = undefined_equation(*run.system, run.t, run.direction, run.x, run.xp);
  end({StatusCode::not_finite,
       fmt::format("the equations have no finite values beyond t = {:.12g}{}", run.t,
                   equation.empty() ? where : equation),
       std::move(culprits)});
}

void Simulator::Impl::RunEnd::report_structure(const StepOutcome& outcome, std::vector<std::string> culprits) {
  std::string where;
  if (outcome.equation >= 0) {
    culprits.insert(culprits.begin(), run.system->equation_name(outcome.equation));
    where = fmt::format(", worst in '{}'", culprits.front());
  }
  if (outcome.worst >= 0) where += fmt::format("{} '{}'", where.empty() ? ", worst for" : " for", culprits.back());
  end({StatusCode::singular_mode,
       fmt::format("beyond t = {:.12g} the structure fails: the constraints cannot be solved with the system "
                   "Jacobian{}; use method = radau",
                   run.t, where),
       std::move(culprits)});
}

/// The names of these variables of the system, and of those that are computed from them.
std::vector<std::string> Simulator::Impl::RunEnd::observed_with(const std::vector<int>& variables) {
  const std::vector<VariableInfo>& observed = run.hybrid->observed();
  std::vector<double> x = run.x, before(observed.size()), after(observed.size());
  run.hybrid->observe(run.mode, run.t, x, run.xp, before);
  double change = 1.0;
  for (const int j : variables) {  // by different amounts, so that no sum stays as it is
    x[static_cast<std::size_t>(j)] += change * run.system->nominal(j);
    change *= 1.1;
  }
  run.hybrid->observe(run.mode, run.t, x, run.xp, after);
  std::vector<std::string> names;
  for (std::size_t k = 0; k < observed.size(); ++k)
    if (std::abs(after[k] - before[k]) > 1e-9 * (std::abs(after[k]) + std::abs(before[k])))
      names.push_back(observed[k].name);
  return names;
}

void Simulator::Impl::RunEnd::tell_undetermined(const CharacteristicValues& values) {
  if (std::ranges::find(run.told_undetermined, run.system->structure().id.number()) != run.told_undetermined.end())
    return;
  run.told_undetermined.push_back(run.system->structure().id.number());
  constexpr std::size_t most_shown = 5;
  const std::vector<std::string> which = observed_with(undetermined_variables(*run.system, run.t, values));
  std::string names;
  for (std::size_t k = 0; k < std::min(which.size(), most_shown); ++k) names += (k == 0 ? "" : ", ") + which[k];
  if (which.size() > most_shown) names += fmt::format(" and {} more", which.size() - most_shown);
  if (which.empty()) names = fmt::format("{} of the variables", values->u);
  run.add_remark(fmt::format("from t = {:.6g} on the equations do not determine {}: {}", run.t, names,
                             values->v > 0 ? "some of the equations follow from others" : "there are too few of them"));
}

void Simulator::Impl::RunEnd::check_bounds() {
  run.observation.observe(run.values_after);
  run.bounds.check(run.hybrid->observed(), run.t, run.values_after);
}

void Simulator::Impl::RunEnd::end(Failure outcome) {
  run.over = true;
  static_cast<StepStatistics&>(run.result.statistics_) = run.all_steps();
  run.result.statistics_.flown = run.flights.statistics().steps;
  run.result.statistics_.method = run.methods.description();
  run.result.statistics_.guard_evaluations = run.locator.statistics().evaluations;
  run.result.statistics_.guard_enclosures = run.locator.statistics().enclosures;
  run.result.t_end_ = run.t;
  const bool regular = outcome.code == StatusCode::success || outcome.code == StatusCode::terminated;
  if (outcome.code == StatusCode::terminated &&
      !run.mode.on_surfaces()) {  // the last round may have changed the equations
    run.system = &run.hybrid->system(run.mode);
    run.instant.consistency().evaluate(*run.system, run.t, run.x, run.xp);
  }
  run.observation.refine();
  run.observation.observe(run.result.final_values_);
  if (regular)
    if (Failure failure = run.equations.check(*run.hybrid, run.mode, run.t, run.result.final_values_, run.x, run.xp,
                                              run.time_scale()))
      outcome = std::move(failure);
  if (regular && outcome.code == StatusCode::success)  // (a model that ends the run settles nothing any more)
    if (Failure failure = run.equations.check_relations(*run.hybrid, run.mode, run.t, run.result.final_values_, run.x,
                                                        run.xp, run.time_scale()))
      outcome = std::move(failure);
  for (const auto& e : run.chatter.episodes())
    run.result.chattering_.push_back({e.from, e.to, e.events, names_of(*run.hybrid, e.guards)});
  if (!run.result.chattering_.empty() && run.remark.empty())
    run.remark = "chattering: " + describe(run.result.chattering_.front());
  for (const std::string& name : run.methods.not_entered())
    run.remark += (run.remark.empty() ? "" : "; ") +
                  fmt::format("the run entered no mode '{}', for which mode_methods gives a method", name);
  if (run.result.statistics_.unproved > 0) run.add_remark(unproved_steps(run.result.statistics_, run.first_unproved));
  if (run.bounds.watches()) run.bounds.check(run.hybrid->observed(), run.t, run.result.final_values_);
  run.add_remark(run.bounds.describe());
  run.add_remark(run.inputs.remark());
  if (run.result.initial_values_.empty()) run.result.initial_values_ = run.result.final_values_;
  if (outcome.code == StatusCode::success && outcome.message.empty()) outcome.message = run.remark;
  if (outcome.code != StatusCode::success && outcome.code != StatusCode::terminated)
    outcome.message = complete_message(outcome, run.t, run.hybrid->guards());
  run.result.status_ = {outcome.code, std::move(outcome.message), run.t, run.hybrid->describe(run.mode),
                        std::move(outcome.culprits)};
  run.result.statistics_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - run.began).count();
}

std::string Simulator::Impl::RunEnd::describe(const Chattering& episode) {
  std::string text = "'" + episode.guards.front() + "'";
  if (episode.guards.size() > 1) text += " and '" + episode.guards[1] + "'";
  return text +
         fmt::format(" switched {} times between t = {:.9g} and {:.9g}", episode.events, episode.from, episode.to);
}

std::string Simulator::Impl::RunEnd::ended_by_model() const {
  const std::string& text = run.instant.transition.message;
  return text.empty() ? "the model ended the run" : "the model ended the run: " + text;
}

void Simulator::Impl::RunEnd::end_where_derived_are_finite(double end_of_step) {
  double good = run.t, bad = end_of_step;
  for (int k = 0; k < 60 && std::abs(bad - good) > 4.0 * eps * std::max(std::abs(bad), std::abs(good)); ++k) {
    const double middle = 0.5 * (good + bad);
    (run.observation.derived_are_finite(middle) ? good : bad) = middle;
  }
  const std::string name = run.hybrid->observed()[static_cast<std::size_t>(run.not_finite_at)].name;
  if (good != run.t) run.take_step(good);
  const SourceLocation& where = run.hybrid->observed()[static_cast<std::size_t>(run.not_finite_at)].details->where;
  end({StatusCode::not_finite,
       fmt::format("'{}'{} cannot be evaluated beyond t = {:.12g}", name,
                   where.known() ? " (" + to_string(where) + ")" : "", run.t),
       {name}});
}

std::vector<std::string> Simulator::Impl::RunEnd::undefined_guards() {
  const DensePolynomial& step = run.stepper->dense();
  std::vector<double> there(run.x.size()), slope(run.x.size()),
      values(static_cast<std::size_t>(run.system->structure().guards));
  std::vector<int> undefined;
  for (double part = 1.0; part > eps && undefined.empty(); part *= 0.5) {
    const double when = step.t0 + part * step.h;
    step.evaluate(when, there);
    step.derivative(when, slope);
    run.system->guards(when, there, slope, values);
    for (std::size_t k = 0; k < std::min(values.size(), run.hybrid->guards().size()); ++k)
      if (!std::isfinite(values[k])) undefined.push_back(static_cast<int>(k));
  }
  return names_of(*run.hybrid, undefined);
}

}  // namespace saltus
