// Parameters that initial equations and initial algorithms determine (fixed = false).
//
// Where what determines them is known when the model is read, from parameters and the start time, they get that value.
// Otherwise a parameter is a variable whose derivative is zero, and its initial equation is solved with the others.
#include <algorithm>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

// True for a reference that is one name without subscripts.
bool is_name(ExprPtr expression, std::string_view name) {
  const auto* reference = expression ? expression->as<ComponentReference>() : nullptr;
  return reference && reference->parts.size() == 1 && !reference->global && reference->parts[0].name.text == name &&
         reference->parts[0].subscripts.empty();
}

// The names that statements assign; false if one of them is more than a name.
bool assigned_names(const std::vector<const Statement*>& statements, std::set<std::string_view>& names) {
  const auto add = [&](ExprPtr target) {
    const auto* reference = target->as<ComponentReference>();
    if (reference->parts.size() != 1) return false;
    names.insert(reference->parts[0].name.text);
    return true;
  };
  for (const Statement* statement : statements) {
    if (const auto* node = statement->as<Assignment>()) {
      if (!add(node->target)) return false;
    } else if (const auto* tuple = statement->as<TupleAssignment>()) {
      for (const ExprPtr target : tuple->targets->as<Tuple>()->elements)
        if (target && !add(target)) return false;
    } else if (const auto* choice = statement->as<IfStatement>()) {
      for (const auto& branch : choice->branches)
        if (!assigned_names(branch.body, names)) return false;
    } else if (const auto* loop = statement->as<ForStatement>()) {
      if (!assigned_names(loop->body, names)) return false;
    } else if (const auto* repeat = statement->as<WhileStatement>()) {
      if (!assigned_names(repeat->body, names)) return false;
    }
  }
  return true;
}

}  // namespace

bool Flattener::is_solved_initially(Component& component) {
  if (!component.is_parameter() || !attribute_given(component, "fixed")) return false;
  if (component.modifier->value) return false;
  const std::vector<double> fixed = attribute_numbers(component, "fixed", 1.0);
  return !fixed.empty() && std::all_of(fixed.begin(), fixed.end(), [](double f) { return f == 0.0; });
}

// What an initial equation of the form name = value, value = name or (..., name, ...) = f(...) says.
std::optional<Value> Flattener::value_from(const std::vector<const Equation*>& equations, std::string_view name,
                                           const Context& context) {
  for (const Equation* equation : equations) {
    if (const auto* node = equation->as<EqualityEquation>()) {
      const bool left = is_name(node->lhs, name);
      if (left || is_name(node->rhs, name)) {
        used_initially_.insert({context.instance, equation});
        return eval(left ? node->rhs : node->lhs, context);
      }
      const auto* targets = node->lhs->as<Tuple>();
      const auto* call = node->rhs->as<Call>();
      for (std::size_t k = 0; targets && call && k < targets->elements.size(); ++k) {
        if (!is_name(targets->elements[k], name)) continue;
        used_initially_.insert({context.instance, equation});
        std::vector<Value> results = call_results(*call, node->rhs->where, context);
        if (k < results.size()) return std::move(results[k]);
      }
    } else if (const auto* choice = equation->as<IfEquation>()) {
      for (const auto& branch : choice->branches) {
        if (branch.condition) {
          const Value condition = eval(branch.condition, context);
          if (condition.variability < Variability::parameter) break;
          if (!known(condition, branch.condition->where).value_or(false)) continue;
        }
        if (auto found = value_from(branch.body, name, context)) return found;
        break;
      }
    }
  }
  return std::nullopt;
}

// The values of all variables that an initial algorithm assigns, at its end; null if it assigns parts of components.
const Frame* Flattener::initial_algorithm(const AlgorithmSection& section, const Context& context) {
  const auto [place, fresh] = initial_frames_.try_emplace({context.instance, &section, variables_declared_});
  if (!fresh) return place->second.get();
  std::set<std::string_view> names;
  if (!assigned_names(section.statements, names)) return nullptr;
  auto frame = std::make_unique<Frame>();
  frame->cls = context.instance->cls;
  frame->outside = context;
  for (const std::string_view name : names) {
    Component* component = own_component(name, context);
    if (!component) continue;
    shape(*component);
    if (!component->type.builtin) return nullptr;
    Value& value = frame->variables[name];
    if (!is_solved_initially(*component) && variables_declared_ && !component->is_parameter()) {
      value = component_value(*component, component->where());
      continue;
    }
    value = Value::array(component->type.kind, component->dims);
    value.enumeration = component->type.enumeration;
    if (!component->dims.empty()) value.elements.assign(static_cast<std::size_t>(count(component->dims)), Expr(0.0));
  }
  Context inner = context;
  inner.frame = frame.get();
  const bool outer = std::exchange(in_initial_, true);
  try {
    follow_section(section.statements, inner);
  } catch (...) {
    in_initial_ = outer;
    initial_frames_.erase({context.instance, &section, variables_declared_});
    throw;
  }
  in_initial_ = outer;
  return (initial_frames_[{context.instance, &section, variables_declared_}] = std::move(frame)).get();
}

void Flattener::resolve_initially(Component& component) {
  Instance& owner = *component.owner;
  const bool outer = std::exchange(in_initial_, true);
  struct Back {
    bool& flag;
    bool value;
    ~Back() { flag = value; }
  } back{in_initial_, outer};
  std::optional<Value> value;
  for (const LayoutSection& section : owner.layout->sections) {
    const Context context{&owner, section.lexical};
    if (section.equations && section.equations->is_initial)
      value = value_from(section.equations->equations, component.name(), context);
    if (section.algorithm && section.algorithm->is_initial) {
      std::set<std::string_view> names;
      if (!assigned_names(section.algorithm->statements, names) || !names.contains(component.name())) continue;
      const Frame* frame = initial_algorithm(*section.algorithm, context);
      if (!frame) continue;
      value = frame->variables.at(component.name());
      if (value->is_unset())
        throw Fault{section.algorithm->where,
                    "this initial algorithm gives " + in_quotes(component.path) + " no value"};
    }
    if (value) break;
  }
  if (value && value->variability >= Variability::parameter) {
    component.is_final = true;
    return bind(component, std::move(*value), component.where());
  }
  if (!variables_declared_)
    throw Fault{component.where(), "the parameter " + in_quotes(component.path) +
                                       " is found at the start of a run and cannot be used here"};
  if (component.type.kind != TypeKind::real)
    throw Fault{component.where(), "initial equations cannot determine the " +
                                       std::string(type_name(component.type.kind)) + " parameter " +
                                       in_quotes(component.path) + " from variables"};
  std::erase_if(used_initially_, [&](const auto& used) {
    const auto* node = used.first == &owner ? used.second->template as<EqualityEquation>() : nullptr;
    return node && (is_name(node->lhs, component.name()) || is_name(node->rhs, component.name()));
  });
  component.variability = Variability::continuous;
  declare_variable(component);
  for (const Expr& symbol : component.values)
    equations_.push_back(
        {Value(TypeKind::real, Variability::continuous, der(symbol)), Value::real(0.0), component.where()});
}

// The equations of an initial algorithm for its variables; its parameters have their values already.
bool Flattener::flatten_initial_algorithm(const AlgorithmSection& section, const Context& context) {
  const Frame* frame = initial_algorithm(section, context);
  if (!frame) return false;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : frame->variables) names.push_back(name);
  std::sort(names.begin(), names.end());
  for (const std::string_view name : names) {
    Component* component = own_component(name, context);
    if (component->is_parameter()) {
      if (is_solved_initially(*component)) continue;
      throw Fault{section.where, in_quotes(name) + " is a parameter with a value and cannot be assigned",
                  "declare it with fixed = false"};
    }
    const Value own = component_value(*component, component->where());
    const Value& value = frame->variables.at(name);
    for (std::size_t k = 0; k < own.elements.size(); ++k)
      if (!own.elements[k].same(value.elements[k]))
        initial_equations_.push_back(
            {own.at(k), convert(value, own.type, section.where, in_quotes(name)).at(k), section.where});
  }
  return true;
}

}  // namespace saltus::modelica
