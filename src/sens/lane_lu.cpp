#include "sens/lane_lu.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>

#include <algorithm>
#include <cmath>

#include "sens/lanes.hpp"

namespace saltus {

namespace {

/// Elimination with such pivots loses at most this share of the digits.
constexpr double smallest_pivot = 1e-4;

}  // namespace

void LaneLu::set_pattern(const SparsePattern& pattern) {
  pattern_ = pattern;
  const int n = pattern.columns;
  const auto size = static_cast<std::size_t>(n);
  std::vector<Eigen::Triplet<double>> entries;
  for (int j = 0; j < n; ++j)
    for (int k = pattern.start[j]; k < pattern.start[j + 1]; ++k) {
      entries.emplace_back(pattern.row[k], j, 1.0);
      entries.emplace_back(j, pattern.row[k], 1.0);
    }
  Eigen::SparseMatrix<double> both(n, n);
  both.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(both, permutation);
  order_.assign(permutation.indices().data(), permutation.indices().data() + n);
  std::vector<int> place(size);
  for (int k = 0; k < n; ++k) place[static_cast<std::size_t>(order_[static_cast<std::size_t>(k)])] = k;
  // Fill of a symmetric pattern: what is below the first entry of a column below its diagonal goes into that column
  // too.
  std::vector<std::vector<int>> below(size);
  for (int k = 0; k < both.outerSize(); ++k)
    for (Eigen::SparseMatrix<double>::InnerIterator it(both, k); it; ++it) {
      const int row = place[static_cast<std::size_t>(it.row())], column = place[static_cast<std::size_t>(it.col())];
      if (row > column) below[static_cast<std::size_t>(column)].push_back(row);
    }
  std::vector<std::vector<int>> above(size);
  for (std::size_t k = 0; k < size; ++k) {
    std::vector<int>& list = below[k];
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const int row : list) above[static_cast<std::size_t>(row)].push_back(static_cast<int>(k));
    if (list.size() < 2) continue;
    std::vector<int>& parent = below[static_cast<std::size_t>(list.front())];
    parent.insert(parent.end(), list.begin() + 1, list.end());
  }
  columns_.clear();
  row_.clear();
  position_.clear();
  for (std::size_t k = 0; k < size; ++k) {
    Column column{static_cast<int>(row_.size()), 0, 0};
    for (const int p : above[k]) {
      position_.push_back(p);
      row_.push_back(order_[static_cast<std::size_t>(p)]);
    }
    column.middle = static_cast<int>(row_.size());
    for (const int p : below[k]) {
      position_.push_back(p);
      row_.push_back(order_[static_cast<std::size_t>(p)]);
    }
    column.end = static_cast<int>(row_.size());
    columns_.push_back(column);
  }
  value_.assign(row_.size(), 0.0);
  inverse_.assign(size, 0.0);
  work_.assign(size, 0.0);
}

bool LaneLu::factorise(std::span<const double> values) {
  if (diagonal_ && eliminate(values)) return true;
  if (diagonal_) other_.set_pattern(pattern_);
  diagonal_ = false;
  one_.resize(order_.size());
  return other_.factorise(values);
}

/// Column by column: the columns before it are subtracted, then the pivot divides what is below.
bool LaneLu::eliminate(std::span<const double> values) {
  double* const w = work_.data();
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const Column& column = columns_[k];
    const int j = order_[k];
    for (int e = column.begin; e < column.end; ++e) w[row_[static_cast<std::size_t>(e)]] = 0.0;
    w[j] = 0.0;
    for (int e = pattern_.start[j]; e < pattern_.start[j + 1]; ++e) w[pattern_.row[e]] = values[e];
    for (int e = column.begin; e < column.middle; ++e) {
      const auto place = static_cast<std::size_t>(e);
      const double u = value_[place] = w[row_[place]];
      const Column& before = columns_[static_cast<std::size_t>(position_[place])];
      for (int i = before.middle; i < before.end; ++i)
        w[row_[static_cast<std::size_t>(i)]] -= value_[static_cast<std::size_t>(i)] * u;
    }
    double largest = 0.0;
    for (int e = column.middle; e < column.end; ++e)
      largest = std::max(largest, std::abs(w[row_[static_cast<std::size_t>(e)]]));
    if (!(std::abs(w[j]) > smallest_pivot * largest) || !std::isfinite(w[j])) return false;
    inverse_[k] = 1.0 / w[j];
    for (int e = column.middle; e < column.end; ++e)
      value_[static_cast<std::size_t>(e)] = w[row_[static_cast<std::size_t>(e)]] * inverse_[k];
  }
  return true;
}

template <int Width>
void LaneLu::solve_lanes(double* b) const {
  const int* const row = row_.data();
  const double* const value = value_.data();
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const auto x = lanes_at<Width>(b + order_[k] * Width);
    for (int e = columns_[k].middle; e < columns_[k].end; ++e) lanes_at<Width>(b + row[e] * Width) -= value[e] * x;
  }
  for (std::size_t k = columns_.size(); k-- > 0;) {
    const auto x = lanes_at<Width>(b + order_[k] * Width) *= inverse_[k];
    for (int e = columns_[k].begin; e < columns_[k].middle; ++e) lanes_at<Width>(b + row[e] * Width) -= value[e] * x;
  }
}

void LaneLu::solve(double* b, int width) {
  if (!diagonal_) {
    const auto lanes = static_cast<std::size_t>(width);
    for (std::size_t l = 0; l < lanes; ++l) {
      for (std::size_t i = 0; i < one_.size(); ++i) one_[i] = b[i * lanes + l];
      other_.solve(one_);
      for (std::size_t i = 0; i < one_.size(); ++i) b[i * lanes + l] = one_[i];
    }
  } else if (width == 1) {
    solve_lanes<1>(b);
  } else {
    solve_lanes<4>(b);
  }
}

}  // namespace saltus
