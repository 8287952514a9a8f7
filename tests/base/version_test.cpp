#include <gtest/gtest.h>
#include <saltus/base/version.hpp>

#include <regex>
#include <string>

TEST(Version, HasThreeNumbers) {
  EXPECT_TRUE(std::regex_match(std::string(saltus::version()), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+")));
}
