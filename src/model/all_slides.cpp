#include "model/all_slides.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>

#include "model/resting_field.hpp"

namespace saltus {

namespace {

Expr choose(const Expr& active, const Expr& then, const Expr& otherwise) {
  return if_else(BoolExpr(active), then, otherwise);
}

/// The field with a weight for each surface, and what keeps the solution on the active ones.
struct WeightedField {
  std::vector<Expr> rhs, symbols;  ///< x' and the weights in it
  std::vector<Expr> speed;         ///< d/dt g, by surface
  SparseExprMatrix of_weights;     ///< its derivatives with respect to the weights
};

class Maker {
 public:
  Maker(const SurfaceBase& base, std::span<const SlidingSurface> candidates)
      : base_(base), candidates_(candidates), graph_(common_graph(base.equations.variables)) {}

  std::optional<AllSlides> make();

 private:
  void leave_out_those_that_decide_together();
  bool leave_out_unsolvable();
  void make_field();
  std::optional<std::vector<Expr>> solve() const;

  const SurfaceBase& base_;
  std::span<const SlidingSurface> candidates_;
  std::shared_ptr<Graph> graph_;
  AllSlides made_;
  WeightedField field_;
};

void Maker::leave_out_those_that_decide_together() {
  std::vector<Expr> locks, read = base_.rhs;
  read.insert(read.end(), base_.equations.guards.begin(), base_.equations.guards.end());
  for (const SlidingSurface& s : candidates_) locks.insert(locks.end(), s.locks.begin(), s.locks.end());
  std::unordered_set<NodeId> together;
  for (const Expr& lock : decide_together(read, locks)) together.insert(lock.id());
  for (std::size_t k = 0; k < candidates_.size(); ++k)
    if (std::none_of(candidates_[k].locks.begin(), candidates_[k].locks.end(),
                     [&](const Expr& lock) { return together.contains(lock.id()); }))
      made_.surfaces.push_back(static_cast<int>(k));
}

void Maker::make_field() {
  field_ = {};
  made_.active.clear();
  made_.weights.clear();
  std::vector<Expr> functions;
  for (const int k : made_.surfaces) {
    const SlidingSurface& s = candidates_[static_cast<std::size_t>(k)];
    const std::string number = std::to_string(k + 1);
    field_.symbols.emplace_back(graph_, graph_->symbol("weight " + number, SymbolKind::variable));
    made_.active.emplace_back(graph_, graph_->symbol("slides " + number, SymbolKind::parameter));
    functions.push_back(s.function);
    for (std::size_t i = 0; i < s.locks.size(); ++i)
      made_.weights.push_back({s.locks[i], s.weight_of(i, field_.symbols.back()), made_.active.back()});
  }
  field_.rhs = relax(base_.rhs, made_.weights);
  std::vector<Expr> along{base_.equations.time}, directions{Expr(1.0)};
  along.insert(along.end(), base_.equations.variables.begin(), base_.equations.variables.end());
  directions.insert(directions.end(), field_.rhs.begin(), field_.rhs.end());
  field_.speed = directional_derivative(functions, along, directions);
  field_.of_weights = jacobian(field_.speed, field_.symbols);
}

/// Surfaces whose speed their own weight does not change, and those whose weights are multiplied with weights. Returns
/// whether there were any.
bool Maker::leave_out_unsolvable() {
  std::vector<char> solvable(made_.surfaces.size(), 0);
  for (const auto& entry : field_.of_weights.entries)
    if (entry.row == entry.column) solvable[static_cast<std::size_t>(entry.row)] = 1;
  for (const auto& entry : jacobian(field_.of_weights.values(), field_.symbols).entries)
    solvable[static_cast<std::size_t>(entry.column)] = 0;
  std::vector<int> left;
  for (std::size_t k = 0; k < solvable.size(); ++k)
    if (solvable[k]) left.push_back(made_.surfaces[k]);
  std::swap(left, made_.surfaces);
  return made_.surfaces.size() != left.size();
}

/// Elimination with pivots on the diagonal, in an order that brings few new entries. In the row of a surface on which
/// the solution does not slide stands that its weight is zero. Empty if there would be many new entries.
std::optional<std::vector<Expr>> Maker::solve() const {
  const std::size_t p = made_.surfaces.size(), most_entries = 4 * (field_.of_weights.entries.size() + p);
  std::vector<std::map<int, Expr>> row(p);
  std::vector<std::set<int>> neighbours(p);  // rows with an entry in the column, and columns of the row
  std::size_t entries = 0;
  const auto connect = [&](int i, int j) {
    if (i == j) return;
    neighbours[static_cast<std::size_t>(i)].insert(j);
    neighbours[static_cast<std::size_t>(j)].insert(i);
  };
  std::vector<std::pair<Expr, Expr>> none;
  for (const Expr& s : field_.symbols) none.emplace_back(s, Expr(0.0));
  for (const Expr& lock : base_.equations.locks) none.emplace_back(lock, lock);
  const std::vector<Expr> values = substitute(field_.of_weights.values(), none);
  for (std::size_t n = 0; n < values.size(); ++n) {
    const int i = field_.of_weights.entries[n].row, j = field_.of_weights.entries[n].column;
    row[static_cast<std::size_t>(i)][j] =
        choose(made_.active[static_cast<std::size_t>(i)], values[n], Expr(i == j ? 1.0 : 0.0));
    connect(i, j);
  }
  std::vector<Expr> b = substitute(field_.speed, none);
  for (std::size_t i = 0; i < p; ++i) b[i] = choose(made_.active[i], -b[i], Expr(0.0));

  std::set<std::pair<std::size_t, int>> waiting;  // by number of neighbours
  for (std::size_t k = 0; k < p; ++k) waiting.emplace(neighbours[k].size(), static_cast<int>(k));
  std::vector<int> order;
  while (!waiting.empty()) {
    const int k = waiting.begin()->second;
    waiting.erase(waiting.begin());
    order.push_back(k);
    const auto pivot = static_cast<std::size_t>(k);
    const std::set<int> others = std::move(neighbours[pivot]);
    neighbours[pivot].clear();
    for (const int i : others) waiting.erase({neighbours[static_cast<std::size_t>(i)].size(), i});
    for (const int i : others) {
      const auto r = static_cast<std::size_t>(i);
      neighbours[r].erase(k);
      const auto below = row[r].find(k);
      if (below == row[r].end()) continue;
      const Expr factor = below->second / row[pivot].at(k);
      row[r].erase(below);
      for (const auto& [j, value] : row[pivot]) {
        if (j == k) continue;
        const auto [it, fresh] = row[r].try_emplace(j, 0.0);
        it->second = it->second - factor * value;
        if (fresh) connect(i, j);
      }
      b[r] = b[r] - factor * b[pivot];
    }
    for (const int i : others) waiting.emplace(neighbours[static_cast<std::size_t>(i)].size(), i);
    entries += row[pivot].size() + others.size();
    if (entries > most_entries) return std::nullopt;
  }
  std::vector<Expr> weights(p);
  for (std::size_t n = p; n-- > 0;) {
    const auto k = static_cast<std::size_t>(order[n]);
    Expr rest = b[k];
    for (const auto& [j, value] : row[k])
      if (j != static_cast<int>(k)) rest = rest - value * weights[static_cast<std::size_t>(j)];
    weights[k] = rest / row[k].at(static_cast<int>(k));
  }
  return weights;
}

std::optional<AllSlides> Maker::make() {
  leave_out_those_that_decide_together();
  do {
    if (made_.surfaces.size() < 2) return std::nullopt;
    make_field();
  } while (leave_out_unsolvable());
  std::vector<Expr> functions;
  for (const int k : made_.surfaces) functions.push_back(candidates_[static_cast<std::size_t>(k)].function);
  if (has_roots_on(functions, field_.rhs, base_.equations.locks)) return std::nullopt;
  const auto weights = solve();
  if (!weights) return std::nullopt;

  RecordedEquations& eq = made_.equations = base_.equations;
  std::vector<std::pair<Expr, Expr>> values;
  for (std::size_t k = 0; k < weights->size(); ++k) values.emplace_back(field_.symbols[k], (*weights)[k]);
  for (const Expr& lock : eq.locks) values.emplace_back(lock, lock);
  const std::vector<Expr> rhs = substitute(field_.rhs, values);
  for (std::size_t j = 0; j < rhs.size(); ++j) eq.equations[j] = der(eq.variables[j]) - rhs[j];
  eq.guards = substitute(relax(eq.guards, made_.weights), values);
  std::vector<Expr> in_locks;
  for (const OptionalWeight& w : made_.weights) in_locks.push_back(w.weight);
  in_locks = substitute(in_locks, values);
  for (std::size_t k = 0; k < in_locks.size(); ++k) made_.weights[k].weight = in_locks[k];
  for (std::size_t k = 0; k < weights->size(); ++k) {
    eq.guards.push_back(choose(made_.active[k], (*weights)[k], Expr(1.0)));
    eq.guards.push_back(choose(made_.active[k], 1.0 - (*weights)[k], Expr(1.0)));
    eq.invariants.push_back(choose(made_.active[k], functions[k], Expr(0.0)));
  }
  eq.data.insert(eq.data.end(), made_.active.begin(), made_.active.end());
  return std::move(made_);
}

}  // namespace

std::optional<AllSlides> all_slides(const SurfaceBase& base, std::span<const SlidingSurface> candidates) {
  return base.explicit_ode ? Maker(base, candidates).make() : std::nullopt;
}

}  // namespace saltus
