// Connections: sets of connected variables, equal potentials, and flows that sum up to zero.
//
// A connector is an outside connector where the class connects its own one, and an inside connector where it connects
// one of a component; the flow through an outside connector counts with the other sign. Each variable of a connector
// therefore belongs to two sets, one for each of its faces.
#include <algorithm>

#include "modelica/flatten/flattener.hpp"
#include "modelica/printer.hpp"

namespace saltus::modelica {

std::size_t Flattener::node_of(const ConnectionEnd& end) {
  const auto [it, fresh] = connection_nodes_.try_emplace(end, connection_ends_.size());
  if (fresh) {
    connection_parent_.push_back(connection_ends_.size());
    connection_ends_.push_back(end);
    connection_where_.emplace_back();
  }
  return it->second;
}

std::size_t Flattener::find_set(std::size_t node) {
  while (connection_parent_[node] != node)
    node = connection_parent_[node] = connection_parent_[connection_parent_[node]];
  return node;
}

ConnectorReference Flattener::resolve_connector(ExprPtr expression, const Context& context) {
  const auto* reference = expression->as<ComponentReference>();
  if (!reference || reference->global)
    throw Fault{expression->where, "'connect' needs connectors, not " + in_quotes(print(expression))};
  ConnectorReference result;
  result.text = print(expression);
  struct Place {
    Instance* instance;
    Dims dims;
  };
  std::vector<Instance*> here{context.instance};
  bool through_component = false;
  for (std::size_t part = 0; part < reference->parts.size(); ++part) {
    const ReferencePart& name = reference->parts[part];
    std::vector<Instance*> next;
    for (Instance* instance : here) {
      Component* component = part == 0 ? own_component(name.name.text, context) : instance->find(name.name.text);
      if (!component) {
        if (part == 0) unknown_name(*reference, 0, context);
        throw Fault{name.name.where, in_quotes(instance->path) + " has no element " + in_quotes(name.name.text)};
      }
      if (part > 0 && component->source->is_protected)
        throw Fault{name.name.where, in_quotes(name.name.text) + " is protected in " + in_quotes(instance->cls->name)};
      if (part == 0 && component->owner != context.instance && component->type.is_connector)
        throw Fault{name.name.where,
                    "a connection to the outer connector " + in_quotes(name.name.text) + " is not supported",
                    reference_page};
      shape(*component);
      if (component->absent) {
        result.absent = true;
        return result;
      }
      const bool last = part + 1 == reference->parts.size();
      const Selection selection = select(component->dims, name.subscripts, context, expression->where, component->path);
      std::size_t total = 1;
      Dims kept;
      for (std::size_t k = 0; k < component->dims.size(); ++k) {
        total *= selection.indices[k].size();
        if (selection.keeps[k]) kept.push_back(static_cast<std::int64_t>(selection.indices[k].size()));
      }
      if (instance == here.front()) result.dims.insert(result.dims.end(), kept.begin(), kept.end());
      charge(static_cast<std::int64_t>(total), expression->where);
      for (std::size_t n = 0; n < total; ++n) {
        std::size_t rest = n, offset = 0, factor = 1;
        for (std::size_t k = component->dims.size(); k-- > 0;) {
          const auto& indices = selection.indices[k];
          offset += factor * static_cast<std::size_t>(indices[rest % indices.size()]);
          rest /= indices.size();
          factor *= static_cast<std::size_t>(component->dims[k]);
        }
        if (component->type.builtin) {
          if (!last) throw Fault{name.name.where, in_quotes(component->path) + " has no parts"};
          if (component->is_parameter())
            throw Fault{expression->where, in_quotes(component->path) + " is a parameter and cannot be connected"};
          result.scalars.emplace_back(component, offset);
        } else {
          next.push_back(&component->element(offset));
        }
      }
      if (!component->type.builtin && !component->elements.empty() && !component->elements.front()->is_connector)
        through_component = true;
    }
    here = std::move(next);
  }
  result.instances = std::move(here);
  // a connector that belongs to the class itself shows its inner face
  result.outside = !through_component;
  for (const Instance* instance : result.instances)
    if (!instance->is_connector)
      throw Fault{expression->where, in_quotes(instance->path) + " is a " +
                                         std::string(spelling(instance->cls->kind())) + ", not a connector"};
  return result;
}

void Flattener::connect(const ConnectEquation& node, const Location& where, const Context& context) {
  const ConnectorReference a = resolve_connector(node.first, context), b = resolve_connector(node.second, context);
  if (a.absent || b.absent) return;  // a connection to a component whose condition is false
  if (a.dims != b.dims || a.instances.size() != b.instances.size() || a.scalars.size() != b.scalars.size()) {
    const auto kind = [](const ConnectorReference& r) {
      return r.instances.empty()
                 ? r.scalars.empty() ? "empty" : std::string(type_name(r.scalars.front().first->type.kind))
                 : r.instances.front()->cls->name;
    };
    if (a.instances.empty() != b.instances.empty())
      throw Fault{where, in_quotes(a.text) + " (" + kind(a) + ") and " + in_quotes(b.text) + " (" + kind(b) +
                             ") are of different types"};
    const auto size = [](const ConnectorReference& r) {
      return r.dims.empty() ? std::string("a scalar") : "an array of the size " + to_string(r.dims);
    };
    throw Fault{where, in_quotes(a.text) + " is " + size(a) + ", but " + in_quotes(b.text) + " is " + size(b)};
  }
  for (std::size_t k = 0; k < a.instances.size(); ++k)
    connect_instances(*a.instances[k], a.outside, *b.instances[k], b.outside, where);
  for (std::size_t k = 0; k < a.scalars.size(); ++k)
    connect_scalars({a.scalars[k].first, a.scalars[k].second, a.outside},
                    {b.scalars[k].first, b.scalars[k].second, b.outside}, where);
}

void Flattener::connect_instances(Instance& a, bool a_outside, Instance& b, bool b_outside, const Location& where) {
  if (broken_.contains({&a, &b})) {
    broken_connections_.push_back({&a, &b, where});
    return;
  }
  for (Component& first : a.components) {
    Component* second = b.find(first.name());
    const auto refuse = [&](const std::string& why) {
      throw Fault{where,
                  in_quotes(a.path) + " (of the class " + in_quotes(a.cls->name) + ") and " + in_quotes(b.path) +
                      " (of the class " + in_quotes(b.cls->name) + ") do not fit: " + why,
                  "connect connectors of one class"};
    };
    if (!second) refuse(in_quotes(b.path) + " has no element " + in_quotes(first.name()));
    shape(first);
    shape(*second);
    if (first.absent || second->absent) continue;
    if (first.is_parameter()) {
      compare_parameters(first, *second, where);
      continue;
    }
    if (first.dims != second->dims || first.type.builtin != second->type.builtin)
      refuse(in_quotes(first.name()) + " has different sizes or types");
    if (first.role != second->role) refuse(in_quotes(first.name()) + " is a flow or a stream in one of them only");
    if (!first.type.builtin) {
      for (std::size_t k = 0; k < first.elements.size(); ++k)
        connect_instances(*first.elements[k], a_outside, *second->elements[k], b_outside, where);
      continue;
    }
    const auto size = static_cast<std::size_t>(count(first.dims));
    for (std::size_t k = 0; k < size; ++k) connect_scalars({&first, k, a_outside}, {second, k, b_outside}, where);
  }
  if (a.components.size() != b.components.size())
    throw Fault{where,
                in_quotes(a.path) + " and " + in_quotes(b.path) + " have different elements and cannot be connected"};
}

// Parameters of connectors that are connected must have the same value.
void Flattener::compare_parameters(Component& a, Component& b, const Location& where) {
  if (!a.type.builtin || !b.type.builtin || !b.is_parameter()) return;
  const Value x = component_value(a, where), y = component_value(b, where);
  if (x.dims != y.dims || x.type != y.type)
    throw Fault{where, in_quotes(a.path) + " and " + in_quotes(b.path) + " have different types or sizes"};
  const std::string meeting = "whether " + in_quotes(a.path) + " and " + in_quotes(b.path) + " may be connected";
  for (std::size_t k = 0; k < x.elements.size(); ++k) {
    const bool equal = x.type == TypeKind::string
                           ? x.text_at(k) == y.text_at(k)
                           : used_value(x.elements[k], meeting) == used_value(y.elements[k], meeting);
    if (!equal)
      throw Fault{where, in_quotes(a.path) + " and " + in_quotes(b.path) + " are connected, but their values differ"};
  }
}

// A signal has one source: an output of a component, or an input of the class around.
void Flattener::check_sources(const std::vector<std::size_t>& set, const Location& where) {
  const ConnectionEnd* source = nullptr;
  for (const std::size_t k : set) {
    const ConnectionEnd& end = connection_ends_[k];
    const Direction gives = end.outside ? Direction::input : Direction::output;
    // a protected connector of the class itself is a node between its components
    if (end.component->direction != gives || end.component->owner->in_bus ||
        (end.outside && end.component->source->is_protected))
      continue;
    if (source)
      throw Fault{where,
                  "the sources " + in_quotes(source->component->path) + " and " + in_quotes(end.component->path) +
                      " are connected to each other",
                  "a signal has one source"};
    source = &end;
  }
}

void Flattener::connect_scalars(const ConnectionEnd& a, const ConnectionEnd& b, const Location& where) {
  if (a.component->type.kind != b.component->type.kind)
    throw Fault{where, in_quotes(a.component->path) + " is a " + std::string(type_name(a.component->type.kind)) +
                           ", but " + in_quotes(b.component->path) + " is a " +
                           std::string(type_name(b.component->type.kind))};
  const std::size_t first = node_of(a), second = node_of(b);
  connection_where_[first] = connection_where_[second] = where;
  connection_parent_[find_set(first)] = find_set(second);
}

void Flattener::collect_flows(Instance& instance, std::vector<Component*>& flows) {
  for (Component& component : instance.components) {
    if (component.absent || component.shape_state != Component::State::done) continue;
    if (component.type.builtin) {
      if (component.role == ConnectorRole::flow && instance.in_connector) flows.push_back(&component);
      continue;
    }
    for (Instance* element : component.elements) collect_flows(*element, flows);
  }
}

void Flattener::finish_connections() {
  std::vector<std::vector<std::size_t>> sets(connection_ends_.size());
  for (std::size_t k = 0; k < connection_ends_.size(); ++k) sets[find_set(k)].push_back(k);
  if (has_buses_) check_bus_readers(sets);
  const auto value = [&](const ConnectionEnd& end) {
    Component& component = *end.component;
    resolve_value(component);
    Value result(component.type.kind, component.value_variability, component.values[end.position]);
    result.enumeration = component.type.enumeration;
    return result;
  };
  // in the order of the first member, so that the result does not depend on how the sets were joined
  std::vector<std::size_t> order;
  std::vector<char> seen(connection_ends_.size(), 0);
  for (std::size_t k = 0; k < connection_ends_.size(); ++k)
    if (const std::size_t root = find_set(k); !seen[root]) {
      seen[root] = 1;
      order.push_back(root);
    }
  for (const std::size_t root : order) {
    const auto& set = sets[root];
    const Location where = connection_where_[set.front()];
    attempt([&] {
      if (connection_ends_[set.front()].component->role == ConnectorRole::flow) {
        std::vector<Expr> terms;
        for (const std::size_t k : set) {
          const Expr flow = value(connection_ends_[k]).scalar();
          terms.push_back(connection_ends_[k].outside ? -flow : flow);
        }
        equations_.push_back({Value(TypeKind::real, Variability::continuous, sum(terms)), Value::real(0.0), where});
        return;
      }
      if (connection_ends_[set.front()].component->role == ConnectorRole::stream) return;  // see finish_streams
      check_sources(set, where);
      for (std::size_t k = 1; k < set.size(); ++k) {
        const Value a = value(connection_ends_[set[0]]), b = value(connection_ends_[set[k]]);
        if (!a.scalar().same(b.scalar())) equations_.push_back({a, b, connection_where_[set[k]]});
      }
    });
    if (kept_) mark_shape(kept_->shape_of(*connection_ends_[set.front()].component->owner));
  }
  finish_streams(sets);
  std::vector<Component*> flows;
  collect_flows(*top_, flows);
  for (Component* component : flows) {
    attempt([&] {
      resolve_value(*component);
      for (std::size_t k = 0; k < component->values.size(); ++k)
        if (connection_nodes_.contains({component, k, false}))
          continue;
        else if (kept_)
          kept_->connections.leave_open(kept_->array_of.at(component), static_cast<int>(k));
        else
          equations_.push_back({Value(TypeKind::real, Variability::continuous, component->values[k]), Value::real(0.0),
                                component->where()});
    });
  }
}

}  // namespace saltus::modelica
