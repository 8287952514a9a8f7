#include "program/native_code_calls.hpp"

#include <array>
#include <utility>

#include "program/interpreter.hpp"

namespace saltus::native {

namespace {

template <Op op>
void call_four(double* x) {
  constexpr const Operator& f = info(op);
  for (int k = 0; k < 4; ++k) {
    if constexpr (f.operands == 2)
      x[k] = f.binary(x[k], x[k + 4]);
    else
      x[k] = f.unary(x[k]);
  }
}

using FourLanes = void (*)(double*);

template <Op op>
constexpr FourLanes four_lanes() {
  if constexpr (info(op).kind == OpKind::function) return &call_four<op>;
  return nullptr;
}

template <std::size_t... k>
constexpr std::array<FourLanes, op_count> all_four_lanes(std::index_sequence<k...>) {
  return {four_lanes<static_cast<Op>(k)>()...};
}
constexpr std::array<FourLanes, op_count> functions_of_four_lanes = all_four_lanes(std::make_index_sequence<op_count>());

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

const void* math_function(Op op, int lanes) {
  const Operator& f = info(op);
  if (lanes == 4) return reinterpret_cast<const void*>(functions_of_four_lanes[static_cast<std::size_t>(op)]);
  return f.operands == 2 ? reinterpret_cast<const void*>(f.binary) : reinterpret_cast<const void*>(f.unary);
}

const void* external_function(int lanes) {
  return lanes == 4 ? reinterpret_cast<const void*>(&call_lanes<4>) : reinterpret_cast<const void*>(&call_lanes<1>);
}

}  // namespace saltus::native
