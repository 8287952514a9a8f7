// Which loops of a model can be kept, and what their passes read.
//
// Kept are loops and arrays of components of the model itself. What passes read is found in the text, with iterators as
// symbols; everything else is evaluated once for each shape, as if that pass were the only one. Components are read as
// always, those of large arrays once.
#include "modelica/flatten/loop_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace saltus::modelica {

namespace {

using Form = IteratorForm;

/// Functions of one pass: they read their arguments, and nothing else.
constexpr std::array<std::string_view, 30> plain_functions{
    "der", "pre",   "edge", "change", "noEvent", "smooth", "abs",     "sign", "sqrt", "sin",
    "cos", "tan",   "asin", "acos",   "atan",    "atan2",  "sinh",    "cosh", "tanh", "exp",
    "log", "log10", "max",  "min",    "floor",   "ceil",   "integer", "mod",  "rem",  "div"};

template <class Visit>
void for_each_part(ExprPtr e, Visit visit) {
  const auto all = [&](const std::vector<ExprPtr>& list) {
    for (const ExprPtr part : list)
      if (part) visit(part);
  };
  if (const auto* reference = e->as<ComponentReference>())
    for (const ReferencePart& part : reference->parts) all(part.subscripts);
  if (const auto* call = e->as<Call>())
    for (const Argument& argument : call->arguments) visit(argument.value);
  if (const auto* node = e->as<Unary>()) visit(node->operand);
  if (const auto* node = e->as<Binary>()) visit(node->left), visit(node->right);
  if (const auto* node = e->as<Chain>()) all(node->operands);
  if (const auto* node = e->as<ArrayConstructor>()) all(node->elements);
  if (const auto* node = e->as<Conditional>()) {
    for (const ConditionalBranch& branch : node->branches) visit(branch.condition), visit(branch.value);
    visit(node->otherwise);
  }
}

}  // namespace

std::unique_ptr<KeptLoops> LoopReader::read() {
  constexpr std::size_t fewest = 200;  // passes: below that nothing is gained
  if (!is_plain()) return nullptr;
  if (flattener_.prototypes_.empty() && count_passes() < fewest) return nullptr;
  try {
    loops_ = std::make_unique<KeptLoops>();
    for (Component& component : flattener_.top_->components)  // in their order, whichever a pass reads first
      if (component.is_parameter()) flattener_.resolve_value(component);
    list_arrays();
    loops_->needed.assign(static_cast<std::size_t>(loops_->numbers), 0);
    KeptLoops::Nest rest;  // what stands outside of loops is one cell
    for (const Component& component : flattener_.top_->components) read_binding(component, rest.reads);
    for (const LayoutSection& section : flattener_.top_->layout->sections) {
      context_ = {flattener_.top_, section.lexical};
      for (const Equation* equation : section.equations->equations) {
        if (const auto* loop = equation->as<ForEquation>()) {
          if (equation->description.annotation) throw NotKept{};
          const std::size_t first = loops_->nests.size();
          read_loop(*loop);
          std::vector<std::size_t>& nests = loops_->nests_of[equation];
          for (std::size_t k = first; k < loops_->nests.size(); ++k) nests.push_back(k);
        } else if (const auto* connection = equation->as<ConnectEquation>()) {
          connect(*connection, {});
        } else {
          read_equation(*equation, rest.reads);
        }
      }
    }
    if (!rest.reads.items.empty()) loops_->add_pass(rest, {}, {});
    loops_->rest = rest.shapes.empty() ? -1 : rest.shapes.front();
    add_component_shapes();
    return std::move(loops_);
  } catch (const NotKept&) {
  } catch (const Fault&) {  // told where the loop is written out
  } catch (const Poisoned&) {
  }
  return nullptr;
}

bool LoopReader::is_plain() const {
  for (const Component& component : flattener_.top_->components)
    if (component.shape_state != Component::State::done || component.absent || component.is_object || component.inner ||
        component.role != ConnectorRole::none || component.direction != Direction::none || component.type.is_connector)
      return false;
  return std::ranges::all_of(flattener_.top_->layout->sections, [](const LayoutSection& section) {
    return section.equations && !section.equations->is_initial;
  });
}

// Of loops whose ranges are known at once.
std::size_t LoopReader::count_passes() const {
  std::size_t largest = 0;
  for (const Component& component : flattener_.top_->components)
    if (!component.is_parameter() && component.type.builtin)
      largest = std::max(largest, static_cast<std::size_t>(count(component.dims)));
  return largest;
}

void LoopReader::list_arrays() {
  int variables = 0, discretes = 0;
  loops_->groups.resize(flattener_.prototypes_.size());
  list_instance(*flattener_.top_, -1, variables, discretes);
}

void LoopReader::list_instance(Instance& instance, int group, int& variables, int& discretes) {
  for (Component& component : instance.components) {
    if (component.shape_state != Component::State::done || component.absent || component.is_object) continue;
    const auto size = static_cast<int>(count(component.dims));
    if (!component.type.builtin) {
      loops_->has_components = true;
      if (component.prototype < 0) {
        for (Instance* element : component.elements) list_instance(*element, group, variables, discretes);
        continue;
      }
      KeptLoops::Group& own = loops_->groups[static_cast<std::size_t>(component.prototype)];
      own = {.array = &component, .element = component.elements.front(), .first = loops_->numbers, .count = size};
      const int first_variable = variables, first_discrete = discretes;
      list_instance(*component.elements.front(), component.prototype, variables, discretes);
      own.variables = variables - first_variable;
      own.discretes = discretes - first_discrete;
      if (std::int64_t{size} * (own.width() + 1) > flattener_.limits_.scalars) throw NotKept{};
      variables += own.variables * (size - 1);
      discretes += own.discretes * (size - 1);
      loops_->numbers += own.width() * (size - 1);
      continue;
    }
    if (component.is_parameter()) continue;
    int& place = component.is_discrete() ? discretes : variables;
    loops_->array_of.emplace(&component, static_cast<int>(loops_->arrays.size()));
    loops_->arrays.push_back({&component, loops_->numbers, place, group});
    place += size;
    loops_->numbers += size;
  }
}

// What components have is read later; all of it needs symbols.
void LoopReader::add_component_shapes() {
  if (!loops_->has_components) return;
  if (loops_->rest < 0) {
    loops_->rest = static_cast<int>(loops_->shapes.size());
    loops_->shapes.emplace_back();
  }
  for (KeptLoops::Group& group : loops_->groups) {
    group.shape = static_cast<int>(loops_->shapes.size());
    loops_->shapes.emplace_back();
  }
  for (const KeptLoops::Array& array : loops_->arrays)
    if (array.component->owner != flattener_.top_)
      std::fill_n(loops_->needed.begin() + array.first, count(array.component->dims), 1);
}

// Real x = expression; of a scalar.
void LoopReader::read_binding(const Component& component, PassReads& reads) {
  if (component.is_parameter() || !component.modifier || !component.modifier->value) return;
  const Binding& binding = component.modifier->value;
  if (!component.dims.empty() || !binding.path.empty() || binding.lazy->context.instance != flattener_.top_)
    throw NotKept{};
  reads.items.push_back({PassReads::Item::Kind::element, loops_->array_of.at(&component)});
  context_ = binding.lazy->context;
  read_value(binding.lazy->expression, reads);
}

void LoopReader::read_loop(const ForEquation& loop) {
  const std::size_t outer = iterators_.size();
  for (const ForIndex& index : loop.indices) iterators_.push_back(&index);
  KeptLoops::Nest nest{.iterators = iterators_, .context = context_};
  for (const Equation* equation : loop.body) {
    if (const auto* inner = equation->as<ForEquation>()) {
      if (equation->description.annotation) throw NotKept{};
      read_loop(*inner);
      continue;
    }
    if (const auto* connection = equation->as<ConnectEquation>()) {
      if (equation->description.annotation) throw NotKept{};
      nest.connects.push_back(connection);
      continue;
    }
    read_equation(*equation, nest.reads);
    nest.body.push_back(equation);
  }
  if (!nest.body.empty() || !nest.connects.empty()) {
    std::vector<std::int64_t> values;
    add_passes(nest, loop, 0, context_, values);
    nest.known.clear();
    loops_->nests.push_back(std::move(nest));
  }
  iterators_.resize(outer);
}

// Runs over all values of the iterators of a nest, the first outermost.
void LoopReader::add_passes(KeptLoops::Nest& nest, const ForEquation& innermost, std::size_t level,
                            const Context& context, std::vector<std::int64_t>& values) {
  if (level == nest.iterators.size()) {
    if (!nest.body.empty()) loops_->add_pass(nest, values, [&](ExprPtr e) { return evaluate(e, context); });
    for (const ConnectEquation* connection : nest.connects) connect(*connection, values);
    return;
  }
  const ForIndex& index = *nest.iterators[level];
  if (!index.range) throw NotKept{};
  const Value range = flattener_.range_of(index, {.equations = &innermost.body}, context);
  if (range.type != TypeKind::integer) throw NotKept{};
  Context inner = context;
  Locals local{index.name.text, {}, context.locals};
  inner.locals = &local;
  values.push_back(0);
  for (const Expr& element : range.elements) {
    flattener_.charge(1, index.name.where);
    if (!element.is_constant()) throw NotKept{};
    values.back() = static_cast<std::int64_t>(element.constant_value());
    if (has_numbers_ || level + 1 < nest.iterators.size()) local.value = Value::integer(values.back());
    add_passes(nest, innermost, level + 1, inner, values);
  }
  values.pop_back();
}

void LoopReader::read_equation(const Equation& equation, PassReads& reads) {
  if (equation.description.annotation) throw NotKept{};
  if (const auto* node = equation.as<EqualityEquation>()) {
    read_value(node->lhs, reads);
    read_value(node->rhs, reads);
  } else if (const auto* when = equation.as<WhenEquation>()) {
    for (const auto& branch : when->branches) {
      read_value(branch.condition, reads);
      for (const Equation* inner : branch.body) read_equation(*inner, reads);
    }
  } else if (const auto* choice = equation.as<IfEquation>()) {
    read_choice(*choice, reads);
  } else if (const auto* effect = equation.as<CallEquation>()) {
    const Call& call = *effect->call->as<Call>();
    if (call.callee.global || call.callee.parts.size() != 1) throw NotKept{};
    const std::string_view name = call.callee.parts[0].name.text;
    const bool asserts = name == "assert" && call.arguments.size() == 2 && call.arguments[1].name.empty() &&
                         call.arguments[1].value->as<StringLiteral>();
    if (name != "reinit" && !asserts) throw NotKept{};
    for (std::size_t k = 0; k < (asserts ? 1 : call.arguments.size()); ++k) read_value(call.arguments[k].value, reads);
  } else {
    throw NotKept{};
  }
}

void LoopReader::read_choice(const IfEquation& choice, PassReads& reads) {
  const bool by_iterators = std::ranges::all_of(
      choice.branches, [&](const auto& branch) { return !branch.condition || form_of(branch.condition).has_value(); });
  if (!by_iterators) {
    for (const auto& branch : choice.branches) {
      if (branch.condition) read_value(branch.condition, reads);
      for (const Equation* inner : branch.body) read_equation(*inner, reads);
    }
    return;
  }
  PassReads::Item item{PassReads::Item::Kind::choice};
  for (const auto& branch : choice.branches) {
    if (branch.condition) item.forms.push_back(*form_of(branch.condition));
    PassReads& inside = item.branches.emplace_back();
    for (const Equation* inner : branch.body) read_equation(*inner, inside);
  }
  if (item.branches.size() == item.forms.size()) item.branches.emplace_back();
  reads.items.push_back(std::move(item));
}

void LoopReader::read_value(ExprPtr e, PassReads& reads) {
  if (e->as<IntegerLiteral>() || e->as<RealLiteral>() || e->as<BooleanLiteral>()) return;
  if (has_iterator(e) && is_number(e)) return read_number(e, is_logical(e), reads);
  if (const auto* power = e->as<Binary>();
      power && (power->op == Operator::power || power->op == Operator::power_elementwise)) {
    read_value(power->left, reads);
    if (has_iterator(power->right) && is_number(power->right)) return read_number(power->right, true, reads);
    return read_value(power->right, reads);
  }
  if (const auto* reference = e->as<ComponentReference>()) return read_reference(*reference, reads);
  if (const auto* call = e->as<Call>()) {
    if (iterators_.empty() && read_sum(*call, reads)) return;
    if (!call->iterators.empty() || call->callee.global || call->callee.parts.size() != 1 ||
        std::ranges::find(plain_functions, call->callee.parts[0].name.text) == plain_functions.end())
      throw NotKept{};
    for_each_part(e, [&](ExprPtr part) { read_value(part, reads); });
    return;
  }
  if (const auto* choice = e->as<Conditional>()) {
    const bool by_iterators = std::ranges::all_of(choice->branches, [&](const ConditionalBranch& branch) {
      return has_iterator(branch.condition) && form_of(branch.condition).has_value();
    });
    if (by_iterators) {
      PassReads::Item item{PassReads::Item::Kind::choice};
      for (const ConditionalBranch& branch : choice->branches) {
        item.forms.push_back(*form_of(branch.condition));
        read_value(branch.value, item.branches.emplace_back());
      }
      read_value(choice->otherwise, item.branches.emplace_back());
      reads.items.push_back(std::move(item));
      return;
    }
    for_each_part(e, [&](ExprPtr part) { read_value(part, reads); });
    return;
  }
  const auto* list = e->as<ArrayConstructor>();
  if (!e->as<Unary>() && !e->as<Binary>() && !e->as<Chain>() && !(list && list->iterators.empty())) throw NotKept{};
  for_each_part(e, [&](ExprPtr part) { read_value(part, reads); });
}

// sum(x) outside of loops: one cell reads them all.
bool LoopReader::read_sum(const Call& call, PassReads& reads) {
  if (call.callee.global || call.callee.parts.size() != 1 || call.callee.parts[0].name.text != "sum" ||
      !call.iterators.empty() || call.arguments.size() != 1)
    return false;
  const auto* reference = call.arguments[0].value->as<ComponentReference>();
  if (!reference || reference->global || reference->parts.size() != 1 || !reference->parts[0].subscripts.empty())
    return false;
  const Component* component = flattener_.own_component(reference->parts[0].name.text, context_);
  if (!component || !component->type.builtin || component->is_parameter() || component->dims.size() != 1) return false;
  const int array = loops_->array_of.at(component);
  for (std::int64_t k = 1; k <= component->dims[0]; ++k)
    reads.items.push_back({PassReads::Item::Kind::element, array, {Form{Form::Kind::number, k}}});
  return true;
}

void LoopReader::read_number(ExprPtr e, bool exact, PassReads& reads) {
  PassReads::Item item{
      .kind = PassReads::Item::Kind::number, .expression = e, .exact = exact, .changeable = reads_parameter(e)};
  if (std::optional<Form> form = form_of(e))
    item.forms.push_back(std::move(*form));
  else
    has_numbers_ = true;
  reads.items.push_back(std::move(item));
}

double LoopReader::evaluate(ExprPtr e, const Context& context) const {
  const Value value = flattener_.eval(e, context);
  const bool known = value.scalar().is_constant() || value.variability >= Variability::parameter;
  if (!value.is_scalar() || value.type == TypeKind::string || value.type == TypeKind::record || !known) throw NotKept{};
  const double number = flattener_.parameter_value(value.scalar());
  if (!std::isfinite(number)) throw NotKept{};
  return number;
}

bool LoopReader::is_logical(ExprPtr e) const {
  if (const auto* node = e->as<Unary>()) return node->op == Operator::logical_not;
  if (const auto* node = e->as<Binary>()) return node->op != Operator::power && node->op != Operator::power_elementwise;
  if (const auto* node = e->as<Chain>())
    return node->operators.front() == Operator::logical_and || node->operators.front() == Operator::logical_or;
  if (const auto* node = e->as<Conditional>()) return is_logical(node->otherwise);
  if (const auto* reference = e->as<ComponentReference>()) {
    if (iterator_of(*reference) >= 0) return false;
    const Component* component =
        reference->global ? nullptr : flattener_.own_component(reference->parts.front().name.text, context_);
    return !component || component->type.kind != TypeKind::real;
  }
  return e->as<BooleanLiteral>() != nullptr;
}

bool LoopReader::reads_parameter(ExprPtr e) const {
  if (const auto* reference = e->as<ComponentReference>(); reference && !reference->global) {
    const Component* component = flattener_.own_component(reference->parts.front().name.text, context_);
    if (iterator_of(*reference) < 0 && component && component->variability == Variability::parameter &&
        !flattener_.structural_.contains(component->path))
      return true;
  }
  bool found = false;
  for_each_part(e, [&](ExprPtr part) { found = found || reads_parameter(part); });
  return found;
}

bool LoopReader::is_number(ExprPtr e) const {
  if (const auto* reference = e->as<ComponentReference>(); reference && iterator_of(*reference) < 0) {
    if (reference->parts.size() == 1 && reference->parts[0].name.text == "time") return false;
    const Component* component =
        reference->global ? nullptr : flattener_.own_component(reference->parts.front().name.text, context_);
    if (component && !component->is_parameter()) return false;
  } else if (const auto* call = e->as<Call>()) {
    const bool plain = call->iterators.empty() && !call->callee.global && call->callee.parts.size() == 1 &&
                       std::ranges::find(plain_functions, call->callee.parts[0].name.text) != plain_functions.end();
    constexpr std::array<std::string_view, 4> of_variables{"der", "pre", "edge", "change"};
    if (!plain || std::ranges::find(of_variables, call->callee.parts[0].name.text) != of_variables.end()) return false;
  } else if (!reference && !e->as<IntegerLiteral>() && !e->as<RealLiteral>() && !e->as<BooleanLiteral>() &&
             !e->as<EndLiteral>() && !e->as<Unary>() && !e->as<Binary>() && !e->as<Chain>() && !e->as<Conditional>()) {
    return false;
  }
  bool all = true;
  for_each_part(e, [&](ExprPtr part) { all = all && is_number(part); });
  return all;
}

void LoopReader::read_reference(const ComponentReference& reference, PassReads& reads) {
  const ReferencePart& part = reference.parts.front();
  Component* const component = reference.global ? nullptr : flattener_.own_component(part.name.text, context_);
  if (!component) {  // time, and constants of classes
    for (const ReferencePart& p : reference.parts)
      if (std::ranges::any_of(p.subscripts, [&](ExprPtr e) { return has_iterator(e); })) throw NotKept{};
    return;
  }
  if (reference.parts.size() > 1) return read_part(reference, reads);
  if (component->is_parameter()) {
    if (std::ranges::any_of(part.subscripts, [&](ExprPtr e) { return has_iterator(e); })) throw NotKept{};
    return;
  }
  PassReads::Item item{PassReads::Item::Kind::element, loops_->array_of.at(component)};
  item.forms = subscripts(part, *component);
  reads.items.push_back(std::move(item));
}

// A variable of a component: of an array whose first element stands for all, or of one without subscripts.
void LoopReader::read_part(const ComponentReference& reference, PassReads& reads) {
  PassReads::Item item{PassReads::Item::Kind::element};
  Component* component = nullptr;
  Instance* instance = flattener_.top_;
  for (const ReferencePart& part : reference.parts) {
    component = instance ? instance->find(part.name.text) : nullptr;
    if (!component || component->absent || component->inner) throw NotKept{};
    if (component->prototype >= 0)
      item.element = subscripts(part, *component);
    else if (component->type.builtin)
      item.forms = subscripts(part, *component);
    else if (!component->dims.empty())
      throw NotKept{};
    instance = component->type.builtin ? nullptr : component->elements.front();
  }
  if (!component->type.builtin) throw NotKept{};
  if (component->is_parameter()) {
    if (!item.element.empty()) throw NotKept{};
    return;
  }
  item.array = loops_->array_of.at(component);
  reads.items.push_back(std::move(item));
}

std::vector<IteratorForm> LoopReader::subscripts(const ReferencePart& part, const Component& component) {
  if (part.subscripts.size() != component.dims.size()) throw NotKept{};
  std::vector<IteratorForm> forms;
  for (std::size_t k = 0; k < part.subscripts.size(); ++k) {
    end_ = component.dims[k];
    std::optional<Form> form = form_of(part.subscripts[k], true);
    end_ = -1;
    if (!form) throw NotKept{};
    forms.push_back(std::move(*form));
  }
  return forms;
}

bool LoopReader::has_iterator(ExprPtr e) const {
  if (const auto* reference = e->as<ComponentReference>(); reference && iterator_of(*reference) >= 0) return true;
  bool found = false;
  for_each_part(e, [&](ExprPtr part) { found = found || has_iterator(part); });
  return found;
}

int LoopReader::iterator_of(const ComponentReference& reference) const {
  if (reference.global || reference.parts.size() != 1 || !reference.parts[0].subscripts.empty()) return -1;
  for (std::size_t k = iterators_.size(); k-- > 0;)
    if (iterators_[k]->name.text == reference.parts[0].name.text) return static_cast<int>(k);
  return -1;
}

// Something without iterators that is a number already: sizes and the like.
std::optional<Form> LoopReader::number(ExprPtr e, bool subscript) const {
  if (const auto* reference = e->as<ComponentReference>(); reference && !subscript) {
    const Component* component =
        reference->global ? nullptr : flattener_.own_component(reference->parts.front().name.text, context_);
    if (!component || component->variability != Variability::constant) {
      if (!component || !component->is_parameter() || !component->dims.empty() ||
          !flattener_.structural_.contains(component->path))
        return std::nullopt;
    }
  } else if (!reference && !subscript) {
    return std::nullopt;
  }
  Context context = context_;
  context.end = end_;
  const Value value = flattener_.eval(e, context);
  if (value.type != TypeKind::integer || !value.is_scalar()) return std::nullopt;
  if (!value.scalar().is_constant() && value.variability < Variability::parameter) return std::nullopt;
  return Form{Form::Kind::number, flattener_.integer(value, e->where, "a subscript")};
}

std::optional<Form> LoopReader::form_of(ExprPtr e, bool subscript) const {
  if (const auto* literal = e->as<IntegerLiteral>()) return Form{Form::Kind::number, literal->value};
  if (const auto* literal = e->as<BooleanLiteral>()) return Form{Form::Kind::number, literal->value ? 1 : 0};
  if (const auto* reference = e->as<ComponentReference>())
    if (const int k = iterator_of(*reference); k >= 0) return Form{Form::Kind::iterator, k};
  if (!has_iterator(e) && (subscript || e->as<ComponentReference>())) return number(e, subscript);
  const auto combine = [&](Form::Kind kind, std::initializer_list<ExprPtr> parts) -> std::optional<Form> {
    Form form{kind, 0};
    for (const ExprPtr part : parts) {
      std::optional<Form> operand = form_of(part, subscript);
      if (!operand) return std::nullopt;
      form.operands.push_back(std::move(*operand));
    }
    return form;
  };
  if (const auto* node = e->as<Unary>()) {
    if (node->op == Operator::add) return form_of(node->operand, subscript);
    if (node->op == Operator::subtract) return combine(Form::Kind::negative, {node->operand});
    if (node->op == Operator::logical_not) return combine(Form::Kind::negation, {node->operand});
    return std::nullopt;
  }
  if (const auto* node = e->as<Binary>()) {
    switch (node->op) {
      case Operator::equal:
        return combine(Form::Kind::equal, {node->left, node->right});
      case Operator::not_equal:
        return combine(Form::Kind::not_equal, {node->left, node->right});
      case Operator::less:
        return combine(Form::Kind::less, {node->left, node->right});
      case Operator::less_equal:
        return combine(Form::Kind::less_equal, {node->left, node->right});
      case Operator::greater:
        return combine(Form::Kind::less, {node->right, node->left});
      case Operator::greater_equal:
        return combine(Form::Kind::less_equal, {node->right, node->left});
      default:
        return std::nullopt;
    }
  }
  if (const auto* node = e->as<Chain>()) {
    std::optional<Form> result = form_of(node->operands.front(), subscript);
    for (std::size_t k = 0; result && k < node->operators.size(); ++k) {
      std::optional<Form> next = form_of(node->operands[k + 1], subscript);
      Form::Kind kind;
      switch (node->operators[k]) {
        case Operator::add:
          kind = Form::Kind::sum;
          break;
        case Operator::subtract:
          kind = Form::Kind::difference;
          break;
        case Operator::multiply:
          kind = Form::Kind::product;
          break;
        case Operator::logical_and:
          kind = Form::Kind::both;
          break;
        case Operator::logical_or:
          kind = Form::Kind::either;
          break;
        default:
          return std::nullopt;
      }
      if (!next) return std::nullopt;
      Form combined{kind, 0};
      combined.operands.push_back(std::move(*result));
      combined.operands.push_back(std::move(*next));
      result = std::move(combined);
    }
    return result;
  }
  if (const auto* call = e->as<Call>()) {
    if (!call->iterators.empty() || call->callee.global || call->callee.parts.size() != 1) return std::nullopt;
    if (std::ranges::any_of(call->arguments, [](const Argument& a) { return !a.name.empty(); })) return std::nullopt;
    const std::string_view name = call->callee.parts[0].name.text;
    const std::size_t count = call->arguments.size();
    if (name == "max" && count == 2)
      return combine(Form::Kind::maximum, {call->arguments[0].value, call->arguments[1].value});
    if (name == "min" && count == 2)
      return combine(Form::Kind::minimum, {call->arguments[0].value, call->arguments[1].value});
    if (name == "abs" && count == 1) return combine(Form::Kind::absolute, {call->arguments[0].value});
    return std::nullopt;
  }
  if (const auto* node = e->as<Conditional>()) {
    if (node->branches.size() != 1) return std::nullopt;
    return combine(Form::Kind::choice, {node->branches[0].condition, node->branches[0].value, node->otherwise});
  }
  return std::nullopt;
}

}  // namespace saltus::modelica
