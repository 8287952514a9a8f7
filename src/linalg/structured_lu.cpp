// With the pivots first, A = [D B; C E], D diagonal: S = E - C D^{-1} B is what remains to be factorised.
#include <saltus/base/error.hpp>
#include <saltus/linalg/structured_lu.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "linalg/band_order.hpp"
#include "base/finite.hpp"
#include "linalg/gmres.hpp"
#include "linalg/no_solution.hpp"
#include "linalg/pivot_size.hpp"
#include "linalg/supernodal_lu.hpp"

namespace saltus {
namespace {

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
double sparse_factor_cost(double n, double operations) { return 48.0 * n + 0.4 * operations; }
double sparse_solve_cost(double entries) { return 2.25 * entries; }
/// Factors up to this size stay in the caches from one solution to the next.
constexpr double entries_in_cache = 2e5;
double sparse_cost(double n, double entries, double operations) {
  return sparse_factor_cost(n, operations) + 4.0 * sparse_solve_cost(entries);
}
double iteration_cost(double n, double entries) { return 15.0 * n + 3.0 * entries; }

/// From so many operations on the factors of KLU do not stay in the caches, and SuperLU is faster.
constexpr double many_operations = 5e9;
/// What it then takes, over the time of KLU.
constexpr double supernodal_part = 0.5;
/// What GMRES takes as a rule, and what a factorisation must cost before it is thought of, in nanoseconds.
constexpr double usual_iterations = 15.0;
constexpr double expensive = 1e8;
constexpr int most_iteration_failures = 2;

}  // namespace

std::string_view to_string(MatrixKind kind) {
  switch (kind) {
    case MatrixKind::dense: return "dense";
    case MatrixKind::banded: return "banded";
    case MatrixKind::sparse: return "sparse";
    case MatrixKind::supernodal: return "supernodal";
    case MatrixKind::iterative: return "iterative";
  }
  return "unknown";
}

template <class Scalar>
BasicStructuredLu<Scalar>::BasicStructuredLu() = default;
template <class Scalar>
BasicStructuredLu<Scalar>::~BasicStructuredLu() = default;
template <class Scalar>
BasicStructuredLu<Scalar>::BasicStructuredLu(BasicStructuredLu&&) noexcept = default;
template <class Scalar>
BasicStructuredLu<Scalar>& BasicStructuredLu<Scalar>::operator=(BasicStructuredLu&&) noexcept = default;

template <class Scalar>
void BasicStructuredLu<Scalar>::set_pattern(SparsePattern pattern, std::vector<char> simple) {
  if (pattern.rows != pattern.columns) throw UsageError("StructuredLu: the matrix must be square");
  if (!simple.empty() && static_cast<int>(simple.size()) != pattern.rows)
    throw UsageError("StructuredLu: one mark per row is needed");
  pattern_ = std::move(pattern);
  simple_ = std::move(simple);
  analysed_ = iterating_ = regular_ = false;
  failures_ = iteration_failures_ = 0;
  systems_ = iterations_ = 0;
  for (auto* list : {&pivot_row_, &pivot_column_, &pivot_value_}) list->clear();
  kind_ = MatrixKind::dense;
}

template <class Scalar>
std::string BasicStructuredLu<Scalar>::description() const {
  std::string text(to_string(kind_));
  if (kind_ == MatrixKind::banded)
    text += " (" + std::to_string(banded_.lower()) + " + " + std::to_string(banded_.upper()) + ")";
  const std::string fill = std::to_string(std::lround(fill_per_unknown_)) + " entries per unknown";
  if (kind_ == MatrixKind::sparse || kind_ == MatrixKind::supernodal) {
    text += " (" + fill;
    if (iteration_failures_ > 0) text += "; GMRES failed " + std::to_string(iteration_failures_) + " times";
    text += ")";
  }
  if (kind_ == MatrixKind::iterative) {
    text += " (GMRES, ";
    if (systems_ > 0) text += std::to_string(iterations_ / systems_) + " iterations; ";
    text += "factors would have " + fill + ")";
  }
  if (eliminated() > 0)
    text += ", " + std::to_string(eliminated()) + " of " + std::to_string(pattern_.columns) + " eliminated";
  return text;
}

template <class Scalar>
void BasicStructuredLu<Scalar>::Rows::set_shape(std::span<const int> counts) {
  const auto rows = static_cast<std::int64_t>(counts.size());
  const std::int64_t entries = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const int longest = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  width = 2 * longest * rows <= 3 * entries ? longest : -1;
  start.clear();
  if (width < 0) {
    start.reserve(counts.size() + 1);
    start.push_back(0);
    for (const int count : counts) start.push_back(start.back() + count);
  }
  const auto places = static_cast<std::size_t>(width < 0 ? entries : width * rows);
  index.assign(places, 0);
  value.assign(places, Scalar(0));
}

template <class Scalar>
template <class Base, class Out>
void BasicStructuredLu<Scalar>::Rows::subtract(std::size_t rows, const Scalar* x, Base base, Out out) const {
  const int* const from = index.data();
  const Scalar* const v = value.data();
  if (width == 1) {
    for (std::size_t i = 0; i < rows; ++i) out(i, base(i) - v[i] * x[from[i]]);
  } else if (width == 2) {
    for (std::size_t i = 0; i < rows; ++i)
      out(i, base(i) - (v[2 * i] * x[from[2 * i]] + v[2 * i + 1] * x[from[2 * i + 1]]));
  } else {
    for (std::size_t i = 0; i < rows; ++i) {
      Scalar sum = base(i);
      for (std::size_t k = place(i, 0), end = place(i + 1, 0); k < end; ++k) sum -= v[k] * x[from[k]];
      out(i, sum);
    }
  }
}

/// Pivots in order of the entries that they may bring; each bars the rows and columns that it touches.
template <class Scalar>
auto BasicStructuredLu<Scalar>::choose_pivots(std::span<const Scalar> values) const -> std::vector<Pivot> {
  std::vector<Pivot> pivots;
  const auto n = static_cast<std::size_t>(pattern_.columns);
  if (simple_.empty() || pattern_.columns < smallest_structured || failures_ > most_failures) return pivots;
  std::vector<int> row_start(n + 1, 0);
  std::vector<double> row_size(n, 0.0);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const int i = pattern_.row[k];
    ++row_start[i + 1];
    row_size[i] = std::max(row_size[i], size_of(values[k]));
  }
  std::partial_sum(row_start.begin(), row_start.end(), row_start.begin());
  struct Candidate {
    int cost;
    Pivot pivot;
  };
  std::vector<Candidate> candidates;
  for (int j = 0; j < pattern_.columns; ++j) {
    const int others_below = pattern_.start[j + 1] - pattern_.start[j] - 1;
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) {
      const int i = pattern_.row[k];
      if (!simple_[i] || !(size_of(values[k]) >= dominant * row_size[i]) || !(row_size[i] > 0.0)) continue;
      const int others = row_start[i + 1] - row_start[i] - 1;
      if (static_cast<double>(others) * others_below > others + others_below + 1) continue;
      candidates.push_back({others * others_below, {i, j, k}});
    }
  }
  row_size = {};
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  std::vector<int> columns(values.size()), next(row_start.begin(), row_start.end() - 1);  // by rows
  for (int j = 0; j < pattern_.columns; ++j)
    for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) columns[next[pattern_.row[k]]++] = j;
  std::vector<char> row_barred(n, 0), column_barred(n, 0);
  for (const auto& [cost, p] : candidates) {
    if (row_barred[p.row] || column_barred[p.column]) continue;
    for (int q = row_start[p.row]; q < row_start[p.row + 1]; ++q) column_barred[columns[q]] = 1;
    for (int k = pattern_.start[p.column]; k < pattern_.start[p.column + 1]; ++k) row_barred[pattern_.row[k]] = 1;
    pivots.push_back(p);
  }
  // in the order of the columns, in which memory is passed through best
  std::sort(pivots.begin(), pivots.end(), [](const Pivot& a, const Pivot& b) { return a.column < b.column; });
  return pivots;
}

/// The places of the other entries in the rows of the pivots.
template <class Scalar>
void BasicStructuredLu<Scalar>::collect_parts(const std::vector<Pivot>& pivots) {
  for (auto* list : {&pivot_row_, &pivot_column_, &pivot_value_}) {
    list->clear();
    list->reserve(pivots.size());
  }
  std::vector<int> pivot_of_row(static_cast<std::size_t>(pattern_.rows), -1);
  row_start_.assign(pivots.size() + 1, 0);
  for (const Pivot& p : pivots) {
    pivot_of_row[p.row] = static_cast<int>(pivot_row_.size());
    pivot_row_.push_back(p.row);
    pivot_column_.push_back(p.column);
    pivot_value_.push_back(p.value);
  }
  const auto for_each_in_row = [&](auto visit) {
    for (int k = 0; k < pattern_.nonzeros(); ++k)
      if (const int q = pivot_of_row[pattern_.row[k]]; q >= 0 && k != pivot_value_[q]) visit(q, k);
  };
  for_each_in_row([&](int q, int) { ++row_start_[q + 1]; });
  std::partial_sum(row_start_.begin(), row_start_.end(), row_start_.begin());
  row_value_.resize(static_cast<std::size_t>(row_start_.back()));
  std::vector<int> next(row_start_.begin(), row_start_.end() - 1);
  for_each_in_row([&](int q, int k) { row_value_[next[q]++] = k; });
}

template <class Scalar>
void BasicStructuredLu<Scalar>::analyse(std::span<const Scalar> values) {
  collect_parts(choose_pivots(values));
  const auto n = static_cast<std::size_t>(pattern_.columns);
  const std::size_t pivots = pivot_row_.size();
  std::vector<int> row_place(n, 0), col_place(n, 0);  // in the remaining system, or -1
  for (const int i : pivot_row_) row_place[i] = -1;
  for (const int j : pivot_column_) col_place[j] = -1;
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
  std::vector<int> row_columns(row_value_.size());  // of the entries in row_value_
  target_.assign(values.size(), -1);
  {
    std::vector<int> column_of(values.size());
    for (int j = 0; j < pattern_.columns; ++j)
      for (int k = pattern_.start[j]; k < pattern_.start[j + 1]; ++k) {
        column_of[k] = j;
        if (col_place[j] < 0 || row_place[pattern_.row[k]] < 0) continue;
        target_[k] = static_cast<int>(places.size());
        places.emplace_back(row_place[pattern_.row[k]], col_place[j]);
      }
    for (std::size_t r = 0; r < row_value_.size(); ++r) row_columns[r] = column_of[row_value_[r]];
  }
  const std::size_t kept = places.size();
  for (std::size_t q = 0; q < pivots; ++q)
    for_each_in_column(q, [&](int k) {
      for (int r = row_start_[q]; r < row_start_[q + 1]; ++r)
        places.emplace_back(row_place[pattern_.row[k]], col_place[row_columns[r]]);
    });
  std::vector<int> position;
  SparsePattern rest = make_pattern(rest_, rest_, places, &position);
  const BandOrder order = choose_kind(rest);
  if (kind_ == MatrixKind::banded) {
    for (auto& [i, j] : places) i = order.row[i], j = order.column[j];
    for (int& i : row_place)
      if (i >= 0) i = order.row[i];
    for (int& j : col_place)
      if (j >= 0) j = order.column[j];
  }
  const bool compressed = kind_ != MatrixKind::banded && kind_ != MatrixKind::dense;
  if (compressed)
    rest_values_.assign(rest.row.size(), Scalar(0));
  else if (kind_ == MatrixKind::dense)
    rest_values_.assign(static_cast<std::size_t>(rest_) * static_cast<std::size_t>(rest_), Scalar(0));
  else
    rest_values_ = {};
  const auto place = [&](std::size_t k) {
    const auto [i, j] = places[k];
    if (compressed) return position[k];
    if (kind_ == MatrixKind::dense) return j * rest_ + i;
    return static_cast<int>(banded_.place(i, j));
  };
  for (int& t : target_)
    if (t >= 0) t = place(static_cast<std::size_t>(t));
  fill_.resize(places.size() - kept);
  for (std::size_t k = kept; k < places.size(); ++k) fill_[k - kept] = place(k);

  std::vector<int> counts(pivots);
  for (std::size_t q = 0; q < pivots; ++q) counts[q] = row_start_[q + 1] - row_start_[q];
  row_parts_.set_shape(counts);
  for (std::size_t q = 0; q < pivots; ++q)
    for (int r = row_start_[q]; r < row_start_[q + 1]; ++r)
      row_parts_.index[row_parts_.place(q, r - row_start_[q])] = col_place[row_columns[r]];
  counts.assign(static_cast<std::size_t>(rest_), 0);
  for (std::size_t q = 0; q < pivots; ++q) for_each_in_column(q, [&](int k) { ++counts[row_place[pattern_.row[k]]]; });
  column_parts_.set_shape(counts);
  column_slot_.clear();
  column_slot_.reserve(static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0)));
  std::fill(counts.begin(), counts.end(), 0);
  for (std::size_t q = 0; q < pivots; ++q)
    for_each_in_column(q, [&](int k) {
      const int row = row_place[pattern_.row[k]];
      const std::size_t slot = column_parts_.place(static_cast<std::size_t>(row), counts[row]++);
      column_slot_.push_back(static_cast<int>(slot));
      column_parts_.index[slot] = static_cast<int>(q);
    });
  inverse_.assign(pivots, Scalar(0));
  const auto as_given = [](const std::vector<int>& positions) {
    for (std::size_t k = 0; k < positions.size(); ++k)
      if (positions[k] != static_cast<int>(k)) return false;
    return true;
  };
  direct_ = pivots == 0 && as_given(row_place) && as_given(col_place);
  rest_row_.resize(direct_ ? 0 : static_cast<std::size_t>(rest_));
  rest_col_.resize(rest_row_.size());
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
  iterating_ = false;
  fill_per_unknown_ = factor_cost_ = solve_cost_ = 0.0;
  supernodal_.reset();
  gmres_.reset();
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
  const bool possible = sparse_.analyse(rest);
  if (possible && (sparse_cost(n, sparse_.expected_entries(), sparse_.expected_operations()) < best || worth_iterating(rest, best)))
    choose_sparse(rest);
  else
    sparse_ = {};
  if (kind_ != MatrixKind::banded) return {};
  banded_.set_shape(rest_, order.lower, order.upper);
  return order;
}

/// Whether GMRES is cheaper than factors that cost so much, with four solutions.
template <class Scalar>
bool BasicStructuredLu<Scalar>::worth_iterating(const SparsePattern& rest, double cost) {
  if (solutions_ == 0 || iteration_failures_ >= most_iteration_failures) return false;
  const double solution = sparse_solve_cost(sparse_.expected_entries());
  const double directly = cost + (solutions_ - 4) * solution, iteration = iteration_cost(rest_, rest.nonzeros());
  // with more iterations factors would have been cheaper
  most_iterations_ = static_cast<int>(std::clamp(2.0 * directly / solutions_ / iteration, 30.0, 300.0));
  return directly >= expensive && directly >= 1.25 * solutions_ * usual_iterations * iteration;
}

/// KLU, SuperLU or GMRES, by what KLU's ordering predicts.
template <class Scalar>
void BasicStructuredLu<Scalar>::choose_sparse(const SparsePattern& rest) {
  const double n = rest_, entries = sparse_.expected_entries(), operations = sparse_.expected_operations();
  fill_per_unknown_ = entries / n;
  factor_cost_ = sparse_factor_cost(n, operations);
  solve_cost_ = entries <= entries_in_cache ? 0.4 * sparse_solve_cost(entries) : sparse_solve_cost(entries);
  kind_ = MatrixKind::sparse;
  if (operations >= many_operations && BasicSupernodalLu<Scalar>::available()) {
    kind_ = MatrixKind::supernodal;
    factor_cost_ *= supernodal_part;
    supernodal_ = std::make_unique<BasicSupernodalLu<Scalar>>();
    supernodal_->set_pattern(rest);
  }
  if (!worth_iterating(rest, sparse_cost(n, entries, operations))) return;
  gmres_ = std::make_unique<BasicGmres<Scalar>>();
  rest_pattern_ = rest;
}

/// Fills the remaining matrix; false if a pivot has become too small.
template <class Scalar>
bool BasicStructuredLu<Scalar>::eliminate(std::span<const Scalar> values) {
  if (kind_ == MatrixKind::banded) banded_.clear();
  const std::span<Scalar> rest = kind_ == MatrixKind::banded ? banded_.values() : std::span<Scalar>(rest_values_);
  if (kind_ != MatrixKind::banded) std::fill(rest.begin(), rest.end(), Scalar(0));
  for (std::size_t k = 0; k < values.size(); ++k)
    if (target_[k] >= 0) rest[target_[k]] = values[k];
  const int *fill = fill_.data(), *slot = column_slot_.data();
  for (std::size_t q = 0; q < pivot_row_.size(); ++q) {
    const Scalar pivot = values[pivot_value_[q]];
    const int row_begin = row_start_[q], row_end = row_start_[q + 1];
    double largest = 0.0;
    for (int r = row_begin; r < row_end; ++r) largest = std::max(largest, size_of(values[row_value_[r]]));
    if (!(size_of(pivot) > 0.1 * dominant * largest)) return false;
    const Scalar inverse = inverse_[q] = 1.0 / pivot;
    Scalar* const row = row_parts_.value.data() + row_parts_.place(q, 0);  // divided by the pivot
    for (int r = row_begin; r < row_end; ++r) row[r - row_begin] = inverse * values[row_value_[r]];
    for_each_in_column(q, [&](int k) {
      const Scalar factor = column_parts_.value[*slot++] = values[k];
      for (int r = row_begin; r < row_end; ++r) rest[*fill++] -= factor * row[r - row_begin];
    });
  }
  return true;
}

template <class Scalar>
bool BasicStructuredLu<Scalar>::factorise(std::span<const Scalar> values) {
  assert(static_cast<int>(values.size()) == pattern_.nonzeros());
  return regular_ = factorise_all(values);
}

template <class Scalar>
bool BasicStructuredLu<Scalar>::factorise_all(std::span<const Scalar> values) {
  if (!all_finite(values)) return false;
  if (!analysed_) analyse(values);
  if (!eliminate(values)) {
    ++failures_;
    analyse(values);
    if (!eliminate(values)) return false;
  }
  return factorise_rest();
}

template <class Scalar>
bool BasicStructuredLu<Scalar>::factorise_rest() {
  if (kind_ == MatrixKind::banded) return banded_.factorise();
  if (kind_ == MatrixKind::dense) return dense_.factorise(rest_, rest_values_);
  iterating_ = false;
  if (gmres_) {
    const bool ordered = rest_pattern_.columns == 0 || gmres_->set_pattern(rest_pattern_, rest_values_);
    rest_pattern_ = {};
    iterating_ = ordered && gmres_->factorise(rest_values_);
    if (iterating_) {
      kind_ = MatrixKind::iterative;
      return true;
    }
    give_up_iteration();
  }
  return factorise_sparse();
}

/// One more failure of GMRES: this matrix is factorised.
template <class Scalar>
void BasicStructuredLu<Scalar>::give_up_iteration() {
  iterating_ = false;
  if (++iteration_failures_ >= most_iteration_failures) gmres_.reset();
}

template <class Scalar>
bool BasicStructuredLu<Scalar>::factorise_sparse() {
  kind_ = supernodal_ ? MatrixKind::supernodal : MatrixKind::sparse;
  return supernodal_ ? supernodal_->factorise(rest_values_) : sparse_.factorise(rest_values_);
}

template <class Scalar>
void BasicStructuredLu<Scalar>::set_accuracy(std::span<const double> weights, double tolerance) {
  tolerance_ = tolerance;
  rest_weights_.resize(static_cast<std::size_t>(rest_));
  for (std::size_t j = 0; j < rest_weights_.size(); ++j)
    rest_weights_[j] = weights[direct_ ? j : static_cast<std::size_t>(rest_col_[j])];
}

template <class Scalar>
void BasicStructuredLu<Scalar>::solve_rest(std::span<Scalar> b) {
  if (kind_ == MatrixKind::banded) return banded_.solve(b);
  if (kind_ == MatrixKind::dense) return dense_.solve(b);
  if (iterating_) {
    assert(static_cast<int>(rest_weights_.size()) == rest_);
    const bool converged = gmres_->solve(b, rest_weights_, tolerance_, most_iterations_);
    ++systems_;
    iterations_ += gmres_->iterations();
    if (converged) return;
    give_up_iteration();
    regular_ = factorise_sparse();
    if (!regular_) return no_solution(b);
  }
  supernodal_ ? supernodal_->solve(b) : sparse_.solve(b);
}

template <class Scalar>
void BasicStructuredLu<Scalar>::solve(std::span<Scalar> b, std::span<Scalar> workspace) {
  if (!regular_) return no_solution(b);
  if (direct_) return solve_rest(b);
  if (workspace.size() < b.size()) {
    workspace_.resize(b.size());
    workspace = workspace_;
  }
  const std::span<Scalar> work = workspace.first(rest_row_.size()), saved = workspace.subspan(work.size(), pivot_row_.size());
  for (std::size_t q = 0; q < saved.size(); ++q) saved[q] = b[pivot_row_[q]] * inverse_[q];
  column_parts_.subtract(
      work.size(), saved.data(), [&](std::size_t i) { return b[rest_row_[i]]; },
      [&](std::size_t i, const Scalar& value) { work[i] = value; });
  solve_rest(work);
  for (std::size_t j = 0; j < work.size(); ++j) b[rest_col_[j]] = work[j];
  row_parts_.subtract(
      saved.size(), work.data(), [&](std::size_t q) { return saved[q]; },
      [&](std::size_t q, const Scalar& value) { b[pivot_column_[q]] = value; });
}

template class BasicStructuredLu<double>;
template class BasicStructuredLu<std::complex<double>>;

}  // namespace saltus
