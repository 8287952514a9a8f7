#include "cli/graph.hpp"

#include <fmt/format.h>
#include <saltus/base/atomic_file.hpp>
#include <saltus/base/child_process.hpp>
#include <saltus/base/terminal.hpp>
#include <saltus/hybrid/event_text.hpp>
#include <saltus/saltus.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

#include "cli/input_options.hpp"
#include "cli/load_options.hpp"
#include "cli/method_option.hpp"
#include "cli/progress.hpp"

namespace saltus::cli {

namespace {

struct GraphOptions {
  ModelOptions source;
  InputOptions inputs;
  std::optional<double> stop, rtol, atol;
  std::string method = "auto", output;
  std::size_t nodes = 40;
};

constexpr std::size_t most_lines = 4;  // of guards or actions in a label

/// A text between double quotes of DOT. Graphviz reads escapes and entities in labels.
std::string dot_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (c == '&')
      result += "&amp;";
    else
      result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

std::string times(std::size_t count) {
  return count == 1 ? "once" : fmt::format("{} times", count);
}

std::string edge_label(const ModeGraph::Edge& edge) {
  std::string label = fmt::format("{}, {}", to_string(edge.kind), times(edge.count));
  const auto add = [&label](std::size_t count, auto line) {
    for (std::size_t k = 0; k < std::min(count, most_lines); ++k) label += '\n' + line(k);
    if (count > most_lines) label += fmt::format("\n… {} more", count - most_lines);
  };
  add(edge.guards.size(),
      [&](std::size_t k) { return guard_change(edge.guards[k], edge.direction[k], edge.becomes[k]); });
  add(edge.actions.size(), [&](std::size_t k) { return edge.actions[k]; });
  return label;
}

std::string node_label(const ModeGraph::Node& node, std::size_t only) {
  const std::string name = !node.description.empty() ? node.description
                           : only == 1               ? "the only mode"
                                                     : "no conditions hold";
  return fmt::format("{}\nentered {}, time {:.6g}", name, times(node.entered), node.time);
}

/// Which nodes are drawn as they are. All others share one node.
std::vector<char> chosen_nodes(const ModeGraph& graph, std::size_t most_nodes) {
  const std::size_t all = graph.nodes.size();
  if (all <= most_nodes) return std::vector<char>(all, 1);
  std::vector<std::size_t> order(all - 1);
  std::iota(order.begin(), order.end(), std::size_t{1});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t k) { return graph.nodes[k].time; });
  std::vector<char> chosen(all, 0);
  chosen[0] = 1;
  for (std::size_t k = 0; k + 2 < most_nodes; ++k) chosen[order[k]] = 1;
  return chosen;
}

/// The file's ending as Graphviz names the format; empty for DOT itself. Throws UsageError if the file cannot be made.
std::string check_output(const std::string& file) {
  std::string ending = std::filesystem::path(file).extension().string();
  if (ending == ".dot" || ending == ".gv") {
    ending.clear();
  } else if (ending == ".svg" || ending == ".png" || ending == ".pdf") {
    if (!run_program({"dot", "-V"}, "").started)
      throw UsageError(
          fmt::format("-o {}: {} files need the program dot of Graphviz, which is not installed (Debian "
                      "package: graphviz); a .dot file can be written without it",
                      file, ending));
    ending.erase(0, 1);
  } else {
    throw UsageError(fmt::format("-o: '{}' must end in .dot, .svg, .png or .pdf", file));
  }
  require_writable(file);
  return ending;
}

void write_drawing(const std::string& dot, const std::string& file, const std::string& format) {
  if (format.empty()) return write_atomically(file, dot);
  const ChildOutput drawn = run_program({"dot", "-T" + format}, dot);
  if (!drawn.ended_well || drawn.out.empty())
    throw UsageError(fmt::format("Graphviz failed to draw '{}': {}; write a .dot file to see what it was given", file,
                                 drawn.errors.substr(0, 400)));
  write_atomically(file, drawn.out);
}

ExitCode graph(const GraphOptions& o, const Streams& streams) {
  const std::string format = o.output.empty() ? "" : check_output(o.output);
  const ModelicaModel source = load(o.source);
  for (const auto& note : source.notes) streams.err << render(note);
  SimulateOptions s;
  s.start = o.source.start.value_or(source.experiment.start.value_or(0.0));
  s.stop = o.stop.value_or(source.experiment.stop.value_or(s.start + 1.0));
  s.rtol = o.rtol.value_or(source.experiment.tolerance.value_or(1e-6));
  s.atol = o.atol.value_or(s.rtol);
  s.method = find_method(o.method).value();
  s.keep_steps = s.keep_event_values = false;
  const InterruptGuard guard;
  ProgressBar bar(streams.err, errors_are_terminal());
  s.progress = [&](const Progress& p) { return bar(p); };
  const auto compiled = std::make_shared<CompiledModel>(source.model);
  s.inputs = o.inputs.read(*compiled);
  const Trajectory run = simulate(compiled, s);
  bar.clear();
  const std::string dot = dot_text(run.mode_graph(), compiled->name(), o.nodes);
  if (o.output.empty())
    streams.out << dot;
  else
    write_drawing(dot, o.output, format);
  if (run.status().ok()) return ExitCode::success;
  streams.err << fmt::format("{} at t = {:.12g}: {}\nthe graph shows the run up to there\n",
                             to_string(run.status().code), run.status().t, run.status().message);
  return ExitCode::failure;
}

}  // namespace

std::string dot_text(const ModeGraph& graph, const std::string& name, std::size_t most_nodes) {
  const std::size_t all = graph.nodes.size();
  const std::vector<char> chosen = chosen_nodes(graph, most_nodes);
  std::string text = fmt::format(
      "digraph {} {{\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n  start [shape=point];\n",
      dot_string(name));
  ModeGraph::Node others;
  std::size_t merged = 0;
  for (std::size_t k = 0; k < all; ++k) {
    if (chosen[k]) {
      text += fmt::format("  mode{} [label={}];\n", k, dot_string(node_label(graph.nodes[k], all)));
      continue;
    }
    ++merged;
    others.entered += graph.nodes[k].entered;
    others.time += graph.nodes[k].time;
  }
  if (merged > 0) {
    others.description = fmt::format("{} other modes", merged);
    text += fmt::format("  others [style=\"rounded,dashed\", label={}];\n", dot_string(node_label(others, all)));
  }
  text += "  start -> mode0;\n";
  const auto node = [&](std::size_t k) { return chosen[k] ? fmt::format("mode{}", k) : std::string("others"); };
  std::map<std::pair<std::string, std::string>, std::size_t> events_of_others;
  for (const ModeGraph::Edge& edge : graph.edges) {
    if (chosen[edge.from] && chosen[edge.to])
      text += fmt::format("  {} -> {} [label={}];\n", node(edge.from), node(edge.to), dot_string(edge_label(edge)));
    else
      events_of_others[{node(edge.from), node(edge.to)}] += edge.count;
  }
  for (const auto& [ends, count] : events_of_others)
    text += fmt::format("  {} -> {} [style=dashed, label={}];\n", ends.first, ends.second, dot_string(times(count)));
  return text + "}\n";
}

Command graph_command() {
  return {"graph", [](CLI::App& parent) -> Action {
            auto o = std::make_shared<GraphOptions>();
            CLI::App& app = *parent.add_subcommand("graph", "Draw the modes of a run and the transitions between them");
            app.footer(
                "Runs the model and writes the automaton in the language of Graphviz (DOT).\n"
                "Exit codes: 0 all is well, 1 the run failed, 2 wrong command line or model.");
            o->source.add_to(app);
            o->inputs.add_to(app);
            app.add_option("--start", o->source.start, "Start time (default: the model's experiment annotation, or 0)")
                ->type_name("T");
            app.add_option("--stop", o->stop, "Stop time; before the start time runs backwards")->type_name("T");
            app.add_option("--rtol", o->rtol, "Relative tolerance (default: experiment annotation, or 1e-6)")
                ->type_name("R");
            app.add_option("--atol", o->atol, "Absolute tolerance (default: as rtol)")->type_name("A");
            add_method_option(app, o->method);
            app.add_option("--nodes", o->nodes, "Most nodes of the drawing (default: 40)")
                ->check(CLI::Range(2, 100000000))
                ->type_name("N");
            app.add_option("-o,--output", o->output,
                           "A .dot file, or by Graphviz .svg, .png or .pdf (default: standard output)")
                ->type_name("FILE");
            return [o](const Streams& streams) { return graph(*o, streams); };
          }};
}

}  // namespace saltus::cli
