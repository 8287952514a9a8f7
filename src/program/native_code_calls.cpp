#include "program/native_code_calls.hpp"

#include "base/elementary_fused.hpp"
#include "base/sleef_scalar.hpp"
#include "program/interpreter.hpp"
#include "program/lane_functions.hpp"

namespace saltus::native {

namespace {

template <int lanes>
void call_lanes(const CallSite* site, double* scratch) {
  for (int lane = 0; lane < lanes; ++lane) {
    call_external(*site, scratch);
    scratch += site->arguments.size() + site->results.size();
  }
}

}  // namespace

bool makes_call(Op op) {
  return op == Op::external || (info(op).kind == OpKind::function && op != Op::sqrt);
}

// One lane: without the question what the processor has, where <saltus/base/elementary.hpp> asks nothing else.
static const void* scalar_function(Op op) {
#if SALTUS_HAS_SLEEF
  switch (op) {
    case Op::exp:
      return reinterpret_cast<const void*>(&elementary::fused::exp);
    case Op::log:
      return reinterpret_cast<const void*>(&elementary::fused::log);
    case Op::sin:
      return reinterpret_cast<const void*>(&elementary::fused::sin);
    case Op::cos:
      return reinterpret_cast<const void*>(&elementary::fused::cos);
    case Op::pow:
      return reinterpret_cast<const void*>(&Sleef_finz_powd1_u10purecfma);
    default:
      break;
  }
#endif
  const Operator& f = info(op);
  return f.operands == 2 ? reinterpret_cast<const void*>(f.binary) : reinterpret_cast<const void*>(f.unary);
}

const void* math_function(Op op, int width) {
  if (width == 8) return lane_row_avx512(op).in_registers;
  return width == 4 ? lane_row_avx2(op).in_registers : scalar_function(op);
}

const void* external_function(int width) {
  if (width == 8) return reinterpret_cast<const void*>(&call_lanes<8>);
  return width == 4 ? reinterpret_cast<const void*>(&call_lanes<4>) : reinterpret_cast<const void*>(&call_lanes<1>);
}

}  // namespace saltus::native
