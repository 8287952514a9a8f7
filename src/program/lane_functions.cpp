#include "program/lane_functions.hpp"

#include <array>
#include <utility>

#include "program/interpreter.hpp"

namespace saltus {

namespace {

// Lane by lane, for processors without AVX2 and FMA.
template <Op op, int lanes>
void one_by_one(double* x) {
  constexpr const Operator& row = operators[static_cast<std::size_t>(op)];
  for (int k = 0; k < lanes; ++k) {
    if constexpr (row.operands == 2)
      x[k] = row.binary(x[k], x[k + lanes]);
    else
      x[k] = row.unary(x[k]);
  }
}

template <Op op, int lanes>
LaneFunction function_for() {
  if constexpr (info(op).kind != OpKind::function) return nullptr;
#if defined(__x86_64__)
  if (lanes == 8 && cpu_has_avx512()) return lane_row_avx512(op).eight;
  if (cpu_has_avx2_fma()) return lanes == 4 ? lane_row_avx2(op).four : lane_row_avx2(op).eight;
#endif
  if constexpr (info(op).kind == OpKind::function) return &one_by_one<op, lanes>;
}

template <int lanes, std::size_t... k>
std::array<LaneFunction, op_count> all_functions(std::index_sequence<k...>) {
  return {function_for<static_cast<Op>(k), lanes>()...};
}

}  // namespace

const LaneFunction* lane_functions(int lanes) {
  constexpr auto all = std::make_index_sequence<op_count>();
  static const std::array<LaneFunction, op_count> four = all_functions<4>(all), eight = all_functions<8>(all);
  return lanes == 4 ? four.data() : eight.data();
}

bool cpu_has_avx512() {
#if defined(__x86_64__)
  static const bool has = cpu_has_avx2_fma() && __builtin_cpu_supports("avx512f") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  return has;
#else
  return false;
#endif
}

}  // namespace saltus
