// Boost.odeint's Rosenbrock method of order 4, the only one it has for stiff equations.
#include <boost/numeric/odeint.hpp>

#include "work_precision.hpp"

namespace saltus::bench {
namespace {

namespace odeint = boost::numeric::odeint;
using Vector = boost::numeric::ublas::vector<double>;
using Matrix = boost::numeric::ublas::matrix<double>;

struct TooManySteps {};

Outcome rosenbrock(const Case& c, double rtol) {
  System& system = *c.system;
  const Structure& s = system.structure();
  if (!s.explicit_ode || s.variables > 50) return {};
  const auto n = static_cast<std::size_t>(s.variables);
  Outcome o;
  std::vector<double> Fx(s.state_pattern.row.size()), Fxp(s.derivative_pattern.row.size()), zero(n, 0.0), Ft(n);
  const auto rhs = [&](const Vector& x, Vector& xp, double t) {
    ++o.evaluations;
    system.rhs(t, {&x[0], n}, {&xp[0], n});
  };
  const auto jacobian = [&](const Vector& x, Matrix& J, const double& t, Vector& ft) {
    system.jacobian(t, {&x[0], n}, zero, Fx, Fxp);
    J.clear();
    for (int j = 0; j < s.variables; ++j)
      for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k) J(s.state_pattern.row[k], j) = -Fx[k];
    system.time_derivative(t, {&x[0], n}, zero, Ft);
    for (std::size_t i = 0; i < n; ++i) ft[i] = -Ft[i];
  };
  Vector x(n);
  std::copy(c.x0.begin(), c.x0.end(), x.begin());
  auto stepper = odeint::make_controlled<odeint::rosenbrock4<double>>(c.atol_factor * rtol, rtol);
  try {
    o.steps = static_cast<long>(odeint::integrate_adaptive(
        stepper, std::make_pair(rhs, jacobian), x, c.t0, c.t1, 1e-8 * (c.t1 - c.t0), [&](const Vector&, double) {
          if (o.evaluations > 20'000'000) throw TooManySteps{};
        }));
    o.ok = true;
  } catch (const TooManySteps&) {
    o.message = "too many steps";
  } catch (const std::exception& e) {
    o.message = e.what();
  }
  o.x.assign(x.begin(), x.end());
  return o;
}

}  // namespace

std::vector<Solver> odeint_solvers() { return {{"odeint rosenbrock4", false, rosenbrock}}; }

}  // namespace saltus::bench
