#include "model/linear_guards.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <initializer_list>

namespace saltus {

namespace {

bool depends_on(const Expr& e, std::initializer_list<SymbolKind> kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [&](SymbolKind kind) { return !symbols_of(std::span(&e, 1), kind).empty(); });
}

}  // namespace

LinearGuards::LinearGuards(const Expr& time, std::span<const Expr> variables, std::span<const Expr> guards,
                           const std::vector<Expr>& data, const std::vector<Expr>& locks, const ProgramOptions& options) {
  std::vector<Expr> symbols(variables.begin(), variables.end());
  symbols.push_back(time);
  const SparseExprMatrix slopes = jacobian(guards, symbols);
  std::vector<std::vector<const SparseExprMatrix::Entry*>> rows(guards.size());
  for (const auto& entry : slopes.entries) rows[static_cast<std::size_t>(entry.row)].push_back(&entry);

  std::vector<std::pair<Expr, Expr>> zero;
  for (const Expr& lock : locks) zero.emplace_back(lock, lock);  // locks stay as they are
  for (const Expr& symbol : symbols) zero.emplace_back(symbol, Expr(0.0));
  std::vector<Expr> outputs;
  const auto add = [&](const Place& place, const Expr& value) {
    if (value.is_constant()) return put(place, value.constant_value());
    places_.push_back(place);
    outputs.push_back(value);
  };
  std::vector<Expr> chosen;
  for (std::size_t k = 0; k < guards.size(); ++k) {
    const bool linear =
        !depends_on(guards[k], {SymbolKind::derivative}) && std::all_of(rows[k].begin(), rows[k].end(), [](const auto* entry) {
          return !depends_on(entry->value, {SymbolKind::variable, SymbolKind::derivative, SymbolKind::time});
        });
    if (!linear) continue;
    chosen.push_back(guards[k]);
    guards_.push_back({.guard = static_cast<int>(k)});
    LinearGuard& g = guards_.back();
    for (const auto* entry : rows[k]) {
      if (entry->column == static_cast<int>(variables.size())) {
        add({guards_.size() - 1, -1}, entry->value);
        continue;
      }
      g.variables.push_back(entry->column);
      g.coefficients.push_back(0.0);
      add({guards_.size() - 1, static_cast<int>(g.variables.size()) - 1}, entry->value);
    }
  }
  const std::vector<Expr> constants = substitute(chosen, zero);
  for (std::size_t i = 0; i < constants.size(); ++i) add({i, -2}, constants[i]);
  if (outputs.empty()) return;
  using Groups = std::vector<std::vector<Expr>>;
  program_ = RunnableProgram(Program(Groups{data, locks}, Groups{outputs}, options));
  values_.resize(outputs.size());
}

void LinearGuards::put(const Place& place, double value) {
  LinearGuard& g = guards_[place.guard];
  (place.term == -2 ? g.constant : place.term == -1 ? g.time : g.coefficients[static_cast<std::size_t>(place.term)]) = value;
}

std::span<const LinearGuard> LinearGuards::at(std::span<const double> data, std::span<const double> locks) {
  if (!places_.empty()) {
    const double* in[] = {data.data(), locks.data()};
    double* const out[] = {values_.data()};
    program_(in, out);
    for (std::size_t i = 0; i < places_.size(); ++i) put(places_[i], values_[i]);
  }
  return guards_;
}

}  // namespace saltus
