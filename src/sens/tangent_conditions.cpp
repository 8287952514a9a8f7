#include "sens/tangent_conditions.hpp"

#include <saltus/expr/derivative.hpp>

namespace saltus {

TangentConditions::TangentConditions(const RecordedSystem& tangents, const std::vector<Expr>& residuals)
    : count_(static_cast<int>(residuals.size())), data_(tangents.data()) {
  using Groups = std::vector<std::vector<Expr>>;
  const RecordedEquations& eq = tangents.equations();
  locks_.assign(tangents.locks().begin(), tangents.locks().end());
  std::vector<Expr> slopes;
  for (const Expr& y : eq.variables) slopes.push_back(der(y));
  const auto differentiate = [&](const std::vector<Expr>& symbols, SparsePattern& pattern) {
    SparseExprMatrix matrix = saltus::jacobian(residuals, symbols);
    matrix.sort_by_columns();
    pattern = make_pattern(count_, static_cast<int>(symbols.size()), matrix.places());
    return matrix.values();
  };
  const Groups inputs{{eq.time}, eq.variables, slopes, eq.data, eq.locks};
  const std::vector<Expr> by_state = differentiate(eq.variables, state_pattern_),
                          by_slope = differentiate(slopes, derivative_pattern_);
  residual_ = Program(inputs, Groups{residuals});
  jacobian_ = Program(inputs, Groups{by_state, by_slope});
  residual_work_ = residual_.workspace();
  jacobian_work_ = jacobian_.workspace();
}

void TangentConditions::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> h) {
  const double* const in[] = {&t, x.data(), xp.data(), data_.data(), locks_.data()};
  double* const out[] = {h.data()};
  residual_(in, out, residual_work_);
}

void TangentConditions::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> hx,
                                 std::span<double> hxp) {
  const double* const in[] = {&t, x.data(), xp.data(), data_.data(), locks_.data()};
  double* const out[] = {hx.data(), hxp.data()};
  jacobian_(in, out, jacobian_work_);
}

}  // namespace saltus
