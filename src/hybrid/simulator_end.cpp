// How a run ends: the last clauses, why no step succeeds any more, and what the result says about it.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include "hybrid/failure_places.hpp"
#include "hybrid/short_lists.hpp"

namespace saltus {
namespace {

std::string unproved_steps(const RunStatistics& statistics, double first) {
  return fmt::format(
      "in {} of {} steps, the first at t = {:.9g}, it is not proved that no condition changes and changes back (guards "
      "of external functions, or too fast for the search); compare with a smaller max_step (--max-step)",
      statistics.unproved, statistics.steps, first);
}

}  // namespace

void Simulator::Impl::finish(Failure outcome) {
  const Transition& transition = instant.transition;
  refine();
  observe(values_before);
  keep_state();
  instant.begin(mode_before);
  if (!instant.settle({.t = t, .mode = &mode_before, .x = state_before, .xp = slope_before, .terminal = true})) {
    restore_state();
    return end(instant.failure());
  }
  if (transition.fired.empty() && same(mode.discrete, mode_before.discrete)) {
    restore_state();
  } else {
    observe(values_after);
    record({.kind = EventKind::terminal, .mode_before = &mode_before, .mode_after = &mode, .actions = transition.fired, .message = message_of_settled()},
           {.t = t, .before = values_before, .after = values_after});
  }
  end(std::move(outcome));
}

void Simulator::Impl::report_failure(const StepOutcome& outcome) {
  if (outcome.result == StepResult::not_finite && cross_edge()) return;
  const std::string name = outcome.worst >= 0 ? system->variable_name(outcome.worst) : "";
  const std::string where =
      name.empty() ? "" : fmt::format(", worst for '{}'{}", name, equation_with(*system, outcome.worst));
  std::vector<std::string> culprits;
  if (!name.empty()) culprits.push_back(name);
  if (Failure reason = regularity.explain(t, x, xp)) {
    reason.culprits = std::move(culprits);
    return end(std::move(reason));
  }
  switch (outcome.result) {
    case StepResult::not_finite:
      return end_not_finite(where, std::move(culprits));
    case StepResult::singular:
      if (stepper->takes_hidden_constraints() && !system->structure().explicit_ode) return report_structure(outcome, culprits);
      return end({StatusCode::singular_mode, fmt::format("the equations are singular at t = {:.12g}{}", t, where), culprits});
    default:
      return end({StatusCode::step_too_small,
                  fmt::format("the step size fell below the resolution of time at t = {:.12g}{}", t, where), culprits});
  }
}

void Simulator::Impl::end_not_finite(const std::string& where, std::vector<std::string> culprits) {
  find_derivatives();
  const std::string equation = undefined_equation(*system, t, direction, x, xp);
  end({StatusCode::not_finite,
       fmt::format("the equations have no finite values beyond t = {:.12g}{}", t, equation.empty() ? where : equation),
       std::move(culprits)});
}

void Simulator::Impl::report_structure(const StepOutcome& outcome, std::vector<std::string> culprits) {
  std::string where;
  if (outcome.equation >= 0) {
    culprits.insert(culprits.begin(), system->equation_name(outcome.equation));
    where = fmt::format(", worst in '{}'", culprits.front());
  }
  if (outcome.worst >= 0) where += fmt::format("{} '{}'", where.empty() ? ", worst for" : " for", culprits.back());
  end({StatusCode::singular_mode,
       fmt::format("beyond t = {:.12g} the structure fails: the constraints cannot be solved with the system Jacobian{}; use method = radau",
                   t, where),
       std::move(culprits)});
}

void Simulator::Impl::tell_undetermined(const CharacteristicValues& values) {
  if (std::ranges::find(told_undetermined, system->structure().id.number()) != told_undetermined.end()) return;
  told_undetermined.push_back(system->structure().id.number());
  constexpr std::size_t most_shown = 5;
  const std::vector<int> which = undetermined_variables(*system, t, values);
  std::string names;
  for (std::size_t k = 0; k < std::min(which.size(), most_shown); ++k)
    names += (k == 0 ? "" : ", ") + system->variable_name(which[k]);
  if (which.size() > most_shown) names += fmt::format(" and {} more", which.size() - most_shown);
  if (which.empty()) names = fmt::format("{} of the variables", values->u);
  add_remark(fmt::format("from t = {:.6g} on the equations do not determine {}: {}", t, names,
                         values->v > 0 ? "some of the equations follow from others" : "there are too few of them"));
}

void Simulator::Impl::check_bounds() {
  observe(values_after);
  bounds.check(hybrid->observed(), t, values_after);
}

void Simulator::Impl::end(Failure outcome) {
  over = true;
  static_cast<StepStatistics&>(result.statistics_) = methods.statistics();
  result.statistics_.method = methods.description();
  result.statistics_.guard_evaluations = locator.statistics().evaluations;
  result.statistics_.guard_enclosures = locator.statistics().enclosures;
  result.t_end_ = t;
  const bool regular = outcome.code == StatusCode::success || outcome.code == StatusCode::terminated;
  if (outcome.code == StatusCode::terminated && !mode.on_surfaces()) {  // the last round may have changed the equations
    system = &hybrid->system(mode);
    instant.consistency().evaluate(*system, t, x, xp);
  }
  refine();
  observe(result.final_values_);
  if (regular)
    if (Failure failure = equations.check(*hybrid, mode, t, result.final_values_, x, xp, time_scale())) outcome = std::move(failure);
  for (const auto& e : chatter.episodes())
    result.chattering_.push_back({e.from, e.to, e.events, names_of(*hybrid, e.guards)});
  if (!result.chattering_.empty() && remark.empty()) remark = "chattering: " + describe(result.chattering_.front());
  for (const std::string& name : methods.not_entered())
    remark += (remark.empty() ? "" : "; ") + fmt::format("the run entered no mode '{}', for which mode_methods gives a method", name);
  if (result.statistics_.unproved > 0) add_remark(unproved_steps(result.statistics_, first_unproved));
  if (bounds.watches()) bounds.check(hybrid->observed(), t, result.final_values_);
  add_remark(bounds.describe());
  if (result.initial_values_.empty()) result.initial_values_ = result.final_values_;
  if (outcome.code == StatusCode::success && outcome.message.empty()) outcome.message = remark;
  if (outcome.code != StatusCode::success && outcome.code != StatusCode::terminated)
    outcome.message = complete_message(outcome, t, hybrid->guards());
  result.status_ = {outcome.code, std::move(outcome.message), t, hybrid->describe(mode), std::move(outcome.culprits)};
  result.statistics_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

std::string Simulator::Impl::describe(const Chattering& episode) {
  std::string text = "'" + episode.guards.front() + "'";
  if (episode.guards.size() > 1) text += " and '" + episode.guards[1] + "'";
  return text + fmt::format(" switched {} times between t = {:.9g} and {:.9g}", episode.events, episode.from, episode.to);
}

std::string Simulator::Impl::ended_by_model() const {
  const std::string& text = instant.transition.message;
  return text.empty() ? "the model ended the run" : "the model ended the run: " + text;
}

}  // namespace saltus
