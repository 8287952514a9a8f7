#include "model/explicit_form.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

namespace {

/// Whether nothing but data occurs in an expression.
bool is_fixed(const Expr& e) {
  const std::span<const Expr> one(&e, 1);
  for (const SymbolKind kind : {SymbolKind::variable, SymbolKind::derivative, SymbolKind::time})
    if (!symbols_of(one, kind).empty()) return false;
  return locks_of(one).empty();
}

}  // namespace

ExplicitForm::ExplicitForm(RecordedEquations& eq, const std::vector<Expr>& derivatives, std::span<const double> data) {
  const std::size_t n = eq.variables.size();
  if (eq.equations.size() != n) return;
  const SparseExprMatrix m = jacobian(eq.equations, derivatives);
  if (m.entries.size() != n) return;
  std::vector<int> equation_of(n, -1);
  std::vector<char> taken(n, 0);
  std::vector<Expr> coefficient(n);
  for (const auto& entry : m.entries) {
    if (!is_fixed(entry.value) || equation_of[entry.column] >= 0 || taken[entry.row]) return;
    equation_of[entry.column] = entry.row;
    taken[entry.row] = 1;
    coefficient[entry.column] = entry.value;
  }
  std::vector<Expr> in_data;
  for (const Expr& c : coefficient)
    if (!c.is_constant()) in_data.push_back(c);
  coefficient_count_ = in_data.size();
  using Groups = std::vector<std::vector<Expr>>;
  if (depends_on_data()) coefficients_ = Program(Groups{eq.data}, Groups{in_data}, {.backend = Backend::interpreter});
  if (depends_on_data() && !nonzero(data)) return;
  std::vector<std::pair<Expr, Expr>> without, with;
  for (const Expr& lock : eq.locks) {  // locks stay as they are, also those with derivatives inside
    without.emplace_back(lock, lock);
    with.emplace_back(lock, lock);
  }
  for (const Expr& d : derivatives) without.emplace_back(d, Expr(0.0));
  const std::vector<Expr> rest = substitute(eq.equations, without);
  std::vector<std::string> names;
  for (std::size_t j = 0; j < n; ++j) {
    f_.push_back(-rest[equation_of[j]] / coefficient[j]);
    if (!eq.equation_names.empty()) names.push_back(eq.equation_names[equation_of[j]]);
  }
  found_ = true;
  eq.equation_names = names;
  for (std::size_t j = 0; j < n; ++j) {
    eq.equations[j] = derivatives[j] - f_[j];
    with.emplace_back(derivatives[j], f_[j]);
  }
  eq.guards = substitute(eq.guards, with);
}

bool ExplicitForm::nonzero(std::span<const double> data) const {
  Workspace w = coefficients_.workspace();
  std::vector<double> values(coefficient_count_);
  const double* in[] = {data.data()};
  double* const out[] = {values.data()};
  coefficients_(in, out, w);
  return std::all_of(values.begin(), values.end(), [](double v) { return v != 0.0 && std::isfinite(v); });
}

}  // namespace saltus
