#include <saltus/dae/system.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

void System::rhs(double, std::span<const double>, std::span<double>) {
  throw UsageError("System::rhs: this system is not an explicit ODE (structure().explicit_ode is false)");
}

void System::time_derivative(double t, std::span<const double> x, std::span<const double> xp, std::span<double> Ft) {
  // central difference; the step balances truncation (h^2) and rounding (eps/h)
  const double h = 6.055454452393343e-06 * std::max(1.0, std::abs(t));
  const auto m = static_cast<std::size_t>(structure().equations);
  scratch_.resize(m);
  const double later = t + h, earlier = t - h;
  residual(later, x, xp, Ft);
  residual(earlier, x, xp, scratch_);
  for (std::size_t i = 0; i < m; ++i) Ft[i] = (Ft[i] - scratch_[i]) / (later - earlier);
}

namespace {
[[noreturn]] void no_taylor() {
  throw UsageError("this system has no Taylor coefficients (structure().taylor is false)");
}
}  // namespace

void System::taylor(double, int, std::span<const double>, std::span<double>) { no_taylor(); }
void System::taylor_jacobian(double, int, std::span<const double>, std::span<double>, std::span<double>,
                             std::span<double>) {
  no_taylor();
}
void System::solution_taylor(double, int, std::span<double>) { no_taylor(); }
void System::guards(double, std::span<const double>, std::span<const double>, std::span<double>) {
  if (structure().guards > 0) throw UsageError("System::guards: a system with guards must evaluate them");
}
void System::guards_taylor(double, int, std::span<const double>, std::span<double>) {
  if (structure().guards > 0) no_taylor();
}

}  // namespace saltus
