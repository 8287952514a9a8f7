// Events of large models, each settled in the part in which it happens.
//
// A step [t, t1] is made for all variables, with the modes at t. The parts in which a guard may leave its side, or a
// time event lies, are then run alone over the step, by simulators of their own and with all rules of events; variables
// of other parts are what their polynomials say. Where the solution of a part has changed by what happened in it, its
// readers are looked at: one whose slope changes by more than a small part of the tolerance allows, over the rest of
// the step, is run again from there, and so on until nothing changes any more. Changes go forward in time only, and a
// part acts on another one through an integral, so this comes to an end after a few runs. What has happened is then
// recorded in the order of time, and the next step begins with the new modes.
//
// A part that fails, a model whose parts depend on each other too strongly, and everything that parts do not know (a
// clause that ends the run) leave the step to the loop of the simulator, which settles events one by one.
#include <algorithm>
#include <cmath>
#include <optional>

#include "hybrid/local_step.hpp"
#include "hybrid/simulate_options.hpp"

namespace saltus {

namespace {

std::optional<Method> method_of(const Tableau& tableau) {
  if (&tableau == &dormand_prince_5()) return Method::dopri5;
  if (&tableau == &dormand_prince_8()) return Method::dop853;
  if (&tableau == &tsitouras_5()) return Method::tsit5;
  if (&tableau == &bogacki_shampine_3()) return Method::bs3;
  return {};
}

}  // namespace

Simulator::Impl::LocalEvents::LocalEvents(Impl& of) : run(of) {}
Simulator::Impl::LocalEvents::~LocalEvents() = default;

bool Simulator::Impl::LocalEvents::possible() const {
  const SimulateOptions& o = run.options;
  const auto usual = [&] {  // absolute tolerances are those of nominal values
    for (std::size_t j = 0; j < o.atol_each.size(); ++j)
      if (o.atol_each[j] != o.atol * std::abs(run.hybrid->variables()[j].nominal)) return false;
    return true;
  };
  return o.local_events_from >= 0 && run.hybrid->variables().size() >= static_cast<std::size_t>(o.local_events_from) &&
         run.alone && run.direction > 0 && !run.touches_wanted && run.inputs.empty() && !run.bounds.watches() &&
         !run.methods.per_mode() && o.rtol_each.empty() && usual() && !stops_at_events(o) &&
         !run.hybrid->guards().empty();
}

bool Simulator::Impl::LocalEvents::active() {
  if (looked_ && !work_) return false;
  if (!run.system->structure().explicit_ode || run.in_rest || run.helped) return false;
  const Tableau* const tableau = run.stepper->tableau();
  if (!tableau) return false;
  if (!looked_) {
    looked_ = true;
    const auto method = method_of(*tableau);
    if (!possible() || !method) return false;
    if (auto parts = run.hybrid->parts(tableau->dense_degree))
      work_ = std::make_unique<Work>(run, std::move(parts), *tableau, *method);
    if (!work_) return false;
  }
  if (tableau != &work_->tableau) return false;
  if (pause_ > 0) {
    --pause_;
    return false;
  }
  return true;
}

/// Nothing has happened in the step.
void Simulator::Impl::LocalEvents::accept(double end) {
  if (run.derived_variables && !run.observation.derived_are_finite(end))
    return run.ending.end_where_derived_are_finite(end);
  run.proved = true;
  run.accept_step(end);
}

void Simulator::Impl::LocalEvents::take_step() {
  constexpr int longest_pause = 1024;
  constexpr double shortest_step = 1e-9;  // of the run: parts that need more pieces even there do not come to an end
  Work& work = *work_;
  work.begin_step();
  work.find_touched();
  if (work.queue.empty()) return accept(work.t1);
  if (!work.settle_parts()) {
    const double length = work.t1 - work.t0;
    if (work.made_too_many_pieces() && length > shortest_step * (run.options.stop - run.options.start))
      return run.steppers.start_stepper(Work::shortening * length);
    pause_ = next_pause_;  // the loop makes the step again
    next_pause_ = std::min(2 * next_pause_, longest_pause);
    return run.steppers.start_stepper(length);
  }
  next_pause_ = 1;
  if (work.tracks.empty()) {
    run.result.statistics_.part_runs += work.runs;
    return accept(work.t1);
  }
  const double step = std::min(run.stepper->next_step(), work.longest_next_step());
  run.proved = true;
  work.record();
  work.commit();
  if (!run.go_on_in_mode(step, work.find_watch())) return;
  if (run.derived_variables && !run.observation.derived_are_finite_now()) return;
  if (run.t == run.options.stop) return run.ending.finish();
  if (run.equations.step_is_due(true) && !run.observation.equations_hold(run.t, step)) return;
  run.progress();
}

StepStatistics Simulator::Impl::LocalEvents::statistics() const {
  StepStatistics all;
  if (!work_) return all;
  for (const auto& runner : work_->runners)
    if (runner) all += runner->methods.statistics();
  all.steps = 0;  // of the whole model
  all.rejected = 0;
  return all;
}

}  // namespace saltus
