// Which variables and derivatives of a system of higher index can be its states.
#pragma once

#include <saltus/dae/structural_analysis.hpp>

#include <span>
#include <utility>
#include <vector>

namespace saltus {

/// Equations that are differentiated k times or more determine as many derivatives of order d_j - k + 1; what they leave are states. Which
/// ones they determine best follows from the system Jacobian at a point: rows are eliminated one after the other, each by its largest
/// entry, in the columns that the stage before has left (S. E. Mattsson, G. Söderlind, SIAM J. Sci. Comput. 14 (1993) 677-692).
class StateChoice {
 public:
  /// `size`: typical sizes of the variables. Throws UsageError if the analysis is singular.
  StateChoice(const Structure& structure, const StructuralAnalysis& analysis, std::vector<double> size);

  /// By variable: how many of x_j, x_j', … are states, for the values of the system Jacobian (SystemJacobian). Empty if it is singular.
  std::vector<int> choose(std::span<const double> jacobian) { return eliminate(jacobian, nullptr) ? left_ : std::vector<int>(); }
  /// How well a choice still fits: the smallest of its pivots over the largest entry that could have been taken; 0 if it is singular.
  /// Nothing is allocated once some points have been seen.
  double quality(std::span<const double> jacobian, const std::vector<int>& states) { return eliminate(jacobian, &states) ? quality_ : 0.0; }

 private:
  struct Entry {
    int column;
    double value;
  };
  bool eliminate(std::span<const double> jacobian, const std::vector<int>* given);
  bool eliminate_stage(int stage, std::span<const double> jacobian, const std::vector<int>* given);
  void queue(int row);
  void subtract(int index, const std::vector<Entry>& pivot_row, double factor, int column);

  std::vector<int> equation_offset_, variable_offset_;
  SparsePattern pattern_;
  std::vector<double> size_;
  int deepest_ = 0;
  double quality_ = 1.0;
  std::vector<int> left_;                       // by variable: its derivatives that nothing has determined so far
  std::vector<std::vector<Entry>> rows_;        // of the present stage, sorted by columns
  std::vector<std::vector<int>> occurrences_;   // rows in which a column occurs, or did
  std::vector<std::pair<std::size_t, int>> waiting_;  // rows by their lengths, a heap with the shortest on top
  std::vector<char> done_;
  std::vector<Entry> merged_;
};

}  // namespace saltus
