#include "flight/guard_bounds.hpp"

#include <saltus/expr/derivative.hpp>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/finite.hpp"

namespace saltus {

namespace {

/// c + s u ± r for -1 <= u <= 1.
struct Bounded {
  Expr c, s = 0.0, r = 0.0;

  Expr spread() const { return abs(s) + r; }
};

/// Computes bounds node by node.
class BoundWriter {
 public:
  explicit BoundWriter(std::shared_ptr<Graph> graph) : graph_(std::move(graph)) {}

  void moves(const Expr& symbol, Bounded value) { known_.insert_or_assign(symbol.id(), std::move(value)); }
  void is_fixed(const Expr& datum) { leaves_.push_back(datum.id()); }

  /// None: there is a function without a rule.
  std::optional<Bounded> find(const Expr& e) {
    if (!e.graph()) return Bounded{e};
    const NodeId root = e.id();
    for (const NodeId id : graph_->reachable(std::span(&root, 1), leaves_))
      if (!known_.contains(id)) {
        std::optional<Bounded> value = of(id);
        if (!value) return {};
        known_.emplace(id, std::move(*value));
      }
    return known_.at(root);
  }

 private:
  const Bounded& operand(NodeId id) const { return known_.at(id); }
  static bool fixed(const Bounded& b) { return is_zero(b.s) && is_zero(b.r); }
  static bool is_zero(const Expr& e) { return e.is_constant() && e.constant_value() == 0.0; }

  std::optional<Bounded> of(NodeId id) {
    const Node node = graph_->node(id);  // (a copy: the graph grows)
    const Expr self(graph_, id);
    bool moves = false;
    if (std::ranges::find(leaves_, id) == leaves_.end())
      graph_->for_each_operand(id, [&](NodeId k) { moves = moves || !fixed(operand(k)); });
    if (!moves) return Bounded{self};
    const auto a = [&] { return operand(node.a); };
    const auto b = [&] { return operand(node.b); };
    switch (node.op) {
      case Op::add:
        return rounded({a().c + b().c, a().s + b().s, a().r + b().r});
      case Op::sub:
        return rounded({a().c - b().c, a().s - b().s, a().r + b().r});
      case Op::neg:
        return Bounded{-a().c, -a().s, a().r};
      case Op::mul:
        return product(a(), b());
      case Op::div:
        return product(a(), inverse(b()));
      case Op::select:
        if (!fixed(a())) return {};
        return chosen(a().c, b(), operand(node.c));
      default:
        return function(node.op, a());
    }
  }

  /// Adds what rounding may amount to in the operations that made the value.
  static Bounded rounded(Bounded v) {
    constexpr double unit = 8.0 * eps;
    v.r = v.r + unit * (abs(v.c) + abs(v.s) + v.r);
    return v;
  }

  /// u² lies within 1/2 ± 1/2.
  static Bounded product(const Bounded& a, const Bounded& b) {
    const Expr half = 0.5 * (a.s * b.s);
    return rounded({a.c * b.c + half, a.c * b.s + b.c * a.s,
                    abs(half) + (abs(a.c) + abs(a.s)) * b.r + (abs(b.c) + abs(b.s)) * a.r + a.r * b.r});
  }

  static Bounded chosen(const Expr& condition, const Bounded& yes, const Bounded& no) {
    const BoolExpr holds(condition);
    return {if_else(holds, yes.c, no.c), if_else(holds, yes.s, no.s), if_else(holds, yes.r, no.r)};
  }

  /// A function from its value and slope in the middle and a bound of its second derivative over the whole range.
  static Bounded bent(const Bounded& x, const Expr& value, const Expr& slope, const Expr& curvature) {
    const Expr d = x.spread();
    return rounded({value, slope * x.s, abs(slope) * x.r + 0.5 * curvature * d * d});
  }

  /// The same where the function is not defined in all of the range: it is unbounded then.
  static Bounded bent_where(const Expr& positive, const Bounded& x, const Expr& value, const Expr& slope,
                            const Expr& curvature) {
    constexpr double unbounded = 1e300;
    Bounded result = bent(x, value, slope, curvature);
    result.r = if_else(positive > 0.0, result.r, Expr(unbounded));
    return result;
  }

  static Bounded inverse(const Bounded& x) {
    const Expr least = abs(x.c) - x.spread(), value = 1.0 / x.c;
    return bent_where(least, x, value, -value * value, 2.0 / (least * least * least));
  }

  static std::optional<Bounded> function(Op op, const Bounded& x) {
    const Expr least = x.c - x.spread();
    switch (op) {
      case Op::sin:
        return bent(x, sin(x.c), cos(x.c), 1.0);
      case Op::cos:
        return bent(x, cos(x.c), -sin(x.c), 1.0);
      case Op::exp: {
        const Expr value = exp(x.c);
        return bent(x, value, value, exp(x.c + x.spread()));
      }
      case Op::log:
        return bent_where(least, x, log(x.c), 1.0 / x.c, 1.0 / (least * least));
      case Op::sqrt: {
        const Expr value = sqrt(x.c);
        return bent_where(least, x, value, 0.5 / value, 0.25 / (least * sqrt(least)));
      }
      case Op::atan:  // |y''| = 2|x|/(1 + x²)² is 0.6495… at most
        return bent(x, atan(x.c), 1.0 / (1.0 + x.c * x.c), 0.65);
      case Op::tanh: {  // |y''| = 2|y|(1 - y²) is 0.7698… at most
        const Expr value = tanh(x.c);
        return bent(x, value, 1.0 - value * value, 0.77);
      }
      default:
        return {};
    }
  }

  std::shared_ptr<Graph> graph_;
  std::vector<NodeId> leaves_;
  std::unordered_map<NodeId, Bounded> known_;
};

}  // namespace

GuardBounds make_guard_bounds(const Expr& time, const std::vector<Expr>& variables, const std::vector<Expr>& data,
                              const std::vector<Expr>& guards, const std::vector<unsigned char>& affine) {
  GuardBounds made;
  made.places.assign(guards.size(), -1);
  if (std::ranges::find(affine, 0) == affine.end()) return made;
  const std::shared_ptr<Graph> graph = variables.front().graph();
  std::vector<std::vector<Expr>> inputs;
  const auto input = [&](std::size_t count) {
    auto& group = inputs.emplace_back();
    while (group.size() < count) group.emplace_back(graph, graph->symbol("bound", SymbolKind::parameter));
    return group;
  };
  BoundWriter writer(graph);
  const std::size_t n = variables.size();
  const std::vector<Expr> t = input(2), c = input(n), s = input(n), r = input(n), slope_c = input(n),
                          slope_s = input(n), slope_r = input(n);
  std::vector<Expr> moving{time}, speed{Expr(1.0)};
  writer.moves(time, {t[0], t[1], 0.0});
  for (std::size_t j = 0; j < n; ++j) {
    const Expr slope = der(variables[j]);
    writer.moves(variables[j], {c[j], s[j], r[j]});
    writer.moves(slope, {slope_c[j], slope_s[j], slope_r[j]});
    moving.push_back(variables[j]);
    speed.push_back(slope);
  }
  for (const Expr& datum : data) writer.is_fixed(datum);
  inputs.push_back(data);
  std::vector<std::vector<Expr>> outputs(4);
  for (std::size_t k = 0; k < guards.size(); ++k) {
    if (affine[k]) continue;
    const auto value = writer.find(guards[k]);
    const auto slope = writer.find(directional_derivative(std::span(&guards[k], 1), moving, speed).front());
    if (!value || !slope) continue;
    made.places[k] = static_cast<int>(outputs[0].size());
    outputs[0].push_back(value->c - value->spread());
    outputs[1].push_back(value->c + value->spread());
    outputs[2].push_back(slope->c - slope->spread());
    outputs[3].push_back(slope->c + slope->spread());
  }
  if (!outputs[0].empty()) made.program = Program(inputs, outputs);
  return made;
}

}  // namespace saltus
