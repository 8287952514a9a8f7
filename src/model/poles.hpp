// Switching functions without poles and cuts.
#pragma once

#include <saltus/expr/expr.hpp>

namespace saltus {

/// A function with the sign of g wherever g has one, and a zero where g = n/d has a pole: n d. So 1/x > 0 changes at x
/// = 0 as x > 0 does. Denominators inside other functions and those of parameters and discrete variables stay. Returns
/// g itself if there are no others, or too many.
Expr without_poles(const Expr& g);

/// The same function with relations at the cut of atan2: where x < 0, atan2(y, x) is atan2(-y, -x) plus or minus pi, by
/// the sign of y. So it is smooth as long as the relations are, and the cut is a surface like others. The same at the
/// poles of y/x in atan(y/x).
Expr without_cuts(const Expr& g);

}  // namespace saltus
