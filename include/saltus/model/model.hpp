// Model: variables, equations and events, written down. Nothing is computed here; `simulate` compiles and runs it.
//
//   Model m("ball");
//   auto h = m.variable("h", 10), v = m.variable("v", 0);
//   m.equation(der(h) == v);
//   m.equation(der(v) == -9.81);
//   m.when(h < 0).reset(v, -0.9 * v);
#pragma once

#include <saltus/dae/hybrid_system.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/expr.hpp>
#include <saltus/model/array.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace saltus {

struct ModelArrays;
struct ModelData;
struct RepeatedModel;

/// The source line at a place with a mark below it, for messages; "" where there is none.
using SourceQuote = std::function<std::string(const SourceLocation&)>;

/// Attributes of a variable beyond its name and start value.
struct VariableOptions {
  bool fixed = false;
  double nominal = 1.0;
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  std::string unit = {};
  std::string description = {};
  VariableType type = VariableType::real;
  Causality causality = Causality::local;
  std::vector<std::string> literals = {};  ///< of an enumeration, the first for the value 1
};

/// How an input may move between two of its changes.
enum class InputCurve {
  held,    ///< it is constant; the input is a discrete variable
  line,    ///< along a straight line; conditions on it alone become true at times that are known in advance
  smooth,  ///< along a polynomial of degree 5; needed for inputs that are functions of time
};

/// What a Model holds. Loops over large arrays may be kept as they are: they are written out when something other than
/// `compile` looks at the model. Copies share the content.
class ModelContent {
 public:
  explicit ModelContent(std::shared_ptr<ModelData> data);
  /// Loops that are kept, and what gives the same model written out.
  ModelContent(std::string name, std::shared_ptr<const RepeatedModel> loops,
               std::function<std::shared_ptr<ModelData>()> write_out);

  const std::string& name() const;
  /// Null: there are none, or a model that was read from a text has been changed.
  std::shared_ptr<const RepeatedModel> loops() const;
  /// The whole model, without loops.
  std::shared_ptr<ModelData> read() const;
  /// What is written down: with the arrays of a model, and without passes of its loops.
  const std::shared_ptr<ModelData>& written() const;
  /// The same, to be changed.
  const std::shared_ptr<ModelData>& change() const;
  ModelData* operator->() const { return change().get(); }
  ModelData& operator*() const { return *change(); }
  bool operator==(const ModelContent&) const = default;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// What a `when` clause does when its condition becomes true. Right-hand sides see the values before the event; assignments of one
/// clause are made in the order written, and later ones see the discrete values that earlier ones assigned.
class When {
 public:
  /// x jumps to the value, if the condition holds then. der(x) may be set where the equations leave a choice: of several solutions
  /// (der(x)^2 == 4) the one near the value is taken. The results show it as the variable 'der(x)'.
  When& reset(const Expr& x, const Expr& value, const BoolExpr& only_if = true);
  /// A discrete variable gets a new value.
  When& assign(const Expr& discrete, const Expr& value);
  When& assign(const BoolExpr& discrete, const BoolExpr& value);
  /// The run ends successfully, if the condition holds then.
  When& terminate(const std::string& message = "", const BoolExpr& only_if = true);
  /// The run fails if the condition does not hold then.
  When& assertion(const BoolExpr& condition, const std::string& message);
  /// The event is recorded although nothing changes (a Poincaré section).
  When& record();
  /// Zeros of the switching functions in the condition that touch without crossing are recorded too, as events of kind `touch`; the
  /// clause does not act on them.
  When& record_touches();
  /// What events call the clause, instead of "when" and its condition.
  When& named(const std::string& name);
  /// Acts if this condition becomes true and none of the conditions before it does.
  When otherwise_when(const BoolExpr& condition, const SourceLocation& where = {});

 private:
  friend class Model;
  When(ModelContent data, std::size_t clause);
  /// The model. Throws UsageError outside of the loop in which the clause was begun.
  ModelData& model() const;
  ModelContent data_;
  std::size_t clause_, loop_;
};

class ModeTransition;

/// An explicit mode: its equations hold, beside those of the model, while it is active.
class ExplicitMode {
 public:
  ExplicitMode& equation(const Equation& equation, const std::string& name = "", const SourceLocation& where = {});
  ExplicitMode& equations(const std::vector<Equation>& equations, const SourceLocation& where = {});
  /// Leaves this mode as soon as the condition holds; the earlier transition wins if several do.
  ModeTransition transition(const BoolExpr& condition, const SourceLocation& where = {});
  const std::string& name() const;

 private:
  friend class Model;
  friend class ModeTransition;
  ExplicitMode(ModelContent data, std::size_t mode) : data_(std::move(data)), mode_(mode) {}
  ModelContent data_;
  std::size_t mode_;
};

class ModeTransition {
 public:
  ModeTransition& to(const ExplicitMode& successor);
  /// x jumps to the value; right-hand sides see the values before the event. der(x) may be set as by When::reset.
  ModeTransition& reset(const Expr& x, const Expr& value);
  ModeTransition& assign(const Expr& discrete, const Expr& value);

 private:
  friend class ExplicitMode;
  ModeTransition(ModelContent data, std::size_t transition) : data_(std::move(data)), transition_(transition) {}
  ModelContent data_;
  std::size_t transition_;
};

/// Declarations throw ModelError for a name used twice, values that are NaN, and assignments to what cannot be assigned. Everything
/// that needs the whole model (numbers of equations and unknowns) is checked when it is compiled. Copies share the model.
class Model {
 public:
  explicit Model(std::string name = "model");
  explicit Model(ModelContent content) : data_(std::move(content)) {}

  const std::string& name() const;
  /// A model of its own, which can be extended without changing this one. Both share their graph of expressions, so
  /// expressions of this model, as it is now, can be used in the copy.
  Model copy() const;

  // --- declarations
  Expr time() const;
  Expr variable(const std::string& name, double start = 0.0, VariableOptions options = {}, const SourceLocation& where = {});
  Expr parameter(const std::string& name, double value, const SourceLocation& where = {});
  /// The same with attributes: an Integer, an enumeration, a unit. `fixed` and `nominal` have no meaning here.
  Expr parameter(const std::string& name, double value, VariableOptions options, const SourceLocation& where = {});
  /// Piecewise constant: changes only at events.
  Expr discrete(const std::string& name, double start = 0.0, const SourceLocation& where = {});
  BoolExpr discrete(const std::string& name, bool start, const SourceLocation& where = {});
  /// The same with attributes: an Integer, an enumeration, a unit. `fixed` and `nominal` have no meaning here.
  Expr discrete(const std::string& name, double start, VariableOptions options, const SourceLocation& where = {});

  /// A variable whose values come from outside: SimulateOptions::inputs, Simulator::set_input. Without these it keeps
  /// its start value. It may be read and differentiated as any variable, and cannot be set by the model. A change is a
  /// time event: u is the new value, pre(u) the one before. Integers, truth values and enumerations are always held.
  Expr input(const std::string& name, double start = 0.0, InputCurve curve = InputCurve::line,
             VariableOptions options = {}, const SourceLocation& where = {});
  BoolExpr input(const std::string& name, bool start, const SourceLocation& where = {});

  // --- arrays and loops over them (array.hpp)
  /// Variables name[0], name[1], … With one start value for all of them, or one for each, row by row.
  Array array(const std::string& name, const ArraySize& size, double start = 0.0, VariableOptions options = {},
              const SourceLocation& where = {});
  Array array(const std::string& name, const ArraySize& size, std::vector<double> starts, VariableOptions options = {},
              const SourceLocation& where = {});
  Array parameter_array(const std::string& name, std::vector<double> values, const SourceLocation& where = {});
  Array discrete_array(const std::string& name, const ArraySize& size, double start, const SourceLocation& where = {});
  BoolArray discrete_array(const std::string& name, const ArraySize& size, bool start,
                           const SourceLocation& where = {});
  /// Writes down what the body says for all values of an iterator. The body is run once, at once.
  void for_each(const IndexRange& range, const std::function<void(const Index&)>& body);
  void for_each(const IndexRange& rows, const IndexRange& columns,
                const std::function<void(const Index&, const Index&)>& body);

  // --- equations
  void equation(const Equation& equation, const std::string& name = "", const SourceLocation& where = {});
  void equations(const std::vector<Equation>& equations, const SourceLocation& where = {});
  /// Holds at the start only, together with the equations; may contain derivatives: der(x) == 0 starts at rest. Start values that are not
  /// `fixed` are guesses then.
  void initial_equation(const Equation& equation, const SourceLocation& where = {});
  /// Allows numbers of equations and variables that differ. Contradictory equations are then satisfied in the sense of least squares (the
  /// run says so), redundant ones do no harm, and components that no equation determines stay constant. Meant for linear modes. Nothing
  /// is eliminated from such models.
  void allow_unbalanced();
  /// Runs may begin at this time only: start values or parameters were computed for it.
  void start_at(double time);
  /// How ranks are decided, if not as usual.
  void scaling(Scaling scaling);
  /// A discrete variable that always equals an expression, re-evaluated at every event.
  void define(const Expr& discrete, const Expr& value, const SourceLocation& where = {});

  /// What happens where both sides of the surface of a relation push towards it. The default is to slide.
  void surface(const BoolExpr& relation, SurfaceRule rule, const SourceLocation& where = {});

  /// Errors of a guard count in steps as those of a variable do: more than rtol |a - b| + atol nominal is too much, for the
  /// relation a > b. Without it a guard is as accurate as what it is made of, and a factor on it changes no step.
  void guard_nominal(const BoolExpr& relation, double nominal, const SourceLocation& where = {});

  /// For comparison with other programs: instead of moving the state back onto the surfaces on which it slides, adds the field
  /// -strength * g * gradient(g) of each of them (Piiroinen and Kuznetsov 2008, equation (50)). It keeps g near zero, not at it, and a
  /// large strength makes the mode stiff. Sliding modes with constraints are not concerned.
  void stabilise_sliding(double strength);

  // --- events
  When when(const BoolExpr& condition, const SourceLocation& where = {});
  /// True at start, start + interval, start + 2 interval, …, in the first round of each of these instants only; exact in time.
  /// Both are numbers or expressions of parameters. Values that make the interval anything but positive are refused.
  BoolExpr sample(const Expr& start, const Expr& interval);
  /// The value just before the event: for right-hand sides in `when` and `define`.
  Expr pre(const Expr& symbol);
  BoolExpr pre(const BoolExpr& discrete);
  /// True while the run is being initialised, and in its last instant.
  BoolExpr initial();
  BoolExpr terminal();
  /// The run fails when the condition becomes false.
  void assertion(const BoolExpr& condition, const std::string& message, const SourceLocation& where = {});
  ExplicitMode mode(const std::string& name);
  /// The explicit mode to begin with; the first one declared if not given.
  void start_in(const ExplicitMode& mode);

  // --- for compilers and front ends
  /// The whole model, without loops. Valid until the model is changed.
  const ModelData& data() const { return *data_.read(); }
  const ModelContent& content() const { return data_; }
  /// The declared symbol of that name. Throws ModelError with the nearest name if there is none.
  Expr symbol(const std::string& name) const;
  /// Changes a parameter's value or a variable's start value by name. Throws ModelError for unknown names and NaN.
  void set(const std::string& name, double value);
  /// The start value of a variable or discrete variable is an expression of parameters, and follows them until `set` gives it a number.
  void start(const Expr& symbol, const Expr& value);
  /// The bounds of a variable or discrete variable are expressions of parameters, and follow them.
  void bounds(const Expr& symbol, const Expr& min, const Expr& max);
  /// Says why a value cannot be changed once the model is compiled, for names that are no parameters or whose value was used to write the
  /// model: "it decides the size of an array". CompiledModel::with_values refuses the name with this reason.
  void fix(const std::string& name, const std::string& reason);
  /// Errors found when the model is compiled quote the text that it was read from.
  void quote_source(SourceQuote quote);

 private:
  /// pre(u) of an input that is not held.
  Expr value_before(std::size_t input);
  Array add_array(SymbolKind kind, const std::string& name, const ArraySize& size, std::vector<double> starts,
                  VariableOptions options, const SourceLocation& where);
  void write_loop(const std::vector<IndexRange>& ranges, const std::function<void(const std::vector<Index>&)>& body);
  ModelContent data_;
};

/// The content of a model, as compilers read it.
struct ModelData {
  struct Action {
    enum class Kind { reset, assign, terminate, record, check } kind;
    Expr target, value;
    std::string message;
    BoolExpr only_if = true;  ///< of resets and ends
  };
  struct Clause {
    BoolExpr condition;
    std::vector<Action> actions;
    SourceLocation where;
    int after = -1;  ///< the clause that has precedence (elsewhen), or -1
    std::string name;
    bool named = false;     ///< by When::named
    bool at_start = false;  ///< a condition that holds from the start counts as an edge
    bool touches = false;   ///< zeros that touch without crossing are recorded
    bool samples = false;   ///< raises a pulse: acts before all others of its instant
  };
  struct NamedEquation {
    Equation equation;
    std::string name;
    SourceLocation where;
  };
  struct Mode {
    std::string name;
    std::vector<NamedEquation> equations;
    std::vector<std::size_t> transitions;
  };
  struct Transition {
    std::size_t from;
    BoolExpr condition;
    std::size_t to;
    bool has_target = false;
    std::vector<Action> actions;
    SourceLocation where;
  };
  struct Discrete {
    Expr symbol;
    double start;
    std::string name;
    SourceLocation where;
    bool hidden = false;  ///< made by the library (sample times)
    bool pulse = false;   ///< true in the rounds of one instant only
    bool boolean = false; ///< a truth value
    Rare<VariableDetails> details = {};
  };
  struct Parameter {
    Expr symbol;
    double value;
    std::string name;
    SourceLocation where;
    Rare<VariableDetails> details = {};
  };
  struct Bounds {
    Expr min, max;
  };
  struct Input {
    std::string name;
    InputInfo places;  ///< `variable`: its index among the variables, or the discrete variables where it is held
    bool held = false;
  };
  struct Definition {
    Expr discrete, value;
    SourceLocation where;
  };
  struct Sample {
    Expr start, interval, pulse;
  };
  struct Assertion {
    BoolExpr condition;
    std::string message;
    SourceLocation where;
  };

  struct Surface {
    BoolExpr relation;
    SurfaceRule rule;
    SourceLocation where;
    double nominal = 0.0;  // > 0: of the guard; `rule` does not count then
  };

  /// Where a name is declared: index into variables, parameters or discretes.
  struct Declared {
    SymbolKind kind;
    std::size_t index;
  };

  std::string name;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  std::unordered_map<std::string, Declared> names;
  Expr time;
  Expr still;  ///< stands still: what systems integrate where the model has nothing to integrate
  std::vector<Expr> variables;
  std::vector<VariableInfo> variable_info;
  std::vector<Parameter> parameters;
  std::vector<Discrete> discretes;
  std::vector<Input> inputs;
  std::vector<NamedEquation> equations, initial_equations;
  std::vector<Definition> definitions;
  std::vector<Clause> clauses;
  std::vector<std::pair<Expr, std::string>> guard_names;  ///< of relations that the library made itself
  std::vector<Sample> samples;  ///< see Model::sample
  std::vector<Assertion> assertions;
  std::vector<Surface> surfaces;
  std::vector<Mode> modes;
  std::vector<Transition> transitions;
  std::size_t start_mode = 0;
  bool unbalanced = false;  ///< see Model::allow_unbalanced
  Scaling scaling = Scaling::automatic;  ///< see Model::scaling
  std::optional<double> start_time = {};  ///< see Model::start_at
  double stabilisation = 0.0;  ///< see Model::stabilise_sliding
  std::vector<std::pair<Expr, Expr>> pre_symbols;  ///< (symbol, its value before the event)
  std::unordered_map<NodeId, std::size_t> pre_places;  ///< of a symbol in pre_symbols
  std::map<std::string, Expr> start_values;            ///< by name, those that are expressions of parameters; see Model::start
  std::map<std::string, Bounds> bound_values;          ///< by name, those that are expressions of parameters; see Model::bounds
  std::map<std::string, std::string> fixed_names;      ///< see Model::fix
  SourceQuote quote;                                   ///< null unless the model was read from a text
  Expr initial_symbol, terminal_symbol;            ///< numbers unless used
  std::shared_ptr<ModelArrays> arrays = {};        ///< and loops over them; null where all is written out
};

}  // namespace saltus
