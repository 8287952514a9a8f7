// Vendor annotations. __saltus_surface = "filippov", "crossing" or "stop" on an equation or a declaration says what
// happens where both sides of a surface in it push towards it. Annotations of others are ignored; one of ours that does
// not exist is an error, since its author relies on it.
#include <saltus/expr/derivative.hpp>

#include <array>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

constexpr std::string_view prefix = "__saltus_", surface_name = "__saltus_surface";
constexpr std::array<std::pair<std::string_view, SurfaceRule>, 3> rules{
    {{"filippov", SurfaceRule::filippov}, {"crossing", SurfaceRule::crossing}, {"stop", SurfaceRule::stop}}};

bool varies(const Expr& function) {
  for (const SymbolKind kind : {SymbolKind::time, SymbolKind::variable, SymbolKind::derivative})
    if (!symbols_of(std::span(&function, 1), kind).empty()) return true;
  return false;
}

SurfaceRule rule_of(const ModificationArgument& argument) {
  const ExprPtr value = argument.modification ? argument.modification->value : nullptr;
  const auto* text = value ? value->as<StringLiteral>() : nullptr;
  std::vector<std::string> names;
  for (const auto& [name, rule] : rules) {
    if (text && text->value == name) return rule;
    names.emplace_back(name);
  }
  throw Fault{value ? value->where : argument.where,
              "'__saltus_surface' is one of \"filippov\", \"crossing\" and \"stop\"",
              text ? did_you_mean(text->value, names) : ""};
}

}  // namespace

const ModificationArgument* Flattener::surface_annotation(const Modification* annotation) {
  if (!annotation) return nullptr;
  const ModificationArgument* found = nullptr;
  for (const ModificationArgument& argument : annotation->arguments) {
    if (!argument.is_plain() || argument.name.parts.empty()) continue;
    const std::string_view name = argument.name.parts.front().text;
    if (!name.starts_with(prefix)) continue;
    if (name != surface_name || argument.name.parts.size() > 1)
      throw Fault{argument.where, "there is no annotation '" + std::string(name) + "'",
                  did_you_mean(name, std::vector<std::string>{std::string(surface_name)})};
    found = &argument;
  }
  return found;
}

void Flattener::apply_annotation(const Modification* annotation, std::span<const FlatEquation> equations) {
  const ModificationArgument* argument = surface_annotation(annotation);
  if (!argument) return;
  const SurfaceRule rule = rule_of(*argument);
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
    const auto [place, fresh] = surfaces_.emplace(lock.id(), FlatSurface{lock, rule, argument->where});
    if (!fresh && place->second.rule != rule)
      throw Fault{argument->where, "the relation in this equation has another '__saltus_surface' elsewhere",
                  "give all of its equations the same one"};
  }
  if (!any) warn(argument->where, "'__saltus_surface' does nothing here: no relation between variables occurs");
}

void Flattener::emit_surfaces() {
  for (const auto& [id, surface] : surfaces_)
    model_->surface(BoolExpr(surface.relation), surface.rule, locate(surface.where));
}

}  // namespace saltus::modelica
