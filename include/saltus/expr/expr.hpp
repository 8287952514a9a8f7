// Expr and BoolExpr: handles to nodes of an expression graph. They behave like numbers and truth values; what they build is data.
//
//   Expr y = sin(x) / (1 + abs(v - w));        // records, computes nothing
//   Expr f = if_else(v > w, -mu, mu);           // the relation v > w is a switching function
//
// A number is an Expr without a graph until it meets one. Mixing two graphs (two models) throws UsageError.
#pragma once

#include <saltus/expr/graph.hpp>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace saltus {

namespace expr_detail {
template <class T>
inline constexpr bool always_false = false;
}

class BoolExpr;
struct Equation;

/// A real-valued expression.
class Expr {
 public:
  Expr() : Expr(0.0) {}
  Expr(double value) : value_(value) {}  // NOLINT: numbers are expressions
  Expr(std::shared_ptr<Graph> graph, NodeId id) : graph_(std::move(graph)), id_(id) {}

  bool is_constant() const { return !graph_ || graph_->is_constant(id_); }
  /// The value of a constant. Throws UsageError if this is not one.
  double constant_value() const;
  bool is_symbol() const { return graph_ && graph_->node(id_).op == Op::symbol; }
  /// The name of a symbol. Throws UsageError if this is not one.
  const std::string& name() const;
  /// Same node of the same graph (or the same number): not an equation and not a numerical comparison.
  bool same(const Expr& other) const;

  const std::shared_ptr<Graph>& graph() const { return graph_; }
  /// The node; for a bare number this needs the graph into which it shall go.
  NodeId id() const { return id_; }
  NodeId in(Graph& graph) const;

  Expr& operator+=(const Expr& other);
  Expr& operator-=(const Expr& other);
  Expr& operator*=(const Expr& other);
  Expr& operator/=(const Expr& other);

 private:
  std::shared_ptr<Graph> graph_;
  NodeId id_ = no_node;
  double value_ = 0.0;
};

/// A truth-valued expression. It has no value while a model is recorded, so `if (x < y)` does not compile: write if_else.
class BoolExpr {
 public:
  BoolExpr() : BoolExpr(false) {}
  template <class B>
    requires std::is_same_v<B, bool>
  BoolExpr(B value) : expr_(value ? 1.0 : 0.0) {}  // NOLINT: truth values are expressions
  explicit BoolExpr(Expr expr) : expr_(std::move(expr)) {}

  /// As the number 0 or 1.
  const Expr& expr() const { return expr_; }
  bool same(const BoolExpr& other) const { return expr_.same(other.expr_); }

  template <class T = void>
  explicit operator bool() const {
    static_assert(expr_detail::always_false<T>,
                  "a recorded relation has no value yet, so it cannot be used in if, while, ?: or std::max: "
                  "write if_else(condition, a, b), or saltus::min/max/abs/sign");
    return false;
  }

 private:
  Expr expr_;
};

/// lhs == rhs, as it stands in a model.
struct Equation {
  Expr lhs, rhs;

  Expr residual() const;

  template <class T = void>
  explicit operator bool() const {
    static_assert(expr_detail::always_false<T>,
                  "== between expressions makes an equation, not a comparison: write equal(a, b) for a condition");
    return false;
  }
};

// --- arithmetic
Expr operator+(const Expr& a, const Expr& b);
Expr operator-(const Expr& a, const Expr& b);
Expr operator*(const Expr& a, const Expr& b);
Expr operator/(const Expr& a, const Expr& b);
Expr operator-(const Expr& a);
inline Expr operator+(const Expr& a) { return a; }

// --- functions; the elementary ones (sin, exp, pow, …) stand in operators.hpp

/// Balanced sum: its depth grows with the logarithm of the number of terms.
Expr sum(std::span<const Expr> terms);

// --- switching functions. Each relation is a guard of the model: the solver stops exactly there.
BoolExpr operator<(const Expr& a, const Expr& b);
BoolExpr operator<=(const Expr& a, const Expr& b);
BoolExpr operator>(const Expr& a, const Expr& b);
BoolExpr operator>=(const Expr& a, const Expr& b);
/// a and b have the same value; for discrete values (modes, counters).
BoolExpr equal(const Expr& a, const Expr& b);

/// An equation between two expressions (not a comparison).
Equation operator==(const Expr& lhs, const Expr& rhs);

BoolExpr operator&&(const BoolExpr& a, const BoolExpr& b);
BoolExpr operator||(const BoolExpr& a, const BoolExpr& b);
BoolExpr operator!(const BoolExpr& a);
inline BoolExpr operator&&(const BoolExpr& a, bool b) { return a && BoolExpr(b); }
inline BoolExpr operator&&(bool a, const BoolExpr& b) { return BoolExpr(a) && b; }
inline BoolExpr operator||(const BoolExpr& a, bool b) { return a || BoolExpr(b); }
inline BoolExpr operator||(bool a, const BoolExpr& b) { return BoolExpr(a) || b; }

Expr if_else(const BoolExpr& condition, const Expr& then, const Expr& otherwise);
BoolExpr if_else(const BoolExpr& condition, const BoolExpr& then, const BoolExpr& otherwise);

/// +1 where x > 0, -1 where x < 0, and 0 where x rests at zero. A solution that crosses x = 0, or slides along it, takes no part in the third value.
Expr sign(const Expr& x);
Expr abs(const Expr& x);
Expr min(const Expr& a, const Expr& b);
Expr max(const Expr& a, const Expr& b);
Expr floor(const Expr& x);
Expr ceil(const Expr& x);
/// Quotient x/y with the fraction cut off towards zero.
Expr div(const Expr& x, const Expr& y);
/// x - floor(x/y)*y.
Expr mod(const Expr& x, const Expr& y);
/// x - div(x, y)*y.
Expr rem(const Expr& x, const Expr& y);

/// The same expression with its relations and roundings evaluated literally: they are not guards and make no events.
/// For expressions that are smooth across their switches, or that must never be evaluated on the wrong side.
Expr no_event(const Expr& x);
BoolExpr no_event(const BoolExpr& x);

// --- smooth stand-ins for switches, of width `eps` > 0 around the surface
Expr smooth_sign(const Expr& x, const Expr& eps);  ///< tanh(x/eps)
Expr smooth_step(const Expr& x, const Expr& eps);  ///< (1 + tanh(x/eps))/2
Expr smooth_abs(const Expr& x, const Expr& eps);   ///< sqrt(x^2 + eps^2)
Expr smooth_max(const Expr& a, const Expr& b, const Expr& eps);
Expr smooth_min(const Expr& a, const Expr& b, const Expr& eps);

// --- foreign code
/// One call; the results are expressions.
std::vector<Expr> call(const std::shared_ptr<const ExternalFunction>& function, std::span<const Expr> arguments);

/// The graph that the expressions share; null if all are numbers. Throws UsageError if there are two.
std::shared_ptr<Graph> common_graph(std::initializer_list<const Expr*> expressions);
std::shared_ptr<Graph> common_graph(std::span<const Expr> expressions);
/// The graph that two lists of groups share (inputs and outputs of a program); a new one if all are numbers.
std::shared_ptr<Graph> common_graph(std::span<const std::vector<Expr>> inputs, std::span<const std::vector<Expr>> outputs);
/// The nodes of groups of expressions in their graph.
std::vector<std::vector<NodeId>> nodes_in(Graph& graph, std::span<const std::vector<Expr>> groups);

}  // namespace saltus
