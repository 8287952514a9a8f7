// == between expressions makes an equation, not a comparison.
#include <saltus/expr/expr.hpp>

double choose(const saltus::Expr& x, const saltus::Expr& y) {
#ifdef MUST_NOT_COMPILE
  if (x == y) return 1.0;
#endif
  (void)saltus::equal(x, y);
  return 0.0;
}
