// What an expression is, or depends on.
#pragma once

#include <saltus/expr/derivative.hpp>

#include <initializer_list>
#include <span>

namespace saltus {

inline bool depends_on(const Expr& e, std::initializer_list<SymbolKind> kinds) {
  for (const SymbolKind kind : kinds)
    if (!symbols_of(std::span(&e, 1), kind).empty()) return true;
  return false;
}

/// The constant zero.
inline bool is_zero(const Expr& e) {
  return e.is_constant() && e.constant_value() == 0.0;
}

}  // namespace saltus
