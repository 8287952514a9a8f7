// Random relations, of all kinds, on one expression, and numbers that they choose: as expressions, and by the sign of what is compared with zero.
#pragma once

#include <saltus/expr/expr.hpp>

#include <functional>
#include <random>
#include <vector>

namespace saltus {

using Random = std::mt19937_64;
inline int pick(Random& random, int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); }

/// An expression, and its value by the sign of what is compared with zero.
struct Relation {
  BoolExpr expr;
  std::function<bool(int)> truth;
};
struct Choice {
  Expr expr;
  std::function<double(int)> value;
};

inline Relation random_relation(Random& random, const Expr& g, int depth) {
  const int kind = pick(random, depth > 0 ? 13 : 10);
  if (kind >= 10) {
    const Relation a = random_relation(random, g, depth - 1), b = random_relation(random, g, depth - 1);
    if (kind == 10) return {a.expr && b.expr, [=](int s) { return a.truth(s) && b.truth(s); }};
    if (kind == 11) return {a.expr || b.expr, [=](int s) { return a.truth(s) || b.truth(s); }};
    return {!a.expr, [=](int s) { return !a.truth(s); }};
  }
  switch (kind) {
    case 0: return {g > 0.0, [](int s) { return s > 0; }};
    case 1: return {g < 0.0, [](int s) { return s < 0; }};
    case 2: return {g >= 0.0, [](int s) { return s >= 0; }};
    case 3: return {g <= 0.0, [](int s) { return s <= 0; }};
    case 4: return {-g > 0.0, [](int s) { return s < 0; }};
    case 5: return {2.0 * g <= 0.0, [](int s) { return s <= 0; }};
    case 6: return {Expr(0.0) >= g, [](int s) { return s <= 0; }};
    case 7: return {sign(g) > 0.5, [](int s) { return s > 0; }};
    case 8: return {sign(-g) >= 0.0, [](int s) { return s <= 0; }};
    default: return {!(g >= 0.0), [](int s) { return s < 0; }};
  }
}

inline Choice random_choice(Random& random, const Expr& g, const std::vector<double>& values, int depth) {
  if (depth == 0) {
    const double v = values[static_cast<std::size_t>(pick(random, static_cast<int>(values.size())))];
    if (pick(random, 4) == 0) return {v * sign(g), [v](int s) { return v * s; }};
    return {Expr(v), [v](int) { return v; }};
  }
  const Relation c = random_relation(random, g, 2);
  const Choice a = random_choice(random, g, values, depth - 1), b = random_choice(random, g, values, depth - 1);
  if (pick(random, 3) < 2) return {if_else(c.expr, a.expr, b.expr), [=](int s) { return c.truth(s) ? a.value(s) : b.value(s); }};
  return {if_else(c.expr, a.expr, 0.0) + b.expr, [=](int s) { return (c.truth(s) ? a.value(s) : 0.0) + b.value(s); }};
}

}  // namespace saltus
