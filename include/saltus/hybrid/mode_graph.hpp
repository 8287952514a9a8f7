// The automaton that a run went through: its modes, and the transitions between them.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace saltus {

/// The modes of a run as nodes and its events as edges. Trajectory::mode_graph() makes it.
///
/// Modes that differ only in numbers that decide nothing (counters, sampled values) are one node: see
/// HybridSystem::identify. The run starts in the first node; the others have the order in which the run entered them.
struct ModeGraph {
  struct Node {
    std::string description;  ///< the mode in words, without numbers that change while the mode stays the same
    std::size_t entered = 0;  ///< how often the run came into this mode; the start of the run counts
    double time = 0.0;        ///< how long the run was in this mode, all visits together; never negative
  };
  /// Events with the same nodes, kind, guards, directions and actions are one edge. Events that only report (touch,
  /// record) are no edges, and neither are events at the start of the run that do not change the node.
  struct Edge {
    std::size_t from = 0, to = 0;  ///< positions in `nodes`; equal if the event left the mode as it was
    EventKind kind = EventKind::crossing;
    std::vector<std::string> guards;   ///< names of the guards that fired
    std::vector<int> direction;        ///< +1 rising, -1 falling, 0 touching, one per guard
    std::vector<int> becomes;          ///< +1: its relation becomes true, -1: false, 0: it touches, or is none
    std::vector<std::string> actions;  ///< clauses and transitions that acted
    std::size_t count = 0;             ///< how many events took this edge
    double first = 0.0;                ///< time of the first of them
  };

  std::vector<Node> nodes;  ///< at least one
  std::vector<Edge> edges;  ///< in the order in which the run took them first
};

}  // namespace saltus
