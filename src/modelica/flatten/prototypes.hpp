// Arrays of components of which one element stands for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "modelica/flatten/instance.hpp"

namespace saltus::modelica {

/// A number that differs from element to element, and the symbol that stands for it.
struct VaryingNumber {
  int prototype;
  Expr symbol;
  std::vector<double> values;
};

/// Whether one element of an array of components of this size may stand for all: below that nothing is gained.
inline bool is_large(const Dims& dims) {
  constexpr std::int64_t fewest = 100;
  return !dims.empty() && count(dims) >= fewest;
}

struct Prototype {
  Component* array;
  std::size_t size;
  std::vector<NodeId> numbers = {};                                             ///< that differ from element to element
  std::vector<std::pair<std::size_t, Expr>> starts = {}, discrete_starts = {};  ///< that differ: where, and what
};

}  // namespace saltus::modelica
