#include "sens/constrained_equations.hpp"

#include <algorithm>
#include <utility>

namespace saltus {

ConstrainedEquations::ConstrainedEquations(std::shared_ptr<const LinearMode> mode)
    : mode_(std::move(mode)), rows_(mode_->equations()) {
  identity_ = false;
  const auto& entries = mode_->data_entries();
  for (std::size_t e = 0; e < entries.size(); ++e) data_order_.push_back(static_cast<int>(e));
  std::ranges::stable_sort(data_order_, {}, [&](int e) { return entries[static_cast<std::size_t>(e)].column; });
  std::vector<Entry> data;
  for (const int e : data_order_)
    data.push_back({entries[static_cast<std::size_t>(e)].row, entries[static_cast<std::size_t>(e)].column});
  set_data(mode_->data().size(), std::move(data));
}

bool ConstrainedEquations::open(const TangentValues& values, double t, std::span<const double> x,
                                std::span<const double> xp, const std::vector<int>& held) {
  if (held.size() + rows_ != mode_->unknowns()) return false;
  if (point_.empty())
    point_ = LinearPoint(mode_, values.data, values.locks);
  else
    point_.set_values(values.data, values.locks);
  number_ = values.number;
  point_.set_held(held);
  if (!point_.move(t, x, xp)) return false;
  if (held_ != point_.held() || pattern_.column.empty()) hold(point_.held());
  return true;
}

ConstrainedEquations::Part ConstrainedEquations::part(std::span<const int> columns) const {
  std::vector<int> number(mode_->unknowns(), -1);
  for (std::size_t k = 0; k < columns.size(); ++k) number[static_cast<std::size_t>(columns[k])] = static_cast<int>(k);
  const auto& entries = mode_->equation_entries();
  Part result;
  result.pattern.start.assign(rows_ + 1, 0);
  for (const auto& e : entries)
    if (number[static_cast<std::size_t>(e.column)] >= 0) ++result.pattern.start[static_cast<std::size_t>(e.row) + 1];
  for (std::size_t i = 0; i < rows_; ++i) result.pattern.start[i + 1] += result.pattern.start[i];
  std::vector<int> next(result.pattern.start.begin(), result.pattern.start.end() - 1);
  result.pattern.column.resize(static_cast<std::size_t>(result.pattern.start.back()));
  result.source.resize(result.pattern.column.size());
  for (std::size_t e = 0; e < entries.size(); ++e) {
    const int column = number[static_cast<std::size_t>(entries[e].column)];
    if (column < 0) continue;
    const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(entries[e].row)]++);
    result.pattern.column[place] = column;
    result.source[place] = static_cast<int>(e);
  }
  result.values.resize(result.source.size());
  return result;
}

void ConstrainedEquations::Part::take(std::span<const double> a, const std::vector<int>& place) {
  for (std::size_t k = 0; k < source.size(); ++k)
    values[k] = a[static_cast<std::size_t>(place[static_cast<std::size_t>(source[k])])];
}

void ConstrainedEquations::hold(const std::vector<int>& held) {
  held_ = held;
  point_.set_held(held);
  held_places_.clear();
  slope_places_.clear();
  mass_.clear();
  std::vector<Entry> rows;
  for (const auto& e : mode_->equation_entries()) rows.push_back({e.row, e.column});
  for (std::size_t k = 0; k < held.size(); ++k) {
    const auto variable = static_cast<std::size_t>(held[k]);
    held_places_.push_back(mode_->place(variable, 0));
    slope_places_.push_back(mode_->place(variable, 1));
    const int row = static_cast<int>(rows_ + k);
    rows.push_back({row, slope_places_.back()});
    mass_.push_back({row, held_places_.back()});
  }
  set_pattern(mode_->unknowns(), rows, place_);
  by_held_ = part(held_places_);
  by_slope_ = part(slope_places_);
  std::vector<int> step_column(mode_->unknowns(), -1), free_column(mode_->unknowns(), -1);
  step_columns_.clear();
  free_columns_.clear();
  std::vector<char> is_held(mode_->unknowns(), 0), is_slope(mode_->unknowns(), 0);
  for (const int c : held_places_) is_held[static_cast<std::size_t>(c)] = 1;
  for (const int c : slope_places_) is_slope[static_cast<std::size_t>(c)] = 1;
  for (std::size_t c = 0; c < mode_->unknowns(); ++c) {
    if (!is_slope[c]) {
      step_column[c] = static_cast<int>(step_columns_.size());
      step_columns_.push_back(static_cast<int>(c));
    }
    if (!is_held[c]) {
      free_column[c] = static_cast<int>(free_columns_.size());
      free_columns_.push_back(static_cast<int>(c));
    }
  }
  for (std::size_t k = 0; k < held.size(); ++k)
    step_column[static_cast<std::size_t>(slope_places_[k])] = step_column[static_cast<std::size_t>(held_places_[k])];
  const int n = static_cast<int>(rows_);
  std::vector<std::pair<int, int>> step, free;
  std::vector<int> of_free;
  shifted_.clear();
  free_position_.clear();
  for (const auto& e : mode_->equation_entries()) {
    const auto c = static_cast<std::size_t>(e.column);
    step.emplace_back(e.row, step_column[c]);
    shifted_.push_back(is_slope[c]);
    free_position_.push_back(free_column[c] >= 0 ? static_cast<int>(free.size()) : -1);
    if (free_column[c] >= 0) free.emplace_back(e.row, free_column[c]);
  }
  step_lu_.set_pattern(make_pattern(n, n, step, &step_position_));
  free_lu_.set_pattern(make_pattern(n, n, free, &of_free));
  for (int& p : free_position_)
    if (p >= 0) p = of_free[static_cast<std::size_t>(p)];
  ++version_;
}

/// Values and slopes of the solution, and the values of the data with which it was found.
void ConstrainedEquations::approach(double t, SolutionPath& path, const TangentValues& values) {
  const DensePolynomial& polynomial = path.step(t).polynomial;
  x_.resize(static_cast<std::size_t>(polynomial.variables));
  xp_.resize(x_.size());
  polynomial.evaluate(t, x_);
  polynomial.derivative(t, xp_);
  if (number_ == values.number) return;
  point_.set_values(values.data, values.locks);
  number_ = values.number;
}

bool ConstrainedEquations::move(double t, SolutionPath& path, const TangentValues& values) {
  approach(t, path, values);
  return point_.move(t, x_, xp_);
}

bool ConstrainedEquations::evaluate(double t, SolutionPath& path, const TangentValues& values, Values& out) {
  approach(t, path, values);
  if (!point_.pass(t, x_, xp_)) return false;
  read(out);
  return all_are_finite(out.b);
}

void ConstrainedEquations::read(Values& out) const {
  const std::span<const double> E = point_.E(), D = point_.D();
  out.a.assign(place_.size(), 1.0);
  for (std::size_t e = 0; e < E.size(); ++e) out.a[static_cast<std::size_t>(place_[e])] = E[e];
  out.b.clear();
  for (const int e : data_order_) out.b.push_back(D[static_cast<std::size_t>(e)]);
}

bool ConstrainedEquations::factorise(double shift, const Values& at) {
  shift_ = shift;
  by_slope_.take(at.a, place_);
  matrix_.assign(step_lu_.pattern().row.size(), 0.0);
  for (std::size_t e = 0; e < step_position_.size(); ++e)
    matrix_[static_cast<std::size_t>(step_position_[e])] +=
        at.a[static_cast<std::size_t>(place_[e])] * (shifted_[e] ? shift : 1.0);
  return step_lu_.factorise(matrix_);
}

/// From the rows of the held variables y_h' = shift y_h - r_h; that in the other rows gives K.
void ConstrainedEquations::solve(double* r, int width) {
  const auto lanes = static_cast<std::size_t>(width);
  const std::size_t equations = rows_ * lanes, held = held_.size() * lanes;
  work_.assign(r, r + equations);
  for (double& v : work_) v = -v;
  right_.assign(r + equations, r + equations + held);
  lane_kernels(width).multiply(by_slope_.pattern, by_slope_.values.data(), right_.data(), work_.data());
  step_lu_.solve(work_.data(), width);
  for (std::size_t k = 0; k < step_columns_.size(); ++k)
    std::copy_n(work_.data() + k * lanes, lanes, r + static_cast<std::size_t>(step_columns_[k]) * lanes);
  for (std::size_t k = 0; k < held_.size(); ++k)
    for (std::size_t l = 0; l < lanes; ++l)
      r[static_cast<std::size_t>(slope_places_[k]) * lanes + l] =
          shift_ * r[static_cast<std::size_t>(held_places_[k]) * lanes + l] - right_[k * lanes + l];
}

void ConstrainedEquations::solve_transposed(std::span<double> r) {
  const auto at = [&](int place) { return r.data() + 2 * static_cast<std::size_t>(place); };
  right_.resize(2 * held_.size());
  for (std::size_t k = 0; k < held_.size(); ++k)
    for (std::size_t l = 0; l < 2; ++l) {
      right_[2 * k + l] = at(slope_places_[k])[l];
      at(held_places_[k])[l] += shift_ * right_[2 * k + l];
    }
  work_.resize(2 * rows_);
  for (std::size_t k = 0; k < step_columns_.size(); ++k)
    for (std::size_t l = 0; l < 2; ++l) work_[2 * k + l] = -at(step_columns_[k])[l];
  step_lu_.solve_transposed(work_);
  std::ranges::copy(work_, r.begin());
  double* const slopes = r.data() + 2 * rows_;
  for (std::size_t k = 0; k < right_.size(); ++k) slopes[k] = -right_[k];
  for (std::size_t i = 0; i < rows_; ++i)
    for (int e = by_slope_.pattern.start[i]; e < by_slope_.pattern.start[i + 1]; ++e) {
      const auto column = static_cast<std::size_t>(by_slope_.pattern.column[static_cast<std::size_t>(e)]);
      for (std::size_t l = 0; l < 2; ++l)
        slopes[2 * column + l] -= by_slope_.values[static_cast<std::size_t>(e)] * work_[2 * i + l];
    }
}

bool ConstrainedEquations::factorise_free(const Values& at) {
  by_held_.take(at.a, place_);
  matrix_.assign(free_lu_.pattern().row.size(), 0.0);
  for (std::size_t e = 0; e < free_position_.size(); ++e)
    if (free_position_[e] >= 0)
      matrix_[static_cast<std::size_t>(free_position_[e])] = at.a[static_cast<std::size_t>(place_[e])];
  return free_lu_.factorise(matrix_);
}

void ConstrainedEquations::push(const Values& at, const TangentValues& values, const Lanes& lanes,
                                std::span<double> y) {
  const std::size_t width = lanes.lanes();
  right_.resize(held_.size() * width);
  for (std::size_t b = 0; b < lanes.blocks(); ++b) {
    double* const block = y.data() + b * lanes.block();
    for (std::size_t k = 0; k < held_.size(); ++k)
      std::copy_n(block + static_cast<std::size_t>(held_places_[k]) * width, width, right_.data() + k * width);
    work_.assign(rows_ * width, 0.0);
    lane_kernels(lanes.width).multiply(by_held_.pattern, by_held_.values.data(), right_.data(), work_.data());
    add_data(at, 1.0, b * width, width, values, work_.data());
    for (double& v : work_) v = -v;
    free_lu_.solve(work_.data(), lanes.width);
    for (std::size_t k = 0; k < free_columns_.size(); ++k)
      std::copy_n(work_.data() + k * width, width, block + static_cast<std::size_t>(free_columns_[k]) * width);
  }
}

}  // namespace saltus
