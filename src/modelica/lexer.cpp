#include "lexer.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

namespace saltus::modelica {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}
bool is_newline(char c) {
  return c == '\n' || c == '\r';
}
bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

struct FixedText {
  std::string_view text;
  TokenKind kind;
};

// Longest first among those with a common beginning.
constexpr std::array<FixedText, 28> fixed_texts{{
    {":=", TokenKind::assign},        {"==", TokenKind::equal},
    {"<>", TokenKind::not_equal},     {"<=", TokenKind::less_equal},
    {">=", TokenKind::greater_equal}, {".+", TokenKind::dot_plus},
    {".-", TokenKind::dot_minus},     {".*", TokenKind::dot_star},
    {"./", TokenKind::dot_slash},     {".^", TokenKind::dot_caret},
    {"(", TokenKind::left_paren},     {")", TokenKind::right_paren},
    {"[", TokenKind::left_bracket},   {"]", TokenKind::right_bracket},
    {"{", TokenKind::left_brace},     {"}", TokenKind::right_brace},
    {",", TokenKind::comma},          {";", TokenKind::semicolon},
    {":", TokenKind::colon},          {".", TokenKind::dot},
    {"=", TokenKind::equals},         {"<", TokenKind::less},
    {">", TokenKind::greater},        {"+", TokenKind::plus},
    {"-", TokenKind::minus},          {"*", TokenKind::star},
    {"/", TokenKind::slash},          {"^", TokenKind::caret},
}};

// What people write who come from other languages, and what Modelica calls it.
struct Foreign {
  std::string_view text;
  TokenKind meant;
  std::string_view name;
};

constexpr std::array<Foreign, 15> foreign_operators{{
    {"!=", TokenKind::not_equal, "'!=' is not an operator of Modelica"},
    {"~=", TokenKind::not_equal, "'~=' is not an operator of Modelica"},
    {"&&", TokenKind::kw_and, "'&&' is not an operator of Modelica"},
    {"||", TokenKind::kw_or, "'||' is not an operator of Modelica"},
    {"**", TokenKind::caret, "'**' is not an operator of Modelica"},
    {"!", TokenKind::kw_not, "'!' is not an operator of Modelica"},
    {"&", TokenKind::kw_and, "'&' is not an operator of Modelica"},
    {"|", TokenKind::kw_or, "'|' is not an operator of Modelica"},
    {"\xE2\x88\x92", TokenKind::minus, "this is a typographic minus sign (U+2212)"},
    {"\xE2\x80\x93", TokenKind::minus, "this is a typographic dash (U+2013)"},
    {"\xC3\x97", TokenKind::star, "this is a multiplication sign (U+00D7)"},
    {"\xC2\xB7", TokenKind::star, "this is a middle dot (U+00B7)"},
    {"\xE2\x89\xA4", TokenKind::less_equal, "this is a typographic comparison sign (U+2264)"},
    {"\xE2\x89\xA5", TokenKind::greater_equal, "this is a typographic comparison sign (U+2265)"},
    {"\xE2\x89\xA0", TokenKind::not_equal, "this is a typographic comparison sign (U+2260)"},
}};

class Lexer {
 public:
  Lexer(const SourceText& source, Diagnostics& diagnostics)
      : source_(source), text_(source.text()), diagnostics_(diagnostics) {}

  std::vector<Token> run() {
    tokens_.reserve(text_.size() / 4 + 1);
    while (true) {
      skip_blanks();
      if (at_ >= text_.size()) break;
      begin_ = at_;
      read_token();
    }
    begin_ = at_ = text_.size();
    push(TokenKind::end_of_file);
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void push(TokenKind kind) {
    tokens_.push_back({kind, fresh_line_, static_cast<std::uint32_t>(begin_), static_cast<std::uint32_t>(at_)});
    fresh_line_ = false;
  }

  void error(std::size_t begin, std::size_t end, std::string message, std::string hint = {}) {
    if (diagnostics_.full()) return;  // computing a place costs time
    const Location where{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), source_.file()};
    diagnostics_.add(source_.diagnose(Severity::error, where, std::move(message), std::move(hint)));
  }

  void skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (is_space(c)) {
        fresh_line_ = fresh_line_ || is_newline(c);
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && !is_newline(text_[at_])) ++at_;
      } else if (c == '/' && peek(1) == '*') {
        const std::size_t close = text_.find("*/", at_ + 2);
        if (close == std::string_view::npos) {
          error(at_, at_ + 2, "this comment is never closed", "a comment that begins with '/*' ends with '*/'");
          begin_ = at_;
          at_ = text_.size();
          push(TokenKind::bad);  // so that the parser knows why the text ends here
        } else {
          if (text_.substr(at_, close - at_).find_first_of("\r\n") != std::string_view::npos) fresh_line_ = true;
          at_ = close + 2;
        }
      } else {
        return;
      }
    }
  }

  void read_token() {
    const char c = text_[at_];
    if (c == '@' && is_base_ && is_digit(peek(1))) {  // a decoration, which says where something came from
      for (++at_; is_digit(peek());) ++at_;
      return;
    }
    if (is_letter(c)) return read_word();
    if (is_digit(c)) return read_number();
    if (c == '"') return read_string();
    if (c == '\'') return read_quoted_identifier();
    if (c == '.' && is_digit(peek(1)) && !after_operand()) return read_number_without_leading_digit();
    const std::string_view rest = text_.substr(at_);
    for (const auto& foreign : foreign_operators)
      if (foreign.text[0] == c && rest.starts_with(foreign.text)) return read_foreign(foreign);
    for (const auto& op : fixed_texts)
      if (op.text[0] == c && rest.starts_with(op.text)) {
        at_ += op.text.size();
        return push(op.kind);
      }
    read_bad_character();
  }

  bool after_operand() const {
    if (tokens_.empty()) return false;
    const TokenKind kind = tokens_.back().kind;
    return kind == TokenKind::identifier || kind == TokenKind::right_paren || kind == TokenKind::right_bracket;
  }

  void read_word() {
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    push(keyword_kind(text_.substr(begin_, at_ - begin_)));
  }

  void skip_digits() {
    while (is_digit(peek())) ++at_;
  }

  void read_number() {
    TokenKind kind = TokenKind::integer;
    skip_digits();
    // "1.*x" and its like: the dot belongs to the elementwise operator ("1. * x" would be a number).
    const char after_dot = peek(1);
    const bool elementwise =
        after_dot == '*' || after_dot == '/' || after_dot == '^' || after_dot == '+' || after_dot == '-';
    if (peek() == '.' && !elementwise) {
      kind = TokenKind::real;
      ++at_;
      skip_digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      const std::size_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        kind = TokenKind::real;
        at_ += 1 + sign;
        skip_digits();
      } else if (!is_letter(peek(1))) {
        at_ += 1 + sign;
        error(begin_, at_, "the exponent of this number has no digits", "write it like 1.5e-3");
        return push(TokenKind::bad);
      }
    }
    if (is_letter(peek())) {
      const std::size_t number_end = at_;
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      const std::string number(text_.substr(begin_, std::min<std::size_t>(number_end - begin_, 40)));
      const std::string word(text_.substr(number_end, std::min<std::size_t>(at_ - number_end, 40)));
      error(begin_, at_, "a number cannot be followed directly by letters",
            "to multiply, write " + number + "*" + word + "; a name cannot begin with a digit");
      return push(TokenKind::bad);
    }
    push(kind);
  }

  void read_number_without_leading_digit() {
    ++at_;
    skip_digits();
    const std::string digits(text_.substr(begin_, std::min<std::size_t>(at_ - begin_, 40)));
    error(begin_, at_, "a number must begin with a digit", "write 0" + digits);
    push(TokenKind::bad);
  }

  void read_string() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') check_escape();
      ++at_;
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      const std::size_t line_end = std::min(text_.find_first_of("\r\n", begin_), text_.size());
      std::string hint = "a string ends with '\"' (inside a string write \\\")";
      if (several_lines_) {
        const LineColumn at = source_.position(*several_lines_);
        hint = "does the string that begins at line " + std::to_string(at.line) + ", column " +
               std::to_string(at.column) + " lack its closing '\"'?";
      }
      error(begin_, line_end, "this string is never closed", std::move(hint));
      return push(TokenKind::bad);
    }
    ++at_;
    if (text_.substr(begin_, at_ - begin_).find_first_of("\r\n") != std::string_view::npos)
      several_lines_ = static_cast<std::uint32_t>(begin_);
    push(TokenKind::string);
  }

  void check_escape() {
    constexpr std::string_view known = "'\"?\\abfnrtv";
    if (known.find(peek(1)) == std::string_view::npos || peek(1) == '\0')
      error(at_, std::min(at_ + 2, text_.size()), "this is not an escape sequence of Modelica",
            "a backslash itself is written \\\\; known are \\n \\t \\r \\\" \\' \\? \\\\ \\a \\b \\f \\v");
    if (at_ + 1 < text_.size()) ++at_;
  }

  void read_quoted_identifier() {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '\'' && !is_newline(text_[at_])) {
      if (text_[at_] == '\\') check_escape();
      ++at_;
    }
    const bool closed = at_ < text_.size() && text_[at_] == '\'';
    if (closed && at_ > begin_ + 1) {
      ++at_;
      return push(TokenKind::identifier);
    }
    const bool after_name = begin_ > 0 && (is_letter(text_[begin_ - 1]) || is_digit(text_[begin_ - 1]));
    at_ = begin_ + (closed ? 2 : 1);
    if (closed)
      error(begin_, at_, "a quoted name cannot be empty");
    else if (after_name)
      error(begin_, at_, "a prime does not mean a derivative in Modelica", "the time derivative of x is der(x)");
    else
      error(begin_, at_, "this quoted name is never closed", "strings are written with double quotes: \"text\"");
    push(TokenKind::bad);
  }

  void read_foreign(const Foreign& foreign) {
    at_ += foreign.text.size();
    error(begin_, at_, std::string(foreign.name), "write '" + std::string(spelling(foreign.meant)) + "'");
    push(foreign.meant);
  }

  void read_bad_character() {
    const char c = text_[at_];
    if (is_ascii(c)) {
      ++at_;
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
        std::array<char, 16> code{};
        std::snprintf(code.data(), code.size(), "0x%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
        error(begin_, at_, std::string("a control character (") + code.data() + ") does not belong into a model");
      } else {
        error(begin_, at_, std::string("'") + c + "' does not belong into a model",
              c == '?'               ? "a choice is written: if condition then a else b"
              : c == '%' || c == '#' ? "a comment begins with '//'"
                                     : "");
      }
    } else {
      while (at_ < text_.size() && !is_ascii(text_[at_])) ++at_;
      const std::string_view bytes = text_.substr(begin_, at_ - begin_);
      if (bytes.starts_with("\xC2\xA0"))
        error(begin_, at_, "this is a non-breaking space (U+00A0)", "replace it by an ordinary space");
      else if (bytes.starts_with("\xE2\x80\x9C") || bytes.starts_with("\xE2\x80\x9D"))
        error(begin_, at_, "this is a typographic quotation mark",
              "strings are written with straight quotes: \"text\"");
      else
        error(begin_, at_, "letters beyond ASCII are allowed only in strings, comments and quoted names",
              "a quoted name is written with single quotes: '\xCE\xB1'");
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]) || !is_ascii(text_[at_]))) ++at_;
    }
    push(TokenKind::bad);
  }

  const SourceText& source_;
  std::string_view text_;
  bool is_base_ = is_base_modelica(text_);
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  std::size_t begin_ = 0;
  bool fresh_line_ = true;
  std::optional<std::uint32_t> several_lines_;  // where the last string with a line break began
};

constexpr std::string_view escape_letters = "abfnrtv";
constexpr std::string_view escape_values = "\a\b\f\n\r\t\v";

}  // namespace

TokenKind keyword_kind(std::string_view word) {
  const auto found = std::lower_bound(keywords.begin(), keywords.end(), word);
  if (found == keywords.end() || *found != word) return TokenKind::identifier;
  return static_cast<TokenKind>(static_cast<int>(first_keyword) + (found - keywords.begin()));
}

std::string_view spelling(TokenKind kind) {
  if (is_keyword(kind)) return keywords[static_cast<std::size_t>(kind) - static_cast<std::size_t>(first_keyword)];
  for (const auto& op : fixed_texts)
    if (op.kind == kind) return op.text;
  switch (kind) {
    case TokenKind::end_of_file:
      return "end of file";
    case TokenKind::identifier:
      return "name";
    case TokenKind::integer:
    case TokenKind::real:
      return "number";
    case TokenKind::string:
      return "string";
    default:
      return "unreadable text";
  }
}

std::vector<Token> tokenize(const SourceText& source, Diagnostics& diagnostics) {
  return Lexer(source, diagnostics).run();
}

std::string decode_string(std::string_view token_text) {
  std::string value;
  if (token_text.size() < 2) return value;
  const std::string_view inside = token_text.substr(1, token_text.size() - 2);
  value.reserve(inside.size());
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\' || i + 1 >= inside.size()) {
      value += inside[i];
      continue;
    }
    const char letter = inside[++i];
    const std::size_t index = escape_letters.find(letter);
    value += index == std::string_view::npos ? letter : escape_values[index];
  }
  return value;
}

std::string encode_string(std::string_view text) {
  std::string literal = "\"";
  for (char c : text) {
    const std::size_t index = escape_values.find(c);
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (index != std::string_view::npos) {
      literal += '\\';
      literal += escape_letters[index];
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

}  // namespace saltus::modelica
