#include <gtest/gtest.h>
#include <saltus/base/build_info.hpp>
#include <saltus/base/version.hpp>

#include <regex>
#include <string>

TEST(Version, HasThreeNumbers) {
  EXPECT_TRUE(std::regex_match(std::string(saltus::version()), std::regex("[0-9]+\\.[0-9]+\\.[0-9]+")));
}

TEST(Version, OfABuildHasCommitDateCompilerAndParts) {
  const std::regex form(
      R"(([0-9.]+)(\+([0-9]+\.)?g[0-9a-f]{7,})? \(([0-9]{4}-[0-9]{2}-[0-9]{2}; )?(GCC|clang) [0-9.]+; .+\))");
  std::smatch parts;
  const std::string text = saltus::build_info();
  ASSERT_TRUE(std::regex_match(text, parts, form)) << text;
  EXPECT_EQ(parts[1], std::string(saltus::version()));
}
