// Short ways to read texts in tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "modelica/parser.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

/// Reads a text that must have no errors.
inline ParseResult read(std::string_view text) {
  ParseResult result = parse(text, "test.mo");
  EXPECT_TRUE(result.diagnostics.empty()) << result.diagnostics.render();
  return result;
}

/// The diagnostics of a text as a user sees them.
inline std::string messages(std::string_view text) {
  return parse(text, "a.mo").diagnostics.render();
}

/// The number of errors in a text.
inline std::size_t errors(std::string_view text) {
  return parse(text, "a.mo").diagnostics.error_count();
}

/// Reads an expression and prints it again; the text of the errors when there are any.
inline std::string reprint(std::string_view text) {
  const ParseResult result = parse_expression(text, "test.mo");
  return result.ok() ? print(result.ast.expression) : result.diagnostics.render();
}

inline const LongClass& body_of(const ParseResult& result, std::size_t index = 0) {
  return *result.ast.root.classes.at(index)->as<LongClass>();
}

inline const ComponentClause& component_of(const LongClass& body, std::size_t index) {
  return **body.elements.at(index).as<const ComponentClause*>();
}

}  // namespace saltus::modelica
