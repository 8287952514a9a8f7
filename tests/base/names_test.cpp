// The one reader of names that all commands, options and calls share.
#include <gtest/gtest.h>
#include <saltus/base/error.hpp>
#include <saltus/base/names.hpp>

#include <string>
#include <vector>

namespace saltus {
namespace {

using Of = NameSpelling::Of;

const std::vector<std::string> names{"h",      "a.b[1].c", "a.b[2].c", "u[1]",    "u[2]",  "u[3]",
                                     "m[1,1]", "m[1,2]",   "up",       "r.start", "'x y'", "height"};

TEST(ReadName, KnowsStartValuesAndDerivatives) {
  const auto expect = [](const char* text, const std::string& name, Of of) {
    EXPECT_EQ(read_name(text).name, name) << text;
    EXPECT_EQ(read_name(text).of, of) << text;
  };
  expect("h", "h", Of::itself);
  expect(" h ", "h", Of::itself);
  expect("h.start", "h", Of::start);
  expect("h(start)", "h", Of::start);
  expect("h( start )", "h", Of::start);
  expect("der(h)", "h", Of::derivative);
  expect("der( a.b[2, 1].c )", "a.b[2,1].c", Of::derivative);
  expect("m[1, 2]", "m[1,2]", Of::itself);
  expect("'x y'", "'x y'", Of::itself);
  expect(".start", ".start", Of::itself);
  expect("der()", "der()", Of::itself);
  expect("", "", Of::itself);
}

TEST(NameTable, FindsWhatIsWrittenWithOrWithoutBlanks) {
  const NameTable table(names);
  EXPECT_EQ(table.find("h"), 0u);
  EXPECT_EQ(table.find("m[1, 2]"), 7u);
  EXPECT_EQ(table.find("a.b[ 2 ].c"), 2u);
  EXPECT_EQ(table.find("'x y'"), 10u);
  EXPECT_EQ(table.find("u"), std::nullopt);
  EXPECT_EQ(table.find("h.start"), std::nullopt);
  EXPECT_EQ(table.find("der(h)"), std::nullopt);
}

TEST(NameTable, AStartValueIsSetByEachOfItsNames) {
  const NameTable table(names);
  for (const char* text : {"h", "h.start", "h(start)", "h (start)"}) EXPECT_EQ(table.find_settable(text), 0u) << text;
  EXPECT_EQ(table.find_settable("r.start"), 9u);  // a member of that name, not a start value
  EXPECT_EQ(table.find_settable("r"), std::nullopt);
  EXPECT_EQ(table.find_settable("der(h)"), std::nullopt);
}

TEST(NameTable, FindsArraysAndPatterns) {
  const NameTable table(names);
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(table.find_all("h"), Places{0});
  EXPECT_EQ(table.find_all("u"), (Places{3, 4, 5}));
  EXPECT_EQ(table.find_all("a.b"), (Places{1, 2}));
  EXPECT_EQ(table.find_all("m"), (Places{6, 7}));
  EXPECT_EQ(table.find_all("u*"), (Places{3, 4, 5, 8}));
  EXPECT_EQ(table.find_all("a.b[?].c"), (Places{1, 2}));
  EXPECT_EQ(table.find_all("*.c"), (Places{1, 2}));
  EXPECT_EQ(table.find_all("*"), (Places{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_TRUE(table.find_all("v").empty());
  EXPECT_TRUE(table.find_all("q*").empty());
  EXPECT_TRUE(table.find_all("").empty());
}

TEST(NameTable, HintsAtElementsOrAtTheNearestName) {
  const NameTable table(names);
  EXPECT_EQ(table.hint("u[7]"), "; the elements of 'u' are u[1] to u[3]");
  EXPECT_EQ(table.hint("heigth"), "; did you mean 'height'?");
  EXPECT_EQ(table.hint("heigth(start)"), "; did you mean 'height.start'?");
  EXPECT_EQ(table.hint("k"), "");  // one letter is as near to every other one
}

}  // namespace
}  // namespace saltus
