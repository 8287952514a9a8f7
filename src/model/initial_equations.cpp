#include "model/initial_equations.hpp"

#include <saltus/expr/derivative.hpp>

namespace saltus {

InitialEquations::InitialEquations(const Symbols& s, const std::vector<Expr>& residuals, std::vector<std::string> names,
                                   std::vector<double> parameter_values, ProgramOptions options)
    : names_(std::move(names)), parameter_values_(std::move(parameter_values)) {
  using Groups = std::vector<std::vector<Expr>>;
  const Groups inputs{{s.time}, s.variables, s.derivatives, s.parameters, s.discretes, s.locks};
  std::vector<Expr> entries;
  const auto differentiate = [&](const std::vector<Expr>& symbols, std::vector<Place>& places) {
    for (const auto& entry : saltus::jacobian(residuals, symbols).entries) {
      places.push_back({entry.row, entry.column});
      entries.push_back(entry.value);
    }
  };
  differentiate(s.variables, state_places_);
  differentiate(s.derivatives, derivative_places_);
  residual_ = Program(inputs, Groups{residuals}, options);
  jacobian_ = Program(inputs, Groups{entries}, options);
  residual_work_ = residual_.workspace();
  jacobian_work_ = jacobian_.workspace();
  values_.resize(entries.size());
}

void InitialEquations::set_mode(const Mode& mode) {
  discrete_ = mode.discrete;
  locks_ = mode.locks;
}

void InitialEquations::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> h) {
  const double* in[] = {&t, x.data(), xp.data(), parameter_values_.data(), discrete_.data(), locks_.data()};
  double* const out[] = {h.data()};
  residual_(in, out, residual_work_);
}

void InitialEquations::jacobian(double t, std::span<const double> x, std::span<const double> xp, Matrix& hx,
                                Matrix& hxp) {
  const double* in[] = {&t, x.data(), xp.data(), parameter_values_.data(), discrete_.data(), locks_.data()};
  double* const out[] = {values_.data()};
  jacobian_(in, out, jacobian_work_);
  const double* value = values_.data();
  for (const auto& [row, column] : state_places_) hx(row, column) = *value++;
  for (const auto& [row, column] : derivative_places_) hxp(row, column) = *value++;
}

}  // namespace saltus
