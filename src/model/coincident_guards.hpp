// Switching functions with the same zeros: v > r*w and v/r > w, x > 0 and x^3 > 0, x*exp(y) > 0. Their surfaces are
// one.
#pragma once

#include <saltus/expr/expr.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace saltus {

/// A function that changes its sign where another one does.
struct Coincidence {
  int with = -1;  ///< the leader; -1: none, or it leads
  int sign = +1;  ///< -1: on the opposite sides

  bool operator==(const Coincidence&) const = default;
};

/// For each function of time, variables and discrete values the one that leads those with the same zeros: the first
/// that is affine, or the first. Only what can be proved counts: functions of which the one is a multiple of the other,
/// for these values of the parameters, when factors of one sign and increasing functions have been taken away. Others
/// may vanish together at some points (x and x*y), or at all points that a solution reaches (x and y, where y is 2*x);
/// that is found at the instants at which they do.
class CoincidentGuards {
 public:
  CoincidentGuards() = default;
  /// `values`: of the parameters.
  CoincidentGuards(const std::vector<Expr>& functions, const std::vector<Expr>& parameters,
                   std::span<const double> values);

  /// By function.
  const std::vector<Coincidence>& found() const { return found_; }
  /// Whether values of parameters decide.
  bool depends_on_parameters() const { return !deciding_.empty(); }
  /// Whether other values of the parameters give the same answer; `before` are values that do. From any thread.
  bool same_for(std::span<const double> before, std::span<const double> values) const;

 private:
  struct Functions;
  void find_deciding(const std::vector<Expr>& functions,
                     const std::unordered_map<NodeId, std::size_t>& place_of_parameter);
  std::vector<Coincidence> find(std::span<const double> values) const;

  std::vector<Coincidence> found_;
  std::shared_ptr<const Functions> functions_;  // null: there is nothing to compare
  std::vector<std::size_t> deciding_;           // parameters in functions that share what moves with others
};

}  // namespace saltus
