// The analysis of large sparse modes needs memory in proportion to their size.
#include <gtest/gtest.h>
#include <saltus/dae/characteristic_values.hpp>

#include "problems/heat.hpp"
#include "suites/count_allocations.hpp"

namespace saltus {
namespace {

double bytes_per_variable(int n) {
  const problems::Problem p = problems::heat_rod_model(n / 2);
  suite::forget_peak();
  const CharacteristicValues values = characteristic_values(*p.system, p.t, p.guess);
  EXPECT_EQ(values.status, AnalysisStatus::clear);
  EXPECT_EQ(values.numbers, p.expected);
  return static_cast<double>(suite::peak_bytes()) / n;
}

TEST(AnalysisMemory, IsLinearInTheNumberOfVariables) {
  // Arrays of n and of the number of non-zeros (a fixed multiple of n here) grow by doubling at worst: the bytes per
  // variable may differ by a factor 2 between sizes, but not grow with them.
  const double at_1e3 = bytes_per_variable(1000);
  for (int n : {10000, 100000}) EXPECT_LE(bytes_per_variable(n), 2.0 * at_1e3) << n;
}

}  // namespace
}  // namespace saltus
