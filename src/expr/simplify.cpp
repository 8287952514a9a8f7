// Simplification while building. Every rule is local, so building stays linear: constants fold, neutral and absorbing
// elements vanish, signs move outwards, operands of commutative operations are ordered, and relations are brought to a
// normal form so that x < y, y > x, sign(x - y), abs(x - y) and max(x, y) share one switching function.
//
// The rules keep values for finite arguments; x*0 = 0 and x - x = 0 are applied although they hide an infinity, because
// sparsity patterns depend on them.
#include <saltus/expr/graph.hpp>

#include <cmath>
#include <utility>

namespace saltus {

namespace {

bool chooses_zero(const Graph& g, NodeId id) {
  const auto is_zero = [&g](NodeId branch) { return g.is_constant(branch) && g.constant_value(branch) == 0.0; };
  return g.node(id).op == Op::select && (is_zero(g.node(id).b) || is_zero(g.node(id).c));
}

// sqrt(max(x, 0)) is `if x > 0 then sqrt(x) else 0`: otherwise its derivative would be 0 times infinity in the second branch.
NodeId root_of_choice(Graph& g, Op op, NodeId choice, NodeId exponent) {
  const Node n = g.node(choice);
  return g.make(Op::select, n.a, g.make(op, n.b, exponent), g.make(op, n.c, exponent));
}

/// Whether an expression is one of a few numbers, which conditions choose: `if x > 0 then 1 else 0`, moved and scaled by constants.
bool chooses_number(const Graph& g, NodeId id, int& branches) {
  const Node n = g.node(id);
  switch (n.op) {
    case Op::constant: return true;
    case Op::neg: return chooses_number(g, n.a, branches);
    case Op::add:
    case Op::sub:
    case Op::mul: return (g.is_constant(n.a) || g.is_constant(n.b)) && chooses_number(g, g.is_constant(n.a) ? n.b : n.a, branches);
    case Op::select: return --branches >= 0 && chooses_number(g, n.b, branches) && chooses_number(g, n.c, branches);
    default: return false;
  }
}

/// A relation on such a number is a condition made of those that choose it: sign(x) > 0.5 is x > 0.
NodeId relation_of_choice(Graph& g, Op op, NodeId id, double factor, double offset) {
  const Node n = g.node(id);
  const auto inside = [&](NodeId operand, double scale, double shift) {
    return relation_of_choice(g, op, operand, factor * scale, factor * shift + offset);
  };
  const bool first = n.op != Op::constant && g.is_constant(n.a);  // of two operands it is the number
  const auto number = [&] { return g.constant_value(first ? n.a : n.b); };
  switch (n.op) {
    case Op::neg: return inside(n.a, -1.0, 0.0);
    case Op::add: return inside(first ? n.b : n.a, 1.0, number());
    case Op::sub: return first ? inside(n.b, -1.0, number()) : inside(n.a, 1.0, -number());
    case Op::mul: return inside(first ? n.b : n.a, number(), 0.0);
    case Op::select: break;
    default: return g.make(op, g.constant(factor * g.constant_value(id) + offset));
  }
  const NodeId then = inside(n.b, 1.0, 0.0), otherwise = inside(n.c, 1.0, 0.0), no = g.make(Op::logical_not, n.a);
  const auto is = [&](NodeId truth, bool value) { return g.is_constant(truth) && (g.constant_value(truth) != 0.0) == value; };
  if (then == otherwise) return then;
  if (is(then, true)) return g.make(Op::logical_or, n.a, otherwise);
  if (is(then, false)) return g.make(Op::logical_and, no, otherwise);
  if (is(otherwise, true)) return g.make(Op::logical_or, no, then);
  if (is(otherwise, false)) return g.make(Op::logical_and, n.a, then);
  return g.make(Op::logical_or, g.make(Op::logical_and, n.a, then), g.make(Op::logical_and, no, otherwise));
}

}  // namespace

NodeId Graph::make(Op op, NodeId a, NodeId b, NodeId c) {
  const int count = operand_count(op);
  bool fold = count > 0 && is_constant(a);
  if (count > 1) fold = fold && is_constant(b);
  if (count > 2) fold = fold && is_constant(c);
  if (fold)
    return constant(apply(op, constant_value(a), count > 1 ? constant_value(b) : 0.0,
                          count > 2 ? constant_value(c) : 0.0));
  return simplify(op, a, b, c);
}

NodeId Graph::simplify(Op op, NodeId a, NodeId b, NodeId c) {
  switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::neg:
    case Op::pow: return simplify_arithmetic(op, a, b);
    case Op::positive:
    case Op::nonnegative:
    case Op::live_positive:
    case Op::live_nonnegative: return make_relation(op, a);
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
    case Op::select: return simplify_logic(op, a, b, c);
    case Op::sqrt:
      return chooses_zero(*this, a) ? root_of_choice(*this, op, a, no_node) : intern({op, a});
    case Op::fma:
    case Op::fms:
    case Op::fnma: throw UsageError("a graph has no fused operations: they are made when it becomes a program");
    default: return intern({op, a, b, c});
  }
}

NodeId Graph::simplify_arithmetic(Op op, NodeId a, NodeId b) {
  const auto is_neg = [this](NodeId id) { return nodes_[id].op == Op::neg; };
  switch (op) {
    case Op::add:
      if (is_value(a, 0.0)) return b;
      if (is_value(b, 0.0)) return a;
      if (is_neg(b)) return make(Op::sub, a, nodes_[b].a);
      if (is_neg(a)) return make(Op::sub, b, nodes_[a].a);
      if (is_constant(a)) std::swap(a, b);
      if (is_constant(b) && constant_value(b) < 0.0) return intern({Op::sub, a, constant(-constant_value(b))});
      if (!is_constant(b) && a > b) std::swap(a, b);
      return intern({Op::add, a, b});
    case Op::sub:
      if (a == b) return constant(0.0);
      if (is_value(b, 0.0)) return a;
      if (is_value(a, 0.0)) return make(Op::neg, b);
      if (is_neg(b)) return make(Op::add, a, nodes_[b].a);
      if (is_constant(b) && constant_value(b) < 0.0) return make(Op::add, a, constant(-constant_value(b)));
      return intern({Op::sub, a, b});
    case Op::mul:
      if (is_value(a, 0.0) || is_value(b, 0.0)) return constant(0.0);
      if (is_value(a, 1.0)) return b;
      if (is_value(b, 1.0)) return a;
      if (is_value(a, -1.0)) return make(Op::neg, b);
      if (is_value(b, -1.0)) return make(Op::neg, a);
      if (is_neg(a) && is_neg(b)) return make(Op::mul, nodes_[a].a, nodes_[b].a);
      if (is_neg(a)) return make(Op::neg, make(Op::mul, nodes_[a].a, b));
      if (is_neg(b)) return make(Op::neg, make(Op::mul, a, nodes_[b].a));
      if (is_constant(b) || (!is_constant(a) && a > b)) std::swap(a, b);  // a constant factor first, otherwise the older
      return intern({Op::mul, a, b});
    case Op::div:
      if (is_value(a, 0.0) && !is_value(b, 0.0)) return a;
      if (is_value(b, 1.0)) return a;
      if (is_value(b, -1.0)) return make(Op::neg, a);
      if (is_neg(a) && is_neg(b)) return make(Op::div, nodes_[a].a, nodes_[b].a);
      if (is_neg(a)) return make(Op::neg, make(Op::div, nodes_[a].a, b));
      if (is_neg(b)) return make(Op::neg, make(Op::div, a, nodes_[b].a));
      return intern({Op::div, a, b});
    case Op::neg:
      if (is_neg(a)) return nodes_[a].a;
      if (nodes_[a].op == Op::sub) return intern({Op::sub, nodes_[a].b, nodes_[a].a});
      return intern({Op::neg, a});
    default: break;  // pow
  }
  if (is_constant(b)) {
    const double e = constant_value(b);
    if (e == 0.0) return constant(1.0);
    if (e == 0.5) return make(Op::sqrt, a);
    if (e < 0.0 && e == std::floor(e)) return make(Op::div, constant(1.0), make(Op::pow, a, constant(-e)));
    if (e == std::floor(e) && e <= 64.0) {  // repeated squaring
      NodeId power = no_node, square = a;
      for (auto k = static_cast<unsigned>(e); k > 0; k >>= 1) {
        if (k & 1u) power = power == no_node ? square : make(Op::mul, power, square);
        if (k > 1) square = make(Op::mul, square, square);
      }
      return power;
    }
    if (e > 0.0 && chooses_zero(*this, a)) return root_of_choice(*this, Op::pow, a, b);
  }
  return intern({Op::pow, a, b});
}

// Normal form of g > 0 and g >= 0: a leading minus and a reversed difference are stripped and turn the relation round:
// -g > 0 is not(g >= 0). A positive constant factor is stripped too.
NodeId Graph::make_relation(Op op, NodeId g) {
  if (int branches = 8; chooses_number(*this, g, branches)) return relation_of_choice(*this, op, g, 1.0, 0.0);
  bool reversed = false;
  for (bool again = true; again;) {
    again = false;
    const Node n = nodes_[g];
    if (n.op == Op::neg) {
      g = n.a;
      reversed = !reversed;
      again = true;
    } else if (n.op == Op::mul && is_constant(n.a) && constant_value(n.a) != 0.0 && std::isfinite(constant_value(n.a))) {
      reversed = reversed != (constant_value(n.a) < 0.0);
      g = n.b;
      again = true;
    } else if (n.op == Op::sub) {
      // constants last, otherwise the older operand first
      const bool swap = is_constant(n.a) || (!is_constant(n.b) && n.a > n.b);
      if (swap) {
        g = intern({Op::sub, n.b, n.a});
        reversed = !reversed;
      }
    } else if (n.op == Op::add && is_constant(n.b)) {
      g = intern({Op::sub, n.a, constant(-constant_value(n.b))});  // x + c and -c - x are one function
    }
  }
  const bool live = op == Op::live_positive || op == Op::live_nonnegative;
  const bool strict = op == Op::positive || op == Op::live_positive;
  // -g > 0  is  not (g >= 0);   -g >= 0  is  not (g > 0)
  const bool positive = strict != reversed;
  const Op normal = live ? (positive ? Op::live_positive : Op::live_nonnegative)
                         : (positive ? Op::positive : Op::nonnegative);
  const NodeId relation = intern({normal, g});
  return reversed ? make(Op::logical_not, relation) : relation;
}

NodeId Graph::simplify_logic(Op op, NodeId a, NodeId b, NodeId c) {
  const auto is_not = [this](NodeId id) { return nodes_[id].op == Op::logical_not; };
  switch (op) {
    case Op::logical_not:
      if (is_not(a)) return nodes_[a].a;
      return intern({op, a});
    case Op::logical_and:
      if (a == b) return a;
      if (is_constant(a)) return constant_value(a) != 0.0 ? b : constant(0.0);
      if (is_constant(b)) return constant_value(b) != 0.0 ? a : constant(0.0);
      if (a > b) std::swap(a, b);
      return intern({op, a, b});
    case Op::logical_or:
      if (a == b) return a;
      if (is_constant(a)) return constant_value(a) == 0.0 ? b : constant(1.0);
      if (is_constant(b)) return constant_value(b) == 0.0 ? a : constant(1.0);
      if (a > b) std::swap(a, b);
      return intern({op, a, b});
    default: break;  // select
  }
  if (is_constant(a)) return constant_value(a) != 0.0 ? b : c;
  if (b == c) return b;
  if (is_not(a)) {
    a = nodes_[a].a;
    std::swap(b, c);
  }
  return intern({Op::select, a, b, c});
}

}  // namespace saltus
