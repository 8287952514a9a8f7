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
  state_ = State::fresh;
}

/// A row for each column, so that the entries there are large in their rows and columns: those of the diagonal, where
/// they are, and along augmenting paths. False: there is no choice.
bool LaneLu::match(std::span<const double> values) {
  const auto n = static_cast<std::size_t>(pattern_.columns);
  std::vector<double> of_row(n, 0.0), of_column(n, 0.0), size(values.size());
  for (std::size_t j = 0; j < n; ++j)
    for (int e = pattern_.start[j]; e < pattern_.start[j + 1]; ++e) {
      double& largest = of_row[static_cast<std::size_t>(pattern_.row[e])];
      largest = std::max(largest, std::abs(values[e]));
    }
  for (std::size_t j = 0; j < n; ++j)
    for (int e = pattern_.start[j]; e < pattern_.start[j + 1]; ++e) {
      const double row = of_row[static_cast<std::size_t>(pattern_.row[e])];
      size[static_cast<std::size_t>(e)] = row > 0.0 ? std::abs(values[e]) / row : 0.0;
      of_column[j] = std::max(of_column[j], size[static_cast<std::size_t>(e)]);
    }
  row_of_.assign(n, -1);
  std::vector<int> column_of(n, -1), seen(n, -1), path, entry;
  for (std::size_t j = 0; j < n; ++j)
    for (int e = pattern_.start[j]; e < pattern_.start[j + 1]; ++e)
      if (pattern_.row[e] == static_cast<int>(j) && size[static_cast<std::size_t>(e)] > 0.1 * of_column[j])
        row_of_[j] = column_of[j] = static_cast<int>(j);
  int search = 0;
  for (const double least : {1.0, 0.1, 1e-2, 1e-4, 1e-8, 0.0}) {
    const auto large = [&](int e, std::size_t j) {
      const double value = size[static_cast<std::size_t>(e)];
      return value > 0.0 && value >= least * of_column[j];
    };
    bool all = true;
    for (std::size_t from = 0; from < n; ++from) {
      if (row_of_[from] >= 0) continue;
      // depth first, from column to column; entry[k] is where the search goes on in the k-th column of the path
      ++search;
      path = {static_cast<int>(from)};
      entry = {pattern_.start[from]};
      bool found = false;
      while (!path.empty() && !found) {
        const auto j = static_cast<std::size_t>(path.back());
        int& e = entry.back();
        while (e < pattern_.start[j + 1] && (!large(e, j) || seen[static_cast<std::size_t>(pattern_.row[e])] == search))
          ++e;
        if (e == pattern_.start[j + 1]) {
          path.pop_back();
          entry.pop_back();
          if (!entry.empty()) ++entry.back();
          continue;
        }
        const auto row = static_cast<std::size_t>(pattern_.row[e]);
        seen[row] = search;
        found = column_of[row] < 0;
        if (found) break;
        path.push_back(column_of[row]);
        entry.push_back(pattern_.start[static_cast<std::size_t>(column_of[row])]);
      }
      for (std::size_t k = path.size(); found && k-- > 0;) {
        const int row = pattern_.row[entry[k]];
        row_of_[static_cast<std::size_t>(path[k])] = row;
        column_of[static_cast<std::size_t>(row)] = path[k];
      }
      all = all && found;
    }
    if (all) return true;
  }
  return false;
}

/// The order of the pivots, and the patterns of the factors.
void LaneLu::find_fill() {
  const int n = pattern_.columns;
  const auto size = static_cast<std::size_t>(n);
  std::vector<int> column_of(size);
  for (std::size_t j = 0; j < size; ++j) column_of[static_cast<std::size_t>(row_of_[j])] = static_cast<int>(j);
  std::vector<Eigen::Triplet<double>> entries;
  for (int j = 0; j < n; ++j)
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) {
      const int i = column_of[static_cast<std::size_t>(pattern_.row[k])];
      entries.emplace_back(i, j, 1.0);
      entries.emplace_back(j, i, 1.0);
    }
  Eigen::SparseMatrix<double> both(n, n);
  both.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> permutation;
  Eigen::AMDOrdering<int>()(both, permutation);
  factors_.column.assign(permutation.indices().data(), permutation.indices().data() + n);
  factors_.row.clear();
  std::vector<int> place(size);
  pivot_of_row_.assign(size, 0);
  for (int k = 0; k < n; ++k) {
    const auto j = static_cast<std::size_t>(factors_.column[static_cast<std::size_t>(k)]);
    place[j] = k;
    factors_.row.push_back(row_of_[j]);
    pivot_of_row_[static_cast<std::size_t>(row_of_[j])] = k;
  }
  // Fill of a symmetric pattern: what is below the first entry of a column below its diagonal goes into that column,
  // too.
  std::vector<std::vector<int>> below(size), above(size);
  for (int k = 0; k < both.outerSize(); ++k)
    for (Eigen::SparseMatrix<double>::InnerIterator it(both, k); it; ++it) {
      const int row = place[static_cast<std::size_t>(it.row())], column = place[static_cast<std::size_t>(it.col())];
      if (row > column) below[static_cast<std::size_t>(column)].push_back(row);
    }
  for (std::size_t k = 0; k < size; ++k) {
    std::vector<int>& list = below[k];
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    for (const int row : list) above[static_cast<std::size_t>(row)].push_back(static_cast<int>(k));
    if (list.size() < 2) continue;
    std::vector<int>& parent = below[static_cast<std::size_t>(list.front())];
    parent.insert(parent.end(), list.begin() + 1, list.end());
  }
  // The pattern is symmetric: row k of the lower factor has the columns above[k], row k of the upper one below[k].
  for (auto [rows, lists] : {std::pair(&factors_.lower, &above), std::pair(&factors_.upper, &below)}) {
    rows->start.assign(1, 0);
    rows->column.clear();
    for (const std::vector<int>& list : *lists) {
      rows->column.insert(rows->column.end(), list.begin(), list.end());
      rows->start.push_back(static_cast<int>(rows->column.size()));
    }
  }
  std::vector<int> next_in_upper(factors_.upper.start.begin(), factors_.upper.start.end() - 1),
      next_in_lower(factors_.lower.start.begin(), factors_.lower.start.end() - 1);
  columns_.clear();
  position_.clear();
  place_.clear();
  for (std::size_t k = 0; k < size; ++k) {
    Column column{static_cast<int>(position_.size()), 0, 0};
    for (const int p : above[k]) {  // row p of the upper factor
      position_.push_back(p);
      place_.push_back(next_in_upper[static_cast<std::size_t>(p)]++);
    }
    column.middle = static_cast<int>(position_.size());
    for (const int p : below[k]) {
      position_.push_back(p);
      place_.push_back(next_in_lower[static_cast<std::size_t>(p)]++);
    }
    column.end = static_cast<int>(position_.size());
    columns_.push_back(column);
  }
  factors_.lower_values.assign(factors_.lower.column.size(), 0.0);
  factors_.upper_values.assign(factors_.upper.column.size(), 0.0);
  value_.assign(position_.size(), 0.0);
  factors_.inverse.assign(size, 0.0);
  work_.assign(size, 0.0);
}

bool LaneLu::factorise(std::span<const double> values) {
  if (state_ == State::analysed && eliminate(values)) return true;
  if (state_ != State::other) {
    state_ = State::fresh;  // without factors: solutions are NaN
    if (!match(values)) return false;
    find_fill();
    if (eliminate(values)) {
      state_ = State::analysed;
      return true;
    }
    if (!other_.analyse(pattern_)) return false;
    state_ = State::other;
  }
  return other_.factorise(values);
}

/// Column by column: the columns before it are subtracted, then the pivot divides what is below.
bool LaneLu::eliminate(std::span<const double> values) {
  double* const w = work_.data();
  const int* const position = position_.data();
  double* const value = value_.data();
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const Column& column = columns_[k];
    const int j = factors_.column[k];
    for (int e = column.begin; e < column.end; ++e) w[position[e]] = 0.0;
    w[k] = 0.0;
    for (int e = pattern_.start[j]; e < pattern_.start[j + 1]; ++e)
      w[pivot_of_row_[static_cast<std::size_t>(pattern_.row[e])]] = values[e];
    for (int e = column.begin; e < column.middle; ++e) {
      const double u = value[e] = w[position[e]];
      factors_.upper_values[static_cast<std::size_t>(place_[static_cast<std::size_t>(e)])] = u;
      const Column& before = columns_[static_cast<std::size_t>(position[e])];
      for (int i = before.middle; i < before.end; ++i) w[position[i]] -= value[i] * u;
    }
    double largest = 0.0;
    for (int e = column.middle; e < column.end; ++e) largest = std::max(largest, std::abs(w[position[e]]));
    if (!(std::abs(w[k]) > smallest_pivot * largest) || !std::isfinite(w[k])) return false;
    const double inverse = factors_.inverse[k] = 1.0 / w[k];
    for (int e = column.middle; e < column.end; ++e) {
      value[e] = w[position[e]] * inverse;
      factors_.lower_values[static_cast<std::size_t>(place_[static_cast<std::size_t>(e)])] = value[e];
    }
  }
  return true;
}

void LaneLu::solve(double* b, int width) const {
  const auto lanes = static_cast<std::size_t>(width), n = static_cast<std::size_t>(pattern_.columns);
  buffer_.resize(n * lanes);
  if (state_ == State::analysed) {
    lane_kernels(width).solve(factors_, b, buffer_.data());
    return;
  }
  const std::span<double> one(buffer_.data(), n);
  for (std::size_t l = 0; l < lanes; ++l) {
    for (std::size_t i = 0; i < n; ++i) one[i] = b[i * lanes + l];
    other_.solve(one);
    for (std::size_t i = 0; i < n; ++i) b[i * lanes + l] = one[i];
  }
}

void LaneLu::solve_transposed(std::span<double> b) const {
  const auto n = static_cast<std::size_t>(pattern_.columns);
  buffer_.resize(2 * n);
  if (state_ != State::analysed) {
    const std::span<double> one(buffer_.data(), n);
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t i = 0; i < n; ++i) one[i] = b[2 * i + l];
      other_.solve_transposed(one);
      for (std::size_t i = 0; i < n; ++i) b[2 * i + l] = one[i];
    }
    return;
  }
  // Columns of the factors are rows of their transposed. Two solutions side by side take no longer than one, since each
  // number waits for the one before.
  using Pair = LaneVector<2>::type;
  double* const work = buffer_.data();
  const auto subtract = [&](int begin, int end, Pair& sum) {
    for (int e = begin; e < end; ++e)
      sum -= value_[static_cast<std::size_t>(e)] *
             lanes_at<2>(work + 2 * static_cast<std::size_t>(position_[static_cast<std::size_t>(e)]));
  };
  for (std::size_t k = 0; k < n; ++k) {
    Pair sum = lanes_at<2>(b.data() + 2 * static_cast<std::size_t>(factors_.column[k]));
    subtract(columns_[k].begin, columns_[k].middle, sum);
    lanes_at<2>(work + 2 * k) = sum * factors_.inverse[k];
  }
  for (std::size_t k = n; k-- > 0;) {
    Pair sum = lanes_at<2>(work + 2 * k);
    subtract(columns_[k].middle, columns_[k].end, sum);
    lanes_at<2>(work + 2 * k) = sum;
    lanes_at<2>(b.data() + 2 * static_cast<std::size_t>(factors_.row[k])) = sum;
  }
}

}  // namespace saltus
