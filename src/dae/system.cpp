#include <saltus/dae/system.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>

namespace saltus {

std::uint64_t StructureId::next() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

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

// All coefficients anew at every stage: simple, and one power of the order more expensive than it could be.
void System::start_stages(double t, std::span<const int> c, std::span<const int>, int last) {
  if (!structure().taylor) no_taylor();
  stage_time_ = t;
  stage_offset_ = c;
  const int level = (c.empty() ? 0 : *std::max_element(c.begin(), c.end())) + std::max(last, 0);
  scratch_.resize(static_cast<std::size_t>(level + 1) * c.size());
}

void System::stage_residual(int stage, std::span<const double> X, std::span<double> F) {
  const auto& c = stage_offset_;
  const std::size_t m = c.size();
  const int level = std::max(0, *std::max_element(c.begin(), c.end()) + stage);
  taylor(stage_time_, level, X, std::span(scratch_).first(static_cast<std::size_t>(level + 1) * m));
  for (std::size_t i = 0; i < m; ++i) F[i] = c[i] + stage < 0 ? 0.0 : scratch_[static_cast<std::size_t>(c[i] + stage) * m + i];
}

void System::settle_stage(int, std::span<const double>) {}

void System::guards(double, std::span<const double>, std::span<const double>, std::span<double>) {
  if (structure().guards > 0) throw UsageError("System::guards: a system with guards must evaluate them");
}
void System::guards_taylor(double, int, std::span<const double>, std::span<double>) {
  if (structure().guards > 0) no_taylor();
}

}  // namespace saltus
