// What a user sees for typical mistakes. The texts are compared in full: they are the interface.
#include <gtest/gtest.h>

#include "modelica/parse_helpers.hpp"

namespace saltus::modelica {
namespace {

// clang-format off

TEST(ParserErrors, AMissingSemicolonIsShownBehindTheEquation) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  der(x) = v\n"
                     "  der(v) = -9.81;\n"
                     "end Ball;\n"),
            "a.mo:4:13: error: missing ';' after this equation\n"
            "    der(x) = v\n"
            "              ^\n"
            "hint: write ';' here\n");
}

TEST(ParserErrors, AMissingSemicolonIsShownBehindTheDeclaration) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real h(start = 1)\n"
                     "  Real v;\n"
                     "end Ball;\n"),
            "a.mo:2:20: error: missing ';' after this declaration\n"
            "    Real h(start = 1)\n"
            "                     ^\n"
            "hint: write ';' here\n");
}

TEST(ParserErrors, AWrongNameAfterEndNamesTheClass) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "end Bal;\n"),
            "a.mo:3:5: error: expected 'end Ball', but found 'end Bal'\n"
            "  end Bal;\n"
            "      ^~~\n"
            "hint: model 'Ball' began at line 1, column 1\n");
}

TEST(ParserErrors, AnEndWithoutANameSaysWhatToWrite) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "end;\n"),
            "a.mo:3:4: error: expected the name of the class after 'end'\n"
            "  end;\n"
            "     ^\n"
            "hint: write 'end Ball;'\n");
}

TEST(ParserErrors, AClassThatIsNeverClosedIsShownWhereItBegins) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"),
            "a.mo:1:7: error: model 'Ball' is never closed\n"
            "  model Ball\n"
            "        ^~~~\n"
            "hint: write 'end Ball;' at its end\n");
}

TEST(ParserErrors, AMissingEndOfAnInnerClassNamesBoth) {
  EXPECT_EQ(messages("package P\n"
                     "  model A\n"
                     "    Real x;\n"
                     "end P;\n"),
            "a.mo:4:1: error: missing 'end A;' before the end of 'P'\n"
            "  end P;\n"
            "  ^~~\n"
            "hint: model 'A' began at line 2, column 3\n");
}

TEST(ParserErrors, AMisspeltSectionKeywordGivesOneError) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equatoin\n"
                     "  der(x) = 1;\n"
                     "  y = 3;\n"
                     "end Ball;\n"),
            "a.mo:3:1: error: 'equatoin' is not a keyword\n"
            "  equatoin\n"
            "  ^~~~~~~~\n"
            "hint: did you mean 'equation'?\n");
}

TEST(ParserErrors, ADecimalComma) {
  EXPECT_EQ(messages("model M\n"
                     "  Real x;\n"
                     "equation\n"
                     "  der(x) = 1,5;\n"
                     "end M;\n"),
            "a.mo:4:13: error: expected ';' after this equation, but found ','\n"
            "    der(x) = 1,5;\n"
            "              ^\n"
            "hint: numbers have a decimal point: 1.5\n");
  EXPECT_NE(messages("model M\n  parameter Real a = 1,5;\nend M;\n").find("hint: numbers have a decimal point, as 1.5"),
            std::string::npos);
}

TEST(ParserErrors, AMisspeltPrefixGivesOneError) {
  EXPECT_EQ(messages("model Ball\n"
                     "  paramter Real g = 9.81;\n"
                     "end Ball;\n"),
            "a.mo:2:3: error: 'paramter' is not a keyword\n"
            "    paramter Real g = 9.81;\n"
            "    ^~~~~~~~\n"
            "hint: did you mean 'parameter'?\n");
}

TEST(ParserErrors, AMisspeltClassKeywordGivesOneError) {
  EXPECT_EQ(messages("modle Ball\n"
                     "  Real x;\n"
                     "end Ball;\n"),
            "a.mo:1:1: error: 'modle' is not a keyword\n"
            "  modle Ball\n"
            "  ^~~~~\n"
            "hint: did you mean 'model'?\n");
}

TEST(ParserErrors, AMisspeltWhenGivesOneError) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  whne x < 0 then\n"
                     "    reinit(x, 1);\n"
                     "  end when;\n"
                     "end Ball;\n"),
            "a.mo:4:3: error: 'whne' does not begin an equation\n"
            "    whne x < 0 then\n"
            "    ^~~~\n"
            "hint: did you mean 'when'?\n");
}

TEST(ParserErrors, WordsOfOtherLanguagesAreExplained) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  if x > 0 then\n"
                     "    x = 1;\n"
                     "  elif x < 0 then\n"
                     "    x = 2;\n"
                     "  endif;\n"
                     "end Ball;\n"),
            "a.mo:6:3: error: 'elif' does not begin an equation\n"
            "    elif x < 0 then\n"
            "    ^~~~\n"
            "hint: did you mean 'elseif'?\n"
            "a.mo:8:3: error: 'endif' does not begin an equation\n"
            "    endif;\n"
            "    ^~~~~\n"
            "hint: did you mean 'end if'?\n");
}

TEST(ParserErrors, AnAssignmentInAnEquationSection) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x := 1;\n"
                     "end Ball;\n"),
            "a.mo:4:5: error: ':=' assigns a value, which belongs into an algorithm section\n"
            "    x := 1;\n"
            "      ^~\n"
            "hint: an equation is written with '='\n");
}

TEST(ParserErrors, AnEquationInAnAlgorithmSection) {
  EXPECT_EQ(messages("function f\n"
                     "  output Real y;\n"
                     "algorithm\n"
                     "  y = 1;\n"
                     "end f;\n"),
            "a.mo:4:5: error: '=' is an equation, which belongs into an equation section\n"
            "    y = 1;\n"
            "      ^\n"
            "hint: a value is assigned with ':='\n");
}

TEST(ParserErrors, AComparisonInPlaceOfAnEquation) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x == 1;\n"
                     "end Ball;\n"),
            "a.mo:4:5: error: '==' compares two values\n"
            "    x == 1;\n"
            "      ^~\n"
            "hint: an equation is written with '='\n");
}

TEST(ParserErrors, AnEqualsSignInACondition) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  if x = 1 then\n"
                     "    y = 1;\n"
                     "  end if;\n"
                     "end Ball;\n"),
            "a.mo:4:8: error: expected 'then' after the condition, but found '='\n"
            "    if x = 1 then\n"
            "         ^\n"
            "hint: two values are compared with '=='\n");
}

TEST(ParserErrors, AMissingParenthesisNamesTheOneThatIsOpen) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x = sin((time + 1);\n"
                     "end Ball;\n"),
            "a.mo:4:21: error: missing ')' to close the '(' at line 4, column 10\n"
            "    x = sin((time + 1);\n"
            "                      ^\n"
            "hint: write ')' where it belongs\n");
}

TEST(ParserErrors, AParenthesisTooMany) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x = time + 1);\n"
                     "end Ball;\n"),
            "a.mo:4:15: error: this ')' closes nothing\n"
            "    x = time + 1);\n"
            "                ^\n"
            "hint: remove it, or add the '(' that belongs to it\n");
}

TEST(ParserErrors, AWrongBracket) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x = f(a, b];\n"
                     "end Ball;\n"),
            "a.mo:4:13: error: expected ')' to close the '(' at line 4, column 8, but found ']'\n"
            "    x = f(a, b];\n"
            "              ^\n");
}

TEST(ParserErrors, AMissingEndWhenNamesTheWhen) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  when x < 0 then\n"
                     "    reinit(x, 1);\n"
                     "end Ball;\n"),
            "a.mo:6:1: error: missing 'end when;' to close the 'when' at line 4, column 3\n"
            "  end Ball;\n"
            "  ^~~\n"
            "hint: write 'end when;' before this line\n");
}

TEST(ParserErrors, ElseIfInTwoWordsIsExplained) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  if x > 0 then\n"
                     "    y = 1;\n"
                     "  else if x < -1 then\n"
                     "    y = 2;\n"
                     "  else\n"
                     "    y = 3;\n"
                     "  end if;\n"
                     "end Ball;\n"),
            "a.mo:11:1: error: missing 'end if;' to close the 'if' at line 4, column 3\n"
            "  end Ball;\n"
            "  ^~~\n"
            "hint: 'else if' begins a second 'if' that needs its own 'end if'; did you mean 'elseif'?\n");
}

TEST(ParserErrors, AnIfExpressionWithoutElse) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  der(x) = if x > 0 then 1;\n"
                     "end Ball;\n"),
            "a.mo:4:27: error: expected 'else', but found ';'\n"
            "    der(x) = if x > 0 then 1;\n"
            "                            ^\n"
            "hint: an 'if' inside an expression needs a value for both cases; it began at line 4, column 12\n");
}

TEST(ParserErrors, AProductWithoutAnOperator) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x = 2 time;\n"
                     "  y = 2x;\n"
                     "end Ball;\n"),
            "a.mo:4:9: error: expected ';' after this equation, but found 'time'\n"
            "    x = 2 time;\n"
            "          ^~~~\n"
            "hint: is an operator missing before 'time'? A product is written with '*'\n"
            "a.mo:5:7: error: a number cannot be followed directly by letters\n"
            "    y = 2x;\n"
            "        ^~\n"
            "hint: to multiply, write 2*x; a name cannot begin with a digit\n");
}

TEST(ParserErrors, ASignBehindAnOperator) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x = 3*-time;\n"
                     "  y = 2^-3;\n"
                     "end Ball;\n"),
            "a.mo:4:9: error: a sign cannot follow '*' directly\n"
            "    x = 3*-time;\n"
            "          ^\n"
            "hint: write (-time)\n"
            "a.mo:5:9: error: a sign cannot follow '^' directly\n"
            "    y = 2^-3;\n"
            "          ^\n"
            "hint: write (-3)\n");
}

TEST(ParserErrors, ChainsThatModelicaDoesNotHave) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  b = 0 < x < 1;\n"
                     "  x = a^b^c;\n"
                     "  a = b = c;\n"
                     "end Ball;\n"),
            "a.mo:4:13: error: relations cannot be chained\n"
            "    b = 0 < x < 1;\n"
            "              ^\n"
            "hint: write 0 < x and x < ...\n"
            "a.mo:5:10: error: powers cannot be chained\n"
            "    x = a^b^c;\n"
            "           ^\n"
            "hint: write (a^b)^c or a^(b^c)\n"
            "a.mo:6:9: error: an equation has only one '='\n"
            "    a = b = c;\n"
            "          ^\n"
            "hint: write two equations: a = b; b = c;\n");
}

TEST(ParserErrors, AnEquationAmongTheDeclarations) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "  der(x) = 1;\n"
                     "end Ball;\n"),
            "a.mo:3:3: error: an equation cannot stand among the declarations\n"
            "    der(x) = 1;\n"
            "    ^~~\n"
            "hint: write the keyword 'equation' before it\n");
}

TEST(ParserErrors, ADeclarationAmongTheEquations) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  Real y;\n"
                     "  parameter Real z = 1;\n"
                     "end Ball;\n"),
            "a.mo:4:3: error: this looks like a declaration, but it stands in an equation section\n"
            "    Real y;\n"
            "    ^~~~\n"
            "hint: declare variables before the keyword 'equation'\n"
            "a.mo:5:3: error: a declaration cannot stand in an equation section\n"
            "    parameter Real z = 1;\n"
            "    ^~~~~~~~~\n"
            "hint: declare it before the keyword 'equation'\n");
}

TEST(ParserErrors, DoInPlaceOfLoop) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  for i = 1:3 do\n"
                     "    y[i] = 1;\n"
                     "  end for;\n"
                     "end Ball;\n"),
            "a.mo:4:9: error: expected 'in' after the loop index, but found '='\n"
            "    for i = 1:3 do\n"
            "          ^\n"
            "hint: write: for i in 1:n loop\n"
            "a.mo:4:15: error: expected 'loop' to end the head of this 'for', but found 'do'\n"
            "    for i = 1:3 do\n"
            "                ^~\n"
            "hint: write 'loop'\n");
}

TEST(ParserErrors, AMissingCommaInAModification) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x(start = 1 fixed = true);\n"
                     "end Ball;\n"),
            "a.mo:2:20: error: expected ',' or ')' after this modification, but found 'fixed'\n"
            "    Real x(start = 1 fixed = true);\n"
            "                     ^~~~~\n"
            "hint: is a ',' missing before 'fixed'?\n");
}

TEST(ParserErrors, AKeywordAsAName) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real end;\n"
                     "  Real y;\n"
                     "end Ball;\n"),
            "a.mo:2:8: error: the keyword 'end' cannot name a component\n"
            "    Real end;\n"
            "         ^~~\n"
            "hint: choose another name\n");
}

TEST(ParserErrors, AStringThatIsNeverClosed) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x \"position;\n"
                     "end Ball;\n"),
            "a.mo:2:10: error: this string is never closed\n"
            "    Real x \"position;\n"
            "           ^~~~~~~~~~\n"
            "hint: a string ends with '\"' (inside a string write \\\")\n");
}

TEST(ParserErrors, AMissingQuoteOnAnEarlierLine) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x \"position;\n"
                     "  Real v \"velocity\";\n"
                     "end Ball;\n"),
            "a.mo:3:11: error: expected ';' after this declaration, but found 'velocity'\n"
            "    Real v \"velocity\";\n"
            "            ^~~~~~~~\n"
            "hint: the string before it began at line 2, column 10; is a '\"' missing there?\n"
            "a.mo:3:19: error: this string is never closed\n"
            "    Real v \"velocity\";\n"
            "                    ^~\n"
            "hint: does the string that begins at line 2, column 10 lack its closing '\"'?\n");
}

TEST(ParserErrors, DerivativesWrittenInOtherWays) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x' = 1;\n"
                     "  der x = 1;\n"
                     "end Ball;\n"),
            "a.mo:4:4: error: a prime does not mean a derivative in Modelica\n"
            "    x' = 1;\n"
            "     ^\n"
            "hint: the time derivative of x is der(x)\n"
            "a.mo:5:7: error: expected '(' after 'der', but found 'x'\n"
            "    der x = 1;\n"
            "        ^\n"
            "hint: the time derivative of x is der(x)\n");
}

TEST(ParserErrors, OperatorsOfOtherLanguages) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  b = x > 1 && x != 2;\n"
                     "  y = b ? 1 : 2;\n"
                     "end Ball;\n"),
            "a.mo:4:13: error: '&&' is not an operator of Modelica\n"
            "    b = x > 1 && x != 2;\n"
            "              ^~\n"
            "hint: write 'and'\n"
            "a.mo:4:18: error: '!=' is not an operator of Modelica\n"
            "    b = x > 1 && x != 2;\n"
            "                   ^~\n"
            "hint: write '<>'\n"
            "a.mo:5:9: error: '?' does not belong into a model\n"
            "    y = b ? 1 : 2;\n"
            "          ^\n"
            "hint: a choice is written: if condition then a else b\n");
}

TEST(ParserErrors, AMissingExpression) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x = ;\n"
                     "  y = 2 +\n"
                     "  z = 1;\n"
                     "end Ball;\n"),
            "a.mo:4:6: error: expected an expression after '='\n"
            "    x = ;\n"
            "       ^\n"
            "a.mo:6:5: error: an equation has only one '='\n"
            "    z = 1;\n"
            "      ^\n"
            "hint: is the line before it unfinished?\n");
}

TEST(ParserErrors, TextThatIsNoModel) {
  EXPECT_EQ(messages("x = 1;\n"
                     "y = 2;\n"),
            "a.mo:1:1: error: expected a class, but found 'x'\n"
            "  x = 1;\n"
            "  ^\n"
            "hint: a model has the form: model Name ... end Name;\n");
}

TEST(ParserErrors, AnExpressionThatIsNoEquation) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  x + 1;\n"
                     "end Ball;\n"),
            "a.mo:4:3: error: this is an expression, not an equation\n"
            "    x + 1;\n"
            "    ^~~~~\n"
            "hint: an equation has the form: expression = expression\n");
}

TEST(ParserErrors, ARowOfAMatrixWithoutCommas) {
  EXPECT_EQ(messages("model Ball\n"
                     "  Real x;\n"
                     "equation\n"
                     "  A = [1 2; 3 4];\n"
                     "  y = 2;\n"
                     "end Ball;\n"),
            "a.mo:4:10: error: expected ',' or ']' after this element, but found '2'\n"
            "    A = [1 2; 3 4];\n"
            "           ^\n"
            "hint: is a ',' missing before '2'?\n");
}

TEST(ParserErrors, SeveralIndependentErrorsInOneGo) {
  EXPECT_EQ(messages("model A\n"
                     "  Real x\n"
                     "equation\n"
                     "  x = sin(1;\n"
                     "end A;\n"
                     "\n"
                     "model B\n"
                     "  Real y;\n"
                     "equation\n"
                     "  y := 2;\n"
                     "end C;\n"),
            "a.mo:2:9: error: missing ';' after this declaration\n"
            "    Real x\n"
            "          ^\n"
            "hint: write ';' here\n"
            "a.mo:4:12: error: missing ')' to close the '(' at line 4, column 10\n"
            "    x = sin(1;\n"
            "             ^\n"
            "hint: write ')' where it belongs\n"
            "a.mo:10:5: error: ':=' assigns a value, which belongs into an algorithm section\n"
            "    y := 2;\n"
            "      ^~\n"
            "hint: an equation is written with '='\n"
            "a.mo:11:5: error: expected 'end B', but found 'end C'\n"
            "  end C;\n"
            "      ^\n"
            "hint: model 'B' began at line 7, column 1\n");
}

// clang-format on

TEST(ParserErrors, AnErrorInOneEquationLeavesTheOthersAlone) {
  const ParseResult result =
      parse("model M equation a = 1; b = (; c = 3; if a then d = 4; e = *; f = 6; end if; g = 7; end M;", "");
  EXPECT_EQ(result.diagnostics.error_count(), 2u);
  const auto& equations = body_of(result).equations.at(0).equations;
  ASSERT_EQ(equations.size(), 4u);
  EXPECT_EQ(equations[2]->as<IfEquation>()->branches[0].body.size(), 2u);
}

TEST(ParserErrors, RequireThrowsWithAllOfThem) {
  const ParseResult result = parse("model A Real 1; Real 2; end A;", "a.mo");
  try {
    result.require();
    FAIL();
  } catch (const ModelicaError& error) {
    EXPECT_EQ(error.diagnostics().error_count(), 2u);
    EXPECT_EQ(std::string(error.what()), result.diagnostics.render());
  }
  EXPECT_NO_THROW(read("model A end A;").require());
}

}  // namespace
}  // namespace saltus::modelica
