#include "sens/mode_tangents.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>

#include <algorithm>

#include "model/rehome.hpp"
#include "sens/tangent_conditions.hpp"

namespace saltus {

namespace {

using ExprLists = std::vector<std::vector<Expr>>;

std::vector<Expr> derivatives_of(const std::vector<Expr>& variables) {
  std::vector<Expr> result;
  for (const Expr& x : variables) result.push_back(der(x));
  return result;
}

void append(std::vector<Expr>& list, const std::vector<Expr>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

ModeTangents::ModeTangents(const RecordedSystem& system, std::span<const Expr> observed,
                           std::span<const DirectionInfo> directions)
    : observed_(observed.size()) {
  const GraphHandle graph = system.equations().variables.front().graph()->clone();
  RecordedEquations eq = system.equations();
  rehome(eq, graph);
  rhs_ = system.structure().explicit_ode ? system.right_hand_sides() : std::vector<Expr>{};
  rehome(rhs_, graph);
  std::vector<Expr> shown(observed.begin(), observed.end());
  rehome(shown, graph);
  time_ = eq.time.is_symbol() ? eq.time : Expr(graph, graph->symbol("time", SymbolKind::time));
  x_ = eq.variables;
  xp_ = derivatives_of(x_);
  data_ = eq.data;
  locks_ = eq.locks;
  guards_ = eq.guards;

  RecordedEquations all{.time = time_, .variables = x_, .equations = {}, .data = data_, .locks = locks_};
  const bool is_explicit = !rhs_.empty();
  const std::vector<Expr>& f = is_explicit ? rhs_ : eq.equations;
  const auto add_equations = [&](const std::vector<Expr>& right, const std::vector<Expr>& slopes) {
    for (std::size_t i = 0; i < right.size(); ++i)
      all.equations.push_back(is_explicit ? slopes[i] - right[i] : right[i]);
  };
  add_equations(f, xp_);
  all.invariants = eq.invariants;
  for (std::size_t j = 0; j < x_.size(); ++j) all.nominal.push_back(system.nominal(static_cast<int>(j)));
  const std::vector<double> nominal = all.nominal;

  symbols_ = {time_};
  append(symbols_, x_);
  append(symbols_, xp_);
  append(symbols_, data_);
  std::vector<Expr> outputs;
  const auto symbol = [&](const std::string& of, const std::string& by, SymbolKind kind) {
    return Expr(graph, graph->symbol(fmt::format("d({})/d({})", of, by), kind));
  };
  for (std::size_t k = 0; k <= directions.size(); ++k) {
    const std::string by = k == 0 ? "time" : directions[k - 1].name;
    const Expr moved = k == 0 ? Expr(1.0) : symbol("time", by, SymbolKind::parameter);
    std::vector<Expr> s, change{moved}, data_change;
    for (const Expr& x : x_) s.push_back(symbol(x.name(), by, SymbolKind::variable));
    const std::vector<Expr> sp = derivatives_of(s);
    for (const Expr& d : data_) data_change.push_back(k == 0 ? Expr(0.0) : symbol(d.name(), by, SymbolKind::parameter));
    append(change, s);
    append(change, sp);
    append(change, data_change);
    changes_.push_back(std::move(change));
    add_equations(along(k, f), sp);
    append(all.variables, s);
    append(all.invariants, along(k, eq.invariants));
    append(outputs, along(k, shown));
    if (k > 0) all.data.push_back(moved);
    if (k > 0) append(all.data, data_change);
    for (const double size : nominal) all.nominal.push_back(k == 0 ? size : size / directions[k - 1].scale);
  }
  std::vector<double> data_values = system.data();
  data_values.resize(all.data.size(), 0.0);
  observe_ =
      Program(ExprLists{{time_}, all.variables, derivatives_of(all.variables), all.data, locks_}, ExprLists{outputs});
  observe_work_ = observe_.workspace();
  const std::span<const double> lock_values = system.locks();
  tangents_ = std::make_unique<RecordedSystem>(std::move(all), std::move(data_values),
                                               std::vector<double>(lock_values.begin(), lock_values.end()));
}

std::vector<Expr> ModeTangents::along(std::size_t direction, const std::vector<Expr>& functions) const {
  if (functions.empty()) return {};
  return directional_derivative(functions, symbols_, changes_[direction]);
}

std::unique_ptr<ExtraConditions> ModeTangents::conditions(std::vector<Expr> residuals,
                                                          const RecordedSystem& tangents) const {
  rehome(residuals, x_.front().graph());
  std::vector<Expr> all;
  for (std::size_t k = 1; k < changes_.size(); ++k) append(all, along(k, residuals));
  return std::make_unique<TangentConditions>(tangents, all);
}

RecordedSystem ModeTangents::with_values(std::span<const double> data, std::span<const double> locks,
                                         std::span<const std::vector<double>> data_changes,
                                         std::span<const double> time_changes) const {
  std::vector<double> all(data.begin(), data.end());
  for (std::size_t k = 0; k < data_changes.size(); ++k) {
    all.push_back(time_changes.empty() ? 0.0 : time_changes[k]);
    all.insert(all.end(), data_changes[k].begin(), data_changes[k].end());
  }
  return tangents_->sibling(all, locks);
}

void ModeTangents::observe(const RecordedSystem& tangents, double t, std::span<const double> y,
                           std::span<const double> yp, std::span<double> out) const {
  const std::vector<double> values = tangents.data();
  const double* const in[] = {&t, y.data(), yp.data(), values.data(), tangents.locks().data()};
  double* const outs[] = {out.data()};
  observe_(in, outs, observe_work_);
}

Gradient ModeTangents::gradient(const Expr& f) const {
  return {f, {{time_}, x_, xp_, data_}, locks_};
}

Gradient& ModeTangents::guard(int number) {
  const auto [it, fresh] = guard_gradients_.try_emplace(number);
  if (fresh) it->second = gradient(guards_[static_cast<std::size_t>(number)]);
  return it->second;
}

}  // namespace saltus
