#include <fmt/format.h>
#include <saltus/base/error.hpp>
#include <saltus/study/density.hpp>

#include <algorithm>
#include <cmath>

namespace saltus {

std::int64_t Density::Cells::cell(double value) const {
  return static_cast<std::int64_t>(std::floor(std::ldexp(value, -level)));
}

bool Density::Cells::take(double value) {
  if (!empty && value >= low && value <= high) return false;
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  // numbers of cells are whole numbers of at most 52 bits
  constexpr int bits = 51, lowest = -1000;
  const double size = std::max(std::abs(low), std::abs(high));
  const int before = level, needed = size > 0.0 ? std::max(std::ilogb(size) - bits, lowest) : lowest;
  level = empty ? needed : std::max(level, needed);
  empty = false;
  while (cell(high) - cell(low) >= most) ++level;
  if (level == before && cell(low) >= first && cell(high) < first + most) return false;
  first = cell(low) - (most - 1 - (cell(high) - cell(low))) / 2;  // room on both sides, so that cells move seldom
  return true;
}

DensityAxis Density::Cells::axis() const {
  if (empty) return {};
  return {std::ldexp(static_cast<double>(cell(low)), level), std::ldexp(1.0, level), cell(high) - cell(low) + 1};
}

Density::Density(std::int64_t columns, std::int64_t rows) {
  if (columns < 1 || rows < 1 || columns > 100'000 || rows > 100'000 || columns * rows > 100'000'000)
    throw UsageError(fmt::format(
        "a raster of {}x{} cells; take 1 to 100000 in each direction and 10^8 at most, for example 2000x1000", columns,
        rows));
  x_.most = columns;
  y_.most = rows;
  counts_.resize(static_cast<std::size_t>(columns * rows), 0);
}

void Density::count_cell(std::int64_t column, std::int64_t row, std::int64_t points) {
  counts_[static_cast<std::size_t>((row - y_.first) * x_.most + (column - x_.first))] += points;
}

void Density::move_cells(const Cells& old_x, const Cells& old_y) {
  if (points_ == 0) return;
  std::vector<std::int64_t> before(counts_.size(), 0);
  before.swap(counts_);
  const int dx = x_.level - old_x.level, dy = y_.level - old_y.level;
  for (std::int64_t row = 0; row < old_y.most; ++row)
    for (std::int64_t column = 0; column < old_x.most; ++column)
      if (const std::int64_t n = before[static_cast<std::size_t>(row * old_x.most + column)]; n > 0)
        count_cell((old_x.first + column) >> std::min(dx, 63), (old_y.first + row) >> std::min(dy, 63), n);
}

void Density::add(double x, double y) {
  if (!std::isfinite(x) || !std::isfinite(y)) return;
  const Cells old_x = x_, old_y = y_;
  const bool wider = x_.take(x), higher = y_.take(y);
  if (wider || higher) move_cells(old_x, old_y);
  count_cell(x_.cell(x), y_.cell(y), 1);
  ++points_;
}

void Density::add(const Density& other) {
  if (other.points_ == 0) return;
  const Cells old_x = x_, old_y = y_;
  bool moved = false;
  for (const double x : {other.x_.low, other.x_.high}) moved = x_.take(x) || moved;
  for (const double y : {other.y_.low, other.y_.high}) moved = y_.take(y) || moved;
  if (moved) move_cells(old_x, old_y);
  const int dx = x_.level - other.x_.level, dy = y_.level - other.y_.level;
  for (std::int64_t row = 0; row < other.y_.most; ++row)
    for (std::int64_t column = 0; column < other.x_.most; ++column)
      if (const std::int64_t n = other.counts_[static_cast<std::size_t>(row * other.x_.most + column)]; n > 0)
        count_cell((other.x_.first + column) >> std::min(dx, 63), (other.y_.first + row) >> std::min(dy, 63), n);
  points_ += other.points_;
}

std::int64_t Density::count(std::int64_t column, std::int64_t row) const {
  const std::int64_t i = x_.cell(x_.low) - x_.first + column, j = y_.cell(y_.low) - y_.first + row;
  return counts_[static_cast<std::size_t>(j * x_.most + i)];
}

std::vector<std::int64_t> Density::counts() const {
  std::vector<std::int64_t> all;
  const std::int64_t columns = x().count, rows = y().count;
  all.reserve(static_cast<std::size_t>(columns * rows));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) all.push_back(count(column, row));
  return all;
}

void Density::restore(const Range& range, const std::vector<std::int64_t>& counts) {
  Density fresh(x_.most, y_.most);
  if (!counts.empty()) {
    for (const double x : {range.x_low, range.x_high}) fresh.x_.take(x);
    for (const double y : {range.y_low, range.y_high}) fresh.y_.take(y);
  }
  const std::int64_t columns = fresh.x().count, rows = fresh.y().count;
  if (static_cast<std::int64_t>(counts.size()) != columns * rows)
    throw UsageError(fmt::format("a raster of {}x{} cells cannot have {} counts", columns, rows, counts.size()));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t n = counts[static_cast<std::size_t>(row * columns + column)];
      if (n < 0) throw UsageError("a raster cannot have negative counts");
      fresh.count_cell(fresh.x_.cell(fresh.x_.low) + column, fresh.y_.cell(fresh.y_.low) + row, n);
      fresh.points_ += n;
    }
  *this = std::move(fresh);
}

}  // namespace saltus
