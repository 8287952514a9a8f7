// Algorithms, followed symbolically: each assignment replaces the expression that a variable stands for, branches
// become if-expressions, loops are unrolled.
#include <algorithm>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

Flattener::Snapshot Flattener::snapshot(const Context& context) const {
  Snapshot state;
  if (context.frame) {
    state.variables = context.frame->variables;
    state.ended = context.frame->ended;
  }
  if (context.assigned) state.assigned = *context.assigned;
  return state;
}

void Flattener::restore(const Snapshot& state, const Context& context) const {
  if (context.frame) {
    context.frame->variables = state.variables;
    context.frame->ended = state.ended;
  }
  if (context.assigned) *context.assigned = state.assigned;
}

// True if both are the same expressions, so that no choice is needed.
static bool is_same(const Value& a, const Value& b) {
  if (a.set_if || b.set_if || a.type != b.type || a.dims != b.dims || a.elements.size() != b.elements.size() ||
      a.text != b.text)
    return false;
  if (a.type == TypeKind::record) return a.record == b.record;
  return a.texts == b.texts && std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(),
                                          [](const Expr& x, const Expr& y) { return x.same(y); });
}

Flattener::Snapshot Flattener::blend(const Value& condition, const Snapshot& then, const Snapshot& otherwise,
                                     const Location& where) {
  // behind an assertion that fails, variables need no values
  if (then.ended != otherwise.ended) return then.ended ? otherwise : then;
  Snapshot result = then;
  for (const auto& [name, other] : otherwise.variables) {
    Value& value = result.variables[name];
    if (!is_same(value, other)) value = choose(condition, value, other, where);
  }
  const auto value_in = [&](const Snapshot& state, NodeId id) {
    const auto it = state.assigned.values.find(id);
    const Expr symbol(model_->data().graph, id);
    return it == state.assigned.values.end() ? current_value(symbol, state.assigned) : it->second;
  };
  const auto blend_one = [&](NodeId id) {
    const Expr a = value_in(then, id), b = value_in(otherwise, id);
    const bool is_boolean = places_.at(id).component->type.kind == TypeKind::boolean;
    result.assigned.values[id] =
        is_boolean ? if_else(condition.truth(), BoolExpr(a), BoolExpr(b)).expr() : if_else(condition.truth(), a, b);
  };
  for (const auto& [id, value] : then.assigned.values) blend_one(id);
  for (const auto& [id, value] : otherwise.assigned.values)
    if (!then.assigned.values.contains(id)) blend_one(id);
  for (const auto& [id, place] : otherwise.assigned.outside) result.assigned.outside.emplace(id, place);
  return result;
}

Expr Flattener::current_value(const Expr& symbol, const Assigned& assigned) {
  if (const auto it = assigned.values.find(symbol.id()); it != assigned.values.end()) return it->second;
  if (!assigned.targets) return symbol;
  const auto place = places_.find(symbol.id());
  if (place == places_.end() || !assigned.targets->contains(place->second.component)) return symbol;
  Component& component = *place->second.component;
  if (component.is_discrete())
    return pre(Value(component.type.kind, Variability::discrete, symbol), component.where()).scalar();
  return attribute_numbers(component, "start", 0.0)[place->second.position];
}

Flattener::Flow Flattener::follow(const std::vector<const Statement*>& statements, const Context& context) {
  for (const Statement* statement : statements)
    if (const Flow flow = follow(*statement, context); flow != Flow::next) return flow;
  return Flow::next;
}

Flattener::Flow Flattener::follow(const Statement& statement, const Context& context) {
  const Deeper deeper(*this, statement.where);
  charge(1, statement.where);
  if (const auto* node = statement.as<Assignment>()) {
    assign(node->target, eval(node->value, context), statement.where, context);
  } else if (const auto* tuple = statement.as<TupleAssignment>()) {
    const auto& targets = tuple->targets->as<Tuple>()->elements;
    const Call& call = *tuple->call->as<Call>();
    std::vector<Value> results = call_results(call, tuple->call->where, context);
    if (targets.size() > results.size())
      throw Fault{statement.where, in_quotes(print(call.callee)) + " has " + std::to_string(results.size()) +
                                       " results, not " + std::to_string(targets.size())};
    for (std::size_t k = 0; k < targets.size(); ++k)
      if (targets[k]) assign(targets[k], std::move(results[k]), statement.where, context);
  } else if (const auto* choice = statement.as<IfStatement>()) {
    return follow_if(*choice, statement.where, context);
  } else if (const auto* loop = statement.as<ForStatement>()) {
    return follow_for(*loop, context);
  } else if (const auto* repeat = statement.as<WhileStatement>()) {
    return follow_while(*repeat, context);
  } else if (const auto* when = statement.as<WhenStatement>()) {
    follow_when(*when, context);
  } else if (const auto* effect = statement.as<CallStatement>()) {
    follow_call(*effect->call->as<Call>(), statement.where, context);
  } else if (statement.as<BreakStatement>()) {
    return Flow::leave_loop;
  } else if (statement.as<ReturnStatement>()) {
    return Flow::leave_function;
  }
  return Flow::next;
}

// Statements of a model: there is nothing around them that could be left.
void Flattener::follow_section(const std::vector<const Statement*>& statements, const Context& context) {
  exits_.clear();
  if (follow(statements, context) != Flow::next || !exits_.empty())
    throw Fault{statements.front()->where, "'break' and 'return' have no meaning here"};
}

void Flattener::follow_call(const Call& call, const Location& where, const Context& context) {
  const std::string name = print(call.callee);
  if (name == "assert") return assert_true(call, where, context);
  if (name == "reinit" || name == "terminate") {
    if (!when_actions_) throw Fault{where, in_quotes(name) + " belongs into a 'when' clause"};
    const std::size_t first = when_actions_->size();
    if (name == "reinit") {
      reinit(call, where, context, *when_actions_);
    } else {
      arguments(call, context, 1, 1, where);
      when_actions_->push_back(
          {ModelData::Action::Kind::terminate, {}, {}, message(call.arguments[0].value, context), where});
    }
    for (std::size_t k = first; k < when_actions_->size(); ++k)
      (*when_actions_)[k].only_if = (*when_actions_)[k].only_if && reached();
    return;
  }
  eval_effect(call, where, context);  // a function called for its assertions
}

Flattener::Flow Flattener::follow_if(const IfStatement& node, const Location& where, const Context& context) {
  struct Taken {
    Value condition;
    Snapshot state;
  };
  std::vector<Taken> taken;
  const Snapshot before = snapshot(context);
  std::optional<Snapshot> rest;
  const std::size_t conditions = path_conditions_.size();
  struct Cut {
    std::vector<BoolExpr>& list;
    std::size_t size;
    ~Cut() { list.resize(size); }
  } cut{path_conditions_, conditions};
  for (const auto& branch : node.branches) {
    std::optional<Value> condition;
    if (branch.condition) {
      condition = eval_scalar(branch.condition, context, "the condition");
      if (condition->type != TypeKind::boolean)
        throw Fault{branch.condition->where,
                    "a condition must be a Boolean, not a value of type " + describe(*condition)};
      if (condition->scalar().is_constant()) {
        if (condition->scalar().constant_value() == 0.0) continue;
        condition.reset();
      }
    }
    if (condition) path_conditions_.push_back(condition->truth());
    Flow flow = Flow::next;
    const std::size_t exits = exits_.size();
    try {
      flow = follow(branch.body, context);
      if (flow != Flow::next && condition && condition->variability >= Variability::parameter)
        throw Fault{branch.where, "this branch leaves the algorithm"};
    } catch (const Fault&) {
      // parameters decide: where a branch makes no sense for the others, they are part of the structure
      if (!condition || condition->variability < Variability::parameter) throw;
      restore(before, context);
      exits_.resize(exits);
      path_conditions_.pop_back();
      if (number(*condition, branch.condition->where, "the condition") == 0.0) continue;
      condition.reset();
      flow = follow(branch.body, context);
    }
    if (!condition && taken.empty()) return flow;  // all other branches leave, or there is none
    if (flow != Flow::next) leave(flow, context, true);
    if (!condition) {
      rest = flow == Flow::next ? snapshot(context) : std::move(taken.back().state);
      if (flow != Flow::next) taken.pop_back();
      break;
    }
    path_conditions_.back() = !path_conditions_.back();  // holds for the branches that follow
    if (flow == Flow::next) taken.push_back({std::move(*condition), snapshot(context)});
    restore(before, context);
  }
  if (!rest) rest = before;
  for (std::size_t k = taken.size(); k-- > 0;) rest = blend(taken[k].condition, taken[k].state, *rest, where);
  restore(*rest, context);
  return Flow::next;
}

void Flattener::follow_when(const WhenStatement& node, const Context& context) {
  if (!context.assigned || in_initial_ || when_actions_ || !path_conditions_.empty())
    throw Fault{node.branches.front().where,
                "'when' is not allowed in functions, initial algorithms, 'if' and other 'when' statements"};
  const Assigned before = *context.assigned;
  std::unordered_set<NodeId> changed;
  bool first = true;
  for (const auto& branch : node.branches) {
    const Value condition = eval(branch.condition, context);
    if (condition.type == TypeKind::clock)
      throw Fault{branch.condition->where, "a clocked 'when' in an algorithm is not supported", reference_page};
    std::vector<FlatAction> actions, checks;
    Assigned body = before;
    body.outside.clear();
    Context inner = context;
    inner.assigned = &body;
    when_actions_ = &actions;
    when_checks_ = &checks;
    try {
      follow_section(branch.body, inner);
    } catch (...) {
      when_actions_ = when_checks_ = nullptr;
      throw;
    }
    when_actions_ = when_checks_ = nullptr;
    std::vector<NodeId> ids;
    for (const auto& [id, place] : body.outside) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    for (const NodeId id : ids) {
      changed.insert(id);
      actions.push_back({ModelData::Action::Kind::assign,
                         Expr(model_->data().graph, id),
                         body.values.at(id),
                         {},
                         body.outside.at(id)});
    }
    actions.insert(actions.end(), checks.begin(), checks.end());
    add_clauses(condition, std::move(actions), branch.where, branch.condition, context, !first);
    first = false;
  }
  for (const NodeId id : changed) {
    if (const auto it = context.assigned->outside.find(id); it != context.assigned->outside.end())
      throw Fault{it->second,
                  in_quotes(model_->data().graph->symbol_of(id).name) + " is assigned inside and outside of 'when'"};
    context.assigned->values[id] = Expr(model_->data().graph, id);
  }
}

void Flattener::assign(ExprPtr target, Value value, const Location& where, const Context& context) {
  const auto& reference = *target->as<ComponentReference>();
  const std::string_view name = reference.parts[0].name.text;
  for (const Locals* local = context.locals; local; local = local->outer)
    if (local->name == name) throw Fault{target->where, "the loop variable " + in_quotes(name) + " cannot be assigned"};
  if (context.frame) {
    const auto it = context.frame->variables.find(name);
    if (it == context.frame->variables.end()) unknown_name(reference, 0, context);
    const Layout& layout = scopes_.layout(context.frame->cls);
    const auto place = layout.index.find(name);
    if (place != layout.index.end() && layout.components[place->second].direction == Direction::input)
      throw Fault{target->where, "the input " + in_quotes(name) + " cannot be assigned"};
    return store(it->second, reference, 0, value, where, context);
  }
  const Component* own = own_component(name, context);
  if (own && own->direction == Direction::input && own->owner == context.instance)
    throw Fault{target->where, "the input " + in_quotes(name) + " cannot be assigned"};
  if (assign_varying(reference, value, where, context)) return;
  Context plain = context;
  plain.assigned = nullptr;
  Value symbols = eval(target, plain);
  assign_symbols(symbols, std::move(value), print(target), where, context);
}

// Assigns a value to the variables of a model, records field by field.
void Flattener::assign_symbols(const Value& symbols, Value value, const std::string& target, const Location& where,
                               const Context& context) {
  if (symbols.type == TypeKind::record || value.type == TypeKind::record) {
    if (symbols.type != value.type || symbols.record->fields.size() != value.record->fields.size() ||
        symbols.dims != value.dims)
      throw Fault{where, in_quotes(target) + " is of type " + describe(symbols) + ", but its value is of type " +
                             describe(value)};
    for (const auto& [name, field] : symbols.record->fields) {
      const auto& fields = value.record->fields;
      const auto it = std::find_if(fields.begin(), fields.end(),
                                   [&, &key = name](const auto& other) { return other.first == key; });
      if (it == fields.end())
        throw Fault{where, "the value of " + in_quotes(target) + " has no field " + in_quotes(name)};
      assign_symbols(field, it->second, target + "." + std::string(name), where, context);
    }
    return;
  }
  value = convert(std::move(value), symbols.type, where, in_quotes(target));
  if (symbols.dims != value.dims)
    throw Fault{where, in_quotes(target) + " is of type " + describe(symbols) + ", but its value is of type " +
                           describe(value)};
  for (std::size_t k = 0; k < symbols.elements.size(); ++k) {
    const Expr& symbol = symbols.elements[k];
    const Component* component = component_of(symbol);
    if (!component || component->is_parameter())
      throw Fault{where, in_quotes(target) + " is not a variable and cannot be assigned"};
    context.assigned->values[symbol.id()] = value.elements[k];
    context.assigned->outside[symbol.id()] = where;
  }
}

// Assigns to selected elements of an array of records: whole records, or one field of them.
void Flattener::store_records(Value& variable, const ComponentReference& reference, std::size_t part,
                              const Value& value, const Location& where, const Context& context) {
  const ReferencePart& here = reference.parts[part];
  const Selection selection = select(variable.dims, here.subscripts, context, where, here.name.text);
  const bool one_field = part + 1 < reference.parts.size();
  if (one_field && (part + 2 < reference.parts.size() || !reference.parts[part + 1].subscripts.empty()))
    throw Fault{where, "in arrays of records whole fields are assigned, not parts of fields"};
  if (!one_field && value.type != TypeKind::record)
    throw Fault{where,
                in_quotes(here.name.text) + " is an array of records, but its value is of type " + describe(value)};
  auto fields = std::make_shared<RecordFields>(*variable.record);
  bool found = false;
  for (auto& [name, field] : fields->fields) {
    if (one_field && name != reference.parts[part + 1].name.text) continue;
    found = true;
    const Value* source = &value;
    if (!one_field) {
      const auto it = std::find_if(value.record->fields.begin(), value.record->fields.end(),
                                   [&, &key = name](const auto& other) { return other.first == key; });
      if (it == value.record->fields.end()) throw Fault{where, "the record has no field " + in_quotes(name)};
      source = &it->second;
    }
    const Value given = convert(*source, field.type, where, in_quotes(name));
    std::vector<std::size_t> offsets = offsets_of(selection, variable.dims);
    const std::size_t inner =
        field.elements.size() / static_cast<std::size_t>(std::max<std::int64_t>(1, count(variable.dims)));
    if (given.elements.size() != offsets.size() * inner)
      throw Fault{where,
                  in_quotes(print(reference)) + ": the value is of type " + describe(value) + ", which does not fit"};
    for (std::size_t n = 0; n < offsets.size(); ++n)
      for (std::size_t k = 0; k < inner; ++k) field.elements[offsets[n] * inner + k] = given.elements[n * inner + k];
    field.variability = join(field.variability, given.variability);
  }
  if (!found)
    throw Fault{reference.parts[part + 1].name.where,
                "the record has no field " + in_quotes(reference.parts[part + 1].name.text)};
  variable.variability = join(variable.variability, value.variability);
  variable.record = std::move(fields);
}

// The positions of the selected elements in an array of the given size.
std::vector<std::size_t> Flattener::offsets_of(const Selection& selection, const Dims& dims) {
  std::size_t total = 1;
  for (const auto& indices : selection.indices) total *= indices.size();
  std::vector<std::size_t> offsets;
  for (std::size_t n = 0; n < total; ++n) {
    std::size_t rest = n, offset = 0, factor = 1;
    for (std::size_t k = dims.size(); k-- > 0;) {
      const auto& indices = selection.indices[k];
      offset += factor * static_cast<std::size_t>(indices[rest % indices.size()]);
      rest /= indices.size();
      factor *= static_cast<std::size_t>(dims[k]);
    }
    offsets.push_back(offset);
  }
  return offsets;
}

void Flattener::store(Value& variable, const ComponentReference& reference, std::size_t part, const Value& value,
                      const Location& where, const Context& context) {
  const ReferencePart& here = reference.parts[part];
  if (variable.type == TypeKind::record && !here.subscripts.empty() && !variable.dims.empty())
    return store_records(variable, reference, part, value, where, context);
  if (part + 1 < reference.parts.size()) {
    if (variable.type != TypeKind::record || !here.subscripts.empty())
      throw Fault{here.name.where, in_quotes(here.name.text) + " is not a record"};
    auto fields = std::make_shared<RecordFields>(*variable.record);
    const std::string_view name = reference.parts[part + 1].name.text;
    const auto it = std::find_if(fields->fields.begin(), fields->fields.end(),
                                 [&](const auto& field) { return field.first == name; });
    if (it == fields->fields.end())
      throw Fault{reference.parts[part + 1].name.where, "the record has no field " + in_quotes(name)};
    store(it->second, reference, part + 1, value, where, context);
    variable.variability = join(variable.variability, value.variability);
    variable.record = std::move(fields);
    return;
  }
  if (variable.type == TypeKind::record) {
    if (value.type != TypeKind::record || !here.subscripts.empty() || value.dims != variable.dims)
      throw Fault{where, in_quotes(here.name.text) + " is a record, but its value is of type " + describe(value)};
    variable = value;
    return;
  }
  const Value converted = convert(value, variable.type, where, in_quotes(here.name.text));
  if (here.subscripts.empty()) {
    const bool open = !variable.dims.empty() && variable.elements.empty();
    if (converted.dims.size() != variable.dims.size() || (!open && converted.dims != variable.dims))
      throw Fault{where, in_quotes(here.name.text) + " is of type " + describe(variable) +
                             ", but its value is of type " + describe(converted)};
    variable = converted;
    return;
  }
  store_elements(variable, here, converted, where, context, {}, true);
}

void Flattener::store_elements(Value& variable, const ReferencePart& part, const Value& value, const Location& where,
                               const Context& context, const Fixed& fixed, const BoolExpr& chosen) {
  Value index;
  if (const auto varying = varying_subscript(variable.dims, part.subscripts, context, fixed, index)) {
    const std::int64_t size = variable.dims[*varying];
    charge(size, where);
    const std::int64_t least = index.type == TypeKind::boolean ? 0 : 1;
    if (index.type == TypeKind::integer)
      demand(index.scalar() >= Expr(1.0) && index.scalar() <= Expr(static_cast<double>(size)),
             "the subscript of " + std::string(part.name.text) + " is out of range", where);
    variable.variability = join(variable.variability, index.variability);
    for (std::int64_t k = 0; k < size; ++k) {
      Fixed inner = fixed;
      inner[*varying] = k;
      Value number = index;
      number.variability = Variability::constant;
      number.elements[0] = Expr(static_cast<double>(k + least));
      store_elements(variable, part, value, where, context, inner,
                     chosen && relation(Operator::equal, index, number, where).truth());
    }
    return;
  }
  const Selection selection = select(variable.dims, part.subscripts, context, where, part.name.text, fixed);
  Dims kept;
  for (std::size_t k = 0; k < variable.dims.size(); ++k)
    if (selection.keeps[k]) kept.push_back(static_cast<std::int64_t>(selection.indices[k].size()));
  if (kept != value.dims)
    throw Fault{where, in_quotes(part.name.text) + ": the part that is assigned has the size " +
                           (kept.empty() ? "of a scalar" : to_string(kept)) + ", but its value is of type " +
                           describe(value)};
  const bool decided = chosen.expr().is_constant();
  if (decided && chosen.expr().constant_value() == 0.0) return;
  const std::vector<std::size_t> offsets = offsets_of(selection, variable.dims);
  for (std::size_t n = 0; n < offsets.size(); ++n) {
    Expr& element = variable.elements[offsets[n]];
    const Expr& fresh = value.elements[n];
    if (decided)
      element = fresh;
    else if (variable.type == TypeKind::boolean)
      element = if_else(chosen, BoolExpr(fresh), BoolExpr(element)).expr();
    else
      element = if_else(chosen, fresh, element);
  }
  variable.variability = join(variable.variability, value.variability);
}

// y[i] := v of a variable of a model, where i varies in a run: all elements are assigned, the others what they are.
// Returns false if no subscript of the last part varies.
bool Flattener::assign_varying(const ComponentReference& reference, const Value& value, const Location& where,
                               const Context& context) {
  const ReferencePart& last = reference.parts.back();
  if (last.subscripts.empty()) return false;
  ComponentReference whole = reference;
  whole.parts.back().subscripts.clear();
  Context plain = context;
  plain.assigned = nullptr;
  const Value symbols = eval_reference(whole, where, plain);
  Value index;
  if (symbols.dims.size() < last.subscripts.size() ||
      !varying_subscript(symbols.dims, last.subscripts, context, {}, index))
    return false;
  if (symbols.type == TypeKind::record)
    throw Fault{where, "the subscripts of an array of records that is assigned must be known when the model is read"};
  Value all = eval_reference(whole, where, context);
  store_elements(all, last, convert(value, symbols.type, where, in_quotes(print(reference))), where, context, {}, true);
  assign_symbols(symbols, std::move(all), print(reference), where, context);
  return true;
}

void Flattener::collect_targets(const std::vector<const Statement*>& statements, Instance& instance,
                                std::unordered_set<const Component*>& targets) {
  const auto add = [&](const auto& self, Instance& inside, const ComponentReference& reference,
                       std::size_t part) -> void {
    Component* component = inside.find(reference.parts[part].name.text);
    if (!component) return;
    if (part + 1 == reference.parts.size())
      targets.insert(component);
    else
      for (Instance* element : component->elements) self(self, *element, reference, part + 1);
  };
  for (const Statement* statement : statements) {
    if (const auto* node = statement->as<Assignment>()) {
      add(add, instance, *node->target->as<ComponentReference>(), 0);
    } else if (const auto* tuple = statement->as<TupleAssignment>()) {
      for (const ExprPtr target : tuple->targets->as<Tuple>()->elements)
        if (target) add(add, instance, *target->as<ComponentReference>(), 0);
    } else if (const auto* choice = statement->as<IfStatement>()) {
      for (const auto& branch : choice->branches) collect_targets(branch.body, instance, targets);
    } else if (const auto* loop = statement->as<ForStatement>()) {
      collect_targets(loop->body, instance, targets);
    } else if (const auto* repeat = statement->as<WhileStatement>()) {
      collect_targets(repeat->body, instance, targets);
    } else if (const auto* when = statement->as<WhenStatement>()) {
      for (const auto& branch : when->branches) collect_targets(branch.body, instance, targets);
    }
  }
}

void Flattener::flatten_algorithm(const AlgorithmSection& section, const Context& context) {
  if (section.is_initial && flatten_initial_algorithm(section, context)) return;
  std::unordered_set<const Component*> targets;
  collect_targets(section.statements, *context.instance, targets);
  Assigned assigned;
  if (!section.is_initial) assigned.targets = &targets;
  Context inner = context;
  inner.assigned = &assigned;
  in_initial_ = section.is_initial;
  bool ok = true;
  for (const Statement* statement : section.statements) ok = attempt([&] { follow_section({statement}, inner); }) && ok;
  in_initial_ = false;
  if (!ok) return;
  for (const auto& [id, value] : assigned.values)
    if (const auto [place, fresh] = algorithm_targets_.emplace(id, section.where); !section.is_initial && !fresh) {
      report({section.where, in_quotes(model_->data().graph->symbol_of(id).name) + " is assigned in two algorithms"});
      note(place->second, "the other algorithm is here");
      return;
    }
  std::vector<NodeId> ids;
  for (const auto& [id, place] : assigned.outside) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  for (const NodeId id : ids) {
    const Expr symbol(model_->data().graph, id);
    const Component& component = *places_.at(id).component;
    const Variability how = component.is_discrete() ? Variability::discrete : Variability::continuous;
    FlatEquation equation{Value(component.type.kind, how, symbol),
                          Value(component.type.kind, how, assigned.values.at(id)), assigned.outside.at(id)};
    (section.is_initial ? initial_equations_ : equations_).push_back(std::move(equation));
  }
}

}  // namespace saltus::modelica
