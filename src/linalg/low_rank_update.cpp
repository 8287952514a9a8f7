#include "linalg/low_rank_update.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace saltus {
namespace {

double product(const SparseVector& v, std::span<const double> x) {
  double sum = 0.0;
  for (std::size_t k = 0; k < v.place.size(); ++k) sum += v.value[k] * x[static_cast<std::size_t>(v.place[k])];
  return sum;
}

/// The numbers that occur, ascending.
std::vector<int> places_of(std::span<const ChangedEntry> entries, int ChangedEntry::*number) {
  std::vector<int> places;
  places.reserve(entries.size());
  for (const ChangedEntry& entry : entries) places.push_back(entry.*number);
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

std::size_t index_in(const std::vector<int>& places, int number) {
  return static_cast<std::size_t>(std::ranges::lower_bound(places, number) - places.begin());
}

/// Subtracts the term, with what rounding errors of its row, its column and the products make of the difference.
void eliminate(const RankOne& term, const std::vector<int>& rows, const std::vector<int>& columns, std::size_t pivot,
               std::vector<double>& rest, std::vector<double>& uncertainty) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const std::size_t row = pivot / columns.size() * columns.size(), column = pivot % columns.size();
  const double largest = std::abs(rest[pivot]), of_pivot = uncertainty[pivot];
  for (std::size_t i = 0; i < term.u.place.size(); ++i) {
    const std::size_t begin = index_in(rows, term.u.place[i]) * columns.size();
    if (begin == row) continue;
    const double u = term.u.value[i], of_column = uncertainty[begin + column] + std::abs(u) * of_pivot;
    for (std::size_t j = 0; j < term.v.place.size(); ++j) {
      const std::size_t other = index_in(columns, term.v.place[j]);
      const double v = term.v.value[j];
      rest[begin + other] -= u * v;
      uncertainty[begin + other] +=
          std::abs(u) * (uncertainty[row + other] + eps * std::abs(v)) + std::abs(v) / largest * of_column;
    }
    rest[begin + column] = 0.0;
  }
  for (std::size_t j = 0; j < columns.size(); ++j) rest[row + j] = 0.0;
}

}  // namespace

/// Gaussian elimination with complete pivoting on the rows and columns that occur: a pivot, its column and its row are
/// a term, and what remains has one rank less.
std::optional<std::vector<RankOne>> low_rank_terms(std::span<const ChangedEntry> entries, int most) {
  constexpr std::size_t most_places = 1 << 14;
  if (entries.size() > most_places) return std::nullopt;
  const std::vector<int> rows = places_of(entries, &ChangedEntry::row),
                         columns = places_of(entries, &ChangedEntry::column);
  if (rows.size() * columns.size() > most_places) return std::nullopt;
  std::vector<double> rest(rows.size() * columns.size(), 0.0), uncertainty(rest.size(), 0.0);  // by rows
  for (const ChangedEntry& entry : entries) {
    const std::size_t place = index_in(rows, entry.row) * columns.size() + index_in(columns, entry.column);
    rest[place] += entry.change;
    uncertainty[place] += entry.uncertainty;
  }
  std::vector<RankOne> terms;
  for (;;) {
    std::size_t pivot = rest.size();
    for (std::size_t k = 0; k < rest.size(); ++k)
      if (std::abs(rest[k]) > uncertainty[k] && (pivot == rest.size() || std::abs(rest[k]) > std::abs(rest[pivot])))
        pivot = k;
    if (pivot == rest.size()) return terms;
    if (static_cast<int>(terms.size()) == most) return std::nullopt;
    const std::size_t row = pivot / columns.size(), column = pivot % columns.size();
    RankOne term;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (const double value = rest[i * columns.size() + column]; value != 0.0) {
        term.u.place.push_back(rows[i]);
        term.u.value.push_back(value / rest[pivot]);
      }
    for (std::size_t j = 0; j < columns.size(); ++j)
      if (const double value = rest[row * columns.size() + j]; value != 0.0) {
        term.v.place.push_back(columns[j]);
        term.v.value.push_back(value);
      }
    eliminate(term, rows, columns, pivot, rest, uncertainty);
    terms.push_back(std::move(term));
  }
}

void LowRankUpdate::forget() {
  terms_.clear();
  solutions_.clear();
}

/// Where A^{-1} u stands. Solutions that have not been used for the longest time make room for others.
std::size_t LowRankUpdate::solution_for(int n, const SparseVector& u, const Solve& solve) {
  constexpr std::size_t most = 32;
  std::size_t place = static_cast<std::size_t>(std::ranges::find(solutions_, u, &Solution::u) - solutions_.begin());
  if (place == solutions_.size()) {
    if (solutions_.size() < std::max(most, terms_.size()))
      solutions_.emplace_back();
    else
      place = static_cast<std::size_t>(std::ranges::min_element(solutions_, {}, &Solution::used) - solutions_.begin());
    Solution& solution = solutions_[place];
    solution.u = u;
    solution.w.assign(static_cast<std::size_t>(n), 0.0);
    for (std::size_t k = 0; k < u.place.size(); ++k) solution.w[static_cast<std::size_t>(u.place[k])] = u.value[k];
    solve(solution.w);
  }
  solutions_[place].used = clock_;
  return place;
}

bool LowRankUpdate::set_terms(int n, std::vector<RankOne> terms, const Solve& solve) {
  terms_ = std::move(terms);
  ++clock_;
  column_.clear();
  for (const RankOne& term : terms_) column_.push_back(solution_for(n, term.u, solve));
  const std::size_t k = terms_.size();
  small_.assign(k * k, 0.0);
  for (std::size_t j = 0; j < k; ++j)
    for (std::size_t i = 0; i < k; ++i)
      small_[j * k + i] = product(terms_[i].v, solutions_[column_[j]].w) + (i == j ? 1.0 : 0.0);
  products_.resize(k);
  if (k == 0 || lu_.factorise(static_cast<int>(k), small_)) return true;
  terms_.clear();
  return false;
}

void LowRankUpdate::correct(std::span<double> b) {
  if (terms_.empty()) return;
  for (std::size_t i = 0; i < terms_.size(); ++i) products_[i] = product(terms_[i].v, b);
  lu_.solve(products_);
  constexpr std::size_t piece = 512;  // stays in the cache for all terms
  for (std::size_t first = 0; first < b.size(); first += piece) {
    const std::size_t end = std::min(first + piece, b.size());
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const double* const w = solutions_[column_[i]].w.data();
      const double factor = products_[i];
      for (std::size_t j = first; j < end; ++j) b[j] -= factor * w[j];
    }
  }
}

void LowRankUpdate::multiply_add(std::span<const double> x, std::span<double> y) const {
  for (const RankOne& term : terms_) {
    const double factor = product(term.v, x);
    for (std::size_t k = 0; k < term.u.place.size(); ++k)
      y[static_cast<std::size_t>(term.u.place[k])] += term.u.value[k] * factor;
  }
}

}  // namespace saltus
