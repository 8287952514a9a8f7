// Taylor arithmetic. A node y = f(u) gets its coefficients from the differential equation that f satisfies (Griewank and
// Walther, Evaluating Derivatives, chapter 13). With y = sum y_k s^k, two forms cover all functions of one argument:
//   product:   y' = w u'     k y_k = sum_{j=1..k} j u_j w_{k-j}
//   quotient:  w y' = u'     w_0 y_k = u_k - (1/k) sum_{j=1..k-1} j y_j w_{k-j}
// where w is another node: for sin it is cos, for tan it is 1 + tan^2, for log it is u itself. Coefficients are computed order by
// order over all nodes, so w may depend on y.
#include <saltus/program/taylor.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "program/taylor_recurrences.hpp"

namespace saltus {

namespace {

class Builder {
 public:
  Builder(Graph& graph, std::span<const std::vector<NodeId>> inputs, const std::vector<bool>& varying) : graph_(graph) {
    for (std::size_t g = 0; g < inputs.size(); ++g)
      for (const NodeId id : inputs[g]) {
        const Op op = graph.node(id).op;
        if (op != Op::symbol && !is_lock(op)) throw UsageError("Taylor: inputs must be symbols or relations");
        leaves_.push_back(id);
        if (varying[g]) varying_leaves_.push_back(id);
      }
  }

  TaylorProgram::Recurrences run(std::span<const std::vector<NodeId>> inputs, std::span<const std::vector<NodeId>> outputs) {
    std::vector<NodeId> roots;
    for (const auto& group : outputs) roots.insert(roots.end(), group.begin(), group.end());
    const std::vector<NodeId> order = graph_.reachable(roots, leaves_);
    place_leaves(order, inputs);
    for (const NodeId id : order)
      if (!slot_.contains(id)) add_node(id);
    for (const auto& group : outputs) {
      auto& slots = result_.outputs.emplace_back();
      for (const NodeId id : group) slots.push_back(slot_.at(id));
    }
    for (const TaylorInstruction& i : result_.code)
      if (i.op != TaylorOp::once) result_.varying.push_back(i);
    return std::move(result_);
  }

 private:
  void place_leaves(std::span<const NodeId> order, std::span<const std::vector<NodeId>> inputs) {
    std::unordered_map<NodeId, char> input;
    for (const NodeId id : leaves_)
      if (!input.emplace(id, 1).second) throw UsageError("Taylor: an input is listed twice");
    one_ = constant(1.0);
    for (const NodeId id : order) {
      if (input.contains(id)) continue;
      if (graph_.node(id).op == Op::symbol)
        throw UsageError("Taylor: an output depends on '" + graph_.symbol_of(id).name + "', which is not an input");
      if (graph_.node(id).op == Op::constant) slot_[id] = constant(graph_.constant_value(id));
    }
    next_ = static_cast<std::uint32_t>(result_.constants.size());
    for (const auto& group : inputs) {
      result_.group_start.push_back(next_);
      for (const NodeId id : group) slot_[id] = next_++;
    }
    result_.group_start.push_back(next_);
    varies_.assign(next_, 0);
    for (const NodeId id : varying_leaves_) varies_[slot_.at(id)] = 1;
    result_.slots = next_;
  }

  std::uint32_t constant(double value) {
    result_.constants.push_back(value);
    return static_cast<std::uint32_t>(result_.constants.size() - 1);
  }

  std::uint32_t emit(TaylorOp op, Op first, std::uint32_t a, std::uint32_t b = 0, std::uint32_t c = 0) {
    const std::uint32_t slot = result_.slots++;
    result_.code.push_back({op, first, slot, a, b, c});
    varies_.push_back(op != TaylorOp::once);
    return slot;
  }

  /// Two functions y and w of u with y' = w u' and w' = ±y u'; returns y or w. Each pair is emitted once.
  std::uint32_t emit_pair(std::uint32_t u, Op y_op, Op w_op, TaylorOp w_rule, Op wanted) {
    const auto [it, fresh] = pairs_.try_emplace(std::pair(u, y_op), result_.slots);
    const std::uint32_t y = it->second, w = y + 1;
    if (fresh) {
      emit(TaylorOp::chain, y_op, u, w);
      emit(w_rule, w_op, u, y);
    }
    return wanted == y_op ? y : w;
  }

  std::uint32_t one_plus_square(std::uint32_t a) { return emit(TaylorOp::one_plus_square, Op::mul, a, a); }
  std::uint32_t one_minus_square(std::uint32_t a) { return emit(TaylorOp::one_minus_square, Op::mul, a, a); }
  std::uint32_t square_root(std::uint32_t a) { return emit(TaylorOp::sqrt, Op::sqrt, a); }

  void add_node(NodeId id) {
    const Node n = graph_.node(id);
    if (n.op == Op::external)
      throw UsageError("the external function '" + graph_.call_of(id).function->name +
                       "' has no Taylor coefficients: use a method that does not need them, or record its formula");
    const int count = operand_count(n.op);
    const std::uint32_t a = slot_.at(n.a), b = count > 1 ? slot_.at(n.b) : 0, c = count > 2 ? slot_.at(n.c) : 0;
    const bool va = varies_[a], vb = count > 1 && varies_[b], vc = count > 2 && varies_[c];
    slot_[id] = va || vb || vc ? add_varying(n.op, a, b, c, va, vb) : emit(TaylorOp::once, n.op, a, b, c);
  }

  // No `default`: the compiler names the function whose recurrence is missing.
  std::uint32_t add_varying(Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c, bool va, bool vb) {
    switch (op) {
      case Op::add: return emit(TaylorOp::add, op, a, b);
      case Op::sub: return emit(TaylorOp::sub, op, a, b);
      case Op::neg: return emit(TaylorOp::neg, op, a);
      case Op::mul:
        if (a == b) return emit(TaylorOp::square, op, a, b);
        if (!va) return emit(TaylorOp::scale, op, b, a);
        return emit(vb ? TaylorOp::product : TaylorOp::scale, op, a, b);
      case Op::div: return emit(vb ? TaylorOp::quotient : TaylorOp::divide_by, op, a, b);
      case Op::sqrt: return square_root(a);
      case Op::exp: return emit(TaylorOp::exp, op, a);
      case Op::log: return emit(TaylorOp::chain_quotient, op, a, a);
      case Op::pow: {
        if (!vb) return emit(TaylorOp::power, op, a, b);
        const std::uint32_t logarithm = va ? emit(TaylorOp::chain_quotient, Op::log, a, a) : emit(TaylorOp::once, Op::log, a);
        return emit(TaylorOp::exp, Op::exp, emit(va ? TaylorOp::product : TaylorOp::scale, Op::mul, b, logarithm));
      }
      case Op::sin:
      case Op::cos: return emit_pair(a, Op::sin, Op::cos, TaylorOp::chain_minus, op);
      case Op::sinh:
      case Op::cosh: return emit_pair(a, Op::sinh, Op::cosh, TaylorOp::chain, op);
      case Op::tan:
      case Op::tanh: {
        const std::uint32_t y = emit(TaylorOp::chain, op, a, result_.slots + 1);
        op == Op::tan ? one_plus_square(y) : one_minus_square(y);
        return y;
      }
      case Op::atan: return emit(TaylorOp::chain_quotient, op, a, one_plus_square(a));
      case Op::atanh: return emit(TaylorOp::chain_quotient, op, a, one_minus_square(a));
      case Op::asin: return emit(TaylorOp::chain_quotient, op, a, square_root(one_minus_square(a)));
      case Op::acos: return emit(TaylorOp::chain_quotient_minus, op, a, square_root(one_minus_square(a)));
      case Op::asinh: return emit(TaylorOp::chain_quotient, op, a, square_root(one_plus_square(a)));
      case Op::acosh: {
        const std::uint32_t minus_one = emit(TaylorOp::neg, Op::neg, one_minus_square(a));
        return emit(TaylorOp::chain_quotient, op, a, square_root(minus_one));
      }
      case Op::atan2: {
        const std::uint32_t y2 = emit(TaylorOp::square, Op::mul, a, a), x2 = emit(TaylorOp::square, Op::mul, b, b);
        return emit(TaylorOp::atan2, op, a, b, emit(TaylorOp::add, Op::add, y2, x2));
      }
      case Op::select: return emit(TaylorOp::select, op, a, b, c);
      case Op::positive:
      case Op::nonnegative:
      case Op::floor:
      case Op::live_positive:
      case Op::live_nonnegative:
      case Op::live_floor:
      case Op::logical_and:
      case Op::logical_or:
      case Op::logical_not: return emit(TaylorOp::once, op, a, b, c);  // constant along the curve
      case Op::constant:
      case Op::symbol:
      case Op::fma:
      case Op::fms:
      case Op::fnma:
      case Op::external: break;
    }
    throw UsageError("Taylor: '" + std::string(info(op).name) + "' is not an operation of a graph");
  }

  Graph& graph_;
  TaylorProgram::Recurrences result_;
  std::vector<NodeId> leaves_, varying_leaves_;
  std::unordered_map<NodeId, std::uint32_t> slot_;
  std::map<std::pair<std::uint32_t, Op>, std::uint32_t> pairs_;  // by argument and first function
  std::vector<char> varies_;
  std::uint32_t next_ = 0, one_ = 0;
};

}  // namespace

TaylorProgram::TaylorProgram(std::span<const std::vector<Expr>> inputs, const std::vector<bool>& varying,
                             std::span<const std::vector<Expr>> outputs) {
  if (varying.size() != inputs.size()) throw UsageError("Taylor: one flag per input group is needed");
  const auto graph = common_graph(inputs, outputs);
  const auto input_ids = nodes_in(*graph, inputs), output_ids = nodes_in(*graph, outputs);
  recurrences_ = std::make_shared<const Recurrences>(Builder(*graph, input_ids, varying).run(input_ids, output_ids));
}

std::size_t TaylorProgram::operations(int order) const {
  const auto k = static_cast<std::size_t>(order);
  std::size_t total = recurrences_->code.size();
  for (const TaylorInstruction& i : recurrences_->varying) {
    switch (i.op) {
      case TaylorOp::add:
      case TaylorOp::sub:
      case TaylorOp::neg:
      case TaylorOp::scale:
      case TaylorOp::divide_by:
      case TaylorOp::select: total += k; break;
      default: total += k * (k + 3) / 2;  // k + 1 terms at order k
    }
  }
  return total;
}

TaylorWorkspace::TaylorWorkspace(TaylorProgram program) : program_(std::move(program)) {}

void TaylorWorkspace::start(int order) {
  const auto& r = program_.recurrences();
  const std::size_t stride = static_cast<std::size_t>(order) + 1;
  // What does not vary has zeros above order 0, which nobody writes: they stay as long as the layout stays.
  if (order != order_) series_.assign(stride * r.slots, 0.0);
  order_ = order;
  const std::size_t inputs = r.group_start.front(), end = r.group_start.back();
  std::fill_n(series_.data() + inputs * stride, (end - inputs) * stride, 0.0);
  for (std::size_t k = 0; k < r.constants.size(); ++k) series_[k * stride] = r.constants[k];
}

void TaylorWorkspace::set(int group, int index, int k, double value) {
  const std::size_t slot = program_.recurrences().group_start[group] + static_cast<std::size_t>(index);
  series_[slot * static_cast<std::size_t>(order_ + 1) + static_cast<std::size_t>(k)] = value;
}

void TaylorWorkspace::set(int group, int k, std::span<const double> values) {
  const std::size_t stride = static_cast<std::size_t>(order_) + 1;
  double* p = series_.data() + program_.recurrences().group_start[group] * stride + static_cast<std::size_t>(k);
  for (const double value : values) {
    *p = value;
    p += stride;
  }
}

void TaylorWorkspace::advance(int k) {
  const std::size_t stride = static_cast<std::size_t>(order_) + 1;
  double* const s = series_.data();
  const auto row = [s, stride](std::uint32_t slot) { return s + slot * stride; };
  if (k == 0) {
    for (const TaylorInstruction& i : program_.recurrences().code)
      *row(i.result) = first_coefficient(i, *row(i.a), *row(i.b), *row(i.c));
    return;
  }
  for (const TaylorInstruction& i : program_.recurrences().varying) {
    double* const y = row(i.result);
    y[k] = coefficient<double>(i.op, k, y, row(i.a), row(i.b), row(i.c));
  }
}

double TaylorWorkspace::get(int group, int index, int k) const {
  const std::size_t slot = program_.recurrences().outputs[group][index];
  return series_[slot * static_cast<std::size_t>(order_ + 1) + static_cast<std::size_t>(k)];
}

void TaylorWorkspace::get(int group, int k, std::span<double> values) const {
  const std::size_t stride = static_cast<std::size_t>(order_) + 1;
  std::size_t i = 0;
  for (const std::uint32_t slot : program_.recurrences().outputs[group])
    values[i++] = series_[slot * stride + static_cast<std::size_t>(k)];
}

std::vector<std::vector<Expr>> solution_taylor_expressions(const Expr& t, std::span<const Expr> x, std::span<const Expr> f,
                                                           int order) {
  const auto graph = common_graph(x);
  if (!graph) throw UsageError("solution_taylor_expressions: no variables");
  std::vector<Expr> others;  // symbols and locks that stay as they are
  const std::vector<Expr> all(f.begin(), f.end());
  std::vector<NodeId> roots, curve{t.in(*graph)};
  for (const Expr& e : all) roots.push_back(e.in(*graph));
  for (const Expr& e : x) curve.push_back(e.in(*graph));
  for (const NodeId id : graph->reachable(roots)) {
    const bool leaf = graph->node(id).op == Op::symbol || is_lock(graph->node(id).op);
    if (leaf && std::find(curve.begin(), curve.end(), id) == curve.end()) others.emplace_back(graph, id);
  }
  const std::vector<std::vector<Expr>> inputs{{t}, {x.begin(), x.end()}, others}, outputs{all};
  const TaylorProgram program(inputs, {true, true, false}, outputs);
  const auto& r = program.recurrences();
  const std::size_t stride = static_cast<std::size_t>(order) + 1;
  std::vector<Expr> series(stride * r.slots, Expr(0.0));
  const auto put = [&](std::uint32_t slot, int k) -> Expr& { return series[slot * stride + static_cast<std::size_t>(k)]; };
  const auto at = [&](std::uint32_t slot, int k) -> const Expr& { return series[slot * stride + static_cast<std::size_t>(k)]; };
  for (std::size_t k = 0; k < r.constants.size(); ++k) put(static_cast<std::uint32_t>(k), 0) = r.constants[k];
  for (std::size_t g = 0; g < inputs.size(); ++g)
    for (std::size_t k = 0; k < inputs[g].size(); ++k)
      put(r.group_start[g] + static_cast<std::uint32_t>(k), 0) = inputs[g][k];
  if (order > 0) put(r.group_start[0], 1) = 1.0;
  for (int k = 0; k < order; ++k) {
    for (const TaylorInstruction& i : r.code) {
      if (k > 0)
        put(i.result, k) = coefficient<Expr>(i.op, k, &at(i.result, 0), &at(i.a, 0), &at(i.b, 0), &at(i.c, 0));
      else if (i.op == TaylorOp::one_plus_square)
        put(i.result, 0) = 1.0 + at(i.a, 0) * at(i.a, 0);
      else if (i.op == TaylorOp::one_minus_square)
        put(i.result, 0) = 1.0 - at(i.a, 0) * at(i.a, 0);
      else
        put(i.result, 0) = Expr(graph, graph->make(i.first, at(i.a, 0).in(*graph), at(i.b, 0).in(*graph), at(i.c, 0).in(*graph)));
    }
    for (std::size_t j = 0; j < x.size(); ++j)
      put(r.group_start[1] + static_cast<std::uint32_t>(j), k + 1) = at(r.outputs[0][j], k) / static_cast<double>(k + 1);
  }
  std::vector<std::vector<Expr>> result(x.size());
  for (std::size_t j = 0; j < x.size(); ++j)
    for (int k = 0; k <= order; ++k) result[j].push_back(at(r.group_start[1] + static_cast<std::uint32_t>(j), k));
  return result;
}

}  // namespace saltus
