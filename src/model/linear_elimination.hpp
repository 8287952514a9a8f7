// Removes algebraic variables that linear equations determine together: v + w = u, w = R*i.
#pragma once

#include <saltus/model/model.hpp>

#include <cstddef>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/elimination.hpp"

namespace saltus {

/// An equation and the variable for which it is solved.
struct LinearDefinition {
  int variable;
  std::size_t equation;
  Expr solution;
  std::vector<int> reads;  ///< candidates that occur in it; none of them is solved for by means of this variable
};

/// Equations, 0 = residual, as sums of multiples of variables with factors of parameters, and a rest. They are solved
/// one after the other for variables that get few others into few equations; what is left has variables that occur in
/// other ways, or belongs to large systems of equations.
class LinearElimination {
 public:
  /// `candidates`: by variable, whether it may be eliminated. `residuals` are those of these equations.
  LinearElimination(const ModelData& model, std::vector<char> candidates, std::span<const Expr> residuals,
                    const std::unordered_map<NodeId, double>& parameter_values);

  /// In the order in which they were found. Empty also if some equations contradict or repeat each other.
  std::vector<LinearDefinition> run();
  /// What was asked of factors of parameters.
  const std::vector<Elimination::Decision>& decisions() const { return decisions_; }

  /// A factor of parameters with its present value.
  struct Factor {
    Expr expr;
    double value = 0.0;
    Expr squares = 0.0;  ///< sum of the squares of what it is a sum of; 0: of nothing
    double squares_value = 0.0;
  };

 private:
  struct Row {
    std::unordered_map<int, Factor> terms;
    std::vector<int> others;  ///< candidates that occur in other ways, increasing
    std::vector<int> solved;  ///< those that did when an equation was solved for them, increasing
    Expr rest = 0.0;
    bool active = true;
    bool derivatives = false;
  };

  void classify(std::span<const Expr> residuals);
  void split(const Expr& residual, Row& row);
  void add_term(Row& row, int variable, const Factor& factor);
  Factor of_parameters(NodeId id);
  /// Whether one can divide by it: it is not zero, nor the rounding error of a sum.
  bool is_usable(const Factor& factor);
  /// Whether it is not much smaller than another one.
  bool has_share_of(const Factor& factor, const Factor& other);
  bool may_solve(const Row& row, int variable);
  /// The variable for which a row is solved best; -1: none.
  int choose(const Row& row);
  /// False: a row says nothing any more.
  bool solve(std::size_t row, int variable);
  void wait(std::size_t row);
  void remove(int variable);
  bool is_among_others(std::size_t variable) const;
  static void join(std::vector<int>& list, const std::vector<int>& more);

  const ModelData& model_;
  std::vector<char> candidates_;
  const std::unordered_map<NodeId, double>& parameter_values_;
  std::unordered_map<NodeId, int> index_;                     // of candidates
  std::vector<char> has_candidate_, has_derivative_, fixed_;  // by node
  std::unordered_map<NodeId, Factor> factors_;
  std::vector<Row> rows_;
  std::vector<std::vector<int>> rows_of_, other_rows_of_;  // by variable; some may have lost it
  std::vector<int> count_;                                 // by variable: rows that have it
  std::vector<std::vector<int>> waiting_;                  // rows by number of terms, as it was
  std::vector<int> alone_;                                 // variables that had one row left
  std::unordered_set<NodeId> looked_at_;
  std::set<std::pair<NodeId, NodeId>> compared_;
  std::vector<LinearDefinition> found_;
  std::vector<Elimination::Decision> decisions_;
};

}  // namespace saltus
