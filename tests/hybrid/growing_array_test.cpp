// The arrays in which a run writes down its events: what is in them stays the same while they grow, also beyond the size from which they lie in
// large pages.
#include "hybrid/growing_array.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

namespace saltus {
namespace {

constexpr std::size_t beyond_large_pages = (std::size_t{6} << 20) / sizeof(double);  // two or three times as much as the first of them holds

struct Odd {  // does not divide the size of a page
  double a, b;
  std::int32_t c;
};

TEST(GrowingArray, KeepsItsValuesWhileItGrows) {
  GrowingArray<double> array;
  EXPECT_TRUE(array.empty());
  for (std::size_t k = 0; k < beyond_large_pages; ++k) array.push_back(static_cast<double>(k));
  ASSERT_EQ(array.size(), beyond_large_pages);
  for (std::size_t k = 0; k < beyond_large_pages; ++k) ASSERT_EQ(array[k], static_cast<double>(k));
  EXPECT_EQ(array.back(), static_cast<double>(beyond_large_pages - 1));
}

TEST(GrowingArray, AppendsListsOneAfterTheOther) {
  GrowingArray<double> array;
  std::vector<double> expected;
  std::vector<double> one(3), two, three(7);
  for (double next = 0.0; expected.size() < beyond_large_pages; next += 10.0) {
    std::iota(one.begin(), one.end(), next);
    std::iota(three.begin(), three.end(), next + 3.0);
    array.append(one, two, three);
    expected.insert(expected.end(), one.begin(), one.end());
    expected.insert(expected.end(), three.begin(), three.end());
  }
  ASSERT_EQ(array.size(), expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), array.data()));
}

TEST(GrowingArray, TakesAListThatIsLargerThanAllBefore) {
  GrowingArray<double> array;
  array.push_back(-1.0);
  std::vector<double> list(beyond_large_pages);
  std::iota(list.begin(), list.end(), 0.0);
  array.append(list);
  ASSERT_EQ(array.size(), list.size() + 1);
  EXPECT_EQ(array[0], -1.0);
  EXPECT_TRUE(std::equal(list.begin(), list.end(), array.data() + 1));
}

TEST(GrowingArray, HoldsValuesOfAnySize) {
  GrowingArray<Odd> array;
  constexpr int count = 300000;  // some pages
  for (int k = 0; k < count; ++k) array.push_back({0.5 * k, -0.5 * k, k});
  for (int k = 0; k < count; ++k) {
    ASSERT_EQ(array[static_cast<std::size_t>(k)].a, 0.5 * k);
    ASSERT_EQ(array[static_cast<std::size_t>(k)].b, -0.5 * k);
    ASSERT_EQ(array[static_cast<std::size_t>(k)].c, k);
  }
}

TEST(GrowingArray, ACopyGoesItsOwnWay) {
  GrowingArray<double> array;
  for (int k = 0; k < 20; ++k) array.push_back(k);
  GrowingArray<double> copy = array;
  array.push_back(20.0);
  copy.push_back(-1.0);
  EXPECT_EQ(array.size(), 21u);
  EXPECT_EQ(copy.size(), 21u);
  EXPECT_EQ(array.back(), 20.0);
  EXPECT_EQ(copy.back(), -1.0);
  EXPECT_EQ(copy[19], 19.0);
}

}  // namespace
}  // namespace saltus
