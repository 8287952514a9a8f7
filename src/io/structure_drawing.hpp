// The structure of the equations of each mode as it is drawn: which equation contains which unknown, in block
// triangular form.
#pragma once

#include <saltus/hybrid/trajectory.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace saltus {

struct StructureDrawing {
  /// What stands at a place: bits of a cell.
  enum : std::uint8_t { derivative = 1, algebraic = 2, state = 4 };
  struct Cell {
    int row, column;
    std::uint8_t what;
  };
  std::vector<std::string> modes;  ///< that have this structure
  std::size_t modes_left_out = 0;  ///< beyond the first ones
  bool explicit_ode = false, linear = false;
  int equations = 0, variables = 0, index = 0, degrees_of_freedom = 0, blocks = 0;
  std::string singular;                ///< why the equations do not determine the variables; empty: they do
  double reciprocal_condition = -1.0;  ///< of the system Jacobian where the mode began; negative: not known
  /// Rows and columns in block triangular order. Models above `largest_with_names` have no names, and a cell stands for
  /// several entries.
  std::vector<std::string> row_names, column_names;
  std::vector<char> differentiated;  ///< of each column: the unknown is the derivative
  std::vector<int> block_start;      ///< first row and column of each block, and one past the last; empty without names
  int grid = 0;                      ///< rows and columns that are drawn
  std::vector<Cell> cells;

  static constexpr int largest_with_names = 120;
};

/// One drawing for each structure that differs, in the order of the run; at most `most`. `words` shortens the name of a
/// mode.
std::vector<StructureDrawing> structure_drawings(const Trajectory& run, HybridSystem& system,
                                                 const std::function<std::string(const std::string&)>& words,
                                                 std::size_t most = 6);

}  // namespace saltus
