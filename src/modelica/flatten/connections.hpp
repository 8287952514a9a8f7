// What connections are made of.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "modelica/flatten/instance.hpp"

namespace saltus::modelica {

/// One face of a variable of a connector.
struct ConnectionEnd {
  Component* component;
  std::size_t position;
  bool outside;
  auto operator<=>(const ConnectionEnd&) const = default;
};

/// The connectors that one side of a connect equation names.
struct ConnectorReference {
  std::vector<Instance*> instances;  ///< of a connector class
  std::vector<std::pair<Component*, std::size_t>> scalars;
  Dims dims;
  bool outside = false;
  bool absent = false;
  std::string text;
};

/// A record of a connector in the graph of connections.
struct GraphNode {
  Instance* instance = nullptr;
  std::size_t parent = 0;  ///< of the union of connected records
  bool definite = false, is_root = false, rooted = false;
  std::optional<std::int64_t> priority;  ///< of a potential root
  std::optional<std::size_t> best;       ///< of a union: its potential root of the least priority
  int distance = -1;                     ///< from the root
};

struct GraphEdge {
  std::size_t a, b;
  bool is_branch;
  Location where;
  bool broken = false;
};

struct BrokenConnection {
  Instance *a, *b;
  Location where;
};

}  // namespace saltus::modelica
