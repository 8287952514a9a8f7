// Calls of clock operators (Modelica 3.6, chapter 16). Each becomes a symbol; clocked_partitions.cpp finds out what
// these are when all equations are known.
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <array>
#include <cmath>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

using ClockKind = ClockOperator::Kind;

namespace {

struct Signature {
  std::string_view name;
  ClockKind kind;
  std::array<std::string_view, 3> inputs;
  std::size_t least;
};

constexpr std::array signatures{
    Signature{"hold", ClockKind::hold, {"u"}, 1},
    Signature{"previous", ClockKind::previous, {"u"}, 1},
    Signature{"interval", ClockKind::interval, {"u"}, 0},
    Signature{"firstTick", ClockKind::first_tick, {"u"}, 0},
    Signature{"sample", ClockKind::sample, {"u", "clock"}, 1},
    Signature{"subSample", ClockKind::sub_sample, {"u", "factor"}, 1},
    Signature{"superSample", ClockKind::super_sample, {"u", "factor"}, 1},
    Signature{"shiftSample", ClockKind::shift_sample, {"u", "shiftCounter", "resolution"}, 2},
    Signature{"backSample", ClockKind::back_sample, {"u", "backCounter", "resolution"}, 2},
    Signature{"noClock", ClockKind::no_clock, {"u"}, 1},
};

std::string key_of(const ClockOperator& op, const std::string& name) {
  const Expr& e = op.argument.elements.empty() ? Expr() : op.argument.elements.front();
  return name + "|" + (e.is_constant() ? number_text(e.constant_value()) : "#" + std::to_string(e.id())) + "|" +
         (op.clock ? std::to_string(op.clock->id()) : "") + "|" + std::to_string(op.factor) + "|" +
         std::to_string(op.resolution);
}

}  // namespace

// The symbol that stands for a call. Equal calls of operators are one; each constructor makes a clock of its own.
Expr Flattener::clock_symbol(ClockOperator op, const std::string& name) {
  if (kept_ || !prototypes_.empty()) throw NotKept{};
  const auto& graph = model_->data().graph;
  if (op.constructs()) {
    const Expr symbol(graph, graph->symbol(name, SymbolKind::discrete));
    clock_operators_.emplace(symbol.id(), std::move(op));
    return symbol;
  }
  const auto [place, fresh] = clock_symbols_.try_emplace(key_of(op, name));
  if (fresh) {
    place->second = Expr(graph, graph->symbol(name, SymbolKind::discrete));
    clock_operators_.emplace(place->second.id(), std::move(op));
  }
  return place->second;
}

Value Flattener::clock_constructor(const Call& call, const Location& where, const Context& context) {
  if (call.arguments.size() > 2) arguments(call, context, 0, 2, where);
  std::vector<Value> values;
  std::vector<std::string_view> names;
  for (const Argument& argument : call.arguments) {
    values.push_back(eval_scalar(argument.value, context, "an argument of 'Clock'"));
    names.push_back(argument.name.text);
  }
  // named arguments may come in any order: what is first decides which clock it is
  if (values.size() == 2 && (names[0] == "resolution" || names[0] == "startInterval" || names[0] == "solverMethod")) {
    std::swap(values[0], values[1]);
    std::swap(names[0], names[1]);
  }
  ClockOperator op{.kind = ClockKind::inferred, .argument = {}, .where = where};
  const auto whole = [&](const Value& value, const char* what) { return integer(value, where, what); };
  if (!values.empty() && values[0].variability < Variability::parameter && values[0].is_numeric())
    throw Fault{where, "a clock whose interval varies in a run is not supported", reference_page};
  if (values.empty()) {
  } else if (values[0].type == TypeKind::boolean) {
    op.kind = ClockKind::event;
    op.argument = values[0];
    if (values.size() > 1) op.seconds = number(values[1], where, "the first interval of a clock");
    if (!(op.seconds >= 0.0)) throw Fault{where, "the first interval of a clock must not be negative"};
  } else if (values[0].type == TypeKind::clock) {
    op.kind = ClockKind::solver;
    op.clock = values[0].scalar();
    if (values.size() < 2 || values[1].type != TypeKind::string)
      throw Fault{where, "'Clock' of a clock needs a solver method", "Clock(c, solverMethod = \"ImplicitEuler\")"};
    op.method = values[1].text;
  } else if (values[0].type == TypeKind::integer) {
    op.kind = ClockKind::rational;
    op.factor = whole(values[0], "the interval of a clock");
    if (values.size() > 1) op.resolution = whole(values[1], "the resolution of a clock");
    if (op.factor < 0) throw Fault{where, "the interval of a clock is negative: " + std::to_string(op.factor)};
    if (op.resolution < 1)
      throw Fault{where, "the resolution of a clock must be positive, not " + std::to_string(op.resolution)};
    if (op.factor == 0) op.kind = ClockKind::inferred;
  } else if (values[0].type == TypeKind::real && values.size() == 1) {
    op.kind = ClockKind::real;
    op.seconds = number(values[0], where, "the interval of a clock");
    if (!(op.seconds > 0.0) || !std::isfinite(op.seconds))
      throw Fault{where, "the interval of a clock must be positive, not " + number_text(op.seconds)};
  } else {
    throw Fault{where, "there is no 'Clock' of values of type " + describe(values[0]) +
                           (values.size() > 1 ? " and " + describe(values[1]) : "")};
  }
  return {TypeKind::clock, Variability::discrete, clock_symbol(std::move(op), "Clock()")};
}

// Operators of clocks; `sample` is one of them unless two numbers are its arguments. True if it was one.
bool Flattener::clock_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                           Value& result) {
  if (name == "Clock") {
    result = clock_constructor(call, where, context);
    return true;
  }
  const auto signature = std::ranges::find(signatures, name, &Signature::name);
  if (signature == signatures.end()) return false;
  if (context.frame && context.frame->cls && context.frame->cls->is_function())
    throw Fault{where, in_quotes(name) + " has no meaning in a function"};
  std::array<std::optional<Value>, 3> given;
  std::size_t position = 0;
  const std::size_t most = static_cast<std::size_t>(
      std::ranges::count_if(signature->inputs, [](std::string_view input) { return !input.empty(); }));
  if (call.arguments.size() > most || !call.iterators.empty()) arguments(call, context, signature->least, most, where);
  for (const Argument& argument : call.arguments) {
    std::size_t place = position;
    if (argument.name.empty())
      ++position;
    else
      place = static_cast<std::size_t>(std::ranges::find(signature->inputs, argument.name.text) -
                                       signature->inputs.begin());
    if (place >= most || given[place])
      throw Fault{argument.value->where,
                  in_quotes(name) + " has no argument " + in_quotes(argument.name.text) + " here"};
    Context plain = context;
    if (name == "previous") plain.assigned = nullptr;
    given[place] = eval(argument.value, plain);
  }
  if (name == "sample" && given[1] && given[1]->type != TypeKind::clock) return false;  // sample(start, interval)
  for (std::size_t k = 0; k < signature->least; ++k)
    if (!given[k]) throw Fault{where, in_quotes(name) + " needs the argument " + in_quotes(signature->inputs[k])};
  if (in_initial_) throw Fault{where, in_quotes(name) + " has no meaning in initial equations and algorithms"};
  ClockOperator op{.kind = signature->kind, .argument = {}, .where = where};
  if (op.kind == ClockKind::sample && given[1]) op.clock = given[1]->scalar();
  if (op.kind >= ClockKind::sub_sample && op.kind != ClockKind::no_clock) {
    for (std::size_t k = 1; k < 3; ++k) {
      if (!given[k]) continue;
      std::int64_t& number = k == 1 ? op.factor : op.resolution;
      number = integer(*given[k], where, "the argument " + in_quotes(signature->inputs[k]) + " of " + in_quotes(name));
      const bool positive =
          k == 2 || ((op.kind == ClockKind::sub_sample || op.kind == ClockKind::super_sample) && number == 0);
      if (number < 0 || (k == 2 && number < 1))
        throw Fault{where, "the argument " + in_quotes(signature->inputs[k]) + " of " + in_quotes(name) +
                               (positive ? " must be positive, not " : " must not be negative: ") +
                               std::to_string(number)};
    }
  }
  if (op.kind == ClockKind::interval || op.kind == ClockKind::first_tick) {
    if (given[0]) {
      if (!given[0]->is_scalar()) throw Fault{where, in_quotes(name) + " needs a scalar"};
      op.argument = *given[0];
    }
    const bool truth = op.kind == ClockKind::first_tick;
    result = {truth ? TypeKind::boolean : TypeKind::real, Variability::discrete, clock_symbol(op, std::string(name))};
    return true;
  }
  result = converted_to_clock(std::move(*given[0]), op, std::string(name));
  return true;
}

Value Flattener::converted_to_clock(Value value, const ClockOperator& op, const std::string& name) {
  if (value.type == TypeKind::string || value.type == TypeKind::function)
    throw Fault{op.where, in_quotes(name) + " of a value of type " + describe(value) + " is not supported"};
  if (value.type == TypeKind::record) {
    auto fields = std::make_shared<RecordFields>(*value.record);
    for (auto& [field, part] : fields->fields) part = converted_to_clock(part, op, name);
    value.record = std::move(fields);
    value.variability = Variability::discrete;
    return value;
  }
  if (value.type == TypeKind::clock && !op.converts())
    throw Fault{op.where, in_quotes(name) + " needs a variable, not a clock"};
  for (std::size_t k = 0; k < value.elements.size(); ++k) {
    Expr& e = value.elements[k];
    if (op.kind == ClockKind::previous || op.kind == ClockKind::hold || op.kind == ClockKind::back_sample) {
      if (e.is_constant() && op.kind != ClockKind::back_sample) continue;
      const Component* component = component_of(e);
      if (!component || component->is_parameter())
        throw Fault{op.where, in_quotes(name) + " needs a variable, not an expression", "give the expression a name"};
    }
    ClockOperator one = op;
    one.argument = Value(value.type, value.variability, e);
    one.argument.enumeration = value.enumeration;
    e = clock_symbol(std::move(one), name);
  }
  value.variability = Variability::discrete;
  return value;
}

}  // namespace saltus::modelica
