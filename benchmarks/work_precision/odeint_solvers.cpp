#include "odeint_rosenbrock.hpp"
#include "work_precision.hpp"

namespace saltus::bench {
namespace {

Outcome rosenbrock(const Case& c, double rtol) {
  System& system = *c.system;
  const Structure& s = system.structure();
  if (!s.explicit_ode || s.variables > 50) return {};
  const auto n = static_cast<std::size_t>(s.variables);
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), zero(n, 0.0);
  OdeintProblem p{.n = n,
                  .t0 = c.t0,
                  .t1 = c.t1,
                  .rtol = rtol,
                  .atol = c.atol_factor * rtol,
                  .x = c.x0,
                  .rhs = [&](double t, const double* x, double* xp) { system.rhs(t, {x, n}, {xp, n}); },
                  .jacobian =
                      [&](double t, const double* x, double* J, double* ft) {
                        system.jacobian(t, {x, n}, zero, Fx, Fxp);
                        for (int j = 0; j < s.variables; ++j)
                          for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k)
                            J[static_cast<std::size_t>(s.state_pattern.row[k]) * n + static_cast<std::size_t>(j)] = -Fx[k];
                        system.time_derivative(t, {x, n}, zero, {ft, n});
                        for (std::size_t i = 0; i < n; ++i) ft[i] = -ft[i];
                      }};
  Outcome o;
  o.message = solve_with_odeint(p);
  o.ok = o.message.empty();
  o.x = p.x;
  o.steps = p.steps;
  o.evaluations = p.evaluations;
  return o;
}

}  // namespace

std::vector<Solver> odeint_solvers() { return {{"odeint rosenbrock4", false, rosenbrock}}; }

}  // namespace saltus::bench
