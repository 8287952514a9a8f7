// Density: how many points fall into each cell of a raster, for diagrams of more points than can be kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace saltus {

/// What is kept of a study instead of the numbers of its members (StudyOptions::reduce).
struct DensityPlan {
  std::string x, y;  ///< names of two results; what has one number for a member is repeated beside what has samples
  std::int64_t columns = 2000, rows = 1000;  ///< at most so many cells
};

/// One direction of a raster: cell k reaches from low + k*cell to low + (k + 1)*cell.
struct DensityAxis {
  double low = 0.0, cell = 1.0;
  std::int64_t count = 0;
};

/// A raster whose range grows with the points. The width of cells is a power of two, they begin at multiples of it, and
/// it is the smallest one with which all points fit into the raster. So the counts depend on the set of points alone,
/// not on their order.
class Density {
 public:
  /// Throws UsageError unless there are 1 to 100 000 columns and rows, and at most 10^8 cells.
  Density(std::int64_t columns, std::int64_t rows);

  /// Counts a point. Points that are not finite do not count.
  void add(double x, double y);
  /// Counts the points of another raster, which must have the same most columns and rows.
  void add(const Density& other);

  std::int64_t points() const { return points_; }
  /// The cells that are needed; none if there is no point.
  DensityAxis x() const { return x_.axis(); }
  DensityAxis y() const { return y_.axis(); }
  std::int64_t count(std::int64_t column, std::int64_t row) const;
  /// All counts, row by row: those of the lowest y first.
  std::vector<std::int64_t> counts() const;

  /// What determines the cells: the extreme coordinates. With the counts it is the whole raster.
  struct Range {
    double x_low = 0.0, x_high = 0.0, y_low = 0.0, y_high = 0.0;
  };
  Range range() const { return {x_.low, x_.high, y_.low, y_.high}; }
  /// Takes a raster back from its range and its counts. Throws UsageError if they do not fit together.
  void restore(const Range& range, const std::vector<std::int64_t>& counts);

 private:
  /// Cells in one direction. The cell of a value v is floor(v / 2^level).
  struct Cells {
    std::int64_t most = 1;
    double low = 0.0, high = 0.0;  // the extreme values
    bool empty = true;
    int level = 0;
    std::int64_t first = 0;  // the cell at which the storage begins

    std::int64_t cell(double value) const;
    /// Makes room for a value. True if cells have to be moved.
    bool take(double value);
    DensityAxis axis() const;
  };
  void move_cells(const Cells& old_x, const Cells& old_y);
  void count_cell(std::int64_t column, std::int64_t row, std::int64_t points);

  Cells x_, y_;
  std::int64_t points_ = 0;
  std::vector<std::int64_t> counts_;  // row by row, with room for all cells
};

}  // namespace saltus
