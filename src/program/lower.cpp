// From graph to tape: choose the fused multiply-adds, order the nodes depth first from the outputs (which keeps few values alive),
// and give each value a slot, reusing slots of dead values.
#include <saltus/expr/print.hpp>
#include <saltus/program/tape.hpp>

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace saltus {

namespace {

constexpr std::uint32_t no_slot = 0xffffffffu;

/// One entry for each node of a program. Many programs of large graphs have few nodes: those have no room for all of the graph.
template <class T>
class NodeTable {
 public:
  /// `nodes`: those of the program, ascending.
  void set(const Graph& graph, const std::vector<NodeId>& nodes, T value) {
    nodes_ = 16 * nodes.size() < graph.size() ? &nodes : nullptr;
    values_.assign(nodes_ ? nodes.size() : graph.size(), value);
  }
  T& operator[](NodeId id) { return values_[place(id)]; }
  const T& operator[](NodeId id) const { return values_[place(id)]; }

 private:
  std::size_t place(NodeId id) const {
    if (!nodes_) return id;
    return static_cast<std::size_t>(std::lower_bound(nodes_->begin(), nodes_->end(), id) - nodes_->begin());
  }

  const std::vector<NodeId>* nodes_ = nullptr;  // null: all of the graph
  std::vector<T> values_;
};

class Lowering {
 public:
  Lowering(const Graph& graph, LowerOptions options) : graph_(graph), options_(options) {}

  Tape run(std::span<const std::vector<NodeId>> inputs, std::span<const std::vector<NodeId>> outputs) {
    std::vector<NodeId> roots;
    for (const auto& group : outputs) roots.insert(roots.end(), group.begin(), group.end());
    find_nodes(roots, inputs);
    place_inputs(inputs);
    count_uses(roots);
    place_leaves(inputs);
    for (const NodeId root : roots) schedule(root);
    for (const auto& group : outputs) {
      auto& slots = tape_.outputs.emplace_back();
      slots.reserve(group.size());
      for (const NodeId id : group) slots.push_back(slot_[id]);
    }
    std::uint32_t scratch = 0;
    for (const CallSite& call : tape_.calls)
      scratch = std::max(scratch, static_cast<std::uint32_t>(call.arguments.size() + call.results.size()));
    tape_.scratch = scratch;
    tape_.code.shrink_to_fit();
    return std::move(tape_);
  }

 private:
  // An instruction with its operand nodes, before slots are known.
  struct Pattern {
    Op op;
    int count;
    NodeId operand[3];
    NodeId swallowed = no_node;  // the product inside a fused operation
  };

  void find_nodes(std::span<const NodeId> roots, std::span<const std::vector<NodeId>> inputs) {
    std::vector<NodeId> leaves;
    for (const auto& group : inputs) leaves.insert(leaves.end(), group.begin(), group.end());
    found_ = graph_.reachable(roots, leaves);
    std::sort(leaves.begin(), leaves.end());
    std::set_union(found_.begin(), found_.end(), leaves.begin(), leaves.end(), std::back_inserter(all_));
    slot_.set(graph_, all_, no_slot);
    uses_.set(graph_, all_, 0);
    is_input_.set(graph_, all_, 0);
  }

  void place_inputs(std::span<const std::vector<NodeId>> inputs) {
    for (const auto& group : inputs) {
      tape_.input_sizes.push_back(static_cast<std::uint32_t>(group.size()));
      for (const NodeId id : group) {
        const Op op = graph_.node(id).op;
        if (op != Op::symbol && !is_lock(op))
          throw UsageError("a program's inputs must be symbols or relations, not expressions");
        if (is_input_[id]) throw UsageError("a program's input is listed twice");
        is_input_[id] = 1;
      }
    }
  }

  void count_uses(std::span<const NodeId> roots) {
    for (const NodeId id : found_)
      if (!is_input_[id]) graph_.for_each_operand(id, [&](NodeId operand) { ++uses_[operand]; });
    for (const NodeId root : roots) uses_[root] += pinned;  // outputs stay alive to the end
  }

  void place_leaves(std::span<const std::vector<NodeId>> inputs) {
    for (const NodeId id : found_) {
      if (is_input_[id]) continue;
      if (graph_.node(id).op == Op::constant) {
        slot_[id] = static_cast<std::uint32_t>(tape_.constants.size());
        tape_.constants.push_back(graph_.constant_value(id));
      } else if (graph_.node(id).op == Op::symbol) {
        throw UsageError("an output depends on '" + graph_.symbol_of(id).name + "', which is not an input of the program");
      }
    }
    std::uint32_t next = tape_.first_input();
    for (const auto& group : inputs)
      for (const NodeId id : group) slot_[id] = next++;
    first_temporary_ = next;
  }

  // The instruction for a node. A product is swallowed by a sum only if nothing else needs it.
  Pattern pattern(NodeId id) const {
    const Node& n = graph_.node(id);
    Pattern p{instruction_of(n.op), operand_count(n.op), {n.a, n.b, n.c}};
    if (!options_.fuse || (n.op != Op::add && n.op != Op::sub)) return p;
    const auto single_product = [&](NodeId x) {
      return graph_.node(x).op == Op::mul && uses_[x] == 1 && slot_[x] == no_slot;
    };
    const bool left = n.a != n.b && single_product(n.a), right = n.a != n.b && single_product(n.b);
    if (!left && !right) return p;
    const NodeId product = right ? n.b : n.a, other = right ? n.a : n.b;
    const Op op = n.op == Op::add ? Op::fma : right ? Op::fnma : Op::fms;
    return {op, 3, {graph_.node(product).a, graph_.node(product).b, other}, product};
  }

  void schedule(NodeId root) {
    stack_.push_back(root);
    while (!stack_.empty()) {
      const NodeId id = stack_.back();
      if (slot_[id] != no_slot) {
        stack_.pop_back();
        continue;
      }
      const std::size_t before = stack_.size();
      if (graph_.node(id).op == Op::external) {
        for (const NodeId argument : graph_.call_of(id).arguments)
          if (slot_[argument] == no_slot) stack_.push_back(argument);
        if (stack_.size() > before) continue;
        emit_call(id);
      } else {
        const Pattern p = pattern(id);
        for (int k = p.count; k-- > 0;)
          if (slot_[p.operand[k]] == no_slot) stack_.push_back(p.operand[k]);
        if (stack_.size() > before) continue;
        emit(id, p);
      }
      stack_.pop_back();
    }
  }

  std::uint32_t new_slot() {
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    return first_temporary_ + tape_.temporaries++;
  }

  void release(NodeId id) {
    if (--uses_[id] == 0 && options_.reuse_slots && slot_[id] >= first_temporary_) free_.push_back(slot_[id]);
  }

  void emit(NodeId id, const Pattern& p) {
    Instruction i{p.op, 0, 0, 0, 0};
    i.a = slot_[p.operand[0]];
    if (p.count > 1) i.b = slot_[p.operand[1]];
    if (p.count > 2) i.c = slot_[p.operand[2]];
    for (int k = 0; k < p.count; ++k) release(p.operand[k]);
    i.result = slot_[id] = new_slot();
    tape_.code.push_back(i);
  }

  void emit_call(NodeId id) {
    const NodeId index = graph_.node(id).a;
    const ExternalCall& call = graph_.call_of(id);
    CallSite site{call.function, {}, {}};
    for (const NodeId argument : call.arguments) site.arguments.push_back(slot_[argument]);
    // every result gets a slot; those that no one needs share one that is free again afterwards
    if (outputs_of_call_.empty())
      for (const NodeId other : found_)
        if (graph_.node(other).op == Op::external) outputs_of_call_[graph_.node(other).a].push_back(other);
    site.results.assign(static_cast<std::size_t>(call.function->outputs), no_slot);
    for (const NodeId other : outputs_of_call_[index])
      site.results[graph_.node(other).b] = slot_[other] = new_slot();
    std::uint32_t unused = no_slot;
    for (std::uint32_t& slot : site.results)
      if (slot == no_slot) slot = unused == no_slot ? unused = new_slot() : unused;
    if (unused != no_slot) free_.push_back(unused);
    for (const NodeId argument : call.arguments)
      for (std::size_t k = 0; k < outputs_of_call_[index].size(); ++k) release(argument);  // counted once per output node
    tape_.code.push_back({Op::external, 0, static_cast<std::uint32_t>(tape_.calls.size()), 0, 0});
    tape_.calls.push_back(std::move(site));
  }

  static constexpr std::uint32_t pinned = 1u << 24;

  const Graph& graph_;
  LowerOptions options_;
  Tape tape_;
  NodeTable<std::uint32_t> slot_, uses_;
  NodeTable<char> is_input_;
  std::vector<NodeId> found_, stack_;
  std::vector<NodeId> all_;  // found_ and the inputs
  std::vector<std::uint32_t> free_;
  std::uint32_t first_temporary_ = 0;
  std::unordered_map<NodeId, std::vector<NodeId>> outputs_of_call_;
};

}  // namespace

Tape lower(std::span<const std::vector<Expr>> inputs, std::span<const std::vector<Expr>> outputs, LowerOptions options) {
  const auto graph = common_graph(inputs, outputs);
  const auto input_ids = nodes_in(*graph, inputs), output_ids = nodes_in(*graph, outputs);
  return Lowering(*graph, options).run(input_ids, output_ids);
}

}  // namespace saltus
