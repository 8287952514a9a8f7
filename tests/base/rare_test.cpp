#include <gtest/gtest.h>
#include <saltus/base/rare.hpp>

#include <string>

namespace saltus {
namespace {

TEST(Rare, TheUsualValueIsNotStored) {
  const Rare<std::string> none, empty = std::string();
  EXPECT_EQ(&*none, &*empty);
  EXPECT_TRUE(none->empty());
  EXPECT_EQ(sizeof(none), sizeof(void*));
}

TEST(Rare, CopiesShareAnotherValueUntilOneIsAssigned) {
  Rare<std::string> a = std::string("m/s"), b = a;
  EXPECT_EQ(&*a, &*b);
  EXPECT_EQ(a, b);
  b = std::string("kg");
  EXPECT_EQ(*a, "m/s");
  EXPECT_EQ(*b, "kg");
  a = a;
  EXPECT_EQ(*a, "m/s");
  const Rare<std::string> c = std::move(a);
  EXPECT_EQ(*c, "m/s");
}

}  // namespace
}  // namespace saltus
