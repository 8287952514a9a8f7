#include "model/initial_equations.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <utility>

#include "model/same_bits.hpp"

namespace saltus {

InitialEquations::InitialEquations(const Symbols& s, const std::vector<Expr>& residuals, std::vector<std::string> names,
                                   ProgramOptions options)
    : names_(std::move(names)) {
  using Groups = std::vector<std::vector<Expr>>;
  const Groups inputs{{s.time}, s.variables, s.derivatives, s.parameters, s.discretes, s.locks};
  const int n = static_cast<int>(s.variables.size());
  const auto differentiate = [&](const std::vector<Expr>& symbols, SparsePattern& pattern) {
    auto entries = saltus::jacobian(residuals, symbols).entries;
    std::ranges::sort(entries, {}, [](const auto& e) { return std::pair(e.column, e.row); });
    std::vector<std::pair<int, int>> places;
    std::vector<Expr> values;
    for (const auto& entry : entries) {
      places.emplace_back(entry.row, entry.column);
      values.push_back(entry.value);
    }
    pattern = make_pattern(count(), n, places);
    return values;
  };
  const std::vector<Expr> in_state = differentiate(s.variables, state_pattern_),
                          in_derivative = differentiate(s.derivatives, derivative_pattern_);
  residual_ = RunnableProgram(Program(inputs, Groups{residuals}, options));
  jacobian_ = RunnableProgram(Program(inputs, Groups{in_state, in_derivative}, options));
}

void InitialEquations::set_mode(const Mode& mode) {
  discrete_ = mode.discrete;
  locks_ = mode.locks;
}

bool InitialEquations::has_values_of(const Mode& mode) const {
  return discrete_.size() == mode.discrete.size() && locks_.size() == mode.locks.size() &&
         same_bits(discrete_, mode.discrete) && same_bits(locks_, mode.locks);
}

void InitialEquations::residual(double t, std::span<const double> x, std::span<const double> xp, std::span<double> h) {
  const double* in[] = {&t, x.data(), xp.data(), parameters_, discrete_.data(), locks_.data()};
  double* const out[] = {h.data()};
  residual_(in, out);
}

void InitialEquations::jacobian(double t, std::span<const double> x, std::span<const double> xp, std::span<double> hx,
                                std::span<double> hxp) {
  const double* in[] = {&t, x.data(), xp.data(), parameters_, discrete_.data(), locks_.data()};
  double* const out[] = {hx.data(), hxp.data()};
  jacobian_(in, out);
}

}  // namespace saltus
