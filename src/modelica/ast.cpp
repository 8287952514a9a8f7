#include "ast.hpp"

#include <algorithm>
#include <array>

namespace saltus::modelica {
namespace {

bool same(const std::vector<ExprPtr>& a, const std::vector<ExprPtr>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](ExprPtr x, ExprPtr y) { return modelica::same(x, y); });
}

bool same(const Name& a, const Name& b) {
  return a.global == b.global && std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                                            [](const auto& x, const auto& y) { return x.text == y.text; });
}

bool same(const ComponentReference& a, const ComponentReference& b) {
  return a.global == b.global &&
         std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(), [](const auto& x, const auto& y) {
           return x.name.text == y.name.text && same(x.subscripts, y.subscripts);
         });
}

bool same(const std::vector<ForIndex>& a, const std::vector<ForIndex>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.name.text == y.name.text && modelica::same(x.range, y.range);
  });
}

bool same(const std::vector<Argument>& a, const std::vector<Argument>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.name.text == y.name.text && modelica::same(x.value, y.value);
  });
}

// One overload per kind of node; both arguments are of that kind.
struct SameNode {
  ExprPtr other;

  template <class Node>
  const Node& of() const {
    return *other->as<Node>();
  }

  bool operator()(const IntegerLiteral& a) const { return a.value == of<IntegerLiteral>().value; }
  bool operator()(const RealLiteral& a) const { return a.value == of<RealLiteral>().value; }
  bool operator()(const StringLiteral& a) const { return a.value == of<StringLiteral>().value; }
  bool operator()(const BooleanLiteral& a) const { return a.value == of<BooleanLiteral>().value; }
  bool operator()(const EndLiteral&) const { return true; }
  bool operator()(const WholeDimension&) const { return true; }
  bool operator()(const ComponentReference& a) const { return same(a, of<ComponentReference>()); }
  bool operator()(const Call& a) const {
    const auto& b = of<Call>();
    return same(a.callee, b.callee) && same(a.arguments, b.arguments) && same(a.iterators, b.iterators);
  }
  bool operator()(const FunctionPartial& a) const {
    const auto& b = of<FunctionPartial>();
    return same(a.function, b.function) && same(a.arguments, b.arguments);
  }
  bool operator()(const ArrayConstructor& a) const {
    const auto& b = of<ArrayConstructor>();
    return same(a.elements, b.elements) && same(a.iterators, b.iterators);
  }
  bool operator()(const Matrix& a) const {
    const auto& b = of<Matrix>();
    return std::equal(a.rows.begin(), a.rows.end(), b.rows.begin(), b.rows.end(),
                      [](const auto& x, const auto& y) { return same(x, y); });
  }
  bool operator()(const Tuple& a) const { return same(a.elements, of<Tuple>().elements); }
  bool operator()(const Subscripted& a) const {
    const auto& b = of<Subscripted>();
    return modelica::same(a.base, b.base) && same(a.subscripts, b.subscripts);
  }
  bool operator()(const Range& a) const {
    const auto& b = of<Range>();
    return modelica::same(a.start, b.start) && modelica::same(a.step, b.step) && modelica::same(a.stop, b.stop);
  }
  bool operator()(const Unary& a) const {
    const auto& b = of<Unary>();
    return a.op == b.op && modelica::same(a.operand, b.operand);
  }
  bool operator()(const Binary& a) const {
    const auto& b = of<Binary>();
    return a.op == b.op && modelica::same(a.left, b.left) && modelica::same(a.right, b.right);
  }
  bool operator()(const Chain& a) const {
    const auto& b = of<Chain>();
    return a.operators == b.operators && same(a.operands, b.operands);
  }
  bool operator()(const Conditional& a) const {
    const auto& b = of<Conditional>();
    return modelica::same(a.otherwise, b.otherwise) &&
           std::equal(a.branches.begin(), a.branches.end(), b.branches.begin(), b.branches.end(),
                      [](const auto& x, const auto& y) {
                        return modelica::same(x.condition, y.condition) && modelica::same(x.value, y.value);
                      });
  }
};

}  // namespace

bool same(ExprPtr a, ExprPtr b) {
  if (a == b) return true;
  if (!a || !b || a->node.index() != b->node.index()) return false;
  return std::visit(SameNode{b}, a->node);
}

std::string_view spelling(Operator op) {
  constexpr std::array<std::string_view, 19> texts{"+", "-",  "*", "/",  "^",  ".+", ".-",  ".*", "./", ".^",
                                                   "<", "<=", ">", ">=", "==", "<>", "and", "or", "not"};
  return texts[static_cast<std::size_t>(op)];
}

std::string_view spelling(ClassKind kind) {
  constexpr std::array<std::string_view, 12> texts{"class",
                                                   "model",
                                                   "block",
                                                   "package",
                                                   "function",
                                                   "operator function",
                                                   "record",
                                                   "operator record",
                                                   "type",
                                                   "connector",
                                                   "expandable connector",
                                                   "operator"};
  return texts[static_cast<std::size_t>(kind)];
}

const ModificationArgument* Modification::find(std::string_view name) const {
  for (const auto& argument : arguments)
    if (argument.is_plain() && argument.name.parts.size() == 1 && argument.name.parts[0].text == name) return &argument;
  return nullptr;
}

}  // namespace saltus::modelica
