// A recorded relation has no value while the model is being written.
#include <saltus/expr/expr.hpp>

double choose(const saltus::Expr& x, const saltus::Expr& y) {
#ifdef MUST_NOT_COMPILE
  if (x < y) return 1.0;
#endif
  (void)if_else(x < y, x, y);
  return 0.0;
}
