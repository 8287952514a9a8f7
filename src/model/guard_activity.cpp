#include "model/guard_activity.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace saltus {

namespace {
// Sides are asked for often: what takes more steps than this to find out, twenty alternatives down a chain, counts as asked for.
constexpr int most_steps = 64;
}  // namespace

/// Goes through the expressions from the roots down and finds the region of each node.
class GuardActivity::Search {
 public:
  Search(GuardActivity& result, const Graph& graph, const Setup& setup) : result_(result), graph_(graph), region_(graph.size(), nowhere) {
    result.regions_.assign(2, {});
    // a relation on numbers that other relations choose has no guard: while these are not watched, its lock may be out of date
    std::vector<char> current(setup.locks.size(), 0);
    for (const std::vector<int>& locks : setup.guard_locks)
      for (const int k : locks) current[static_cast<std::size_t>(k)] = 1;
    for (std::size_t k = 0; k < setup.locks.size(); ++k) {
      if (graph.node(setup.locks[k].id()).op == Op::floor) continue;
      const Expr function = switching_function(setup.locks[k]);
      if (current[k] || locks_of(std::span(&function, 1)).empty()) name(setup.locks[k].id(), {Truth::Kind::lock, static_cast<int>(k), -1});
    }
    for (std::size_t k = 0; k < setup.discretes.size(); ++k) name(setup.discretes[k].id(), {Truth::Kind::discrete, static_cast<int>(k), -1});
    for (const auto& [symbol, before] : setup.pre_discretes)
      if (const auto it = truth_.find(symbol.id()); it != truth_.end()) truth_.emplace(before.id(), it->second);
    std::vector<NodeId> roots;
    for (const Expr& e : setup.roots)
      if (e.graph()) roots.push_back(e.id());
    const std::vector<NodeId> nodes = graph.reachable(roots);
    for (const NodeId id : nodes) take_apart(id);
    for (const NodeId id : roots) region_[id] = everywhere;
    for (auto id = nodes.rbegin(); id != nodes.rend(); ++id) pass_on(*id);  // operands come after what they are operands of
  }

  int region(NodeId id) const { return region_[id]; }

  /// The region of what is asked for by any of these entries.
  int joint(Region entries) {
    std::sort(entries.begin(), entries.end());
    entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
    for (std::size_t k = 0; k < entries.size(); ++k) {  // in both branches of a choice
      Entry other = entries[k];
      other.kind = Entry::Kind::if_false;
      if (entries[k].kind != Entry::Kind::if_true || !std::binary_search(entries.begin(), entries.end(), other)) continue;
      std::erase(entries, other);
      entries[k] = {Entry::Kind::plain, other.around, -1, -1};
      return joint(std::move(entries));
    }
    const auto plain = [](const Entry& e) { return e.kind == Entry::Kind::plain; };
    if (std::any_of(entries.begin(), entries.end(), [&](const Entry& e) { return plain(e) && e.around == everywhere; })) return everywhere;
    if (std::any_of(entries.begin(), entries.end(), [](const Entry& e) { return e.around == too_deep; })) return too_deep;
    // what is asked for with all of a region is asked for in each part of it
    std::erase_if(entries, [&](const Entry& e) {
      return !plain(e) && std::binary_search(entries.begin(), entries.end(), Entry{Entry::Kind::plain, e.around, -1, -1});
    });
    if (entries.empty()) return nowhere;
    if (entries.size() == 1 && plain(entries.front())) return entries.front().around;
    int steps = 1;
    for (const Entry& e : entries) steps += steps_of_region_[static_cast<std::size_t>(e.around)] + steps_of_truth(e.a) + steps_of_truth(e.b);
    if (steps > most_steps) return too_deep;
    const auto [it, fresh] = known_regions_.try_emplace(entries, static_cast<int>(result_.regions_.size()));
    if (fresh) {
      result_.regions_.push_back(std::move(entries));
      steps_of_region_.push_back(steps);
    }
    return it->second;
  }

 private:
  int steps_of_truth(int truth) const { return truth < 0 ? 0 : steps_of_truth_[static_cast<std::size_t>(truth)]; }

  void name(NodeId id, const Truth& truth) { truth_.emplace(id, keep(truth)); }

  int keep(const Truth& truth) {
    const bool leaf = truth.kind == Truth::Kind::lock || truth.kind == Truth::Kind::discrete;
    const int steps = leaf ? 1 : 1 + steps_of_truth(truth.a) + steps_of_truth(truth.b);
    if (steps > most_steps) return keep({});
    const auto [it, fresh] = known_truths_.try_emplace(truth, static_cast<int>(result_.truths_.size()));
    if (fresh) {
      result_.truths_.push_back(truth);
      steps_of_truth_.push_back(steps);
    }
    return it->second;
  }

  int truth(NodeId id) {
    const auto it = truth_.find(id);
    return it != truth_.end() ? it->second : keep({});
  }

  void take_apart(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.op == Op::logical_not) name(id, {Truth::Kind::negation, truth(n.a), -1});
    if (n.op == Op::logical_and) name(id, {Truth::Kind::conjunction, truth(n.a), truth(n.b)});
    if (n.op == Op::logical_or) name(id, {Truth::Kind::disjunction, truth(n.a), truth(n.b)});
  }

  void pass_on(NodeId id) {
    if (const auto it = entries_.find(id); it != entries_.end()) {
      if (region_[id] != everywhere) region_[id] = joint(std::move(it->second));
      entries_.erase(it);
    }
    const int here = region_[id];
    if (here == nowhere) return;
    const Node& n = graph_.node(id);
    switch (n.op) {
      case Op::select:
        ask(n.a, {Entry::Kind::plain, here, -1, -1});
        ask(n.b, {Entry::Kind::if_true, here, truth(n.a), -1});
        ask(n.c, {Entry::Kind::if_false, here, truth(n.a), -1});
        break;
      // one operand that decides is enough
      case Op::logical_and:
        ask(n.a, {Entry::Kind::first_of_and, here, truth(n.a), truth(n.b)});
        ask(n.b, {Entry::Kind::if_true, here, truth(n.a), -1});
        break;
      case Op::logical_or:
        ask(n.a, {Entry::Kind::first_of_or, here, truth(n.a), truth(n.b)});
        ask(n.b, {Entry::Kind::if_false, here, truth(n.a), -1});
        break;
      default: graph_.for_each_operand(id, [&](NodeId operand) { ask(operand, {Entry::Kind::plain, here, -1, -1}); });
    }
  }

  void ask(NodeId id, Entry entry) {
    if (region_[id] == everywhere) return;
    const bool known = (entry.a < 0 || result_.truths_[static_cast<std::size_t>(entry.a)].kind != Truth::Kind::unknown) &&
                       (entry.b < 0 || result_.truths_[static_cast<std::size_t>(entry.b)].kind != Truth::Kind::unknown);
    if (!known) entry = {Entry::Kind::plain, entry.around, -1, -1};  // it may be either
    if (entry.kind == Entry::Kind::plain && entry.around == everywhere)
      region_[id] = everywhere;
    else
      entries_[id].push_back(entry);
  }

  GuardActivity& result_;
  const Graph& graph_;
  std::vector<int> region_;  // by node; final once the node has been passed
  std::unordered_map<NodeId, Region> entries_;  // of nodes that have not been passed
  std::unordered_map<NodeId, int> truth_;
  std::vector<int> steps_of_truth_, steps_of_region_{0, 0};  // to find out
  std::map<Truth, int> known_truths_;
  std::map<Region, int> known_regions_;
};

GuardActivity::GuardActivity(const Setup& setup) : guard_of_lock_(setup.locks.size(), -1) {
  if (setup.guard_locks.empty()) return;
  Search search(*this, *setup.locks.front().graph(), setup);
  for (std::size_t g = 0; g < setup.guard_locks.size(); ++g) {
    Region entries;
    for (const int lock : setup.guard_locks[g]) {
      guard_of_lock_[static_cast<std::size_t>(lock)] = static_cast<int>(g);
      const int region = search.region(setup.locks[static_cast<std::size_t>(lock)].id());
      if (region != nowhere) entries.push_back({Entry::Kind::plain, region, -1, -1});
    }
    region_of_guard_.push_back(search.joint(std::move(entries)));
    if (region_of_guard_.back() > too_deep) changing_.push_back(static_cast<int>(g));
  }
}

bool GuardActivity::asked_inside(int region, const Mode& mode) const {
  while (region > too_deep) {
    const Region& entries = regions_[static_cast<std::size_t>(region)];
    if (entries.size() > 1)
      return std::any_of(entries.begin(), entries.end(), [&](const Entry& e) { return holds(e, mode) && asked(e.around, mode); });
    if (!holds(entries.front(), mode)) return false;
    region = entries.front().around;
  }
  return region != nowhere;
}

bool GuardActivity::holds(const Entry& e, const Mode& mode) const {
  switch (e.kind) {
    case Entry::Kind::plain: return true;
    case Entry::Kind::if_true: return may_be(e.a, true, mode);
    case Entry::Kind::if_false: return may_be(e.a, false, mode);
    case Entry::Kind::first_of_and: return may_be(e.a, false, mode) || may_be(e.b, true, mode);
    case Entry::Kind::first_of_or: return may_be(e.a, true, mode) || may_be(e.b, false, mode);
  }
  return true;
}

bool GuardActivity::may_be(const Truth& t, bool value, const Mode& mode) const {
  switch (t.kind) {
    case Truth::Kind::lock:
      // on a surface both branches are at work
      if (std::binary_search(mode.sliding.begin(), mode.sliding.end(), guard_of_lock_[static_cast<std::size_t>(t.a)]))
        return true;
      return (mode.locks[static_cast<std::size_t>(t.a)] != 0.0) == value;
    case Truth::Kind::discrete: return (mode.discrete[static_cast<std::size_t>(t.a)] != 0.0) == value;
    case Truth::Kind::negation: return may_be(t.a, !value, mode);
    case Truth::Kind::conjunction:
    case Truth::Kind::disjunction: {
      const bool both = value == (t.kind == Truth::Kind::conjunction);
      const bool first = may_be(t.a, value, mode);
      return both ? first && may_be(t.b, value, mode) : first || may_be(t.b, value, mode);
    }
    case Truth::Kind::unknown: break;
  }
  return true;
}

void GuardActivity::mark_deciding(std::vector<char>& discretes, std::vector<char>& locks) const {
  std::vector<char> seen(truths_.size(), 0);
  std::vector<int> open;
  const auto visit = [&](int truth) {
    if (truth < 0 || seen[static_cast<std::size_t>(truth)]) return;
    seen[static_cast<std::size_t>(truth)] = 1;
    open.push_back(truth);
  };
  for (const Region& region : regions_)
    for (const Entry& entry : region) {
      visit(entry.a);
      visit(entry.b);
    }
  while (!open.empty()) {
    const Truth& t = truths_[static_cast<std::size_t>(open.back())];
    open.pop_back();
    switch (t.kind) {
      case Truth::Kind::lock: locks[static_cast<std::size_t>(t.a)] = 1; break;
      case Truth::Kind::discrete: discretes[static_cast<std::size_t>(t.a)] = 1; break;
      case Truth::Kind::unknown: break;
      default:
        visit(t.a);
        visit(t.b);
    }
  }
}

}  // namespace saltus
