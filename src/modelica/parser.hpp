// From Modelica text to a syntax tree.
#pragma once

#include "ast.hpp"

#include <saltus/modelica/diagnostic.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace saltus::modelica {

/// How deep parentheses, brackets, calls, if-expressions, modifications, if/for/when constructs and classes may be
/// nested in one another. Beyond it a text is refused with a diagnostic, so that neither the parser nor a recursive
/// walk over the tree can run out of stack. At the limit parser and printer
/// need less than 1 MiB of stack (less than 4 MiB in a build with AddressSanitizer).
constexpr int max_nesting = 200;

/// A tree and what there is to say about it. With errors the tree holds what could be understood.
struct ParseResult {
  Ast ast;
  Diagnostics diagnostics;

  bool ok() const { return !diagnostics.has_errors(); }
  /// Throws ModelicaError with all diagnostics unless ok().
  void require() const {
    if (!ok()) throw ModelicaError(diagnostics);
  }
};

/// Reads a whole file (a stored definition: `within`, classes) by the grammar of Modelica 3.6. Linear in the size of
/// the text. Never throws for what is in the text: all errors are diagnosed. `file` is the number that locations carry.
ParseResult parse(std::string_view text, std::string file_name, std::uint32_t file = 0);

/// Reads one expression; it must fill the text. The result is `ast.expression`.
ParseResult parse_expression(std::string_view text, std::string file_name, std::uint32_t file = 0);

}  // namespace saltus::modelica
