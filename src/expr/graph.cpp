#include <saltus/expr/graph.hpp>

#include <algorithm>
#include <bit>
#include <cmath>

#include "expr/opposite_relation.hpp"

namespace saltus {

namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

std::uint64_t hash(const Node& n) {
  return mix((std::uint64_t{n.a} << 32 | n.b) + mix(std::uint64_t{n.c} << 8 | static_cast<std::uint64_t>(n.op)));
}

}  // namespace

Graph::Graph() : table_(256, no_node) {}

Graph::Graph(const Graph& other)
    : nodes_(other.nodes_),
      constants_(other.constants_),
      symbols_(other.symbols_),
      calls_(other.calls_),
      table_(other.table_),
      derivatives_(other.derivatives_),
      written_(other.written_),
      texts_(other.texts_) {}

std::shared_ptr<Graph> Graph::clone() const {
  return std::shared_ptr<Graph>(new Graph(*this));
}

void Graph::require_growing() const {
  if (frozen_)
    throw UsageError(
        "the graph of a compiled model does not grow: build new expressions in the graph of the Model, or in a clone");
}

void Graph::grow() {
  std::vector<NodeId> table(table_.size() * 2, no_node);
  const std::size_t mask = table.size() - 1;
  for (const NodeId id : table_) {
    if (id == no_node) continue;
    std::size_t k;
    if (nodes_[id].op == Op::constant)
      k = mix(std::bit_cast<std::uint64_t>(constant_value(id))) & mask;
    else
      k = hash(nodes_[id]) & mask;
    while (table[k] != no_node) k = (k + 1) & mask;
    table[k] = id;
  }
  table_.swap(table);
}

NodeId Graph::intern(const Node& n) {
  if (!frozen_ && nodes_.size() * 2 >= table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  std::size_t k = hash(n) & mask;
  while (table_[k] != no_node) {
    if (nodes_[table_[k]] == n) return table_[k];
    k = (k + 1) & mask;
  }
  require_growing();
  if (nodes_.size() >= no_node - 1) throw UsageError("the expression graph is full (2^32 nodes)");
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(n);
  table_[k] = id;
  return id;
}

NodeId Graph::constant(double value) {
  if (value == 0.0) value = 0.0;  // one zero: -0.0 and 0.0 are the same constant
  if (!frozen_ && nodes_.size() * 2 >= table_.size()) grow();
  const std::size_t mask = table_.size() - 1;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  std::size_t k = mix(bits) & mask;
  while (table_[k] != no_node) {
    const NodeId id = table_[k];
    if (nodes_[id].op == Op::constant && std::bit_cast<std::uint64_t>(constant_value(id)) == bits) return id;
    k = (k + 1) & mask;
  }
  require_growing();
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({Op::constant, static_cast<NodeId>(constants_.size())});
  constants_.push_back(value);
  table_[k] = id;
  return id;
}

NodeId Graph::symbol(const std::string& name, SymbolKind kind) {
  require_growing();
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back({Op::symbol, static_cast<NodeId>(symbols_.size())});  // never shared, so not in the table
  symbols_.push_back({name, kind, id});
  derivatives_.push_back(no_node);
  return id;
}

NodeId Graph::derivative_of(NodeId variable) {
  const NodeId index = nodes_[variable].a;
  if (derivatives_[index] == no_node) {
    const NodeId id = symbol("der(" + symbols_[index].name + ")", SymbolKind::derivative);
    symbols_.back().base = variable;
    derivatives_[index] = id;
  }
  return derivatives_[index];
}

NodeId Graph::call(std::shared_ptr<const ExternalFunction> function, std::vector<NodeId> arguments, int output) {
  if (static_cast<int>(arguments.size()) != function->inputs)
    throw UsageError("external function '" + function->name + "' takes " + std::to_string(function->inputs) +
                     " arguments, got " + std::to_string(arguments.size()));
  if (output < 0 || output >= function->outputs)
    throw UsageError("external function '" + function->name + "' has " + std::to_string(function->outputs) +
                     " outputs; there is no output " + std::to_string(output));
  // Calls are few, and the outputs of one call are usually asked for together: a short look back finds the same call.
  const std::size_t look_back = calls_.size() > 256 ? calls_.size() - 256 : 0;
  std::size_t index = calls_.size();
  for (std::size_t k = calls_.size(); k-- > look_back && index == calls_.size();)
    if (calls_[k].function == function && calls_[k].arguments == arguments) index = k;
  if (index == calls_.size()) {
    require_growing();
    calls_.push_back({std::move(function), std::move(arguments)});
  }
  return intern({Op::external, static_cast<NodeId>(index), static_cast<NodeId>(output)});
}

void Graph::note_written(NodeId relation) {
  if (!frozen_) written_.insert(relation);
}

void Graph::set_text(NodeId id, std::string text) {
  if (frozen_) return;
  if (nodes_[id].op == Op::logical_not)  // x < 0 is not (x >= 0), which then has a text as well
    if (std::string opposite = opposite_relation(text); !opposite.empty())
      texts_.try_emplace(nodes_[id].a, std::move(opposite));
  texts_.try_emplace(id, std::move(text));
}

const std::string* Graph::text_of(NodeId id) const {
  if (texts_.empty()) return nullptr;
  const auto it = texts_.find(id);
  return it == texts_.end() ? nullptr : &it->second;
}

std::size_t Graph::memory() const {
  return nodes_.capacity() * sizeof(Node) + constants_.capacity() * sizeof(double) +
         symbols_.capacity() * sizeof(Symbol) + table_.capacity() * sizeof(NodeId) +
         mark_.capacity() * sizeof(std::uint32_t) + derivatives_.capacity() * sizeof(NodeId);
}

std::vector<NodeId> Graph::reachable(std::span<const NodeId> roots, std::span<const NodeId> leaves) const {
  const std::lock_guard lock(marking_);
  mark_.resize(nodes_.size(), 0);
  epoch_ += 2;
  if (epoch_ >= 0xfffffff0u) {
    std::fill(mark_.begin(), mark_.end(), 0);
    epoch_ = 2;
  }
  const std::uint32_t leaf = epoch_, seen = epoch_ + 1;
  for (const NodeId id : leaves) mark_[id] = leaf;
  std::vector<NodeId> found, stack(roots.begin(), roots.end());
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (mark_[id] == seen) continue;
    const bool enter = mark_[id] != leaf;
    mark_[id] = seen;
    found.push_back(id);
    if (enter)
      for_each_operand(id, [&](NodeId operand) {
        if (mark_[operand] != seen) stack.push_back(operand);
      });
  }
  // in the order of their numbers: those of a large part of the graph by a look at all marks
  constexpr std::size_t sparse = 16;
  if (found.empty() || nodes_.size() / sparse > found.size()) {
    std::sort(found.begin(), found.end());
    return found;
  }
  const auto [first, last] = std::minmax_element(found.begin(), found.end());
  std::size_t place = 0;
  for (NodeId id = *first, end = *last; id <= end; ++id)
    if (mark_[id] == seen) found[place++] = id;
  return found;
}

}  // namespace saltus
