#include <gtest/gtest.h>
#include <saltus/base/error.hpp>

#include <vector>

namespace saltus {
namespace {

TEST(Error, TextBeginsWithTheLocation) {
  const ModelError error({"ball.mo", 3, 7}, "unknown name 'hh'");
  EXPECT_STREQ(error.what(), "ball.mo:3:7: unknown name 'hh'");
  EXPECT_EQ(error.where().line, 3);
}

TEST(Error, TextWithoutLocationStandsAlone) {
  EXPECT_STREQ(UsageError({}, "no").what(), "no");
}

TEST(NearestName, FindsTypingErrorsAndRejectsStrangers) {
  const std::vector<std::string> names{"height", "velocity", "time"};
  EXPECT_EQ(nearest_name("heigth", names), "height");  // a swap counts as one edit
  EXPECT_EQ(nearest_name("velocty", names), "velocity");
  EXPECT_EQ(nearest_name("temperature", names), "");
}

TEST(NearestName, OneLetterSuggestsNothingButItself) {
  const std::vector<std::string> names{"h", "v", "mu", "displacement"};
  EXPECT_EQ(nearest_name("k", names), "");
  EXPECT_EQ(nearest_name("H", names), "h");
  EXPECT_EQ(nearest_name("MU", names), "mu");
  EXPECT_EQ(nearest_name("nu", names), "mu");
  EXPECT_EQ(nearest_name("ab", names), "");
  EXPECT_EQ(nearest_name("displasement", names), "displacement");
  EXPECT_EQ(nearest_name("acceleration", names), "");  // never more than three edits
}

TEST(EditDistance, KnownValues) {
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
}

}  // namespace
}  // namespace saltus
