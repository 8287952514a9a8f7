// saltus graph: the modes of a run and the transitions between them, drawn as an automaton.
#pragma once

#include <saltus/hybrid/mode_graph.hpp>

#include <cstddef>
#include <string>

#include "cli/app.hpp"

namespace saltus::cli {

Command graph_command();

/// The graph in the language of Graphviz. Draws at most `most_nodes` (at least 2) nodes: the start, and the modes that
/// held longest. One node stands for all others, and its edges have no details.
std::string dot_text(const ModeGraph& graph, const std::string& name, std::size_t most_nodes);

}  // namespace saltus::cli
