// Files, classes and their elements in Modelica 3.6 (appendices A.2.1 to A.2.4 of the language specification);
// modifications are in parse_modifications.cpp.
#include "parser_impl.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace saltus::modelica {
namespace {

using enum TokenKind;

constexpr std::string_view class_shape = "a model has the form: model Name ... end Name;";

}  // namespace

// ------------------------------------------------------------------------------------------------------------ files

void Parser::parse_file() {
  try {
    while (!at(end_of_file)) {
      const std::size_t start = position_;
      try {
        if (at(kw_within)) {
          within_clause();
        } else if (begins_class() || (at(kw_final) && begins_class(1))) {
          const bool is_final = accept(kw_final);
          ClassDefinition definition = class_definition();
          definition.is_final = is_final;
          ast_.root.classes.push_back(ast_.make(std::move(definition)));
          if (!std::exchange(missing_end_, false)) expect_semicolon("class");
        } else {
          stray_text();
        }
      } catch (const Sync&) {
        synchronise(start);
      }
    }
    refuse_duplicates(ast_.root.classes);
  } catch (const Abort&) {
  }
}

void Parser::refuse_duplicates(const std::vector<const ClassDefinition*>& classes) {
  std::unordered_set<std::string_view> names;
  for (const ClassDefinition* definition : classes)
    if (!definition->name.text.empty() && !names.insert(definition->name.text).second)
      report(definition->name.where, "the class '" + std::string(definition->name.text) + "' is declared twice",
             "give one of the two another name, or remove it");
}

void Parser::within_clause() {
  const Token first = peek();
  if (position_ > 0) report_at(first, "'within' must be the first thing in a file");
  advance();
  ast_.root.has_within = true;
  if (at(identifier)) ast_.root.within = name("the name of a package");
  expect_semicolon("'within' clause");
}

// What stands between classes: diagnosed once, then skipped up to the next class.
void Parser::stray_text() {
  const Token& first = peek();
  if (at(identifier)) {
    const std::string keyword =
        keyword_typo(text(first), {"model", "package", "function", "record", "class", "block", "connector", "type",
                                   "partial", "within", "encapsulated", "operator"});
    if (!keyword.empty() && (next_is(identifier) || is_keyword(peek(1).kind))) {
      report_at(first, "'" + std::string(text(first)) + "' is not a keyword", "did you mean '" + keyword + "'?");
      tokens_[position_].kind = keyword_kind(keyword);
      return;  // it is read again, as the keyword
    }
  }
  if (at(kw_end) && next_is(identifier))
    report_at(first, "'end " + std::string(text(peek(1))) + "' closes nothing: no class is open here");
  else if (at(semicolon))
    report_at(first, "there is nothing before this ';'", "remove it");
  else
    report_at(first, "expected a class, but found " + describe(first), std::string(class_shape));
  if (accept(semicolon)) return;
  advance();
  while (!at(end_of_file) && !(peek().first_on_line && begins_class())) advance();
}

// ---------------------------------------------------------------------------------------------------------- classes

ClassDefinition Parser::class_definition() {
  const Nesting nesting(*this);
  const Token first = peek();
  ClassDefinition definition;
  class_prefixes(definition);
  LongClass body;
  if (accept(kw_extends)) {
    body.is_extends = true;
    class_name(definition);
    if (at(left_paren)) body.extends_modification = class_modification();
    long_specifier(definition, std::move(body), first);
  } else {
    class_name(definition);
    if (at(equals))
      short_specifier(definition);
    else
      long_specifier(definition, std::move(body), first);
  }
  definition.where = since(first.begin);
  return definition;
}

void Parser::class_prefixes(ClassDefinition& definition) {
  definition.is_encapsulated = accept(kw_encapsulated);
  definition.is_partial = accept(kw_partial);
  definition.is_pure = accept(kw_pure);
  definition.is_impure = !definition.is_pure && accept(kw_impure);
  if (is_base_ && definition.is_pure) accept(kw_constant);  // a function that may be evaluated before the run
  const bool is_operator = accept(kw_operator);
  const bool is_expandable = accept(kw_expandable);
  const Token kind = peek();
  switch (kind.kind) {
    case kw_class:
      definition.kind = ClassKind::class_;
      break;
    case kw_model:
      definition.kind = ClassKind::model;
      break;
    case kw_block:
      definition.kind = ClassKind::block;
      break;
    case kw_package:
      definition.kind = ClassKind::package;
      break;
    case kw_type:
      definition.kind = ClassKind::type;
      break;
    case kw_record:
      definition.kind = is_operator ? ClassKind::operator_record : ClassKind::record;
      break;
    case kw_function:
      definition.kind = is_operator ? ClassKind::operator_function : ClassKind::function;
      break;
    case kw_connector:
      definition.kind = is_expandable ? ClassKind::expandable_connector : ClassKind::connector;
      break;
    default:
      if (!is_operator) fail_expected("a kind of class, such as 'model', 'function' or 'package'");
      definition.kind = ClassKind::operator_;
      return;
  }
  if (is_expandable && kind.kind != kw_connector)
    report_at(kind, "only a connector can be expandable, but found " + describe(kind));
  if (is_operator && kind.kind != kw_record && kind.kind != kw_function)
    report_at(kind, "'operator' goes with 'record' or 'function', but found " + describe(kind));
  if ((definition.is_pure || definition.is_impure) && kind.kind != kw_function)
    report_at(kind, "only a function can be pure or impure, but found " + describe(kind));
  advance();
}

// A class without a proper name is still a class: it is read under an empty name, which fits any 'end'.
void Parser::class_name(ClassDefinition& definition) {
  const bool on_next_line = peek().first_on_line && next_is(identifier) && !peek(1).first_on_line;
  if (at(identifier) && !on_next_line) {
    definition.name = {identifier_text(peek()), where(peek())};
    advance();
    return;
  }
  const std::string kind(spelling(definition.kind));
  if (peek().first_on_line || at(end_of_file)) {
    report(behind(), "the name of the " + kind + " is missing", std::string(class_shape));
    return;
  }
  report_at(peek(), "expected the name of the " + kind + ", but found " + describe(peek()),
            is_keyword(peek().kind) ? "a keyword cannot be used as a name" : "");
  while (!peek().first_on_line && !at_any({end_of_file, semicolon, equals})) advance();
}

void Parser::short_specifier(ClassDefinition& definition) {
  advance();
  if (at(kw_enumeration)) {
    definition.body = enumeration();
  } else if (at(kw_der)) {
    definition.body = derivative_class();
  } else {
    ShortClass body;
    if (at(kw_input) || at(kw_output)) {
      body.direction = at(kw_input) ? Direction::input : Direction::output;
      advance();
    }
    body.base = name("the name of a class");
    if (at(left_bracket)) body.dimensions = subscripts();
    if (at(left_paren)) body.modification = class_modification();
    definition.body = std::move(body);
  }
  definition.description = description();
}

Enumeration Parser::enumeration() {
  Enumeration result;
  std::unordered_set<std::string_view> literals;
  advance();
  const Token open = peek();
  expect(left_paren, "after 'enumeration'");
  if (accept(colon)) {
    result.is_open = true;
  } else if (!at(right_paren)) {
    do {
      EnumerationLiteral literal;
      const Token at_name = peek();
      literal.name = read_identifier("the name of an enumeration literal");
      if (!literals.insert(literal.name.text).second)
        report_at(at_name, "'" + std::string(literal.name.text) + "' stands twice in this enumeration");
      literal.description = description();
      result.literals.push_back(literal);
    } while (accept(comma));
  }
  close(open, right_paren, "literal");
  return result;
}

DerivativeClass Parser::derivative_class() {
  DerivativeClass result;
  advance();
  const Token open = peek();
  expect(left_paren, "after 'der'");
  result.function = name("the name of a function");
  while (accept(comma)) result.variables.push_back(read_identifier("the name of an input"));
  if (result.variables.empty()) fail_expected("',' and the name of an input", "write: function g = der(f, x)");
  close(open, right_paren, "name");
  return result;
}

void Parser::long_specifier(ClassDefinition& definition, LongClass body, const Token& first) {
  definition.description.text = description_string();
  class_names_.push_back(definition.name.text);
  LongClass* const outer_body = std::exchange(body_, &body);
  const bool outer_protected = std::exchange(is_protected_, false);
  // Constructs of an outer class do not reach into this one.
  std::vector<TokenKind> outer_constructs = std::exchange(constructs_, {});
  const std::size_t errors_before = diagnostics_.error_count();
  do {
    composition(definition, body);
  } while (!class_end(definition, first, diagnostics_.error_count() > errors_before));
  constructs_ = std::move(outer_constructs);
  is_protected_ = outer_protected;
  body_ = outer_body;
  class_names_.pop_back();
  definition.body = std::move(body);
}

// Elements and sections up to an 'end' or the end of the file.
void Parser::composition(ClassDefinition& definition, LongClass& body) {
  while (!at(end_of_file) && !at_real_end()) {
    const std::size_t start = position_;
    try {
      if (section(body)) continue;
      if (at(kw_annotation)) {
        const Token first = peek();
        const Modification* clause = annotation();
        if (definition.description.annotation)
          report_at(first, "this class already has an annotation", "join the two annotations");
        definition.description.annotation = clause;
        expect_semicolon("annotation");
      } else if (at_any({kw_else, kw_elseif, kw_elsewhen})) {
        fail_at(peek(),
                "'" + std::string(text(peek())) + "' cannot stand here: nothing is open that it could belong to");
      } else {
        element(body);
      }
    } catch (const Sync&) {
      synchronise(start);
    }
  }
  std::vector<const ClassDefinition*> classes;
  for (const Element& element : body.elements)
    if (const auto* nested = element.as<const ClassDefinition*>()) classes.push_back(*nested);
  refuse_duplicates(classes);
}

// Reads a section, if one begins here.
bool Parser::section(LongClass& body) {
  const std::uint32_t begin = peek().begin;
  if (at(kw_public) || at(kw_protected)) {
    is_protected_ = at(kw_protected);
    advance();
    return true;
  }
  if (at(kw_external)) {
    external_clause(body);
    return true;
  }
  if (at(kw_initial) && next_is(identifier)) {
    const std::string keyword = keyword_typo(text(peek(1)), {"equation", "algorithm"});
    if (!keyword.empty()) {
      report_at(peek(1), "'" + std::string(text(peek(1))) + "' is not a keyword", "did you mean '" + keyword + "'?");
      tokens_[position_ + 1].kind = keyword_kind(keyword);
    }
  }
  const bool is_initial = at(kw_initial) && (next_is(kw_equation) || next_is(kw_algorithm));
  if (is_initial) advance();
  if (accept(kw_equation)) {
    equation_section(body, is_initial, begin);
    return true;
  }
  if (!accept(kw_algorithm)) return false;
  AlgorithmSection result;
  result.is_initial = is_initial;
  result.where = since(begin);
  statements(result.statements);
  body.algorithms.push_back(std::move(result));
  return true;
}

void Parser::equation_section(LongClass& body, bool is_initial, std::uint32_t begin) {
  EquationSection result;
  result.is_initial = is_initial;
  result.where = since(begin);
  equations(result.equations);
  body.equations.push_back(std::move(result));
}

void Parser::external_clause(LongClass& body) {
  ExternalClause result;
  const Token first = peek();
  advance();
  if (at(string)) {
    result.language = string_value(peek());
    advance();
  }
  if (at(identifier) || at(dot)) {
    ExprPtr reference = reference_expression();
    if (accept(equals)) {
      result.result = reference;
      result.function = read_identifier("the name of the external function");
    } else {
      result.function = reference->as<ComponentReference>()->parts.front().name;
    }
    const Token open = peek();
    expect(left_paren, "after the name of the external function");
    if (!at(right_paren)) {
      do {
        result.arguments.push_back(expression());
      } while (accept(comma));
    }
    close(open, right_paren, "argument");
  }
  if (at(kw_annotation)) result.annotation = annotation();
  result.where = since(first.begin);
  body.external = ast_.make(std::move(result));
  expect_semicolon("'external' clause");
}

bool Parser::class_end(const ClassDefinition& definition, const Token& first, bool had_errors) {
  const std::string own(definition.name.text);
  const std::string kind(spelling(definition.kind));
  const std::string shown = own.empty() ? "this " + kind : kind + " '" + own + "'";
  if (at(end_of_file)) {
    missing_end_ = true;
    if (previous().kind == bad) return true;  // an open string or comment swallowed the rest
    report(definition.name.empty() ? where(first) : definition.name.where, shown + " is never closed",
           "write 'end " + (own.empty() ? "Name" : own) + ";' at its end");
    return true;
  }
  const Token ending = peek(1);
  if (ending.kind == identifier) {
    const std::string_view found = identifier_text(ending);
    const bool closes_outer = class_names_.size() > 1 &&
                              std::find(class_names_.begin(), class_names_.end() - 1, found) != class_names_.end() - 1;
    if (found != own && !own.empty()) {
      if (closes_outer) {
        report_at(peek(), "missing 'end " + own + ";' before the end of '" + std::string(found) + "'",
                  kind + " '" + own + "' began at " + place(first));
        missing_end_ = true;
        return true;
      }
      report_at(ending, "expected 'end " + own + "', but found 'end " + std::string(found) + "'",
                kind + " '" + own + "' began at " + place(first));
    }
    advance();
    advance();
    return true;
  }
  if (ending.kind == kw_if || ending.kind == kw_for || ending.kind == kw_when || ending.kind == kw_while) {
    // After an error this is most likely its consequence.
    if (!had_errors)
      report_at(peek(), "'end " + std::string(text(ending)) + "' closes nothing: no '" + std::string(text(ending)) +
                            "' is open here");
    advance();
    advance();
    accept(semicolon);
    return false;
  }
  report({peek().end, peek().end + 1, source_->file()}, "expected the name of the class after 'end'",
         "write 'end " + (own.empty() ? "Name" : own) + ";'");
  advance();
  if (is_keyword(peek().kind) && !peek().first_on_line && next_is(semicolon)) advance();
  return true;
}

// --------------------------------------------------------------------------------------------------------- elements

void Parser::element(LongClass& body) {
  const Token first = peek();
  if (forgot_equation_keyword()) {
    report_at(first, "an equation cannot stand among the declarations", "write the keyword 'equation' before it");
    equation_section(body, false, first.begin);
    return;
  }
  if (is_base_ && at(kw_parameter) && next_is(kw_equation)) return parameter_equation(body);
  Element result;
  result.is_protected = is_protected_;
  if (at(kw_import)) {
    result.node = import_clause();
  } else if (at(kw_extends)) {
    result.node = extends_clause();
  } else {
    while (at_any({kw_redeclare, kw_final, kw_inner, kw_outer, kw_replaceable})) {
      result.is_redeclare |= at(kw_redeclare);
      result.is_final |= at(kw_final);
      result.is_inner |= at(kw_inner);
      result.is_outer |= at(kw_outer);
      result.is_replaceable |= at(kw_replaceable);
      advance();
    }
    if (begins_class()) {
      result.node = ast_.make(class_definition());
    } else {
      if (section_keyword_typo(body)) return;
      result.node = ast_.make(component_clause());
    }
    if (at(kw_constrainedby)) {
      if (!result.is_replaceable) report_at(peek(), "'constrainedby' goes only with 'replaceable'");
      result.constraint = constraining_clause();
    }
  }
  result.where = since(first.begin);
  const bool is_class = std::holds_alternative<const ClassDefinition*>(result.node);
  body.elements.push_back(std::move(result));
  if (!std::exchange(missing_end_, false)) expect_semicolon(is_class ? "class" : "declaration");
}

// "equatoin" at the beginning of a line, followed by something that cannot be a component.
bool Parser::section_keyword_typo(LongClass& body) {
  if (!at(identifier) || (next_is(identifier) && !peek(1).first_on_line) || next_is(left_bracket) || next_is(dot))
    return false;
  const Token first = peek();
  const std::string keyword = keyword_typo(text(first), {"equation", "algorithm", "protected", "public"});
  if (keyword.empty()) return false;
  report_at(first, "'" + std::string(text(first)) + "' is not a keyword", "did you mean '" + keyword + "'?");
  advance();
  if (keyword == "equation") {
    equation_section(body, false, first.begin);
  } else if (keyword == "algorithm") {
    AlgorithmSection result;
    result.where = since(first.begin);
    statements(result.statements);
    body.algorithms.push_back(std::move(result));
  }
  return true;
}

// Does an equation begin here, where only declarations can stand?
bool Parser::forgot_equation_keyword() const {
  if (at_any({kw_der, kw_when, kw_if, kw_for, kw_connect, left_paren, minus})) return true;
  if (at(kw_initial)) return next_is(left_paren);
  if (!at(identifier)) return false;
  // a.b = , a + , f(x) = : over a dotted name to what follows. "Real[3] x" stays a declaration.
  std::size_t ahead = 1;
  while (ahead < 40 && peek(ahead).kind == dot && peek(ahead + 1).kind == identifier) ahead += 2;
  switch (peek(ahead).kind) {
    case equals:
    case equal:
    case plus:
    case minus:
    case star:
    case slash:
    case caret:
      return true;
    case left_paren:
      return keyword_typo(text(peek()), {"annotation"}).empty();
    default:
      return false;
  }
}

Import Parser::import_clause() {
  Import result;
  advance();
  if (at(identifier) && next_is(equals)) {
    result.kind = Import::Kind::renamed;
    result.alias = read_identifier("a name");
    advance();
    result.name = name("the name of a class");
  } else {
    result.name = name("the name of a class");
    if (at(dot_star)) {
      result.kind = Import::Kind::wildcard;
      advance();
    } else if (at(dot) && next_is(star)) {
      result.kind = Import::Kind::wildcard;
      advance();
      advance();
    } else if (at(dot)) {
      advance();
      const Token open = peek();
      expect(left_brace, "or a name after '.'", "write: import A.b; import A.*; or import A.{b, c};");
      result.kind = Import::Kind::list;
      do {
        result.members.push_back(read_identifier("a name"));
      } while (accept(comma));
      close(open, right_brace, "name");
    }
  }
  result.description = description();
  return result;
}

Extends Parser::extends_clause() {
  Extends result;
  advance();
  result.base = name("the name of a class");
  if (at(left_paren)) result.modification = class_modification(true);
  if (at(kw_annotation)) result.annotation = annotation();
  return result;
}

void Parser::type_prefixes(ComponentClause& clause) {
  while (at_any({kw_flow, kw_stream, kw_discrete, kw_parameter, kw_constant, kw_input, kw_output})) {
    const Token& token = peek();
    bool twice = false;
    if (at(kw_flow) || at(kw_stream)) {
      twice = clause.role != ConnectorRole::none;
      clause.role = at(kw_flow) ? ConnectorRole::flow : ConnectorRole::stream;
    } else if (at(kw_input) || at(kw_output)) {
      twice = clause.direction != Direction::none;
      clause.direction = at(kw_input) ? Direction::input : Direction::output;
    } else {
      twice = clause.variability != Variability::continuous;
      clause.variability = at(kw_discrete)    ? Variability::discrete
                           : at(kw_parameter) ? Variability::parameter
                                              : Variability::constant;
    }
    if (twice) report_at(token, "'" + std::string(text(token)) + "' does not go with the prefixes before it");
    advance();
  }
}

ComponentClause Parser::component_clause() {
  const Token first = peek();
  ComponentClause clause;
  type_prefixes(clause);
  if (!at(identifier) && !at(dot)) {
    if (first.begin != peek().begin) fail_expected("the name of a type", "write, for example: parameter Real x = 1;");
    fail_expected("a declaration, a section or 'end'");
  }
  // "paramter Real x": three words in a row, the first almost a prefix.
  if (next_is(identifier) && !peek(1).first_on_line && peek(2).kind == identifier && !peek(2).first_on_line) {
    const std::string keyword =
        keyword_typo(text(peek()), {"parameter", "constant", "discrete", "input", "output", "flow", "stream", "final",
                                    "inner", "outer", "model", "function", "record", "package", "replaceable"});
    if (!keyword.empty()) {
      report_at(peek(), "'" + std::string(text(peek())) + "' is not a keyword", "did you mean '" + keyword + "'?");
      advance();
    }
  }
  clause.type = name("the name of a type");
  if (at(left_bracket)) clause.dimensions = subscripts();
  do {
    clause.components.push_back(component_declaration());
  } while (accept(comma));
  clause.where = since(first.begin);
  return clause;
}

Identifier Parser::component_name() {
  const Token& found = peek();
  if (at(identifier)) return read_identifier("a name");
  const std::string after = describe(previous());
  if (is_keyword(found.kind) && !found.first_on_line) {
    report_at(found, describe(found) + " cannot name a component", "choose another name");
    advance();
    fail();
  }
  if (at(semicolon) || found.first_on_line || at_section_end()) {
    report(behind(), "expected the name of a component after " + after, "write, for example: Real x;");
    if (at(semicolon)) return {};
    fail();
  }
  std::string hint;
  if (found.kind == integer && previous().kind == comma)
    hint = "numbers have a decimal point, as 1." + std::string(text(found)) + "; a ',' begins the next component";
  fail_expected("the name of a component after " + after, std::move(hint));
}

ComponentDeclaration Parser::component_declaration() {
  ComponentDeclaration result;
  const std::uint32_t begin = peek().begin;
  result.name = component_name();
  if (result.name.empty()) return result;
  if (at(left_bracket)) result.dimensions = subscripts();
  result.modification = modification();
  if (accept(kw_if)) result.condition = expression();
  result.description = description();
  if (at(left_paren) || at(equals))
    fail_at(peek(), "this modification stands too late", "it belongs directly behind the name: Real x(start = 1) = 2;");
  result.where = since(begin);
  return result;
}

}  // namespace saltus::modelica
