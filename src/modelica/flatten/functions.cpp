// Calls of functions that the text defines: their algorithms are followed with the arguments, and what comes out are
// expressions. Records are constructed here too.
#include <saltus/base/error.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>
#include <utility>

#include "modelica/flatten/flattener.hpp"
#include "modelica/flatten/random.hpp"
#include "modelica/flatten/with_events.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

bool is_input(const LayoutComponent& component) {
  return component.direction == Direction::input;
}

std::size_t declared_rank(const LayoutComponent& component, const ResolvedType& type) {
  return component.dimensions.size() + type.dimensions.size();
}

}  // namespace

// The arguments of a call by the names of the components they belong to, after those that are given already.
NamedValues Flattener::named_arguments(const Layout& layout, bool inputs_only, const Call& call, const Context& context,
                                       const NamedValues& given) {
  std::vector<const LayoutComponent*> places;
  const auto is_given = [&](const LayoutComponent& component) {
    return std::ranges::any_of(given, [&](const auto& known) { return known.first == component.name(); });
  };
  for (const auto& component : layout.components)
    if (!is_given(component) &&
        (inputs_only ? is_input(component) : component.variability != Variability::constant && !component.is_final))
      places.push_back(&component);
  NamedValues result = given;
  std::size_t position = 0;
  for (const Argument& argument : call.arguments) {
    const LayoutComponent* place = nullptr;
    if (argument.name.empty()) {
      if (position >= places.size())
        throw Fault{argument.value->where, in_quotes(print(call.callee)) + " takes " + std::to_string(places.size()) +
                                               " argument" + (places.size() == 1 ? "" : "s") + ", not " +
                                               std::to_string(call.arguments.size())};
      place = places[position++];
    } else {
      const auto it = std::find_if(places.begin(), places.end(), [&](const LayoutComponent* candidate) {
        return candidate->declaration->name.text == argument.name.text;
      });
      if (it == places.end()) {
        std::vector<std::string> names;
        for (const auto* candidate : places) names.emplace_back(candidate->declaration->name.text);
        const std::string near = did_you_mean(argument.name.text, names);
        throw Fault{argument.name.where,
                    in_quotes(print(call.callee)) + " has no input " + in_quotes(argument.name.text), near};
      }
      place = *it;
    }
    const std::string_view name = place->declaration->name.text;
    if (std::any_of(result.begin(), result.end(), [&](const auto& known) { return known.first == name; }))
      throw Fault{argument.value->where, "the argument " + in_quotes(name) + " is given twice"};
    const bool may_name_function = argument.value->as<FunctionPartial>() || argument.value->as<ComponentReference>();
    const ClassScope* type = may_name_function ? scopes_.resolve(place->clause->type, place->lexical).cls : nullptr;
    result.emplace_back(
        name, type && type->is_function() ? function_value(argument.value, context) : eval(argument.value, context));
  }
  return result;
}

// The function that a name means that leads through components: world.gravity(r). Null if it does not.
const ClassScope* Flattener::function_of_component(const Name& name, const Context& context, Instance*& home) {
  if (name.global) return nullptr;
  for (const Locals* local = context.locals; local; local = local->outer)
    if (local->name == name.parts[0].text) return nullptr;
  Component* component = own_component(name.parts[0].text, context);
  for (std::size_t k = 1; component && k < name.parts.size(); ++k) {
    shape(*component);
    if (component->elements.size() != 1 || !component->dims.empty()) return nullptr;
    home = component->elements.front();
    component = home->find(name.parts[k].text);
    if (component || k + 1 < name.parts.size()) continue;
    return scopes_.find_member(name.parts[k].text, home->cls);
  }
  return nullptr;
}

// `home`: the component that the function belongs to, or null.
std::vector<Value> Flattener::call_function(const ClassScope* function, const Call& call, const Location& where,
                                            const Context& context, Instance* home) {
  if (!call.iterators.empty()) throw Fault{where, "a function takes no iterators"};
  Context caller = context;
  if (home) caller.instance = home;
  return apply_function(function, named_arguments(scopes_.layout(function), true, call, context), print(call.callee),
                        where, caller);
}

// A function of scalars applied to arrays is applied to each element.
std::vector<Value> Flattener::apply_function(const ClassScope* function, NamedValues inputs, const std::string& name,
                                             const Location& where, const Context& caller) {
  const Layout& layout = scopes_.layout(function);
  Dims outer;
  std::vector<char> spread(inputs.size(), 0);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const LayoutComponent& component = layout.components[layout.index.at(inputs[k].first)];
    const ResolvedType type = scopes_.resolve(component.clause->type, component.lexical);
    const std::size_t rank = declared_rank(component, type);
    const Dims& dims = inputs[k].second.dims;
    if (dims.size() <= rank) continue;
    const Dims leading(dims.begin(), dims.end() - static_cast<std::ptrdiff_t>(rank));
    if (!outer.empty() && outer != leading)
      throw Fault{where, "the arguments of " + in_quotes(name) + " have different sizes: " + to_string(outer) +
                             " and " + to_string(leading)};
    outer = leading;
    spread[k] = 1;
  }
  if (outer.empty()) return run_function(function, inputs, where, caller);
  std::vector<std::vector<Value>> columns;
  for (std::int64_t n = 0; n < count(outer); ++n) {
    NamedValues one = inputs;
    for (std::size_t k = 0; k < one.size(); ++k)
      if (spread[k]) one[k].second = inputs[k].second.leading(outer.size(), n);
    std::vector<Value> results = run_function(function, one, where, caller);
    columns.resize(results.size());
    for (std::size_t k = 0; k < results.size(); ++k) columns[k].push_back(std::move(results[k]));
  }
  std::vector<Value> results;
  for (auto& column : columns) results.push_back(stacked(std::move(column), outer, where));
  if (results.empty()) results.push_back(Value::array(TypeKind::real, {0}));
  return results;
}

Dims Flattener::local_dims(const LayoutComponent& local, const ResolvedType& type, const Context& context, bool& open) {
  Dims dims;
  std::int64_t total = 1;
  const auto add = [&](ExprPtr size, const Context& from) {
    if (size->as<WholeDimension>()) {
      open = true;
      dims.push_back(0);
      return;
    }
    const std::int64_t n = integer(eval(size, from), size->where, "the size of an array");
    if (n < 0) throw Fault{size->where, "the size of an array is negative: " + std::to_string(n)};
    if (n > limits_.scalars || (n > 0 && total > limits_.scalars / n))
      throw Fault{size->where, "the array has more than " + std::to_string(limits_.scalars) + " elements"};
    total *= std::max<std::int64_t>(n, 1);
    dims.push_back(n);
  };
  for (const auto& dimension : local.dimensions) add(dimension.size, frame_context(context, dimension.lexical));
  for (const auto& dimension : type.dimensions) add(dimension.size, Context{nullptr, dimension.lexical});
  charge(total, local.declaration->name.where);
  return dims;
}

// Where a modification of a variable of a function, or of a field of a record, is evaluated: inside of the function or
// record if it is written there, else outside.
Context Flattener::frame_context(const Context& inside, const ClassScope* lexical) {
  if (!inside.frame) return context_in(lexical, inside.instance);
  const auto& classes = scopes_.layout(inside.frame->cls).classes;
  if (std::find(classes.begin(), classes.end(), lexical) == classes.end())
    return frame_context(inside.frame->outside, lexical);
  Context context = inside;
  context.lexical = lexical;
  return context;
}

namespace {

// The modification of a component as a whole.
const Modification* whole(const WrittenArgument& written) {
  if (!written.argument) return written.modification;
  if (written.argument->name.parts.size() > 1)
    throw Fault{written.argument->where, "dotted names are not supported in modifications of records and functions"};
  return written.argument->modification;
}

// The modifications of a variable of a function or a field of a record, the strongest first.
std::vector<WrittenModification> modifications_of(const LayoutComponent& local) {
  std::vector<WrittenModification> result;
  const auto add = [&](const Modification* modification, const ClassScope* lexical) {
    if (modification) result.push_back({modification, lexical});
  };
  for (const WrittenArgument& written : local.modifications) add(whole(written), written.lexical);
  add(local.declaration->modification, local.lexical);
  for (const WrittenArgument& written : local.defaults) add(whole(written), written.lexical);
  return result;
}

}  // namespace

// The same record with zeros for the fields that have no value yet.
static std::shared_ptr<const RecordFields> with_zeros(const RecordFields& record) {
  auto fields = std::make_shared<RecordFields>(record);
  for (auto& [name, field] : fields->fields) {
    if (field.is_unset()) field.elements.emplace_back(0.0);
    if (field.type == TypeKind::record) field.record = with_zeros(*field.record);
  }
  return fields;
}

// The value with which a variable of a function, or a field of a record, begins. `given` is an argument or null.
Value Flattener::local_value(const LayoutComponent& local, const Value* given, const Context& context,
                             const Location& where) {
  const Deeper deeper(*this, where);
  const std::string_view name = local.name();
  ResolvedType type = scopes_.resolve(local.clause->type, local.lexical);
  bool open = false;
  const Dims dims = local_dims(local, type, context, open);
  const std::vector<WrittenModification> modifications = modifications_of(local);
  const auto bound = std::find_if(modifications.begin(), modifications.end(), [](const WrittenModification& written) {
    return written.modification->value || written.modification->is_break;
  });
  Value value;
  Location place = where;
  if (given) {
    value = *given;
  } else if (bound != modifications.end() && !bound->modification->is_break) {
    place = bound->modification->value->where;
    const Context inside = frame_context(context, bound->lexical);
    value = type.cls && type.cls->is_function() ? function_value(bound->modification->value, inside)
                                                : eval(bound->modification->value, inside);
  } else if (is_input(local)) {
    throw Fault{where, "the argument " + in_quotes(name) + " is missing"};
  } else if (type.builtin) {
    value = Value::array(type.kind, dims);
    value.enumeration = type.enumeration;
    // an array is filled element by element; what is left is noticed at the end
    const double nothing = type.kind == TypeKind::real ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    if (!dims.empty()) value.elements.assign(static_cast<std::size_t>(count(dims)), Expr(nothing));
    return value;
  } else {
    Value one = record_value(scopes_.specialise(type.cls, modifications), {}, context, where);
    if (dims.empty()) return one;
    if (count(dims) == 0) throw Fault{local.declaration->name.where, "an array of records needs elements"};
    // like arrays of numbers, those of records are filled element by element
    one.record = with_zeros(*one.record);
    return stacked(std::vector<Value>(static_cast<std::size_t>(count(dims)), one), dims, where);
  }
  if (is_external_object(type.cls)) return value;
  if (type.cls && type.cls->is_function()) {
    if (value.type != TypeKind::function || !dims.empty())
      throw Fault{place, in_quotes(name) + " is a function, but its value is of type " + describe(value)};
    return value;
  }
  if (type.builtin) {
    value = convert(std::move(value), type.kind, place, in_quotes(name));
  } else if (value.type != TypeKind::record) {
    throw Fault{place, in_quotes(name) + " is a record of type " + in_quotes(type.cls->name) +
                           ", but its value is of type " + describe(value)};
  }
  bool fits = value.dims.size() == dims.size();
  for (std::size_t k = 0; k < dims.size() && fits; ++k) fits = open || value.dims[k] == dims[k];
  if (!fits)
    throw Fault{place, in_quotes(name) + (dims.empty() ? " is a scalar" : " has the size " + to_string(dims)) +
                           ", but its value is of type " + describe(value)};
  return value;
}

// A record with the given fields and the defaults of the others, which may stay without a value.
Value Flattener::record_value(const ClassScope* record, const NamedValues& given, const Context& context,
                              const Location& where) {
  auto fields = std::make_shared<RecordFields>();
  fields->type = record;
  Value result;
  result.type = TypeKind::record;
  Frame frame;
  frame.cls = record;
  frame.outside = context;
  for (const auto& component : scopes_.layout(record).components) {
    const std::string_view name = component.name();
    const auto it = std::find_if(given.begin(), given.end(), [&](const auto& input) { return input.first == name; });
    Value value = local_value(component, it == given.end() ? nullptr : &it->second,
                              Context{nullptr, component.lexical, nullptr, &frame}, where);
    frame.variables[name] = value;
    result.variability = join(result.variability, value.variability);
    fields->fields.emplace_back(name, std::move(value));
  }
  result.record = std::move(fields);
  return result;
}

// Throws Fault if a value, or a field of it, was never assigned; where it may be, the run is told.
void Flattener::require_set(Value& value, const std::string& name, const Location& where) {
  if (value.is_unset()) throw Fault{where, in_quotes(name) + " gets no value"};
  if (value.set_if) demand(*value.set_if, name + " gets no value", where);
  value.set_if.reset();
  for (std::size_t k = 0; k < value.elements.size(); ++k)
    if (value.elements[k].is_constant() && std::isnan(value.elements[k].constant_value()))
      throw Fault{where, in_quotes(name + subscript_text(value.dims, k)) + " gets no value"};
  if (value.type != TypeKind::record) return;
  auto fields = std::make_shared<RecordFields>(*value.record);
  for (auto& [field, part] : fields->fields) require_set(part, name + "." + std::string(field), where);
  value.record = std::move(fields);
}

const ClassScope* Flattener::function_named(const Call& call, const Context& context) {
  Name name;
  name.global = call.callee.global;
  name.where = call.callee_where;
  for (const auto& part : call.callee.parts) name.parts.push_back(part.name);
  const ClassScope* found = scopes_.find(name, context.lexical);
  if (!found && name.parts.size() == 1) refuse_unsupported(name.parts[0].text, call.callee_where);
  const ClassScope* function = found ? scopes_.resolve(found, call.callee_where).cls : nullptr;
  if (!function || !function->is_function())
    throw Fault{call.callee_where, "there is no function " + in_quotes(print(call.callee))};
  return function;
}

void Flattener::run_external(const ClassScope& function, const ExternalClause& external, const Context& context,
                             const Location& where) {
  Context inside = context;
  inside.lexical = &function;
  const std::string_view name = external.function.empty() ? function.definition->name.text : external.function.text;
  if (external.language == "builtin") {  // a function of the language
    Call call{
        .callee = {.parts = {{{name, where}, {}}}}, .callee_where = external.where, .arguments = {}, .iterators = {}};
    for (const ExprPtr argument : external.arguments) call.arguments.push_back({{}, argument});
    Value result;
    if (!external.result || !builtin_call(name, call, where, inside, result))
      throw Fault{external.where, "there is no function " + in_quotes(name) + " of the language"};
    return assign(external.result, std::move(result), where, inside);
  }
  if (const RandomGenerator* generator = random_generator(name); generator && external.arguments.size() == 3) {
    const Value state = eval(external.arguments[0], inside);
    Value after = state, number(TypeKind::real, state.variability, Expr());
    if (state.type != TypeKind::integer || state.elements.size() != generator->size)
      throw Fault{where, "the state of " + in_quotes(name) + " is of type " + describe(state) + ", not Integer[" +
                             std::to_string(generator->size) + "]"};
    if (state.variability >= Variability::parameter) {
      std::vector<std::int32_t> integers;
      for (std::size_t k = 0; k < generator->size; ++k)
        integers.push_back(
            static_cast<std::int32_t>(this->integer(state.at(k), where, "the state of a random number generator")));
      number.elements[0] = Expr(generator->next(integers, integers));
      for (std::size_t k = 0; k < generator->size; ++k) after.elements[k] = Expr(static_cast<double>(integers[k]));
    } else {
      const auto& graph = model_->data().graph;
      std::vector<NodeId> given;
      for (const Expr& e : state.elements) given.push_back(e.in(*graph));
      const auto shared = random_function(*generator);
      for (std::size_t k = 0; k <= generator->size; ++k) {
        const Expr output(graph, graph->call(shared, given, static_cast<int>(k)));
        (k < generator->size ? after.elements[k] : number.elements[0]) = output;
      }
    }
    assign(external.arguments[1], std::move(after), where, inside);
    return assign(external.arguments[2], std::move(number), where, inside);
  }
  if (name == "dgelsy" && external.arguments.size() == 13) {
    LeastSquares answer = least_squares(eval(external.arguments[3], inside), eval(external.arguments[5], inside),
                                        eval(external.arguments[8], inside), where);
    assign(external.arguments[5], std::move(answer.x), where, inside);
    assign(external.arguments[9], Value::integer(answer.rank), where, inside);
    return assign(external.arguments[12], Value::integer(0), where, inside);
  }
  if (name == "dgesv" && external.arguments.size() == 8) {
    const Value matrix = eval(external.arguments[2], inside);
    LeastSquares answer = least_squares(matrix, eval(external.arguments[5], inside), Value::real(1e-15), where);
    const bool regular = answer.rank == matrix.dims[0];
    assign(external.arguments[5], std::move(answer.x), where, inside);
    return assign(external.arguments[7], Value::integer(regular ? 0 : 1), where, inside);
  }
  std::vector<Value> arguments;
  for (const ExprPtr argument : external.arguments) {
    const auto* reference = argument->as<ComponentReference>();
    const auto known =
        reference ? context.frame->variables.find(reference->parts[0].name.text) : context.frame->variables.end();
    if (known != context.frame->variables.end() && known->second.is_unset())
      throw Fault{where, "the external function " + in_quotes(external.function.text) + " is not supported",
                  reference_page};
    arguments.push_back(eval(argument, inside));
  }
  auto result = call_external(name, arguments, where);
  if (!result || !external.result) return;
  const auto* target = external.result->as<ComponentReference>();
  const auto known =
      target ? context.frame->variables.find(target->parts[0].name.text) : context.frame->variables.end();
  if (known != context.frame->variables.end() && known->second.type == TypeKind::enumeration &&
      result->type == TypeKind::integer) {  // a literal is its number in C
    result->type = TypeKind::enumeration;
    result->enumeration = known->second.enumeration;
  }
  assign(external.result, std::move(*result), where, inside);
}

// The algorithm of a function.
void Flattener::follow_body(const Layout& layout, Context& context, const Location& where) {
  const std::size_t first = exits_.size();
  struct Back {
    std::vector<Exit>& exits;
    std::size_t size;
    std::size_t& path;
    std::size_t value;
    ~Back() {
      while (exits.size() > size) exits.pop_back();
      path = value;
    }
  } back{exits_, first, function_path_, std::exchange(function_path_, path_conditions_.size())};
  const AlgorithmSection* followed = nullptr;
  for (const auto& section : layout.sections) {
    if (!section.algorithm) throw Fault{section.equations->where, "a function has no equations"};
    if (followed) throw Fault{section.algorithm->where, "a function has one algorithm, not several"};
    followed = section.algorithm;
    context.lexical = section.lexical;
    follow(followed->statements, context);
  }
  merge_exits(first, Flow::leave_function, where, context);
}

namespace {

void rewrite_scalars(Value& value, Rewrite& rewrite) {
  for (Expr& e : value.elements)
    if (e.graph()) e = Expr(e.graph(), rewrite(e.id()));
  if (!value.record) return;
  auto fields = std::make_shared<RecordFields>(*value.record);
  for (auto& [name, field] : fields->fields) rewrite_scalars(field, rewrite);
  value.record = std::move(fields);
}

bool generates_events(const ClassDefinition& function) {
  const Modification* annotation = function.description.annotation;
  const ModificationArgument* found = annotation ? annotation->find("GenerateEvents") : nullptr;
  const auto* value = found && found->modification && found->modification->value
                          ? found->modification->value->as<BooleanLiteral>()
                          : nullptr;
  return value && value->value;
}

/// Integers, Booleans and enumerations change at events only.
bool is_discrete(const Value& value) {
  return value.type == TypeKind::integer || value.type == TypeKind::boolean || value.type == TypeKind::enumeration;
}

/// Relations in a function are evaluated as they stand, and make no events; those that only time and events change do:
/// they cost nothing, and a short pulse would be missed. What the arguments contain stays.
void make_literal(std::span<const Expr> arguments, std::vector<Value>& results) {
  std::vector<Expr> scalars;
  for (const Value& value : results)
    if (!is_discrete(value)) add_scalars(value, scalars);
  std::vector<NodeId> roots, leaves;
  std::shared_ptr<Graph> graph;
  for (const Expr& e : scalars)
    if (e.graph()) graph = e.graph(), roots.push_back(e.id());
  if (!graph) return;
  for (const Expr& e : arguments)
    if (e.graph()) leaves.push_back(e.id());
  std::vector<NodeId> switches;
  for (const NodeId id : graph->reachable(roots, leaves)) {
    const Op op = graph->node(id).op;
    if (op == Op::positive || op == Op::nonnegative || op == Op::floor) switches.push_back(id);
  }
  std::ranges::sort(leaves);
  std::erase_if(switches, [&](NodeId id) { return std::ranges::binary_search(leaves, id); });
  if (switches.empty()) return;
  std::unordered_set<NodeId> varying;
  for (const NodeId id : graph->reachable(switches)) {
    const Node& node = graph->node(id);
    bool varies = node.op == Op::symbol && (graph->symbol_of(id).kind == SymbolKind::variable ||
                                            graph->symbol_of(id).kind == SymbolKind::derivative);
    graph->for_each_operand(id, [&](NodeId part) { varies = varies || varying.contains(part); });
    if (varies) varying.insert(id);
  }
  Rewrite rewrite(*graph);
  for (const NodeId id : leaves) rewrite.replace.emplace(id, id);
  for (const NodeId id : switches) {  // in order: none contains a later one
    const Node node = graph->node(id);
    if (!varying.contains(id)) continue;
    const Op op = node.op == Op::positive      ? Op::live_positive
                  : node.op == Op::nonnegative ? Op::live_nonnegative
                                               : Op::live_floor;
    rewrite.replace.emplace(id, graph->make(op, rewrite(node.a)));
  }
  for (Value& value : results)
    if (!is_discrete(value)) rewrite_scalars(value, rewrite);
}

}  // namespace

std::vector<Value> Flattener::run_function(const ClassScope* function, NamedValues inputs, const Location& where,
                                           const Context& caller) {
  const Deeper deeper(*this, where);
  constexpr std::int64_t work_of_call = 200;  // as long as so many other operations: five million calls are a minute
  constexpr std::ptrdiff_t most_recursive = 100;
  charge(work_of_call, where);
  const auto calls = std::count(function_stack_.begin(), function_stack_.end(), function);
  if (calls > most_recursive)
    throw Fault{where, "the function " + in_quotes(function->name) + " calls itself more than " +
                           std::to_string(most_recursive) + " times deep"};
  if (function->definition->is_partial)
    throw Fault{where, "the function " + in_quotes(function->name) + " is partial and cannot be called"};
  if (auto root = implicit_root(function, inputs, where, caller)) return {std::move(*root)};
  const Layout& layout = scopes_.layout(function);
  std::vector<Expr> arguments;
  if (function_stack_.empty())
    for (const auto& [name, value] : inputs) add_scalars(value, arguments);
  function_stack_.push_back(function);
  struct Pop {
    std::vector<const ClassScope*>& stack;
    ~Pop() { stack.pop_back(); }
  } pop{function_stack_};
  Frame frame;
  frame.cls = function;
  frame.outside = Context{caller.instance, caller.lexical};
  Context context{nullptr, function, nullptr, &frame};
  // sizes and first values may name variables that are declared later
  std::unordered_set<std::string_view> declared;
  frame.declare = [&](std::string_view name) {
    const auto place = layout.index.find(name);
    if (place == layout.index.end()) return;
    const LayoutComponent& component = layout.components[place->second];
    if (!declared.insert(component.name()).second) {
      if (frame.variables.contains(name)) return;
      // the size of an input may be made of its own: input Real A[:, size(A, 1)]
      if (const auto own = std::ranges::find(inputs, name, &NamedValues::value_type::first); own != inputs.end()) {
        frame.variables[component.name()] = own->second;
        return;
      }
      throw Fault{component.declaration->name.where,
                  "the size or the value of " + in_quotes(name) + " depends on itself"};
    }
    const auto given =
        std::find_if(inputs.begin(), inputs.end(), [&](const auto& input) { return input.first == name; });
    // what decides how deep a function calls itself must be known
    if (calls > 0 && given != inputs.end() && given->second.is_scalar() &&
        (given->second.type == TypeKind::integer || given->second.type == TypeKind::boolean) &&
        !given->second.scalar().is_constant())
      given->second.elements[0] = Expr(number(
          given->second, where, "an argument of the function " + in_quotes(function->name) + ", which calls itself,"));
    const Context inside{nullptr, component.lexical, nullptr, &frame};
    Value value = local_value(component, given == inputs.end() ? nullptr : &given->second, inside, where);
    frame.variables[component.name()] = std::move(value);
  };
  for (const auto& component : layout.components) frame.declare(component.name());
  frame.declare = {};
  const auto* body = function->definition->as<LongClass>();
  const bool external = body && body->external;  // one that is built in: the intervals of a table are events
  if (external) run_external(*function, *body->external, context, where);
  follow_body(layout, context, where);
  std::vector<Value> results;
  for (const auto& component : layout.components) {
    if (component.direction != Direction::output) continue;
    Value& value = frame.variables[component.name()];
    if (value.is_unset())
      throw Fault{component.declaration->name.where,
                  "the output " + in_quotes(component.name()) + " of " + in_quotes(function->name) + " gets no value"};
    // a field that nothing reads needs no value, as long as no equation takes the whole record
    if (function_stack_.size() == 1 || value.type != TypeKind::record)
      require_set(value, std::string(component.name()), component.declaration->name.where);
    results.push_back(std::move(value));
  }
  if (function_stack_.size() == 1 && !external) {
    if (!generates_events(*function->definition)) make_literal(arguments, results);
    for (Value& value : results)  // they jump, and would jump unseen within a step
      if (is_discrete(value))
        for (Expr& e : value.elements) e = with_events(e, arguments);
  }
  return results;
}

Value Flattener::construct_record(const ClassScope* record, const Call& call, const Location& where,
                                  const Context& context) {
  Value result = record_value(record, named_arguments(scopes_.layout(record), false, call, context), context, where);
  for (const auto& [name, value] : result.record->fields)
    if (value.is_unset()) throw Fault{where, "the field " + in_quotes(name) + " of the record has no value"};
  require_set(result, std::string(record->definition->name.text), where);
  return result;
}

}  // namespace saltus::modelica
