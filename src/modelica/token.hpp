// The words of Modelica.
#pragma once

#include "source.hpp"

#include <array>
#include <cstdint>
#include <string_view>

namespace saltus::modelica {

enum class TokenKind : std::uint8_t {
  end_of_file,
  bad,  // something that is not Modelica and has been diagnosed
  identifier,
  integer,
  real,
  string,
  // punctuation and operators
  left_paren,
  right_paren,
  left_bracket,
  right_bracket,
  left_brace,
  right_brace,
  comma,
  semicolon,
  colon,
  dot,
  equals,         // =
  assign,         // :=
  equal,          // ==
  not_equal,      // <>
  less,           // <
  less_equal,     // <=
  greater,        // >
  greater_equal,  // >=
  plus,           // +
  minus,          // -
  star,           // *
  slash,          // /
  caret,          // ^
  dot_plus,       // .+
  dot_minus,      // .-
  dot_star,       // .*
  dot_slash,      // ./
  dot_caret,      // .^
  // keywords, in alphabetical order
  kw_algorithm,
  kw_and,
  kw_annotation,
  kw_block,
  kw_break,
  kw_class,
  kw_connect,
  kw_connector,
  kw_constant,
  kw_constrainedby,
  kw_der,
  kw_discrete,
  kw_each,
  kw_else,
  kw_elseif,
  kw_elsewhen,
  kw_encapsulated,
  kw_end,
  kw_enumeration,
  kw_equation,
  kw_expandable,
  kw_extends,
  kw_external,
  kw_false,
  kw_final,
  kw_flow,
  kw_for,
  kw_function,
  kw_if,
  kw_import,
  kw_impure,
  kw_in,
  kw_initial,
  kw_inner,
  kw_input,
  kw_loop,
  kw_model,
  kw_not,
  kw_operator,
  kw_or,
  kw_outer,
  kw_output,
  kw_package,
  kw_parameter,
  kw_partial,
  kw_protected,
  kw_public,
  kw_pure,
  kw_record,
  kw_redeclare,
  kw_replaceable,
  kw_return,
  kw_stream,
  kw_then,
  kw_true,
  kw_type,
  kw_when,
  kw_while,
  kw_within,
};

constexpr TokenKind first_punctuation = TokenKind::left_paren;
constexpr TokenKind first_keyword = TokenKind::kw_algorithm;

/// All keywords, in the order of their token kinds (and of the alphabet).
constexpr std::array<std::string_view, 59> keywords{
    "algorithm",    "and",           "annotation",  "block",     "break",      "class",     "connect",  "connector",
    "constant",     "constrainedby", "der",         "discrete",  "each",       "else",      "elseif",   "elsewhen",
    "encapsulated", "end",           "enumeration", "equation",  "expandable", "extends",   "external", "false",
    "final",        "flow",          "for",         "function",  "if",         "import",    "impure",   "in",
    "initial",      "inner",         "input",       "loop",      "model",      "not",       "operator", "or",
    "outer",        "output",        "package",     "parameter", "partial",    "protected", "public",   "pure",
    "record",       "redeclare",     "replaceable", "return",    "stream",     "then",      "true",     "type",
    "when",         "while",         "within"};

inline bool is_keyword(TokenKind kind) {
  return kind >= first_keyword;
}

/// The kind of a keyword, or `identifier` for any other word.
TokenKind keyword_kind(std::string_view word);

/// How a kind is written: "equation", ":=", or a word for the kinds that have no fixed text ("identifier").
std::string_view spelling(TokenKind kind);

/// A word and its place. Its text is the text of the place: a quoted identifier keeps its quotes, a string its quotes
/// and escapes.
struct Token {
  TokenKind kind = TokenKind::end_of_file;
  bool first_on_line = false;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

}  // namespace saltus::modelica
