// Operators, conditionals, array constructors: from a syntax tree to a value.
#include <algorithm>
#include <cmath>

#include <saltus/expr/print.hpp>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

// The operator without its dot.
Operator plain(Operator op) {
  if (op >= Operator::add_elementwise && op <= Operator::power_elementwise)
    return static_cast<Operator>(static_cast<int>(op) - static_cast<int>(Operator::add_elementwise));
  return op;
}

bool is_elementwise(Operator op) {
  return op >= Operator::add_elementwise && op <= Operator::power_elementwise;
}

Expr combine(Operator op, const Expr& a, const Expr& b) {
  switch (op) {
    case Operator::add:
      return a + b;
    case Operator::subtract:
      return a - b;
    case Operator::multiply:
      return a * b;
    case Operator::divide:
      return a / b;
    default:
      return pow(a, b);
  }
}

/// A loop that doubles a text would fill the memory long before it has taken many operations.
void check_length(const Value& a, const Value& b, const Location& where) {
  constexpr std::size_t longest = 1'000'000;
  if (a.text.size() + b.text.size() > longest)
    throw Fault{where, "a text has more than " + std::to_string(longest) + " characters",
                "check how often the loop around it adds to it"};
}

Value strings_joined(const Value& a, const Value& b, const Location& where) {
  check_length(a, b, where);
  Value result = Value::string(a.text + b.text);
  result.variability = join(a.variability, b.variability);
  return result;
}

// Conditions under which expressions are evaluated while it lives, after those that there are.
class InnerPath {
 public:
  explicit InnerPath(std::vector<BoolExpr>& path) : path_(path), size_(path.size()) {}
  ~InnerPath() { path_.resize(size_, true); }
  InnerPath(const InnerPath&) = delete;
  InnerPath& operator=(const InnerPath&) = delete;

  void add(const BoolExpr& condition) { path_.push_back(condition); }

 private:
  std::vector<BoolExpr>& path_;
  std::size_t size_;
};

}  // namespace

Value Flattener::eval(ExprPtr expression, const Context& context) {
  const Deeper deeper(*this, expression->where);
  charge(1, expression->where);
  const Location& where = expression->where;
  if (!lifted_.empty())
    if (const auto it = lifted_.find(expression); it != lifted_.end())
      return {TypeKind::real, Variability::discrete, it->second};
  if (const auto* reference = expression->as<ComponentReference>()) return eval_reference(*reference, where, context);
  if (const auto* literal = expression->as<RealLiteral>()) return Value::real(literal->value);
  if (const auto* literal = expression->as<IntegerLiteral>()) return Value::integer(literal->value);
  if (const auto* chain = expression->as<Chain>()) return eval_chain(*chain, where, context);
  if (const auto* binary = expression->as<Binary>()) return eval_binary(*binary, where, context);
  if (const auto* unary = expression->as<Unary>()) return eval_unary(*unary, where, context);
  if (const auto* call = expression->as<Call>()) return eval_call(*call, where, context);
  if (const auto* choice = expression->as<Conditional>()) return eval_conditional(*choice, where, context);
  if (const auto* literal = expression->as<BooleanLiteral>()) return Value::boolean(literal->value);
  if (const auto* literal = expression->as<StringLiteral>()) return Value::string(std::string(literal->value));
  if (const auto* array = expression->as<ArrayConstructor>()) return eval_constructor(*array, where, context);
  if (const auto* matrix = expression->as<Matrix>()) return eval_matrix(*matrix, where, context);
  if (const auto* range = expression->as<Range>()) return eval_range(*range, where, context);
  if (const auto* subscripted = expression->as<Subscripted>())
    return subscript(eval(subscripted->base, context), subscripted->subscripts, context, where,
                     print(subscripted->base));
  if (expression->as<EndLiteral>()) {
    if (context.end < 0) throw Fault{where, "'end' has a meaning inside of subscripts only"};
    return Value::integer(context.end);
  }
  if (const auto* tuple = expression->as<Tuple>(); tuple && tuple->elements.size() == 1 && tuple->elements[0])
    return eval(tuple->elements[0], context);
  if (expression->as<FunctionPartial>())
    throw Fault{where, "a function can be an argument here only where an input of the called function is a function"};
  throw Fault{where, "'" + print(expression) + "' is not a value"};
}

Value Flattener::eval_scalar(ExprPtr expression, const Context& context, std::string_view what) {
  Value value = eval(expression, context);
  if (!value.is_scalar())
    throw Fault{expression->where, std::string(what) + " must be a scalar, not a value of type " + describe(value)};
  return value;
}

Expr Flattener::eval_real(ExprPtr expression, const Context& context) {
  const Value value = eval_scalar(expression, context, "this value");
  if (!value.is_numeric())
    throw Fault{expression->where, "a number is expected here, not a value of type " + describe(value)};
  return value.scalar();
}

BoolExpr Flattener::eval_boolean(ExprPtr expression, const Context& context) {
  const Value value = eval_scalar(expression, context, "the condition");
  if (value.type != TypeKind::boolean)
    throw Fault{expression->where, "a condition must be a Boolean, not a value of type " + describe(value)};
  return value.truth();
}

Value Flattener::eval_unary(const Unary& node, const Location& where, const Context& context) {
  Value value = eval(node.operand, context);
  if (node.op == Operator::logical_not) {
    if (value.type != TypeKind::boolean)
      throw Fault{where, "'not' needs a Boolean, not a value of type " + describe(value)};
    for (Expr& e : value.elements) e = (!BoolExpr(e)).expr();
    return value;
  }
  if (value.type == TypeKind::record) return operate(node.op, value, where);
  if (!value.is_numeric())
    throw Fault{where,
                "'" + std::string(spelling(node.op)) + "' needs a number, not a value of type " + describe(value)};
  if (plain(node.op) == Operator::subtract)
    for (Expr& e : value.elements) e = -e;
  return value;
}

Value Flattener::eval_binary(const Binary& node, const Location& where, const Context& context) {
  const Value a = eval(node.left, context), b = eval(node.right, context);
  if (node.op >= Operator::less && node.op <= Operator::not_equal) {
    if (node.op >= Operator::equal && !context.frame && (a.type == TypeKind::real || b.type == TypeKind::real) &&
        join(a.variability, b.variability) < Variability::parameter)
      throw Fault{
          where,
          "'" + std::string(spelling(node.op)) + "' between Reals is hit by chance only and not allowed in models",
          "compare with <, <=, > or >=, or with a tolerance: abs(a - b) < eps"};
    Value result = relation(node.op, a, b, where);
    note_text(result, context, [&](const auto& name_of) {
      return print(node.left, name_of) + " " + std::string(spelling(node.op)) + " " + print(node.right, name_of);
    });
    return result;
  }
  return arithmetic(node.op, a, b, where);
}

bool Flattener::keeps_texts(const Context& context) const {
  // Passes of loops, and elements of large arrays of components, may stand for many: their texts are made of
  // operations, whether they are kept or written out.
  if (context.frame || context.locals || kept_ || !prototypes_.empty() || !lifted_.empty()) return false;
  for (Instance* i = context.instance; i && i->parent; i = i->parent) {
    if (!i->path.ends_with(']')) continue;
    const std::size_t begin = i->parent->path.empty() ? 0 : i->parent->path.size() + 1;
    const std::string_view name = std::string_view(i->path).substr(begin, i->path.find('[', begin) - begin);
    const Component* const array = i->parent->find(name);
    if (!array || is_large(array->dims)) return false;
  }
  return true;
}

std::string Flattener::flat_name(std::string_view name, const Context& context) {
  for (const Locals* local = context.locals; local; local = local->outer)
    if (local->name == name)
      return local->value.is_scalar() && local->value.type != TypeKind::record && local->value.scalar().is_constant() &&
                     local->value.type != TypeKind::enumeration
                 ? number_text(local->value.scalar().constant_value())
                 : "";
  const Component* component = own_component(name, context);
  return component ? component->path : "";
}

/// Conditions keep the text of the model, for events and messages: parameters that are numbers, functions, literals.
void Flattener::note_text(const Value& relation, const Context& context, const WriteText& write) {
  if (!keeps_texts(context) || !relation.is_scalar() || relation.variability >= Variability::parameter) return;
  const Expr& e = relation.scalar();
  if (e.is_constant() || e.is_symbol()) return;
  Graph& graph = *e.graph();
  if (graph.text_of(e.id())) return;
  constexpr std::size_t longest = 200;
  std::string text = write([&](std::string_view name) { return flat_name(name, context); });
  if (text.size() > longest) return;
  graph.note_written(e.id());
  graph.set_text(e.id(), std::move(text));
}

Value Flattener::eval_chain(const Chain& node, const Location& where, const Context& context) {
  Value result = eval(node.operands[0], context);
  for (std::size_t k = 0; k < node.operators.size(); ++k) {
    const Operator op = node.operators[k];
    if (op != Operator::logical_and && op != Operator::logical_or) {
      result = arithmetic(op, result, eval(node.operands[k + 1], context),
                          span(node.operands[0]->where, node.operands[k + 1]->where));
      continue;
    }
    const auto check = [&](const Value& value, ExprPtr operand) {
      if (value.type != TypeKind::boolean)
        throw Fault{operand->where,
                    "'" + std::string(spelling(op)) + "' needs Booleans, not a value of type " + describe(value)};
    };
    if (k == 0) check(result, node.operands[0]);
    // what follows from constants alone need not be evaluated; it may not even make sense
    if (result.is_scalar() && result.scalar().is_constant() &&
        (result.scalar().constant_value() != 0.0) == (op == Operator::logical_or))
      return result;
    const Value next = eval(node.operands[k + 1], context);
    check(next, node.operands[k + 1]);
    if (result.dims != next.dims)
      throw Fault{where, "'" + std::string(spelling(op)) + "' between values of the types " + describe(result) +
                             " and " + describe(next)};
    for (std::size_t n = 0; n < result.elements.size(); ++n) {
      const BoolExpr x(result.elements[n]), y(next.elements[n]);
      result.elements[n] = (op == Operator::logical_and ? x && y : x || y).expr();
    }
    result.variability = join(result.variability, next.variability);
  }
  return result;
}

Value Flattener::arithmetic(Operator op, const Value& a, const Value& b, const Location& where) {
  if (op == Operator::add && a.type == TypeKind::string && b.type == TypeKind::string)
    return strings_joined(a, b, where);
  if (a.type == TypeKind::record || b.type == TypeKind::record) return operate(op, a, b, where);
  if (!a.is_numeric() || !b.is_numeric()) {
    const Value& wrong = a.is_numeric() ? b : a;
    throw Fault{where, "'" + std::string(spelling(op)) + "' needs numbers, not a value of type " + describe(wrong),
                wrong.type == TypeKind::boolean ? "write 'if b then 1 else 0'" : ""};
  }
  charge(static_cast<std::int64_t>(std::max(a.elements.size(), b.elements.size())), where);
  if (is_elementwise(op)) {
    Value result = elementwise(plain(op), a, b, where);
    if (!actual_streams_.empty()) join_actual_streams(result);
    return result;
  }
  switch (op) {
    case Operator::multiply:
      if (!a.is_scalar() && !b.is_scalar() && b.dims.size() == 2)
        charge(static_cast<std::int64_t>(a.elements.size()) * b.dims[1], where);
      {
        Value result = product(a, b, where);
        if (!actual_streams_.empty()) join_actual_streams(result);
        return result;
      }
    case Operator::divide:
      if (!b.is_scalar())
        throw Fault{where, "a value of type " + describe(a) + " cannot be divided by one of type " + describe(b),
                    "write ./ for division element by element"};
      break;
    case Operator::power:
      if (!b.is_scalar())
        throw Fault{where, "an exponent must be a scalar, not a value of type " + describe(b),
                    "write .^ for powers element by element"};
      if (!a.is_scalar()) {
        if (a.dims.size() != 2 || a.dims[0] != a.dims[1])
          throw Fault{where, "only square matrices have powers, not a value of type " + describe(a),
                      "write .^ for powers element by element"};
        const std::int64_t n = integer(b, where, "the exponent of a matrix");
        if (n < 0 || n > 1000) throw Fault{where, "the exponent of a matrix must lie between 0 and 1000"};
        Value result = Value::array(a.type, a.dims);
        for (std::int64_t i = 0; i < a.dims[0] * a.dims[0]; ++i)
          result.elements.emplace_back(i % (a.dims[0] + 1) == 0 ? 1.0 : 0.0);
        for (std::int64_t k = 0; k < n; ++k) result = arithmetic(Operator::multiply, result, a, where);
        return result;
      }
      break;
    default:
      if (a.dims != b.dims)
        throw Fault{where,
                    "'" + std::string(spelling(op)) + "' between values of the types " + describe(a) + " and " +
                        describe(b) + ": the sizes differ",
                    a.is_scalar() || b.is_scalar()
                        ? "write ." + std::string(spelling(op)) + " to combine a scalar with every element"
                        : ""};
  }
  return elementwise(op, a, b, where);
}

Value Flattener::elementwise(Operator op, const Value& a, const Value& b, const Location& where) {
  if (!a.is_scalar() && !b.is_scalar() && a.dims != b.dims)
    throw Fault{where,
                "values of the types " + describe(a) + " and " + describe(b) + " are combined: the sizes differ"};
  TypeKind type = common_type(a, b, where);
  if (op == Operator::divide || op == Operator::power) type = TypeKind::real;
  Value result = Value::array(type, a.is_scalar() ? b.dims : a.dims, join(a.variability, b.variability));
  const std::size_t size = a.is_scalar() ? b.elements.size() : a.elements.size();
  result.elements.reserve(size);
  for (std::size_t k = 0; k < size; ++k)
    result.elements.push_back(
        combine(op, a.is_scalar() ? a.scalar() : a.elements[k], b.is_scalar() ? b.scalar() : b.elements[k]));
  return result;
}

Value Flattener::relation(Operator op, const Value& a, const Value& b, const Location& where) {
  if (a.type == TypeKind::record || b.type == TypeKind::record) return operate(op, a, b, where);
  if (!a.is_scalar() || !b.is_scalar())
    throw Fault{where, "'" + std::string(spelling(op)) + "' compares scalars, not values of the types " + describe(a) +
                           " and " + describe(b)};
  if (a.type == TypeKind::string && b.type == TypeKind::string && op >= Operator::equal &&
      join(a.variability, b.variability) < Variability::parameter)
    throw Fault{where, "texts of variables cannot be compared: they are not known when the model is read",
                "compare the variables themselves"};
  if (a.type == TypeKind::string && b.type == TypeKind::string && op >= Operator::equal)
    return Value::boolean((a.text == b.text) == (op == Operator::equal));
  const TypeKind type = common_type(a, b, where);
  if (type == TypeKind::string || type == TypeKind::record)
    throw Fault{where, "values of type " + describe(a) + " cannot be compared"};
  const Expr &x = a.scalar(), &y = b.scalar();
  BoolExpr result;
  switch (op) {
    case Operator::less:
      result = type == TypeKind::boolean ? !BoolExpr(x) && BoolExpr(y) : x < y;
      break;
    case Operator::less_equal:
      result = type == TypeKind::boolean ? !BoolExpr(x) || BoolExpr(y) : x <= y;
      break;
    case Operator::greater:
      result = type == TypeKind::boolean ? BoolExpr(x) && !BoolExpr(y) : x > y;
      break;
    case Operator::greater_equal:
      result = type == TypeKind::boolean ? BoolExpr(x) || !BoolExpr(y) : x >= y;
      break;
    default:
      result = type == TypeKind::boolean ? if_else(BoolExpr(x), BoolExpr(y), !BoolExpr(y)) : saltus::equal(x, y);
      if (op == Operator::not_equal) result = !result;
  }
  const Variability how = join(a.variability, b.variability);
  // a relation between parameters never changes: it needs no guard
  if (how >= Variability::parameter) result = no_event(result);
  return {TypeKind::boolean, std::max(how, Variability::discrete), result.expr()};
}

Value Flattener::choose(const Value& condition, const Value& then, const Value& otherwise, const Location& where) {
  const Variability how = join(condition.variability, join(then.variability, otherwise.variability));
  if (then.type == TypeKind::record) {
    if (otherwise.type != TypeKind::record || then.record->fields.size() != otherwise.record->fields.size() ||
        then.dims != otherwise.dims)
      throw Fault{where, "the branches have the types " + describe(then) + " and " + describe(otherwise)};
    Value result = then;
    auto fields = std::make_shared<RecordFields>();
    fields->type = then.record->type;
    for (std::size_t k = 0; k < then.record->fields.size(); ++k)
      fields->fields.emplace_back(then.record->fields[k].first, choose(condition, then.record->fields[k].second,
                                                                       otherwise.record->fields[k].second, where));
    result.record = std::move(fields);
    result.variability = how;
    return result;
  }
  if (then.is_unset() && otherwise.is_unset()) return then;
  if (then.is_unset() || otherwise.is_unset() || then.set_if || otherwise.set_if) {
    const auto is_set = [](const Value& value) {
      return value.is_unset() ? BoolExpr(false) : value.set_if.value_or(true);
    };
    const BoolExpr c = condition.truth();
    const BoolExpr set_if = (c && is_set(then)) || (!c && is_set(otherwise));
    Value result = then.is_unset() ? otherwise : then;
    if (!then.is_unset() && !otherwise.is_unset()) {
      Value a = then, b = otherwise;
      a.set_if.reset();
      b.set_if.reset();
      result = choose(condition, a, b, where);
    }
    result.variability = how;
    const bool always = set_if.expr().is_constant() && set_if.expr().constant_value() != 0.0;
    result.set_if = always ? std::nullopt : std::optional(set_if);
    return result;
  }
  const TypeKind type = common_type(then, otherwise, where);
  if (then.dims != otherwise.dims)
    throw Fault{where,
                "the branches have the types " + describe(then) + " and " + describe(otherwise) + ": the sizes differ"};
  if (type == TypeKind::string) {
    if (then.text == otherwise.text) return then;
    if (condition.variability >= Variability::parameter)
      return number(condition, where, "the condition") != 0.0 ? then : otherwise;
    check_length(then, otherwise, where);
    Value either = Value::string(then.text + "|" + otherwise.text);
    either.variability = Variability::discrete;
    return either;
  }
  Value result = then;
  result.type = type;
  result.variability = how;
  const BoolExpr c = condition.truth();
  for (std::size_t k = 0; k < result.elements.size(); ++k) {
    if (type == TypeKind::boolean)
      result.elements[k] = if_else(c, BoolExpr(then.elements[k]), BoolExpr(otherwise.elements[k])).expr();
    else
      result.elements[k] = if_else(c, then.elements[k], otherwise.elements[k]);
  }
  return result;
}

Value Flattener::eval_conditional(const Conditional& node, const Location& where, const Context& context) {
  // from the last branch to the first, but a branch whose condition is known to be false is not evaluated
  struct Part {
    Value condition, value;
  };
  std::vector<Part> parts;
  std::optional<Value> rest;
  InnerPath behind(path_conditions_);  // the branches that are not taken
  // empty where the branch makes no sense, or needs what is being found: parameters then decide before it is read
  const auto eval_if_possible = [&](const auto& work) -> std::optional<Value> {
    struct Open {
      int& count;
      explicit Open(int& open) : count(++open) {}
      ~Open() { --count; }
    } open(open_choices_);
    try {
      return work();
    } catch (const Fault&) {
    } catch (const Circular&) {
    }
    return std::nullopt;
  };
  const auto eval_branch = [&](const Value& condition, ExprPtr value) {
    InnerPath inside(path_conditions_);
    inside.add(BoolExpr(condition.scalar()));
    return eval(value, context);
  };
  for (const auto& branch : node.branches) {
    Value condition = eval_scalar(branch.condition, context, "the condition");
    if (condition.type != TypeKind::boolean)
      throw Fault{branch.condition->where, "a condition must be a Boolean, not a value of type " + describe(condition)};
    if (!condition.scalar().is_constant() && condition.variability >= Variability::parameter) {
      // parameters decide: where a branch makes no sense for the others, they are part of the structure
      if (auto value = eval_if_possible([&] { return eval_branch(condition, branch.value); })) {
        parts.push_back({condition, std::move(*value)});
        behind.add(!BoolExpr(condition.scalar()));
        continue;
      }
      condition = Value::boolean(number(condition, branch.condition->where, "the condition") != 0.0);
    }
    if (condition.scalar().is_constant()) {
      if (condition.scalar().constant_value() == 0.0) continue;
      rest = eval(branch.value, context);
      break;
    }
    parts.push_back({condition, eval_branch(condition, branch.value)});
    behind.add(!BoolExpr(condition.scalar()));
  }
  if (!rest) {
    const bool by_parameters = !parts.empty() && std::all_of(parts.begin(), parts.end(), [](const Part& part) {
      return part.condition.variability >= Variability::parameter;
    });
    if (by_parameters) {
      rest = eval_if_possible([&] { return eval(node.otherwise, context); });
      if (!rest || rest->dims != parts.front().value.dims) {
        for (const Part& part : parts)
          if (number(part.condition, where, "the condition") != 0.0) return part.value;
        return eval(node.otherwise, context);
      }
    } else {
      rest = eval(node.otherwise, context);
    }
  }
  for (std::size_t k = parts.size(); k-- > 0;) rest = choose(parts[k].condition, parts[k].value, *rest, where);
  return std::move(*rest);
}

Value Flattener::eval_constructor(const ArrayConstructor& node, const Location& where, const Context& context) {
  if (!node.iterators.empty())
    return iterate(node.iterators, node.iterators.size(), node.elements.front(), where, context);
  if (node.elements.empty()) throw Fault{where, "an empty array needs a type", "write fill(0, 0) or zeros(0)"};
  std::vector<Value> items;
  items.reserve(node.elements.size());
  for (const ExprPtr element : node.elements) items.push_back(eval(element, context));
  charge(static_cast<std::int64_t>(items.size() * std::max<std::size_t>(1, items.front().elements.size())), where);
  return stack(std::move(items), where);
}

Value Flattener::eval_matrix(const Matrix& node, const Location& where, const Context& context) {
  std::vector<Value> rows;
  for (const auto& row : node.rows) {
    std::vector<Value> items;
    for (const ExprPtr element : row) {
      Value item = eval(element, context);
      // scalars and vectors are columns
      while (item.dims.size() < 2) item.dims.push_back(1);
      items.push_back(std::move(item));
    }
    if (items.empty()) throw Fault{where, "a matrix needs elements"};
    rows.push_back(concatenate(1, items, where));
  }
  return concatenate(0, rows, where);
}

Value Flattener::eval_range(const Range& node, const Location& where, const Context& context) {
  const Value start = eval_scalar(node.start, context, "the start of a range");
  const Value stop = eval_scalar(node.stop, context, "the end of a range");
  const Value step = node.step ? eval_scalar(node.step, context, "the step of a range") : Value::integer(1);
  const bool whole =
      start.type == TypeKind::integer && stop.type == TypeKind::integer && step.type == TypeKind::integer;
  const bool enumerated = start.type == TypeKind::enumeration && stop.type == TypeKind::enumeration;
  const bool truth = start.type == TypeKind::boolean && stop.type == TypeKind::boolean;
  if (!enumerated && !truth && (!start.is_numeric() || !stop.is_numeric() || !step.is_numeric()))
    throw Fault{where, "a range needs numbers, not values of the types " + describe(start) + " and " + describe(stop)};
  const double first = number(start, node.start->where, "the start of a range");
  const double last = number(stop, node.stop->where, "the end of a range");
  const double by = number(step, node.step ? node.step->where : where, "the step of a range");
  if (by == 0.0) throw Fault{node.step->where, "the step of a range must not be 0"};
  const double steps = std::floor((last - first) / by * (1.0 + 1e-14) + (whole ? 0.0 : 1e-12));
  if (!(steps < static_cast<double>(limits_.scalars)))
    throw Fault{where, "the range has more than " + std::to_string(limits_.scalars) + " elements"};
  const std::int64_t size = steps < 0.0 ? 0 : static_cast<std::int64_t>(steps) + 1;
  charge(size, where);
  Value result = Value::array(whole        ? TypeKind::integer
                              : enumerated ? TypeKind::enumeration
                              : truth      ? TypeKind::boolean
                                           : TypeKind::real,
                              {size});
  result.enumeration = start.enumeration;
  result.elements.reserve(static_cast<std::size_t>(size));
  for (std::int64_t k = 0; k < size; ++k) result.elements.emplace_back(first + by * static_cast<double>(k));
  return result;
}

Value Flattener::range_of(const ForIndex& index, const LoopBody& body, const Context& context) {
  if (!index.range) return implied_range(index, body, context);
  if (const auto* reference = index.range->as<ComponentReference>(); reference && !reference->global) {
    Name name;
    for (const auto& part : reference->parts) name.parts.push_back(part.name);
    if (reference->parts.size() == 1 && name.parts[0].text == "Boolean") {
      Value both = Value::array(TypeKind::boolean, {2});
      both.elements = {Expr(0.0), Expr(1.0)};
      return both;
    }
    const bool is_component = own_component(name.parts[0].text, context) != nullptr;
    const ClassScope* cls = is_component ? nullptr : scopes_.find(name, context.lexical);
    if (cls && cls->definition->as<Enumeration>()) {
      const auto size = static_cast<std::int64_t>(cls->definition->as<Enumeration>()->literals.size());
      Value all = Value::array(TypeKind::enumeration, {size});
      all.enumeration = cls;
      for (std::int64_t k = 1; k <= size; ++k) all.elements.emplace_back(static_cast<double>(k));
      return all;
    }
  }
  Value range = eval(index.range, context);
  if (range.dims.size() != 1)
    throw Fault{index.range->where, "a loop runs over a vector, not over a value of type " + describe(range)};
  return range;
}

// {e for i in r, j in s}: the last iterator is the outermost dimension. `level` iterators are still open.
Value Flattener::iterate(const std::vector<ForIndex>& iterators, std::size_t level, ExprPtr body, const Location& where,
                         const Context& context) {
  if (level == 0) return eval(body, context);
  const ForIndex& index = iterators[level - 1];
  const Value range = range_of(index, {.expression = body}, context);
  std::vector<Value> items;
  items.reserve(range.elements.size());
  Context inner = context;
  Locals local{index.name.text, {}, context.locals};
  inner.locals = &local;
  for (std::size_t k = 0; k < range.elements.size(); ++k) {
    local.value = range.at(k);
    items.push_back(iterate(iterators, level - 1, body, where, inner));
  }
  if (items.empty()) return Value::array(TypeKind::real, {0});
  charge(static_cast<std::int64_t>(items.size() * std::max<std::size_t>(1, items.front().elements.size())), where);
  return stack(std::move(items), where);
}

}  // namespace saltus::modelica
