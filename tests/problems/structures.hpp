// Structures of large systems, for structural analysis: only the places of non-zeros, no equations.
#pragma once

#include <saltus/dae/system.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace saltus::problems {

using Places = std::vector<std::pair<int, int>>;

inline Structure make_structure(int equations, int variables, const Places& state, const Places& derivative) {
  Structure s;
  s.equations = equations;
  s.variables = variables;
  s.state_pattern = make_pattern(equations, variables, state);
  s.derivative_pattern = make_pattern(equations, variables, derivative);
  return s;
}

/// The same structure with equations and variables in random order, so that no method profits from the order.
inline Structure shuffled(const Structure& s, unsigned seed) {
  std::vector<int> row(static_cast<std::size_t>(s.equations)), column(static_cast<std::size_t>(s.variables));
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  std::mt19937 generator(seed);
  std::shuffle(row.begin(), row.end(), generator);
  std::shuffle(column.begin(), column.end(), generator);
  const auto move = [&](const SparsePattern& p) {
    Places places;
    places.reserve(p.row.size());
    for (int j = 0; j < p.columns; ++j)
      for (int k = p.start[j]; k < p.start[j + 1]; ++k) places.emplace_back(row[p.row[k]], column[j]);
    return make_pattern(p.rows, p.columns, places);
  };
  Structure result = s;
  result.state_pattern = move(s.state_pattern);
  result.derivative_pattern = move(s.derivative_pattern);
  return result;
}

/// A chain of `links` masses in the plane, each on a rod of fixed length hung on the one before: positions, velocities
/// and one rod force per link (n = 5 links), structural index 3, 2 degrees of freedom per link.
inline Structure hanging_chain(int links) {
  Places state, derivative;
  for (int k = 0; k < links; ++k) {
    const int b = 5 * k, p = b - 5, q = b + 5;
    for (int i = 0; i < 4; ++i) derivative.emplace_back(b + i, b + i);
    for (int i = 0; i < 2; ++i) {
      state.emplace_back(b + i, b + 2 + i);
      state.emplace_back(b + 2 + i, b + i);
      state.emplace_back(b + 2 + i, b + 4);
      state.emplace_back(b + 4, b + i);
      if (k > 0) {
        state.emplace_back(b + 2 + i, p + i);
        state.emplace_back(b + 4, p + i);
      }
      if (k + 1 < links) {
        state.emplace_back(b + 2 + i, q + i);
        state.emplace_back(b + 2 + i, q + 4);
      }
    }
  }
  return make_structure(5 * links, 5 * links, state, derivative);
}

/// x_k' = x_{k+1}, x_1 = f: n differentiations, structural index n, no degree of freedom.
inline Structure differentiator_chain(int n) {
  Places state, derivative;
  for (int k = 0; k + 1 < n; ++k) {
    derivative.emplace_back(k, k);
    state.emplace_back(k, k + 1);
  }
  state.emplace_back(n - 1, 0);
  return make_structure(n, n, state, derivative);
}

/// Heat conduction on a rod as a DAE: n/2 temperatures, n/2 algebraic heat flows, index 1.
inline Structure heat_rod(int cells) {
  Places state, derivative;
  for (int k = 0; k < cells; ++k) {
    derivative.emplace_back(k, k);
    state.emplace_back(k, cells + k);
    if (k + 1 < cells) state.emplace_back(k, cells + k + 1);
    state.emplace_back(cells + k, cells + k);
    state.emplace_back(cells + k, k);
    if (k > 0) state.emplace_back(cells + k, k - 1);
  }
  return make_structure(2 * cells, 2 * cells, state, derivative);
}

}  // namespace saltus::problems
