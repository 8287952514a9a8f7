// Elementary functions for four and eight lanes must give the bits of one lane, whatever the neighbours are.
#include "program/lane_functions.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "program/interpreter.hpp"
#include "random_graph.hpp"

namespace saltus {
namespace {

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// Arguments of all sizes; neighbours in lanes have different sizes.
double argument(std::mt19937_64& dice) {
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  switch (dice() % 8) {
    case 0:
      return std::ldexp(unit(dice), static_cast<int>(dice() % 2000) - 1000);
    case 1:
      return 720.0 * unit(dice);
    case 2:
      return test::special_values()[dice() % test::special_values().size()];
    case 3:
      return 1e15 * unit(dice);
    default:
      return 4.0 * unit(dice);
  }
}

void compare(const Operator& row, LaneFunction function, int lanes, const char* what) {
  std::mt19937_64 dice(static_cast<std::uint64_t>(row.op));
  for (int round = 0; round < 20000; ++round) {
    double x[16], y[16];
    for (double& v : x) v = argument(dice);
    std::copy(std::begin(x), std::end(x), y);
    function(y);
    for (int k = 0; k < lanes; ++k) {
      const double one = row.operands == 2 ? row.binary(x[k], x[k + lanes]) : row.unary(x[k]);
      ASSERT_TRUE(same_bits(y[k], one)) << what << ": " << row.name << "(" << x[k] << ", " << x[k + lanes] << ") is "
                                        << y[k] << " in lane " << k << ", and " << one << " alone";
    }
  }
}

TEST(LaneFunctions, HaveTheBitsOfOneLane) {
  for (const Operator& row : operators) {
    if (row.kind != OpKind::function) continue;
    for (const int lanes : {4, 8})
      compare(row, lane_functions(lanes)[static_cast<std::size_t>(row.op)], lanes, "lanes");
#if defined(__x86_64__)
    if (cpu_has_avx2_fma()) {
      compare(row, lane_row_avx2(row.op).four, 4, "AVX2, 4 lanes");
      compare(row, lane_row_avx2(row.op).eight, 8, "AVX2, 8 lanes");
    }
    if (cpu_has_avx512()) compare(row, lane_row_avx512(row.op).eight, 8, "AVX-512");
#endif
  }
}

TEST(LaneFunctions, AreThereForElementaryFunctionsOnly) {
  for (const Operator& row : operators)
    for (const int lanes : {4, 8})
      EXPECT_EQ(lane_functions(lanes)[static_cast<std::size_t>(row.op)] != nullptr, row.kind == OpKind::function)
          << row.name;
}

}  // namespace
}  // namespace saltus
