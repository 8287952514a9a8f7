// Primal-dual method for the assignment problem with costs 1 - sigma in {0, 1}.
//
// A greedy matching on the edges of cost 0 is extended in phases, as Hopcroft and Karp do it for plain matchings: a
// shortest path search in reduced costs from all free rows at once (a bucket queue, since all costs are small integers)
// stops at the distance of the nearest free column; the potentials are raised, which makes all edges of shortest paths
// tight; then as many disjoint augmenting paths as possible are taken from the tight edges. A phase touches only what
// lies nearer than its stopping distance. When no free column can be reached the matching has the largest cardinality
// (Berge).
#include "dae/assignment.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "dae/bucket_queue.hpp"

namespace saltus {
namespace {

constexpr int unreached = std::numeric_limits<int>::max();

class Solver {
 public:
  explicit Solver(const Signature& signature)
      : g_(signature),
        distance_row_(g_.rows, unreached),
        distance_column_(g_.columns, unreached),
        next_edge_(g_.rows, 0),
        column_seen_(g_.columns, 0) {
    a_.column_of_row.assign(g_.rows, -1);
    a_.row_of_column.assign(g_.columns, -1);
    a_.row_potential.assign(g_.rows, 0);
    a_.column_potential.assign(g_.columns, 0);
  }

  Assignment run() {
    greedy();
    for (int i = 0; i < g_.rows; ++i)
      if (a_.column_of_row[i] < 0) free_rows_.push_back(i);
    while (!free_rows_.empty() && a_.size < g_.columns) {
      const int distance = search();
      if (distance == unreached) break;
      raise_potentials(distance);
      augment_tight_paths();
      std::erase_if(free_rows_, [&](int i) { return a_.column_of_row[i] >= 0; });
    }
    return std::move(a_);
  }

 private:
  int cost(int edge) const { return 1 - g_.order[edge]; }
  int reduced_cost(int i, int edge) const {
    return cost(edge) - a_.row_potential[i] - a_.column_potential[g_.column[edge]];
  }
  void match(int i, int j) {
    a_.column_of_row[i] = j;
    a_.row_of_column[j] = i;
  }

  // Rows with few candidates first: they have the least choice.
  void greedy() {
    std::vector<int> degree(g_.rows, 0), start(1, 0), rows(g_.rows);
    for (int i = 0; i < g_.rows; ++i) {
      for (int e = g_.start[i]; e < g_.start[i + 1]; ++e) degree[i] += g_.order[e];
      if (static_cast<int>(start.size()) < degree[i] + 2) start.resize(static_cast<std::size_t>(degree[i]) + 2, 0);
      ++start[degree[i] + 1];
    }
    std::partial_sum(start.begin(), start.end(), start.begin());
    for (int i = 0; i < g_.rows; ++i) rows[start[degree[i]]++] = i;
    for (int i : rows)
      for (int e = g_.start[i]; e < g_.start[i + 1]; ++e)
        if (g_.order[e] == 1 && a_.row_of_column[g_.column[e]] < 0) {
          match(i, g_.column[e]);
          ++a_.size;
          break;
        }
  }

  // Distances of rows and columns from the free rows, up to the nearest free column; its distance, or `unreached`.
  int search() {
    for (int i : reached_rows_) distance_row_[i] = unreached;
    for (int j : reached_columns_) distance_column_[j] = unreached;
    reached_rows_.clear();
    reached_columns_.clear();
    queue_.clear();
    for (int i : free_rows_) reach_row(i, 0);
    int stop = unreached;
    while (!queue_.empty() && queue_.key() < stop) {
      const int d = queue_.key();
      const int i = queue_.pop();
      if (distance_row_[i] != d) continue;
      for (int e = g_.start[i]; e < g_.start[i + 1]; ++e) {
        const int j = g_.column[e], dj = d + reduced_cost(i, e);
        if (dj >= distance_column_[j] || dj > stop) continue;
        if (distance_column_[j] == unreached) reached_columns_.push_back(j);
        distance_column_[j] = dj;
        const int k = a_.row_of_column[j];
        if (k < 0)
          stop = dj;
        else
          reach_row(k, dj);  // matched edges are tight
      }
    }
    return stop;
  }

  void reach_row(int i, int d) {
    if (distance_row_[i] == unreached) reached_rows_.push_back(i);
    distance_row_[i] = d;
    queue_.push(d, i);
  }

  void raise_potentials(int stop) {
    for (int i : reached_rows_)
      if (distance_row_[i] < stop) a_.row_potential[i] += stop - distance_row_[i];
    for (int j : reached_columns_)
      if (distance_column_[j] < stop) a_.column_potential[j] -= stop - distance_column_[j];
  }

  // Depth-first, each column at most once, with an explicit stack.
  void augment_tight_paths() {
    ++phase_;
    for (int i : reached_rows_) next_edge_[i] = g_.start[i];
    for (int root : free_rows_) {
      path_.assign(1, {root, -1});
      next_edge_[root] = g_.start[root];
      while (!path_.empty()) {
        const int i = path_.back().first;
        if (next_edge_[i] == g_.start[i + 1]) {
          path_.pop_back();
          continue;
        }
        const int e = next_edge_[i]++;
        const int j = g_.column[e];
        if (column_seen_[j] == phase_ || distance_column_[j] == unreached || reduced_cost(i, e) != 0) continue;
        column_seen_[j] = phase_;
        path_.back().second = j;
        const int k = a_.row_of_column[j];
        if (k >= 0) {
          if (distance_row_[k] != unreached) path_.emplace_back(k, -1);
          continue;
        }
        for (const auto& [row, column] : path_) match(row, column);
        ++a_.size;
        break;
      }
    }
  }

  const Signature& g_;
  Assignment a_;
  std::vector<int> free_rows_, reached_rows_, reached_columns_;
  std::vector<int> distance_row_, distance_column_, next_edge_, column_seen_;
  std::vector<std::pair<int, int>> path_;
  BucketQueue queue_;
  int phase_ = 0;
};

}  // namespace

Assignment assign(const Signature& signature) {
  return Solver(signature).run();
}

}  // namespace saltus
