#include "io/mode_drawing.hpp"

#include <saltus/hybrid/event_text.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_set>

namespace saltus {

namespace {

/// What the events tell, before anything is left out.
struct FullGraph {
  std::unordered_map<std::string, std::size_t> places;
  std::vector<ModeDrawing::Node> nodes;
  std::map<std::pair<std::size_t, std::size_t>, ModeDrawing::Edge> edges;
  std::vector<ModeDrawing::Interval> band;
};

std::string label_of(const Event& e) {
  if (!e.guards.empty()) {
    return guard_change(e.guards.front(), e.direction.empty() ? 0 : e.direction.front(),
                        e.becomes.empty() ? 0 : e.becomes.front());
  }
  return e.actions.empty() ? std::string(to_string(e.kind)) : e.actions.front();
}

/// The words of modes without the discrete variables that have many values.
class ModeWords {
 public:
  ModeWords(const Trajectory& run, std::size_t most_values) : most_values_(most_values) {
    see(run.status().mode);
    for (const Event& e : run.events()) {
      see(e.mode_before);
      see(e.mode_after);
    }
  }

  std::string operator()(const std::string& mode) const {
    std::string words;
    for (const std::string_view part : parts(mode)) {
      const auto known = values_.find(std::string(name_of(part)));
      if (known != values_.end() && known->second.size() > most_values_) continue;
      if (!words.empty()) words += ", ";
      words += part;
    }
    return words;
  }

 private:
  void see(const std::string& mode) {
    if (!seen_.insert(mode).second) return;
    for (const std::string_view part : parts(mode))
      if (const std::string_view name = name_of(part); !name.empty()) {
        auto& values = values_[std::string(name)];
        if (values.size() <= most_values_) values.insert(std::string(part));
      }
  }

  static std::vector<std::string_view> parts(std::string_view mode) {
    std::vector<std::string_view> list;
    while (!mode.empty()) {
      const std::size_t end = std::min(mode.find(", "), mode.size());
      list.push_back(mode.substr(0, end));
      mode.remove_prefix(std::min(end + 2, mode.size()));
    }
    return list;
  }

  /// The variable in "variable = value"; empty if the part says something else.
  static std::string_view name_of(std::string_view part) {
    const std::size_t equals = part.find(" = ");
    if (equals == std::string_view::npos || part.substr(0, equals).find(' ') != std::string_view::npos) return {};
    return part.substr(0, equals);
  }

  std::size_t most_values_;
  std::unordered_set<std::string> seen_;
  std::unordered_map<std::string, std::set<std::string>> values_;
};

FullGraph full_graph(const Trajectory& run, std::size_t most_values) {
  FullGraph graph;
  const ModeWords words(run, most_values);
  std::unordered_map<std::string, std::size_t> by_words;
  const auto place = [&](const std::string& mode) {
    const auto [found, fresh] = graph.places.try_emplace(mode, 0);
    if (!fresh) return found->second;
    const std::string name = words(mode);
    const auto [node, first] = by_words.try_emplace(name, graph.nodes.size());
    if (first) graph.nodes.push_back({.name = name});
    return found->second = node->second;
  };
  const std::vector<Event>& events = run.events();
  std::size_t now = place(events.empty() ? run.status().mode : events.front().mode_before);
  graph.nodes[now].entered = 1;
  double since = run.t_start();
  const auto close = [&](double t) {
    if (t == since) return;
    graph.nodes[now].duration += std::abs(t - since);
    if (!graph.band.empty() && graph.band.back().mode == now)
      graph.band.back().to = t;
    else
      graph.band.push_back({since, t, now});
    since = t;
  };
  for (std::size_t k = 0; k < events.size(); ++k) {
    const Event& e = events[k];
    const std::size_t next = place(e.mode_after);
    close(e.t);
    const bool begins = e.t == run.t_start() && next == now;  // the mode in which the run starts is no change
    if (!begins) {
      ModeDrawing::Edge& edge = graph.edges[{now, next}];
      if (edge.count++ == 0) edge = {now, next, 1, k, label_of(e)};
    }
    if (next != now) ++graph.nodes[next].entered;
    now = next;
  }
  close(run.t_end());
  return graph;
}

/// Of each of many equal intervals the mode that held longest in it.
std::vector<ModeDrawing::Interval> thinned(const std::vector<ModeDrawing::Interval>& band, std::size_t bins) {
  const double begin = band.front().from, span = band.back().to - begin;
  std::vector<std::map<std::size_t, double>> held(bins);
  const double width = span / static_cast<double>(bins);
  for (const ModeDrawing::Interval& i : band) {
    const double a = (i.from - begin) / width, b = (i.to - begin) / width;
    for (auto k = static_cast<std::size_t>(std::max(a, 0.0)); k < bins && static_cast<double>(k) < b; ++k)
      held[k][i.mode] += std::min(b, static_cast<double>(k) + 1.0) - std::max(a, static_cast<double>(k));
  }
  std::vector<ModeDrawing::Interval> result;
  for (std::size_t k = 0; k < bins; ++k) {
    if (held[k].empty()) continue;
    const std::size_t mode =
        std::ranges::max_element(held[k], {}, [](const auto& entry) { return entry.second; })->first;
    const double to = k + 1 == bins ? band.back().to : begin + width * static_cast<double>(k + 1);
    if (!result.empty() && result.back().mode == mode)
      result.back().to = to;
    else
      result.push_back({result.empty() ? begin : result.back().to, to, mode});
  }
  return result;
}

}  // namespace

ModeDrawing mode_drawing(const Trajectory& run, const ModeDrawingLimits& limits) {
  FullGraph full = full_graph(run, limits.values);
  ModeDrawing drawing;
  // those that held longest stay, in the order in which they came
  std::vector<std::size_t> new_place(full.nodes.size());
  std::iota(new_place.begin(), new_place.end(), 0);
  if (full.nodes.size() > limits.nodes) {
    std::vector<std::size_t> order = new_place;
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t k) { return full.nodes[k].duration; });
    const std::size_t kept = limits.nodes - 1;
    std::vector<char> stays(full.nodes.size(), 0);
    for (std::size_t k = 0; k < kept; ++k) stays[order[k]] = 1;
    ModeDrawing::Node others{.name = "other modes", .duration = 0.0, .entered = 0, .merged = 0};
    for (std::size_t k = 0; k < full.nodes.size(); ++k) {
      new_place[k] = stays[k] ? drawing.nodes.size() : kept;
      if (stays[k]) {
        drawing.nodes.push_back(full.nodes[k]);
      } else {
        others.duration += full.nodes[k].duration;
        others.entered += full.nodes[k].entered;
        ++others.merged;
      }
    }
    drawing.nodes.push_back(others);
  } else {
    drawing.nodes = full.nodes;
  }

  for (const auto& [name, place] : full.places) drawing.place_of[name] = new_place[place];

  std::map<std::pair<std::size_t, std::size_t>, ModeDrawing::Edge> edges;
  for (const auto& [key, edge] : full.edges) {
    const std::size_t from = new_place[edge.from], to = new_place[edge.to];
    ModeDrawing::Edge& merged = edges[{from, to}];
    const std::size_t count = merged.count + edge.count;
    if (merged.count == 0 || edge.first_event < merged.first_event) merged = edge;
    merged.from = from;
    merged.to = to;
    merged.count = count;
  }
  for (const auto& [key, edge] : edges) drawing.edges.push_back(edge);
  if (drawing.edges.size() > limits.edges) {
    std::ranges::stable_sort(drawing.edges, std::ranges::greater(), &ModeDrawing::Edge::count);
    drawing.edges_left_out = drawing.edges.size() - limits.edges;
    drawing.edges.resize(limits.edges);
  }

  for (const ModeDrawing::Interval& i : full.band) {
    const std::size_t mode = new_place[i.mode];
    if (!drawing.band.empty() && drawing.band.back().mode == mode)
      drawing.band.back().to = i.to;
    else
      drawing.band.push_back({i.from, i.to, mode});
  }
  if (drawing.band.size() > limits.intervals) {
    drawing.band = thinned(drawing.band, limits.intervals / 2);
    drawing.band_thinned = true;
  }
  return drawing;
}

}  // namespace saltus
