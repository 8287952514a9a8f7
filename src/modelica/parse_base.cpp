// What Base Modelica, the flat form of Modelica, adds to the grammar. A file of it begins with "//! base" and a
// version. Its names are quoted and lose the quotes here: 'a.b' names the variable a.b.
#include "parser_impl.hpp"

#include "printer.hpp"

namespace saltus::modelica {

using enum TokenKind;

bool is_base_modelica(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text.starts_with("//! base ");
}

std::string_view Parser::identifier_text(const Token& token) {
  const std::string_view written = text(token);
  if (!is_base_ || written.size() < 3 || !written.starts_with('\'')) return written;
  const std::string_view inside = written.substr(1, written.size() - 2);
  if (inside.find('\\') == std::string_view::npos) return inside;
  std::string plain;
  for (std::size_t k = 0; k < inside.size(); ++k) {
    if (inside[k] == '\\' && k + 1 < inside.size()) ++k;
    plain += inside[k];
  }
  return ast_.keep(std::move(plain));
}

// parameter equation guess('x') = value; gives the start value of a variable that is declared before.
void Parser::parameter_equation(LongClass& body) {
  advance();
  advance();
  const Token word = peek();
  if (!at(identifier) || text(word) != "guess")
    fail_expected("guess('x') = value", "parameter equation guess('x') = 1;");
  const ExprPtr target = reference_or_call();
  const auto* call = target->as<Call>();
  const auto* reference = call && call->arguments.size() == 1 && call->arguments[0].value
                              ? call->arguments[0].value->as<ComponentReference>()
                              : nullptr;
  if (!reference || reference->parts.size() != 1 || !reference->parts[0].subscripts.empty())
    fail_at(word, "'guess' needs the name of a variable", "parameter equation guess('x') = 1;");
  expect(equals, "'='");
  ExprPtr value = expression();
  // prioritize(value, n): which guesses are kept is decided from the equations
  if (const auto* priority = value->as<Call>())
    if (print(priority->callee) == "prioritize" && !priority->arguments.empty()) value = priority->arguments[0].value;
  description();
  expect_semicolon("parameter equation");
  const Identifier& name = reference->parts[0].name;
  for (Element& element : body.elements) {
    const auto* clause = element.as<const ComponentClause*>();
    if (!clause) continue;
    for (std::size_t k = 0; k < (*clause)->components.size(); ++k) {
      if ((*clause)->components[k].name.text != name.text) continue;
      Modification number;
      number.where = value->where;
      number.value = value;
      ModificationArgument start;
      start.where = name.where;
      start.name.parts.push_back({"start", name.where});
      start.name.where = name.where;
      start.modification = ast_.make(std::move(number));
      ComponentClause changed = **clause;
      const Modification* known = changed.components[k].modification;
      Modification all = known ? *known : Modification{};
      all.has_arguments = true;
      all.arguments.push_back(std::move(start));
      changed.components[k].modification = ast_.make(std::move(all));
      element.node = ast_.make(std::move(changed));
      return;
    }
  }
  report(name.where, "'" + std::string(name.text) + "' is not declared before its guess");
}

}  // namespace saltus::modelica
