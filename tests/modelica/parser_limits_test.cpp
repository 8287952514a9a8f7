// Size and depth: long texts are read in linear time, deep ones are refused before the stack ends.
#include <gtest/gtest.h>

#include <string>

#include "modelica/parse_helpers.hpp"

namespace saltus::modelica {
namespace {

std::string repeat(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(ParserLimits, ASumOfAHundredThousandTermsIsOneFlatNode) {
  const ParseResult result = parse_expression("a" + repeat(" + b*c", 100000), "");
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.ast.expression->as<Chain>()->operands.size(), 100001u);
  const std::string printed = print(result.ast.expression);
  const ParseResult again = parse_expression(printed, "");
  EXPECT_TRUE(same(result.ast.expression, again.ast.expression));
}

TEST(ParserLimits, LongListsOfEveryKindAreRead) {
  EXPECT_TRUE(parse_expression("{1" + repeat(", 1", 100000) + "}", "").ok());
  EXPECT_TRUE(parse_expression("[1" + repeat("; 1", 100000) + "]", "").ok());
  EXPECT_TRUE(parse_expression("if a then b" + repeat(" elseif c then d", 100000) + " else e", "").ok());
  EXPECT_TRUE(parse_expression("a" + repeat(" and a", 100000), "").ok());
  EXPECT_TRUE(parse_expression("a" + repeat(".b", 100000), "").ok());
  EXPECT_TRUE(parse("model M Real a" + repeat(", a", 100000) + "; end M;", "").ok());
}

TEST(ParserLimits, AModelOfAHundredThousandLinesIsRead) {
  std::string text = "model Large\n";
  for (int i = 0; i < 50000; ++i) text += "  Real x" + std::to_string(i) + "(start = 1.5, fixed = true) \"state\";\n";
  text += "equation\n";
  for (int i = 0; i < 50000; ++i)
    text += "  der(x" + std::to_string(i) + ") = -0.5*x" + std::to_string(i) + " + sin(2*time)*(1 - x" +
            std::to_string((i + 1) % 50000) + "^2);\n";
  text += "end Large;\n";
  const ParseResult result = parse(text, "large.mo");
  ASSERT_TRUE(result.ok()) << result.diagnostics.render();
  EXPECT_EQ(body_of(result).elements.size(), 50000u);
  EXPECT_EQ(body_of(result).equations.at(0).equations.size(), 50000u);
}

// What nests: the same limit holds for all, and just below it everything is read.
struct Nest {
  std::string before, open, middle, close, after;
  int depth_of_frame;  // levels that `before` opens
};

const Nest nests[] = {
    {"", "(", "a", ")", "", 0},          {"", "f(", "a", ")", "", 0}, {"", "{", "a", "}", "", 0},
    {"", "[", "a", "]", "", 0},          {"", "x[", "1", "]", "", 0}, {"", "if a then b else ", "c", "", "", 0},
    {"", "(-(not (", "a", ")))", "", 0},
};

TEST(ParserLimits, ExpressionsAreReadUpToTheLimitAndRefusedBeyond) {
  for (const Nest& nest : nests) {
    const int levels = nest.open == "(-(not (" ? 3 : 1;
    const int most = max_nesting / levels;
    const auto text = [&](int depth) {
      return nest.before + repeat(nest.open, depth) + nest.middle + repeat(nest.close, depth) + nest.after;
    };
    const ParseResult fits = parse_expression(text(most), "a.mo");
    EXPECT_TRUE(fits.ok()) << nest.open << fits.diagnostics.render();
    EXPECT_FALSE(print(fits.ast.expression).empty());
    const ParseResult deep = parse_expression(text(most + 1), "a.mo");
    ASSERT_EQ(deep.diagnostics.error_count(), 1u) << nest.open;
    EXPECT_EQ(deep.diagnostics.items()[0].message, "the nesting is deeper than 200 levels");
    EXPECT_EQ(parse_expression(text(100000), "a.mo").diagnostics.error_count(), 1u);
    EXPECT_EQ(parse_expression(repeat(nest.open, 100000), "a.mo").diagnostics.error_count(), 1u);
  }
}

TEST(ParserLimits, ClassesEquationsStatementsAndModificationsAreBoundedToo) {
  const int deep = 100000;
  for (const std::string& text :
       {repeat("model M ", deep), "model M equation " + repeat("if a then ", deep),
        "model M equation " + repeat("for i loop ", deep), "model M equation " + repeat("when a then ", deep),
        "model M algorithm " + repeat("while a loop ", deep), "model M algorithm " + repeat("if a then ", deep),
        "model M Real x" + repeat("(a", deep), "model M extends A" + repeat("(redeclare model B = C", deep),
        "model M equation x = " + repeat("f(function g(a = ", deep)}) {
    const ParseResult result = parse(text, "a.mo");
    ASSERT_EQ(result.diagnostics.error_count(), 1u) << text.substr(0, 60) << result.diagnostics.render();
    EXPECT_EQ(result.diagnostics.items()[0].message, "the nesting is deeper than 200 levels");
  }
}

TEST(ParserLimits, ManySignsInARowAreOneError) {
  EXPECT_EQ(parse_expression(repeat("- ", 100000) + "a", "a.mo").diagnostics.error_count(), 1u);
}

TEST(ParserLimits, ReadingEndsAfterFiftyErrors) {
  const ParseResult result = parse("model M equation\n" + repeat("x = ;\n", 1000) + "end M;", "a.mo");
  EXPECT_EQ(result.diagnostics.items().size(), 50u);
  EXPECT_TRUE(result.diagnostics.render().ends_with("... stopped after 50 errors\n"));
}

}  // namespace
}  // namespace saltus::modelica
