// Sizes of expressions, without evaluating the variables in them: the size of an array may follow from its value
// (Real x[:] = {a, b}) before variables have symbols.
#include <algorithm>
#include <array>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

// Functions whose value has the size of their first argument.
constexpr std::array elementwise_calls{"der",     "pre",  "noEvent", "abs",      "sign",         "floor", "ceil",
                                       "integer", "edge", "change",  "inStream", "actualStream", "delay"};

bool is_relation(Operator op) {
  return op >= Operator::less && op <= Operator::not_equal;
}

Dims product_shape(const Dims& a, const Dims& b) {
  if (a.empty() || b.empty()) return a.empty() ? b : a;
  Dims dims(a.begin(), a.end() - 1);
  dims.insert(dims.end(), b.begin() + 1, b.end());
  return dims;
}

}  // namespace

Dims Flattener::shape_of(ExprPtr expression, const Context& context) {
  const Deeper deeper(*this, expression->where);
  const auto of_operation = [&](Operator op, ExprPtr left, ExprPtr right) {
    const Dims a = shape_of(left, context), b = shape_of(right, context);
    if (op == Operator::multiply) return product_shape(a, b);
    return a.empty() ? b : a;
  };
  if (const auto* reference = expression->as<ComponentReference>()) {
    if (const auto dims = shape_of_reference(*reference, context)) return *dims;
  } else if (expression->as<RealLiteral>() || expression->as<IntegerLiteral>() || expression->as<BooleanLiteral>() ||
             expression->as<StringLiteral>()) {
    return {};
  } else if (const auto* array = expression->as<ArrayConstructor>(); array && array->iterators.empty()) {
    if (!array->elements.empty()) {
      Dims dims = shape_of(array->elements.front(), context);
      dims.insert(dims.begin(), static_cast<std::int64_t>(array->elements.size()));
      return dims;
    }
  } else if (const auto* matrix = expression->as<Matrix>()) {
    Dims all{0, 0};
    for (const auto& row : matrix->rows) {
      Dims one{0, 0};
      for (const ExprPtr element : row) {
        Dims dims = shape_of(element, context);
        dims.resize(std::max<std::size_t>(2, dims.size()), 1);  // scalars and vectors are columns
        one = {dims[0], one[1] + dims[1]};
      }
      all = {all[0] + one[0], one[1]};
    }
    return all;
  } else if (const auto* unary = expression->as<Unary>()) {
    return shape_of(unary->operand, context);
  } else if (const auto* binary = expression->as<Binary>()) {
    if (is_relation(binary->op)) return {};
    return binary->op == Operator::power ? shape_of(binary->left, context)
                                         : of_operation(binary->op, binary->left, binary->right);
  } else if (const auto* chain = expression->as<Chain>()) {
    Dims dims = shape_of(chain->operands.front(), context);
    for (std::size_t k = 0; k < chain->operators.size(); ++k) {
      const Dims next = shape_of(chain->operands[k + 1], context);
      if (chain->operators[k] == Operator::multiply)
        dims = product_shape(dims, next);
      else if (dims.empty())
        dims = next;
    }
    return dims;
  } else if (const auto* choice = expression->as<Conditional>()) {
    for (const ConditionalBranch& branch : choice->branches) {
      const Value condition = eval(branch.condition, context);  // of parameters, for sizes that differ
      if (known(condition, branch.condition->where).value_or(true)) return shape_of(branch.value, context);
    }
    return shape_of(choice->otherwise, context);
  } else if (const auto* call = expression->as<Call>()) {
    if (const auto dims = shape_of_call(*call, context)) return *dims;
  }
  return eval(expression, context).dims;
}

// Empty: the reference is no variable of a component.
std::optional<Dims> Flattener::shape_of_reference(const ComponentReference& reference, const Context& context) {
  if (reference.global) return std::nullopt;
  const std::string_view first = reference.parts[0].name.text;
  const bool is_name = reference.parts.size() == 1 && reference.parts[0].subscripts.empty();
  for (const Locals* local = context.locals; local; local = local->outer)
    if (local->name == first) return is_name ? std::optional(local->value.dims) : std::nullopt;
  if (context.frame && context.frame->declare) context.frame->declare(first);
  if (context.frame)
    if (const auto it = context.frame->variables.find(first); it != context.frame->variables.end())
      return is_name ? std::optional(it->second.dims) : std::nullopt;
  Component* component = own_component(first, context);
  Dims dims;
  for (std::size_t k = 0; component && k < reference.parts.size(); ++k) {
    shape(*component);
    if (component->absent || component->is_object) return std::nullopt;
    const auto& subscripts = reference.parts[k].subscripts;
    if (subscripts.empty()) {
      dims.insert(dims.end(), component->dims.begin(), component->dims.end());
    } else {
      for (std::size_t d = 0; d < std::max(subscripts.size(), component->dims.size()); ++d) {
        if (d >= component->dims.size()) return std::nullopt;  // too many: an error
        Context inner = context;
        inner.end = component->dims[d];
        const bool whole = d >= subscripts.size() || subscripts[d]->as<WholeDimension>();
        const Dims chosen = whole ? Dims{component->dims[d]} : shape_of(subscripts[d], inner);
        dims.insert(dims.end(), chosen.begin(), chosen.end());
      }
    }
    if (k + 1 == reference.parts.size()) return dims;
    if (component->elements.empty()) return std::nullopt;
    Component* next = component->elements.front()->find(reference.parts[k + 1].name.text);
    // the elements of an array may have parts of different sizes
    if (next && !component->dims.empty() && count(component->dims) > 1 && !next->source->dimensions.empty())
      return std::nullopt;
    component = next;
  }
  return std::nullopt;
}

// Empty: the value of the function must be known.
std::optional<Dims> Flattener::shape_of_call(const Call& call, const Context& context) {
  if (call.callee.parts.size() != 1 || !call.iterators.empty() || call.arguments.empty()) return std::nullopt;
  const std::string_view name = call.callee.parts[0].name.text;
  if (scopes_.find(name, context.lexical)) return std::nullopt;
  if (std::ranges::find(elementwise_calls, name) != elementwise_calls.end())
    return shape_of(call.arguments[0].value, context);
  const std::size_t from = name == "fill" ? 1 : 0;
  if (name != "fill" && name != "zeros" && name != "ones") return std::nullopt;
  Dims dims = name == "fill" ? shape_of(call.arguments[0].value, context) : Dims{};
  Dims sizes;
  for (std::size_t k = from; k < call.arguments.size(); ++k)
    sizes.push_back(
        integer(eval(call.arguments[k].value, context), call.arguments[k].value->where, "the size of an array"));
  dims.insert(dims.begin(), sizes.begin(), sizes.end());
  return dims;
}

Dims Flattener::shape_of(const Binding& binding) {
  const bool one_of_array =
      std::ranges::all_of(binding.path, [](const Selector& selector) { return selector.field.empty(); });
  if (!one_of_array || binding.lazy->state == Lazy::State::done) return value_of(binding).dims;
  Dims dims = shape_of(binding.lazy->expression, binding.lazy->context);
  for (const Selector& selector : binding.path) {
    if (dims.size() < selector.index.size()) return value_of(binding).dims;  // says what does not fit
    dims.erase(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(selector.index.size()));
  }
  return dims;
}

}  // namespace saltus::modelica
