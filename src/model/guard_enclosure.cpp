#include "model/guard_enclosure.hpp"

#include <algorithm>
#include <unordered_set>

namespace saltus {

GuardEnclosure::GuardEnclosure(const RecordedEquations& equations, std::span<const Expr> derivatives,
                               std::span<const int> read, bool with_derivatives)
    : guards_(equations.guards.size()), with_derivatives_(with_derivatives) {
  using Groups = std::vector<std::vector<Expr>>;
  const auto graph = common_graph(equations.variables);
  std::vector<NodeId> roots, leaves;
  for (const Expr& g : equations.guards) roots.push_back(g.in(*graph));
  for (const Expr& lock : equations.locks) leaves.push_back(lock.in(*graph));
  std::unordered_set<NodeId> occurring;
  for (const NodeId id : graph->reachable(roots, leaves)) {
    occurring.insert(id);
    available_ = available_ && graph->node(id).op != Op::external;
  }
  if (!available_) return;
  const auto keep = [&](const std::vector<Expr>& all, std::vector<int>& places) {
    std::vector<Expr> kept;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (!occurring.contains(all[k].in(*graph))) continue;
      kept.push_back(all[k]);
      places.push_back(static_cast<int>(k));
    }
    return kept;
  };
  std::vector<Expr> x, xp;
  const auto add = [&](std::size_t j) {
    x.push_back(equations.variables[j]);
    if (with_derivatives) xp.push_back(derivatives[j]);
  };
  for (const int j : read) add(static_cast<std::size_t>(j));
  for (std::size_t j = 0; read.empty() && j < equations.variables.size(); ++j) add(j);
  variables_ = x.size();
  const Groups inputs{{equations.time}, x, xp, keep(equations.data, data_), keep(equations.locks, locks_)};
  work_ = TaylorEnclosure(TaylorProgram(inputs, {true, true, true, false, false}, Groups{equations.guards}));
}

bool GuardEnclosure::enclose(Interval t, int order, std::span<const Interval> X, const Values& values,
                             std::span<const int> which, std::span<Interval> G) {
  if (!available_) return false;
  work_.select(which);
  work_.start(order);
  work_.set(0, 0, 0, t);
  if (order > 0) work_.set(0, 0, 1, 1.0);
  for (std::size_t i = 0; i < data_.size(); ++i)
    work_.set(3, static_cast<int>(i), 0, values.data[static_cast<std::size_t>(data_[i])]);
  for (std::size_t i = 0; i < locks_.size(); ++i)
    work_.set(4, static_cast<int>(i), 0, values.locks[static_cast<std::size_t>(locks_[i])]);
  for (int k = 0; k <= order; ++k) {
    const Interval* const row = X.data() + static_cast<std::size_t>(k) * variables_;
    for (std::size_t j = 0; j < variables_; ++j) {
      work_.set(1, static_cast<int>(j), k, row[j]);
      if (with_derivatives_) work_.set(2, static_cast<int>(j), k, Interval(k + 1.0) * row[variables_ + j]);
    }
    work_.advance(k);
    for (const int g : which)
      G[static_cast<std::size_t>(k) * guards_ + static_cast<std::size_t>(g)] = work_.get(0, g, k);
  }
  return true;
}

}  // namespace saltus
