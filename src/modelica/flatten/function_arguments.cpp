// Functions as arguments of functions (Modelica 3.6, 12.4.2). They are known when the model is read: the value of such
// an input is a function of the text, with the arguments that `function f(a = 1)` has given it already.
#include <algorithm>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

Value made_of(FunctionValue function) {
  Value result;
  result.type = TypeKind::function;
  result.elements.emplace_back(0.0);  // it has a value
  result.function = std::make_shared<const FunctionValue>(std::move(function));
  return result;
}

Name reference_name(const ComponentReference& reference, const Location& where) {
  Name name;
  name.global = reference.global;
  name.where = where;
  for (const auto& part : reference.parts) name.parts.push_back(part.name);
  return name;
}

}  // namespace

Value Flattener::function_value(ExprPtr expression, const Context& context) {
  const auto* partial = expression->as<FunctionPartial>();
  const auto* reference = expression->as<ComponentReference>();
  if (!partial && !reference)
    throw Fault{expression->where, "a function is expected here, not '" + print(expression) + "'",
                "write the name of a function, or 'function f(a = 1)'"};
  const Name name = partial ? partial->function : reference_name(*reference, expression->where);
  FunctionValue result;
  const Value* known = nullptr;
  if (context.frame && name.parts.size() == 1 && !name.global)
    if (const auto it = context.frame->variables.find(name.parts[0].text); it != context.frame->variables.end())
      known = &it->second;
  if (known && known->function) {
    result = *known->function;
  } else {
    const ClassScope* found = scopes_.find(name, context.lexical);
    result.cls = found ? scopes_.resolve(found, expression->where).cls : nullptr;
    if (!result.cls || !result.cls->is_function())
      throw Fault{expression->where, "there is no function " + in_quotes(print(name)),
                  "an input that is a function takes the name of one that is written in Modelica"};
  }
  if (!partial) return made_of(std::move(result));
  const Layout& layout = scopes_.layout(result.cls);
  for (const Argument& argument : partial->arguments) {
    const auto place = layout.index.find(argument.name.text);
    if (place == layout.index.end() || layout.components[place->second].direction != Direction::input)
      throw Fault{argument.name.where, in_quotes(print(name)) + " has no input " + in_quotes(argument.name.text)};
    const LayoutComponent& input = layout.components[place->second];
    if (std::ranges::any_of(result.given, [&](const auto& given) { return given.first == input.name(); }))
      throw Fault{argument.name.where, "the argument " + in_quotes(argument.name.text) + " is given twice"};
    const ClassScope* type = scopes_.resolve(input.clause->type, input.lexical).cls;
    result.given.emplace_back(input.name(), type && type->is_function() ? function_value(argument.value, context)
                                                                        : eval(argument.value, context));
  }
  return made_of(std::move(result));
}

std::shared_ptr<const FunctionValue> Flattener::function_input(const Call& call, const Context& context) const {
  if (!context.frame || call.callee.global || call.callee.parts.size() != 1) return nullptr;
  const auto it = context.frame->variables.find(call.callee.parts[0].name.text);
  return it == context.frame->variables.end() ? nullptr : it->second.function;
}

std::vector<Value> Flattener::call_input(const FunctionValue& function, const Call& call, const Location& where,
                                         const Context& context) {
  if (!call.iterators.empty()) throw Fault{where, "a function takes no iterators"};
  const Layout& layout = scopes_.layout(function.cls);
  return apply_function(function.cls, named_arguments(layout, true, call, context, function.given), print(call.callee),
                        where, context);
}

std::vector<Value> Flattener::call_results(const Call& call, const Location& where, const Context& context) {
  if (const auto input = function_input(call, context)) return call_input(*input, call, where, context);
  return call_function(function_named(call, context), call, where, context);
}

}  // namespace saltus::modelica
