// Which stepper goes on, within a mode too: where it turns out to be stiff, and where a method fails that another one
// need not.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace saltus {

Stepper* Simulator::Impl::StepperUse::choose_stepper(std::string& problem) {
  Consistency& consistency = run.instant.consistency();
  Stepper* chosen = run.methods.choose(
      {*run.system, consistency.needs_reduction(*run.system), Consistency::can_be_reduced(*run.system),
       consistency.values(*run.system), run.methods.per_mode() ? run.hybrid->describe(run.mode) : "",
       consistency.regular_time(*run.system, run.options.start) != run.options.start},
      problem);
  if (!chosen || chosen->takes_hidden_constraints() || consistency.reduce(*run.system)) return chosen;
  problem = fmt::format(
      "{} needs this mode without hidden constraints, and its ranks cannot be decided at t = {:.9g}; use method = auto",
      chosen->name(), run.t);
  return nullptr;
}

void Simulator::Impl::StepperUse::use(Stepper* chosen) {
  run.stepper = chosen;
  run.known->dense_is_accurate = run.methods.dense_is_accurate(*run.stepper, *run.system);
  run.known->stepper = run.system->structure().explicit_ode ? run.stepper : nullptr;
}

[[gnu::hot]] Method Simulator::Impl::StepperUse::method() {
  if (named_ != run.stepper) {
    named_ = run.stepper;
    method_ = run.methods.method_of(*run.stepper);
  }
  return method_;
}

bool Simulator::Impl::StepperUse::change_method() {
  std::string problem;
  Stepper* other = choose_stepper(problem);
  if (!other) return false;
  use(other);
  run.instant.consistency().restart_reduced(*run.system, run.t, run.x);
  start_stepper(0.0);
  return true;
}

bool Simulator::Impl::StepperUse::repeat_unstable_step() {
  if (run.helped || !run.stepper->unstable() || !run.methods.note_stiff(*run.system)) return false;
  run.in_rest = false;
  return change_method();
}

// Fast variables that decay between two events may be what chatters. The Frobenius norm of the Jacobian is a bound of
// their rates; where nothing is fast compared with the interval, an implicit method would give the same events.
static bool is_fast(System& system, double t, std::span<const double> x, std::span<const double> xp, double interval) {
  std::vector<double> Fx(system.structure().state_pattern.row.size()),
      Fxp(system.structure().derivative_pattern.row.size());
  system.jacobian(t, x, xp, Fx, Fxp);
  double square = 0.0;
  for (const double entry : Fx) square += entry * entry;
  return std::sqrt(square) * interval > 1.0;
}

bool Simulator::Impl::StepperUse::suspect_stiffness(System& system) {
  if (!run.stepper->tableau() || !system.structure().explicit_ode ||
      !is_fast(system, run.t, run.x, run.xp, run.chatter.interval()) || !run.methods.note_stiff(system))
    return false;
  const auto known = run.known_steps.find(system.structure().id.number());
  if (known != run.known_steps.end()) known->second.stepper = nullptr;
  return true;
}

bool Simulator::Impl::StepperUse::suspect_stiffness(System& left, System& entered) {
  const bool before = suspect_stiffness(left), now = suspect_stiffness(entered);
  std::string problem;
  Stepper* const chosen = before || now ? choose_stepper(problem) : nullptr;
  if (chosen) use(chosen);
  return chosen;
}

bool Simulator::Impl::StepperUse::try_another_method(const StepOutcome& outcome) {
  if (outcome.result == StepResult::not_finite || run.system->structure().explicit_ode) return false;
  const bool another = run.stepper->takes_hidden_constraints()
                           ? run.methods.note_stiff(*run.system) || run.methods.note_structure_fails(*run.system)
                           : run.methods.note_linear_steps_fail(*run.system, *run.stepper);
  if (another) change_method();
  return another;
}

bool Simulator::Impl::StepperUse::get_help() {
  constexpr int enough = 10;  // to get away from a root of zero
  if (!run.system->structure().explicit_ode || run.helped) return false;
  Stepper* helper = run.methods.helper(*run.stepper);
  if (!helper) return false;
  run.own_stepper = run.stepper;
  run.own_dense_is_accurate = run.known->dense_is_accurate;
  use(helper);
  run.helped = run.known;
  run.helping_steps = enough;
  start_stepper(0.0);
  return true;
}

void Simulator::Impl::StepperUse::end_help() {
  run.helped->stepper = run.stepper = run.own_stepper;
  run.helped->dense_is_accurate = run.own_dense_is_accurate;
  run.helped = nullptr;
}

[[gnu::hot]] void Simulator::Impl::StepperUse::start_stepper(double step) {
  const bool explicit_ode = run.system->structure().explicit_ode;
  run.stepped = run.system;
  run.stepper->start(
      explicit_ode || run.stepper->takes_hidden_constraints() ? *run.system
                                                              : run.instant.consistency().integrable(*run.system),
      {.t = run.t, .x = run.x, .xp = run.xp, .direction = run.direction, .step = step, .xp_is_rhs = explicit_ode});
}

void Simulator::Impl::StepperUse::follow_guards() {
  const double fineness = run.locator.fineness();
  const double h = std::abs(run.stepper->dense().h);
  const bool cheap = fineness > 8.0 && run.dense_is_accurate();  // implicit steps cost more than a finer look
  // a finer look costs little; where guards are rounding errors, no step is short enough for a coarse one
  const double shortest = 1e-5 * std::abs(run.options.stop - run.options.start);
  if (cheap && run.stepper->error() < 0.01)
    run.known->guards = std::max(h * 8.0 / fineness, shortest);
  else if (fineness <= 8.0 && h >= 0.9 * run.known->guards)
    run.known->guards *= 1.1;
}

[[gnu::hot]] void Simulator::Impl::StepperUse::learn_first_step() {
  run.first_step = false;
  const bool too_long = run.stepper->statistics().rejected > run.rejected_before;
  if (too_long)
    run.known->first = std::abs(run.stepper->t() - run.t);
  else if (run.stepper->error() < 0.1)
    run.known->first *= 1.5;
}

}  // namespace saltus
