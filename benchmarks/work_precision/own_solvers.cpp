#include <saltus/step/bdf.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>
#include <saltus/step/radau.hpp>
#include <saltus/step/rosenbrock.hpp>
#include <saltus/step/tableau.hpp>
#include <saltus/step/taylor.hpp>

#include "work_precision.hpp"

namespace saltus::bench {
namespace {

Outcome integrate(Stepper& stepper, System& system, const Case& c) {
  Outcome o;
  stepper.start(system, {.t = c.t0, .x = c.x0, .xp = c.xp0});
  while (stepper.t() < c.t1) {
    const StepOutcome step = stepper.advance(c.t1);
    if (!step.ok()) {
      o.message = "stopped at t = " + std::to_string(stepper.t());
      return o;
    }
    if (stepper.statistics().steps > 500'000) {
      o.message = "too many steps";
      return o;
    }
  }
  o.ok = true;
  o.x.assign(stepper.x().begin(), stepper.x().end());
  o.steps = stepper.statistics().steps;
  o.evaluations = stepper.statistics().evaluations;
  return o;
}

Solver implicit(std::string name, bool needs_constant_mass,
                const std::function<std::unique_ptr<Stepper>(StepOptions)>& make) {
  return {std::move(name), true, [=](const Case& c, double rtol) -> Outcome {
            System& system = c.reduced ? *c.reduced : *c.system;
            const Structure& s = system.structure();
            if (needs_constant_mass && !s.constant_mass && !s.explicit_ode) return {};
            auto stepper = make({.rtol = rtol, .atol = {c.atol_factor * rtol}});
            return integrate(*stepper, system, c);
          }};
}

}  // namespace

std::vector<Solver> own_solvers() {
  return {
      implicit("rodas4", true, [](StepOptions o) { return make_rosenbrock(rodas_4(), std::move(o)); }),
      implicit("rodas5p", true, [](StepOptions o) { return make_rosenbrock(rodas_5p(), std::move(o)); }),
      implicit("radau", false, [](StepOptions o) { return make_radau(std::move(o), {.order = 0}); }),
      implicit("radau5", false, [](StepOptions o) { return make_radau(std::move(o), {.order = 5}); }),
      {"taylor", true,
       [](const Case& c, double rtol) -> Outcome {
         if (!c.system->structure().taylor || c.stiff) return {};
         auto stepper = make_taylor({.rtol = rtol, .atol = {c.atol_factor * rtol}});
         return integrate(*stepper, *c.system, c);
       }},
      implicit("bdf", false, [](StepOptions o) { return make_bdf(std::move(o)); }),
  };
}

}  // namespace saltus::bench
