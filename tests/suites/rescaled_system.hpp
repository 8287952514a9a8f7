// A system in other units: x = scale * z, equations multiplied by factors, time t = unit * s. Everything that is
// claimed about a system must hold for it in any units.
#pragma once

#include <saltus/dae/system.hpp>

#include <cmath>
#include <span>
#include <vector>

namespace saltus {

class RescaledSystem final : public System {
 public:
  RescaledSystem(System& inner, std::vector<double> variable, std::vector<double> equation, double time)
      : inner_(inner), variable_(std::move(variable)), equation_(std::move(equation)), time_(time) {}

  const Structure& structure() const override { return inner_.structure(); }
  std::string variable_name(int j) const override { return inner_.variable_name(j); }
  void residual(double s, std::span<const double> z, std::span<const double> zp, std::span<double> F) override {
    convert(z, zp);
    inner_.residual(s * time_, x_, xp_, F);
    for (std::size_t i = 0; i < equation_.size(); ++i) F[i] *= equation_[i];
  }
  void jacobian(double s, std::span<const double> z, std::span<const double> zp, std::span<double> Fx,
                std::span<double> Fxp) override {
    convert(z, zp);
    inner_.jacobian(s * time_, x_, xp_, Fx, Fxp);
    scale(Fx, Fxp, 1.0);
  }
  void taylor(double s, int level, std::span<const double> Z, std::span<double> F) override {
    convert_coefficients(Z);
    inner_.taylor(s * time_, level, X_, F);
    scale_coefficients(level, F);
  }
  void taylor_jacobian(double s, int level, std::span<const double> Z, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override {
    convert_coefficients(Z);
    inner_.taylor_jacobian(s * time_, level, X_, F, Fx, Fxp);
    scale_coefficients(level, F);
    const Structure& p = structure();
    for (int k = 0; k <= level; ++k)
      scale(Fx.subspan(k * p.state_pattern.row.size(), p.state_pattern.row.size()),
            Fxp.subspan(k * p.derivative_pattern.row.size(), p.derivative_pattern.row.size()), std::pow(time_, k));
  }

 private:
  void convert(std::span<const double> z, std::span<const double> zp) {
    x_.resize(z.size());
    xp_.resize(z.size());
    for (std::size_t j = 0; j < z.size(); ++j) {
      x_[j] = z[j] * variable_[j];
      xp_[j] = zp[j] * variable_[j] / time_;
    }
  }
  void convert_coefficients(std::span<const double> Z) {
    X_.resize(Z.size());
    for (std::size_t k = 0; k < Z.size(); ++k)
      X_[k] = Z[k] * variable_[k % variable_.size()] / std::pow(time_, static_cast<double>(k / variable_.size()));
  }
  void scale_coefficients(int level, std::span<double> F) const {
    for (int k = 0; k <= level; ++k)
      for (std::size_t i = 0; i < equation_.size(); ++i)
        F[static_cast<std::size_t>(k) * equation_.size() + i] *= equation_[i] * std::pow(time_, k);
  }
  void scale(std::span<double> Fx, std::span<double> Fxp, double factor) const {
    const auto apply = [&](const SparsePattern& p, std::span<double> values, double f) {
      for (int j = 0; j < p.columns; ++j)
        for (int k = p.start[j]; k < p.start[j + 1]; ++k) values[k] *= equation_[p.row[k]] * variable_[j] * f;
    };
    apply(structure().state_pattern, Fx, factor);
    apply(structure().derivative_pattern, Fxp, factor / time_);
  }

  System& inner_;
  std::vector<double> variable_, equation_, x_, xp_, X_;
  double time_;
};

}  // namespace saltus
