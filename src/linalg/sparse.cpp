#include <saltus/base/error.hpp>
#include <saltus/linalg/sparse.hpp>

#include <algorithm>
#include <numeric>

namespace saltus {

SparsePattern make_pattern(int rows, int columns, std::span<const std::pair<int, int>> entries,
                           std::vector<int>* position) {
  SparsePattern p{rows, columns, std::vector<int>(static_cast<std::size_t>(columns) + 1, 0), {}};
  for (const auto& [row, column] : entries) {
    if (row < 0 || row >= rows || column < 0 || column >= columns)
      throw UsageError("sparse pattern: an entry lies outside the matrix");
    ++p.start[column + 1];
  }
  std::partial_sum(p.start.begin(), p.start.end(), p.start.begin());
  // bucket the entries by column, sort each bucket, drop repetitions
  std::vector<int> order(entries.size()), next(p.start.begin(), p.start.end() - 1);
  for (std::size_t k = 0; k < entries.size(); ++k) order[next[entries[k].second]++] = static_cast<int>(k);
  if (position) position->assign(entries.size(), 0);
  std::vector<int> start(p.start.size(), 0);
  for (int j = 0; j < columns; ++j) {
    const auto first = order.begin() + p.start[j], last = order.begin() + p.start[j + 1];
    std::sort(first, last, [&](int a, int b) { return entries[a].first < entries[b].first; });
    for (auto k = first; k != last; ++k) {
      if (k == first || entries[*k].first != entries[*(k - 1)].first) p.row.push_back(entries[*k].first);
      if (position) (*position)[*k] = static_cast<int>(p.row.size()) - 1;
    }
    start[j + 1] = static_cast<int>(p.row.size());
  }
  p.start.swap(start);
  return p;
}

SparsePattern unite(const SparsePattern& a, const SparsePattern& b, std::vector<int>* from_a,
                    std::vector<int>* from_b) {
  if (a.rows != b.rows || a.columns != b.columns) throw UsageError("unite: the patterns have different shapes");
  SparsePattern u{a.rows, a.columns, std::vector<int>(a.start.size(), 0), {}};
  u.row.reserve(a.row.size() + b.row.size());
  const auto prepare = [](std::vector<int>* list, std::size_t size) {
    if (!list) return;
    list->clear();
    list->reserve(size);
  };
  prepare(from_a, a.row.size());
  prepare(from_b, b.row.size());
  for (int j = 0; j < a.columns; ++j) {
    int p = a.start[j], q = b.start[j];
    while (p < a.start[j + 1] || q < b.start[j + 1]) {
      const bool left = p < a.start[j + 1] && (q == b.start[j + 1] || a.row[p] <= b.row[q]);
      const bool right = q < b.start[j + 1] && (p == a.start[j + 1] || b.row[q] <= a.row[p]);
      const int place = u.nonzeros();
      u.row.push_back(left ? a.row[p] : b.row[q]);
      if (left && from_a) from_a->push_back(place);
      if (right && from_b) from_b->push_back(place);
      p += left;
      q += right;
    }
    u.start[j + 1] = u.nonzeros();
  }
  return u;
}

void multiply_add(const SparsePattern& pattern, std::span<const double> values, std::span<const double> x, double alpha,
                  std::span<double> y) {
  for (int j = 0; j < pattern.columns; ++j) {
    const double factor = alpha * x[j];
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) y[pattern.row[k]] += values[k] * factor;
  }
}

}  // namespace saltus
