// Modifications, redeclarations, descriptions and annotations in Modelica 3.6 (appendix A.2.5 of the language
// specification).
#include "parser_impl.hpp"

#include <utility>

namespace saltus::modelica {

using enum TokenKind;

const Modification* Parser::modification() {
  if (!at_any({left_paren, equals, assign, equal})) return nullptr;
  const std::uint32_t begin = peek().begin;
  Modification result;
  if (at(left_paren)) result = *class_modification();
  if (at(assign)) {
    warn(where(peek()), "':=' in a declaration is deprecated", "write '='");
    advance();
    result.value = expression();
  } else if (at(equals) || at(equal)) {
    if (at(equal)) report_at(peek(), "'==' compares two values", "a declaration gives a value with '='");
    advance();
    if (accept(kw_break))
      result.is_break = true;
    else
      result.value = expression();
  }
  result.where = since(begin);
  return ast_.make(std::move(result));
}

const Modification* Parser::class_modification(bool inheritance) {
  const Nesting nesting(*this);
  const Token open = peek();
  Modification result;
  result.has_arguments = true;
  advance();
  if (!at(right_paren)) {
    do {
      result.arguments.push_back(modification_argument(inheritance));
    } while (accept(comma));
  }
  close(open, right_paren, "modification");
  result.where = since(open.begin);
  return ast_.make(std::move(result));
}

ModificationArgument Parser::modification_argument(bool inheritance) {
  ModificationArgument result;
  const std::uint32_t begin = peek().begin;
  if (at(kw_break)) {
    if (!inheritance) fail_at(peek(), "'break' can stand only in the modification of an 'extends' clause");
    result.inheritance_break = inheritance_break();
    result.where = since(begin);
    return result;
  }
  result.is_redeclare = accept(kw_redeclare);
  result.is_each = accept(kw_each);
  result.is_final = accept(kw_final);
  result.is_replaceable = accept(kw_replaceable);
  if (result.is_redeclare || result.is_replaceable) {
    redeclared_element(result);
  } else {
    if (!at(identifier) && !at(dot))
      fail_expected("a modification", at(integer) || at(real) ? "write name = value, for example start = 1" : "");
    result.name = name("a name");
    if (at(left_bracket))
      fail_at(peek(), "a single element of an array cannot be modified",
              "give the whole array a value: x(start = {1, 2})");
    result.modification = modification();
    result.comment = description_string();
  }
  result.where = since(begin);
  return result;
}

const InheritanceBreak* Parser::inheritance_break() {
  advance();
  InheritanceBreak result;
  if (at(kw_connect))
    result.connection = connect_equation();
  else
    result.name = read_identifier("the name of a component or 'connect(...)'");
  return ast_.make(std::move(result));
}

void Parser::redeclared_element(ModificationArgument& argument) {
  if (begins_class()) {
    const Token first = peek();
    ClassDefinition definition = class_definition();
    if (definition.as<LongClass>())
      report_at(first, "a class can be redeclared here only in the short form", "write: redeclare model A = B");
    argument.class_definition = ast_.make(std::move(definition));
  } else {
    ComponentClause clause;
    const std::uint32_t begin = peek().begin;
    type_prefixes(clause);
    clause.type = name("the name of a type");
    if (at(left_bracket)) clause.dimensions = subscripts();
    clause.components.push_back(component_declaration());
    clause.where = since(begin);
    argument.component = ast_.make(std::move(clause));
  }
  if (at(kw_constrainedby)) {
    if (!argument.is_replaceable) report_at(peek(), "'constrainedby' goes only with 'replaceable'");
    argument.constraint = constraining_clause();
  }
}

const ConstrainingClause* Parser::constraining_clause() {
  const std::uint32_t begin = peek().begin;
  advance();
  ConstrainingClause result;
  result.type = name("the name of a class");
  if (at(left_paren)) result.modification = class_modification();
  result.description = description();
  result.where = since(begin);
  return ast_.make(std::move(result));
}

Description Parser::description() {
  Description result;
  result.text = description_string();
  if (at(kw_annotation)) result.annotation = annotation();
  return result;
}

std::string_view Parser::description_string() {
  if (!at(string)) return {};
  std::string_view result = string_value(peek());
  advance();
  if (!at(plus) || !next_is(string)) return result;
  std::string joined(result);
  while (at(plus) && next_is(string)) {
    advance();
    joined += string_value(peek());
    advance();
  }
  return ast_.keep(std::move(joined));
}

const Modification* Parser::annotation() {
  advance();
  if (!at(left_paren)) fail_expected("'(' after 'annotation'");
  return class_modification();
}

}  // namespace saltus::modelica
