#include "parser.hpp"

#include "parser_impl.hpp"

#include <algorithm>
#include <utility>

namespace saltus::modelica {
namespace {

using enum TokenKind;

char closing_text(TokenKind kind) {
  return spelling(kind)[0];
}

bool is_closing(TokenKind kind) {
  return kind == right_paren || kind == right_bracket || kind == right_brace;
}

}  // namespace

Parser::Parser(std::shared_ptr<const SourceText> source, Diagnostics& diagnostics)
    : source_(std::move(source)),
      diagnostics_(diagnostics),
      ast_(source_),
      is_base_(is_base_modelica(source_->text())),
      tokens_(tokenize(*source_, diagnostics)) {}

// ---------------------------------------------------------------------------------------------------------- tokens

const Token& Parser::peek(std::size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

const Token& Parser::previous() const {
  return tokens_[position_ > 0 ? position_ - 1 : 0];
}

bool Parser::at_any(std::initializer_list<TokenKind> kinds) const {
  return std::find(kinds.begin(), kinds.end(), peek().kind) != kinds.end();
}

void Parser::advance() {
  if (position_ + 1 < tokens_.size()) ++position_;
}

bool Parser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

Location Parser::since(std::uint32_t begin) const {
  return {begin, std::max(begin, previous().end), source_->file()};
}

Location Parser::behind() const {
  const std::uint32_t end = position_ > 0 ? previous().end : 0;
  return {end, end + 1, source_->file()};
}

std::string Parser::describe(const Token& token) const {
  if (token.kind == end_of_file) return "the end of the file";
  std::string shown(text(token));
  if (token.kind == string) return shown.size() > 40 || shown.find('\n') != std::string::npos ? "a string" : shown;
  if (shown.size() > 40) shown = shown.substr(0, 37) + "...";
  if (is_keyword(token.kind)) return "the keyword '" + shown + "'";
  if (token.kind == identifier && shown.front() == '\'') return shown;
  return "'" + shown + "'";
}

std::string Parser::place(const Token& token) const {
  const LineColumn at = source_->position(token.begin);
  return "line " + std::to_string(at.line) + ", column " + std::to_string(at.column);
}

// ---------------------------------------------------------------------------------------------------------- errors

void Parser::report(const Location& where, std::string message, std::string hint) {
  diagnostics_.add(source_->diagnose(Severity::error, where, std::move(message), std::move(hint)));
  if (diagnostics_.full()) throw Abort{};
}

void Parser::warn(const Location& where, std::string message, std::string hint) {
  // Finding a place costs time in very long lines, so warnings are bounded where they arise.
  if (++warnings_ > Diagnostics::default_limit) return;
  diagnostics_.add(source_->diagnose(Severity::warning, where, std::move(message), std::move(hint)));
}

void Parser::report_at(const Token& token, std::string message, std::string hint) {
  if (token.kind != bad) report(where(token), std::move(message), std::move(hint));
}

void Parser::report_unmatched(const Token& token) {
  const char opening = token.kind == right_paren ? '(' : token.kind == right_bracket ? '[' : '{';
  report_at(token, "this '" + std::string(text(token)) + "' closes nothing",
            std::string("remove it, or add the '") + opening + "' that belongs to it");
}

void Parser::fail() {
  failed_in_matrix_ = matrices_ > 0;
  failed_in_conditional_ = conditionals_ > 0;
  throw Sync{};
}

void Parser::fail_at(const Token& token, std::string message, std::string hint) {
  report_at(token, std::move(message), std::move(hint));
  fail();
}

void Parser::fail_expected(const std::string& what, std::string hint) {
  fail_at(peek(), "expected " + what + ", but found " + describe(peek()), std::move(hint));
}

void Parser::too_deep() {
  report(where(peek()), "the nesting is deeper than " + std::to_string(max_nesting) + " levels",
         "split the expression or the class into parts with names");
  throw Abort{};
}

void Parser::expect(TokenKind kind, const std::string& context, std::string hint) {
  if (!accept(kind)) fail_expected("'" + std::string(spelling(kind)) + "' " + context, std::move(hint));
}

void Parser::close(const Token& open, TokenKind kind, const std::string& item) {
  if (accept(kind)) return;
  const Token& found = peek();
  const std::string closing(1, closing_text(kind));
  const std::string opening = "the '" + std::string(text(open)) + "' at " + place(open);
  if (found.kind == bad) fail();
  if (is_closing(found.kind)) {
    report_at(found, "expected '" + closing + "' to close " + opening + ", but found " + describe(found));
    advance();
    return;
  }
  const bool ends_here = at_any({semicolon, end_of_file, kw_then, kw_loop}) || at_section_end();
  if (ends_here || found.first_on_line) {
    report(behind(), "missing '" + closing + "' to close " + opening, "write '" + closing + "' where it belongs");
    if (ends_here) return;
    fail();
  }
  std::string hint = item == "expression" ? missing_operator_hint(found) : std::string();
  if (hint.empty() && begins_operand(found)) hint = "is a ',' missing before " + describe(found) + "?";
  if (hint.empty()) hint = opening + " is still open";
  const std::string expected = item == "expression" || found.kind == comma ? "'" : "',' or '";
  fail_at(found, "expected " + expected + closing + "' after this " + item + ", but found " + describe(found),
          std::move(hint));
}

void Parser::expect_semicolon(const std::string& after) {
  if (accept(semicolon)) return;
  const Token& found = peek();
  if (found.kind == bad) fail();
  if (is_closing(found.kind)) {
    report_unmatched(found);
    advance();
    if (accept(semicolon)) return;
    fail();
  }
  if (found.first_on_line || found.kind == end_of_file || at_section_end()) {
    report(behind(), "missing ';' after this " + after, "write ';' here");
    return;
  }
  std::string hint = missing_operator_hint(found);
  if (after == "declaration" && previous().kind == identifier && found.kind == identifier)
    hint = "is a ',' missing before " + describe(found) + "?";
  if (found.kind == comma && previous().kind == integer && next_is(integer))
    hint = "numbers have a decimal point: " + std::string(text(previous())) + "." + std::string(text(peek(1)));
  fail_at(found, "expected ';' after this " + after + ", but found " + describe(found), std::move(hint));
}

bool Parser::at_real_end() const {
  if (!at(kw_end)) return false;
  const TokenKind next = peek(1).kind;
  return next == identifier || next == semicolon || next == kw_if || next == kw_for || next == kw_when ||
         next == kw_while || next == end_of_file || is_keyword(next);
}

bool Parser::at_section_end() const {
  switch (peek().kind) {
    case end_of_file:
    case kw_equation:
    case kw_algorithm:
    case kw_public:
    case kw_protected:
      return true;
    case kw_initial:
      return peek(1).kind == kw_equation || peek(1).kind == kw_algorithm;
    default:
      return at_real_end();
  }
}

void Parser::synchronise(std::size_t start) {
  missing_end_ = false;
  if (position_ == start) {
    if (accept(semicolon)) return;
    advance();
  }
  if (failed_in_matrix_) {
    // A ';' may be the end of a row: look for the end of the matrix first, but not beyond this construct.
    for (std::size_t i = position_; i < tokens_.size(); ++i) {
      const TokenKind kind = tokens_[i].kind;
      if (kind == right_bracket) {
        position_ = i + 1;
        break;
      }
      if (kind == kw_equation || kind == kw_algorithm || kind == equals || kind == assign || kind == end_of_file) break;
    }
  }
  const bool in_conditional = std::exchange(failed_in_conditional_, false);
  failed_in_matrix_ = false;
  while (!at(end_of_file)) {
    if (accept(semicolon)) return;
    if (at_section_end()) return;
    if (peek().first_on_line) {
      if (begins_class() || at_any({kw_parameter, kw_constant, kw_discrete, kw_when, kw_connect, kw_annotation}))
        return;
      if (at_any({kw_if, kw_for}) && !in_conditional) return;
      if (at_any({kw_else, kw_elseif, kw_elsewhen}) && !constructs_.empty() && !in_conditional) return;
    }
    advance();
  }
}

bool Parser::begins_class(std::size_t ahead) const {
  switch (peek(ahead).kind) {
    case kw_class:
    case kw_model:
    case kw_block:
    case kw_package:
    case kw_function:
    case kw_record:
    case kw_type:
    case kw_connector:
    case kw_operator:
    case kw_encapsulated:
    case kw_partial:
    case kw_expandable:
      return true;
    case kw_pure:
    case kw_impure:
      return peek(ahead + 1).kind == kw_function || peek(ahead + 1).kind == kw_operator ||
             (is_base_ && peek(ahead + 1).kind == kw_constant);
    default:
      return false;
  }
}

bool Parser::begins_declaration() const {
  return begins_class() || at_any({kw_parameter, kw_constant, kw_discrete, kw_input, kw_output, kw_flow, kw_stream,
                                   kw_import, kw_extends, kw_replaceable, kw_redeclare, kw_inner, kw_outer, kw_final});
}

bool Parser::begins_operand(const Token& token) const {
  switch (token.kind) {
    case identifier:
    case integer:
    case real:
    case string:
    case left_paren:
    case left_brace:
    case kw_der:
    case kw_each:
    case kw_final:
    case kw_true:
    case kw_false:
      return true;
    default:
      return false;
  }
}

std::string Parser::missing_operator_hint(const Token& token) const {
  if (previous().kind == string && text(previous()).find('\n') != std::string_view::npos)
    return "the string before it began at " + place(previous()) + "; is a '\"' missing there?";
  const TokenKind before = previous().kind;
  const bool operand_before =
      before == identifier || before == integer || before == real || before == right_paren || before == right_bracket;
  if (!operand_before || !(token.kind == identifier || token.kind == integer || token.kind == real ||
                           token.kind == left_paren || token.kind == kw_der))
    return {};
  return "is an operator missing before " + describe(token) + "? A product is written with '*'";
}

std::string Parser::keyword_typo(std::string_view word, std::initializer_list<std::string_view> candidates) {
  if (word.size() < 2 || word.size() > 20) return {};
  std::string lower(word);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const std::string near = nearest_name(lower, candidates);
  if (near.empty()) return {};
  const std::size_t allowed = near.size() <= 3 ? 0 : near.size() <= 6 ? 1 : 2;
  // Short keywords are near to everything; for them a swap of letters counts, or capitals.
  std::string sorted_near = near, sorted_word = lower;
  std::sort(sorted_near.begin(), sorted_near.end());
  std::sort(sorted_word.begin(), sorted_word.end());
  return edit_distance(lower, near) <= allowed || sorted_near == sorted_word ? near : std::string();
}

// ------------------------------------------------------------------------------------------------------ front doors

namespace {

template <class Read>
ParseResult run(std::string_view text, std::string file_name, std::uint32_t file, Read read) {
  ParseResult result;
  if (text.size() >= SourceText::max_size) {
    Diagnostic too_long;
    too_long.where.file = std::move(file_name);
    too_long.message = "the text is too long: " + std::to_string(text.size() >> 20) + " MiB";
    too_long.hint = "split it into files below 1024 MiB";
    result.diagnostics.add(std::move(too_long));
    return result;
  }
  Parser parser(std::make_shared<const SourceText>(text, std::move(file_name), file), result.diagnostics);
  read(parser);
  result.diagnostics.sort();
  result.ast = parser.take();
  return result;
}

}  // namespace

ParseResult parse(std::string_view text, std::string file_name, std::uint32_t file) {
  return run(text, std::move(file_name), file, [](Parser& parser) { parser.parse_file(); });
}

ParseResult parse_expression(std::string_view text, std::string file_name, std::uint32_t file) {
  return run(text, std::move(file_name), file, [](Parser& parser) { parser.parse_single_expression(); });
}

}  // namespace saltus::modelica
