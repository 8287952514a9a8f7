// Overconstrained connectors: the graph of connections (chapter 9.4 of the specification), and `cardinality`.
//
// A record with a function equalityConstraint has more variables than degrees of freedom. Where connections form a loop
// through such records, one connection of the loop is broken: instead of the equality of all variables the function
// says what must hold. The graph is known before any equation is read, because equations ask for it (isRoot, rooted).
#include <algorithm>
#include <queue>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

namespace {

// True if connections, or calls that build the graph, are among the equations.
bool has_connections(const std::vector<const Equation*>& equations) {
  return std::any_of(equations.begin(), equations.end(), [](const Equation* equation) {
    if (equation->as<ConnectEquation>()) return true;
    if (const auto* effect = equation->as<CallEquation>())
      return print(effect->call->as<Call>()->callee).starts_with("Connections.");
    if (const auto* loop = equation->as<ForEquation>()) return has_connections(loop->body);
    const auto* choice = equation->as<IfEquation>();
    return choice && std::any_of(choice->branches.begin(), choice->branches.end(),
                                 [](const auto& branch) { return has_connections(branch.body); });
  });
}

}  // namespace

const ClassScope* Flattener::equality_constraint(const Instance& instance) {
  const ClassScope* function = scopes_.find_member("equalityConstraint", instance.cls);
  return function && function->is_function() ? function : nullptr;
}

// The component that an argument of Connections.* or cardinality names.
Instance& Flattener::instance_named(ExprPtr expression, const Context& context) {
  const auto* reference = expression->as<ComponentReference>();
  Instance* here = context.instance;
  for (std::size_t part = 0; reference && part < reference->parts.size(); ++part) {
    const ReferencePart& name = reference->parts[part];
    Component* component = part == 0 ? own_component(name.name.text, context) : here->find(name.name.text);
    if (!component) {
      if (part == 0) unknown_name(*reference, 0, context);
      throw Fault{name.name.where, in_quotes(here->path) + " has no element " + in_quotes(name.name.text)};
    }
    shape(*component);
    if (component->absent)
      throw Fault{expression->where, in_quotes(component->path) + " does not exist: its condition is false"};
    const std::vector<std::size_t> offsets = offsets_of(
        select(component->dims, name.subscripts, context, expression->where, component->path), component->dims);
    if (component->type.builtin || offsets.size() != 1)
      throw Fault{expression->where, in_quotes(print(expression)) + " must be one record or connector"};
    here = &component->element(offsets.front());
  }
  if (!reference) throw Fault{expression->where, "a record or connector is expected here"};
  return *here;
}

GraphNode& Flattener::graph_node(Instance& instance) {
  const auto [it, fresh] = graph_index_.try_emplace(&instance, graph_.size());
  if (fresh) {
    graph_.push_back({});
    graph_.back().parent = it->second;
    graph_.back().instance = &instance;
  }
  return graph_[it->second];
}

std::size_t Flattener::graph_set(std::size_t node) {
  while (graph_[node].parent != node) node = graph_[node].parent = graph_[graph_[node].parent].parent;
  return node;
}

void Flattener::graph_call(const Call& call, const std::string& name, const Location& where, const Context& context) {
  const auto argument = [&](std::size_t k) -> Instance& {
    if (k >= call.arguments.size()) throw Fault{where, in_quotes(name) + " needs more arguments"};
    Instance& instance = instance_named(call.arguments[k].value, context);
    if (!equality_constraint(instance))
      throw Fault{call.arguments[k].value->where,
                  in_quotes(print(call.arguments[k].value)) + " is not a record with a function 'equalityConstraint'"};
    return instance;
  };
  if (name == "Connections.branch") {
    Instance &a = argument(0), &b = argument(1);
    graph_node(a);
    graph_node(b);
    const std::size_t x = graph_index_.at(&a), y = graph_index_.at(&b);
    graph_edges_.push_back({x, y, true, where});
    if (graph_set(x) == graph_set(y)) throw Fault{where, "the branches of the connection graph form a loop"};
    graph_[graph_set(x)].parent = graph_set(y);
  } else if (name == "Connections.root") {
    graph_node(argument(0)).definite = true;
  } else if (name == "Connections.potentialRoot") {
    GraphNode& node = graph_node(argument(0));
    node.priority = call.arguments.size() > 1
                        ? integer(eval(call.arguments[1].value, context), call.arguments[1].value->where, "a priority")
                        : 0;
  } else {
    throw Fault{where, in_quotes(name) + " is not supported", reference_page};
  }
}

// Overdetermined records inside of two connectors that are connected.
void Flattener::graph_connect(Instance& a, Instance& b, const Location& where) {
  if (equality_constraint(a)) {
    graph_node(a);
    graph_node(b);
    graph_edges_.push_back({graph_index_.at(&a), graph_index_.at(&b), false, where});
    return;
  }
  for (Component& first : a.components) {
    Component* second = b.find(first.name());
    if (!second || first.absent || second->absent || first.elements.size() != second->elements.size()) continue;
    for (std::size_t k = 0; k < first.elements.size(); ++k)
      graph_connect(*first.elements[k], *second->elements[k], where);
  }
}

void Flattener::collect_graph(const std::vector<const Equation*>& equations, const Context& context) {
  for (const Equation* equation : equations) {
    charge(1, equation->where);
    if (const auto* connection = equation->as<ConnectEquation>()) {
      const ConnectorReference a = resolve_connector(connection->first, context);
      const ConnectorReference b = resolve_connector(connection->second, context);
      if (a.absent || b.absent || a.instances.size() != b.instances.size()) continue;
      for (std::size_t k = 0; k < a.instances.size(); ++k) {
        ++cardinality_[a.instances[k]];
        ++cardinality_[b.instances[k]];
        graph_connect(*a.instances[k], *b.instances[k], equation->where);
      }
      for (const auto& [component, position] : a.scalars) ++scalar_cardinality_[component];
      for (const auto& [component, position] : b.scalars) ++scalar_cardinality_[component];
    } else if (const auto* effect = equation->as<CallEquation>()) {
      const Call& call = *effect->call->as<Call>();
      const std::string name = print(call.callee);
      if (name.starts_with("Connections.")) graph_call(call, name, equation->where, context);
    } else if (const auto* loop = equation->as<ForEquation>()) {
      if (has_connections(loop->body))
        repeat(*loop, 0, context, [&](const Context& inner) { collect_graph(loop->body, inner); });
    } else if (const auto* choice = equation->as<IfEquation>(); choice && has_connections({equation})) {
      for (const auto& branch : choice->branches) {
        if (branch.condition) {
          const Value condition = eval(branch.condition, context);
          if (condition.variability < Variability::parameter) break;
          if (!known(condition, branch.condition->where).value_or(false)) continue;
        }
        collect_graph(branch.body, context);
        break;
      }
    }
  }
}

void Flattener::collect_graph(Instance& instance) {
  for (const LayoutSection& section : instance.layout->sections)
    if (section.equations && !section.equations->is_initial && !(kept_ && &instance == top_))
      for (const Equation* equation : section.equations->equations) {
        // equations that ask for the graph, or that are wrong, are read later; they have no connections in them
        try {
          collect_graph({equation}, Context{&instance, section.lexical});
        } catch (const Poisoned&) {
        } catch (const Fault& fault) {
          if (equation->as<CallEquation>()) report(fault);
        }
      }
  for (Component& component : instance.components)
    if (!component.absent)
      for (Instance* element : component.elements) collect_graph(*element);
}

void Flattener::build_graph() {
  collect_graph(*top_);
  graph_known_ = true;
  if (graph_.empty()) return;
  if (!prototypes_.empty()) throw NotKept{};
  // sets of records that branches join, and their roots
  const auto root_of = [&](std::size_t node) -> GraphNode& { return graph_[graph_set(node)]; };
  for (std::size_t k = 0; k < graph_.size(); ++k) {
    if (!graph_[k].definite) continue;
    graph_[k].is_root = true;
    root_of(k).rooted = true;
  }
  for (GraphEdge& edge : graph_edges_) {
    if (edge.is_branch) continue;
    const std::size_t x = graph_set(edge.a), y = graph_set(edge.b);
    edge.broken = x == y || (graph_[x].rooted && graph_[y].rooted);
    if (edge.broken) {
      broken_.insert({graph_[edge.a].instance, graph_[edge.b].instance});
      continue;
    }
    graph_[y].rooted = graph_[y].rooted || graph_[x].rooted;
    graph_[x].parent = y;
  }
  for (std::size_t k = 0; k < graph_.size(); ++k) {
    GraphNode& set = root_of(k);
    if (set.rooted || !graph_[k].priority) continue;
    if (!set.best || *graph_[k].priority < *graph_[*set.best].priority) set.best = k;
  }
  for (std::size_t k = 0; k < graph_.size(); ++k) {
    GraphNode& set = graph_[k];
    if (set.parent != k || set.rooted) continue;
    if (!set.best)
      throw Fault{graph_edges_.empty() ? top_->cls->definition->name.where : graph_edges_.front().where,
                  "the connections around " + in_quotes(set.instance->path) + " have no root",
                  "Connections.root or Connections.potentialRoot names one"};
    graph_[*set.best].is_root = true;
    set.rooted = true;
  }
  // distances from the roots, for rooted()
  std::vector<std::vector<std::size_t>> neighbours(graph_.size());
  for (const GraphEdge& edge : graph_edges_)
    if (!edge.broken) {
      neighbours[edge.a].push_back(edge.b);
      neighbours[edge.b].push_back(edge.a);
    }
  std::queue<std::size_t> open;
  for (std::size_t k = 0; k < graph_.size(); ++k)
    if (graph_[k].is_root) {
      graph_[k].distance = 0;
      open.push(k);
    }
  for (; !open.empty(); open.pop())
    for (const std::size_t next : neighbours[open.front()])
      if (graph_[next].distance < 0) {
        graph_[next].distance = graph_[open.front()].distance + 1;
        open.push(next);
      }
}

// Connections.isRoot(R), Connections.rooted(R), rooted(R) and cardinality(c).
bool Flattener::graph_query(const std::string& name, const Call& call, const Location& where, const Context& context,
                            Value& result) {
  const bool rooted = name == "Connections.rooted" || name == "rooted";
  if (!rooted && name != "Connections.isRoot" && name != "cardinality") return false;
  if (!prototypes_.empty()) throw NotKept{};
  if (call.arguments.size() != 1) throw Fault{where, in_quotes(name) + " takes one argument"};
  if (!graph_known_)
    throw Fault{where, in_quotes(name) + " can be asked in equations only, not where the structure is decided"};
  const ExprPtr argument = call.arguments.front().value;
  if (name == "cardinality") {
    const auto* reference = argument->as<ComponentReference>();
    Component* component =
        reference && reference->parts.size() == 1 ? own_component(reference->parts[0].name.text, context) : nullptr;
    if (component && component->type.builtin) {
      result = Value::integer(scalar_cardinality_[component]);
      return true;
    }
    result = Value::integer(cardinality_[&instance_named(argument, context)]);
    return true;
  }
  const auto it = graph_index_.find(&instance_named(argument, context));
  if (it == graph_index_.end()) {
    result = Value::boolean(false);
    return true;
  }
  const GraphNode& node = graph_[it->second];
  if (!rooted) {
    result = Value::boolean(node.is_root);
    return true;
  }
  for (const GraphEdge& edge : graph_edges_)
    if (edge.is_branch && (edge.a == it->second || edge.b == it->second)) {
      const GraphNode& other = graph_[edge.a == it->second ? edge.b : edge.a];
      result = Value::boolean(node.distance < other.distance);
      return true;
    }
  throw Fault{where, in_quotes(print(argument)) + " has no branch, so that " + in_quotes(name) + " has no meaning"};
}

// What holds instead of the equality of two records whose connection is broken.
void Flattener::emit_broken() {
  for (const BrokenConnection& broken : broken_connections_) {
    attempt([&] {
      const ClassScope* function = scopes_.resolve(equality_constraint(*broken.a), broken.where).cls;
      NamedValues inputs;
      for (const LayoutComponent& input : scopes_.layout(function).components)
        if (input.direction == Direction::input && inputs.size() < 2)
          inputs.emplace_back(input.name(), instance_value(inputs.empty() ? *broken.a : *broken.b, broken.where));
      const std::vector<Value> results = run_function(function, inputs, broken.where, Context{nullptr, function});
      if (results.size() != 1 || !results.front().is_numeric())
        throw Fault{broken.where, "'equalityConstraint' must return a vector of numbers"};
      for (const Expr& residue : results.front().elements)
        equations_.push_back({Value(TypeKind::real, Variability::continuous, residue), Value::real(0.0), broken.where});
    });
  }
}

}  // namespace saltus::modelica
