// The assignment problem behind the Sigma-method, for signatures with the values 0 and 1.
#pragma once

#include <vector>

namespace saltus {

/// A signature by rows: row i has the columns column[start[i]] … and there the order sigma (0 or 1).
struct Signature {
  int rows = 0, columns = 0;
  std::vector<int> start = {0}, column;
  std::vector<signed char> order;
};

struct Assignment {
  std::vector<int> column_of_row, row_of_column;  ///< -1 where unmatched
  std::vector<int> row_potential, column_potential;
  int size = 0;
};

/// A matching of largest cardinality and, if it is perfect, of largest sum of sigma. The potentials u, v prove it:
/// sigma_ij <= 1 - u_i - v_j everywhere, with equality on the matching.
Assignment assign(const Signature& signature);

}  // namespace saltus
