// The range of `for i loop`: from 1 to the size of the dimension in which i is used as a subscript.
#include <functional>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

using Visit = std::function<void(const ComponentReference&)>;

void walk(ExprPtr expression, const Visit& visit);

void walk_all(const std::vector<ExprPtr>& expressions, const Visit& visit) {
  for (const ExprPtr expression : expressions)
    if (expression) walk(expression, visit);
}

void walk_arguments(const std::vector<Argument>& arguments, const Visit& visit) {
  for (const Argument& argument : arguments)
    if (argument.value) walk(argument.value, visit);
}

// Calls `visit` for every reference in an expression.
void walk(ExprPtr expression, const Visit& visit) {
  if (const auto* reference = expression->as<ComponentReference>()) {
    visit(*reference);
    for (const ReferencePart& part : reference->parts) walk_all(part.subscripts, visit);
  } else if (const auto* call = expression->as<Call>()) {
    walk_arguments(call->arguments, visit);
  } else if (const auto* partial = expression->as<FunctionPartial>()) {
    walk_arguments(partial->arguments, visit);
  } else if (const auto* array = expression->as<ArrayConstructor>()) {
    walk_all(array->elements, visit);
  } else if (const auto* matrix = expression->as<Matrix>()) {
    for (const auto& row : matrix->rows) walk_all(row, visit);
  } else if (const auto* tuple = expression->as<Tuple>()) {
    walk_all(tuple->elements, visit);
  } else if (const auto* subscripted = expression->as<Subscripted>()) {
    walk(subscripted->base, visit);
    walk_all(subscripted->subscripts, visit);
  } else if (const auto* range = expression->as<Range>()) {
    walk_all({range->start, range->step, range->stop}, visit);
  } else if (const auto* unary = expression->as<Unary>()) {
    walk(unary->operand, visit);
  } else if (const auto* binary = expression->as<Binary>()) {
    walk_all({binary->left, binary->right}, visit);
  } else if (const auto* chain = expression->as<Chain>()) {
    walk_all(chain->operands, visit);
  } else if (const auto* choice = expression->as<Conditional>()) {
    for (const ConditionalBranch& branch : choice->branches) walk_all({branch.condition, branch.value}, visit);
    walk_all({choice->otherwise}, visit);
  }
}

void walk(const std::vector<const Equation*>& equations, const Visit& visit) {
  for (const Equation* equation : equations) {
    const auto branches = [&](const auto& node) {
      for (const auto& branch : node.branches) {
        walk_all({branch.condition}, visit);
        walk(branch.body, visit);
      }
    };
    if (const auto* equality = equation->as<EqualityEquation>())
      walk_all({equality->lhs, equality->rhs}, visit);
    else if (const auto* connection = equation->as<ConnectEquation>())
      walk_all({connection->first, connection->second}, visit);
    else if (const auto* effect = equation->as<CallEquation>())
      walk(effect->call, visit);
    else if (const auto* loop = equation->as<ForEquation>())
      walk(loop->body, visit);
    else if (const auto* choice = equation->as<IfEquation>())
      branches(*choice);
    else if (const auto* when = equation->as<WhenEquation>())
      branches(*when);
  }
}

void walk(const std::vector<const Statement*>& statements, const Visit& visit) {
  for (const Statement* statement : statements) {
    const auto branches = [&](const auto& node) {
      for (const auto& branch : node.branches) {
        walk_all({branch.condition}, visit);
        walk(branch.body, visit);
      }
    };
    if (const auto* assignment = statement->as<Assignment>())
      walk_all({assignment->target, assignment->value}, visit);
    else if (const auto* tuple = statement->as<TupleAssignment>())
      walk_all({tuple->targets, tuple->call}, visit);
    else if (const auto* effect = statement->as<CallStatement>())
      walk(effect->call, visit);
    else if (const auto* loop = statement->as<ForStatement>())
      walk(loop->body, visit);
    else if (const auto* repeated = statement->as<WhileStatement>())
      walk(repeated->body, visit);
    else if (const auto* choice = statement->as<IfStatement>())
      branches(*choice);
    else if (const auto* when = statement->as<WhenStatement>())
      branches(*when);
  }
}

}  // namespace

Value Flattener::implied_range(const ForIndex& index, const LoopBody& body, const Context& context) {
  const std::string_view name = index.name.text;
  std::int64_t size = -1;
  const auto visit = [&](const ComponentReference& reference) {
    for (std::size_t part = 0; part < reference.parts.size(); ++part)
      for (std::size_t k = 0; k < reference.parts[part].subscripts.size(); ++k) {
        const auto* subscript = reference.parts[part].subscripts[k]->as<ComponentReference>();
        if (!subscript || subscript->parts.size() != 1 || subscript->parts[0].name.text != name) continue;
        ComponentReference whole = reference;
        whole.parts.resize(part + 1);
        whole.parts.back().subscripts.clear();
        const Expression expression{index.name.where, whole};
        const Dims dims = shape_of(&expression, context);
        if (k >= dims.size() || (size >= 0 && dims[k] != size))
          throw Fault{index.name.where,
                      "the range of '" + std::string(name) + "' does not follow from its use: the sizes differ",
                      "write 'in 1:n'"};
        size = dims[k];
      }
  };
  if (body.expression) walk(body.expression, visit);
  if (body.equations) walk(*body.equations, visit);
  if (body.statements) walk(*body.statements, visit);
  if (size < 0)
    throw Fault{index.name.where, "the range of '" + std::string(name) + "' is not given", "write 'in 1:n'"};
  charge(size, index.name.where);
  Value range = Value::array(TypeKind::integer, {size});
  for (std::int64_t k = 1; k <= size; ++k) range.elements.emplace_back(static_cast<double>(k));
  return range;
}

}  // namespace saltus::modelica
