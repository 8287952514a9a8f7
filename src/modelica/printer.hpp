// From a syntax tree back to Modelica text, for messages and for the names of guards.
#pragma once

#include "ast.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace saltus::modelica {

/// The expression on one line, with as few parentheses as the grammar allows. Reading the text again gives the same
/// tree. Null prints as nothing.
std::string print(ExprPtr expression);
/// The same with other names: `name_of` is asked for the first name of each reference, and "" keeps it.
std::string print(ExprPtr expression, const std::function<std::string(std::string_view)>& name_of);
std::string print(const ComponentReference& reference);
std::string print(const Name& name);
/// The equation with its ';', in several lines where it has branches; each line begins with `indent` spaces. Without
/// description and annotation.
std::string print(const Equation& equation, int indent = 0);

}  // namespace saltus::modelica
