// Compiled as C++17: the matrices of Boost 1.74 use what C++20 has removed from allocators.
#include "odeint_rosenbrock.hpp"

#include <boost/numeric/odeint.hpp>

namespace saltus::bench {

std::string solve_with_odeint(OdeintProblem& p) {
  namespace odeint = boost::numeric::odeint;
  using Vector = boost::numeric::ublas::vector<double>;
  using Matrix = boost::numeric::ublas::matrix<double>;
  struct TooManySteps {};
  const auto rhs = [&](const Vector& x, Vector& xp, double t) {
    ++p.evaluations;
    p.rhs(t, &x[0], &xp[0]);
  };
  const auto jacobian = [&](const Vector& x, Matrix& J, const double& t, Vector& ft) {
    J.clear();
    p.jacobian(t, &x[0], &J.data()[0], &ft[0]);
  };
  Vector x(p.n);
  std::copy(p.x.begin(), p.x.end(), x.begin());
  auto stepper = odeint::make_controlled<odeint::rosenbrock4<double>>(p.atol, p.rtol);
  try {
    p.steps = static_cast<long>(odeint::integrate_adaptive(
        stepper, std::make_pair(rhs, jacobian), x, p.t0, p.t1, 1e-8 * (p.t1 - p.t0), [&](const Vector&, double) {
          if (p.evaluations > 3000000) throw TooManySteps{};
        }));
  } catch (const TooManySteps&) {
    return "too many steps";
  } catch (const std::exception& e) {
    return e.what();
  }
  std::copy(x.begin(), x.end(), p.x.begin());
  return "";
}

}  // namespace saltus::bench
