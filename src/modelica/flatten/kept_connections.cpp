#include "modelica/flatten/kept_connections.hpp"

namespace saltus::modelica {

std::size_t KeptConnections::node(int number) {
  const auto [it, fresh] = node_of_.try_emplace(number, numbers_.size());
  if (fresh) {
    parent_.push_back(numbers_.size());
    numbers_.push_back(number);
  }
  return it->second;
}

std::size_t KeptConnections::find(std::size_t node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

std::vector<std::vector<int>> KeptConnections::sets() {
  std::vector<std::vector<int>> result;
  std::vector<int> set_of(numbers_.size(), -1);
  for (std::size_t k = 0; k < numbers_.size(); ++k) {
    int& set = set_of[find(k)];
    if (set < 0) {
      set = static_cast<int>(result.size());
      result.emplace_back();
    }
    result[static_cast<std::size_t>(set)].push_back(numbers_[k]);
  }
  return result;
}

}  // namespace saltus::modelica
