// Clocked partitions (Modelica 3.6, 16.7): which equations share a clock, when they tick, and in which order they are
// evaluated. They become clauses of the model that act at the ticks of their clocks.
//
//   1. Expressions that are converted get names; derivatives of clocked variables become variables with an equation of
//      the solver method of their partition (16.8.2).
//   2. Base partitions are connected equations and variables, where `sample`, `hold` and conditions of clocks cut;
//      sub-partitions, where the conversions of sub-clocks cut as well.
//   3. The ticks of a sub-partition follow from constructors and conversions, as fractions (clocks.hpp).
//   4. The equations of a base partition are sorted into blocks. A block has one clock. Blocks of several equations are
//      linear in their unknowns, or refused.
//   5. Each block assigns its variables in a clause. Conversions, `previous` and `hold` then are plain values: a
//      conversion reads the value of the last tick, this one included, and `previous` the value before the tick.
//
// `sample` reads the left limit; at the start of the run, the value after the initialisation.
#pragma once

#include <map>
#include <numeric>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

using ClockKind = ClockOperator::Kind;

/// Nodes that are connected: symbols by their number, equations by numbers after them.
class ConnectedNodes {
 public:
  std::size_t find(std::size_t node) {
    if (node >= parent_.size()) return node;
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }
  void join(std::size_t a, std::size_t b) {
    const std::size_t size = parent_.size();
    if (std::max(a, b) >= size) {
      parent_.resize(std::max(a, b) + 1);
      std::iota(parent_.begin() + static_cast<std::ptrdiff_t>(size), parent_.end(), size);
    }
    parent_[find(a)] = find(b);
  }

 private:
  std::vector<std::size_t> parent_;
};

inline bool is_switch(Op op) {
  return op == Op::positive || op == Op::nonnegative || op == Op::floor || op == Op::live_positive ||
         op == Op::live_nonnegative || op == Op::live_floor;
}

class ClockedPartitions {
 public:
  explicit ClockedPartitions(Flattener& flattener) : f_(flattener), graph_(flattener.model_->data().graph) {}

  void resolve();

 private:
  struct Part {
    std::vector<std::size_t> equations;
    std::vector<NodeId> variables;
    std::string method;
    SubClock clock;
    Location where;
    bool has_where = false;
    std::optional<Expr> ticked, last_time;  ///< hidden: whether it has ticked, and when
  };
  struct Block {
    std::size_t part = 0;
    std::vector<std::size_t> rows;
    std::vector<NodeId> unknowns;
  };
  struct Base {
    std::vector<std::size_t> parts;
    const ClockOperator* clock = nullptr;  ///< a real or an event clock
    double unit = 1.0;                     ///< seconds of one unit of the ticks
    std::vector<Block> blocks;
    std::optional<Expr> count;      ///< hidden, of an event clock: number of the tick
    std::optional<Expr> condition;  ///< hidden, of an event clock: it ticks in the round after this became true

    bool is_event() const { return clock && clock->kind == ClockKind::event; }
  };
  /// An equation, or that of a solver method for a state x with the derivative d.
  struct Row {
    std::size_t part = 0;
    Expr lhs, rhs;
    TypeKind lhs_type = TypeKind::real, rhs_type = TypeKind::real;
    Location where;
    NodeId state = no_node, slope = no_node;
    std::vector<NodeId> unknowns;
    std::vector<NodeId> needs;  ///< variables of other sub-partitions that it converts
  };
  struct State {
    NodeId x, d;
    Location where;
  };

  // ---------------------------------------------------------------------------------------------- symbols

  const ClockOperator* operator_of(NodeId id) const;
  bool is_clock(NodeId id) const;
  bool is_variable(NodeId id) const;
  std::vector<NodeId> symbols_in(const Expr& e) const;
  /// Variables, also where their derivatives or values before an event stand.
  std::vector<NodeId> variables_in(const Expr& e);
  Expr expr(NodeId id) const { return {graph_, id}; }
  /// The variable or clock that is converted; empty for numbers and parameters.
  std::optional<NodeId> converted(const ClockOperator& op) const;
  std::string name_of(NodeId id) const;
  TypeKind type_of(NodeId id) const;
  Expr start_of(NodeId id) const;
  Location where_of(NodeId id) const;

  Expr hidden(const std::string& what, TypeKind type, double start);

  // ---------------------------------------------------------------------------------- 1. names and derivatives

  /// A variable with an equation, for an expression that is converted.
  Expr named(const Value& value, bool clocked, const Location& where);

  bool has_switches(const Expr& e) const;

  void name_arguments();

  // ---------------------------------------------------------------------------------------------- 2. partitions

  std::size_t node_of_equation(std::size_t k) const { return graph_size_ + k; }
  void join(std::size_t a, std::size_t b);

  void connect();

  void connect_operator(const ClockOperator& op, std::size_t node, const Location& where);

  void note_unclocked(const Expr& e, const Location& where);

  void check_unclocked();

  /// Clocked variables change at ticks only. True if the model must be read once more to declare them so.
  bool declare_as_discrete();

  void find_parts();
  std::size_t part_of(std::size_t node) { return part_of_root_.at(sub_.find(node)); }

  std::string contents(std::size_t part) const;

  // ---------------------------------------------------------------------------------------------- 3. clocks

  template <class Visit>
  void for_each_operator(std::size_t part, Visit visit);

  void infer(Base& base);

  /// Methods spread through conversions between partitions that have none (16.8.4).
  void choose_methods(Base& base);

  // ---------------------------------------------------------------------------------------------- 4. blocks

  void sort(Base& base);

  void match(Base& base, const std::vector<Row>& rows);

  // ---------------------------------------------------------------------------------------------- 5. clauses

  void replace_holds();

  Expr before(const Expr& symbol);

  /// u at the left limit; after the initialisation at the start, and in the round of its tick for an event clock.
  Expr sampled(const Expr& u, bool event);

  BoolExpr first_tick(Part& part);

  Expr interval_of(Base& base, Part& part);

  /// What the operators in an equation of a sub-partition are worth.
  Expr replaced(const Expr& e, Base& base, Part& part);

  void emit(Base& base);

  BoolExpr condition_of(const Base& base) { return BoolExpr(f_.model_->pre(*base.condition)); }

  void add_clause(Base& base, Part& part, std::vector<FlatAction> actions, const Location& where);

  // -------------------------------------------------------------------------------------------------- blocks

  bool contains(const Expr& e, NodeId symbol) const { return std::ranges::count(symbols_in(e), symbol) > 0; }

  void solve(Base& base, const Block& block, const std::vector<Row>& rows, std::vector<FlatAction>& actions);

  /// The formulas of the solver methods (16.8.2). The state begins with its start value, and its slope with zero where
  /// equations give the state itself.
  Expr integrated(Base& base, Part& part, const Row& row, NodeId unknown);

  void solve_linear(Base& base, Part& part, const Block& block, const std::vector<Row>& rows,
                    std::vector<FlatAction>& actions);

  /// Whether a relation or a rounding in the expression reads one of the unknowns.
  bool decided_by(const Expr& e, const std::vector<NodeId>& unknowns) const;

  struct Named {
    std::string text;
    TypeKind type = TypeKind::real;
  };
  struct Definition {
    Expr symbol, value;
    Location where;
  };

  Flattener& f_;
  std::shared_ptr<Graph> graph_;
  std::size_t graph_size_ = 0;
  int hidden_ = 0;
  std::unordered_map<NodeId, Named> names_;    ///< variables of expressions and of derivatives
  std::unordered_map<NodeId, NodeId> before_;  ///< variables by the symbols of their values before an event
  std::vector<State> states_;
  std::vector<Definition> definitions_;  ///< of unclocked discrete expressions that are sampled
  ConnectedNodes base_, sub_;
  std::set<std::size_t> clocked_, roots_;
  std::vector<std::pair<std::size_t, Location>> unclocked_;
  std::map<std::size_t, std::size_t> part_of_root_;
  std::vector<Part> parts_;
  std::vector<Base> bases_;
  std::map<const Base*, std::vector<Row>> rows_of_;
};

}  // namespace saltus::modelica
