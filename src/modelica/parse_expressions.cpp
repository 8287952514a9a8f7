// Expressions of Modelica 3.6 (appendix A.2.7 of the language specification). One function per level of precedence;
// operators of one level are collected in a loop, so a long sum is a flat node and needs no stack.
#include "parser_impl.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "base/number_from.hpp"

namespace saltus::modelica {
namespace {

using enum TokenKind;

std::optional<Operator> relation_operator(TokenKind kind) {
  switch (kind) {
    case less:
      return Operator::less;
    case less_equal:
      return Operator::less_equal;
    case greater:
      return Operator::greater;
    case greater_equal:
      return Operator::greater_equal;
    case equal:
      return Operator::equal;
    case not_equal:
      return Operator::not_equal;
    default:
      return std::nullopt;
  }
}

std::optional<Operator> sum_operator(TokenKind kind) {
  switch (kind) {
    case plus:
      return Operator::add;
    case minus:
      return Operator::subtract;
    case dot_plus:
      return Operator::add_elementwise;
    case dot_minus:
      return Operator::subtract_elementwise;
    default:
      return std::nullopt;
  }
}

std::optional<Operator> product_operator(TokenKind kind) {
  switch (kind) {
    case star:
      return Operator::multiply;
    case slash:
      return Operator::divide;
    case dot_star:
      return Operator::multiply_elementwise;
    case dot_slash:
      return Operator::divide_elementwise;
    default:
      return std::nullopt;
  }
}

}  // namespace

void Parser::parse_single_expression() {
  try {
    ExprPtr result = expression();
    if (!at(end_of_file)) fail_expected("the end of the expression", missing_operator_hint(peek()));
    ast_.expression = result;
  } catch (const Sync&) {
  } catch (const Abort&) {
  }
}

ExprPtr Parser::expression() {
  return at(kw_if) ? conditional() : simple_expression();
}

ExprPtr Parser::conditional() {
  const Nesting nesting(*this);
  const Counting counting(conditionals_);
  const std::uint32_t begin = peek().begin;
  const Token first = peek();
  Conditional node;
  do {
    advance();
    ConditionalBranch branch;
    branch.condition = expression();
    if (at(equals) || at(assign)) {
      report_at(peek(), "expected 'then' after the condition, but found " + describe(peek()),
                "two values are compared with '=='");
      advance();
      expression();
    }
    expect(kw_then, "after the condition of the 'if'");
    branch.value = expression();
    node.branches.push_back(branch);
  } while (at(kw_elseif));
  if (!at(kw_else))
    fail_expected("'else'", "an 'if' inside an expression needs a value for both cases; it began at " + place(first));
  advance();
  node.otherwise = expression();
  return ast_.make_expression(since(begin), std::move(node));
}

ExprPtr Parser::simple_expression() {
  const std::uint32_t begin = peek().begin;
  ExprPtr first = logical_expression();
  if (!at(colon)) return first;
  advance();
  ExprPtr second = logical_expression();
  if (!accept(colon)) return ast_.make_expression(since(begin), Range{first, nullptr, second});
  ExprPtr third = logical_expression();
  return ast_.make_expression(since(begin), Range{first, second, third});
}

ExprPtr Parser::logical_expression() {
  const std::uint32_t begin = peek().begin;
  ExprPtr first = logical_term();
  if (!at(kw_or)) return first;
  Chain chain{{first}, {}};
  while (accept(kw_or)) {
    chain.operators.push_back(Operator::logical_or);
    chain.operands.push_back(logical_term());
  }
  return ast_.make_expression(since(begin), std::move(chain));
}

ExprPtr Parser::logical_term() {
  const std::uint32_t begin = peek().begin;
  ExprPtr first = logical_factor();
  if (!at(kw_and)) return first;
  Chain chain{{first}, {}};
  while (accept(kw_and)) {
    chain.operators.push_back(Operator::logical_and);
    chain.operands.push_back(logical_factor());
  }
  return ast_.make_expression(since(begin), std::move(chain));
}

ExprPtr Parser::logical_factor() {
  const std::uint32_t begin = peek().begin;
  if (!accept(kw_not)) return relation();
  ExprPtr operand = relation();
  return ast_.make_expression(since(begin), Unary{Operator::logical_not, operand});
}

ExprPtr Parser::relation() {
  const std::uint32_t begin = peek().begin;
  ExprPtr left = arithmetic();
  const auto op = relation_operator(peek().kind);
  if (!op) return left;
  last_relation_ = peek();
  const std::uint32_t middle = peek(1).begin;
  advance();
  ExprPtr right = arithmetic();
  ExprPtr result = ast_.make_expression(since(begin), Binary{*op, left, right});
  if (relation_operator(peek().kind)) {
    const std::string first(source_->text(since(begin)));
    const std::string between(source_->text(since(middle)));
    report_at(peek(), "relations cannot be chained",
              first.size() + between.size() < 60
                  ? "write " + first + " and " + between + " " + std::string(text(peek())) + " ..."
                  : "join two relations with 'and'");
    while (relation_operator(peek().kind)) {
      advance();
      arithmetic();
    }
  }
  return result;
}

ExprPtr Parser::arithmetic() {
  const std::uint32_t begin = peek().begin;
  const auto sign = sum_operator(peek().kind);
  if (sign) advance();
  ExprPtr first = term();
  if (sign) first = ast_.make_expression(since(begin), Unary{*sign, first});
  if (!sum_operator(peek().kind)) return first;
  Chain chain{{first}, {}};
  while (const auto op = sum_operator(peek().kind)) {
    advance();
    chain.operators.push_back(*op);
    chain.operands.push_back(term());
  }
  return ast_.make_expression(since(begin), std::move(chain));
}

ExprPtr Parser::term() {
  const std::uint32_t begin = peek().begin;
  ExprPtr first = factor();
  if (!product_operator(peek().kind)) return first;
  Chain chain{{first}, {}};
  while (const auto op = product_operator(peek().kind)) {
    advance();
    chain.operators.push_back(*op);
    chain.operands.push_back(factor());
  }
  return ast_.make_expression(since(begin), std::move(chain));
}

ExprPtr Parser::factor() {
  const std::uint32_t begin = peek().begin;
  ExprPtr base = primary();
  if (!at(caret) && !at(dot_caret)) return base;
  const Operator op = at(caret) ? Operator::power : Operator::power_elementwise;
  advance();
  ExprPtr exponent = primary();
  ExprPtr result = ast_.make_expression(since(begin), Binary{op, base, exponent});
  if (at(caret) || at(dot_caret)) {
    report_at(peek(), "powers cannot be chained", "write (a^b)^c or a^(b^c)");
    while (accept(caret) || accept(dot_caret)) primary();
  }
  return result;
}

// Modelica allows a sign only at the beginning of a sum: a*-b and 2^-3 are errors with an obvious meaning.
ExprPtr Parser::operand_after(const Token& op) {
  const Token sign = peek();
  while (sum_operator(peek().kind)) advance();
  const std::uint32_t begin = peek().begin;
  ExprPtr operand = primary();
  const std::string shown(source_->text(since(begin)));
  const std::string signed_text = std::string(text(sign)) + (shown.size() < 40 ? shown : "...");
  report_at(sign, "a sign cannot follow " + (op.begin == sign.begin ? "an operator" : describe(op)) + " directly",
            "write (" + signed_text + ")");
  return ast_.make_expression(since(sign.begin), Unary{*sum_operator(sign.kind), operand});
}

ExprPtr Parser::primary() {
  switch (peek().kind) {
    case integer:
    case real:
      return number();
    case string: {
      const Token token = peek();
      advance();
      return ast_.make_expression(where(token), StringLiteral{string_value(token)});
    }
    case kw_true:
    case kw_false: {
      const Token token = peek();
      advance();
      return ast_.make_expression(where(token), BooleanLiteral{token.kind == kw_true});
    }
    case identifier:
    case dot:
      return reference_or_call();
    case kw_der:
    case kw_initial:
    case kw_pure:
      return keyword_call();
    case left_paren:
      return parenthesised();
    case left_bracket:
      return matrix();
    case left_brace:
      return array();
    case kw_end:
      if (at_real_end()) fail_primary();
      advance();
      return ast_.make_expression(where(previous()), EndLiteral{});
    case plus:
    case minus:
    case dot_plus:
    case dot_minus:
      return operand_after(previous());
    default:
      fail_primary();
  }
}

void Parser::fail_primary() {
  std::string hint;
  if (at(kw_if)) hint = "put the 'if' expression into parentheses: (if ... then ... else ...)";
  if (at(kw_not)) hint = "put it into parentheses: (not ...)";
  if (at(equals)) hint = "two values are compared with '=='";
  if ((at(semicolon) || peek().first_on_line || at(end_of_file)) && position_ > 0 && peek().kind != bad) {
    report(behind(), "expected an expression after " + describe(previous()), std::move(hint));
    fail();
  }
  fail_expected("an expression", std::move(hint));
}

ExprPtr Parser::number() {
  const Token token = peek();
  advance();
  const std::string_view digits = text(token);
  if (token.kind == integer) {
    std::int64_t value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (parsed.ec == std::errc{}) return ast_.make_expression(where(token), IntegerLiteral{value});
    warn(where(token), "this integer is too large; it is taken as a Real", "write a Real number, such as 1e20");
  }
  double value = 0;
  if (number_from(digits, value) == std::errc::result_out_of_range) {
    // The value is unchanged in both cases; a number near zero has a negative exponent.
    const std::size_t exponent = digits.find_first_of("eE");
    const bool tiny = (exponent != std::string_view::npos && digits[exponent + 1] == '-') || digits.starts_with("0.");
    if (!tiny) report(where(token), "this number is too large for a Real", "the largest Real is about 1.8e308");
    value = 0;
  }
  return ast_.make_expression(where(token), RealLiteral{value, digits});
}

ExprPtr Parser::reference_or_call() {
  const std::uint32_t begin = peek().begin;
  ComponentReference reference = component_reference();
  const Location reference_where = since(begin);
  if (at(left_paren)) return finish_call(begin, std::move(reference), reference_where);
  return ast_.make_expression(reference_where, std::move(reference));
}

ExprPtr Parser::reference_expression() {
  const std::uint32_t begin = peek().begin;
  if (!at(identifier) && !at(dot)) fail_expected("the name of a component");
  ComponentReference reference = component_reference();
  return ast_.make_expression(since(begin), std::move(reference));
}

ExprPtr Parser::keyword_call() {
  const Token token = peek();
  if (!next_is(left_paren)) {
    advance();
    const std::string word(text(token));
    fail_expected("'(' after '" + word + "'", token.kind == kw_der       ? "the time derivative of x is der(x)"
                                              : token.kind == kw_initial ? "write initial() with empty parentheses"
                                                                         : "write pure(f(x))");
  }
  advance();
  ComponentReference callee;
  callee.parts.push_back({{text(token), where(token)}, {}});
  return finish_call(token.begin, std::move(callee), where(token));
}

ExprPtr Parser::finish_call(std::uint32_t begin, ComponentReference callee, const Location& callee_where) {
  const Nesting nesting(*this);
  Call call{std::move(callee), callee_where, {}, {}};
  const Token open = peek();
  advance();
  if (!at(right_paren)) {
    bool named = false;
    do {
      const Token first = peek();
      call.arguments.push_back(argument());
      if (named && call.arguments.back().name.empty())
        report_at(first, "an argument without a name cannot follow one with a name");
      named = named || !call.arguments.back().name.empty();
    } while (accept(comma));
    if (at(kw_for)) {
      if (call.arguments.size() > 1 || named) fail_expected("',' or ')'", "'for' goes with a single argument");
      advance();
      call.iterators = for_indices();
    }
  }
  close(open, right_paren, "argument");
  return ast_.make_expression(since(begin), std::move(call));
}

Argument Parser::argument() {
  Argument result;
  if (at(identifier) && next_is(equals)) {
    result.name = {text(peek()), where(peek())};
    advance();
    advance();
  }
  result.value = at(kw_function) ? function_partial() : expression();
  return result;
}

ExprPtr Parser::function_partial() {
  const Nesting nesting(*this);
  const std::uint32_t begin = peek().begin;
  advance();
  FunctionPartial partial;
  partial.function = name("the name of a function");
  const Token open = peek();
  expect(left_paren, "after the name of the function");
  if (!at(right_paren)) {
    do {
      if (!at(identifier) || !next_is(equals)) fail_expected("an argument with a name", "write it as name = value");
      partial.arguments.push_back(argument());
    } while (accept(comma));
  }
  close(open, right_paren, "argument");
  return ast_.make_expression(since(begin), std::move(partial));
}

ExprPtr Parser::parenthesised() {
  const Nesting nesting(*this);
  const Token open = peek();
  advance();
  Tuple tuple;
  bool is_tuple = at(right_paren);
  while (!at(right_paren)) {
    tuple.elements.push_back(at(comma) ? nullptr : expression());
    if (!accept(comma)) break;
    is_tuple = true;
    if (at(right_paren)) tuple.elements.push_back(nullptr);
  }
  close(open, right_paren, "expression");
  ExprPtr result = tuple.elements.empty() ? nullptr : tuple.elements.front();
  if (is_tuple) result = ast_.make_expression(since(open.begin), std::move(tuple));
  if (!at(left_bracket)) return result;
  std::vector<ExprPtr> indices = subscripts();
  return ast_.make_expression(since(open.begin), Subscripted{result, std::move(indices)});
}

ExprPtr Parser::matrix() {
  const Nesting nesting(*this);
  const Counting counting(matrices_);
  const Token open = peek();
  Matrix node;
  do {
    advance();
    auto& row = node.rows.emplace_back();
    do {
      row.push_back(expression());
    } while (accept(comma));
  } while (at(semicolon));
  close(open, right_bracket, "element");
  return ast_.make_expression(since(open.begin), std::move(node));
}

ExprPtr Parser::array() {
  const Nesting nesting(*this);
  const Token open = peek();
  advance();
  ArrayConstructor node;
  if (!at(right_brace)) {
    do {
      node.elements.push_back(expression());
    } while (accept(comma));
    if (at(kw_for)) {
      if (node.elements.size() > 1) fail_expected("',' or '}'", "'for' goes with a single element");
      advance();
      node.iterators = for_indices();
    }
  }
  close(open, right_brace, "element");
  return ast_.make_expression(since(open.begin), std::move(node));
}

ComponentReference Parser::component_reference() {
  ComponentReference reference;
  reference.global = accept(dot);
  while (true) {
    ReferencePart part;
    part.name = read_identifier("a name");
    if (at(left_bracket)) part.subscripts = subscripts();
    reference.parts.push_back(std::move(part));
    if (!at(dot)) return reference;
    advance();
  }
}

std::vector<ExprPtr> Parser::subscripts() {
  const Nesting nesting(*this);
  const Token open = peek();
  std::vector<ExprPtr> result;
  do {
    advance();
    if (at(colon)) {
      advance();
      result.push_back(ast_.make_expression(where(previous()), WholeDimension{}));
    } else {
      result.push_back(expression());
    }
  } while (at(comma));
  close(open, right_bracket, "subscript");
  return result;
}

std::vector<ForIndex> Parser::for_indices() {
  std::vector<ForIndex> result;
  do {
    ForIndex index;
    index.name = read_identifier("the name of the loop index");
    if (at(equals)) {
      report_at(peek(), "expected 'in' after the loop index, but found '='", "write: for i in 1:n loop");
      advance();
      index.range = expression();
    } else if (accept(kw_in)) {
      index.range = expression();
    }
    result.push_back(index);
  } while (accept(comma));
  return result;
}

Identifier Parser::read_identifier(const std::string& what) {
  const Token& token = peek();
  if (token.kind != identifier)
    fail_expected(what, is_keyword(token.kind) && !token.first_on_line
                            ? "'" + std::string(text(token)) + "' is a keyword and cannot be used as a name"
                            : "");
  Identifier result{identifier_text(token), where(token)};
  advance();
  return result;
}

Name Parser::name(const std::string& what) {
  const std::uint32_t begin = peek().begin;
  Name result;
  result.global = accept(dot);
  result.parts.push_back(read_identifier(what));
  while (at(dot) && (next_is(identifier) || is_keyword(peek(1).kind))) {
    advance();
    result.parts.push_back(read_identifier("a name"));
  }
  result.where = since(begin);
  return result;
}

std::string_view Parser::string_value(const Token& token) {
  const std::string_view inside = text(token).substr(1, text(token).size() - 2);
  return inside.find('\\') == std::string_view::npos ? inside : ast_.keep(decode_string(text(token)));
}

}  // namespace saltus::modelica
