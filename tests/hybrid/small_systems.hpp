// Small systems for the tests of the event numerics: recorded ones with guards, and one written by hand that has
// neither Taylor coefficients nor linear guards.
#pragma once

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/model/recorded_system.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace saltus::testing {

/// Records the equations and guards of one mode.
class ModeBuilder {
 public:
  Expr variable(const std::string& name) {
    equations_.variables.emplace_back(graph_, graph_->symbol(name, SymbolKind::variable));
    return equations_.variables.back();
  }
  const Expr& time() const { return equations_.time; }
  /// 0 = residual.
  void equation(const Expr& residual) { equations_.equations.push_back(residual); }
  void guard(const Expr& g) { equations_.guards.push_back(g); }
  void invariant(const Expr& h) { equations_.invariants.push_back(h); }
  std::unique_ptr<RecordedSystem> system() const { return std::make_unique<RecordedSystem>(equations_); }

 private:
  std::shared_ptr<Graph> graph_ = std::make_shared<Graph>();
  RecordedEquations equations_{.time = Expr(graph_, graph_->symbol("time", SymbolKind::time))};
};

/// x' = f(t, x) by hand, with dense patterns and guards that are plain functions: no Taylor coefficients, no linear
/// guards.
class PlainSystem final : public System {
 public:
  using Rhs = std::function<void(double t, std::span<const double> x, std::span<double> xp)>;
  using Guards = std::function<void(double t, std::span<const double> x, std::span<double> g)>;

  PlainSystem(int variables, int guards, Rhs rhs, Guards guard_functions)
      : rhs_(std::move(rhs)), guards_(std::move(guard_functions)) {
    structure_.variables = structure_.equations = variables;
    structure_.guards = guards;
    structure_.explicit_ode = structure_.constant_mass = true;
    structure_.guards_read_xp = false;
    std::vector<std::pair<int, int>> all, diagonal;
    for (int i = 0; i < variables; ++i)
      for (int j = 0; j < variables; ++j) {
        all.emplace_back(i, j);
        if (i == j) diagonal.emplace_back(i, j);
      }
    structure_.state_pattern = make_pattern(variables, variables, all);
    structure_.derivative_pattern = make_pattern(variables, variables, diagonal);
  }

  const Structure& structure() const override { return structure_; }
  void rhs(double t, std::span<const double> x, std::span<double> xp) override { rhs_(t, x, xp); }
  void residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> F) override {
    std::vector<double> f(x.size());
    rhs_(t, x, f);
    for (std::size_t j = 0; j < x.size(); ++j) F[j] = xp[j] - f[j];
  }
  void jacobian(double t, std::span<const double> x, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    std::vector<double> beside(x.begin(), x.end()), upper(x.size()), lower(x.size());
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double h = 1e-6;
      beside[j] = x[j] + h;
      rhs_(t, beside, upper);
      beside[j] = x[j] - h;
      rhs_(t, beside, lower);
      beside[j] = x[j];
      for (std::size_t i = 0; i < x.size(); ++i) Fx[j * x.size() + i] = -(upper[i] - lower[i]) / (2.0 * h);
      Fxp[j] = 1.0;
    }
  }
  void guards(double t, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    guards_(t, x, g);
  }

 private:
  Structure structure_;
  Rhs rhs_;
  Guards guards_;
};

}  // namespace saltus::testing
