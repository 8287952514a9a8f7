// The recursive descent parser behind parser.hpp. Its member functions are spread over sources: expressions,
// equations and statements, classes, modifications; parser.cpp holds what they share.
//
// Error recovery. A `Sync` exception leaves the construct that cannot be understood, after it was diagnosed; the loops
// over elements, equations and statements catch it and go on behind the next ';'. Small mistakes (a missing ';', ':='
// for '=') are reported without leaving. `Abort` ends the reading altogether.
#pragma once

#include "ast.hpp"
#include "lexer.hpp"
#include "parser.hpp"

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace saltus::modelica {

class Parser {
 public:
  Parser(std::shared_ptr<const SourceText> source, Diagnostics& diagnostics);

  void parse_file();
  void parse_single_expression();
  Ast take() { return std::move(ast_); }

 private:
  struct Sync {};
  struct Abort {};

  /// Counts the depth of nesting while it lives; beyond the limit it reports and aborts.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > max_nesting) parser_.too_deep();
    }
    ~Nesting() { --parser_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Parser& parser_;
  };

  /// Adds one to a counter while it lives.
  class Counting {
   public:
    explicit Counting(int& counter) : counter_(counter) { ++counter_; }
    ~Counting() { --counter_; }
    Counting(const Counting&) = delete;
    Counting& operator=(const Counting&) = delete;

   private:
    int& counter_;
  };

  // Tokens (parser.cpp)
  const Token& peek(std::size_t ahead = 0) const;
  const Token& previous() const;
  bool at(TokenKind kind) const { return tokens_[position_].kind == kind; }
  bool at_any(std::initializer_list<TokenKind> kinds) const;
  bool next_is(TokenKind kind) const { return peek(1).kind == kind; }
  void advance();
  bool accept(TokenKind kind);
  Location where(const Token& token) const { return {token.begin, token.end, source_->file()}; }
  /// From byte `begin` to the end of the last token that was read.
  Location since(std::uint32_t begin) const;
  /// The place just behind the last token that was read, where something is missing.
  Location behind() const;
  std::string_view text(const Token& token) const { return source_->text(where(token)); }
  /// How a message names a token: "'x'", "the keyword 'end'", "the end of the file".
  std::string describe(const Token& token) const;
  std::string place(const Token& token) const;

  // Errors (parser.cpp)
  void report(const Location& where, std::string message, std::string hint = {});
  void warn(const Location& where, std::string message, std::string hint = {});
  /// Reports at a token, unless that token was already diagnosed by the lexer.
  void report_at(const Token& token, std::string message, std::string hint = {});
  void report_unmatched(const Token& token);
  [[noreturn]] void fail();
  [[noreturn]] void fail_at(const Token& token, std::string message, std::string hint = {});
  /// "expected WHAT, but found ..." at the current token.
  [[noreturn]] void fail_expected(const std::string& what, std::string hint = {});
  [[noreturn]] void too_deep();
  void expect(TokenKind kind, const std::string& context, std::string hint = {});
  /// Closes the bracket `open`. `items` is what stands between the brackets ("argument").
  void close(const Token& open, TokenKind kind, const std::string& items);
  void expect_semicolon(const std::string& after);
  /// Skips what belongs to a broken construct that began at token number `start`.
  void synchronise(std::size_t start);
  bool at_section_end() const;
  bool at_real_end() const;
  bool begins_class(std::size_t ahead = 0) const;
  bool begins_declaration() const;
  bool begins_operand(const Token& token) const;
  std::string missing_operator_hint(const Token& token) const;
  /// The keyword among `candidates` that `word` probably was meant to be, or "".
  static std::string keyword_typo(std::string_view word, std::initializer_list<std::string_view> candidates);

  // Expressions (parse_expressions.cpp)
  ExprPtr expression();
  ExprPtr conditional();
  ExprPtr simple_expression();
  ExprPtr logical_expression();
  ExprPtr logical_term();
  ExprPtr logical_factor();
  ExprPtr relation();
  ExprPtr arithmetic();
  ExprPtr term();
  ExprPtr factor();
  ExprPtr operand_after(const Token& op);
  ExprPtr primary();
  [[noreturn]] void fail_primary();
  ExprPtr number();
  ExprPtr reference_or_call();
  ExprPtr keyword_call();
  ExprPtr parenthesised();
  ExprPtr matrix();
  ExprPtr array();
  ExprPtr finish_call(std::uint32_t begin, ComponentReference callee, const Location& callee_where);
  Argument argument();
  ExprPtr function_partial();
  ComponentReference component_reference();
  std::vector<ExprPtr> subscripts();
  std::vector<ForIndex> for_indices();
  ExprPtr reference_expression();
  Identifier read_identifier(const std::string& what);
  Name name(const std::string& what);
  std::string_view string_value(const Token& token);

  // Equations and statements (parse_equations.cpp)
  template <class Item>
  void items(std::vector<const Item*>& out);
  const Equation* item(const Equation*) { return equation(); }
  const Statement* item(const Statement*) { return statement(); }
  void equations(std::vector<const Equation*>& out);
  void statements(std::vector<const Statement*>& out);
  const Equation* equation();
  const Equation* connect_equation();
  Equation plain_equation();
  [[noreturn]] void fail_word(const Token& first, std::string message, std::string hint);
  [[noreturn]] void fail_equation(ExprPtr lhs, const Token& first);
  const Statement* statement();
  Statement plain_statement();
  template <class Item>
  std::vector<Branch<Item>> if_branches();
  template <class Item>
  std::vector<Branch<Item>> when_branches();
  ExprPtr header_condition(TokenKind closing, const Token& open);
  void finish_header(TokenKind closing, const Token& open);
  void skip_header(TokenKind closing);
  std::vector<ForIndex> for_header(const Token& open);
  /// for ... loop ... end for, of equations or statements.
  template <class Loop>
  Loop for_loop();
  void close_construct(const Token& open, std::string hint = {});

  // Classes (parse_classes.cpp)
  void within_clause();
  void stray_text();
  ClassDefinition class_definition();
  void class_prefixes(ClassDefinition& definition);
  void class_name(ClassDefinition& definition);
  void short_specifier(ClassDefinition& definition);
  Enumeration enumeration();
  DerivativeClass derivative_class();
  void long_specifier(ClassDefinition& definition, LongClass body, const Token& first);
  void composition(ClassDefinition& definition, LongClass& body);
  bool section(LongClass& body);
  void equation_section(LongClass& body, bool is_initial, std::uint32_t begin);
  void external_clause(LongClass& body);
  /// Reads "end Name"; false when it turned out to be something else that was skipped.
  bool class_end(const ClassDefinition& definition, const Token& first, bool had_errors);
  /// A name without the quotes of Base Modelica (parse_base.cpp).
  std::string_view identifier_text(const Token& token);
  void parameter_equation(LongClass& body);
  void refuse_duplicates(const std::vector<const ClassDefinition*>& classes);
  void element(LongClass& body);
  Import import_clause();
  Extends extends_clause();
  ComponentClause component_clause();
  void type_prefixes(ComponentClause& clause);
  ComponentDeclaration component_declaration();
  Identifier component_name();
  bool section_keyword_typo(LongClass& body);
  bool forgot_equation_keyword() const;
  const ConstrainingClause* constraining_clause();
  const Modification* modification();
  const Modification* class_modification(bool inheritance = false);
  ModificationArgument modification_argument(bool inheritance);
  const InheritanceBreak* inheritance_break();
  void redeclared_element(ModificationArgument& argument);
  Description description();
  std::string_view description_string();
  const Modification* annotation();

  std::shared_ptr<const SourceText> source_;
  Diagnostics& diagnostics_;
  Ast ast_;
  const bool is_base_;  // the text is Base Modelica
  std::vector<Token> tokens_;
  std::size_t position_ = 0;
  int depth_ = 0;
  std::size_t warnings_ = 0;
  // What was open when the last error was raised; it decides where to go on.
  int matrices_ = 0;
  int conditionals_ = 0;
  bool failed_in_matrix_ = false;
  bool failed_in_conditional_ = false;
  bool missing_end_ = false;                   // the last construct had no end, which was reported
  bool retry_ = false;                         // a word was corrected; read the item again
  Token last_relation_;                        // the operator of the last relation, to point at
  std::vector<TokenKind> constructs_;          // open if, for, when, while
  std::vector<std::string_view> class_names_;  // open classes
  LongClass* body_ = nullptr;                  // the innermost open class
  bool is_protected_ = false;
};

}  // namespace saltus::modelica
