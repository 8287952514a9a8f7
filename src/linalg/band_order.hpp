// Orders of rows and columns that gather the entries of a sparse matrix near the diagonal.
#pragma once

#include <saltus/linalg/sparse.hpp>

#include <vector>

namespace saltus {

struct BandOrder {
  std::vector<int> row;      ///< new position of each row
  std::vector<int> column;   ///< new position of each column
  int lower = 0, upper = 0;  ///< diagonals below and above the main one that hold entries
};

/// The reverse Cuthill-McKee method (A. George, J. Liu, Computer Solution of Large Sparse Positive Definite Systems,
/// 1981, ch. 4) on the graph whose nodes are the rows and the columns and whose edges are the entries, so that it needs
/// neither symmetry nor a full diagonal; or the given order, if that is narrower.
BandOrder band_order(const SparsePattern& pattern);

}  // namespace saltus
