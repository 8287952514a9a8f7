#include "model/clause_levels.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <set>
#include <unordered_map>

namespace saltus {

namespace {

/// From which level on a discrete variable has its value of the round.
class KnownFrom {
 public:
  explicit KnownFrom(std::span<const ModelData::Definition> definitions) {
    for (const auto& d : definitions)
      for (const Expr& symbol : symbols_of(std::span(&d.value, 1), SymbolKind::discrete)) users_[symbol.id()].push_back(d.discrete.id());
  }
  int level(const Expr& e) const {
    int result = 0;
    if (level_.empty()) return result;
    for (const Expr& symbol : symbols_of(std::span(&e, 1), SymbolKind::discrete))
      if (const auto it = level_.find(symbol.id()); it != level_.end()) result = std::max(result, it->second);
    return result;
  }
  /// Those that are defined by it follow; in a circle they share a level, and the search ends.
  void raise(NodeId symbol, int level) {
    std::vector<NodeId> open{symbol};
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      int& known = level_[id];
      if (known >= level) continue;
      known = level;
      if (const auto it = users_.find(id); it != users_.end()) open.insert(open.end(), it->second.begin(), it->second.end());
    }
  }

 private:
  std::unordered_map<NodeId, std::vector<NodeId>> users_;
  std::unordered_map<NodeId, int> level_;
};

std::set<NodeId> targets(std::span<const ModelData::Clause> clauses, std::span<const int> chain) {
  std::set<NodeId> result;
  for (const int k : chain)
    for (const auto& a : clauses[k].actions)
      if (a.kind == ModelData::Action::Kind::assign) result.insert(a.target.id());
  return result;
}

}  // namespace

std::vector<std::vector<int>> clause_levels(std::span<const ModelData::Clause> clauses, std::span<const ModelData::Definition> definitions) {
  std::vector<std::vector<int>> chains;
  std::vector<std::size_t> chain_of(clauses.size());
  for (std::size_t k = 0; k < clauses.size(); ++k) {
    const bool continues = clauses[k].after >= 0;
    chain_of[k] = continues ? chain_of[static_cast<std::size_t>(clauses[k].after)] : chains.size();
    if (!continues) chains.emplace_back();
    chains[chain_of[k]].push_back(static_cast<int>(k));
  }
  std::unordered_map<NodeId, int> assigned;  // by how many chains
  for (const std::vector<int>& chain : chains)
    for (const NodeId id : targets(clauses, chain)) ++assigned[id];
  KnownFrom known(definitions);
  std::vector<std::vector<int>> levels;
  for (const std::vector<int>& chain : chains) {
    if (clauses[chain.front()].samples) continue;
    int level = 0;
    for (const int k : chain) {
      level = std::max(level, known.level(clauses[k].condition.expr()));
      for (const auto& a : clauses[k].actions) level = std::max({level, known.level(a.value), known.level(a.only_if.expr())});
    }
    for (const NodeId id : targets(clauses, chain))
      if (assigned[id] == 1) known.raise(id, level + 1);
    if (levels.size() <= static_cast<std::size_t>(level)) levels.resize(static_cast<std::size_t>(level) + 1);
    levels[level].insert(levels[level].end(), chain.begin(), chain.end());
  }
  for (auto& list : levels) std::sort(list.begin(), list.end());
  return levels;
}

}  // namespace saltus
