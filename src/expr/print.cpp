#include <saltus/expr/print.hpp>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "expr/opposite_relation.hpp"

namespace saltus {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string opposite_relation(const std::string& relation) {
  constexpr std::pair<std::string_view, std::string_view> pairs[] = {
      {" <> ", " == "}, {" == ", " <> "}, {" >= ", " < "}, {" <= ", " > "}, {" > ", " <= "}, {" < ", " >= "}};
  int depth = 0;
  for (std::size_t k = 0; k < relation.size(); ++k) {
    const char c = relation[k];
    depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
    if (depth > 0 || c != ' ') continue;
    for (const auto& [sign, opposite] : pairs)
      if (relation.compare(k, sign.size(), sign) == 0)
        return relation.substr(0, k) + std::string(opposite) + relation.substr(k + sign.size());
  }
  return "";
}

namespace {

// Binding strength, weakest first, as in Modelica.
enum Level { level_if, level_or, level_and, level_not, level_relation, level_sum, level_product, level_power, level_atom };

// Writes until the text is long enough; deeper parts then become "…", which also bounds the recursion.
class Printer {
 public:
  Printer(const Graph& graph, std::size_t max_length) : graph_(graph), max_length_(max_length) {}

  std::string text(NodeId id) {
    write(id, level_if, 0);
    return std::move(text_);
  }

 private:
  static constexpr int max_depth = 60;

  void write(NodeId id, Level context, int depth) {
    if (text_.size() > max_length_ || depth > max_depth) {
      if (!text_.ends_with("…")) text_ += "…";
      return;
    }
    const Level own = level(id);
    if (own < context) text_ += "(";
    write_node(id, depth + 1);
    if (own < context) text_ += ")";
  }

  Level level(NodeId id) const {
    if (graph_.text_of(id)) return level_relation;
    if (const std::optional<Shape> shape = shape_of(id)) return shape->is_call ? level_atom : level_relation;
    const Node& n = graph_.node(id);
    switch (n.op) {
      case Op::select:
        return level_if;
      case Op::logical_or:
        return level_or;
      case Op::logical_and:
        return level_and;
      case Op::logical_not:
        return is_relation(n.a) || graph_.text_of(n.a) ? level_relation : level_not;
      case Op::positive:
      case Op::nonnegative:
      case Op::live_positive:
      case Op::live_nonnegative: return level_relation;
      case Op::add:
      case Op::sub:
      case Op::neg: return level_sum;
      case Op::mul: return is_square(n) ? level_power : level_product;
      case Op::div: return level_product;
      case Op::pow: return level_power;
      case Op::constant: return graph_.constant_value(id) < 0.0 ? level_sum : level_atom;
      default: return level_atom;
    }
  }

  /// What is made of several operations and has a name: a call, or "a == b".
  struct Shape {
    std::string_view name;
    NodeId a, b = no_node;
    bool is_call = true;
  };
  std::optional<Shape> shape_of(NodeId id) const {
    const Node& n = graph_.node(id);
    if (n.op == Op::select) return shape_of_choice(n);
    if (n.op == Op::logical_and || n.op == Op::logical_or) return shape_of_pair(n);
    return std::nullopt;
  }

  /// A relation as "g > 0" and so on: of x >= 0 and not (x >= 0) the same g.
  struct Sign {
    NodeId g = no_node;
    bool above = true;  // g > 0 or g >= 0; otherwise g < 0 or g <= 0
    bool strict = true;
  };
  std::optional<Sign> sign_of(NodeId id) const {
    const bool negated = graph_.node(id).op == Op::logical_not;
    const Node& r = graph_.node(negated ? graph_.node(id).a : id);
    const bool strict = r.op == Op::positive || r.op == Op::live_positive;
    if (!strict && r.op != Op::nonnegative && r.op != Op::live_nonnegative) return std::nullopt;
    return Sign{r.a, !negated, strict != negated};
  }

  bool is_opposite(NodeId a, NodeId b) const {
    const Node &x = graph_.node(a), &y = graph_.node(b);
    if (x.op == Op::neg && x.a == b) return true;
    if (y.op == Op::neg && y.a == a) return true;
    if (x.op == Op::sub && y.op == Op::sub) return x.a == y.b && x.b == y.a;
    return x.op == Op::constant && y.op == Op::constant && graph_.constant_value(a) == -graph_.constant_value(b);
  }
  bool is_value(NodeId id, double value) const { return graph_.is_constant(id) && graph_.constant_value(id) == value; }

  std::optional<Shape> shape_of_choice(const Node& n) const {
    const std::optional<Sign> sign = sign_of(n.a);
    if (!sign) return std::nullopt;
    const NodeId above = sign->above ? n.b : n.c, below = sign->above ? n.c : n.b;
    const Node& g = graph_.node(sign->g);
    if (above == sign->g && is_opposite(above, below)) return Shape{"abs", above};
    if (above == sign->g && is_value(below, 0.0)) return Shape{"max", above, below};
    if (below == sign->g && is_value(above, 0.0)) return Shape{"min", below, above};
    if (g.op == Op::sub && above == g.a && below == g.b) return Shape{"max", above, below};
    if (g.op == Op::sub && above == g.b && below == g.a) return Shape{"min", below, above};
    if (!is_value(above, 1.0) || graph_.node(below).op != Op::select) return std::nullopt;
    const Node& rest = graph_.node(below);
    const std::optional<Sign> second = sign_of(rest.a);
    if (!second || second->g != sign->g || !is_value(second->above ? rest.b : rest.c, 0.0) ||
        !is_value(second->above ? rest.c : rest.b, -1.0))
      return std::nullopt;
    return Shape{"sign", sign->g};
  }

  /// a >= b and a <= b, or a > b or a < b.
  std::optional<Shape> shape_of_pair(const Node& n) const {
    const std::optional<Sign> first = sign_of(n.a), second = sign_of(n.b);
    const bool differ = n.op == Op::logical_or;
    if (!first || !second || first->strict != differ || second->strict != differ) return std::nullopt;
    const bool meet = first->g == second->g ? first->above != second->above
                                            : first->above == second->above && is_opposite(first->g, second->g);
    if (!meet) return std::nullopt;
    const Node& g = graph_.node(first->g);
    const std::string_view name = differ ? " <> " : " == ";
    if (g.op != Op::sub) return Shape{name, first->g, no_node, false};
    const bool swap = moves_only_on_the_right(g);
    return Shape{name, swap ? g.b : g.a, swap ? g.a : g.b, false};
  }

  void write_shape(const Shape& shape, int depth) {
    if (shape.is_call) {
      const NodeId arguments[] = {shape.a, shape.b};
      return write_call(shape.name, std::span(arguments, shape.b == no_node ? 1 : 2), depth);
    }
    write(shape.a, level_sum, depth);
    text_ += shape.name;
    if (shape.b == no_node)
      text_ += "0";
    else
      write(shape.b, level_sum, depth);
  }

  /// (a + b)^2 is a product for the graph; x*x is as short as it is.
  bool is_square(const Node& n) const { return n.op == Op::mul && n.a == n.b && level(n.a) != level_atom; }

  bool is_relation(NodeId id) const {
    const Op op = graph_.node(id).op;
    return op == Op::positive || op == Op::nonnegative || op == Op::live_positive || op == Op::live_nonnegative;
  }

  /// Whether a variable or the time occurs in an expression, as far as a few nodes show.
  bool moves(NodeId id, int& budget) const {
    if (--budget < 0) return true;
    const Node& n = graph_.node(id);
    if (n.op == Op::constant) return false;
    if (n.op == Op::symbol) {
      const SymbolKind kind = graph_.symbol_of(id).kind;
      return kind == SymbolKind::variable || kind == SymbolKind::derivative || kind == SymbolKind::time;
    }
    if (n.op == Op::external) return true;
    const NodeId operands[] = {n.a, n.b, n.c};
    for (int k = 0; k < operand_count(n.op); ++k)
      if (moves(operands[k], budget)) return true;
    return false;
  }

  /// What moves stands first, as people write it: "T < T_high", not "T_high > T".
  bool moves_only_on_the_right(const Node& difference) const {
    int left = 100, right = 100;
    return !moves(difference.a, left) && moves(difference.b, right) && right >= 0;
  }

  static std::string_view mirrored(std::string_view symbol) {
    return symbol == " > " ? " < " : symbol == " >= " ? " <= " : symbol == " < " ? " > " : " >= ";
  }

  void write_relation(NodeId g, std::string_view symbol, int depth) {
    const Node& n = graph_.node(g);
    if (n.op == Op::sub) {
      const bool swap = moves_only_on_the_right(n);
      write(swap ? n.b : n.a, level_sum, depth);
      text_ += swap ? mirrored(symbol) : symbol;
      write(swap ? n.a : n.b, level_sum, depth);
    } else {
      write(g, level_sum, depth);
      text_ += symbol;
      text_ += "0";
    }
  }

  void write_binary(const Node& n, const char* symbol, Level left, Level right, int depth) {
    write(n.a, left, depth);
    text_ += symbol;
    write(n.b, right, depth);
  }

  void write_call(std::string_view name, std::span<const NodeId> arguments, int depth) {
    text_ += name;
    text_ += "(";
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      if (k > 0) text_ += ", ";
      write(arguments[k], level_if, depth);
    }
    text_ += ")";
  }

  void write_node(NodeId id, int depth) {
    if (const std::string* text = graph_.text_of(id)) {
      text_ += *text;
      return;
    }
    if (const std::optional<Shape> shape = shape_of(id)) return write_shape(*shape, depth);
    const Node n = graph_.node(id);
    switch (n.op) {
      case Op::constant: text_ += number_text(graph_.constant_value(id)); return;
      case Op::symbol: text_ += graph_.symbol_of(id).name; return;
      case Op::add: return write_binary(n, " + ", level_sum, level_product, depth);
      case Op::sub: return write_binary(n, " - ", level_sum, level_product, depth);
      case Op::mul:
        if (!is_square(n)) return write_binary(n, "*", level_product, level_power, depth);
        write(n.a, level_atom, depth);
        text_ += "^2";
        return;
      case Op::div: return write_binary(n, "/", level_product, level_power, depth);
      case Op::pow: return write_binary(n, "^", level_atom, level_atom, depth);
      case Op::logical_and: return write_binary(n, " and ", level_and, level_not, depth);
      case Op::logical_or: return write_binary(n, " or ", level_or, level_and, depth);
      case Op::neg:
        text_ += "-";
        return write(n.a, level_product, depth);
      case Op::positive:
      case Op::live_positive: return write_relation(n.a, " > ", depth);
      case Op::nonnegative:
      case Op::live_nonnegative: return write_relation(n.a, " >= ", depth);
      case Op::logical_not:
        if (is_relation(n.a) && !graph_.text_of(n.a)) {
          const Node& r = graph_.node(n.a);
          const bool strict = r.op == Op::positive || r.op == Op::live_positive;
          return write_relation(r.a, strict ? " <= " : " < ", depth);
        }
        if (const std::string* text = graph_.text_of(n.a)) {
          if (std::string opposite = opposite_relation(*text); !opposite.empty()) {
            text_ += opposite;
            return;
          }
        }
        text_ += "not ";
        return write(n.a, level_relation, depth);
      case Op::select:
        text_ += "if ";
        write(n.a, level_or, depth);
        text_ += " then ";
        write(n.b, level_or, depth);
        text_ += " else ";
        return write(n.c, level_if, depth);
      case Op::external: {
        const ExternalCall& call = graph_.call_of(id);
        write_call(call.function->name, call.arguments, depth);
        if (call.function->outputs > 1) text_ += "[" + std::to_string(n.b + 1) + "]";
        return;
      }
      default: {
        const NodeId arguments[] = {n.a, n.b};
        return write_call(to_string(n.op), std::span(arguments, operand_count(n.op)), depth);
      }
    }
  }

  const Graph& graph_;
  std::size_t max_length_;
  std::string text_;
};

}  // namespace

std::string to_string(const Expr& x, std::size_t max_length) {
  if (!x.graph()) return number_text(x.constant_value());
  return Printer(*x.graph(), max_length).text(x.id());
}

std::string to_string(const BoolExpr& x, std::size_t max_length) {
  if (x.expr().is_constant()) return x.expr().constant_value() != 0.0 ? "true" : "false";
  return to_string(x.expr(), max_length);
}

std::string to_string(const Equation& x, std::size_t max_length) {
  return to_string(x.lhs, max_length) + " = " + to_string(x.rhs, max_length);
}

}  // namespace saltus
