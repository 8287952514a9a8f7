#include "model/time_guards.hpp"

#include <saltus/expr/derivative.hpp>

#include <cmath>
#include <limits>

#include "model/expression_tests.hpp"

namespace saltus {

TimeGuards::TimeGuards(const Expr& time, std::span<const ModelGuards::Guard> guards, const std::vector<Expr>& parameters,
                       const std::vector<Expr>& discretes, const std::vector<Expr>& locks,
                       const ProgramOptions& options) {
  std::vector<Expr> outputs, slopes;
  std::vector<std::pair<Expr, Expr>> zero{{time, Expr(0.0)}};
  for (const Expr& lock : locks) zero.emplace_back(lock, lock);  // locks stay as they are
  for (std::size_t k = 0; k < guards.size(); ++k) {
    const Expr& g = guards[k].function;
    if (depends_on(g, {SymbolKind::variable, SymbolKind::derivative})) continue;
    if (!moves_between_events(g)) continue;  // of numbers that other relations choose: it jumps when they do
    const Expr slope = derivative(g, time);
    if (depends_on(slope, {SymbolKind::time})) continue;
    guards_.push_back(static_cast<int>(k));
    outputs.push_back(g);
    slopes.push_back(slope);
  }
  outputs = substitute(outputs, zero);
  outputs.insert(outputs.end(), slopes.begin(), slopes.end());
  using Groups = std::vector<std::vector<Expr>>;
  program_ = RunnableProgram(Program(Groups{parameters, discretes, locks}, Groups{outputs}, options));
  values_.resize(outputs.size());
}

// Times that agree within rounding errors (3 * 0.1 and 0.3) are one instant, the last of them.
double TimeGuards::next(const ModelGuards& sides, std::span<const double> parameters, const Mode& mode, double t,
                        int direction, std::vector<int>& fired) {
  const double never = direction * std::numeric_limits<double>::infinity();
  if (guards_.empty()) return never;
  const double* in[] = {parameters.data(), mode.discrete.data(), mode.locks.data()};
  double* const out[] = {values_.data()};
  program_(in, out);
  const std::size_t count = guards_.size();
  double first = never;
  for (std::size_t k = 0; k < count; ++k) {
    const int s = sides.side(mode, guards_[k]);
    double& when = values_[k];
    const double slope = values_[count + k];
    // only a guard that moves towards zero from its side can leave it
    const bool leaves = s != 0 && slope != 0.0 && slope * direction * s < 0.0;
    when = leaves ? -when / slope : never;
    if (!((when - t) * direction > 0.0)) when = never;
    if ((first - when) * direction > 0.0) first = when;
  }
  if (!std::isfinite(first)) return never;
  constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
  double next = first;
  for (std::size_t k = 0; k < count; ++k) {
    if (!((values_[k] - first) * direction <= rounding * std::abs(first))) continue;
    if ((values_[k] - next) * direction > 0.0) next = values_[k];
    fired.push_back(guards_[k]);
  }
  return next;
}

}  // namespace saltus
