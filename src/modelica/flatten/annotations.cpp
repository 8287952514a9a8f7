// Vendor annotations on an equation or a declaration. __saltus_surface = "filippov", "stay", "crossing" or "stop" says
// what happens on the surfaces in it; __saltus_nominal = 1e-3 makes errors of their guards count. Annotations of others
// are ignored; one of ours that does not exist is an error, since its author relies on it.
#include <saltus/expr/derivative.hpp>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

constexpr std::string_view prefix = "__saltus_", surface_name = "__saltus_surface", nominal_name = "__saltus_nominal";

bool varies(const Expr& function) {
  for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative})
    if (!symbols_of(std::span(&function, 1), kind).empty()) return true;
  return false;
}

SurfaceRule rule_of(const ModificationArgument& argument) {
  const ExprPtr value = argument.modification ? argument.modification->value : nullptr;
  const auto* text = value ? value->as<StringLiteral>() : nullptr;
  if (text)
    if (const auto rule = surface_rule(text->value)) return *rule;
  throw Fault{value ? value->where : argument.where,
              "'__saltus_surface' is one of \"filippov\", \"stay\", \"crossing\" and \"stop\"",
              text ? did_you_mean(text->value, {"filippov", "stay", "crossing", "stop"}) : ""};
}

double nominal_of(const ModificationArgument& argument) {
  const ExprPtr value = argument.modification ? argument.modification->value : nullptr;
  double number = 0.0;
  if (const auto* real = value ? value->as<RealLiteral>() : nullptr) number = real->value;
  if (const auto* integer = value ? value->as<IntegerLiteral>() : nullptr) number = static_cast<double>(integer->value);
  if (number > 0.0) return number;
  throw Fault{value ? value->where : argument.where, "'__saltus_nominal' is a positive number, as in 1e-3"};
}

}  // namespace

std::vector<const ModificationArgument*> Flattener::own_annotations(const Modification* annotation) {
  std::vector<const ModificationArgument*> found;
  if (!annotation) return found;
  for (const ModificationArgument& argument : annotation->arguments) {
    if (!argument.is_plain() || argument.name.parts.empty()) continue;
    const std::string_view name = argument.name.parts.front().text;
    if (!name.starts_with(prefix)) continue;
    if ((name != surface_name && name != nominal_name) || argument.name.parts.size() > 1)
      throw Fault{argument.where, "there is no annotation '" + std::string(name) + "'",
                  did_you_mean(name, std::vector<std::string>{std::string(surface_name), std::string(nominal_name)})};
    found.push_back(&argument);
  }
  return found;
}

void Flattener::apply_annotation(const Modification* annotation, std::span<const FlatEquation> equations) {
  for (const ModificationArgument* argument : own_annotations(annotation)) apply_annotation(*argument, equations);
}

void Flattener::apply_annotation(const ModificationArgument& argument, std::span<const FlatEquation> equations) {
  const std::string name(argument.name.parts.front().text);
  FlatSurface wanted;
  wanted.where = argument.where;
  if (name == surface_name)
    wanted.rule = rule_of(argument);
  else
    wanted.nominal = nominal_of(argument);
  std::vector<Expr> sides;
  for (const FlatEquation& e : equations) {
    sides.push_back(e.lhs.scalar());
    sides.push_back(e.rhs.scalar());
  }
  bool any = false;
  for (const Expr& lock : locks_of(sides)) {
    const Op op = lock.graph()->node(lock.id()).op;
    if ((op != Op::positive && op != Op::nonnegative) || !varies(lock)) continue;
    any = true;
    wanted.relation = lock;
    const auto [place, fresh] = surfaces_.emplace(std::pair(lock.id(), wanted.nominal > 0.0), wanted);
    if (!fresh && (place->second.rule != wanted.rule || place->second.nominal != wanted.nominal))
      throw Fault{argument.where, "the relation in this equation has another '" + name + "' elsewhere",
                  "give all of its equations the same one"};
  }
  if (!any) warn(argument.where, "'" + name + "' does nothing here: no relation between variables occurs");
}

void Flattener::emit_surfaces() {
  for (const auto& [key, surface] : surfaces_) {
    const BoolExpr relation(surface.relation);
    if (surface.nominal > 0.0)
      model_->guard_nominal(relation, surface.nominal, locate(surface.where));
    else
      model_->surface(relation, surface.rule, locate(surface.where));
  }
}

}  // namespace saltus::modelica
