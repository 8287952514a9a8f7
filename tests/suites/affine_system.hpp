// Explicit systems that are affine, written by hand with all that an explicit System can give: for tests of whoever
// uses the waist, without expressions and programs.
#pragma once

#include <saltus/dae/system.hpp>

#include <span>
#include <utility>
#include <vector>

#include "suites/linear_forms.hpp"

namespace saltus::suite {

/// A function constant + rate t + row x.
struct Affine {
  std::vector<double> row;
  double constant = 0.0, rate = 0.0;

  double at(double t, std::span<const double> x) const {
    double sum = constant + rate * t;
    for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * x[j];
    return sum;
  }
  /// Coefficient k along a series: of x the given one.
  double coefficient(int k, double t, std::span<const double> x) const {
    double sum = k == 0 ? constant + rate * t : k == 1 ? rate : 0.0;
    for (std::size_t j = 0; j < row.size(); ++j) sum += row[j] * x[j];
    return sum;
  }
};

/// x_i' = field[i], with guards.
class AffineSystem : public System {
 public:
  AffineSystem(std::vector<Affine> field, std::vector<Affine> guards)
      : field_(std::move(field)), guards_(std::move(guards)) {
    const int n = static_cast<int>(field_.size());
    std::vector<std::pair<int, int>> all, diagonal;
    for (int j = 0; j < n; ++j) {
      diagonal.emplace_back(j, j);
      for (int i = 0; i < n; ++i) all.emplace_back(i, j);
    }
    structure_.variables = structure_.equations = n;
    structure_.guards = static_cast<int>(guards_.size());
    structure_.state_pattern = make_pattern(n, n, all);
    structure_.derivative_pattern = make_pattern(n, n, diagonal);
    structure_.explicit_ode = structure_.linear = structure_.constant_jacobian = structure_.constant_mass = true;
    structure_.taylor = true;
    structure_.guards_read_xp = false;
    for (std::size_t k = 0; k < guards_.size(); ++k) {
      LinearForm form{.guard = static_cast<int>(k), .constant = guards_[k].constant, .time = guards_[k].rate};
      for (std::size_t j = 0; j < guards_[k].row.size(); ++j) {
        form.variables.push_back(static_cast<int>(j));
        form.coefficients.push_back(guards_[k].row[j]);
      }
      forms_.push_back(std::move(form));
    }
    linear_ = guards_of(forms_);
  }

  const Structure& structure() const override { return structure_; }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override {
    for (std::size_t i = 0; i < field_.size(); ++i) xp[i] = field_[i].at(t, x);
  }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    for (std::size_t i = 0; i < field_.size(); ++i) F[i] = xp[i] - field_[i].at(t, x);
  }
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    const std::size_t n = field_.size();
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n; ++i) Fx[j * n + i] = -field_[i].row[j];
    for (double& one : Fxp) one = 1.0;
  }
  void time_derivative(double, std::span<const double>, std::span<const double>, std::span<double> Ft) override {
    for (std::size_t i = 0; i < field_.size(); ++i) Ft[i] = -field_[i].rate;
  }
  void taylor(double t, int level, std::span<const double> X, std::span<double> F) override {
    const std::size_t n = field_.size();
    for (std::size_t k = 0; k <= static_cast<std::size_t>(level); ++k)
      for (std::size_t i = 0; i < n; ++i)
        F[k * n + i] = static_cast<double>(k + 1) * X[(k + 1) * n + i] -
                       field_[i].coefficient(static_cast<int>(k), t, X.subspan(k * n, n));
  }
  void taylor_jacobian(double t, int level, std::span<const double> X, std::span<double> F, std::span<double> Fx,
                       std::span<double> Fxp) override {
    taylor(t, level, X, F);
    std::fill(Fx.begin(), Fx.end(), 0.0);
    std::fill(Fxp.begin(), Fxp.end(), 0.0);
    const std::size_t n = field_.size();
    jacobian(t, X.first(n), X.first(n), Fx.first(n * n), Fxp.first(n));
  }
  void solution_taylor(double t, int order, std::span<double> X) override {
    const std::size_t n = field_.size();
    for (std::size_t k = 0; k < static_cast<std::size_t>(order); ++k)
      for (std::size_t i = 0; i < n; ++i)
        X[(k + 1) * n + i] =
            field_[i].coefficient(static_cast<int>(k), t, X.subspan(k * n, n)) / static_cast<double>(k + 1);
  }
  void guards(double t, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    for (std::size_t k = 0; k < guards_.size(); ++k) g[k] = guards_[k].at(t, x);
  }
  void guards_taylor(double t, int order, std::span<const double> X, std::span<double> G) override {
    const std::size_t n = field_.size();
    for (std::size_t k = 0; k <= static_cast<std::size_t>(order); ++k)
      for (std::size_t i = 0; i < guards_.size(); ++i)
        G[k * guards_.size() + i] = guards_[i].coefficient(static_cast<int>(k), t, X.subspan(k * n, n));
  }
  std::span<const LinearGuard> linear_guards() override { return linear_; }

 private:
  std::vector<Affine> field_, guards_;
  Structure structure_;
  std::vector<LinearForm> forms_;
  std::vector<LinearGuard> linear_;
};

}  // namespace saltus::suite
