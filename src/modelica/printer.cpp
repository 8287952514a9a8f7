#include "printer.hpp"

#include "lexer.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace saltus::modelica {
namespace {

// How tightly an expression binds; an operand that binds less than its place asks for gets parentheses. The levels are
// the productions of the grammar.
enum class Level {
  expression,
  simple,
  logical,
  logical_term,
  logical_factor,
  relation,
  arithmetic,
  term,
  factor,
  primary
};

Level tighter(Level level) {
  return static_cast<Level>(static_cast<int>(level) + 1);
}

bool is_sum(Operator op) {
  return op == Operator::add || op == Operator::subtract || op == Operator::add_elementwise ||
         op == Operator::subtract_elementwise;
}

Level level_of(Operator op) {
  if (op == Operator::logical_or) return Level::logical;
  if (op == Operator::logical_and) return Level::logical_term;
  if (op == Operator::logical_not) return Level::logical_factor;
  if (op == Operator::power || op == Operator::power_elementwise) return Level::factor;
  if (is_sum(op)) return Level::arithmetic;
  if (op >= Operator::less && op <= Operator::not_equal) return Level::relation;
  return Level::term;
}

Level level_of(ExprPtr expression) {
  if (expression->as<Conditional>()) return Level::expression;
  if (expression->as<Range>()) return Level::simple;
  if (const auto* node = expression->as<Chain>()) return level_of(node->operators.front());
  if (const auto* node = expression->as<Binary>()) return level_of(node->op);
  if (const auto* node = expression->as<Unary>()) return level_of(node->op);
  return Level::primary;
}

class Printer {
 public:
  std::string text;
  const std::function<std::string(std::string_view)>* name_of = nullptr;  // null: names stay

  void put(ExprPtr expression, Level least) {
    if (!expression) return;
    const bool parentheses = level_of(expression) < least;
    if (parentheses) text += '(';
    std::visit(*this, expression->node);
    if (parentheses) text += ')';
  }

  void list(const std::vector<ExprPtr>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text += ", ";
      put(items[i], Level::expression);
    }
  }

  void operator()(const IntegerLiteral& node) { text += std::to_string(node.value); }
  void operator()(const RealLiteral& node) {
    if (!node.text.empty()) {
      text += node.text;
      // "2." before an operator would read as an elementwise one.
      if (text.back() == '.') text += '0';
      return;
    }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), node.value).ptr;
    const std::string_view shortest(digits.data(), static_cast<std::size_t>(end - digits.data()));
    text += shortest;
    if (shortest.find_first_of(".e") == std::string_view::npos) text += ".0";
  }
  void operator()(const StringLiteral& node) { text += encode_string(node.value); }
  void operator()(const BooleanLiteral& node) { text += node.value ? "true" : "false"; }
  void operator()(const EndLiteral&) { text += "end"; }
  void operator()(const WholeDimension&) { text += ":"; }
  void operator()(const ComponentReference& node) {
    if (node.global) text += '.';
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      if (i > 0) text += '.';
      const std::string other = i == 0 && name_of && !node.global ? (*name_of)(node.parts[i].name.text) : "";
      text += other.empty() ? std::string(node.parts[i].name.text) : other;
      if (!node.parts[i].subscripts.empty()) subscripts(node.parts[i].subscripts);
    }
  }
  void operator()(const Call& node) {
    (*this)(node.callee);
    text += '(';
    arguments(node.arguments);
    iterators(node.iterators);
    text += ')';
  }
  void operator()(const FunctionPartial& node) {
    text += "function " + print(node.function) + "(";
    arguments(node.arguments);
    text += ')';
  }
  void operator()(const ArrayConstructor& node) {
    text += '{';
    list(node.elements);
    iterators(node.iterators);
    text += '}';
  }
  void operator()(const Matrix& node) {
    text += '[';
    for (std::size_t i = 0; i < node.rows.size(); ++i) {
      if (i > 0) text += "; ";
      list(node.rows[i]);
    }
    text += ']';
  }
  void operator()(const Tuple& node) {
    text += '(';
    list(node.elements);
    text += ')';
  }
  void operator()(const Subscripted& node) {
    const bool parentheses = !node.base->as<Tuple>();  // a tuple brings its own
    if (parentheses) text += '(';
    put(node.base, Level::expression);
    if (parentheses) text += ')';
    subscripts(node.subscripts);
  }
  void operator()(const Range& node) {
    put(node.start, Level::logical);
    text += ':';
    if (node.step) {
      put(node.step, Level::logical);
      text += ':';
    }
    put(node.stop, Level::logical);
  }
  void operator()(const Unary& node) {
    text += spelling(node.op);
    if (node.op == Operator::logical_not) text += ' ';
    put(node.operand, tighter(level_of(node.op)));
  }
  void operator()(const Binary& node) {
    const Level level = level_of(node.op);
    const bool spaced = level == Level::relation;
    put(node.left, tighter(level));
    separate(node.op, spaced);
    put(node.right, tighter(level));
  }
  void operator()(const Chain& node) {
    const Level level = level_of(node.operators.front());
    for (std::size_t i = 0; i < node.operands.size(); ++i) {
      if (i > 0) separate(node.operators[i - 1], level != Level::term);
      // A sign may begin a sum: -a + b. Everywhere else an operand binds tighter than the chain.
      const auto* sign = i == 0 ? node.operands[i]->as<Unary>() : nullptr;
      put(node.operands[i], sign && level == Level::arithmetic ? level : tighter(level));
    }
  }
  void operator()(const Conditional& node) {
    for (std::size_t i = 0; i < node.branches.size(); ++i) {
      text += i == 0 ? "if " : " elseif ";
      put(node.branches[i].condition, Level::expression);
      text += " then ";
      put(node.branches[i].value, Level::expression);
    }
    text += " else ";
    put(node.otherwise, Level::expression);
  }

  void iterators(const std::vector<ForIndex>& indices) {
    if (indices.empty()) return;
    text += " for ";
    for_indices(indices);
  }
  void for_indices(const std::vector<ForIndex>& indices) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (i > 0) text += ", ";
      text += indices[i].name.text;
      if (indices[i].range) {
        text += " in ";
        put(indices[i].range, Level::expression);
      }
    }
  }

 private:
  void separate(Operator op, bool spaced) {
    const bool elementwise = spelling(op).front() == '.';
    // "2.*x" and "a.*b" are hard to read, and a number must not swallow the dot.
    if (spaced || elementwise) text += ' ';
    text += spelling(op);
    if (spaced || elementwise) text += ' ';
  }
  void subscripts(const std::vector<ExprPtr>& items) {
    text += '[';
    list(items);
    text += ']';
  }
  void arguments(const std::vector<Argument>& items) {
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) text += ", ";
      if (!items[i].name.empty()) text += std::string(items[i].name.text) + " = ";
      put(items[i].value, Level::expression);
    }
  }
};

void print_body(std::string& text, const std::vector<const Equation*>& body, int indent) {
  for (const Equation* equation : body) text += print(*equation, indent);
}

void print_branches(std::string& text, const std::vector<Branch<Equation>>& branches, const std::string& word,
                    int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  for (std::size_t i = 0; i < branches.size(); ++i) {
    if (i > 0) text += margin;
    if (branches[i].condition || i == 0)
      text += (i > 0 ? "else" : "") + word + " " + print(branches[i].condition) + " then\n";
    else
      text += "else\n";
    print_body(text, branches[i].body, indent + 2);
  }
  text += margin + "end " + word;
}

}  // namespace

std::string print(ExprPtr expression, const std::function<std::string(std::string_view)>& name_of) {
  Printer printer;
  printer.name_of = &name_of;
  printer.put(expression, Level::expression);
  return std::move(printer.text);
}

std::string print(ExprPtr expression) {
  Printer printer;
  printer.put(expression, Level::expression);
  return std::move(printer.text);
}

std::string print(const ComponentReference& reference) {
  Printer printer;
  printer(reference);
  return std::move(printer.text);
}

std::string print(const Name& name) {
  std::string text;
  for (const auto& part : name.parts) {
    if (!text.empty() || name.global) text += '.';
    text += part.text;
  }
  return text;
}

std::string print(const Equation& equation, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string text = margin;
  if (const auto* equality = equation.as<EqualityEquation>()) {
    Printer printer;
    printer.put(equality->lhs, Level::simple);
    printer.text += " = ";
    printer.put(equality->rhs, Level::expression);
    text += printer.text;
  } else if (const auto* call = equation.as<CallEquation>()) {
    text += print(call->call);
  } else if (const auto* connect = equation.as<ConnectEquation>()) {
    text += "connect(" + print(connect->first) + ", " + print(connect->second) + ")";
  } else if (const auto* conditional = equation.as<IfEquation>()) {
    print_branches(text, conditional->branches, "if", indent);
  } else if (const auto* when = equation.as<WhenEquation>()) {
    print_branches(text, when->branches, "when", indent);
  } else if (const auto* loop = equation.as<ForEquation>()) {
    Printer printer;
    printer.for_indices(loop->indices);
    text += "for " + printer.text + " loop\n";
    print_body(text, loop->body, indent + 2);
    text += margin + "end for";
  }
  return text + ";\n";
}

}  // namespace saltus::modelica
