// Operators of operator records (Complex): which function of the record an operator means, and operators of arrays of
// such records, element by element.
#include <algorithm>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

bool is_operator_record(const Value& value) {
  return value.type == TypeKind::record && value.record->type->kind() == ClassKind::operator_record;
}

// The name of the class that defines an operator.
std::string_view operator_name(Operator op) {
  switch (op) {
    case Operator::add:
    case Operator::add_elementwise:
      return "'+'";
    case Operator::subtract:
    case Operator::subtract_elementwise:
      return "'-'";
    case Operator::multiply:
    case Operator::multiply_elementwise:
      return "'*'";
    case Operator::divide:
    case Operator::divide_elementwise:
      return "'/'";
    case Operator::power:
    case Operator::power_elementwise:
      return "'^'";
    case Operator::less:
      return "'<'";
    case Operator::less_equal:
      return "'<='";
    case Operator::greater:
      return "'>'";
    case Operator::greater_equal:
      return "'>='";
    case Operator::equal:
      return "'=='";
    case Operator::not_equal:
      return "'<>'";
    case Operator::logical_and:
      return "'and'";
    case Operator::logical_or:
      return "'or'";
    case Operator::logical_not:
      return "'not'";
  }
  return "";
}

}  // namespace

// The functions of `operator '+'`, or `operator function '+'` itself.
std::vector<const ClassScope*> Flattener::operator_functions(const ClassScope* record, std::string_view name) {
  std::vector<const ClassScope*> result;
  const ClassScope* found = scopes_.find_member(name, record);
  if (found && found->is_function()) result.push_back(found);
  const auto* body = found && !found->is_function() ? found->definition->as<LongClass>() : nullptr;
  if (!body) return result;
  for (const Element& element : body->elements)
    if (const auto* nested = element.as<const ClassDefinition*>())
      if (const ClassScope* function = scopes_.find_member((*nested)->name.text, found);
          function && function->is_function())
        result.push_back(function);
  return result;
}

// True if a function takes these operands as they are.
bool Flattener::takes(const ClassScope* function, const std::vector<Value>& operands) {
  std::size_t position = 0;
  for (const LayoutComponent& input : scopes_.layout(function).components) {
    if (input.direction != Direction::input) continue;
    const bool has_default = input.declaration->modification && input.declaration->modification->value;
    if (position >= operands.size()) {
      if (!has_default) return false;
      continue;
    }
    const Value& value = operands[position++];
    const ResolvedType type = scopes_.resolve(input.clause->type, input.lexical);
    if (input.dimensions.size() + type.dimensions.size() != value.dims.size()) return false;
    const bool fits = type.builtin
                          ? value.type == type.kind || (value.is_numeric() && type.kind == TypeKind::real)
                          : value.type == TypeKind::record && type.cls->definition == value.record->type->definition;
    if (!fits) return false;
  }
  return position == operands.size();
}

std::optional<Value> Flattener::call_operator(const ClassScope* record, std::string_view name,
                                              const std::vector<Value>& operands, const Location& where) {
  for (const ClassScope* function : operator_functions(record, name)) {
    if (!takes(function, operands)) continue;
    NamedValues inputs;
    for (const LayoutComponent& input : scopes_.layout(function).components)
      if (input.direction == Direction::input && inputs.size() < operands.size())
        inputs.emplace_back(input.name(), operands[inputs.size()]);
    std::vector<Value> results = run_function(function, std::move(inputs), where, Context{nullptr, function});
    if (results.size() == 1) return std::move(results.front());
  }
  return std::nullopt;
}

// A record from what its constructor takes; a number becomes a record this way.
std::optional<Value> Flattener::converted(const ClassScope* record, const Value& value, const Location& where) {
  if (!value.is_scalar()) return std::nullopt;
  return call_operator(record, "'constructor'", {value}, where);
}

Value Flattener::operate_scalars(Operator op, const Value& a, const Value& b, const Location& where) {
  const std::string_view name = operator_name(op);
  for (const Value* side : {&a, &b}) {
    if (!is_operator_record(*side)) continue;
    const ClassScope* record = side->record->type;
    if (auto result = call_operator(record, name, {a, b}, where)) return std::move(*result);
    const auto x = is_operator_record(a) ? std::optional<Value>(a) : converted(record, a, where);
    const auto y = is_operator_record(b) ? std::optional<Value>(b) : converted(record, b, where);
    if (x && y)
      if (auto result = call_operator(record, name, {*x, *y}, where)) return std::move(*result);
  }
  throw Fault{where, in_quotes(spelling(op)) + " is not defined between values of the types " + describe(a) + " and " +
                         describe(b)};
}

Value Flattener::operate(Operator op, const Value& a, const Value& b, const Location& where) {
  if (!is_operator_record(a) && !is_operator_record(b)) {
    const Value& wrong = a.type == TypeKind::record ? a : b;
    throw Fault{where, in_quotes(spelling(op)) + " needs numbers, not a value of type " + describe(wrong)};
  }
  if (a.is_scalar() && b.is_scalar()) return operate_scalars(op, a, b, where);
  charge(count(a.dims) + count(b.dims), where);
  const bool product = op == Operator::multiply && !a.is_scalar() && !b.is_scalar();
  if (product) {
    const ClassScope* record = (is_operator_record(a) ? a : b).record->type;
    if (auto result = call_operator(record, operator_name(op), {a, b}, where)) return std::move(*result);
    return matrix_product(a, b, where);
  }
  const bool by_element = op >= Operator::add_elementwise && op <= Operator::power_elementwise;
  const bool scales =
      (op == Operator::multiply && (a.is_scalar() || b.is_scalar())) || (op == Operator::divide && b.is_scalar());
  if (a.dims != b.dims && !((by_element || scales) && (a.is_scalar() || b.is_scalar())))
    throw Fault{where, in_quotes(spelling(op)) + " between values of the types " + describe(a) + " and " + describe(b) +
                           ": the sizes differ"};
  const Dims dims = a.is_scalar() ? b.dims : a.dims;
  std::vector<Value> items;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count(dims)); ++k)
    items.push_back(operate_scalars(op, a.is_scalar() ? a : a.at(k), b.is_scalar() ? b : b.at(k), where));
  return stacked(std::move(items), dims, where);
}

// Rows times columns, by the operators '*' and '+' of the record.
Value Flattener::matrix_product(const Value& a, const Value& b, const Location& where) {
  if (a.dims.size() > 2 || b.dims.size() > 2 || a.dims.back() != b.dims.front() || a.dims.back() == 0)
    throw Fault{where,
                "the product of " + describe(a) + " and " + describe(b) + " does not exist: the sizes do not fit"};
  const bool row = a.dims.size() == 1, column = b.dims.size() == 1;
  const auto rows = static_cast<std::size_t>(row ? 1 : a.dims[0]);
  const auto inner = static_cast<std::size_t>(a.dims.back());
  const auto columns = static_cast<std::size_t>(column ? 1 : b.dims[1]);
  charge(static_cast<std::int64_t>(rows * inner * columns), where);
  std::vector<Value> items;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      std::optional<Value> total;
      for (std::size_t k = 0; k < inner; ++k) {
        Value term = operate_scalars(Operator::multiply, a.at(i * inner + k), b.at(k * columns + j), where);
        total = total ? operate_scalars(Operator::add, *total, term, where) : std::move(term);
      }
      items.push_back(std::move(*total));
    }
  Dims dims;
  if (!row) dims.push_back(a.dims[0]);
  if (!column) dims.push_back(b.dims[1]);
  return dims.empty() ? std::move(items.front()) : stacked(std::move(items), dims, where);
}

Value Flattener::operate(Operator op, const Value& a, const Location& where) {
  if (!is_operator_record(a))
    throw Fault{where, in_quotes(spelling(op)) + " needs a number, not a value of type " + describe(a)};
  const auto one = [&](const Value& value) {
    auto result = call_operator(value.record->type, operator_name(op), {value}, where);
    if (!result) throw Fault{where, in_quotes(spelling(op)) + " is not defined for a value of type " + describe(value)};
    return std::move(*result);
  };
  if (op == Operator::add || op == Operator::add_elementwise) return a;
  if (a.is_scalar()) return one(a);
  std::vector<Value> items;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count(a.dims)); ++k) items.push_back(one(a.at(k)));
  return stacked(std::move(items), a.dims, where);
}

// sum(v) of operator records.
Value Flattener::sum_of_records(const Value& all, const Location& where) {
  std::optional<Value> total;
  for (std::size_t k = 0; k < static_cast<std::size_t>(count(all.dims)); ++k)
    total = total ? operate_scalars(Operator::add, *total, all.at(k), where) : all.at(k);
  if (!total) total = call_operator(all.record->type, "'0'", {}, where);
  if (!total) throw Fault{where, "the sum of an empty array of records is not defined"};
  return std::move(*total);
}

// Complex(1): the constructor functions of an operator record, before the constructor of all its fields.
std::optional<Value> Flattener::construct_operator_record(const ClassScope* record, const Call& call,
                                                          const Location& where, const Context& context) {
  for (const ClassScope* function : operator_functions(record, "'constructor'")) {
    std::size_t inputs = 0;
    bool fits = true;
    std::vector<std::string_view> names;
    for (const LayoutComponent& input : scopes_.layout(function).components) {
      if (input.direction != Direction::input) continue;
      names.push_back(input.name());
      const bool has_default = input.declaration->modification && input.declaration->modification->value;
      const bool given = inputs < call.arguments.size() && call.arguments[inputs].name.empty();
      const bool named = std::any_of(call.arguments.begin(), call.arguments.end(),
                                     [&](const Argument& argument) { return argument.name.text == input.name(); });
      fits = fits && (given || named || has_default);
      ++inputs;
    }
    for (const Argument& argument : call.arguments)
      if (!argument.name.empty() && std::find(names.begin(), names.end(), argument.name.text) == names.end())
        fits = false;
    if (!fits || call.arguments.size() > inputs) continue;
    std::vector<Value> results = call_function(function, call, where, context);
    if (results.size() == 1) return std::move(results.front());
  }
  return std::nullopt;
}

}  // namespace saltus::modelica
