#include <saltus/hybrid/event_text.hpp>
#include <saltus/hybrid/mode_graph.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "hybrid/event_log.hpp"
#include "hybrid/mode_table.hpp"
#include "hybrid/result_readers.hpp"

namespace saltus {

namespace {

using Parts = std::vector<std::string>;

/// "on = 1, x > 0" as "on = 1" and "x > 0".
Parts parts_of(std::string_view text) {
  Parts parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(", "), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return parts;
}

/// The name in "name = value"; empty if the part is something else.
std::string_view name_of(std::string_view part) {
  const std::size_t equals = part.rfind(" = ");
  return equals == std::string_view::npos ? std::string_view() : part.substr(0, equals);
}

/// Words for each node. A number that changes while the node stays the same is mentioned in no node.
class NodeWords {
 public:
  void add(std::size_t node, const std::string& text) {
    Parts parts = parts_of(text);
    if (node == nodes_.size()) {
      nodes_.push_back(std::move(parts));
      return;
    }
    note_difference(nodes_[node], parts);
    note_difference(parts, nodes_[node]);
  }

  std::string operator()(std::size_t node) const {
    std::string text;
    for (const std::string& part : nodes_[node])
      if (!changing_.contains(name_of(part))) text += (text.empty() ? "" : ", ") + part;
    return text;
  }

 private:
  /// Notes the names of the parts of `a` that `b` does not have.
  void note_difference(const Parts& a, const Parts& b) {
    for (std::size_t k = 0; k < a.size(); ++k) {
      if (k < b.size() && a[k] == b[k]) continue;
      const std::string_view name = name_of(a[k]);
      if (!name.empty() && std::ranges::find(b, a[k]) == b.end()) changing_.emplace(name);
    }
  }

  std::vector<Parts> nodes_;
  std::set<std::string, std::less<>> changing_;
};

bool only_reports(EventKind kind) {
  return kind == EventKind::touch || kind == EventKind::record;
}

/// Finds the edge of an event. Edges are compared by numbers of guards; their names are looked up once.
class Edges {
 public:
  Edges(ModeGraph& graph, const HybridSystem& system) : graph_(graph), system_(system) {}

  ModeGraph::Edge& edge(std::size_t from, std::size_t to, const EventLog::Stored& event) {
    Key key{from, to, event.kind, list(event.guards), list(event.directions), list(event.actions)};
    const auto [found, fresh] = places_.try_emplace(std::move(key), graph_.edges.size());
    if (!fresh) return graph_.edges[found->second];
    ModeGraph::Edge& edge = graph_.edges.emplace_back();
    edge.from = from;
    edge.to = to;
    edge.kind = event.kind;
    for (const int guard : event.guards) edge.guards.push_back(system_.guards()[static_cast<std::size_t>(guard)].name);
    edge.direction = list(event.directions);
    for (std::size_t k = 0; k < event.guards.size(); ++k)
      edge.becomes.push_back(
          truth_change(system_.guards()[static_cast<std::size_t>(event.guards[k])], event.directions[k]));
    edge.actions = list(event.actions);
    edge.first = event.t;
    return edge;
  }

 private:
  using Key =
      std::tuple<std::size_t, std::size_t, EventKind, std::vector<int>, std::vector<int>, std::vector<std::string>>;

  template <class Value>
  static std::vector<Value> list(std::span<const Value> values) {
    return {values.begin(), values.end()};
  }

  ModeGraph& graph_;
  const HybridSystem& system_;
  std::map<Key, std::size_t> places_;
};

}  // namespace

ModeGraph Trajectory::mode_graph() const {
  ModeGraph graph;
  if (events_->size() == 0) {
    graph.nodes.push_back({.description = status_.mode, .entered = 1, .time = std::abs(t_end_ - t_start_)});
    return graph;
  }
  const HybridSystem& system = readers_->system();
  ModeTable table(system);
  NodeWords words;
  std::vector<std::size_t> node_of(events_->modes().size());
  std::vector<char> known(node_of.size(), 0);
  const auto number = [&](int mode_number) {  // in the order in which the run enters them
    const auto place = static_cast<std::size_t>(mode_number);
    if (std::exchange(known[place], 1)) return;
    Mode mode = events_->modes().mode(mode_number);
    const std::string text = system.describe(mode);
    for (const int guard : mode.sliding) system.set_side(mode, guard, +1);  // the side it came from decides nothing
    node_of[place] = static_cast<std::size_t>(table.number(mode));
    words.add(node_of[place], text);
  };
  for (std::size_t k = 0; k < events_->size(); ++k) {
    const EventLog::Stored event = events_->stored(k);
    number(event.mode_before);
    number(event.mode_after);
  }
  graph.nodes.resize(static_cast<std::size_t>(table.size()));
  for (std::size_t k = 0; k < graph.nodes.size(); ++k) graph.nodes[k].description = words(k);

  Edges edges(graph, system);
  std::size_t now = node_of[static_cast<std::size_t>(events_->stored(0).mode_before)];
  double since = t_start_;
  graph.nodes[now].entered = 1;
  for (std::size_t k = 0; k < events_->size(); ++k) {
    const EventLog::Stored event = events_->stored(k);
    const std::size_t next = node_of[static_cast<std::size_t>(event.mode_after)];
    graph.nodes[now].time += std::abs(event.t - since);
    since = event.t;
    const bool at_start = event.t == t_start_ && next == now;
    if (next != now || !(at_start || only_reports(event.kind))) ++edges.edge(now, next, event).count;
    if (next != now) ++graph.nodes[next].entered;
    now = next;
  }
  graph.nodes[now].time += std::abs(t_end_ - since);
  return graph;
}

}  // namespace saltus
