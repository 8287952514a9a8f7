// Expressions, equations and statements.
#include "modelica/parser.hpp"

#include <gtest/gtest.h>

#include <string>

#include "modelica/parse_helpers.hpp"

namespace saltus::modelica {
namespace {

template <class Node>
const Node& expression_as(const ParseResult& result) {
  EXPECT_TRUE(result.ok()) << result.diagnostics.render();
  return *result.ast.expression->as<Node>();
}

TEST(ParseExpression, ReadsLiterals) {
  EXPECT_EQ(expression_as<IntegerLiteral>(parse_expression("42", "")).value, 42);
  EXPECT_EQ(expression_as<RealLiteral>(parse_expression("0.1", "")).value, 0.1);
  EXPECT_EQ(expression_as<RealLiteral>(parse_expression("1e-400", "")).value, 0.0);
  EXPECT_TRUE(expression_as<BooleanLiteral>(parse_expression("true", "")).value);
  const ParseResult string = parse_expression("\"a\\tb\"", "");
  EXPECT_EQ(expression_as<StringLiteral>(string).value, "a\tb");
}

TEST(ParseExpression, AnIntegerBeyond64BitsBecomesARealWithAWarning) {
  const ParseResult result = parse_expression("100000000000000000000", "");
  EXPECT_EQ(expression_as<RealLiteral>(result).value, 1e20);
  EXPECT_EQ(result.diagnostics.items().size(), 1u);
}

TEST(ParseExpression, ARealBeyondTheRangeIsAnError) {
  EXPECT_FALSE(parse_expression("1e999", "").ok());
}

TEST(ParseExpression, ChainsOfOneLevelAreFlat) {
  const ParseResult result = parse_expression("a + b - c .+ d*e", "");
  const auto& chain = expression_as<Chain>(result);
  EXPECT_EQ(chain.operands.size(), 4u);
  EXPECT_EQ(chain.operators, (std::vector<Operator>{Operator::add, Operator::subtract, Operator::add_elementwise}));
  EXPECT_TRUE(chain.operands[3]->as<Chain>());
}

TEST(ParseExpression, ASignAppliesToTheWholeFirstTerm) {
  const ParseResult result = parse_expression("-a*b + c", "");
  const auto& chain = expression_as<Chain>(result);
  const auto* sign = chain.operands[0]->as<Unary>();
  ASSERT_TRUE(sign);
  EXPECT_TRUE(sign->operand->as<Chain>());
}

TEST(ParseExpression, PowerBindsTighterThanASign) {
  const ParseResult result = parse_expression("-a^2", "");
  EXPECT_TRUE(expression_as<Unary>(result).operand->as<Binary>());
}

TEST(ParseExpression, NotBindsWeakerThanARelation) {
  const ParseResult result = parse_expression("not a < b", "");
  EXPECT_TRUE(expression_as<Unary>(result).operand->as<Binary>());
}

TEST(ParseExpression, ReadsReferencesWithSubscripts) {
  const ParseResult result = parse_expression(".a.b[1, :, end].'c d'", "");
  const auto& reference = expression_as<ComponentReference>(result);
  EXPECT_TRUE(reference.global);
  ASSERT_EQ(reference.parts.size(), 3u);
  ASSERT_EQ(reference.parts[1].subscripts.size(), 3u);
  EXPECT_TRUE(reference.parts[1].subscripts[1]->as<WholeDimension>());
  EXPECT_TRUE(reference.parts[1].subscripts[2]->as<EndLiteral>());
  EXPECT_EQ(reference.parts[2].name.text, "'c d'");
}

TEST(ParseExpression, ReadsCalls) {
  const ParseResult result = parse_expression("A.f(x, 2, n = y, g = function h(k = 1))", "");
  const auto& call = expression_as<Call>(result);
  EXPECT_EQ(print(call.callee), "A.f");
  ASSERT_EQ(call.arguments.size(), 4u);
  EXPECT_TRUE(call.arguments[1].name.empty());
  EXPECT_EQ(call.arguments[2].name.text, "n");
  EXPECT_TRUE(call.arguments[3].value->as<FunctionPartial>());
}

TEST(ParseExpression, ReadsComprehensions) {
  const ParseResult result = parse_expression("sum(x[i, j] for i in 1:n, j)", "");
  const auto& call = expression_as<Call>(result);
  ASSERT_EQ(call.iterators.size(), 2u);
  EXPECT_TRUE(call.iterators[0].range->as<Range>());
  EXPECT_EQ(call.iterators[1].range, nullptr);
}

TEST(ParseExpression, DerInitialAndPureAreCalls) {
  for (const char* text : {"der(x)", "initial()", "pure(f(x))"}) {
    const ParseResult result = parse_expression(text, "");
    EXPECT_EQ(expression_as<Call>(result).callee.parts.size(), 1u) << text;
  }
}

TEST(ParseExpression, ReadsTuplesWithHoles) {
  const ParseResult result = parse_expression("(a, , b, )", "");
  const auto& tuple = expression_as<Tuple>(result);
  ASSERT_EQ(tuple.elements.size(), 4u);
  EXPECT_EQ(tuple.elements[1], nullptr);
  EXPECT_EQ(tuple.elements[3], nullptr);
}

TEST(ParseExpression, ALocationCoversTheWholeExpressionWithItsParentheses) {
  const ParseResult result = parse_expression("1 + (a + b)*c", "");
  const auto& chain = expression_as<Chain>(result);
  EXPECT_EQ(result.ast.source().text(result.ast.expression->where), "1 + (a + b)*c");
  EXPECT_EQ(result.ast.source().text(chain.operands[1]->where), "(a + b)*c");
}

TEST(ParseExpression, TheFileNumberGoesIntoTheLocations) {
  EXPECT_EQ(parse_expression("a", "", 7).ast.expression->where.file, 7u);
}

TEST(Same, ComparesTreesNotTexts) {
  const auto equal = [](const char* a, const char* b) {
    const ParseResult x = parse_expression(a, ""), y = parse_expression(b, "");
    return same(x.ast.expression, y.ast.expression);
  };
  EXPECT_TRUE(equal("a+b", "( a ) + b"));
  EXPECT_TRUE(equal("1.50", "1.5"));
  EXPECT_FALSE(equal("a+b", "a-b"));
  EXPECT_FALSE(equal("a+b+c", "a+(b+c)"));
  EXPECT_FALSE(equal("1", "1.0"));
  EXPECT_FALSE(equal("f(a)", "f(a = a)"));
  EXPECT_FALSE(equal("{a}", "{a, a}"));
  EXPECT_FALSE(equal("a.b", ".a.b"));
}

// ------------------------------------------------------------------------------------------------------- equations

TEST(ParseEquations, ReadsEveryKindOfEquation) {
  const ParseResult result = read(R"(
    model M
    equation
      der(x) = v "text" annotation(a = 1);
      (a, b) = f(x);
      connect(p[1].n, q);
      reinit(v, 0);
      if c then x = 1; elseif d then y = 2; z = 3; else end if;
      for i in 1:3, j loop x[i, j] = i; end for;
      when {a, b} then x = pre(y); elsewhen sample(0, 1) then y = 1; end when;
    end M;)");
  const auto& equations = body_of(result).equations.at(0).equations;
  ASSERT_EQ(equations.size(), 7u);
  EXPECT_TRUE(equations[0]->as<EqualityEquation>());
  EXPECT_EQ(equations[0]->description.text, "text");
  EXPECT_TRUE(equations[0]->description.annotation->find("a"));
  EXPECT_TRUE(equations[1]->as<EqualityEquation>()->lhs->as<Tuple>());
  EXPECT_EQ(print(equations[2]->as<ConnectEquation>()->first), "p[1].n");
  EXPECT_TRUE(equations[3]->as<CallEquation>()->call->as<Call>());
  const auto* conditional = equations[4]->as<IfEquation>();
  ASSERT_EQ(conditional->branches.size(), 3u);
  EXPECT_EQ(conditional->branches[1].body.size(), 2u);
  EXPECT_EQ(conditional->branches[2].condition, nullptr);
  const auto* loop = equations[5]->as<ForEquation>();
  ASSERT_EQ(loop->indices.size(), 2u);
  EXPECT_EQ(loop->indices[1].range, nullptr);
  EXPECT_EQ(equations[6]->as<WhenEquation>()->branches.size(), 2u);
}

TEST(ParseEquations, TellsInitialSectionsFromTheOthersAndKeepsTheirOrder) {
  const ParseResult result = read(
      "model M initial equation a = 1; equation b = 2; initial() = true; initial algorithm c := 1; equation d = 3; end "
      "M;");
  const LongClass& body = body_of(result);
  ASSERT_EQ(body.equations.size(), 3u);
  EXPECT_TRUE(body.equations[0].is_initial);
  EXPECT_FALSE(body.equations[1].is_initial);
  EXPECT_EQ(body.equations[1].equations.size(), 2u);
  ASSERT_EQ(body.algorithms.size(), 1u);
  EXPECT_TRUE(body.algorithms[0].is_initial);
  EXPECT_LT(body.algorithms[0].where.begin, body.equations[2].where.begin);
}

// ------------------------------------------------------------------------------------------------------ statements

TEST(ParseStatements, ReadsEveryKindOfStatement) {
  const ParseResult result = read(R"(
    function f
    algorithm
      x.y[1] := 2 "text";
      (a, , b) := g(x);
      print("hello");
      if c then x := 1; elseif d then return; else y := 2; end if;
      for i in {1, 2}, j in 1:2 loop x := i; break; end for;
      while x > 0 loop x := x - 1; end while;
      when c then x := 1; elsewhen d then x := 2; end when;
      return;
    end f;)");
  const auto& statements = body_of(result).algorithms.at(0).statements;
  ASSERT_EQ(statements.size(), 8u);
  EXPECT_EQ(print(statements[0]->as<Assignment>()->target), "x.y[1]");
  EXPECT_EQ(statements[0]->description.text, "text");
  EXPECT_EQ(statements[1]->as<TupleAssignment>()->targets->as<Tuple>()->elements.size(), 3u);
  EXPECT_TRUE(statements[2]->as<CallStatement>());
  EXPECT_EQ(statements[3]->as<IfStatement>()->branches.size(), 3u);
  EXPECT_EQ(statements[4]->as<ForStatement>()->indices.size(), 2u);
  EXPECT_TRUE(statements[4]->as<ForStatement>()->body[1]->as<BreakStatement>());
  EXPECT_EQ(statements[5]->as<WhileStatement>()->body.size(), 1u);
  EXPECT_EQ(statements[6]->as<WhenStatement>()->branches.size(), 2u);
  EXPECT_TRUE(statements[7]->as<ReturnStatement>());
}

}  // namespace
}  // namespace saltus::modelica
