// The modes of a run as they are drawn: a band over time, and a graph.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace saltus {

struct ModeDrawing {
  struct Node {
    std::string name;         ///< the mode in words; empty: the model has one mode only
    double duration = 0.0;    ///< how long it held, all times together
    std::size_t entered = 0;  ///< how often it began, the start of the run included
    std::size_t merged = 1;   ///< > 1: stands for so many modes that held for short times
  };
  struct Edge {
    std::size_t from, to;  ///< equal: an event that left the mode as it was (a reset)
    std::size_t count = 0;
    std::size_t first_event = 0;  ///< number of the first event of the edge
    std::string label;            ///< what fired at it
  };
  struct Interval {
    double from, to;  ///< in the direction of the run
    std::size_t mode;
  };
  std::vector<Node> nodes;
  std::unordered_map<std::string, std::size_t> place_of;  ///< of a mode in `nodes`, by its words
  std::vector<Edge> edges;
  std::vector<Interval> band;
  bool band_thinned = false;  ///< intervals too short to be seen were left out
  std::size_t edges_left_out = 0;
};

struct ModeDrawingLimits {
  std::size_t nodes = 40, edges = 160, intervals = 3'000;
  std::size_t values = 8;  ///< of a discrete variable that tells modes apart
};

/// Modes with the same words are one node. A discrete variable with many values (a counter, a sampled number) tells no
/// modes apart. Rare modes beyond the limit share the last node.
ModeDrawing mode_drawing(const Trajectory& run, const ModeDrawingLimits& limits = {});

}  // namespace saltus
