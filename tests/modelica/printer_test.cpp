#include "modelica/printer.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <string>

#include "modelica/parse_helpers.hpp"

namespace saltus::modelica {
namespace {

// The printed form of these is the text itself: no parenthesis can be left out.
TEST(Printer, KeepsWhatIsAlreadyMinimal) {
  for (const char* text : {"a",
                           "1",
                           "1.5",
                           "1e-3",
                           "true",
                           "\"a\\n\\\"b\\\"\"",
                           "a.b[1, :].c",
                           ".A.b",
                           "x[end]",
                           "x[end - 1]",
                           "f()",
                           "f(a, n = b)",
                           "der(x)",
                           "initial()",
                           "sum(x[i]*y for i in 1:n, j)",
                           "{a, b}",
                           "{}",
                           "{i^2 for i in 1:3}",
                           "[a, b; c, d]",
                           "(a, , b)",
                           "()",
                           "(a + b)[1]",
                           "1:n",
                           "1:2:n",
                           "-a",
                           "not a",
                           "a + b - c",
                           "a*b/c",
                           "a^b",
                           "(a^b)^c",
                           "a^(b^c)",
                           "(-a)^b",
                           "-a^b",
                           "-a*b + c",
                           "a + (-b)",
                           "a - (b - c)",
                           "a*(b + c)",
                           "a/(b*c)",
                           "(a/b)^2",
                           "a < b",
                           "(a < b) == c",
                           "a and b or c",
                           "a and (b or c)",
                           "not (a and b)",
                           "not a < b",
                           "(not a) == b",
                           "if a then b elseif c then d else e",
                           "1 + (if a then b else c)",
                           "(if a then b else c)*2",
                           "2 .* x",
                           "a .^ b",
                           "(a:b):c:d",
                           "f(function g(a = 1), 2)",
                           "'a b' + 'c'",
                           "2^(-3)",
                           "pure(f(x))"})
    EXPECT_EQ(reprint(text), text);
}

TEST(Printer, LeavesOutParenthesesThatSayNothing) {
  EXPECT_EQ(reprint("((a))"), "a");
  EXPECT_EQ(reprint("(a*b) + (c)"), "a*b + c");
  EXPECT_EQ(reprint("(-a) + b"), "-a + b");
  EXPECT_EQ(reprint("(a and b) or (c < d)"), "a and b or c < d");
  EXPECT_EQ(reprint("if (a) then (b) else (if c then d else e)"), "if a then b else if c then d else e");
}

TEST(Printer, NumbersKeepTheirSpelling) {
  EXPECT_EQ(reprint("0.10"), "0.10");
  EXPECT_EQ(reprint("1."), "1.0");
  EXPECT_EQ(reprint("1.E3"), "1.E3");
}

TEST(Printer, PrintsEquations) {
  const std::string text =
      "a = b + 1;\n"
      "(if a then b else c) = 2;\n"
      "reinit(v, -0.8*pre(v));\n"
      "connect(a.p[1], b);\n"
      "if a then\n  x = 1;\nelseif b then\n  for i in 1:3, j loop\n    y[i] = 2;\n  end for;\nelse\n  x = 3;\nend if;\n"
      "when {a, b} then\n  x = 1;\nelsewhen c then\n  x = 2;\nend when;\n";
  const ParseResult result = read("model M equation\n" + text + "end M;");
  std::string printed;
  for (const Equation* equation : body_of(result).equations.at(0).equations) printed += print(*equation);
  EXPECT_EQ(printed, text);
}

// ---------------------------------------------------------------------------- random trees, printed and read again

class RandomTree {
 public:
  ExprPtr expression(int depth) {
    const int kind = *rc::gen::inRange(0, depth > 0 ? 19 : 6);
    switch (kind) {
      case 0:
        return make(IntegerLiteral{*rc::gen::inRange<std::int64_t>(0, 1000)});
      case 1:
        // Any number that is not negative: a sign is an operator in Modelica.
        return make(RealLiteral{std::abs(*rc::gen::arbitrary<double>()), {}});
      case 2:
        return make(StringLiteral{ast_.keep(*rc::gen::arbitrary<std::string>())});
      case 3:
        return make(BooleanLiteral{*rc::gen::arbitrary<bool>()});
      case 4:
      case 5:
        return make(reference(depth));
      case 6:
        return make(ArrayConstructor{list(depth), {}});
      case 7:
        return make(ArrayConstructor{{expression(depth - 1)}, indices(depth)});
      case 8:
        return make(Matrix{{list(depth, 1), list(depth, 1)}});
      case 9:
        return make(Tuple{{expression(depth - 1), nullptr, expression(depth - 1)}});
      case 10: {
        const ExprPtr step = *rc::gen::arbitrary<bool>() ? expression(depth - 1) : nullptr;
        return make(Range{expression(depth - 1), step, expression(depth - 1)});
      }
      case 11:
        return make(Unary{
            *rc::gen::element(Operator::add, Operator::subtract, Operator::logical_not, Operator::subtract_elementwise),
            expression(depth - 1)});
      case 12:
      case 13:
        return make(Binary{*rc::gen::element(Operator::power, Operator::power_elementwise, Operator::less,
                                             Operator::greater_equal, Operator::equal, Operator::not_equal),
                           expression(depth - 1), expression(depth - 1)});
      case 14:
        return make(Subscripted{expression(depth - 1), list(depth, 1)});
      case 15:
        return call(depth);
      case 16:
        return make(Conditional{
            {{expression(depth - 1), expression(depth - 1)}, {expression(depth - 1), expression(depth - 1)}},
            expression(depth - 1)});
      default:
        return chain(depth);
    }
  }

 private:
  template <class Node>
  ExprPtr make(Node node) {
    return ast_.make_expression({}, std::move(node));
  }
  Identifier name() { return {*rc::gen::element<std::string_view>("a", "b1", "x_y", "'quoted name'", "time"), {}}; }
  std::vector<ExprPtr> list(int depth, int least = 0) {
    std::vector<ExprPtr> result;
    const int size = *rc::gen::inRange(least, 4);
    for (int i = 0; i < size; ++i) result.push_back(expression(depth - 1));
    return result;
  }
  ComponentReference reference(int depth) {
    ComponentReference result;
    result.global = *rc::gen::inRange(0, 5) == 0;
    const int parts = *rc::gen::inRange(1, 4);
    for (int i = 0; i < parts; ++i) {
      result.parts.push_back({name(), {}});
      if (depth > 0 && *rc::gen::inRange(0, 3) == 0)
        result.parts.back().subscripts = {expression(depth - 1), make(WholeDimension{}), make(EndLiteral{})};
    }
    return result;
  }
  std::vector<ForIndex> indices(int depth) { return {{name(), expression(depth - 1)}, {name(), nullptr}}; }
  ExprPtr call(int depth) {
    Call result{reference(0), {}, {}, {}};
    if (*rc::gen::arbitrary<bool>()) {
      result.arguments = {{{}, expression(depth - 1)}};
      result.iterators = indices(depth);
    } else {
      for (ExprPtr argument : list(depth)) result.arguments.push_back({{}, argument});
      if (*rc::gen::arbitrary<bool>())
        result.arguments.push_back({name(), make(FunctionPartial{{{name()}, false, {}}, {{name(), expression(0)}}})});
    }
    return make(std::move(result));
  }
  ExprPtr chain(int depth) {
    Chain result;
    const int level = *rc::gen::inRange(0, 4);
    const int size = *rc::gen::inRange(2, 5);
    for (int i = 0; i < size; ++i) {
      result.operands.push_back(expression(depth - 1));
      if (i == 0) continue;
      result.operators.push_back(
          level == 0   ? Operator::logical_or
          : level == 1 ? Operator::logical_and
          : level == 2 ? *rc::gen::element(Operator::add, Operator::subtract, Operator::add_elementwise)
                       : *rc::gen::element(Operator::multiply, Operator::divide, Operator::divide_elementwise));
    }
    return make(std::move(result));
  }

  Ast ast_;
};

RC_GTEST_PROP(Printer, APrintedTreeReadsBackAsTheSameTree, ()) {
  RandomTree tree;
  const ExprPtr expression = tree.expression(*rc::gen::inRange(0, 5));
  const std::string text = print(expression);
  RC_LOG() << text << std::endl;
  const ParseResult again = parse_expression(text, "printed.mo");
  RC_LOG() << again.diagnostics.render() << std::endl;
  RC_ASSERT(again.ok());
  RC_ASSERT(same(expression, again.ast.expression));
  RC_ASSERT(print(again.ast.expression) == text);
}

// Leaving out any pair of matching parentheses must change the tree or make it unreadable.
RC_GTEST_PROP(Printer, NoPairOfParenthesesAroundAnOperandIsSuperfluous, ()) {
  RandomTree tree;
  const std::string text = print(tree.expression(3));
  const ParseResult original = parse_expression(text, "printed.mo");
  RC_ASSERT(original.ok());
  for (std::size_t open = 0; open < text.size(); ++open) {
    if (text[open] == '"') RC_DISCARD("strings may hold parentheses");
    if (text[open] != '(') continue;
    int depth = 0;
    std::size_t close = open;
    do {
      if (close >= text.size() || text[close] == '"') RC_DISCARD("strings may hold parentheses");
      depth += text[close] == '(' ? 1 : text[close] == ')' ? -1 : 0;
      ++close;
    } while (depth > 0);
    std::string without = text;
    without[open] = ' ';
    without[close - 1] = ' ';
    const ParseResult changed = parse_expression(without, "printed.mo");
    RC_LOG() << text << "\n" << without << std::endl;
    RC_ASSERT(!changed.ok() || !same(original.ast.expression, changed.ast.expression));
  }
}

}  // namespace
}  // namespace saltus::modelica
