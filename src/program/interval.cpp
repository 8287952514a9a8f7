// All values that an operation can take, for operands in intervals.
#include <saltus/base/interval.hpp>

#include "program/interpreter.hpp"

namespace saltus {

namespace {

Interval truth(bool surely, bool possibly) {
  return {surely ? 1.0 : 0.0, possibly ? 1.0 : 0.0};
}
bool surely(Interval a) {
  return !a.contains(0.0);
}
bool possibly(Interval a) {
  return a.lower != 0.0 || a.upper != 0.0;
}

}  // namespace

// No `default`: the compiler names the function whose enclosure is missing.
Interval enclose(Op op, Interval a, Interval b, Interval c, bool same) {
  const auto product = [&] { return same ? sqr(a) : a * b; };
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return product();
    case Op::div:
      return a / b;
    case Op::neg:
      return -a;
    case Op::fma:
      return product() + c;
    case Op::fms:
      return product() - c;
    case Op::fnma:
      return c - product();
    case Op::sqrt:
      return sqrt(a);
    case Op::exp:
      return exp(a);
    case Op::log:
      return log(a);
    case Op::sin:
      return sin(a);
    case Op::cos:
      return cos(a);
    case Op::tan:
      return tan(a);
    case Op::asin:
      return asin(a);
    case Op::acos:
      return acos(a);
    case Op::atan:
      return atan(a);
    case Op::sinh:
      return sinh(a);
    case Op::cosh:
      return cosh(a);
    case Op::tanh:
      return tanh(a);
    case Op::asinh:
      return asinh(a);
    case Op::acosh:
      return acosh(a);
    case Op::atanh:
      return atanh(a);
    case Op::pow:
      return pow(a, b);
    case Op::atan2:
      return atan2(a, b);
    case Op::floor:
    case Op::live_floor:
      return floor(a);
    case Op::positive:
    case Op::live_positive:
      return truth(a.lower > 0.0, a.upper > 0.0);
    case Op::nonnegative:
    case Op::live_nonnegative:
      return truth(a.lower >= 0.0, a.upper >= 0.0);
    case Op::logical_and:
      return truth(surely(a) && surely(b), possibly(a) && possibly(b));
    case Op::logical_or:
      return truth(surely(a) || surely(b), possibly(a) || possibly(b));
    case Op::logical_not:
      return truth(!possibly(a), !surely(a));
    case Op::select:
      return surely(a) ? b : !possibly(a) ? c : hull(b, c);
    case Op::constant:
    case Op::symbol:
    case Op::external:
      break;
  }
  throw UsageError("an external function has no interval evaluation");
}

}  // namespace saltus
