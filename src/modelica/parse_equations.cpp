// Equation and algorithm sections of Modelica 3.6 (appendix A.2.6 of the language specification).
#include "parser_impl.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace saltus::modelica {
namespace {

using enum TokenKind;

// Words of other languages, and what is meant.
std::string foreign_word_hint(std::string_view word) {
  if (word == "endif" || word == "endfor" || word == "endwhen" || word == "endwhile")
    return "did you mean 'end " + std::string(word.substr(3)) + "'?";
  if (word == "elif" || word == "elsif") return "did you mean 'elseif'?";
  return {};
}

// The name, if the expression is one name without dots and subscripts.
std::string_view plain_name(ExprPtr expression) {
  const auto* reference = expression ? expression->as<ComponentReference>() : nullptr;
  if (!reference || reference->global || reference->parts.size() != 1 || !reference->parts[0].subscripts.empty())
    return {};
  return reference->parts[0].name.text;
}

}  // namespace

template <class Item>
void Parser::items(std::vector<const Item*>& out) {
  constexpr bool is_equation = std::is_same_v<Item, Equation>;
  while (!at_section_end() && !at_any({kw_else, kw_elseif, kw_elsewhen, kw_external, kw_annotation})) {
    const std::size_t start = position_;
    try {
      if (begins_declaration() && body_) {
        report_at(peek(),
                  std::string("a declaration cannot stand in ") +
                      (is_equation ? "an equation section" : "an algorithm section"),
                  std::string("declare it before the keyword '") + (is_equation ? "equation" : "algorithm") + "'");
        element(*body_);
        continue;
      }
      out.push_back(item(static_cast<const Item*>(nullptr)));
      // Where an "end if" was missing there is no ';' to be missed either.
      if (!std::exchange(missing_end_, false)) expect_semicolon(is_equation ? "equation" : "statement");
    } catch (const Sync&) {
      if (std::exchange(retry_, false))
        position_ = start;
      else
        synchronise(start);
    }
  }
}

void Parser::equations(std::vector<const Equation*>& out) {
  items(out);
}
void Parser::statements(std::vector<const Statement*>& out) {
  items(out);
}

// Reports a word that is not a keyword but was probably meant as the one that the hint names, and lets the loop over
// the items read it again as that keyword.
void Parser::fail_word(const Token& first, std::string message, std::string hint) {
  const std::size_t begin = hint.find('\'') + 1;
  std::string meant = hint.substr(begin, hint.find('\'', begin) - begin);
  report_at(first, std::move(message), std::move(hint));
  // Tokens are ordered by their place.
  const auto token = std::lower_bound(tokens_.begin(), tokens_.end(), first.begin,
                                      [](const Token& t, std::uint32_t place) { return t.begin < place; });
  const std::size_t space = meant.find(' ');
  if (space != std::string::npos) {
    Token second = *token;
    second.kind = keyword_kind(meant.substr(space + 1));
    second.first_on_line = false;
    meant.resize(space);
    token->kind = keyword_kind(meant);
    tokens_.insert(token + 1, second);
  } else {
    token->kind = keyword_kind(meant);
  }
  retry_ = true;
  fail();
}

// ---------------------------------------------------------------------------------------- common to both kinds

template <class Item>
std::vector<Branch<Item>> Parser::if_branches() {
  const Nesting nesting(*this);
  const Token open = peek();
  constructs_.push_back(kw_if);
  std::vector<Branch<Item>> branches;
  std::string hint;
  do {
    Branch<Item>& branch = branches.emplace_back();
    branch.where = where(peek());
    advance();
    branch.condition = header_condition(kw_then, open);
    items(branch.body);
  } while (at(kw_elseif));
  if (at(kw_else)) {
    Branch<Item>& branch = branches.emplace_back();
    branch.where = where(peek());
    advance();
    if (at(kw_if) && !peek().first_on_line)
      hint = "'else if' begins a second 'if' that needs its own 'end if'; did you mean 'elseif'?";
    items(branch.body);
  }
  close_construct(open, hint);
  return branches;
}

template <class Item>
std::vector<Branch<Item>> Parser::when_branches() {
  const Nesting nesting(*this);
  const Token open = peek();
  constructs_.push_back(kw_when);
  std::vector<Branch<Item>> branches;
  do {
    Branch<Item>& branch = branches.emplace_back();
    branch.where = where(peek());
    advance();
    branch.condition = header_condition(kw_then, open);
    items(branch.body);
    if (at(kw_else) || at(kw_elseif)) {
      report_at(peek(), "a 'when' has no '" + std::string(text(peek())) + "'",
                at(kw_else) ? "what must hold otherwise belongs outside of the 'when'" : "write 'elsewhen'");
      if (at(kw_else)) {
        advance();
        std::vector<const Item*> ignored;
        items(ignored);
      }
    }
  } while (at(kw_elsewhen) || at(kw_elseif));
  close_construct(open);
  return branches;
}

ExprPtr Parser::header_condition(TokenKind closing, const Token& open) {
  ExprPtr condition = nullptr;
  try {
    condition = expression();
    if (at(equals) || at(assign)) {
      report_at(peek(),
                "expected '" + std::string(spelling(closing)) + "' after the condition, but found " + describe(peek()),
                "two values are compared with '=='");
      advance();
      expression();
    }
    finish_header(closing, open);
  } catch (const Sync&) {
    skip_header(closing);
  }
  return condition;
}

void Parser::finish_header(TokenKind closing, const Token& open) {
  if (accept(closing)) return;
  const Token& found = peek();
  const std::string closing_word(spelling(closing));
  const std::string message =
      "expected '" + closing_word + "' to end the head of this '" + std::string(text(open)) + "'";
  // Is it further on in this line? Then what stands between is the trouble.
  for (std::size_t i = position_; i < tokens_.size(); ++i) {
    const TokenKind kind = tokens_[i].kind;
    if (kind == closing) fail_at(found, message + ", but found " + describe(found), missing_operator_hint(found));
    if (kind == semicolon || kind == end_of_file || tokens_[i].first_on_line) break;
  }
  if (found.kind == bad) fail();
  if (found.first_on_line || at(semicolon) || at_section_end()) {
    report(behind(), message);
    accept(semicolon);
    return;
  }
  const bool another_word = at(kw_then) || at(kw_loop) ||
                            (at(identifier) && !keyword_typo(text(found), {"then", "loop"}).empty()) ||
                            text(found) == "do";
  report_at(found, message + ", but found " + describe(found), another_word ? "write '" + closing_word + "'" : "");
  if (another_word) advance();
}

void Parser::skip_header(TokenKind closing) {
  failed_in_conditional_ = failed_in_matrix_ = false;
  while (!at(end_of_file) && !at_section_end()) {
    if (accept(closing) || accept(semicolon)) return;
    advance();
  }
}

std::vector<ForIndex> Parser::for_header(const Token& open) {
  std::vector<ForIndex> indices;
  try {
    indices = for_indices();
    finish_header(kw_loop, open);
  } catch (const Sync&) {
    skip_header(kw_loop);
  }
  return indices;
}

void Parser::close_construct(const Token& open, std::string hint) {
  constructs_.pop_back();
  const std::string word(spelling(open.kind));
  const std::string opening = "the '" + word + "' at " + place(open);
  if (at(kw_end) && next_is(open.kind)) {
    advance();
    advance();
    return;
  }
  const TokenKind next = peek(1).kind;
  const bool another_end = at(kw_end) && (next == kw_if || next == kw_for || next == kw_when || next == kw_while);
  if (another_end && std::find(constructs_.begin(), constructs_.end(), next) == constructs_.end()) {
    report_at(peek(1), "expected 'end " + word + "' to close " + opening + ", but found 'end " +
                           std::string(spelling(next)) + "'");
    advance();
    advance();
    return;
  }
  if (at(kw_end) && next == semicolon) {
    report_at(peek(), "expected 'end " + word + "' to close " + opening + ", but found 'end'");
    advance();
    return;
  }
  if (at(kw_else) || at(kw_elseif) || at(kw_elsewhen))
    fail_at(peek(), "'" + std::string(text(peek())) + "' cannot stand here: " + opening + " is still open",
            "write 'end " + word + ";' before it if it belongs to an outer construct");
  if (hint.empty()) hint = "write 'end " + word + ";' before this line";
  report_at(peek(), "missing 'end " + word + ";' to close " + opening, std::move(hint));
  missing_end_ = true;
}

template <class Loop>
Loop Parser::for_loop() {
  const Token first = peek();
  const Nesting nesting(*this);
  constructs_.push_back(kw_for);
  advance();
  Loop loop;
  loop.indices = for_header(first);
  items(loop.body);
  close_construct(first);
  return loop;
}

// ------------------------------------------------------------------------------------------------------- equations

const Equation* Parser::equation() {
  const Token first = peek();
  Equation result;
  switch (first.kind) {
    case kw_if:
      result.node = IfEquation{if_branches<Equation>()};
      break;
    case kw_when:
      result.node = WhenEquation{when_branches<Equation>()};
      break;
    case kw_for:
      result.node = for_loop<ForEquation>();
      break;
    case kw_connect: {
      const Equation* connection = connect_equation();
      result.node = connection->node;
      break;
    }
    default:
      result = plain_equation();
  }
  result.where = since(first.begin);
  result.description = description();
  return ast_.make(std::move(result));
}

const Equation* Parser::connect_equation() {
  const Token first = peek();
  advance();
  const Token open = peek();
  expect(left_paren, "after 'connect'", "write: connect(a, b)");
  ConnectEquation connection;
  connection.first = reference_expression();
  expect(comma, "between the two connectors", "connect takes exactly two connectors: connect(a, b)");
  connection.second = reference_expression();
  close(open, right_paren, "connector");
  Equation result;
  result.node = connection;
  result.where = since(first.begin);
  return ast_.make(std::move(result));
}

Equation Parser::plain_equation() {
  const Token first = peek();
  Equation result;
  if (at_any({kw_while, kw_return, kw_break}))
    fail_at(first, "'" + std::string(text(first)) + "' cannot stand in an equation section",
            "loops and jumps belong into an 'algorithm' section");
  if (at_any({kw_then, kw_loop, equals, assign}) || at(semicolon)) {
    if (at(semicolon)) fail_at(first, "there is no equation before this ';'", "remove the ';'");
    fail_expected("an equation");
  }
  ExprPtr lhs = simple_expression();
  const Token found = peek();
  if (at(assign)) {
    report_at(found, "':=' assigns a value, which belongs into an algorithm section",
              "an equation is written with '='");
    advance();
    result.node = EqualityEquation{lhs, expression()};
    return result;
  }
  if (!accept(equals)) {
    if (!lhs->as<Call>() || (begins_operand(found) && !at(string))) fail_equation(lhs, first);
    result.node = CallEquation{lhs};
    return result;
  }
  ExprPtr rhs = expression();
  result.node = EqualityEquation{lhs, rhs};
  if (at(equals)) {
    const Location between{found.end, peek().begin, source_->file()};
    const bool next_line = source_->text(between).find('\n') != std::string_view::npos;
    report_at(peek(), "an equation has only one '='",
              next_line ? "is the line before it unfinished?" : "write two equations: a = b; b = c;");
    while (accept(equals)) expression();
  } else if (at(assign)) {
    fail_at(peek(), "':=' cannot stand in an equation");
  }
  return result;
}

void Parser::fail_equation(ExprPtr lhs, const Token& first) {
  const Token& found = peek();
  const std::string_view word = plain_name(lhs);
  if (!word.empty()) {
    std::string hint = foreign_word_hint(word);
    const std::string keyword =
        keyword_typo(word, {"when", "connect", "elseif", "elsewhen", "equation", "algorithm", "initial", "end", "for",
                            "else", "annotation", "protected", "parameter", "constant", "discrete"});
    if (hint.empty() && !keyword.empty()) hint = "did you mean '" + keyword + "'?";
    if (!hint.empty()) fail_word(first, "'" + std::string(word) + "' does not begin an equation", std::move(hint));
  }
  if (lhs->as<ComponentReference>() && found.kind == identifier && !found.first_on_line)
    fail_at(first, "this looks like a declaration, but it stands in an equation section",
            "declare variables before the keyword 'equation'");
  const auto* comparison = lhs->as<Binary>();
  if (comparison && comparison->op == Operator::equal && (at(semicolon) || found.first_on_line)) {
    report_at(last_relation_, "'==' compares two values", "an equation is written with '='");
    expect_semicolon("equation");
    fail();
  }
  if (at(semicolon) || found.first_on_line || at_section_end()) {
    report(lhs->where, "this is an expression, not an equation", "an equation has the form: expression = expression");
    fail();
  }
  if (found.kind == right_paren || found.kind == right_bracket || found.kind == right_brace) {
    report_unmatched(found);
    advance();
    fail();
  }
  fail_expected("'='", missing_operator_hint(found));
}

// ------------------------------------------------------------------------------------------------------ statements

const Statement* Parser::statement() {
  const Token first = peek();
  Statement result;
  switch (first.kind) {
    case kw_if:
      result.node = IfStatement{if_branches<Statement>()};
      break;
    case kw_when:
      result.node = WhenStatement{when_branches<Statement>()};
      break;
    case kw_for:
      result.node = for_loop<ForStatement>();
      break;
    case kw_while: {
      const Nesting nesting(*this);
      constructs_.push_back(kw_while);
      advance();
      WhileStatement loop;
      loop.condition = header_condition(kw_loop, first);
      items(loop.body);
      close_construct(first);
      result.node = std::move(loop);
      break;
    }
    case kw_break:
      advance();
      result.node = BreakStatement{};
      break;
    case kw_return:
      advance();
      result.node = ReturnStatement{};
      break;
    default:
      result = plain_statement();
  }
  result.where = since(first.begin);
  result.description = description();
  return ast_.make(std::move(result));
}

Statement Parser::plain_statement() {
  const Token first = peek();
  Statement result;
  if (at(kw_connect)) fail_at(first, "'connect' belongs into an equation section");
  if (at(semicolon)) fail_at(first, "there is no statement before this ';'", "remove the ';'");
  ExprPtr target = simple_expression();
  const auto* comparison = target->as<Binary>();
  if (comparison && comparison->op == Operator::equal && (at(semicolon) || peek().first_on_line)) {
    report_at(last_relation_, "'==' compares two values", "a value is assigned with ':='");
    result.node = Assignment{comparison->left, comparison->right};
    return result;
  }
  if (target->as<Call>() && !at(assign) && !at(equals)) {
    result.node = CallStatement{target};
    return result;
  }
  if (at(equals)) {
    report_at(peek(), "'=' is an equation, which belongs into an equation section", "a value is assigned with ':='");
    advance();
  } else if (!accept(assign)) {
    const std::string_view word = plain_name(target);
    std::string hint = foreign_word_hint(word);
    const std::string keyword = keyword_typo(word, {"when", "while", "return", "break", "elseif", "elsewhen",
                                                    "equation", "algorithm", "end", "for", "else"});
    if (hint.empty() && !keyword.empty()) hint = "did you mean '" + keyword + "'?";
    if (!hint.empty()) fail_word(first, "'" + std::string(word) + "' does not begin a statement", std::move(hint));
    if (at(semicolon) || peek().first_on_line)
      fail_at(first, "this is an expression, not a statement", "a value is assigned with ':='");
    fail_expected("':='", missing_operator_hint(peek()));
  }
  ExprPtr value = expression();
  const auto* tuple = target->as<Tuple>();
  const auto assignable = [](ExprPtr e) { return !e || e->as<ComponentReference>(); };
  if (tuple ? !std::all_of(tuple->elements.begin(), tuple->elements.end(), assignable) : !assignable(target))
    report(target->where, "only variables can be assigned to",
           target->as<Call>() ? "an equation for a derivative belongs into an equation section" : "");
  if (tuple && !value->as<Call>())
    report(value->where, "several variables can be assigned only from a function call",
           "write (a, b) := f(...), or one assignment for each variable");
  if (tuple)
    result.node = TupleAssignment{target, value};
  else
    result.node = Assignment{target, value};
  return result;
}

}  // namespace saltus::modelica
