// Stream connectors (Modelica 3.7, chapter 15): what fluid carries, by the direction in which it flows.
//
// A stream variable is the value that fluid has when it leaves the component. `inStream` is the value of the fluid that
// would enter: the mean of what the other connectors of the set send, weighted by their flows. With the flows x_j into
// the point where they meet,
//
//   inStream = sum_j w(x_j) v_j / sum_j w(x_j),   w(x) = a max(x, 0) + (1 - a) eps,   a = r^2 (3 - 2 r),
//   r = min(s / eps, 1),  s = sum_j max(x_j, 0):
//
// exact where more than eps flows, the plain mean where nothing does, and once differentiable between. No guard
// belongs to these relations, so no mode depends on the direction of a flow that is nearly zero. Connectors whose flow
// has a bound that keeps it from sending anything do not count, and with one sender no flow occurs.
#include <saltus/expr/graph.hpp>

#include <array>
#include <cmath>

#include "modelica/flatten/flattener.hpp"

namespace saltus::modelica {

namespace {

/// Below this part of its nominal value a flow does not decide what is mixed.
constexpr double trickle = 1e-6;

Expr positive_part(const Expr& x) {
  return no_event(if_else(x > 0.0, x, 0.0));
}

}  // namespace

/// The flow variable of the connector to which a stream variable belongs.
Component& Flattener::flow_beside(const Component& stream, const Location& where) {
  Component* flow = nullptr;
  for (Component& component : stream.owner->components) {
    if (component.role != ConnectorRole::flow || component.absent) continue;
    if (flow)
      throw Fault{where, in_quotes(stream.owner->path) + " has stream variables and more than one flow: " +
                             in_quotes(flow->name()) + " and " + in_quotes(component.name())};
    flow = &component;
  }
  if (!flow || !flow->type.builtin || flow->type.kind != TypeKind::real || !flow->dims.empty())
    throw Fault{where,
                in_quotes(stream.path) + " is a stream variable, but " + in_quotes(stream.owner->path) +
                    " has no scalar flow beside it",
                "a connector with stream variables has one variable with the prefix 'flow'"};
  resolve_value(*flow);
  return *flow;
}

/// A variable for what inStream has: its equation follows when all connections are known.
Expr Flattener::in_stream_symbol(Component& component, std::size_t position) {
  if (kept_ || !prototypes_.empty()) throw NotKept{};
  resolve_value(component);
  const auto [it, fresh] = in_streams_.try_emplace(component.values[position].id());
  if (!fresh) return it->second;
  const std::string name = component.path + subscript_text(component.dims, position);
  VariableOptions options = described(component);
  options.nominal = std::abs(attribute_numbers(component, "nominal", 1.0)[position]);
  options.description = "value of " + name + " in fluid that enters";
  it->second = model_->variable("inStream(" + name + ")", present_numbers(component, "start", 0.0)[position], options,
                                locate(component.where()));
  in_stream_order_.push_back(component.values[position].id());
  return it->second;
}

/// inStream(x) and actualStream(x), element by element.
Value Flattener::stream_call(std::string_view name, Value value, const Location& where) {
  const bool actual = name == "actualStream";
  if (!variables_declared_) throw Fault{where, in_quotes(name) + " is used where only parameters are known"};
  value.variability = Variability::continuous;
  for (Expr& e : value.elements) {
    const auto place = e.is_symbol() ? places_.find(e.id()) : places_.end();
    Component* component = place == places_.end() ? nullptr : place->second.component;
    if (!component || component->role != ConnectorRole::stream || !component->owner->in_connector)
      throw Fault{where, in_quotes(name) + " needs a variable of a connector that has the prefix 'stream'"};
    const Expr own = e, entering = in_stream_symbol(*component, place->second.position);
    e = entering;
    if (!actual) continue;
    const Expr flow = flow_beside(*component, where).values.front();
    e = if_else(flow > 0.0, entering, own);
    actual_streams_.try_emplace(e.id(), SemiLinear{flow, entering, own});
  }
  return value;
}

/// The product of a flow and the actualStream beside it is continuous where the flow turns round.
void Flattener::join_actual_streams(Value& product) {
  for (Expr& e : product.elements) {
    if (!e.graph() || model_->data().graph->node(e.id()).op != Op::mul) continue;
    const Node node = model_->data().graph->node(e.id());
    for (const auto& [factor, stream] : {std::pair(node.a, node.b), std::pair(node.b, node.a)}) {
      const auto it = actual_streams_.find(stream);
      if (it == actual_streams_.end() || !it->second.x.is_symbol() || it->second.x.id() != factor) continue;
      const auto& [x, entering, own] = it->second;
      e = if_else(x >= 0.0, entering * x, own * x);
      break;
    }
  }
}

/// What the connectors of a set, all but one, send to the point where they meet. `own`: what that one has.
Expr Flattener::mixed_stream(const std::vector<std::size_t>& set, const ConnectionEnd& receiver, const Expr& own,
                             const Location& where) {
  std::vector<Sender> senders;
  double nominal = 0.0;
  for (const std::size_t k : set) {
    const ConnectionEnd& end = connection_ends_[k];
    if (end == receiver) continue;
    Component& component = *end.component;
    Component& flow = flow_beside(component, where);
    const double bound =
        end.outside ? -present_numbers(flow, "max", HUGE_VAL).front() : present_numbers(flow, "min", -HUGE_VAL).front();
    if (bound >= 0.0) continue;
    nominal = std::max(nominal, std::abs(attribute_numbers(flow, "nominal", 1.0).front()));
    resolve_value(component);
    senders.push_back({end.outside ? flow.values.front() : -flow.values.front(),
                       end.outside ? in_stream_symbol(component, end.position) : component.values[end.position]});
  }
  if (senders.empty()) return own;
  if (senders.size() == 1) return senders.front().value;
  charge(static_cast<std::int64_t>(set.size()), where);
  return mixture(senders, trickle * nominal, receiver, where);
}

/// The mean of what is sent. How much the flows decide is a variable of its own: the text of the model stays short.
Expr Flattener::mixture(const std::vector<Sender>& senders, double eps, const ConnectionEnd& receiver,
                        const Location& where) {
  std::vector<Expr> sent;
  for (const Sender& sender : senders) sent.push_back(positive_part(sender.flow));
  const Expr share = sum(sent) / eps;
  const std::string name = receiver.component->path + subscript_text(receiver.component->dims, receiver.position);
  const Expr r = model_->variable(
      "mixing(" + name + (receiver.outside ? ", inside)" : ")"), 1.0,
      {.description = "1: the flows decide what is mixed for " + name + "; 0: nothing flows"}, locate(where));
  equations_.push_back({Value(TypeKind::real, Variability::continuous, r),
                        Value(TypeKind::real, Variability::continuous, no_event(if_else(share < 1.0, share, 1.0))),
                        where});
  const Expr a = r * r * (3.0 - 2.0 * r);
  std::vector<Expr> weights, products;
  for (std::size_t k = 0; k < senders.size(); ++k) {
    weights.push_back(a * sent[k] + (1.0 - a) * eps);
    products.push_back(weights.back() * senders[k].value);
  }
  return sum(products) / sum(weights);
}

/// The equations of stream variables; `sets`: by the root, the ends that are connected.
void Flattener::finish_streams(const std::vector<std::vector<std::size_t>>& sets) {
  const auto real = [](const Expr& e) { return Value(TypeKind::real, Variability::continuous, e); };
  const std::vector<std::size_t> alone;
  for (std::size_t k = 0; k < connection_ends_.size(); ++k) {
    const ConnectionEnd end = connection_ends_[k];
    if (end.component->role != ConnectorRole::stream || !end.outside) continue;
    attempt([&] {
      const Location where = connection_where_[k];
      resolve_value(*end.component);
      const Expr own = end.component->values[end.position];
      equations_.push_back({real(own), real(mixed_stream(sets[find_set(k)], end, own, where)), where});
    });
  }
  for (std::size_t k = 0; k < in_stream_order_.size(); ++k) {  // it grows: what comes from outside is such a value, too
    attempt([&] {
      const NodeId id = in_stream_order_[k];
      const ScalarPlace place = places_.at(id);
      const ConnectionEnd end{place.component, place.position, false};
      const auto node = connection_nodes_.find(end);
      const Location where =
          node == connection_nodes_.end() ? place.component->where() : connection_where_[node->second];
      const auto& set = node == connection_nodes_.end() ? alone : sets[find_set(node->second)];
      const Expr own = place.component->values[place.position];
      equations_.push_back({real(in_streams_.at(id)), real(mixed_stream(set, end, own, where)), where});
    });
  }
}

}  // namespace saltus::modelica
