#include "linalg/band_order.hpp"

#include <algorithm>
#include <numeric>

namespace saltus {
namespace {

/// Nodes 0 … n-1 are columns, n … 2n-1 rows.
struct Graph {
  std::vector<int> start, list;

  explicit Graph(const SparsePattern& pattern) {
    const int n = pattern.columns;
    start.assign(static_cast<std::size_t>(n + pattern.rows) + 1, 0);
    for (int j = 0; j < n; ++j) start[j + 1] = pattern.start[j + 1] - pattern.start[j];
    for (const int i : pattern.row) ++start[n + i + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    list.resize(2 * pattern.row.size());
    std::vector<int> next(start.begin(), start.end() - 1);
    for (int j = 0; j < n; ++j)
      for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) {
        list[next[j]++] = n + pattern.row[k];
        list[next[n + pattern.row[k]]++] = j;
      }
  }

  int degree(int v) const { return start[v + 1] - start[v]; }
};

/// Numbers the component of `root` level by level, the neighbours of each node by increasing degree; appends to
/// `order`. Returns the number of levels.
int breadth_first(const Graph& g, int root, int mark, std::vector<int>& seen, std::vector<int>& order) {
  std::size_t head = order.size();
  order.push_back(root);
  seen[root] = mark;
  int levels = 0;
  while (head < order.size()) {
    ++levels;
    for (const std::size_t level_end = order.size(); head < level_end; ++head) {
      const auto first = static_cast<std::ptrdiff_t>(order.size());
      for (int k = g.start[order[head]]; k < g.start[order[head] + 1]; ++k)
        if (const int v = g.list[k]; seen[v] != mark) seen[v] = mark, order.push_back(v);
      std::stable_sort(order.begin() + first, order.end(), [&](int a, int b) { return g.degree(a) < g.degree(b); });
    }
  }
  return levels;
}

void measure(const SparsePattern& pattern, BandOrder& order) {
  order.lower = order.upper = 0;
  for (int j = 0; j < pattern.columns; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) {
      const int distance = order.row[pattern.row[k]] - order.column[j];
      order.lower = std::max(order.lower, distance);
      order.upper = std::max(order.upper, -distance);
    }
}

}  // namespace

BandOrder band_order(const SparsePattern& pattern) {
  const int n = pattern.columns;
  BandOrder given{std::vector<int>(static_cast<std::size_t>(n)), std::vector<int>(static_cast<std::size_t>(n))};
  std::iota(given.row.begin(), given.row.end(), 0);
  std::iota(given.column.begin(), given.column.end(), 0);
  measure(pattern, given);
  if (given.lower + given.upper <= 2) return given;

  const Graph g(pattern);
  std::vector<int> order, trial, seen(static_cast<std::size_t>(2 * n), -1);
  std::vector<char> done(static_cast<std::size_t>(2 * n), 0);
  int mark = 0;
  for (int v = 0; v < 2 * n; ++v) {
    if (done[v]) continue;
    int root = v, levels = 0;  // from one end of the component to one that is as far away as possible
    for (int round = 0; round < 8; ++round) {
      trial.clear();
      const int deep = breadth_first(g, root, mark++, seen, trial);
      if (deep <= levels) break;
      levels = deep;
      root = trial.back();
    }
    const std::size_t first = order.size();
    breadth_first(g, root, mark++, seen, order);
    for (std::size_t k = first; k < order.size(); ++k) done[order[k]] = 1;
  }
  BandOrder found{given.row, given.column};
  int rows = 0, columns = 0;
  for (auto v = order.rbegin(); v != order.rend(); ++v) {
    if (*v < n)
      found.column[*v] = columns++;
    else
      found.row[*v - n] = rows++;
  }
  measure(pattern, found);
  return found.lower + found.upper < given.lower + given.upper ? found : given;
}

}  // namespace saltus
