// Which stepper goes on, within a mode too: where it turns out to be stiff, and where a method fails that another one need not.
#include "hybrid/simulator_impl.hpp"

#include <fmt/format.h>

namespace saltus {

Stepper* Simulator::Impl::choose_stepper(std::string& problem) {
  Consistency& consistency = instant.consistency();
  Stepper* chosen = methods.choose({*system, consistency.needs_reduction(*system), Consistency::can_be_reduced(*system), consistency.values(*system),
                         methods.per_mode() ? hybrid->describe(mode) : "",
                         consistency.regular_time(*system, options.start) != options.start},
                        problem);
  if (!chosen || chosen->takes_hidden_constraints() || consistency.reduce(*system)) return chosen;
  problem = fmt::format("{} needs this mode without hidden constraints, and its ranks cannot be decided at t = {:.9g}; use method = auto", chosen->name(), t);
  return nullptr;
}

void Simulator::Impl::use(Stepper* chosen) {
  stepper = chosen;
  known->dense_is_accurate = methods.dense_is_accurate(*stepper, *system);
  known->stepper = system->structure().explicit_ode ? stepper : nullptr;
}

void Simulator::Impl::change_method() {
  std::string problem;
  Stepper* other = choose_stepper(problem);
  if (!other) return;
  use(other);
  instant.consistency().restart_reduced(*system, t, x);
  start_stepper(0.0);
}

bool Simulator::Impl::outcome_of_series(const StepOutcome& outcome) {
  if (outcome.result == StepResult::not_finite || system->structure().explicit_ode || !stepper->takes_hidden_constraints() ||
      (!methods.note_stiff(*system) && !methods.note_structure_fails(*system)))
    return false;
  change_method();
  return true;
}

bool Simulator::Impl::get_help() {
  constexpr int enough = 10;  // to get away from a root of zero
  if (!system->structure().explicit_ode || helped) return false;
  Stepper* helper = methods.helper(*stepper);
  if (!helper) return false;
  own_stepper = stepper;
  own_dense_is_accurate = known->dense_is_accurate;
  use(helper);
  helped = known;
  helping_steps = enough;
  start_stepper(0.0);
  return true;
}

void Simulator::Impl::end_help() {
  helped->stepper = stepper = own_stepper;
  helped->dense_is_accurate = own_dense_is_accurate;
  helped = nullptr;
}

}  // namespace saltus
