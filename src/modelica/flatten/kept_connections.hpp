// Connections between components of a model whose loops are kept: sets of numbers of variables.
#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

namespace saltus::modelica {

/// Variables of connectors are potentials, which are equal in a set, and flows, which sum up to zero.
class KeptConnections {
 public:
  void join(int a, int b) { parent_[find(node(a))] = find(node(b)); }
  bool contains(int number) const { return node_of_.contains(number); }
  /// A flow, in the numbering of KeptLoops::arrays, that no connection inside of its component has.
  void leave_open(int array, int position) { open_.emplace_back(array, position); }
  const std::vector<std::pair<int, int>>& open() const { return open_; }
  /// In the order of their first members; members in the order in which they were named first.
  std::vector<std::vector<int>> sets();

 private:
  std::size_t node(int number);
  std::size_t find(std::size_t node);

  std::unordered_map<int, std::size_t> node_of_;
  std::vector<int> numbers_;
  std::vector<std::size_t> parent_;
  std::vector<std::pair<int, int>> open_;
};

}  // namespace saltus::modelica
