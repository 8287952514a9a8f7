#include "model/factors.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/graph.hpp>

#include <cmath>
#include <map>
#include <unordered_map>

#include "model/normal_form.hpp"

namespace saltus {

namespace {

constexpr std::size_t most_factors = 16;

/// What is certain about the sign of a function that has a value at every point.
struct Sign {
  bool may_be_negative = true, may_be_zero = true, may_be_positive = true;

  bool is_known() const { return !may_be_zero && may_be_negative != may_be_positive; }
  bool is_nonnegative() const { return !may_be_negative; }
  Sign turned() const { return {may_be_positive, may_be_zero, may_be_negative}; }
};
constexpr Sign unknown{}, positive{false, false, true}, nonnegative{false, true, true};

Sign of_number(double value) {
  return {value<0.0, !(value != 0.0), value> 0.0};
}

Sign sum(const Sign& a, const Sign& b) {
  const bool zero = a.may_be_zero && b.may_be_zero;
  return {a.may_be_negative || b.may_be_negative,
          zero || (a.may_be_negative && b.may_be_positive) || (a.may_be_positive && b.may_be_negative),
          a.may_be_positive || b.may_be_positive};
}

Sign product(const Sign& a, const Sign& b) {
  return {(a.may_be_negative && b.may_be_positive) || (a.may_be_positive && b.may_be_negative),
          a.may_be_zero || b.may_be_zero,
          (a.may_be_positive && b.may_be_positive) || (a.may_be_negative && b.may_be_negative)};
}

Sign either(const Sign& a, const Sign& b) {
  return {a.may_be_negative || b.may_be_negative, a.may_be_zero || b.may_be_zero,
          a.may_be_positive || b.may_be_positive};
}

class Signs {
 public:
  Signs(const Graph& graph, const KnownValues& values) : graph_(graph), values_(values), forms_(graph, {}) {}

  Sign of(NodeId root) {
    for (const NodeId id : graph_.reachable(std::span(&root, 1), {}))
      if (!known_.contains(id)) known_.emplace(id, look(id));
    return known_.at(root);
  }

 private:
  Sign look(NodeId id) {
    if (graph_.is_constant(id)) return of_number(graph_.constant_value(id));
    if (const auto given = values_.find(id); given != values_.end()) return of_number(given->second);
    const Node n = graph_.node(id);
    const auto at = [&](NodeId operand) { return known_.at(operand); };
    switch (n.op) {
      case Op::add:
        return sum(at(n.a), at(n.b));
      case Op::sub:
        return sum(at(n.a), at(n.b).turned());
      case Op::neg:
        return at(n.a).turned();
      case Op::mul:
        return product_of_factors(id);
      case Op::div:  // a denominator that may vanish has no value there
        return at(n.b).is_known() ? product(at(n.a), at(n.b)) : unknown;
      case Op::pow:
        return power(n);
      case Op::sqrt:
        return at(n.a).is_nonnegative() ? at(n.a) : unknown;
      case Op::exp:
      case Op::cosh:
        return positive;
      case Op::atan:
      case Op::sinh:
      case Op::tanh:
      case Op::asinh:
        return at(n.a);
      case Op::select:
        return is_magnitude(n) ? nonnegative : either(at(n.b), at(n.c));
      default:
        return unknown;
    }
  }
  /// if a > 0 then a else -a, in any spelling.
  bool is_magnitude(const Node& n) {
    const Node condition = graph_.node(n.a);
    if (condition.op != Op::positive && condition.op != Op::nonnegative) return false;
    const auto a = forms_.of(condition.a), then = forms_.of(n.b), otherwise = forms_.of(n.c);
    return a && then && otherwise && multiple(*then, *a) > 0 && multiple(*otherwise, *a) < 0;
  }
  /// Factors may stand anywhere in a product: y*(p*y) is p*y^2.
  Sign product_of_factors(NodeId id) const {
    std::map<NodeId, int> factors;
    std::vector<NodeId> open{id};
    while (!open.empty() && factors.size() < most_factors) {
      const NodeId here = open.back();
      const Node n = graph_.node(here);
      open.pop_back();
      if (n.op == Op::mul)
        open.insert(open.end(), {n.a, n.b});
      else
        ++factors[here];
    }
    Sign sign = open.empty() ? positive : unknown;
    for (const auto& [factor, count] : factors) {
      const Sign one = known_.at(factor);
      sign = product(sign, count % 2 == 0 ? square(one) : one);
    }
    return sign;
  }
  static Sign square(const Sign& a) { return a.may_be_zero ? nonnegative : positive; }
  Sign power(const Node& n) const {
    const Sign base = known_.at(n.a);
    if (!base.may_be_negative && !base.may_be_zero) return positive;
    if (!graph_.is_constant(n.b)) return unknown;
    const double exponent = graph_.constant_value(n.b);
    if (!(exponent > 0.0) || exponent != std::round(exponent)) return unknown;
    return std::fmod(exponent, 2.0) == 0.0 ? square(base) : base;
  }

  const Graph& graph_;
  const KnownValues& values_;
  NormalForms forms_;
  std::unordered_map<NodeId, Sign> known_;
};

}  // namespace

Expr plain_factors(const Expr& g, const KnownValues& values) {
  const auto& graph = g.graph();
  if (!graph) return g;
  std::map<NodeId, int> factors;
  std::vector<NodeId> open{g.id()};
  bool negative = false, reduced = false;
  Signs signs(*graph, values);
  while (!open.empty()) {
    const NodeId id = open.back();
    const Node n = graph->node(id);
    open.pop_back();
    const double exponent = n.op == Op::pow && graph->is_constant(n.b) ? graph->constant_value(n.b) : 0.0;
    if (const Sign sign = signs.of(id); sign.is_known()) {
      negative = negative != sign.may_be_negative;
      reduced = true;
    } else if (n.op == Op::mul) {
      open.insert(open.end(), {n.a, n.b});
    } else if (n.op == Op::div && signs.of(n.b).is_known()) {
      open.insert(open.end(), {n.a, n.b});
    } else if (n.op == Op::neg) {
      negative = !negative;
      open.push_back(n.a);
    } else if (exponent > 1.0 && std::fmod(exponent, 2.0) == 1.0) {
      reduced = true;
      open.push_back(n.a);
    } else if (++factors[id] == 3) {
      reduced = true;
    }
    if (open.size() + factors.size() > most_factors) return g;
  }
  if (!reduced || factors.empty()) return g;
  Expr product = negative ? -1.0 : 1.0;
  for (const auto& [id, count] : factors) {
    product *= Expr(graph, id);
    if (count % 2 == 0) product *= Expr(graph, id);
  }
  return product;
}

}  // namespace saltus
