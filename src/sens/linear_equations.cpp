#include "sens/linear_equations.hpp"

#include <algorithm>
#include <utility>

namespace saltus {

bool all_are_finite(std::span<const double> values) {
  double sums[8] = {};
  std::size_t k = 0;
  for (; k + 8 <= values.size(); k += 8)
    for (std::size_t l = 0; l < 8; ++l) sums[l] += 0.0 * values[k + l];
  for (; k < values.size(); ++k) sums[0] += 0.0 * values[k];
  return std::ranges::all_of(sums, [](double sum) { return sum == 0.0; });
}

void LinearEquations::set_pattern(std::size_t rows, std::span<const Entry> entries, std::vector<int>& place) {
  pattern_.start.assign(rows + 1, 0);
  for (const Entry& e : entries) ++pattern_.start[static_cast<std::size_t>(e.row) + 1];
  for (std::size_t i = 0; i < rows; ++i) pattern_.start[i + 1] += pattern_.start[i];
  std::vector<int> next(pattern_.start.begin(), pattern_.start.end() - 1);
  pattern_.column.resize(entries.size());
  place.clear();
  for (const Entry& e : entries) {
    place.push_back(next[static_cast<std::size_t>(e.row)]++);
    pattern_.column[static_cast<std::size_t>(place.back())] = e.column;
  }
}

void LinearEquations::set_data(std::size_t data, std::vector<Entry> entries) {
  by_data_ = std::move(entries);
  data_start_.assign(data + 1, 0);
  for (const Entry& e : by_data_) ++data_start_[static_cast<std::size_t>(e.column) + 1];
  for (std::size_t i = 0; i < data; ++i) data_start_[i + 1] += data_start_[i];
}

void LinearEquations::add_data(const Values& at, double factor, std::size_t first, std::size_t width,
                               const TangentValues& values, double* out) const {
  for (const TangentValues::Change& change : values.changes_from(first)) {
    if (change.direction >= first + width) break;
    const double by = factor * change.value;
    double* const lane = out + (change.direction - first);
    for (int e = data_start_[change.place]; e < data_start_[change.place + 1]; ++e)
      lane[static_cast<std::size_t>(by_data_[static_cast<std::size_t>(e)].row) * width] +=
          by * at.b[static_cast<std::size_t>(e)];
  }
}

ExplicitEquations::ExplicitEquations(const TangentCode& code)
    : jacobian_(code.jacobian()), work_(jacobian_.program.workspace()) {
  const SparsePattern& by_x = jacobian_.by_x;
  std::vector<Entry> entries, data;
  for (int j = 0; j < by_x.columns; ++j)
    for (int e = by_x.start[j]; e < by_x.start[j + 1]; ++e) entries.push_back({by_x.row[e], j});
  set_pattern(code.variables(), entries, place_);
  for (const auto& e : jacobian_.by_data) data.push_back({e.row, e.column});
  set_data(code.data(), std::move(data));
  lu_.set_pattern(by_x);
  x_.resize(code.variables());
  by_x_.resize(entries.size());
  shifted_.resize(entries.size());
}

bool ExplicitEquations::evaluate(double t, SolutionPath& path, const TangentValues& values, Values& out) {
  path.step(t).polynomial.evaluate(t, x_);
  out.a.resize(by_x_.size());
  out.b.resize(by_data_.size());
  const double* const in[] = {&t, x_.data(), values.data.data(), values.locks.data()};
  double* const outs[] = {by_x_.data(), out.b.data()};
  jacobian_.program(in, outs, work_);
  for (std::size_t e = 0; e < by_x_.size(); ++e) out.a[static_cast<std::size_t>(place_[e])] = by_x_[e];
  return all_are_finite(out.a) && all_are_finite(out.b);
}

bool ExplicitEquations::factorise(double shift, const Values& at) {
  const SparsePattern& by_x = jacobian_.by_x;
  for (int j = 0; j < by_x.columns; ++j)
    for (int e = by_x.start[j]; e < by_x.start[j + 1]; ++e) {
      const auto k = static_cast<std::size_t>(e);
      shifted_[k] = (by_x.row[e] == j ? shift : 0.0) - at.a[static_cast<std::size_t>(place_[k])];
    }
  return lu_.factorise(shifted_);
}

}  // namespace saltus
