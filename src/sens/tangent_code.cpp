#include "sens/tangent_code.hpp"

#include <fmt/format.h>
#include <saltus/expr/derivative.hpp>

#include <utility>

#include "program/tape_chain.hpp"

namespace saltus {

namespace {

using ExprLists = std::vector<std::vector<Expr>>;
using Places = TapeChain::Places;
/// A longer tape would take more time to make than it saves.
constexpr std::size_t longest_step_tape = 60000;

Places joined(std::initializer_list<std::span<const TapeChain::Place>> lists) {
  Places all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace

TangentCode::TangentCode(const RecordedSystem& system, std::span<const Expr> observed)
    : graph_(system.equations().variables.front().graph()->clone()), observed_(observed.begin(), observed.end()) {
  RecordedEquations eq = system.equations();
  rehome(eq, graph_);
  rehome(observed_, graph_);
  if (system.structure().explicit_ode) f_ = system.right_hand_sides();
  rehome(f_, graph_);
  time_ = eq.time.is_symbol() ? eq.time : Expr(graph_, graph_->symbol("time", SymbolKind::time));
  x_ = eq.variables;
  data_ = eq.data;
  locks_ = eq.locks;
  guards_ = eq.guards;
  invariants_ = eq.invariants;
  for (std::size_t j = 0; j < x_.size(); ++j) nominal_.push_back(system.nominal(static_cast<int>(j)));
  const auto symbol = [&](const std::string& of, SymbolKind kind) {
    return Expr(graph_, graph_->symbol("change of " + of, kind));
  };
  for (const Expr& variable : x_) {
    xp_.push_back(der(variable));
    s_.push_back(symbol(variable.name(), SymbolKind::variable));
    sp_.push_back(der(s_.back()));
  }
  dt_ = symbol("time", SymbolKind::parameter);
  for (const Expr& value : data_) dd_.push_back(symbol(value.name(), SymbolKind::parameter));
}

/// The derivatives of functions along the direction.
std::vector<Expr> TangentCode::along(const std::vector<Expr>& functions) const {
  if (functions.empty()) return {};
  std::vector<Expr> symbols{time_}, change{dt_};
  for (const auto& [from, to] : {std::pair(&x_, &s_), std::pair(&xp_, &sp_), std::pair(&data_, &dd_)}) {
    symbols.insert(symbols.end(), from->begin(), from->end());
    change.insert(change.end(), to->begin(), to->end());
  }
  return directional_derivative(functions, symbols, change);
}

Program TangentCode::make(const std::vector<Expr>& outputs) const {
  return Program(ExprLists{{time_}, x_, xp_, s_, sp_, {dt_}, data_, dd_, locks_}, ExprLists{outputs});
}

const Program& TangentCode::known(Program& program, auto outputs) const {
  const std::lock_guard lock(making_);
  if (program.empty()) program = make(outputs());
  return program;
}

const Program& TangentCode::slopes() const {
  return known(slopes_, [&] {
    std::vector<Expr> all = f_;
    for (const Expr& e : along(f_)) all.push_back(e);
    return all;
  });
}

const Program& TangentCode::observation() const {
  return known(observation_, [&] { return along(observed_); });
}

const Program& TangentCode::invariant_tangents() const {
  return known(invariant_tangents_, [&] {
    std::vector<Expr> all = along(invariants_);
    for (const Expr& g : invariants_)
      for (const Expr& variable : x_) all.push_back(derivative(g, variable));
    return all;
  });
}

const TangentCode::Jacobian& TangentCode::jacobian() const {
  const std::lock_guard lock(making_);
  if (jacobian_) return *jacobian_;
  jacobian_ = std::make_unique<Jacobian>();
  const int n = static_cast<int>(x_.size());
  std::vector<Expr> symbols = x_, values, of_data;
  symbols.insert(symbols.end(), data_.begin(), data_.end());
  SparseExprMatrix matrix = saltus::jacobian(f_, symbols);
  std::vector<char> has_diagonal(x_.size(), 0);
  for (const auto& e : matrix.entries)
    if (e.row == e.column) has_diagonal[static_cast<std::size_t>(e.row)] = 1;
  for (int j = 0; j < n; ++j)
    if (!has_diagonal[static_cast<std::size_t>(j)]) matrix.entries.push_back({j, j, Expr(0.0)});
  matrix.sort_by_columns();
  std::vector<std::pair<int, int>> places;
  for (const auto& entry : matrix.entries)
    if (entry.column < n) {
      places.emplace_back(entry.row, entry.column);
      values.push_back(entry.value);
    } else {
      jacobian_->by_data.push_back({entry.row, entry.column - n});
      of_data.push_back(entry.value);
    }
  jacobian_->by_x = make_pattern(n, n, places);
  jacobian_->program = Program(ExprLists{{time_}, x_, data_, locks_}, ExprLists{values, of_data});
  return *jacobian_;
}

/// The stages of x and s side by side: k_i = f(y_i), l_i = f_x(y_i) s_i + f_d dd, and sums with the same weights.
std::unique_ptr<TapeRunner> TangentCode::make_step(const Tableau& tableau, int lanes) const {
  const std::size_t n = x_.size(), width = tableau.c.size(), last = static_cast<std::size_t>(tableau.stages) - 1;
  std::vector<Expr> rhs = f_, y = x_;
  std::vector<Expr> still{time_}, change{Expr(0.0)};
  for (const auto& [from, to] : {std::pair(&x_, &s_), std::pair(&data_, &dd_)}) {
    still.insert(still.end(), from->begin(), from->end());
    change.insert(change.end(), to->begin(), to->end());
  }
  for (const Expr& e : directional_derivative(f_, still, change)) rhs.push_back(e);
  y.insert(y.end(), s_.begin(), s_.end());
  const Tape slopes = lower(ExprLists{{time_}, y, data_, dd_, locks_}, ExprLists{rhs});
  if (slopes.code.size() * width > longest_step_tape) return nullptr;

  TapeChain chain;
  const Places t = chain.input(1), h = chain.input(1), x = chain.input(n), s = chain.input(n);
  const Places constant = joined({chain.input(data_.size()), chain.input(dd_.size()), chain.input(locks_.size())});
  const Places start = joined({x, s});
  Places k;  // slopes of x and s of all stages so far
  /// base + h sum_i weights_i k_i; without a base the sum alone.
  const auto sum = [&](std::span<const double> weights, const Places& base, double c) {
    auto graph = std::make_shared<Graph>();
    const auto symbols = [&](std::size_t count) {
      std::vector<Expr> list;
      while (list.size() < count) list.emplace_back(graph, graph->symbol("v", SymbolKind::parameter));
      return list;
    };
    const std::vector<Expr> time = symbols(1), size = symbols(1), from = symbols(base.size()),
                            slope = symbols(k.size());
    std::vector<Expr> values;
    if (!base.empty()) values.push_back(time[0] + c * size[0]);
    for (std::size_t j = base.empty() ? n : 0; j < 2 * n; ++j) {
      Expr total = 0.0;
      for (std::size_t i = 0; i < k.size() / (2 * n); ++i)
        if (weights[i] != 0.0) total = total + weights[i] * slope[i * 2 * n + j];
      values.push_back(base.empty() ? size[0] * total : from[j] + size[0] * total);
    }
    return chain.append(lower(ExprLists{time, size, from, slope}, ExprLists{values}), joined({t, h, base, k}));
  };
  const auto append_stage = [&](Places argument) {
    const Places slope = chain.append(slopes, joined({argument, constant}));
    k.insert(k.end(), slope.begin(), slope.end());
  };
  append_stage(joined({t, start}));
  Places end;
  for (std::size_t i = 1; i <= last; ++i) {
    Places argument = sum(std::span(tableau.a).subspan(i * width, i), start, tableau.c[i]);
    const bool needed = i < last || tableau.error[last] != 0.0;
    if (i == last) end.assign(argument.begin() + 1, argument.end());
    if (needed) append_stage(std::move(argument));
  }
  chain.output(std::span(end).first(n));
  chain.output(std::span(end).last(n));
  for (const std::vector<double>* weights : {&tableau.error, &tableau.second_error})
    if (!weights->empty()) chain.output(sum(*weights, {}, 0.0));
  return std::make_unique<TapeRunner>(chain.finish(), lanes);
}

const TapeRunner* TangentCode::step(const Tableau& tableau, int lanes) const {
  const std::lock_guard lock(making_);
  const auto [it, fresh] = steps_.try_emplace({tableau.name, lanes});
  if (fresh) it->second = make_step(tableau, lanes);
  return it->second.get();
}

Gradient TangentCode::gradient(std::map<int, Gradient>& known, int number, auto function) const {
  const std::lock_guard lock(making_);
  const auto [it, fresh] = known.try_emplace(number);
  if (fresh) it->second = Gradient(function(), {{time_}, x_, xp_, data_}, locks_);
  return it->second.with_own_memory();
}

Gradient TangentCode::guard(int number) const {
  return gradient(guard_gradients_, number, [&] { return guards_[static_cast<std::size_t>(number)]; });
}

Gradient TangentCode::guard_speed(int number) const {
  return gradient(speed_gradients_, number, [&] {
    std::vector<Expr> symbols{time_}, change{Expr(1.0)};
    symbols.insert(symbols.end(), x_.begin(), x_.end());
    change.insert(change.end(), f_.begin(), f_.end());
    return directional_derivative(std::span(&guards_[static_cast<std::size_t>(number)], 1), symbols, change).front();
  });
}

}  // namespace saltus
