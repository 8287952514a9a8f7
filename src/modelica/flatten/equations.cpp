// Equations: declaration equations, equality, if, for, when, assert.
#include <saltus/expr/derivative.hpp>

#include <algorithm>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

void Flattener::flatten_bindings(Instance& instance) {
  for (Component& component : instance.components) {
    if (component.value_state != Component::State::done || component.absent || component.is_parameter()) continue;
    if (!component.type.builtin || !component.modifier || !component.modifier->value) continue;
    attempt([&] {
      const Binding& binding = component.modifier->value;
      Value value = value_of(binding);
      if (value.type == TypeKind::record || value.dims != component.dims)
        throw Fault{binding.where,
                    in_quotes(component.path) +
                        (component.dims.empty() ? " is a scalar" : " has the size " + to_string(component.dims)) +
                        ", but its value " +
                        (value.dims.empty() ? "is a scalar" : "has the size " + to_string(value.dims)),
                    "change the declared size, or the value"};
      value = convert(std::move(value), component.type.kind, binding.where, in_quotes(component.path));
      const std::size_t first = equations_.size();
      equate(component_value(component, binding.where), value, binding.where, equations_);
      apply_annotation(component.source->declaration->description.annotation, std::span(equations_).subspan(first));
    });
  }
}

void Flattener::flatten_sections(Instance& instance) {
  flatten_bindings(instance);
  if (kept_ && &instance == top_) mark_shape(kept_->rest);
  for (const LayoutSection& section : instance.layout->sections) {
    if (diagnostics_.full()) return;
    const Context context{&instance, section.lexical};
    if (section.algorithm) {
      attempt([&] { flatten_algorithm(*section.algorithm, context); });
      continue;
    }
    in_initial_ = section.equations->is_initial;
    flatten_equations(section.equations->equations, context, in_initial_ ? initial_equations_ : equations_);
    in_initial_ = false;
  }
  for (Component& component : instance.components)
    if (!component.absent)
      for (Instance* element : component.elements) {
        flatten_sections(*element);
        if (kept_ && &instance == top_) mark_shape(kept_->shape_of(*element));
      }
}

void Flattener::flatten_equations(const std::vector<const Equation*>& equations, const Context& context,
                                  std::vector<FlatEquation>& out) {
  for (const Equation* equation : equations) {
    if (diagnostics_.full()) return;
    attempt([&] {
      const std::size_t first = out.size();
      if (kept_ && !context.locals && context.instance == top_) {
        if (equation->as<ForEquation>()) return flatten_kept_loop(*equation);
        flatten_equation(*equation, context, out);
        return mark_shape(kept_->rest);
      }
      flatten_equation(*equation, context, out);
      apply_annotation(equation->description.annotation, std::span(out).subspan(first));
    });
  }
}

void Flattener::flatten_equation(const Equation& equation, const Context& context, std::vector<FlatEquation>& out) {
  const Deeper deeper(*this, equation.where);
  charge(1, equation.where);
  if (in_initial_ && used_initially_.contains({context.instance, &equation})) return;
  if (const auto* node = equation.as<EqualityEquation>()) {
    if (const auto* targets = node->lhs->as<Tuple>(); targets && targets->elements.size() != 1)
      return tuple_equation(*targets, node->rhs, equation.where, context, out);
    const Value lhs = eval(node->lhs, context);
    equate(lhs, eval(node->rhs, context), equation.where, out);
  } else if (const auto* loop = equation.as<ForEquation>()) {
    repeat(*loop, 0, context, [&](const Context& inner) { flatten_equations(loop->body, inner, out); });
  } else if (const auto* choice = equation.as<IfEquation>()) {
    flatten_if(*choice, equation, context, out);
  } else if (const auto* when = equation.as<WhenEquation>()) {
    if (in_initial_ || !path_conditions_.empty())
      throw Fault{when->branches.front().where,
                  "'when' is not allowed in initial equations and in 'if' equations whose condition varies",
                  "put the condition into the 'when': when c and d then"};
    flatten_when(*when, context);
  } else if (const auto* connection = equation.as<ConnectEquation>()) {
    if (kept_ && context.instance == top_) return;  // connections of the whole are kept
    if (!path_conditions_.empty())
      throw Fault{equation.where, "'connect' is not allowed in 'if' equations whose condition varies"};
    connect(*connection, equation.where, context);
  } else if (const auto* effect = equation.as<CallEquation>()) {
    call_equation(*effect->call->as<Call>(), equation.where, context);
  }
}

void Flattener::equate(const Value& lhs, const Value& rhs, const Location& where, std::vector<FlatEquation>& out) {
  if (lhs.type == TypeKind::record && rhs.type == TypeKind::record) {
    if (lhs.record->fields.size() != rhs.record->fields.size())
      throw Fault{where, "an equation between the records " + describe(lhs) + " and " + describe(rhs)};
    for (const auto& [name, field] : lhs.record->fields) {
      const auto it = std::find_if(rhs.record->fields.begin(), rhs.record->fields.end(),
                                   [&, &key = name](const auto& other) { return other.first == key; });
      if (it == rhs.record->fields.end())
        throw Fault{where, "an equation between the records " + describe(lhs) + " and " + describe(rhs)};
      equate(field, it->second, where, out);
    }
    return;
  }
  if (lhs.type == TypeKind::string || rhs.type == TypeKind::string)
    throw Fault{where, "equations between Strings are not supported"};
  const bool numbers = lhs.is_numeric() && rhs.is_numeric();
  if (!numbers && lhs.type != rhs.type)
    throw Fault{where, "an equation between values of the types " + describe(lhs) + " and " + describe(rhs),
                lhs.type == TypeKind::boolean || rhs.type == TypeKind::boolean
                    ? "write 'if b then 1 else 0' to make a number of a Boolean"
                    : ""};
  if (lhs.type == TypeKind::enumeration) common_type(lhs, rhs, where);
  if (lhs.dims != rhs.dims)
    throw Fault{where, "the sides of the equation have different sizes: " + describe(lhs) + " and " + describe(rhs)};
  charge(static_cast<std::int64_t>(lhs.elements.size()), where);
  if (lhs.is_scalar()) {
    out.push_back({lhs, rhs, where});
    return;
  }
  out.reserve(std::max(out.capacity(), out.size() + lhs.elements.size()));
  for (std::size_t k = 0; k < lhs.elements.size(); ++k) out.push_back({lhs.at(k), rhs.at(k), where});
}

void Flattener::tuple_equation(const Tuple& targets, ExprPtr rhs, const Location& where, const Context& context,
                               std::vector<FlatEquation>& out) {
  const auto* call = rhs->as<Call>();
  if (!call) throw Fault{rhs->where, "a list of variables can be equal to a function call only"};
  const std::vector<Value> results = call_results(*call, rhs->where, context);
  if (targets.elements.size() > results.size())
    throw Fault{where, in_quotes(print(call->callee)) + " has " + std::to_string(results.size()) + " results, not " +
                           std::to_string(targets.elements.size())};
  for (std::size_t k = 0; k < targets.elements.size(); ++k)
    if (targets.elements[k]) equate(eval(targets.elements[k], context), results[k], where, out);
}

void Flattener::repeat(const ForEquation& loop, std::size_t level, const Context& context,
                       const std::function<void(const Context&)>& body) {
  if (level == loop.indices.size()) return body(context);
  const ForIndex& index = loop.indices[level];
  const Value range = range_of(index, {.equations = &loop.body}, context);
  Context inner = context;
  Locals local{index.name.text, {}, context.locals};
  inner.locals = &local;
  const std::size_t errors = diagnostics_.error_count();
  for (std::size_t k = 0; k < range.elements.size(); ++k) {
    charge(1, index.name.where);
    local.value = range.at(k);
    repeat(loop, level + 1, inner, body);
    if (diagnostics_.error_count() != errors) return;  // the passes that follow would say the same
  }
}

std::optional<bool> Flattener::known(const Value& condition, const Location& where) {
  if (condition.type != TypeKind::boolean || !condition.is_scalar())
    throw Fault{where, "a condition must be a Boolean, not a value of type " + describe(condition)};
  if (!condition.scalar().is_constant() && condition.variability < Variability::parameter) return std::nullopt;
  return number(condition, where, "the condition") != 0.0;
}

void Flattener::flatten_if(const IfEquation& node, const Equation& equation, const Context& context,
                           std::vector<FlatEquation>& out) {
  struct Part {
    Value condition;
    std::vector<FlatEquation> body;
  };
  std::vector<Part> parts;
  std::vector<FlatEquation> rest;
  struct Cut {
    std::vector<BoolExpr>& list;
    std::size_t size;
    ~Cut() { list.resize(size); }
  } cut{path_conditions_, path_conditions_.size()};
  const std::size_t errors = diagnostics_.error_count();
  for (const auto& branch : node.branches) {
    if (branch.condition) {
      Value condition = eval(branch.condition, context);
      const std::optional<bool> fixed = known(condition, branch.condition->where);
      if (fixed && !*fixed) continue;
      if (!fixed) {
        Part& part = parts.emplace_back();
        path_conditions_.push_back(condition.truth());
        flatten_equations(branch.body, context, part.body);
        path_conditions_.back() = !condition.truth();
        part.condition = std::move(condition);
        continue;
      }
    }
    if (parts.empty()) return flatten_equations(branch.body, context, out);
    flatten_equations(branch.body, context, rest);
    break;
  }
  if (parts.empty() || diagnostics_.error_count() != errors) return;
  bool equal_counts = true;
  for (const Part& part : parts) equal_counts = equal_counts && part.body.size() == rest.size();
  if (!equal_counts) {
    std::string counts;
    for (const Part& part : parts) counts += (counts.empty() ? "" : ", ") + std::to_string(part.body.size());
    note(equation.where, "the branches of this 'if' have different numbers of equations: " + counts + " and " +
                             std::to_string(rest.size()) + " in 'else'; where one is missing, it asks for nothing");
  }
  for (std::size_t k = parts.size(); k-- > 0;)
    rest = merge_branches(parts[k].condition, std::move(parts[k].body), std::move(rest), equation.where);
  out.insert(out.end(), rest.begin(), rest.end());
}

FlatEquation Flattener::merge_pair(const Value& condition, const FlatEquation& then, const FlatEquation& otherwise) {
  if (then.lhs.scalar().same(otherwise.lhs.scalar()))
    return {then.lhs, choose(condition, then.rhs, otherwise.rhs, then.where), then.where};
  if (!then.lhs.is_numeric() || !otherwise.lhs.is_numeric())
    throw Fault{then.where, "the branches of this 'if' determine different discrete variables"};
  const auto residual = [](const FlatEquation& e) {
    return Value(TypeKind::real, join(e.lhs.variability, e.rhs.variability), e.lhs.scalar() - e.rhs.scalar());
  };
  return {choose(condition, residual(then), residual(otherwise), then.where), Value::real(0.0), then.where};
}

FlatEquation Flattener::merge_alone(const Value& condition, const FlatEquation& equation, bool when_true) {
  if (!equation.lhs.is_numeric())
    throw Fault{equation.where, "a discrete variable must be determined by all branches of an 'if'"};
  const FlatEquation nothing{Value::real(0.0), Value::real(0.0), equation.where};
  return when_true ? merge_pair(condition, equation, nothing) : merge_pair(condition, nothing, equation);
}

// Equations of two branches that determine the same thing are paired: first those with the same left-hand side, so that
// der(x) = ... in both branches stays an explicit equation for der(x); the others in the order in which they stand.
std::vector<FlatEquation> Flattener::merge_branches(const Value& condition, std::vector<FlatEquation> then,
                                                    std::vector<FlatEquation> otherwise, const Location&) {
  std::unordered_map<NodeId, std::size_t> by_side;
  const auto key = [](const Value& side) { return side.scalar().is_symbol() ? side.scalar().id() : no_node; };
  for (std::size_t k = otherwise.size(); k-- > 0;)
    if (const NodeId id = key(otherwise[k].lhs); id != no_node) by_side[id] = k;
  for (std::size_t k = otherwise.size(); k-- > 0;)
    if (const NodeId id = key(otherwise[k].rhs); id != no_node) by_side.emplace(id, k);
  std::vector<char> used(otherwise.size(), 0);
  std::vector<std::size_t> partner(then.size(), otherwise.size());
  for (std::size_t k = 0; k < then.size(); ++k) {
    for (const bool left : {true, false}) {
      const NodeId id = key(left ? then[k].lhs : then[k].rhs);
      const auto it = id == no_node ? by_side.end() : by_side.find(id);
      if (it == by_side.end() || used[it->second]) continue;
      partner[k] = it->second;
      used[it->second] = 1;
      FlatEquation& other = otherwise[it->second];
      if (!left) std::swap(then[k].lhs, then[k].rhs);
      if (!then[k].lhs.scalar().same(other.lhs.scalar())) std::swap(other.lhs, other.rhs);
      break;
    }
  }
  std::size_t next = 0;
  std::vector<FlatEquation> result;
  for (std::size_t k = 0; k < then.size(); ++k) {
    if (partner[k] == otherwise.size()) {
      while (next < otherwise.size() && used[next]) ++next;
      if (next == otherwise.size()) {
        result.push_back(merge_alone(condition, then[k], true));
        continue;
      }
      partner[k] = next;
      used[next] = 1;
    }
    result.push_back(merge_pair(condition, then[k], otherwise[partner[k]]));
  }
  for (std::size_t k = 0; k < otherwise.size(); ++k)
    if (!used[k]) result.push_back(merge_alone(condition, otherwise[k], false));
  return result;
}

void Flattener::assert_true(const Call& call, const Location& where, const Context& context) {
  if (call.arguments.size() < 2 || call.arguments.size() > 3)
    throw Fault{where, "'assert' takes a condition and a message", "assert(x > 0, \"x must be positive\")"};
  const BoolExpr condition = eval_boolean(call.arguments[0].value, context);
  const std::string text = message(call.arguments[1].value, context);
  if (call.arguments.size() == 3) {  // AssertionLevel.warning does not end a run
    const Value level = eval_scalar(call.arguments[2].value, context, "the level of an assertion");
    if (level.type != TypeKind::enumeration || level.enumeration->name != "AssertionLevel")
      throw Fault{call.arguments[2].value->where,
                  "the level of an assertion must be a value of AssertionLevel, not of type " + describe(level)};
    if (number(level, where, "the level of an assertion") == 1.0) return;
  }
  if (context.frame && condition.expr().is_constant() && condition.expr().constant_value() == 0.0)
    context.frame->ended = true;
  demand(condition, text, where);
}

void Flattener::call_equation(const Call& call, const Location& where, const Context& context) {
  const std::string name = print(call.callee);
  if (name == "assert") return assert_true(call, where, context);
  if (name == "reinit" || name == "terminate") throw Fault{where, in_quotes(name) + " belongs into a 'when' equation"};
  if (name.starts_with("Connections.")) return;  // a part of the graph of connections, which is known
  eval_effect(call, where, context);
}

}  // namespace saltus::modelica
