// With the pivots first, A = [D B; C E], D diagonal: S = E - C D^{-1} B is what remains to be factorised.
#include <saltus/base/error.hpp>
#include <saltus/linalg/structured_lu.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "linalg/band_order.hpp"

namespace saltus {
namespace {

double size_of(double v) { return std::abs(v); }
double size_of(const std::complex<double>& v) { return std::abs(v.real()) + std::abs(v.imag()); }

/// A pivot must have this part of the largest entry of its row when it is chosen, and a tenth of that later.
constexpr double dominant = 0.1;
constexpr int most_failures = 3;
/// Below this size elimination and reordering gain nothing over dense factors.
constexpr int smallest_structured = 12;

// Nanoseconds of one factorisation and four solutions, which is what implicit methods ask for, fitted to measurements
// (benchmarks/linalg). Complex arithmetic scales all of them alike.
double dense_cost(double n) { return 90.0 + n * (10.0 + n * (3.2 + 0.055 * n)); }
double banded_cost(double n, double lower, double upper) {
  return n * (38.0 + 4.5 * (2.0 * lower + upper) + 0.145 * lower * (lower + upper));
}
double sparse_cost(double n, double entries, double operations) { return 48.0 * n + 9.0 * entries + 0.4 * operations; }

}  // namespace

std::string_view to_string(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::dense: return "dense";
    case MatrixKind::banded: return "banded";
    case MatrixKind::sparse: return "sparse";
  }
  return "unknown";
}

template <class Scalar>
void BasicStructuredLu<Scalar>::set_pattern(SparsePattern pattern, std::vector<char> simple) {
  if (pattern.rows != pattern.columns) throw UsageError("StructuredLu: the matrix must be square");
  if (!simple.empty() && static_cast<int>(simple.size()) != pattern.rows)
    throw UsageError("StructuredLu: one mark per row is needed");
  pattern_ = std::move(pattern);
  simple_ = std::move(simple);
  analysed_ = false;
  failures_ = 0;
  pivots_.clear();
  kind_ = MatrixKind::dense;
}

template <class Scalar>
std::string BasicStructuredLu<Scalar>::description() const {
  std::string text(to_string(kind_));
  if (kind_ == MatrixKind::banded)
    text += " (" + std::to_string(banded_.lower()) + " + " + std::to_string(banded_.upper()) + ")";
  if (!pivots_.empty())
    text += ", " + std::to_string(pivots_.size()) + " of " + std::to_string(pattern_.columns) + " eliminated";
  return text;
}

/// Pivots in order of the entries that they may bring; each bars the rows and columns that it touches.
template <class Scalar>
void BasicStructuredLu<Scalar>::choose_pivots(std::span<const Scalar> values) {
  pivots_.clear();
  const auto n = static_cast<std::size_t>(pattern_.columns);
  if (simple_.empty() || pattern_.columns < smallest_structured || failures_ > most_failures) return;
  std::vector<int> row_count(n, 0);
  std::vector<double> row_size(n, 0.0);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const int i = pattern_.row[k];
    ++row_count[i];
    row_size[i] = std::max(row_size[i], size_of(values[k]));
  }
  struct Candidate {
    int cost, row, column, value;
  };
  std::vector<Candidate> candidates;
  for (int j = 0; j < pattern_.columns; ++j) {
    const int others_below = pattern_.start[j + 1] - pattern_.start[j] - 1;
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) {
      const int i = pattern_.row[k];
      if (!simple_[i] || !(size_of(values[k]) >= dominant * row_size[i]) || !(row_size[i] > 0.0)) continue;
      const int others = row_count[i] - 1;
      if (static_cast<double>(others) * others_below > others + others_below + 1) continue;
      candidates.push_back({others * others_below, i, j, k});
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  std::vector<int> row_start(n + 1, 0), by_row(values.size());  // places by rows
  for (std::size_t i = 0; i < n; ++i) row_start[i + 1] = row_start[i] + row_count[i];
  std::vector<int> next(row_start.begin(), row_start.end() - 1), column_of(values.size());
  for (int j = 0; j < pattern_.columns; ++j)
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) {
      by_row[next[pattern_.row[k]]++] = k;
      column_of[k] = j;
    }
  std::vector<char> row_barred(n, 0), column_barred(n, 0);
  row_parts_.clear();
  column_parts_.clear();
  for (const Candidate& c : candidates) {
    if (row_barred[c.row] || column_barred[c.column]) continue;
    Pivot p{c.row, c.column, c.value, static_cast<int>(row_parts_.size()), 0, static_cast<int>(column_parts_.size()), 0, 0};
    for (int q = row_start[c.row]; q < row_start[c.row + 1]; ++q) {
      column_barred[column_of[by_row[q]]] = 1;
      if (by_row[q] != c.value) row_parts_.push_back({column_of[by_row[q]], by_row[q]});
    }
    for (int k = pattern_.start[c.column]; k < pattern_.start[c.column + 1]; ++k) {
      row_barred[pattern_.row[k]] = 1;
      if (k != c.value) column_parts_.push_back({pattern_.row[k], k});
    }
    p.row_end = static_cast<int>(row_parts_.size());
    p.col_end = static_cast<int>(column_parts_.size());
    pivots_.push_back(p);
  }
}

template <class Scalar>
void BasicStructuredLu<Scalar>::analyse(std::span<const Scalar> values) {
  choose_pivots(values);
  const auto n = static_cast<std::size_t>(pattern_.columns);
  std::vector<int> row_place(n, 0), col_place(n, 0);  // in the remaining system, or -1
  for (const Pivot& p : pivots_) row_place[p.row] = col_place[p.column] = -1;
  const auto number = [](std::vector<int>& place) {
    int count = 0;
    for (int& value : place)
      if (value >= 0) value = count++;
    return count;
  };
  number(row_place);
  rest_ = number(col_place);
  // what remains: the other entries, then the products
  std::vector<std::pair<int, int>> places;
  target_.assign(values.size(), -1);
  for (int j = 0; j < pattern_.columns; ++j)
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k)
      if (col_place[j] >= 0 && row_place[pattern_.row[k]] >= 0) {
        target_[k] = static_cast<int>(places.size());
        places.emplace_back(row_place[pattern_.row[k]], col_place[j]);
      }
  const std::size_t kept = places.size();
  for (Pivot& p : pivots_) {
    p.fill_start = static_cast<int>(places.size() - kept);
    for (int c = p.col_start; c < p.col_end; ++c)
      for (int r = p.row_start; r < p.row_end; ++r)
        places.emplace_back(row_place[column_parts_[c].position], col_place[row_parts_[r].position]);
  }
  std::vector<int> position;
  const SparsePattern rest = make_pattern(rest_, rest_, places, &position);
  const BandOrder order = choose_kind(rest);
  if (kind_ == MatrixKind::banded) {
    for (auto& [i, j] : places) i = order.row[i], j = order.column[j];
    for (int& i : row_place)
      if (i >= 0) i = order.row[i];
    for (int& j : col_place)
      if (j >= 0) j = order.column[j];
  }
  if (kind_ == MatrixKind::sparse)
    rest_values_.assign(rest.row.size(), Scalar(0));
  else if (kind_ == MatrixKind::dense)
    rest_values_.assign(static_cast<std::size_t>(rest_) * static_cast<std::size_t>(rest_), Scalar(0));
  else
    rest_values_ = {};
  const auto place = [&](std::size_t k) {
    const auto [i, j] = places[k];
    if (kind_ == MatrixKind::sparse) return position[k];
    if (kind_ == MatrixKind::dense) return j * rest_ + i;
    return static_cast<int>(banded_.place(i, j));
  };
  for (int& t : target_)
    if (t >= 0) t = place(static_cast<std::size_t>(t));
  fill_.resize(places.size() - kept);
  for (std::size_t k = kept; k < places.size(); ++k) fill_[k - kept] = place(k);
  for (Part& part : row_parts_) part.position = col_place[part.position];
  for (Part& part : column_parts_) part.position = row_place[part.position];
  inverse_.assign(pivots_.size(), Scalar(0));
  row_values_.assign(row_parts_.size(), Scalar(0));
  column_values_.assign(column_parts_.size(), Scalar(0));
  direct_ = pivots_.empty() && kind_ != MatrixKind::banded;
  work_.assign(direct_ ? 0 : static_cast<std::size_t>(rest_), Scalar(0));
  saved_.assign(pivots_.size(), Scalar(0));
  rest_row_.resize(work_.size());
  rest_col_.resize(work_.size());
  if (!direct_)
    for (std::size_t k = 0; k < n; ++k) {
      if (row_place[k] >= 0) rest_row_[row_place[k]] = static_cast<int>(k);
      if (col_place[k] >= 0) rest_col_[col_place[k]] = static_cast<int>(k);
    }
  analysed_ = true;
}

/// Leaves the band's order, empty where another kind was chosen.
template <class Scalar>
BandOrder BasicStructuredLu<Scalar>::choose_kind(const SparsePattern& rest) {
  const double n = rest_;
  kind_ = MatrixKind::dense;
  double best = dense_cost(n);
  if (rest_ < smallest_structured) return {};
  BandOrder order = band_order(rest);
  if (banded_cost(n, order.lower, order.upper) < best) {
    kind_ = MatrixKind::banded;
    best = banded_cost(n, order.lower, order.upper);
  }
  // no ordering can beat a very narrow band, and none is cheap to find for large matrices
  if (kind_ == MatrixKind::banded && order.lower + order.upper <= 4) {
    banded_.set_shape(rest_, order.lower, order.upper);
    return order;
  }
  if (sparse_.analyse(rest) && sparse_cost(n, sparse_.expected_entries(), sparse_.expected_operations()) < best)
    kind_ = MatrixKind::sparse;
  if (kind_ != MatrixKind::sparse) sparse_ = {};
  if (kind_ != MatrixKind::banded) return {};
  banded_.set_shape(rest_, order.lower, order.upper);
  return order;
}

/// Fills the remaining matrix; false if a pivot has become too small.
template <class Scalar>
bool BasicStructuredLu<Scalar>::eliminate(std::span<const Scalar> values) {
  if (kind_ == MatrixKind::banded) banded_.clear();
  const std::span<Scalar> rest = kind_ == MatrixKind::banded ? banded_.values() : std::span<Scalar>(rest_values_);
  if (kind_ != MatrixKind::banded) std::fill(rest.begin(), rest.end(), Scalar(0));
  for (std::size_t k = 0; k < values.size(); ++k)
    if (target_[k] >= 0) rest[target_[k]] = values[k];
  for (std::size_t q = 0; q < pivots_.size(); ++q) {
    const Pivot& p = pivots_[q];
    const Scalar pivot = values[p.value];
    double largest = 0.0;
    for (int r = p.row_start; r < p.row_end; ++r) {
      row_values_[r] = values[row_parts_[r].value];
      largest = std::max(largest, size_of(row_values_[r]));
    }
    if (!(size_of(pivot) > 0.1 * dominant * largest)) return false;
    inverse_[q] = 1.0 / pivot;
    int fill = p.fill_start;
    for (int c = p.col_start; c < p.col_end; ++c) {
      column_values_[c] = values[column_parts_[c].value];
      const Scalar factor = column_values_[c] * inverse_[q];
      for (int r = p.row_start; r < p.row_end; ++r) rest[fill_[fill++]] -= factor * row_values_[r];
    }
  }
  return true;
}

template <class Scalar>
bool BasicStructuredLu<Scalar>::factorise(std::span<const Scalar> values) {
  assert(static_cast<int>(values.size()) == pattern_.nonzeros());
  for (const Scalar& value : values)
    if (!std::isfinite(size_of(value))) return false;
  if (!analysed_) analyse(values);
  if (!eliminate(values)) {
    ++failures_;
    analyse(values);
    if (!eliminate(values)) return false;
  }
  if (kind_ == MatrixKind::banded) return banded_.factorise();
  return kind_ == MatrixKind::dense ? dense_.factorise(rest_, rest_values_) : sparse_.factorise(rest_values_);
}

template <class Scalar>
void BasicStructuredLu<Scalar>::solve(std::span<Scalar> b) const {
  const auto solve_rest = [this](std::span<Scalar> v) {
    if (kind_ == MatrixKind::banded) return banded_.solve(v);
    kind_ == MatrixKind::dense ? dense_.solve(v) : sparse_.solve(v);
  };
  if (direct_) return solve_rest(b);
  for (std::size_t i = 0; i < work_.size(); ++i) work_[i] = b[rest_row_[i]];
  for (std::size_t q = 0; q < pivots_.size(); ++q) {
    const Pivot& p = pivots_[q];
    saved_[q] = b[p.row] * inverse_[q];
    for (int c = p.col_start; c < p.col_end; ++c) work_[column_parts_[c].position] -= column_values_[c] * saved_[q];
  }
  solve_rest(work_);
  for (std::size_t j = 0; j < work_.size(); ++j) b[rest_col_[j]] = work_[j];
  for (std::size_t q = 0; q < pivots_.size(); ++q) {
    const Pivot& p = pivots_[q];
    Scalar sum(0);
    for (int r = p.row_start; r < p.row_end; ++r) sum += row_values_[r] * work_[row_parts_[r].position];
    b[p.column] = saved_[q] - inverse_[q] * sum;
  }
}

template class BasicStructuredLu<double>;
template class BasicStructuredLu<std::complex<double>>;

}  // namespace saltus
