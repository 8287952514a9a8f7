// Built-in functions of numbers and of events.
#include <saltus/base/error.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/model/homotopy.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <unordered_map>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

using Function = std::function<Expr(const Expr&)>;

/// The elementary functions of one argument, from the table of operators, and log10.
const std::unordered_map<std::string_view, Function>& functions() {
  static const std::unordered_map<std::string_view, Function> table = [] {
    std::unordered_map<std::string_view, Function> known{{"log10", [](const Expr& x) { return log10(x); }}};
    for (const saltus::Operator& row : operators)
      if (row.kind == OpKind::function && row.operands == 1)
        known.emplace(row.name, [op = row.op](const Expr& x) { return apply(op, x); });
    return known;
  }();
  return table;
}

constexpr std::array<std::string_view, 6> refused{"spatialDistribution", "transition",   "initialState",
                                                  "activeState",         "ticksInState", "timeInState"};

// Switching functions of parameters never switch: they need no guard.
Expr quiet(const Expr& e, Variability how) {
  return how >= Variability::parameter ? no_event(e) : e;
}

Value varying_text(std::string text) {
  Value result = Value::string(std::move(text));
  result.variability = Variability::discrete;
  return result;
}

Expr exact_sign(const Expr& x) {
  if (!x.is_constant()) return sign(x);
  return x.constant_value() > 0.0 ? 1.0 : x.constant_value() < 0.0 ? -1.0 : 0.0;
}

}  // namespace

std::vector<Value> Flattener::arguments(const Call& call, const Context& context, std::size_t least, std::size_t most,
                                        const Location& where) {
  const std::string name = print(call.callee);
  if (!call.iterators.empty()) throw Fault{where, "'" + name + "' takes no iterators"};
  if (call.arguments.size() < least || call.arguments.size() > most) {
    std::string expected = std::to_string(least);
    if (most != least) expected += most > 100 ? " or more" : " to " + std::to_string(most);
    throw Fault{where,
                "'" + name + "' takes " + expected + " argument" + (least == 1 && most == 1 ? "" : "s") + ", not " +
                    std::to_string(call.arguments.size()),
                call.arguments.size() > most ? "remove what is too many, or check the parentheses"
                                             : "add the missing arguments"};
  }
  std::vector<Value> values;
  for (const Argument& argument : call.arguments) values.push_back(eval(argument.value, context));
  return values;
}

std::optional<Value> Flattener::eval_effect(const Call& call, const Location& where, const Context& context) {
  Name name;
  name.global = call.callee.global;
  name.where = call.callee_where;
  for (const auto& part : call.callee.parts) {
    if (!part.subscripts.empty()) throw Fault{where, "'" + print(call.callee) + "' is not a function"};
    name.parts.push_back(part.name);
  }
  const std::string_view simple = name.parts.back().text;
  if (const auto input = function_input(call, context)) {
    std::vector<Value> results = call_input(*input, call, where, context);
    if (results.empty()) return std::nullopt;
    return std::move(results.front());
  }
  Instance* home = nullptr;
  const ClassScope* cls = name.parts.size() > 1 ? function_of_component(name, context, home) : nullptr;
  if (!cls) cls = scopes_.find(name, context.lexical);
  if (!cls) {
    Value result;
    if (graph_query(print(call.callee), call, where, context, result)) return result;
  }
  if (!cls && name.parts.size() == 1) {
    Value result;
    if (builtin_call(simple, call, where, context, result)) return result;
  }
  // Modelica.Math.sin and so on
  if (!cls && name.parts.size() == 3 && name.parts[0].text == "Modelica" && name.parts[1].text == "Math") {
    Value result;
    if (math_call(simple, call, where, context, result)) return result;
  }
  if (!cls) {
    std::vector<std::string> names;
    for (const auto& [known, function] : functions()) names.emplace_back(known);
    for (const char* known :
         {"abs", "sign",    "min",    "max",     "sum",      "product",   "size",     "zeros",    "ones", "fill",
          "der", "pre",     "edge",   "change",  "sample",   "floor",     "ceil",     "integer",  "mod",  "rem",
          "div", "noEvent", "smooth", "initial", "terminal", "transpose", "identity", "linspace", "cross"})
      names.emplace_back(known);
    for (const ClassScope* scope = context.lexical; scope; scope = scope->parent)
      for (std::string& known : scopes_.class_names(scope))
        if (const ClassScope* cls_known = scopes_.find_member(known, scope); cls_known && cls_known->is_function())
          names.push_back(std::move(known));
    std::sort(names.begin(), names.end());
    const std::string near = did_you_mean(simple, names);
    throw Fault{call.callee_where, "there is no function '" + print(call.callee) + "'",
                near.empty() ? "write it, or see docs/reference/modelica.md for those that are known" : near};
  }
  const ResolvedType type = scopes_.resolve(cls, call.callee_where);
  if (type.cls && type.cls->kind() == ClassKind::operator_record)
    if (auto made = construct_operator_record(type.cls, call, where, context)) return std::move(*made);
  if (type.cls && (type.cls->kind() == ClassKind::record || type.cls->kind() == ClassKind::operator_record))
    return construct_record(type.cls, call, where, context);
  if (is_external_object(type.cls)) return construct_object(type.cls, call, where, context);
  if (type.enumeration) {  // E(n)
    Value value = std::move(arguments(call, context, 1, 1, where).front());
    if (value.type != TypeKind::integer || !value.is_scalar())
      throw Fault{where,
                  in_quotes(print(call.callee)) + " converts an Integer, not a value of type " + describe(value)};
    const auto size = static_cast<double>(type.enumeration->definition->as<Enumeration>()->literals.size());
    demand(value.scalar() >= 1.0 && value.scalar() <= Expr(size), print(call.callee) + " has no literal of this number",
           where);
    if (value.scalar().is_constant())  // in a branch that must not be taken it is a literal, too
      value.elements[0] = Expr(std::clamp(value.scalar().constant_value(), 1.0, std::max(1.0, size)));
    value.type = TypeKind::enumeration;
    value.enumeration = type.enumeration;
    return value;
  }
  if (!type.cls || !type.cls->is_function())
    throw Fault{call.callee_where, "'" + print(call.callee) + "' is not a function"};
  std::vector<Value> results = call_function(type.cls, call, where, context, home);
  if (results.empty()) return std::nullopt;
  return std::move(results.front());
}

Value Flattener::eval_call(const Call& call, const Location& where, const Context& context) {
  auto result = eval_effect(call, where, context);
  if (!result) throw Fault{where, "'" + print(call.callee) + "' has no result"};
  return std::move(*result);
}

void Flattener::refuse_unsupported(std::string_view name, const Location& where) {
  if (std::find(refused.begin(), refused.end(), name) != refused.end())
    throw Fault{where, "'" + std::string(name) + "' is not supported", reference_page};
}

bool Flattener::builtin_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                             Value& result) {
  refuse_unsupported(name, call.callee_where);
  return math_call(name, call, where, context, result) || clock_call(name, call, where, context, result) ||
         event_call(name, call, where, context, result) || array_call(name, call, where, context, result);
}

bool Flattener::math_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                          Value& result) {
  const auto numbers = [&](std::size_t n) {
    std::vector<Value> values = arguments(call, context, n, n, where);
    for (std::size_t k = 0; k < n; ++k)
      if (!values[k].is_numeric())
        throw Fault{call.arguments[k].value->where,
                    "'" + std::string(name) + "' needs a number, not a value of type " + describe(values[k])};
    return values;
  };
  if (const auto it = functions().find(name); it != functions().end()) {
    result = std::move(numbers(1).front());
    result.type = TypeKind::real;
    for (Expr& e : result.elements) e = it->second(e);
    return true;
  }
  if (name == "abs" || name == "sign" || name == "floor" || name == "ceil" || name == "integer") {
    result = std::move(numbers(1).front());
    const bool was_integer = result.type == TypeKind::integer;
    for (Expr& e : result.elements) {
      if (name == "abs")
        e = quiet(saltus::abs(e), result.variability);
      else if (name == "sign")
        e = quiet(exact_sign(e), result.variability);
      else if (!was_integer)
        e = quiet(name == "ceil" ? saltus::ceil(e) : saltus::floor(e), result.variability);
    }
    if (name == "integer" || name == "sign") result.type = TypeKind::integer;
    if (name != "abs") result.variability = std::max(result.variability, Variability::discrete);
    return true;
  }
  if (name == "atan2" || name == "div" || name == "mod" || name == "rem") {
    std::vector<Value> values = numbers(2);
    if (!values[0].is_scalar() || !values[1].is_scalar())
      throw Fault{where, "'" + std::string(name) + "' needs scalars"};
    const Expr &a = values[0].scalar(), &b = values[1].scalar();
    const bool whole = values[0].type == TypeKind::integer && values[1].type == TypeKind::integer;
    const Variability how = join(values[0].variability, values[1].variability);
    if (name != "atan2" && b.is_constant() && b.constant_value() == 0.0)
      throw Fault{where, "'" + std::string(name) + "' divides by 0"};
    const Expr e = name == "atan2" ? saltus::atan2(a, b)
                   : name == "div" ? saltus::div(a, b)
                   : name == "mod" ? saltus::mod(a, b)
                                   : saltus::rem(a, b);
    result = Value(whole && name != "atan2" ? TypeKind::integer : TypeKind::real, how, quiet(e, how));
    return true;
  }
  if (name == "inStream" || name == "actualStream") {
    if (context.frame) throw Fault{where, in_quotes(name) + " has no meaning in a function"};
    result = stream_call(name, std::move(arguments(call, context, 1, 1, where).front()), where);
    return true;
  }
  if (name == "semiLinear") {
    result = semi_linear(numbers(3), where);
    return true;
  }
  return false;
}

bool Flattener::event_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                           Value& result) {
  static constexpr std::array of_models{"der", "pre", "edge", "change", "sample", "delay"};
  if (context.frame && context.frame->cls && context.frame->cls->is_function() &&
      std::find(of_models.begin(), of_models.end(), name) != of_models.end())
    throw Fault{where, in_quotes(name) + " has no meaning in a function"};
  if (name == "der") {
    const Value argument = std::move(arguments(call, context, 1, 1, where).front());
    result = differentiate(argument, call.arguments.front().value->where);
    return true;
  }
  if (name == "pre" || name == "edge" || name == "change") {
    Context plain = context;  // an algorithm's own assignments do not matter for the value before the event
    plain.assigned = nullptr;
    const Value before = pre(arguments(call, plain, 1, 1, where).front(), where);
    if (name == "pre") {
      result = before;
      return true;
    }
    const Value now = eval(call.arguments.front().value, context);
    if (!now.is_scalar()) throw Fault{where, "'" + std::string(name) + "' needs a scalar"};
    if (name == "edge" && now.type != TypeKind::boolean)
      throw Fault{where, "'edge' needs a Boolean, not a value of type " + describe(now)};
    if (name == "edge")
      result = Value(TypeKind::boolean, now.variability, (now.truth() && !before.truth()).expr());
    else
      result = relation(Operator::not_equal, now, before, where);
    return true;
  }
  if (name == "initial" || name == "terminal") {
    arguments(call, context, 0, 0, where);
    result = Value(TypeKind::boolean, Variability::discrete,
                   (name == "initial" ? model_->initial() : model_->terminal()).expr());
    return true;
  }
  if (name == "getInstanceName") {
    arguments(call, context, 0, 0, where);
    result = instance_name(where, context);
    return true;
  }
  if (name == "delay") {
    result = delay_call(arguments(call, context, 2, 3, where), where);
    return true;
  }
  if (name == "sample") {
    result = sample(arguments(call, context, 2, 2, where), where);
    return true;
  }
  if (name == "noEvent") {
    result = std::move(arguments(call, context, 1, 1, where).front());
    for (Expr& e : result.elements) e = no_event(e);
    return true;
  }
  if (name == "smooth") {  // the relations inside keep their events, which the language allows
    result = std::move(arguments(call, context, 2, 2, where).back());
    return true;
  }
  if (name == "homotopy") {
    if (call.arguments.size() != 2) arguments(call, context, 2, 2, where);
    const auto argument = [&](const char* wanted, std::size_t place) {
      const auto named = std::ranges::find_if(call.arguments, [&](const Argument& a) { return a.name.text == wanted; });
      return eval((named == call.arguments.end() ? call.arguments[place] : *named).value, context);
    };
    result = argument("actual", 0);
    if (result.type != TypeKind::real || result.variability != Variability::continuous)
      return true;  // known before the start
    const Value simplified = argument("simplified", 1);
    if (simplified.elements.size() != result.elements.size())
      throw Fault{where, "'homotopy' needs two arguments of the same size, not " + describe(result) + " and " +
                             describe(simplified)};
    for (std::size_t k = 0; k < result.elements.size(); ++k)
      result.elements[k] = saltus::homotopy(*model_, result.elements[k], simplified.elements[k]);
    return true;
  }
  if (name == "String") {
    result = string_of(call, where, context);
    return true;
  }
  if (name == "Integer") {
    result = std::move(arguments(call, context, 1, 1, where).front());
    if (result.type != TypeKind::enumeration && result.type != TypeKind::boolean)
      throw Fault{where, "'Integer' converts enumerations, not a value of type " + describe(result),
                  "integer(x) rounds down"};
    result.type = TypeKind::integer;
    result.enumeration = nullptr;
    return true;
  }
  if (name == "realParameterEqual") {  // of Base Modelica: what == is for other types
    const std::vector<Value> both = arguments(call, context, 2, 2, where);
    for (const Value& value : both)
      if (!value.is_numeric() || !value.is_scalar() || value.variability < Variability::parameter)
        throw Fault{where, "'realParameterEqual' compares parameters, not a value of type " + describe(value)};
    result = Value(TypeKind::boolean, join(both[0].variability, both[1].variability),
                   no_event(saltus::equal(both[0].scalar(), both[1].scalar())).expr());
    return true;
  }
  if (name == "reinit" || name == "assert" || name == "terminate")
    throw Fault{where, "'" + std::string(name) + "' has no value; it stands alone as an equation or a statement"};
  return false;
}

Value Flattener::differentiate(const Value& value, const Location& where) {
  if (value.type == TypeKind::record || value.type == TypeKind::string || !value.is_numeric())
    throw Fault{where, "'der' needs a Real, not a value of type " + describe(value)};
  Value result = value;
  result.type = TypeKind::real;
  for (Expr& e : result.elements) {
    if (const Component* component = component_of(e);
        component && is_clocked(*component) && !in_initial_ && component->type.kind == TypeKind::real) {
      ClockOperator op{.kind = ClockOperator::Kind::derivative, .argument = {}, .where = where};
      op.argument = Value(TypeKind::real, Variability::discrete, e);
      e = clock_symbol(std::move(op), "der");
      result.variability = Variability::discrete;
      continue;
    }
    if (is_discrete_symbol(e)) {
      const Component* of = component_of(e);
      const bool real = of && of->type.kind == TypeKind::real;
      throw Fault{where, "'" + e.name() + "' changes at events only and has no derivative",
                  real ? "an equation in a 'when' makes it discrete; to set a state there, write reinit(" + e.name() +
                             ", value)"
                       : ""};
    }
    try {
      e = der(e);
    } catch (const UsageError&) {
      throw Fault{where, "the derivative of an expression that contains a derivative is not supported",
                  "introduce a variable for the inner derivative: w = der(x), and write der(w)"};
    }
  }
  return result;
}

Value Flattener::pre(const Value& value, const Location& where) {
  if (value.type == TypeKind::record || value.type == TypeKind::string)
    throw Fault{where, "'pre' needs a variable, not a value of type " + describe(value)};
  Value result = value;
  result.variability = std::max(value.variability, Variability::discrete);
  for (Expr& e : result.elements) {
    if (e.is_constant()) continue;
    Component* component = component_of(e);
    if (!component) throw Fault{where, "'pre' needs a variable, not an expression"};
    if (component->is_parameter() || component->value_variability >= Variability::parameter) continue;
    auto& known = pre_symbols_[e.id()];
    if (!known) known = model_->pre(e);
    e = *known;
  }
  return result;
}

Value Flattener::sample(const std::vector<Value>& arguments, const Location& where) {
  for (const Value& argument : arguments)
    if (!argument.is_numeric()) throw Fault{where, "'sample' needs numbers, not a value of type " + describe(argument)};
  const Expr start = of_parameters(arguments[0], where, "the start of a sample");
  const Expr interval = of_parameters(arguments[1], where, "the interval of a sample");
  if (!std::isfinite(parameter_value(start))) throw Fault{where, "the start of a sample must be finite"};
  if (const double value = parameter_value(interval); !(value > 0.0) || !std::isfinite(value))
    throw Fault{where, "the interval of a sample must be positive, not " + number_text(value)};
  const auto key = [](const Expr& e) {
    return e.is_constant() ? number_text(e.constant_value()) : "#" + std::to_string(e.id());
  };
  const auto [it, fresh] = samples_.try_emplace({key(start), key(interval)});
  if (fresh) it->second = model_->sample(start, interval);
  return {TypeKind::boolean, Variability::discrete, it->second.expr()};
}

// The name of the model, then that of the instance in which the call is written.
Value Flattener::instance_name(const Location& where, const Context& context) const {
  if (!context.instance || context.instance->is_static)
    throw Fault{where, "'getInstanceName' has a meaning in models and blocks only",
                "call it in the model, and give the function its value"};
  if (!prototypes_.empty()) throw NotKept{};  // one element stands for all of an array, and each has its own name
  const std::string model(top_->cls->definition->name.text);
  return Value::string(context.instance->path.empty() ? model : join_path(model, context.instance->path));
}

// Texts are made before the run: what varies appears as its expression.
Value Flattener::string_of(const Call& call, const Location& where, const Context& context) {
  if (call.arguments.empty()) arguments(call, context, 1, 10, where);
  const Value value = eval_scalar(call.arguments.front().value, context, "the argument of 'String'");
  if (value.type == TypeKind::string) return value;
  if (value.type == TypeKind::record) throw Fault{where, "a record has no text"};
  if (!value.scalar().is_constant() && value.variability < Variability::parameter)
    return varying_text(print(call.arguments.front().value));
  const double number = parameter_value(value.scalar());
  if (value.type == TypeKind::boolean) return Value::string(number != 0.0 ? "true" : "false");
  if (value.type == TypeKind::enumeration && value.enumeration) {
    const auto* enumeration = value.enumeration->definition->as<Enumeration>();
    const auto& literals = enumeration->literals;
    if (number >= 1.0 && number <= static_cast<double>(literals.size()))
      return Value::string(std::string(literals[static_cast<std::size_t>(number) - 1].name.text));
  }
  return Value::string(number_text(number));
}

std::string Flattener::message(ExprPtr expression, const Context& context) {
  const Value value = eval(expression, context);
  if (value.type != TypeKind::string)
    throw Fault{expression->where, "a message must be a String, not a value of type " + describe(value)};
  return value.text;
}

}  // namespace saltus::modelica
