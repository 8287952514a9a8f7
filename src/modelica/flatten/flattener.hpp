// From a syntax tree to a Model: instantiation, evaluation of expressions, equations, events.
//
// The way of a model through here:
//   1. instantiate.cpp   unfolds the classes into a tree of instances; sizes and conditions are evaluated
//   2. variables.cpp     finds out which variables change at events only, and declares symbols for all of them
//   3. equations.cpp, algorithms.cpp, connect.cpp   turn equations into expressions of these symbols
//   4. events.cpp        sorts and substitutes discrete equations and hands everything to the Model
#pragma once

#include <saltus/model/model.hpp>
#include <saltus/modelica/modelica.hpp>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/defined_discretes.hpp"
#include "modelica/flatten/clocks.hpp"
#include "modelica/flatten/connections.hpp"
#include "modelica/flatten/instance.hpp"
#include "modelica/flatten/kept_loops.hpp"
#include "modelica/flatten/prototypes.hpp"
#include "modelica/flatten/scope.hpp"
#include "modelica/flatten/value.hpp"

namespace saltus::modelica {

/// What a text may ask for before it is refused, so that a typing error does not fill the memory.
struct FlattenLimits {
  std::int64_t scalars = 10'000'000;  ///< variables and parameters, and elements of one array
  std::int64_t work = 1'000'000'000;  ///< elements computed, loop passes
  std::int64_t passes = 1'000'000;    ///< of one 'while' loop
  int depth = 1200;                   ///< nested evaluations (expressions, parameters, function calls)
  int instance_depth = 100;           ///< components inside components
};

struct FlatEquation {
  Value lhs, rhs;  ///< scalars
  Location where;
  int shape = -1;          ///< of kept loops; here and below
  NodeId clock = no_node;  ///< of a clocked `when` around it: the symbol of that clock
};

/// How the surface of a relation is treated.
struct FlatSurface {
  Expr relation;
  SurfaceRule rule = SurfaceRule::filippov;
  Location where;
  double nominal = 0.0;  // > 0: of the guard; `rule` does not count then
};

struct FlatAction {
  ModelData::Action::Kind kind;
  Expr target, value;
  std::string message;
  Location where;
  BoolExpr only_if = true;  // of resets and ends
};

struct FlatClause {
  BoolExpr condition;
  std::vector<FlatAction> actions;
  Location where;
  bool continues = false;  ///< elsewhen of the clause before
  int shape = -1;
  std::string name = {};  ///< "when alarm"; empty: that of its condition as the model has it
};

/// By name: what the value of the parameter decides, "the size of an array". Names of clocked variables as well.
using StructuralParameters = std::map<std::string, std::string>;

class Flattener {
 public:
  /// `sources` by file number, growing as classes are read. `structural`: names of parameters that decide the structure
  /// and are therefore numbers, and what each of them decides.
  Flattener(ScopeTree& scopes, const std::vector<const SourceText*>& sources, const LoadOptions& options,
            const FlattenLimits& limits, StructuralParameters& structural, Diagnostics& diagnostics);

  /// Flattens a class. Returns false when parameters turned out to be structural that were symbols already, or clocked
  /// variables had been declared as continuous: then `structural` has grown and the work must be done again.
  bool run(const ClassScope* cls);

  /// Before run: loops over large arrays need not be written out.
  void keep_loops() { keep_loops_ = true; }
  /// After run: the model has no more than some passes of its loops.
  bool has_kept_loops() const { return kept_ != nullptr || !prototypes_.empty(); }
  /// The whole model, once; null: it must be written out after all.
  std::shared_ptr<const RepeatedModel> repeated_model();

  Model take_model() { return std::move(*model_); }
  /// The parameters that the model does not contain, in the order of declaration. To be called before take_model.
  std::vector<VariableInfo> fixed_parameters();
  /// The connectors of the model itself, in the order of declaration.
  std::vector<ConnectorInfo> connectors();
  Experiment experiment(const ClassScope* cls);
  /// The start time, if the model depends on it.
  std::optional<double> start_time_used() const {
    return start_time_used_ ? std::optional<double>(start_time_) : std::nullopt;
  }

 private:
  friend class LoopReader;
  friend class ClockedPartitions;

  // --- reporting (flattener.cpp)
  void report(const Fault& fault);
  void warn(const Location& where, std::string message, std::string hint = {});
  void note(const Location& where, std::string message, std::string hint = {});
  /// Runs a piece of work; what goes wrong is reported and ends this piece only. Returns whether all went well.
  template <class Work>
  bool attempt(Work work);
  SourceLocation locate(const Location& where) const { return sources_[where.file]->locate(where); }
  void charge(std::int64_t amount, const Location& where);
  class Deeper;

  // --- instances (instantiate.cpp)
  Instance* instantiate(const ClassScope* cls, Instance* parent, std::string path, const ModifierPtr& modifier,
                        const Location& where, bool is_static);
  void declare(Component& component, const ModifierPtr& outer);
  void bind_outer(Component& component, const ModifierPtr& outer);
  void shape(Component& component);
  void shape_work(Component& component);
  Dims dimensions(Component& component);
  void make_elements(Component& component);
  ModifierPtr modifier_of(const Modification* modification, const Context& context);
  ModifierPtr modifier_of(const WrittenArgument& written, Instance* from);
  /// Where expressions of a class are evaluated: in the nearest instance of it, from `from` outwards.
  Context context_in(const ClassScope* lexical, Instance* from) const;
  const ClassScope* redeclared(const ClassScope* cls, const ModifierPtr& modifier);
  /// The component that a name means in a context, among those that its class declares or inherits; or null.
  Component* own_component(std::string_view name, const Context& context);
  ModifierPtr modifier_of(const ModificationArgument& argument, std::size_t part, const Context& context);
  ModifierPtr redeclaration_modifier(const ModificationArgument& argument, const Context& context);
  ModifierPtr element_modifier(const ModifierPtr& modifier, const Dims& dims, std::size_t position, int prototype);
  ModifierPtr field_modifiers(const ModifierPtr& modifier, const ClassScope* cls);
  void check_modifier_names(const ModifierPtr& modifier, const Layout& layout, const ClassScope* cls);
  void shape_all(Instance& instance);
  Instance* statics(const ClassScope* cls);
  Value value_of(const Binding& binding);

  // --- arrays of components of which one element stands for all (prototypes.cpp)
  /// Whether an array is kept as one element. It gets a number then.
  bool begin_prototype(Component& component);
  Value value_of_all(const Binding& binding, const Selector& selector);
  Value varying_number(const Value& numbers, int number);
  double value_in_element(const VaryingNumber& number) const;
  /// While it lives, expressions of parameters have their values in that element; -1: they may not differ.
  class InElement;
  /// One value, or one for each element.
  std::vector<double> values_in_elements(const Expr& e);
  Value in_element(Value value, const Component& array, int element);
  void note_start(const Expr& start, bool is_discrete);
  void note_elements(Component& component);
  /// Those of the model, with those of all elements.
  std::vector<VariableInfo> parameters_of_elements();
  /// The name of something in the first element, in another one.
  static std::string name_in_element(const std::string& name, const Component& array, std::size_t element);

  // --- parameters and variables (variables.cpp)
  void resolve_value(Component& component);
  /// Ends what needs the value. Where a branch around it may be left for another one, that is tried first.
  [[noreturn]] void depends_on_itself(const Fault& fault) const;
  void resolve_parameter(Component& component);
  void declare_variable(Component& component);
  void declare_clock(Component& component);
  /// Whether an earlier reading of the model has found the variable in a clocked partition.
  bool is_clocked(const Component& component) const { return structural_.contains(component.path); }
  /// The same for all elements of kept loops: only those that passes of them need get symbols.
  void note_element(Component& component, std::size_t position, const std::string& name, double start,
                    const VariableOptions& options, Rare<VariableDetails>& shared, const SourceLocation& where);
  Value attribute(Component& component, std::string_view name);
  /// Numbers that the model is written with: parameters in them cannot be changed once it is compiled.
  std::vector<double> attribute_numbers(Component& component, std::string_view name, double otherwise);
  /// The same where the model keeps the expressions, or does not use the numbers.
  std::vector<double> present_numbers(Component& component, std::string_view name, double otherwise);
  bool is_of_unsolved_parameters(const Expr& e) const;
  std::string attribute_text(Component& component, std::string_view name);
  /// Unit, description, type and literals, as they are declared.
  VariableOptions described(Component& component);
  void check_attributes(Component& component);
  void check_state_select(Component& component);
  bool attribute_given(const Component& component, std::string_view name) const;
  void bind(Component& component, Value value, const Location& where);
  void declare_all(Instance& instance);
  /// Throws Fault if a value from outside is none of the component's type.
  void check_override(const Component& component, const std::string& name, double value) const;
  void apply_overrides();

  // --- plausibility.cpp
  /// Warns of what can run but is hardly meant.
  void check_plausibility();
  void check_units();
  void check_parameter_bounds(Instance& instance);
  void check_resets();
  void mark_discrete(Instance& instance);
  void mark_targets(const std::vector<const Equation*>& equations, const Context& context, bool in_when);
  void mark_targets(const std::vector<const Statement*>& statements, const Context& context, bool in_when);
  void mark_target(ExprPtr target, const Context& context, bool in_when);
  void mark_parts(Instance& instance, const ComponentReference& reference, std::size_t part, bool in_when);
  /// A scalar that depends on parameters and constants only. Throws Fault if it is anything else.
  Expr of_parameters(const Value& value, const Location& where, std::string_view what);
  /// The number behind an expression of parameters; these become structural. Throws Fault if it is not a number.
  double number(const Value& value, const Location& where, std::string_view what);
  std::int64_t integer(const Value& value, const Location& where, std::string_view what);
  double parameter_value(const Expr& expr) const;
  /// True if parameters, constants and start values alone determine the expression. A relation on anything else has a
  /// truth value, but not a known one.
  bool is_known(const Expr& expr) const;
  /// The same for many expressions, in one pass (fixed_parameters.cpp).
  std::vector<double> parameter_values(std::span<const Expr> expressions) const;
  /// Adds the parameters of an instance and its parts that the model does not contain, and their values.
  void collect_fixed(Instance& instance, std::vector<VariableInfo>& found, std::vector<Expr>& values);
  void collect_fixed_in_elements(Component& array, std::vector<VariableInfo>& found, std::vector<Expr>& values);
  /// The value of an expression of parameters that the model is written with; says so of each of them.
  double used_value(const Expr& expr, const std::string& what);
  /// Lets a start value follow the parameters in its expression, if there are any.
  void follow_parameters(const Expr& symbol, const Expr& start);

  // --- parameters that initial equations determine (initial_values.cpp)
  bool is_solved_initially(Component& component);
  void resolve_initially(Component& component);
  std::optional<Value> value_from(const std::vector<const Equation*>& equations, std::string_view name,
                                  const Context& context);
  const Frame* initial_algorithm(const AlgorithmSection& section, const Context& context);
  bool flatten_initial_algorithm(const AlgorithmSection& section, const Context& context);

  // --- expressions (expression.cpp, references.cpp)
  Value eval(ExprPtr expression, const Context& context);
  Value eval_scalar(ExprPtr expression, const Context& context, std::string_view what);
  Expr eval_real(ExprPtr expression, const Context& context);
  BoolExpr eval_boolean(ExprPtr expression, const Context& context);
  Value eval_reference(const ComponentReference& reference, const Location& where, const Context& context);
  Value eval_unary(const Unary& node, const Location& where, const Context& context);
  /// Whether conditions that are read here keep their texts.
  bool keeps_texts(const Context& context) const;
  /// The name of a component in the whole model, the number of an iterator; "" for all others.
  std::string flat_name(std::string_view name, const Context& context);
  using WriteText = std::function<std::string(const std::function<std::string(std::string_view)>&)>;
  void note_text(const Value& relation, const Context& context, const WriteText& write);
  Value eval_binary(const Binary& node, const Location& where, const Context& context);
  Value eval_chain(const Chain& node, const Location& where, const Context& context);
  Value eval_conditional(const Conditional& node, const Location& where, const Context& context);
  Value eval_constructor(const ArrayConstructor& node, const Location& where, const Context& context);
  Value eval_matrix(const Matrix& node, const Location& where, const Context& context);
  Value eval_range(const Range& node, const Location& where, const Context& context);
  Value arithmetic(Operator op, const Value& a, const Value& b, const Location& where);
  Value elementwise(Operator op, const Value& a, const Value& b, const Location& where);
  Value relation(Operator op, const Value& a, const Value& b, const Location& where);
  Value choose(const Value& condition, const Value& then, const Value& otherwise, const Location& where);
  /// Applies subscripts. `outer` gives the sizes of the dimensions.
  Value subscript(const Value& value, const std::vector<ExprPtr>& subscripts, const Context& context,
                  const Location& where, std::string_view name);
  struct Selection {
    std::vector<std::vector<std::int64_t>> indices;  ///< per dimension, from 0
    std::vector<bool> keeps;                         ///< per dimension: it stays a dimension
  };
  using Fixed = std::map<std::size_t, std::int64_t>;  ///< indices, from 0, of some dimensions
  Selection select(const Dims& dims, const std::vector<ExprPtr>& subscripts, const Context& context,
                   const Location& where, std::string_view name, const Fixed& fixed = {});
  std::optional<std::size_t> varying_subscript(const Dims& dims, const std::vector<ExprPtr>& subscripts,
                                               const Context& context, const Fixed& fixed, Value& value);
  Value subscript_from(const Value& value, const std::vector<ExprPtr>& subscripts, const Context& context,
                       const Location& where, std::string_view name, const Fixed& fixed);
  Value select_value(const Value& value, const Selection& selection);
  Value component_value(Component& component, const Location& where);
  Value member(Component& component, const ComponentReference& reference, std::size_t part, const Location& where,
               const Context& context);
  Value instance_value(Instance& instance, const Location& where);
  Value class_member(const ClassScope* cls, const ComponentReference& reference, std::size_t part,
                     const Location& where, const Context& context);
  Value member_of_value(Value value, const ComponentReference& reference, std::size_t part, const Location& where,
                        const Context& context);
  bool imported_member(const ClassScope* scope, const ComponentReference& reference, const Location& where,
                       const Context& context, Value& result);
  /// What an algorithm has made of a variable so far.
  Expr current_value(const Expr& symbol, const Assigned& assigned);
  [[noreturn]] void unknown_name(const ComponentReference& reference, std::size_t part, const Context& context);
  Value iterate(const std::vector<ForIndex>& iterators, std::size_t level, ExprPtr body, const Location& where,
                const Context& context);
  /// What a loop repeats; one of them is set.
  struct LoopBody {
    ExprPtr expression = nullptr;
    const std::vector<const Equation*>* equations = nullptr;
    const std::vector<const Statement*>* statements = nullptr;
  };
  Value range_of(const ForIndex& index, const LoopBody& body, const Context& context);
  Value implied_range(const ForIndex& index, const LoopBody& body, const Context& context);
  Dims shape_of(ExprPtr expression, const Context& context);
  std::optional<Dims> shape_of_reference(const ComponentReference& reference, const Context& context);
  std::optional<Dims> shape_of_call(const Call& call, const Context& context);
  /// The size of the value of a variable, which may be made of variables.
  Dims shape_of(const Binding& binding);

  // --- calls (builtins.cpp, array_functions.cpp, functions.cpp)
  Value eval_call(const Call& call, const Location& where, const Context& context);
  /// The same for calls that may have no result.
  std::optional<Value> eval_effect(const Call& call, const Location& where, const Context& context);
  bool builtin_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                    Value& result);
  bool event_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                  Value& result);
  bool math_call(std::string_view name, const Call& call, const Location& where, const Context& context, Value& result);
  bool array_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                  Value& result);
  bool construct_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                      Value& result);
  bool vector_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                   Value& result);
  Value reduce(std::string_view name, const Call& call, const Location& where, const Context& context);
  std::vector<Value> arguments(const Call& call, const Context& context, std::size_t least, std::size_t most,
                               const Location& where);
  Value pre(const Value& value, const Location& where);
  Value differentiate(const Value& value, const Location& where);
  Value sample(const std::vector<Value>& arguments, const Location& where);
  Value instance_name(const Location& where, const Context& context) const;
  Value string_of(const Call& call, const Location& where, const Context& context);
  std::string message(ExprPtr expression, const Context& context);
  std::vector<Value> call_function(const ClassScope* function, const Call& call, const Location& where,
                                   const Context& context, Instance* home = nullptr);
  const ClassScope* function_of_component(const Name& name, const Context& context, Instance*& home);
  /// The function that a call names. Throws Fault if there is none.
  /// Ends with an error if this is a function of the language that is not supported.
  static void refuse_unsupported(std::string_view name, const Location& where);
  const ClassScope* function_named(const Call& call, const Context& context);
  Value require_value(Value value, std::string_view name, const Location& where);
  void require_set(Value& value, const std::string& name, const Location& where);
  void follow_body(const Layout& layout, Context& context, const Location& where);
  Context frame_context(const Context& inside, const ClassScope* lexical);
  Value construct_record(const ClassScope* record, const Call& call, const Location& where, const Context& context);
  /// `given`: arguments that are there already; positional ones fill the places of the others.
  NamedValues named_arguments(const Layout& layout, bool inputs_only, const Call& call, const Context& context,
                              const NamedValues& given = {});
  std::vector<Value> apply_function(const ClassScope* function, NamedValues inputs, const std::string& name,
                                    const Location& where, const Context& caller);
  /// A call of a function by its name, or by that of an input that is a function: all results.
  std::vector<Value> call_results(const Call& call, const Location& where, const Context& context);
  /// The input of the function that is being followed which a call names, if that is a function; or null.
  std::shared_ptr<const FunctionValue> function_input(const Call& call, const Context& context) const;
  std::vector<Value> call_input(const FunctionValue& function, const Call& call, const Location& where,
                                const Context& context);
  Value function_value(ExprPtr expression, const Context& context);
  std::vector<Value> run_function(const ClassScope* function, NamedValues inputs, const Location& where,
                                  const Context& caller);
  void run_external(const ClassScope& function, const ExternalClause& external, const Context& context,
                    const Location& where);
  Value record_value(const ClassScope* record, const NamedValues& given, const Context& context, const Location& where);
  Value local_value(const LayoutComponent& local, const Value* given, const Context& context, const Location& where);
  Dims local_dims(const LayoutComponent& local, const ResolvedType& type, const Context& context, bool& open);
  void assert_true(const Call& call, const Location& where, const Context& context);
  Value convert(Value value, TypeKind kind, const Location& where, std::string_view what);

  // --- operators of records (operators.cpp)
  std::vector<const ClassScope*> operator_functions(const ClassScope* record, std::string_view name);
  bool takes(const ClassScope* function, const std::vector<Value>& operands);
  std::optional<Value> call_operator(const ClassScope* record, std::string_view name,
                                     const std::vector<Value>& operands, const Location& where);
  std::optional<Value> converted(const ClassScope* record, const Value& value, const Location& where);
  Value operate_scalars(Operator op, const Value& a, const Value& b, const Location& where);
  Value operate(Operator op, const Value& a, const Value& b, const Location& where);
  Value operate(Operator op, const Value& a, const Location& where);
  Value matrix_product(const Value& a, const Value& b, const Location& where);
  Value sum_of_records(const Value& all, const Location& where);
  std::optional<Value> construct_operator_record(const ClassScope* record, const Call& call, const Location& where,
                                                 const Context& context);

  // --- external objects and functions (tables.cpp, texts.cpp)
  struct TableColumn {
    std::vector<double> x;
    std::vector<Expr> y;
    int smoothness = 1, extrapolation = 2;
  };
  bool is_external_object(const ClassScope* cls) const;
  void take_from_file(RecordFields& fields, const Location& where);
  Value construct_object(const ClassScope* cls, const Call& call, const Location& where, const Context& context);
  TableColumn table_column(const Value& object, const Value& column, const Location& where);
  Expr interpolate(const TableColumn& table, const Expr& at, Variability how, const Location& where);
  Expr interpolate_plane(const Value& object, const Value& u1, const Value& u2, const Location& where);
  std::optional<Value> call_external(std::string_view name, const std::vector<Value>& arguments, const Location& where);
  std::optional<Value> call_text(std::string_view name, const std::vector<Value>& arguments, const Location& where);

  // --- equations (equations.cpp)
  void flatten_sections(Instance& instance);
  void flatten_equations(const std::vector<const Equation*>& equations, const Context& context,
                         std::vector<FlatEquation>& out);
  void flatten_equation(const Equation& equation, const Context& context, std::vector<FlatEquation>& out);
  void flatten_if(const IfEquation& node, const Equation& equation, const Context& context,
                  std::vector<FlatEquation>& out);
  /// Runs the body for all values of the loop indices, the first index outermost.
  void repeat(const ForEquation& loop, std::size_t level, const Context& context,
              const std::function<void(const Context&)>& body);
  void flatten_bindings(Instance& instance);
  // kept loops (repeated_model.cpp)
  void flatten_kept_loop(const Equation& equation);
  /// Says to which shape everything belongs that has been flattened since the last call.
  void mark_shape(int shape);
  /// Throws NotKept if some of them have no symbols.
  void require_symbols(const Component& component, const std::vector<Expr>& elements) const;
  void lift_numbers(KeptLoops::Shape& shape, int number);
  void list_component_rows();
  std::vector<RepeatedModel::Sum> add_connections();
  Expr symbol_of(int number);
  /// Whether a symbol stands for an element behind the first, or is connected: join_passes sees to these.
  bool is_determined_elsewhere(const Expr& symbol) const;
  void flatten_when(const WhenEquation& node, const Context& context);
  void when_body(const std::vector<const Equation*>& body, const Context& context, std::vector<FlatAction>& actions);
  void when_if(const IfEquation& node, const Equation& equation, const Context& context,
               std::vector<FlatAction>& actions);
  void when_assign(const Value& target, const Value& value, const Location& where, std::vector<FlatAction>& actions);
  void reinit(const Call& call, const Location& where, const Context& context, std::vector<FlatAction>& actions);
  void call_equation(const Call& call, const Location& where, const Context& context);
  void tuple_equation(const Tuple& targets, ExprPtr rhs, const Location& where, const Context& context,
                      std::vector<FlatEquation>& out);
  void equate(const Value& lhs, const Value& rhs, const Location& where, std::vector<FlatEquation>& out);
  void add_clauses(const Value& condition, std::vector<FlatAction> actions, const Location& where, ExprPtr written,
                   const Context& context, bool continues);
  std::vector<std::string> clause_names(ExprPtr condition, std::size_t count, const Context& context, bool continues);
  std::vector<FlatEquation> merge_branches(const Value& condition, std::vector<FlatEquation> then,
                                           std::vector<FlatEquation> otherwise, const Location& where);
  FlatEquation merge_pair(const Value& condition, const FlatEquation& then, const FlatEquation& otherwise);
  FlatEquation merge_alone(const Value& condition, const FlatEquation& equation, bool when_true);
  void merge_actions(const Value& condition, const std::vector<FlatAction>& then,
                     const std::vector<FlatAction>& otherwise, const Location& where, std::vector<FlatAction>& out);
  void sort_actions(std::vector<FlatAction>& actions);
  /// The known value of a condition made of parameters, which become structural.
  std::optional<bool> known(const Value& condition, const Location& where);

  // --- clocks (clock_calls.cpp, clocked_partitions.cpp)
  bool clock_call(std::string_view name, const Call& call, const Location& where, const Context& context,
                  Value& result);
  Value clock_constructor(const Call& call, const Location& where, const Context& context);
  Value converted_to_clock(Value value, const ClockOperator& op, const std::string& name);
  Expr clock_symbol(ClockOperator op, const std::string& name);
  void flatten_clocked_when(const WhenEquation& node, const Expr& clock, const Context& context);
  /// Turns clocked equations into clauses that act at the ticks of their clocks.
  void resolve_clocks();

  // --- semiLinear where its first argument is zero (semi_linear.cpp)
  Value semi_linear(const std::vector<Value>& arguments, const Location& where);
  void determine_at_zero_flow();

  // --- functions that iterate (implicit_roots.cpp), and of linear algebra (least_squares.cpp)
  /// A variable for what solveOneNonlinearEquation finds in a run, whose equation is the one that it solves; nothing
  /// for other functions, and where the numbers are known now.
  std::optional<Value> implicit_root(const ClassScope* function, const NamedValues& inputs, const Location& where,
                                     const Context& caller);
  double start_value(const Expr& e) const;
  double value_at_start(const Expr& e, std::unordered_map<NodeId, double>& given) const;
  double bracketed_root(const Expr& residual, const Expr& root, double low, double high, double guess) const;
  /// Whether nothing but parameters occurs in an expression.
  static bool is_of_parameters(const Expr& e);
  struct LeastSquares {
    Value x;
    std::int64_t rank;
  };
  /// The shortest x of those for which |A x - b| is least.
  LeastSquares least_squares(const Value& matrix, const Value& right, const Value& least_ratio, const Location& where);

  // --- delays of what changes at events (delays.cpp)
  struct Delayed {
    Expr symbol, from, length;
    Location where;
  };
  Value delay_call(std::vector<Value> arguments, const Location& where);
  Expr piecewise_constant(const Expr& e, const std::unordered_map<NodeId, const FlatEquation*>& givers,
                          std::unordered_set<NodeId>& open, const Location& where);
  void resolve_delays();
  void add_delay(const Delayed& delayed, const Expr& signal);

  // --- stream connectors (streams.cpp)
  Value stream_call(std::string_view name, Value value, const Location& where);
  Component& flow_beside(const Component& stream, const Location& where);
  Expr in_stream_symbol(Component& component, std::size_t position);
  void join_actual_streams(Value& product);
  Expr mixed_stream(const std::vector<std::size_t>& set, const ConnectionEnd& receiver, const Expr& own,
                    const Location& where);
  /// A connector that sends fluid to the point where those of a set meet.
  struct Sender {
    Expr flow;   ///< to that point
    Expr value;  ///< of what it sends
  };
  Expr mixture(const std::vector<Sender>& senders, double eps, const ConnectionEnd& receiver, const Location& where);
  void finish_streams(const std::vector<std::vector<std::size_t>>& sets);

  // --- expandable connectors (expandable.cpp)
  friend class BusMembers;
  /// Gives expandable connectors the members that connections name, and takes away those that nothing names.
  void complete_buses();
  /// Reads the model again, with a member of an expandable connector that nothing had named before.
  void require_bus_member(const Component& component);
  /// Reports members that are read and that nothing gives a value; `sets`: the ends that are connected.
  void check_bus_readers(const std::vector<std::vector<std::size_t>>& sets);

  // --- vendor annotations (annotations.cpp)
  /// The __saltus_ entries of an annotation. Throws Fault for a name that does not exist.
  static std::vector<const ModificationArgument*> own_annotations(const Modification* annotation);
  /// What the annotation of an equation or a declaration says about the relations in the equations made of it.
  void apply_annotation(const Modification* annotation, std::span<const FlatEquation> equations);
  void apply_annotation(const ModificationArgument& argument, std::span<const FlatEquation> equations);
  void emit_surfaces();

  // --- algorithms (algorithms.cpp)
  void flatten_algorithm(const AlgorithmSection& section, const Context& context);
  /// What a statement does to those behind it.
  enum class Flow : std::uint8_t { next, leave_loop, leave_function };
  Flow follow(const std::vector<const Statement*>& statements, const Context& context);
  Flow follow(const Statement& statement, const Context& context);
  Flow follow_if(const IfStatement& node, const Location& where, const Context& context);
  void follow_section(const std::vector<const Statement*>& statements, const Context& context);
  Flow follow_for(const ForStatement& node, const Context& context);
  Flow follow_while(const WhileStatement& node, const Context& context);
  void follow_when(const WhenStatement& node, const Context& context);
  void follow_call(const Call& call, const Location& where, const Context& context);
  /// What assignments have made of variables at one point of an algorithm.
  struct Snapshot {
    std::unordered_map<std::string_view, Value> variables;
    Assigned assigned;
    bool ended = false;
  };
  /// A `break` or `return` under a condition that is not known before the run.
  struct Exit {
    Flow flow;
    BoolExpr condition;  ///< seen from the beginning of the loop or function
    Snapshot state;
  };
  // loops.cpp
  BoolExpr reached() const;
  void demand(const BoolExpr& condition, std::string text, const Location& where);
  void leave(Flow flow, const Context& context, BoolExpr condition);
  void merge_exits(std::size_t first, Flow flow, const Location& where, const Context& context);
  template <class Passes>
  Flow follow_loop(const Location& where, const Context& context, Passes passes);
  Flow follow_passes(const ForStatement& node, std::size_t level, const Context& context);
  Snapshot snapshot(const Context& context) const;
  void restore(const Snapshot& state, const Context& context) const;
  Snapshot blend(const Value& condition, const Snapshot& then, const Snapshot& otherwise, const Location& where);
  void collect_targets(const std::vector<const Statement*>& statements, Instance& instance,
                       std::unordered_set<const Component*>& targets);
  void assign(ExprPtr target, Value value, const Location& where, const Context& context);
  void assign_symbols(const Value& symbols, Value value, const std::string& target, const Location& where,
                      const Context& context);
  void store_records(Value& variable, const ComponentReference& reference, std::size_t part, const Value& value,
                     const Location& where, const Context& context);
  static std::vector<std::size_t> offsets_of(const Selection& selection, const Dims& dims);
  void store(Value& variable, const ComponentReference& reference, std::size_t part, const Value& value,
             const Location& where, const Context& context);
  /// Assigns to elements of an array. Subscripts that vary in a run choose among all elements.
  void store_elements(Value& variable, const ReferencePart& part, const Value& value, const Location& where,
                      const Context& context, const Fixed& fixed, const BoolExpr& chosen);
  bool assign_varying(const ComponentReference& reference, const Value& value, const Location& where,
                      const Context& context);

  // --- connections (connect.cpp)
  void connect(const ConnectEquation& node, const Location& where, const Context& context);
  ConnectorReference resolve_connector(ExprPtr expression, const Context& context);
  void connect_instances(Instance& a, bool a_outside, Instance& b, bool b_outside, const Location& where);
  void connect_scalars(const ConnectionEnd& a, const ConnectionEnd& b, const Location& where);
  void compare_parameters(Component& a, Component& b, const Location& where);
  void check_sources(const std::vector<std::size_t>& set, const Location& where);
  std::size_t node_of(const ConnectionEnd& end);
  std::size_t find_set(std::size_t node);
  void finish_connections();
  void collect_flows(Instance& instance, std::vector<Component*>& flows);

  // --- the graph of connections (connection_graph.cpp)
  const ClassScope* equality_constraint(const Instance& instance);
  Instance& instance_named(ExprPtr expression, const Context& context);
  GraphNode& graph_node(Instance& instance);
  std::size_t graph_set(std::size_t node);
  void graph_call(const Call& call, const std::string& name, const Location& where, const Context& context);
  void graph_connect(Instance& a, Instance& b, const Location& where);
  void collect_graph(const std::vector<const Equation*>& equations, const Context& context);
  void collect_graph(Instance& instance);
  void build_graph();
  bool graph_query(const std::string& name, const Call& call, const Location& where, const Context& context,
                   Value& result);
  void emit_broken();

  // --- events (events.cpp)
  struct Definition {
    Expr symbol;
    Expr value;
    Location where;
    int shape = -1;
  };
  void sort_equations();
  template <class Visit>
  void for_event_expressions(Visit visit);
  void define_discretes();
  void replace_definitions(std::vector<DefinedDiscrete>& defined, const std::vector<std::size_t>& order);
  void emit();
  void emit_clauses();
  void emit_initial_equations();
  void follow_known_equations(Value& value);
  /// Discrete variables that have a value at the start, of clauses, definitions or initial equations.
  struct InitialTargets {
    std::unordered_set<NodeId> given;
  };
  InitialTargets initial_targets() const;
  void assign_at_start(const Expr& symbol, const Expr& value, const Location& where, InitialTargets& targets);
  void solve_at_start(const FlatEquation& e, bool known, InitialTargets& targets);
  void check_fixed_start(const Expr& symbol, double value, const Location& where);
  std::vector<std::size_t> sorted_groups(const std::vector<std::vector<std::size_t>>& groups) const;
  Component* component_of(const Expr& symbol) const;
  bool is_discrete_symbol(const Expr& e) const;

  ScopeTree& scopes_;
  const std::vector<const SourceText*>& sources_;
  const LoadOptions& options_;
  FlattenLimits limits_;
  StructuralParameters& structural_;
  Diagnostics& diagnostics_;
  std::optional<Model> model_;
  std::unordered_map<std::string, double> overrides_;
  std::unordered_set<std::string> overrides_used_;

  std::deque<Instance> instances_;
  Instance* top_ = nullptr;
  bool keep_loops_ = false;
  std::unique_ptr<KeptLoops> kept_;
  std::size_t marked_equations_ = 0, marked_clauses_ = 0, marked_assertions_ = 0;  ///< see mark_shape
  std::vector<Prototype> prototypes_;
  std::unordered_map<NodeId, VaryingNumber> varying_;
  std::map<std::pair<const Lazy*, int>, Value> of_all_;  ///< what value_of_all has found
  int in_element_ = -1;
  std::string bound_parameter_;                    ///< whose value is being found
  std::unordered_map<int, Expr> element_symbols_;  ///< of variables of elements behind the first, by number
  std::unordered_map<ExprPtr, Expr> lifted_;       ///< numbers of the pass that is being read, as data of its cell
  bool variables_declared_ = false;
  bool in_initial_ = false;  ///< in initial equations and algorithms: time is the start time
  double start_time_ = 0.0;
  bool start_time_used_ = false;
  std::set<std::pair<const Instance*, const Equation*>> used_initially_;  ///< initial equations of parameters
  std::map<std::tuple<const Instance*, const AlgorithmSection*, bool>, std::unique_ptr<Frame>> initial_frames_;
  bool structure_changed_ = false;
  std::int64_t scalars_ = 0, work_ = 0;
  int depth_ = 0;
  std::vector<const ClassScope*> function_stack_;
  std::vector<const Component*> resolving_;  ///< parameters whose values are being found
  int open_choices_ = 0;  ///< branches that parameters decide about and that may be left, around the current expression

  struct ScalarPlace {
    Component* component;
    std::size_t position;
  };
  std::unordered_map<NodeId, ScalarPlace> places_;
  std::unordered_map<NodeId, double> parameter_values_;
  std::map<std::pair<std::string, std::string>, BoolExpr> samples_;
  std::unordered_map<NodeId, std::optional<Expr>> pre_symbols_;
  struct SemiLinear {
    Expr x, positive, negative;
  };
  std::unordered_map<NodeId, ClockOperator> clock_operators_;  ///< by the symbols that stand for them
  std::unordered_map<std::string, Expr> clock_symbols_;        ///< equal calls are one
  bool in_clocked_when_ = false;
  std::unordered_map<NodeId, SemiLinear> semi_linear_;     ///< calls of semiLinear, by the expressions that they became
  std::unordered_map<NodeId, SemiLinear> actual_streams_;  ///< calls of actualStream, the same
  std::unordered_map<NodeId, Expr> in_streams_;            ///< what inStream has, by the symbol of the stream variable
  std::vector<NodeId> in_stream_order_;                    ///< these symbols
  std::map<std::string, Expr> roots_;                      ///< of implicit_root, by the function and its arguments
  std::map<std::tuple<NodeId, NodeId, double>, Delayed> delayed_;  ///< equal calls are one
  std::vector<const Delayed*> delay_order_;
  std::deque<Layout> bus_layouts_;  ///< of expandable connectors, with what connections add
  std::deque<LayoutComponent> bus_components_;
  std::deque<ComponentDeclaration> bus_declarations_;
  bool has_buses_ = false;

  std::vector<FlatEquation> equations_, initial_equations_;
  std::map<std::pair<NodeId, bool>, FlatSurface> surfaces_;  // by relation, and whether it is about a nominal value
  std::vector<FlatClause> clauses_;
  std::unordered_map<NodeId, Location> when_targets_;  // variables that equations in 'when' assign
  std::vector<FlatAction>* when_actions_ = nullptr;    ///< of the algorithm's clause that is being followed
  std::vector<FlatAction>* when_checks_ =
      nullptr;  ///< assertions of the clause that is being read: they hold when it acts
  std::vector<Definition> definitions_;
  struct FlatAssertion {
    BoolExpr condition;
    std::string message;
    Location where;
    int shape = -1;
  };
  std::vector<FlatAssertion> assertions_;
  std::vector<BoolExpr> path_conditions_;  ///< of the ifs (equations, statements, expressions) around the current one
  std::vector<Exit> exits_;                ///< of the loops and functions that are being followed
  std::size_t loop_path_ = 0, function_path_ = 0;  ///< number of path conditions at their beginning
  std::map<ConnectionEnd, std::size_t> connection_nodes_;
  std::vector<ConnectionEnd> connection_ends_;
  std::vector<std::size_t> connection_parent_;
  std::vector<Location> connection_where_;
  std::vector<GraphNode> graph_;
  std::vector<GraphEdge> graph_edges_;
  std::unordered_map<const Instance*, std::size_t> graph_index_;
  std::set<std::pair<const Instance*, const Instance*>> broken_;
  std::vector<BrokenConnection> broken_connections_;
  std::unordered_map<const Instance*, int> cardinality_;
  std::unordered_map<const Component*, int> scalar_cardinality_;
  bool graph_known_ = false;
  std::unordered_map<NodeId, Location> algorithm_targets_;  ///< variables that an algorithm has assigned
};

class Flattener::InElement {
 public:
  InElement(Flattener& flattener, int element)
      : flattener_(flattener), outer_(std::exchange(flattener.in_element_, element)) {}
  ~InElement() { flattener_.in_element_ = outer_; }
  InElement(const InElement&) = delete;
  InElement& operator=(const InElement&) = delete;

 private:
  Flattener& flattener_;
  int outer_;
};

/// Counts nested evaluations while it lives.
class Flattener::Deeper {
 public:
  Deeper(Flattener& flattener, const Location& where) : flattener_(flattener) {
    if (++flattener_.depth_ > flattener_.limits_.depth) {
      --flattener_.depth_;
      throw Fault{where, "expressions, parameters or function calls are nested too deeply here"};
    }
  }
  ~Deeper() { --flattener_.depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Flattener& flattener_;
};

template <class Work>
bool Flattener::attempt(Work work) {
  try {
    work();
    return true;
  } catch (const Fault& fault) {
    report(fault);
  } catch (const Poisoned&) {
  } catch (const ModelicaError&) {  // of a file of a library: it tells its own places
    throw;
  } catch (const Error& error) {  // of the layers below, without a place in the text
    report({{}, error.what()});
  }
  return false;
}

}  // namespace saltus::modelica
