// Warnings about models that can run but hardly mean what they say: units that do not fit, parameters beyond their
// bounds, and resets of variables that are no states.
#include <saltus/expr/print.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "modelica/flatten/flattener.hpp"
#include "modelica/flatten/units.hpp"

namespace saltus::modelica {
namespace {

// Dimensions of the nodes of a graph. A number has none that is known: it may stand for a quantity of any. Nor has
// `time`, which stands for a number in many models: sin(time). Branches of a condition may be residuals of different
// equations.
class UnitCheck {
 public:
  using Units = std::unordered_map<NodeId, Dimension>;

  UnitCheck(Graph& graph, Units symbols) : graph_(graph), symbols_(std::move(symbols)) {}

  /// What does not fit in an equation; "" if nothing. Expressions that equations share are told once.
  std::string check(const Expr& lhs, const Expr& rhs) {
    problem_.clear();
    const NodeId roots[] = {lhs.in(graph_), rhs.in(graph_)};
    for (const NodeId id : graph_.reachable(roots))
      if (!known_.contains(id)) known_.emplace(id, dimension_of(id));
    const auto &left = known_.at(roots[0]), &right = known_.at(roots[1]);
    if (problem_.empty() && left && right && !(*left == *right))
      problem_ = "the left side is in " + to_string(*left) + ", the right side in " + to_string(*right);
    return problem_;
  }

 private:
  using Known = std::optional<Dimension>;

  Known dimension_of(NodeId id) {
    const Node& n = graph_.node(id);
    switch (n.op) {
      case Op::symbol: {
        const auto it = symbols_.find(id);
        return it == symbols_.end() ? Known{} : it->second;
      }
      case Op::neg:
        return known_.at(n.a);
      case Op::add:
        return same(known_.at(n.a), known_.at(n.b), "added");
      case Op::sub:
        return same(known_.at(n.a), known_.at(n.b), "subtracted or compared");
      case Op::select:
        return known_.at(n.b) == known_.at(n.c) ? known_.at(n.b) : Known{};
      case Op::mul:
        return product(known_.at(n.a), known_.at(n.b), 1.0);
      case Op::div:
        return product(known_.at(n.a), known_.at(n.b), -1.0);
      case Op::sqrt:
        return known_.at(n.a) ? Known(known_.at(n.a)->power(0.5)) : Known{};
      case Op::pow:
        if (known_.at(n.a) && graph_.is_constant(n.b)) return known_.at(n.a)->power(graph_.constant_value(n.b));
        return {};
      case Op::atan2:
        same(known_.at(n.a), known_.at(n.b), "arguments of atan2");
        return {};
      default:
        break;
    }
    if (info(n.op).kind == OpKind::function && known_.at(n.a) && !known_.at(n.a)->none())
      tell("the argument of " + std::string(info(n.op).name) + " is in " + to_string(*known_.at(n.a)));
    return {};
  }

  Known same(const Known& a, const Known& b, const char* what) {
    if (a && b && !(*a == *b)) {
      tell(to_string(*a) + " and " + to_string(*b) + " are " + what);
      return {};
    }
    return a ? a : b;
  }

  // A factor that is a number may have any dimension.
  static Known product(const Known& a, const Known& b, double power) {
    return a && b ? Known(*a * b->power(power)) : Known{};
  }

  void tell(std::string text) {
    if (problem_.empty()) problem_ = std::move(text);
  }

  Graph& graph_;
  Units symbols_;
  std::unordered_map<NodeId, Known> known_;
  std::string problem_;
};

}  // namespace

void Flattener::check_units() {
  UnitCheck::Units units;
  Graph& graph = *model_->data().graph;
  constexpr Dimension second{{0, 0, 1}};
  for (const auto& [id, place] : places_) {
    if (place.component->type.kind != TypeKind::real) continue;
    if (const auto dimension = parse_unit(attribute_text(*place.component, "unit"))) units.emplace(id, *dimension);
  }
  if (units.empty()) return;
  std::vector<NodeId> roots;
  for (const FlatEquation& e : equations_)
    for (const Value* side : {&e.lhs, &e.rhs}) roots.push_back(side->scalar().in(graph));
  for (const NodeId id : graph.reachable(roots)) {
    if (graph.node(id).op != Op::symbol || graph.symbol_of(id).kind != SymbolKind::derivative) continue;
    if (const auto it = units.find(graph.symbol_of(id).base); it != units.end())
      units.emplace(id, it->second * second.power(-1.0));
  }
  UnitCheck check(graph, std::move(units));
  for (const FlatEquation& e : equations_) {
    // Libraries divide by constants of value 1 to get rid of units, which the graph does not keep; and a user cannot
    // mend them.
    if (e.lhs.type != TypeKind::real || e.where.file != 0) continue;
    if (const std::string problem = check.check(e.lhs.scalar(), e.rhs.scalar()); !problem.empty())
      warn(e.where, "the units of this equation do not fit: " + problem);
  }
}

void Flattener::check_parameter_bounds(Instance& instance) {
  for (Component& component : instance.components) {
    if (component.shape_state != Component::State::done || component.absent) continue;
    for (Instance* element : component.elements) check_parameter_bounds(*element);
    if (!component.is_parameter() || component.value_state != Component::State::done ||
        (!attribute_given(component, "min") && !attribute_given(component, "max")))
      continue;
    if (component.type.kind != TypeKind::real && component.type.kind != TypeKind::integer) continue;
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<double> least = present_numbers(component, "min", -infinity);
    const std::vector<double> most = present_numbers(component, "max", infinity);
    for (std::size_t k = 0; k < component.values.size(); ++k) {
      if (!varying_.empty()) {  // told of the model that is written out
        for (const double value : values_in_elements(component.values[k]))
          if (value < least[k] || value > most[k]) throw NotKept{};
        continue;
      }
      const double value = parameter_value(component.values[k]);
      const bool low = value < least[k];
      if (!low && !(value > most[k])) continue;
      warn(component.where(), in_quotes(component.path + subscript_text(component.dims, k)) + " = " +
                                  number_text(value) + (low ? " is below its min = " : " is above its max = ") +
                                  number_text(low ? least[k] : most[k]));
    }
  }
}

void Flattener::check_resets() {
  std::vector<Expr> sides;
  for (const FlatEquation& e : equations_) {
    sides.push_back(e.lhs.scalar());
    sides.push_back(e.rhs.scalar());
  }
  std::set<NodeId> states;
  const Graph& graph = *model_->data().graph;
  for (const Expr& d : symbols_of(sides, SymbolKind::derivative)) {
    states.insert(graph.symbol_of(d.id()).base);
    states.insert(d.id());  // derivatives are set where their equations have several solutions
  }
  for (const FlatClause& clause : clauses_)
    for (const FlatAction& action : clause.actions)
      if (action.kind == ModelData::Action::Kind::reset && !states.contains(action.target.id()))
        warn(action.where,
             in_quotes(action.target.name()) +
                 " is not differentiated: its equations decide its value, also after 'reinit'",
             "'reinit' sets variables that stand in der()");
}

void Flattener::check_plausibility() {
  attempt([&] { check_units(); });
  attempt([&] { check_parameter_bounds(*top_); });
  attempt([&] { check_resets(); });
}

}  // namespace saltus::modelica
