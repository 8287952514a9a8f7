// How a run begins.
//
// Beside the ordinary way there is a start by continuation from simpler equations (EasierStart) to the actual ones. All
// simplifications share one number, as the Modelica Language Specification 3.6, section 3.7.4.3, recommends.
#include <fmt/format.h>
#include <saltus/dae/easier_start.hpp>

#include "base/work_limit.hpp"
#include "hybrid/short_lists.hpp"
#include "hybrid/simulator_impl.hpp"

namespace saltus {

namespace {

/// Operations that the search for a start may take: half a minute or so.
constexpr double most_work = 1e10;

struct Continuation {
  std::vector<double> values;  // of the observed variables, in the actual equations; empty: not found
  int starts = 0;              // that were looked for
};

Continuation follow_simplified(const EasierStart& easier, const SimulateOptions& options) {
  constexpr double least_step = 1e-3;
  constexpr int most = 100;
  Continuation result;
  std::vector<double> values;
  const auto solve = [&](double share) {
    const std::shared_ptr<HybridSystem> system = easier.eased(share, values);
    if (!system) return false;
    ++result.starts;
    const Simulator start(system, options);
    if (!start.status().ok()) return false;
    values = start.values();
    return true;
  };
  if (!solve(0.0)) return result;
  double share = 0.0;
  for (double step = 0.25; step >= least_step && result.starts < most;) {
    const double next = std::min(1.0, share + step);
    if (!solve(next)) {
      step *= 0.25;
      continue;
    }
    share = next;
    step *= 2.0;
    if (share == 1.0) {
      result.values = std::move(values);
      return result;
    }
  }
  return result;
}

}  // namespace

void Simulator::Impl::Beginning::begin() {
  if (const auto only = run.hybrid->start_time(); only && *only != run.options.start)
    throw UsageError(
        fmt::format("'{0}' depends on the time at which its runs begin, and was made for {1:.15g}; this run "
                    "begins at {2:.15g}. Read it for that time (LoadOptions::start), or begin at {1:.15g}",
                    run.hybrid->name(), *only, run.options.start));
  const Transition& transition = run.instant.transition;
  run.instant.doubt().time_scale = run.time_scale();
  run.instant.consistency().look_behind_start(run.options.stop - run.options.start);
  run.keep_state();
  const WorkLimit limit(most_work);
  try {
    if (!find()) {
      Failure failure = run.instant.failure();
      if (!find_by_homotopy()) {
        if (limit.trials() > 1)
          failure.message += fmt::format(" ({} trials of other start values found none)", limit.trials());
        return run.ending.end(std::move(failure));
      }
    }
  } catch (const WorkStopped& stopped) {
    if (stopped.limit != &limit) throw;
    return run.ending.end(
        {StatusCode::initialisation_failed,
         fmt::format("no start was found: {} trials of other start values, from perturbed guesses, by continuation and "
                     "for combinations of switches, have taken the work that a search may take ({:.0e} operations); "
                     "give start values near to a solution",
                     limit.trials(), most_work),
         {}});
  }
  give_back(run.x.size(), run.state_before, run.slope_before);
  run.add_remark(run.instant.consistency().remark());
  if (transition.terminate) return run.ending.end({StatusCode::terminated, run.ending.ended_by_model(), {}});
  if (!run.enter_mode()) return;
  run.result.initial_values_ = run.observation.observe_refined();
  run.bounds.check(run.hybrid->observed(), run.t, run.result.initial_values_);
  if (!transition.fired.empty() || !run.mode.sliding.empty() || !transition.message.empty() ||
      !transition.notes.empty()) {
    const std::string message = run.recorder.message_of_settled();
    run.recorder.find_weights();
    run.recorder.record({.kind = run.mode.sliding.empty() ? EventKind::initial : EventKind::slide_enter,
                         .mode_before = &run.mode,
                         .mode_after = &run.mode,
                         .actions = transition.fired,
                         .message = message},
                        {.t = run.t,
                         .before = run.result.initial_values_,
                         .after = run.result.initial_values_,
                         .weights = run.weights});
  }
  if (!run.observation.equations_hold(run.t, run.time_scale())) return;
  if (run.options.start == run.options.stop)
    return run.ending.end({StatusCode::success, "start and stop coincide: only initialised", {}});
  run.instant.end();
  leave_singular_point();
  run.restart(run.options.initial_step);
}

bool Simulator::Impl::Beginning::find() {
  run.instant.begin(run.mode_before);
  return run.instant.settle(
      {.t = run.t, .mode = &run.mode_before, .x = run.state_before, .xp = run.slope_before, .initial = true});
}

bool Simulator::Impl::Beginning::find_by_homotopy() {
  const auto* easier = dynamic_cast<const EasierStart*>(run.hybrid.get());
  if (!easier) return false;
  const Continuation found = follow_simplified(*easier, {.start = run.options.start,
                                                         .stop = run.options.start,
                                                         .rtol = run.options.rtol,
                                                         .atol = run.options.atol,
                                                         .inputs = run.options.inputs});
  if (found.values.empty()) return false;
  std::unordered_map<std::string, double> value_of;
  for (std::size_t k = 0; k < found.values.size(); ++k)
    value_of.emplace(run.hybrid->observed()[k].name, found.values[k]);
  for (std::size_t j = 0; j < run.hybrid->variables().size(); ++j)
    if (const auto it = value_of.find(run.hybrid->variables()[j].name);
        it != value_of.end() && !run.hybrid->variables()[j].fixed)
      run.x[j] = it->second;
  run.keep_state();
  run.instant.consistency().forget();
  if (!find()) return false;
  run.add_remark(
      fmt::format("the start was found by homotopy, in {} steps from the simplified equations", found.starts));
  return true;
}

void Simulator::Impl::Beginning::leave_singular_point() {
  const double regular =
      run.system->structure().explicit_ode ? run.t : run.instant.consistency().regular_time(*run.system, run.t);
  if (regular == run.t) return;
  run.rest = {run.t, regular - run.t, 1, static_cast<int>(run.x.size()), run.x};
  copy(run.xp, run.slope_before);
  for (std::size_t j = 0; j < run.x.size(); ++j)
    if (run.system->structure().differentiated(static_cast<int>(j))) run.x[j] += (regular - run.t) * run.xp[j];
  if (!run.instant.consistency().polish(*run.system, regular, run.x, run.xp)) {  // the limit itself is as near
    copy(run.rest.c, run.x);
    copy(run.slope_before, run.xp);
  }
  for (std::size_t j = 0; j < run.x.size(); ++j) run.rest.c.push_back(run.x[j] - run.rest.c[j]);
  if (run.options.keep_steps) {
    run.begin_segment();
    run.result.segments_.back().steps.push_back({run.rest, regular, true});
  }
  run.t = run.result.t_end_ = regular;
}

}  // namespace saltus
