// Finds out which loops of a model can be kept, and what their passes read.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "modelica/flatten/flattener.hpp"
#include "modelica/flatten/kept_loops.hpp"

namespace saltus::modelica {

class LoopReader {
 public:
  /// Of a flattener that has unfolded the instances and knows which variables are discrete.
  explicit LoopReader(Flattener& flattener) : flattener_(flattener) {}

  /// Null: the loops are to be written out.
  std::unique_ptr<KeptLoops> read();

 private:
  bool is_plain() const;
  std::size_t count_passes() const;
  void list_arrays();
  void read_binding(const Component& component, PassReads& reads);
  void read_loop(const ForEquation& loop);
  void add_passes(KeptLoops::Nest& nest, const ForEquation& innermost, std::size_t level, const Context& context,
                  std::vector<std::int64_t>& values);
  void list_instance(Instance& instance, int group, int& variables, int& discretes);
  void add_component_shapes();
  void read_part(const ComponentReference& reference, PassReads& reads);
  std::vector<IteratorForm> subscripts(const ReferencePart& part, const Component& component);
  // connections (loop_connections.cpp)
  /// A connector of a component of the model.
  struct End {
    Component* component = nullptr;
    std::vector<IteratorForm> forms = {};  ///< its subscripts; empty for all of its elements
    std::vector<std::pair<std::string_view, std::size_t>> path = {};
    bool whole = false;
  };
  End read_end(ExprPtr e);
  void connect(const ConnectEquation& node, const std::vector<std::int64_t>& iterators);
  void connect(const End& a, std::size_t a_element, const End& b, std::size_t b_element);
  void connect(Instance& a, int a_element, Instance& b, int b_element);
  void connect(Component& a, std::size_t a_position, int a_element, Component& b, std::size_t b_position,
               int b_element);
  void read_equation(const Equation& equation, PassReads& reads);
  void read_choice(const IfEquation& choice, PassReads& reads);
  void read_value(ExprPtr e, PassReads& reads);
  bool read_sum(const Call& call, PassReads& reads);
  void read_reference(const ComponentReference& reference, PassReads& reads);
  bool has_iterator(ExprPtr e) const;
  /// Whether an expression is known before the run: iterators, parameters, constants, and functions of them.
  bool is_number(ExprPtr e) const;
  /// Whether values of parameters, which may change later, are in it.
  bool reads_parameter(ExprPtr e) const;
  /// Whether it may be a truth value, or something else that is not a Real.
  bool is_logical(ExprPtr e) const;
  /// Something that is a number in each pass. `exact`: passes with other values have another shape.
  void read_number(ExprPtr e, bool exact, PassReads& reads);
  double evaluate(ExprPtr e, const Context& context) const;
  int iterator_of(const ComponentReference& reference) const;
  std::optional<IteratorForm> number(ExprPtr e, bool subscript) const;
  /// An expression of iterators and known integers; nothing: it is something else. In subscripts all integers are
  /// known.
  std::optional<IteratorForm> form_of(ExprPtr e, bool subscript = false) const;

  Flattener& flattener_;
  std::unique_ptr<KeptLoops> loops_;
  std::vector<const ForIndex*> iterators_;
  std::unordered_map<const ConnectEquation*, std::pair<End, End>> ends_;
  std::set<std::pair<const Component*, const Component*>> fitting_;  // variables that may be connected
  bool has_numbers_ = false;                                         // some have to be evaluated in every pass
  Context context_;
  std::int64_t end_ = -1;
};

}  // namespace saltus::modelica
