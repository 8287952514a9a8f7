// The problems. Sources and references stand with them in tests/problems.
#include <saltus/dae/initialisation.hpp>
#include <saltus/dae/reduced_system.hpp>

#include <stdexcept>

#include "problems/mechanics.hpp"
#include "problems/seven_body.hpp"
#include "problems/stiff_problems.hpp"
#include "work_precision.hpp"

namespace saltus::bench {
namespace {

Case from(problem::Problem p, double atol_factor) {
  Case c;
  c.name = p.name;
  c.t0 = p.t0;
  c.t1 = p.t1;
  c.x0 = p.x0;
  c.xp0 = p.xp0;
  c.reference = p.x1;
  c.atol_factor = atol_factor;
  c.stiff = true;
  c.system = std::move(p.system);
  if (c.xp0.empty()) {
    c.xp0.resize(c.x0.size());
    c.system->rhs(c.t0, c.x0, c.xp0);
  }
  return c;
}

/// Of high index: consistent values first, and the reduced system beside the original.
Case from(problems::Problem p, double t1, std::vector<double> reference, std::vector<int> compared,
          const std::vector<int>& fixed = {}) {
  Case c;
  c.name = p.name;
  c.t0 = p.t;
  c.t1 = t1;
  c.reference = std::move(reference);
  c.compared = std::move(compared);
  c.system = std::move(p.system);
  const CharacteristicValues values = characteristic_values(*c.system, p.t, p.guess);
  const Initialisation start = initialise(*c.system, p.t, p.guess, values, {.fixed = fixed});
  if (!start.ok()) throw std::runtime_error(c.name + ": " + start.message);
  c.x0 = start.x;
  c.xp0 = start.xp;
  auto reduced = std::make_shared<ReducedSystem>(*c.system, values);
  c.reduced = reduced;
  c.rewind = [reduced, t = p.t, X = start.X] { reduced->restart(t, X); };
  c.reference.resize(c.x0.size(), 0.0);
  return c;
}

std::vector<int> first(int n) {
  std::vector<int> list;
  for (int j = 0; j < n; ++j) list.push_back(j);
  return list;
}

/// From rest at the horizontal; peers get a form of index 2.
Case pendulum(const std::string& name, double t1, const std::vector<double>& reference) {
  Case c = from(problems::pendulum({1.0, 0.0, 0.0, 0.0, 0.0}), t1, reference, first(4));
  c.name = name;
  c.stabilised_x0 = c.x0;
  c.stabilised_x0.push_back(0.0);
  c.stabilised_xp0 = c.xp0;
  c.stabilised_xp0.push_back(0.0);
  c.stabilised = problems::pendulum_ggl().system;
  return c;
}

}  // namespace

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  cases.push_back(from(problem::van_der_pol(), 1.0));
  cases.push_back(from(problem::robertson(), 1e-8));
  cases.push_back(from(problem::hires(), 1e-3));
  cases.push_back(from(problem::oregonator(), 1e-3));
  cases.push_back(from(problem::ring_modulator(), 1e-2));
  cases.push_back(from(problem::transistor_amplifier(), 1.0));

  cases.push_back(pendulum("pendulum", 10.0, problems::pendulum_reference));
  cases.push_back(pendulum("pendulum to 100", 100.0, problems::pendulum_reference_at_100));
  cases.push_back(from(problems::car_axis(), 3.0, problems::car_axis_reference, first(8)));
  cases.push_back(from(problems::seven_body(), 0.03, problems::seven_body_reference, first(7), {1, 8}));
  for (const int n : {1000, 10000, 100000}) {
    Case heat = from(problem::heat(n), 1.0);
    heat.name = "heat " + std::to_string(n);
    cases.push_back(std::move(heat));
  }
  return cases;
}

}  // namespace saltus::bench
