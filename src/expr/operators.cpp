// What operators do with numbers and expressions, and their derivatives.
#include <saltus/expr/expr.hpp>

#include "expr/partial_derivatives.hpp"

namespace saltus {

double apply(Op op, double a, double b, double c) {
  switch (info(op).kind) {
    case OpKind::function:
    case OpKind::rounding:
      return info(op).unary ? info(op).unary(a) : info(op).binary(a, b);
    default:
      break;
  }
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return a / b;
    case Op::neg:
      return -a;
    case Op::fma:
      return std::fma(a, b, c);
    case Op::fms:
      return std::fma(a, b, -c);
    case Op::fnma:
      return std::fma(-a, b, c);
    case Op::positive:
    case Op::live_positive:
      return a > 0.0 ? 1.0 : 0.0;
    case Op::nonnegative:
    case Op::live_nonnegative:
      return a >= 0.0 ? 1.0 : 0.0;
    case Op::logical_and:
      return a != 0.0 && b != 0.0 ? 1.0 : 0.0;
    case Op::logical_or:
      return a != 0.0 || b != 0.0 ? 1.0 : 0.0;
    case Op::logical_not:
      return a == 0.0 ? 1.0 : 0.0;
    case Op::select:
      return a != 0.0 ? b : c;
    default:
      throw UsageError("apply: a leaf has no operands");
  }
}

Expr pow(const Expr& base, const Expr& exponent) {
  return apply(Op::pow, base, exponent);
}
Expr sqrt(const Expr& x) {
  return apply(Op::sqrt, x);
}
Expr exp(const Expr& x) {
  return apply(Op::exp, x);
}
Expr log(const Expr& x) {
  return apply(Op::log, x);
}
Expr log10(const Expr& x) {
  return log(x) / std::log(10.0);
}
Expr sin(const Expr& x) {
  return apply(Op::sin, x);
}
Expr cos(const Expr& x) {
  return apply(Op::cos, x);
}
Expr tan(const Expr& x) {
  return apply(Op::tan, x);
}
Expr asin(const Expr& x) {
  return apply(Op::asin, x);
}
Expr acos(const Expr& x) {
  return apply(Op::acos, x);
}
Expr atan(const Expr& x) {
  return apply(Op::atan, x);
}
Expr sinh(const Expr& x) {
  return apply(Op::sinh, x);
}
Expr cosh(const Expr& x) {
  return apply(Op::cosh, x);
}
Expr tanh(const Expr& x) {
  return apply(Op::tanh, x);
}
Expr asinh(const Expr& x) {
  return apply(Op::asinh, x);
}
Expr acosh(const Expr& x) {
  return apply(Op::acosh, x);
}
Expr atanh(const Expr& x) {
  return apply(Op::atanh, x);
}
Expr atan2(const Expr& y, const Expr& x) {
  return apply(Op::atan2, y, x);
}

bool carries_derivative(Op op) {
  switch (info(op).kind) {
    case OpKind::arithmetic:
    case OpKind::choice:
    case OpKind::function:
    case OpKind::external:
      return true;
    case OpKind::leaf:
    case OpKind::fused:
    case OpKind::relation:
    case OpKind::rounding:
    case OpKind::logic:
      break;
  }
  return false;
}

// No `default`: the compiler names the function whose derivative is missing.
NodeId partial_derivative(Graph& g, NodeId id, int k) {
  const Node n = g.node(id);
  const auto number = [&](double v) { return g.constant(v); };
  const auto square = [&](NodeId x) { return g.make(Op::mul, x, x); };
  const auto reciprocal = [&](NodeId x) { return g.make(Op::div, number(1.0), x); };
  switch (n.op) {
    case Op::add:
      return number(1.0);
    case Op::sub:
      return number(k == 0 ? 1.0 : -1.0);
    case Op::mul:
      return k == 0 ? n.b : n.a;
    case Op::div:
      if (k == 0) return reciprocal(n.b);
      return g.make(Op::neg, g.make(Op::div, id, n.b));
    case Op::neg:
      return number(-1.0);
    case Op::pow:
      if (k == 0) return g.make(Op::mul, n.b, g.make(Op::pow, n.a, g.make(Op::sub, n.b, number(1.0))));
      return g.make(Op::mul, id, g.make(Op::log, n.a));
    case Op::atan2: {
      const NodeId r2 = g.make(Op::add, square(n.a), square(n.b));
      return k == 0 ? g.make(Op::div, n.b, r2) : g.make(Op::neg, g.make(Op::div, n.a, r2));
    }
    case Op::sqrt:
      return g.make(Op::div, number(0.5), id);
    case Op::exp:
      return id;
    case Op::log:
      return reciprocal(n.a);
    case Op::sin:
      return g.make(Op::cos, n.a);
    case Op::cos:
      return g.make(Op::neg, g.make(Op::sin, n.a));
    case Op::tan:
      return g.make(Op::add, number(1.0), square(id));
    case Op::asin:
      return reciprocal(g.make(Op::sqrt, g.make(Op::sub, number(1.0), square(n.a))));
    case Op::acos:
      return g.make(Op::neg, reciprocal(g.make(Op::sqrt, g.make(Op::sub, number(1.0), square(n.a)))));
    case Op::atan:
      return reciprocal(g.make(Op::add, number(1.0), square(n.a)));
    case Op::sinh:
      return g.make(Op::cosh, n.a);
    case Op::cosh:
      return g.make(Op::sinh, n.a);
    case Op::tanh:
      return g.make(Op::sub, number(1.0), square(id));
    case Op::asinh:
      return reciprocal(g.make(Op::sqrt, g.make(Op::add, square(n.a), number(1.0))));
    case Op::acosh:
      return reciprocal(g.make(Op::sqrt, g.make(Op::sub, square(n.a), number(1.0))));
    case Op::atanh:
      return reciprocal(g.make(Op::sub, number(1.0), square(n.a)));
    case Op::constant:
    case Op::symbol:
    case Op::fma:
    case Op::fms:
    case Op::fnma:
    case Op::positive:
    case Op::nonnegative:
    case Op::floor:
    case Op::live_positive:
    case Op::live_nonnegative:
    case Op::live_floor:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_not:
    case Op::select:
    case Op::external:
      break;
  }
  return number(0.0);
}

}  // namespace saltus
