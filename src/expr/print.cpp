#include <saltus/expr/print.hpp>

#include <charconv>
#include <cmath>

namespace saltus {

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
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
    const Node& n = graph_.node(id);
    switch (n.op) {
      case Op::select: return level_if;
      case Op::logical_or: return level_or;
      case Op::logical_and: return level_and;
      case Op::logical_not: return is_relation(n.a) ? level_relation : level_not;
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
        if (is_relation(n.a)) {
          const Node& r = graph_.node(n.a);
          const bool strict = r.op == Op::positive || r.op == Op::live_positive;
          return write_relation(r.a, strict ? " <= " : " < ", depth);
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
