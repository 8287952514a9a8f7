#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/linalg/sparse.hpp>

namespace saltus {
namespace {

using Pairs = std::vector<std::pair<int, int>>;

TEST(MakePattern, SortsAndMergesEntries) {
  std::vector<int> position;
  const SparsePattern p = make_pattern(3, 2, Pairs{{2, 1}, {0, 0}, {1, 1}, {2, 1}}, &position);
  EXPECT_EQ(p.start, (std::vector{0, 1, 3}));
  EXPECT_EQ(p.row, (std::vector{0, 1, 2}));
  EXPECT_EQ(position, (std::vector{2, 0, 1, 2}));
  EXPECT_THROW(make_pattern(2, 2, Pairs{{2, 0}}), UsageError);
}

TEST(Unite, KeepsThePlacesOfBoth) {
  const SparsePattern a = make_pattern(3, 2, Pairs{{0, 0}, {2, 0}, {1, 1}}),
                      b = make_pattern(3, 2, Pairs{{1, 0}, {1, 1}});
  std::vector<int> from_a, from_b;
  const SparsePattern u = unite(a, b, &from_a, &from_b);
  EXPECT_EQ(u, make_pattern(3, 2, Pairs{{0, 0}, {1, 0}, {2, 0}, {1, 1}}));
  EXPECT_EQ(from_a, (std::vector{0, 2, 3}));
  EXPECT_EQ(from_b, (std::vector{1, 3}));
}

TEST(MultiplyAdd, IsTheMatrixProduct) {
  const SparsePattern p = make_pattern(2, 2, Pairs{{0, 0}, {1, 0}, {1, 1}});
  std::vector<double> y{1.0, 1.0};
  multiply_add(p, std::vector{2.0, 3.0, 4.0}, std::vector{5.0, 6.0}, 10.0, y);
  EXPECT_EQ(y, (std::vector{101.0, 391.0}));
}

}  // namespace
}  // namespace saltus
