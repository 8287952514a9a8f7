#include "program/native_code_calls.hpp"

#include <cmath>

#include "program/interpreter.hpp"

namespace saltus::native {

namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

template <Unary f>
void map_unary(double* x) {
  for (int k = 0; k < 4; ++k) x[k] = f(x[k]);
}

template <Binary f>
void map_binary(double* x) {
  for (int k = 0; k < 4; ++k) x[k] = f(x[k], x[k + 4]);
}

template <Unary f>
const void* pick(int lanes) {
  return lanes == 4 ? reinterpret_cast<const void*>(&map_unary<f>) : reinterpret_cast<const void*>(f);
}

template <Binary f>
const void* pick(int lanes) {
  return lanes == 4 ? reinterpret_cast<const void*>(&map_binary<f>) : reinterpret_cast<const void*>(f);
}

template <int lanes>
void call_lanes(const CallSite* site, double* scratch) {
  for (int lane = 0; lane < lanes; ++lane) {
    call_external(*site, scratch);
    scratch += site->arguments.size() + site->results.size();
  }
}

}  // namespace

bool makes_call(Opcode op) {
  return op == Opcode::external || math_function(op, 1) != nullptr;
}

const void* math_function(Opcode op, int lanes) {
  switch (op) {
    case Opcode::exp:
      return pick<static_cast<Unary>(::exp)>(lanes);
    case Opcode::log:
      return pick<static_cast<Unary>(::log)>(lanes);
    case Opcode::sin:
      return pick<static_cast<Unary>(::sin)>(lanes);
    case Opcode::cos:
      return pick<static_cast<Unary>(::cos)>(lanes);
    case Opcode::tan:
      return pick<static_cast<Unary>(::tan)>(lanes);
    case Opcode::asin:
      return pick<static_cast<Unary>(::asin)>(lanes);
    case Opcode::acos:
      return pick<static_cast<Unary>(::acos)>(lanes);
    case Opcode::atan:
      return pick<static_cast<Unary>(::atan)>(lanes);
    case Opcode::sinh:
      return pick<static_cast<Unary>(::sinh)>(lanes);
    case Opcode::cosh:
      return pick<static_cast<Unary>(::cosh)>(lanes);
    case Opcode::tanh:
      return pick<static_cast<Unary>(::tanh)>(lanes);
    case Opcode::asinh:
      return pick<static_cast<Unary>(::asinh)>(lanes);
    case Opcode::acosh:
      return pick<static_cast<Unary>(::acosh)>(lanes);
    case Opcode::atanh:
      return pick<static_cast<Unary>(::atanh)>(lanes);
    case Opcode::pow:
      return pick<static_cast<Binary>(::pow)>(lanes);
    case Opcode::atan2:
      return pick<static_cast<Binary>(::atan2)>(lanes);
    default:
      return nullptr;
  }
}

const void* external_function(int lanes) {
  return lanes == 4 ? reinterpret_cast<const void*>(&call_lanes<4>) : reinterpret_cast<const void*>(&call_lanes<1>);
}

}  // namespace saltus::native
