// Equations that a function of the library solves by iteration, as equations of the model.
//
// Modelica.Math.Nonlinear.solveOneNonlinearEquation(f, a, b) finds the root of f between a and b. Followed symbolically
// its loop would be written out, up to a hundred times f in itself. Where arguments vary, the root is a variable of the
// model instead, and f(root) = 0 one of its equations: they are solved together with all others, and derivatives follow
// from the implicit function theorem. The guess is the root for the start values of the arguments.
#include <saltus/expr/derivative.hpp>
#include <saltus/expr/rewrite.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

std::optional<Value> Flattener::implicit_root(const ClassScope* function, const NamedValues& inputs,
                                              const Location& where, const Context& caller) {
  if (function->name != "Modelica.Math.Nonlinear.solveOneNonlinearEquation" || !variables_declared_) return {};
  const auto input = [&](std::string_view name) -> const Value* {
    const auto it = std::ranges::find(inputs, name, &NamedValues::value_type::first);
    return it == inputs.end() ? nullptr : &it->second;
  };
  const Value *f = input("f"), *low = input("u_min"), *high = input("u_max");
  if (!f || !f->function || !low || !high || low->elements.size() != 1 || high->elements.size() != 1) return {};
  std::vector<Expr> arguments{low->scalar(), high->scalar()};
  std::string key = f->function->cls->name;
  for (const auto& [name, value] : f->function->given) {
    if (value.type == TypeKind::string || value.type == TypeKind::function) return {};
    key += " " + std::string(name);
    add_scalars(value, arguments);
  }
  bool varies = false;
  for (const Expr& e : arguments) {
    key += e.is_constant() ? " " + std::to_string(std::bit_cast<std::uint64_t>(e.constant_value()))
                           : " #" + std::to_string(e.id());
    varies = varies || (!e.is_constant() && !is_of_parameters(e));
  }
  if (!varies) return {};
  if (when_actions_ || when_checks_ || in_clocked_when_) return {};
  const auto free_input = std::ranges::find_if(scopes_.layout(f->function->cls).components, [&](const auto& component) {
    return component.direction == Direction::input &&
           std::ranges::none_of(f->function->given, [&](const auto& given) { return given.first == component.name(); });
  });
  if (free_input == scopes_.layout(f->function->cls).components.end()) return {};
  BoolExpr asked = true;  // with the events of these conditions: the root jumps where they change
  for (const BoolExpr& condition : path_conditions_) asked = asked && condition;
  if (!asked.expr().is_constant()) key += " if #" + std::to_string(asked.expr().id());
  if (const auto known = roots_.find(key); known != roots_.end())
    return Value(TypeKind::real, Variability::continuous, known->second);
  if (kept_ || !prototypes_.empty()) throw NotKept{};
  const auto at = [&](const Expr& u) {
    NamedValues all = f->function->given;
    all.emplace_back(free_input->name(), Value(TypeKind::real, Variability::continuous, u));
    const std::vector<Value> results = run_function(f->function->cls, std::move(all), where, caller);
    if (results.size() != 1 || results.front().elements.size() != 1 || !results.front().is_numeric())
      throw Fault{where, "the function " + in_quotes(f->function->cls->name) + " must return one number"};
    return results.front().scalar();
  };
  const double least = start_value(low->scalar()), most = start_value(high->scalar());
  const std::string name = "root " + std::to_string(roots_.size() + 1) + " of " + f->function->cls->name;
  VariableOptions options{.description = "solution of an equation that a function solves"};
  if (least < most) {
    options.min = least;
    options.max = most;
    options.nominal = std::max(std::abs(least), std::abs(most));
  }
  double guess = least < most ? 0.5 * (least + most) : 0.0;
  const Expr root = model_->variable(name, guess, options, locate(where));
  roots_.emplace(key, root);
  const Expr residual = no_event(at(root));
  guess = bracketed_root(residual, root, least, most, guess);
  model_->set(name, guess);
  const Expr rest = root - guess;
  equations_.push_back({Value(TypeKind::real, Variability::continuous,
                              asked.expr().is_constant() ? residual : if_else(asked, residual, rest)),
                        Value::real(0.0), where});
  return Value(TypeKind::real, Variability::continuous, root);
}

/// The value of an expression for the start values of the variables in it; not a number where there is none.
double Flattener::start_value(const Expr& e) const {
  std::unordered_map<NodeId, double> none;
  return value_at_start(e, none);
}

double Flattener::value_at_start(const Expr& e, std::unordered_map<NodeId, double>& given) const {
  if (e.is_constant()) return e.constant_value();
  const Graph& graph = *model_->data().graph;
  const std::vector<NodeId> roots{e.id()};
  std::unordered_map<NodeId, double> values;
  for (const NodeId id : graph.reachable(roots)) {
    const Node& n = graph.node(id);
    double value = std::numeric_limits<double>::quiet_NaN();
    if (const auto known = given.find(id); known != given.end()) {
      value = known->second;
    } else if (n.op == Op::constant) {
      value = graph.constant_value(id);
    } else if (n.op == Op::symbol) {
      if (const auto it = parameter_values_.find(id); it != parameter_values_.end())
        value = it->second;
      else if (const auto name = model_->data().names.find(graph.symbol_of(id).name);
               name != model_->data().names.end() && name->second.kind != SymbolKind::parameter)
        value = name->second.kind == SymbolKind::variable ? model_->data().variable_info[name->second.index].start
                                                          : model_->data().discretes[name->second.index].start;
    } else if (n.op != Op::external) {
      const int operands = operand_count(n.op);
      value = apply(n.op, values.at(n.a), operands > 1 ? values.at(n.b) : 0.0, operands > 2 ? values.at(n.c) : 0.0);
    }
    values.emplace(id, value);
  }
  return values.at(e.id());
}

/// A root of the residual for the start values of all other variables: by bisection where the signs at the bounds
/// differ, otherwise the guess.
double Flattener::bracketed_root(const Expr& residual, const Expr& root, double low, double high, double guess) const {
  const auto at = [&](double u) {
    std::unordered_map<NodeId, double> given{{root.id(), u}};
    return value_at_start(residual, given);
  };
  if (residual.is_constant() || !(low < high)) return guess;
  const double below = at(low);
  if (!(below * at(high) < 0.0)) return guess;
  constexpr int halvings = 50;
  for (int k = 0; k < halvings; ++k) {
    const double middle = 0.5 * (low + high), value = at(middle);
    if (std::isnan(value)) return guess;
    (value * below > 0.0 ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

}  // namespace saltus::modelica
