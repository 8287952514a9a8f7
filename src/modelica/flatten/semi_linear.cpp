// semiLinear, and what it leaves open where its first argument is zero (Modelica 3.6, 3.7.4.5).
//
// y = semiLinear(x, a, b) is a*x for x >= 0 and b*x else. Two transported quantities a and b that are connected in a
// chain, y = semiLinear(x, a, s) and y = semiLinear(x, s, b), determine s where x is not zero only. There the rules of
// the specification choose one solution:
//   - a chain y = semiLinear(x, a, s1), y = semiLinear(x, s1, s2), ..., y = semiLinear(x, sN, b) becomes
//     s1 = if x >= 0 then a else b, s2 = s1, ..., sN = s1, y = semiLinear(x, a, b);
//   - x = 0, y = 0, y = semiLinear(x, a, b) becomes x = 0, y = 0, a = b.
// Connections give x and y other names and signs (x1 + x2 = 0), so names that are equal up to the sign count as one.
#include <saltus/expr/graph.hpp>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

/// A name with a sign; `sign` 0: it is zero.
struct Signed {
  NodeId name = no_node;
  int sign = 1;

  auto operator<=>(const Signed&) const = default;
};

/// Variables that equations make equal, up to the sign: a = b, a + b = 0, a = 0.
class EqualNames {
 public:
  explicit EqualNames(const Graph& graph) : graph_(graph) {}

  /// Finds all of them. What is zero drops out of sums, and may leave two names that are equal.
  void find_all(const std::vector<FlatEquation>& equations) {
    std::vector<std::vector<Signed>> sums;
    for (const FlatEquation& e : equations) {
      terms_.clear();
      if (collect(e.lhs.scalar(), 1) && collect(e.rhs.scalar(), -1) && !terms_.empty()) sums.push_back(terms_);
    }
    for (bool progress = true; progress;) {
      progress = false;
      for (std::vector<Signed>& sum : sums)
        if (!sum.empty() && add(sum)) {
          sum.clear();
          progress = true;
        }
    }
  }

  /// The name that stands for all that are equal, with the sign; of other expressions themselves.
  Signed of(const Expr& e) {
    Expr inner = e;
    int sign = 1;
    while (!inner.is_constant() && graph_.node(inner.id()).op == Op::neg) {
      inner = Expr(inner.graph(), graph_.node(inner.id()).a);
      sign = -sign;
    }
    if (inner.is_constant()) return {no_node, 0};
    if (!is_variable(inner.id())) return {inner.id(), sign};
    const Signed root = find(inner.id());
    return {root.name, root.sign * sign};
  }

 private:
  bool is_variable(NodeId id) const {
    return graph_.node(id).op == Op::symbol && graph_.symbol_of(id).kind == SymbolKind::variable;
  }

  /// Notes what a sum that is zero says; false if it has more than two terms left.
  bool add(const std::vector<Signed>& sum) {
    std::vector<Signed> left;  // the sign is a small number here: a + a = 0
    for (const Signed& term : sum) {
      const Signed root = find(term.name);
      if (root.sign == 0) continue;
      const auto same = std::ranges::find(left, root.name, &Signed::name);
      if (same == left.end())
        left.push_back({root.name, root.sign * term.sign});
      else
        same->sign += root.sign * term.sign;
    }
    std::erase_if(left, [](const Signed& term) { return term.sign == 0; });
    if (left.size() > 2) return false;
    if (left.size() == 1) parent_[left[0].name] = {left[0].name, 0};
    if (left.size() == 2) {
      if (std::abs(left[0].sign) != 1 || std::abs(left[1].sign) != 1) return false;
      parent_[left[1].name] = {left[0].name, -left[0].sign * left[1].sign};
    }
    return true;
  }

  Signed find(NodeId id) {
    Signed at{id, 1};
    for (auto it = parent_.find(at.name); it != parent_.end(); it = parent_.find(at.name)) {
      if (it->second.name == at.name) return {at.name, it->second.sign == 0 ? 0 : at.sign};
      at = {it->second.name, at.sign * it->second.sign};
    }
    return at;
  }

  /// Adds the terms of a sum of variables; false if it is something else.
  bool collect(const Expr& e, int sign) {
    if (e.is_constant()) return e.constant_value() == 0.0;
    const Node& n = graph_.node(e.id());
    const auto part = [&](NodeId id) { return Expr(e.graph(), id); };
    switch (n.op) {
      case Op::symbol:
        if (!is_variable(e.id()) || terms_.size() == most_terms) return false;
        terms_.push_back({e.id(), sign});
        return true;
      case Op::neg:
        return collect(part(n.a), -sign);
      case Op::add:
        return collect(part(n.a), sign) && collect(part(n.b), sign);
      case Op::sub:
        return collect(part(n.a), sign) && collect(part(n.b), -sign);
      default:
        return false;
    }
  }

  static constexpr std::size_t most_terms = 100;

  const Graph& graph_;
  std::unordered_map<NodeId, Signed> parent_;  // roots that are zero have themselves, with the sign 0
  std::vector<Signed> terms_;
};

/// An equation sign*y = semiLinear(x, from, to) for the name x that stands for all that are equal to it.
struct Transport {
  std::size_t equation;
  Expr from, to;
  Expr y;
};

}  // namespace

Value Flattener::semi_linear(const std::vector<Value>& arguments, const Location& where) {
  Dims dims;
  for (const Value& value : arguments) {
    if (value.is_scalar()) continue;
    if (!dims.empty() && value.dims != dims)
      throw Fault{where,
                  "the arguments of 'semiLinear' have the sizes " + to_string(dims) + " and " + to_string(value.dims)};
    dims = value.dims;
  }
  Value result = Value::array(TypeKind::real, dims,
                              join(arguments[0].variability, join(arguments[1].variability, arguments[2].variability)));
  const std::int64_t size = count(dims);
  charge(size, where);
  const auto at = [](const Value& value, std::int64_t k) {
    return value.elements[value.is_scalar() ? 0 : static_cast<std::size_t>(k)];
  };
  for (std::int64_t k = 0; k < size; ++k) {
    const Expr x = at(arguments[0], k), positive = at(arguments[1], k), negative = at(arguments[2], k);
    const Expr flow = if_else(x >= 0.0, positive * x, negative * x);
    if (!flow.is_constant() && model_->data().graph->node(flow.id()).op == Op::select)
      semi_linear_.try_emplace(flow.id(), SemiLinear{x, positive, negative});
    result.elements.push_back(flow);
  }
  return result;
}

// After the equations of connections, before anything is made of them.
void Flattener::determine_at_zero_flow() {
  if (semi_linear_.empty()) return;
  EqualNames names(*model_->data().graph);
  names.find_all(equations_);
  const auto call_in = [&](const Expr& side, int& sign) -> const SemiLinear* {
    Expr inner = side;
    sign = 1;
    if (!inner.is_constant() && model_->data().graph->node(inner.id()).op == Op::neg) {
      inner = Expr(inner.graph(), model_->data().graph->node(inner.id()).a);
      sign = -1;
    }
    if (inner.is_constant()) return nullptr;
    const auto it = semi_linear_.find(inner.id());
    return it == semi_linear_.end() ? nullptr : &it->second;
  };
  const auto real = [](const Expr& e) { return Value(TypeKind::real, Variability::continuous, e); };
  const auto rewrite = [&](std::size_t k, const Expr& lhs, const Expr& rhs) {
    if (kept_) throw NotKept{};
    equations_[k].lhs = real(lhs);
    equations_[k].rhs = real(rhs);
  };
  // by the names of x and y, and the sign of y beside that of x
  std::map<std::tuple<NodeId, NodeId, int>, std::vector<Transport>> groups;
  for (std::size_t k = 0; k < equations_.size(); ++k) {
    for (const bool left : {true, false}) {
      const Expr call = (left ? equations_[k].rhs : equations_[k].lhs).scalar();
      const Expr y = (left ? equations_[k].lhs : equations_[k].rhs).scalar();
      int sign = 1;
      const SemiLinear* found = call_in(call, sign);
      if (!found) continue;
      const Signed x_name = names.of(found->x), y_name = names.of(y);
      if (x_name.sign == 0 && y_name.sign == 0) {
        rewrite(k, found->positive, found->negative);
      } else if (x_name.sign != 0 && y_name.sign != 0) {
        const bool same = x_name.sign > 0;  // semiLinear(-x, a, b) = -semiLinear(x, b, a)
        groups[{x_name.name, y_name.name, sign * y_name.sign * x_name.sign}].push_back(
            {k, same ? found->positive : found->negative, same ? found->negative : found->positive,
             same ? sign * y : -sign * y});
      }
      break;
    }
  }
  for (const auto& [key, transports] : groups) {
    const Expr x(model_->data().graph, std::get<0>(key));  // one relation for all: their signs agree
    std::map<Signed, std::size_t> by_from;
    std::vector<std::size_t> next(transports.size(), transports.size());
    std::vector<char> follows(transports.size(), 0);
    for (std::size_t k = 0; k < transports.size(); ++k)
      if (const Signed from = names.of(transports[k].from); from.sign != 0) by_from.emplace(from, k);
    for (std::size_t k = 0; k < transports.size(); ++k) {
      const Signed to = names.of(transports[k].to);
      const auto it = to.sign == 0 ? by_from.end() : by_from.find(to);
      if (it == by_from.end() || it->second == k || follows[it->second]) continue;
      next[k] = it->second;
      follows[it->second] = 1;
    }
    for (std::size_t first = 0; first < transports.size(); ++first) {
      if (follows[first]) continue;
      std::size_t last = first;
      while (next[last] != transports.size()) last = next[last];
      if (last == first && kept_) continue;
      const Transport &begin = transports[first], &end = transports[last];
      const Expr between = if_else(x >= 0.0, begin.from, end.to);
      for (std::size_t k = first; k != last; k = next[k])
        rewrite(transports[next[k]].equation, transports[k].to, between);
      rewrite(begin.equation, begin.y, if_else(x >= 0.0, begin.from * x, end.to * x));
    }
  }
}

}  // namespace saltus::modelica
