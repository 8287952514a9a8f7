#include "model/linear_guards.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <initializer_list>

#include "model/expression_tests.hpp"

namespace saltus {

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
  std::vector<int> terms, of_terms;  // by guard: how many; their variables
  for (std::size_t k = 0; k < guards.size(); ++k) {
    const bool linear =
        !depends_on(guards[k], {SymbolKind::derivative}) && std::all_of(rows[k].begin(), rows[k].end(), [](const auto* entry) {
          return !depends_on(entry->value, {SymbolKind::variable, SymbolKind::derivative, SymbolKind::time});
        });
    if (!linear) continue;
    chosen.push_back(guards[k]);
    forms_.guards.push_back({.guard = static_cast<int>(k)});
    terms.push_back(0);
    for (const auto* entry : rows[k]) {
      if (entry->column == static_cast<int>(variables.size())) {
        add({forms_.guards.size() - 1, -1}, entry->value);
        continue;
      }
      ++terms.back();
      of_terms.push_back(entry->column);
      forms_.coefficients.push_back(0.0);
      add({forms_.guards.size() - 1, std::ssize(forms_.coefficients) - 1}, entry->value);
    }
  }
  forms_.variables = std::make_shared<const std::vector<int>>(std::move(of_terms));
  forms_.refer(terms);
  const std::vector<Expr> constants = substitute(chosen, zero);
  for (std::size_t i = 0; i < constants.size(); ++i) add({i, -2}, constants[i]);
  if (outputs.empty()) return;
  using Groups = std::vector<std::vector<Expr>>;
  program_ = RunnableProgram(Program(Groups{data, locks}, Groups{outputs}, options));
  values_.resize(outputs.size());
}

void LinearGuards::Forms::refer(std::span<const int> terms) {
  std::size_t begin = 0;
  for (std::size_t k = 0; k < guards.size(); ++k) {
    const auto count = static_cast<std::size_t>(terms[k]);
    guards[k].variables = std::span(*variables).subspan(begin, count);
    guards[k].coefficients = std::span<const double>(coefficients).subspan(begin, count);
    begin += count;
  }
}

LinearGuards::Forms& LinearGuards::Forms::operator=(const Forms& other) {
  if (this == &other) return *this;
  guards = other.guards;
  coefficients = other.coefficients;
  variables = other.variables;
  std::size_t begin = 0;
  for (LinearGuard& guard : guards) {
    guard.coefficients = std::span<const double>(coefficients).subspan(begin, guard.coefficients.size());
    begin += guard.coefficients.size();
  }
  return *this;
}

void LinearGuards::put(const Place& place, double value) {
  LinearGuard& g = forms_.guards[place.guard];
  (place.term == -2 ? g.constant : place.term == -1 ? g.time : forms_.coefficients[static_cast<std::size_t>(place.term)]) = value;
}

std::span<const LinearGuard> LinearGuards::at(std::span<const double> data, std::span<const double> locks) {
  if (!places_.empty()) {
    const double* in[] = {data.data(), locks.data()};
    double* const out[] = {values_.data()};
    program_(in, out);
    for (std::size_t i = 0; i < places_.size(); ++i) put(places_[i], values_[i]);
  }
  return forms_.guards;
}

}  // namespace saltus
