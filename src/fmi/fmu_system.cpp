// The smooth system of a mode of an imported FMU: x' = f(t, x) by calls of the FMU.
//
// On the surface of an indicator z the field is u f+ + (1 - u) f-, with the u that keeps z at zero (A. F. Filippov,
// Differential equations with discontinuous righthand sides, Kluwer 1988, section 4): u = -z'- / (z'+ - z'-), where z'+
// and z'- are derivatives of z along the two fields. They are central differences.
#include <algorithm>
#include <cmath>
#include <limits>

#include "fmi/exchanged_fmu.hpp"

namespace saltus {

namespace {

class FmuSystem final : public System {
 public:
  FmuSystem(ExchangedFmu::Impl& owner, const Mode& mode)
      : owner_(owner), numbers_(mode.discrete), state_(owner.field_id(mode)), pending_(owner.pending(mode)) {
    if (!mode.sliding.empty()) {
      surface_ = mode.sliding.front();
      sides_ = owner.both_sides(mode, surface_).value();
    }
    const int n = static_cast<int>(owner.variables.size());
    std::vector<std::pair<int, int>> all, diagonal;
    for (int j = 0; j < n; ++j) {
      diagonal.emplace_back(j, j);
      for (int i = 0; i < n; ++i) all.emplace_back(i, j);
    }
    structure_.variables = structure_.equations = n;
    structure_.guards = static_cast<int>(owner.guards.size()) + (slides() ? 2 : 0);
    structure_.state_pattern = make_pattern(n, n, all);
    structure_.derivative_pattern = make_pattern(n, n, diagonal);
    structure_.explicit_ode = structure_.constant_mass = true;
    structure_.guards_read_xp = false;
    const auto size = static_cast<std::size_t>(n);
    for (auto* list : {&point_, &low_, &high_, &plus_, &minus_}) list->resize(size);
    z_.resize(owner.indicators);
  }

  const Structure& structure() const override { return structure_; }
  std::string variable_name(int j) const override { return owner_.variables[static_cast<std::size_t>(j)].name; }
  double nominal(int j) const override { return owner_.variables[static_cast<std::size_t>(j)].nominal; }

  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    const std::lock_guard turn(owner_.turn);
    if (slides()) {
      const double u = weight(t, x);
      for (std::size_t j = 0; j < xp.size(); ++j) xp[j] = u * plus_[j] + (1.0 - u) * minus_[j];
      return;
    }
    if (owner_.evaluate(state_, t, x, numbers_, xp)) return;
    // behind an indicator, before its event mode, the equations of an FMU may end: those at the surface count
    if (pending_ && owner_.last_field.size() == xp.size())
      std::ranges::copy(owner_.last_field, xp.begin());
    else
      std::ranges::fill(xp, std::numeric_limits<double>::quiet_NaN());
  }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    rhs(t, x, F);
    for (std::size_t i = 0; i < F.size(); ++i) F[i] = xp[i] - F[i];
  }
  void jacobian(double t, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    const std::lock_guard turn(owner_.turn);
    std::ranges::fill(Fxp, 1.0);
    const std::size_t n = x.size();
    if (!slides() && exact_jacobian(t, x, Fx)) return;
    const double small = std::cbrt(std::numeric_limits<double>::epsilon());
    std::ranges::copy(x, point_.begin());
    for (std::size_t j = 0; j < n; ++j) {
      const double h = small * std::max(std::abs(x[j]), nominal(static_cast<int>(j)));
      point_[j] = x[j] + h;
      rhs(t, point_, high_);
      point_[j] = x[j] - h;
      rhs(t, point_, low_);
      point_[j] = x[j];
      for (std::size_t i = 0; i < n; ++i) Fx[j * n + i] = -(high_[i] - low_[i]) / (2.0 * h);
    }
  }
  void guards(double t, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    const std::lock_guard turn(owner_.turn);
    owner_.time_guards(static_cast<std::size_t>(numbers_[0]), t, numbers_,
                       g.subspan(owner_.indicators, owner_.guards.size() - owner_.indicators));
    const std::span<double> z = g.first(owner_.indicators);
    if (!owner_.indicator_values(state_, t, x, numbers_, z))
      std::ranges::fill(z, std::numeric_limits<double>::quiet_NaN());
    // runs know that a guard may be zero where they begin; a value beside it would have to be proved to have one sign
    if (const SavedFmuState& s = owner_.saved.at(state_); s.t == t)
      for (const std::size_t k : s.zeros) z[k] = 0.0;
    if (!slides()) return;
    const double u = weight(t, x);
    g[g.size() - 2] = u;
    g[g.size() - 1] = 1.0 - u;
  }
  bool project(double t, std::span<double> x) override {
    const std::lock_guard turn(owner_.turn);
    if (!slides()) return false;
    const double z = surface_value(t, x);
    if (z == 0.0 || !std::isfinite(z)) return false;
    const double small = std::cbrt(std::numeric_limits<double>::epsilon());
    std::ranges::copy(x, point_.begin());
    double square = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) {  // in units of the nominal values
      const double size = nominal(static_cast<int>(j)), h = small * std::max(std::abs(x[j]), size);
      point_[j] = x[j] + h;
      const double up = surface_value(t, point_);
      point_[j] = x[j] - h;
      plus_[j] = size * (up - surface_value(t, point_)) / (2.0 * h);
      point_[j] = x[j];
      square += plus_[j] * plus_[j];
    }
    if (!(square > 0.0) || !std::isfinite(square)) return false;
    for (std::size_t j = 0; j < x.size(); ++j) x[j] -= z * plus_[j] / square * nominal(static_cast<int>(j));
    return true;
  }

 private:
  bool slides() const { return surface_ >= 0; }

  bool exact_jacobian(double t, std::span<const double> x, std::span<double> Fx) {
    if (owner_.states == 0 || !owner_.about.directional_derivatives) return false;
    if (!owner_.evaluate(state_, t, x, numbers_, high_)) return false;
    const std::size_t n = x.size();
    for (std::size_t j = 0; j < n; ++j) {
      if (!owner_.fmu->column(j, high_)) return false;
      for (std::size_t i = 0; i < n; ++i) Fx[j * n + i] = -high_[i];
    }
    return true;
  }

  double surface_value(double t, std::span<const double> x) {
    const bool usable = owner_.indicator_values(sides_.first, t, x, numbers_, z_);
    return usable ? z_[static_cast<std::size_t>(surface_)] : std::numeric_limits<double>::quiet_NaN();
  }

  /// Derivative of the indicator along a field.
  double slope(double t, std::span<const double> x, std::span<const double> f) {
    const double small = std::cbrt(std::numeric_limits<double>::epsilon());
    double h = small * std::max(std::abs(t), 1.0);
    for (std::size_t j = 0; j < x.size(); ++j)
      if (f[j] != 0.0) h = std::min(h, small * std::max(std::abs(x[j]), nominal(static_cast<int>(j))) / std::abs(f[j]));
    for (std::size_t j = 0; j < x.size(); ++j) point_[j] = x[j] + h * f[j];
    const double after = surface_value(t + h, point_);
    for (std::size_t j = 0; j < x.size(); ++j) point_[j] = x[j] - h * f[j];
    return (after - surface_value(t - h, point_)) / (2.0 * h);
  }

  /// Evaluates both fields; gives the weight of the positive one.
  double weight(double t, std::span<const double> x) {
    if (!owner_.evaluate(sides_.first, t, x, numbers_, plus_) ||
        !owner_.evaluate(sides_.second, t, x, numbers_, minus_))
      return std::numeric_limits<double>::quiet_NaN();
    const double above = slope(t, x, plus_), below = slope(t, x, minus_);
    return -below / (above - below);
  }

  ExchangedFmu::Impl& owner_;
  std::vector<double> numbers_;
  std::size_t state_;
  bool pending_;  ///< the FMU does not know yet on which side of an indicator it is
  int surface_ = -1;
  std::pair<std::size_t, std::size_t> sides_{};
  Structure structure_;
  std::vector<double> point_, low_, high_, plus_, minus_, z_;
};

}  // namespace

std::unique_ptr<System> make_fmu_system(ExchangedFmu::Impl& owner, const Mode& mode) {
  return std::make_unique<FmuSystem>(owner, mode);
}

}  // namespace saltus
