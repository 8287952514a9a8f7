#include "modelica/lexer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace saltus::modelica {
namespace {

using enum TokenKind;

struct Lexed {
  std::vector<TokenKind> kinds;  // without the end of the file
  std::vector<std::string> texts;
  std::vector<Token> tokens;
  Diagnostics diagnostics;
};

Lexed lex(std::string_view text) {
  const SourceText source(text, "a.mo");
  Lexed result;
  result.tokens = tokenize(source, result.diagnostics);
  EXPECT_EQ(result.tokens.back().kind, end_of_file);
  for (const Token& token : result.tokens) {
    if (token.kind == end_of_file) continue;
    result.kinds.push_back(token.kind);
    result.texts.emplace_back(source.text({token.begin, token.end, 0}));
  }
  return result;
}

using Kinds = std::vector<TokenKind>;
using Texts = std::vector<std::string>;

TEST(Lexer, AnEmptyTextHasNoTokens) {
  EXPECT_TRUE(lex("").kinds.empty());
  EXPECT_TRUE(lex(" \t\r\n\f\v").kinds.empty());
}

TEST(Lexer, KnowsEveryKeyword) {
  ASSERT_TRUE(std::is_sorted(keywords.begin(), keywords.end()));
  for (const auto keyword : keywords) {
    const Lexed result = lex(keyword);
    ASSERT_EQ(result.kinds.size(), 1u);
    EXPECT_TRUE(is_keyword(result.kinds[0])) << keyword;
    EXPECT_EQ(spelling(result.kinds[0]), keyword);
  }
  EXPECT_EQ(lex("End ends _end end1").kinds, (Kinds{identifier, identifier, identifier, identifier}));
}

TEST(Lexer, KnowsEveryOperator) {
  EXPECT_EQ(lex("( ) [ ] { } , ; : . = := == <> < <= > >= + - * / ^ .+ .- .* ./ .^").kinds,
            (Kinds{left_paren, right_paren, left_bracket, right_bracket, left_brace, right_brace, comma,
                   semicolon,  colon,       dot,          equals,        assign,     equal,       not_equal,
                   less,       less_equal,  greater,      greater_equal, plus,       minus,       star,
                   slash,      caret,       dot_plus,     dot_minus,     dot_star,   dot_slash,   dot_caret}));
  EXPECT_EQ(lex("a:=b==c<>d").kinds, (Kinds{identifier, assign, identifier, equal, identifier, not_equal, identifier}));
}

TEST(Lexer, ReadsNumbers) {
  EXPECT_EQ(lex("0 12 1.5 1. 1e3 1.5E-3 2e+10").kinds, (Kinds{integer, integer, real, real, real, real, real}));
  EXPECT_EQ(lex("1:2").kinds, (Kinds{integer, colon, integer}));
  EXPECT_EQ(lex("x[1].y").texts, (Texts{"x", "[", "1", "]", ".", "y"}));
}

TEST(Lexer, ANumberBeforeAnElementwiseOperatorLeavesItTheDot) {
  EXPECT_EQ(lex("2.*x").texts, (Texts{"2", ".*", "x"}));
  EXPECT_EQ(lex("2. *x").texts, (Texts{"2.", "*", "x"}));
  EXPECT_EQ(lex("2.5.*x").texts, (Texts{"2.5", ".*", "x"}));
}

TEST(Lexer, QuotedNamesKeepTheirQuotes) {
  const Lexed result = lex("'a b+c' 'it\\'s' '\xC3\xA4'");
  EXPECT_EQ(result.kinds, (Kinds{identifier, identifier, identifier}));
  EXPECT_EQ(result.texts, (Texts{"'a b+c'", "'it\\'s'", "'\xC3\xA4'"}));
}

TEST(Lexer, StringsKeepEscapesAndMayGoOverLines) {
  const Lexed result = lex("\"a\\\"b\" \"two\nlines\" \"\xC3\xA4\"");
  EXPECT_EQ(result.kinds, (Kinds{string, string, string}));
  EXPECT_TRUE(result.diagnostics.empty());
}

TEST(Lexer, DecodingAndEncodingStringsAreInverse) {
  EXPECT_EQ(decode_string(R"("a\n\t\"\\\?\'b")"), "a\n\t\"\\?'b");
  const std::string all = "\a\b\f\n\r\t\v\"\\ plain \xC3\xA4";
  EXPECT_EQ(decode_string(encode_string(all)), all);
}

TEST(Lexer, SkipsComments) {
  EXPECT_EQ(lex("a // b\nc /* d\n * e */ f /**/ g /* // */ h").texts, (Texts{"a", "c", "f", "g", "h"}));
}

TEST(Lexer, MarksTheFirstTokenOfALine) {
  const Lexed result = lex("a b\n c /* x\n */ d\r\ne\rf");
  std::vector<bool> first;
  for (const Token& token : result.tokens)
    if (token.kind != end_of_file) first.push_back(token.first_on_line);
  EXPECT_EQ(first, (std::vector<bool>{true, false, true, true, true, true}));
}

TEST(Lexer, AByteOrderMarkIsNotPartOfTheText) {
  const Lexed result = lex("\xEF\xBB\xBFmodel");
  EXPECT_EQ(result.kinds, (Kinds{kw_model}));
  EXPECT_EQ(result.tokens[0].begin, 0u);
}

std::string only_message(std::string_view text) {
  const Lexed result = lex(text);
  return result.diagnostics.items().size() == 1 ? result.diagnostics.items()[0].message : result.diagnostics.render();
}

TEST(Lexer, DiagnosesWhatIsNotModelica) {
  EXPECT_EQ(only_message("a \"b"), "this string is never closed");
  EXPECT_EQ(only_message("a /* b"), "this comment is never closed");
  EXPECT_EQ(only_message("'a"), "this quoted name is never closed");
  EXPECT_EQ(only_message("''"), "a quoted name cannot be empty");
  EXPECT_EQ(only_message("x'"), "a prime does not mean a derivative in Modelica");
  EXPECT_EQ(only_message("1e+"), "the exponent of this number has no digits");
  EXPECT_EQ(only_message("2x"), "a number cannot be followed directly by letters");
  EXPECT_EQ(only_message("= .5"), "a number must begin with a digit");
  EXPECT_EQ(only_message("\"a\\qb\""), "this is not an escape sequence of Modelica");
  EXPECT_EQ(only_message("a ? b"), "'?' does not belong into a model");
  EXPECT_EQ(only_message(std::string_view("a \0 b", 5)), "a control character (0x00) does not belong into a model");
  EXPECT_EQ(only_message("\xCE\xB1\xCE\xB2 = 1"),
            "letters beyond ASCII are allowed only in strings, comments and quoted names");
  EXPECT_EQ(only_message("a\xC2\xA0 b"), "this is a non-breaking space (U+00A0)");
  EXPECT_EQ(only_message("\xFF"), "letters beyond ASCII are allowed only in strings, comments and quoted names");
}

TEST(Lexer, ReadsForeignOperatorsAsWhatWasMeant) {
  EXPECT_EQ(lex("&& || != ! ** \xE2\x88\x92").kinds, (Kinds{kw_and, kw_or, not_equal, kw_not, caret, minus}));
  EXPECT_EQ(lex("&& || != ! ** \xE2\x88\x92").diagnostics.error_count(), 6u);
}

TEST(Lexer, DiagnosesSeveralErrorsInOneGo) {
  EXPECT_EQ(lex("2x ? \"\\q\" 1e; $").diagnostics.error_count(), 5u);
}

}  // namespace
}  // namespace saltus::modelica
