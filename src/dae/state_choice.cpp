#include <saltus/dae/state_choice.hpp>

#include <algorithm>
#include <cmath>
#include <functional>

namespace saltus {

StateChoice::StateChoice(const Structure& structure, const StructuralAnalysis& analysis, std::vector<double> size)
    : equation_offset_(analysis.equation_offset),
      variable_offset_(analysis.variable_offset),
      pattern_(SystemJacobian(structure, analysis).pattern()),
      size_(std::move(size)),
      rows_(equation_offset_.size()),
      occurrences_(variable_offset_.size()) {
  for (const int c : equation_offset_) deepest_ = std::max(deepest_, c);
}

bool StateChoice::eliminate(std::span<const double> jacobian, const std::vector<int>* given) {
  quality_ = 1.0;
  left_ = variable_offset_;
  for (int stage = 1; stage <= deepest_; ++stage)
    if (!eliminate_stage(stage, jacobian, given)) return false;
  return true;
}

void StateChoice::queue(int row) {
  waiting_.emplace_back(rows_[row].size(), row);
  std::ranges::push_heap(waiting_, std::greater{});
}

// Rows of equations that are differentiated `stage` times or more; columns of variables that lost a derivative in each stage before.
bool StateChoice::eliminate_stage(int stage, std::span<const double> jacobian, const std::vector<int>* given) {
  for (auto& row : rows_) row.clear();
  for (auto& list : occurrences_) list.clear();
  for (int j = 0; j < pattern_.columns; ++j) {
    if (left_[j] != variable_offset_[j] - stage + 1 || left_[j] == 0) continue;
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) {
      const int i = pattern_.row[k];
      if (equation_offset_[i] < stage || jacobian[k] == 0.0) continue;
      rows_[i].push_back({j, jacobian[k] * size_[j]});
      occurrences_[j].push_back(i);
    }
  }
  waiting_.clear();
  done_.assign(rows_.size(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (equation_offset_[i] >= stage) queue(static_cast<int>(i));
  while (!waiting_.empty()) {
    const auto [length, i] = waiting_.front();
    std::ranges::pop_heap(waiting_, std::greater{});
    waiting_.pop_back();
    const std::vector<Entry>& row = rows_[i];
    if (done_[i]) continue;
    if (length != row.size()) {  // it has changed meanwhile
      queue(i);
      continue;
    }
    done_[i] = 1;
    double largest = 0.0;
    Entry pivot{-1, 0.0};
    for (const Entry& entry : row) {
      largest = std::max(largest, std::abs(entry.value));
      if (given && (*given)[entry.column] > variable_offset_[entry.column] - stage) continue;  // a state of this choice
      if (std::abs(entry.value) > std::abs(pivot.value)) pivot = entry;
    }
    if (pivot.column < 0 || !std::isfinite(largest)) return false;
    quality_ = std::min(quality_, std::abs(pivot.value) / largest);
    --left_[pivot.column];
    for (const int other : occurrences_[pivot.column]) {
      if (done_[other]) continue;
      const auto place = std::ranges::lower_bound(rows_[other], pivot.column, {}, &Entry::column);
      if (place != rows_[other].end() && place->column == pivot.column) subtract(other, row, place->value / pivot.value, pivot.column);
    }
  }
  return true;
}

// Row -= factor * pivot row, without the column, whose entry vanishes.
void StateChoice::subtract(int index, const std::vector<Entry>& pivot_row, double factor, int column) {
  std::vector<Entry>& row = rows_[index];
  merged_.clear();
  auto a = row.begin();
  auto b = pivot_row.begin();
  while (a != row.end() || b != pivot_row.end()) {
    if (b == pivot_row.end() || (a != row.end() && a->column < b->column)) {
      merged_.push_back(*a++);
    } else if (a == row.end() || b->column < a->column) {
      merged_.push_back({b->column, -factor * b->value});
      occurrences_[b->column].push_back(index);
      ++b;
    } else {
      const double rest = a->value - factor * b->value;
      // a difference of equal numbers is nothing but rounding
      if (a->column != column && std::abs(rest) > 1e-13 * std::abs(a->value)) merged_.push_back({a->column, rest});
      ++a;
      ++b;
    }
  }
  row.assign(merged_.begin(), merged_.end());
}

}  // namespace saltus
