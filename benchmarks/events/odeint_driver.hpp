// Boost.odeint: Dormand-Prince with dense output; the event loop and the bisection are the user's.
#pragma once

#include <boost/numeric/odeint.hpp>

#include <array>
#include <cmath>

#include "measure.hpp"

namespace saltus::bench {

template <class Automaton>
Work run_odeint(Automaton p, double rtol, double atol, double first_step) {
  namespace odeint = boost::numeric::odeint;
  using State = std::array<double, Automaton::n>;
  Work work;
  const auto f = [&](const State& x, State& dx, double t) {
    ++work.evaluations;
    p.rhs(t, x.data(), dx.data());
  };
  const auto guard = [&](double t, const State& x) {
    ++work.guard_evaluations;
    return p.guard(t, x.data());
  };
  auto stepper = odeint::make_dense_output(atol, rtol, odeint::runge_kutta_dopri5<State>());
  stepper.initialize(p.y, 0.0, first_step);
  while (!p.done) {
    if (stepper.current_time_step() > p.longest_step)
      stepper.initialize(stepper.current_state(), stepper.current_time(), p.longest_step);
    const auto [before, after] = stepper.do_step(f);
    ++work.steps;
    const double limit = p.next_time();
    const bool stop = after >= limit;
    double t = stop ? limit : after;
    State x = stepper.current_state();
    if (stop) stepper.calc_state(t, x);
    const bool event = guard(t, x) < 0.0;
    if (event) {
      double low = before, high = t;
      while (high - low > 4e-16 * std::abs(high)) {
        const double middle = 0.5 * (low + high);
        if (middle == low || middle == high) break;
        stepper.calc_state(middle, x);
        (guard(middle, x) < 0.0 ? high : low) = middle;
      }
      t = high;
      stepper.calc_state(t, x);
    }
    if (!event && !stop) continue;
    const double size = stepper.current_time_step();
    if (event)
      p.on_event(t, x.data());
    else
      p.on_time(t, x.data());
    stepper.initialize(x, t, size);
  }
  work.events = p.events;
  work.error = p.error();
  return work;
}

}  // namespace saltus::bench
