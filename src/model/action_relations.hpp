// Relations that nothing but the values of a clause reads: `y = if a > 0 then 1 else 0` inside of `when`.
#pragma once

#include <saltus/expr/expr.hpp>
#include <saltus/program/program.hpp>

#include <span>
#include <vector>

namespace saltus {

/// They make no events of their own: they are read when the clause acts. A relation whose function is zero within the
/// rounding errors of its inputs has the truth that it has at zero.
class ActionRelations {
 public:
  ActionRelations() = default;
  /// `inputs`: what the functions of the relations read; `uncertain`: by input, whether it has rounding errors.
  ActionRelations(const std::vector<Expr>& relations, const std::vector<Expr>& inputs,
                  const std::vector<char>& uncertain, const ProgramOptions& options);

  /// Their truths, and the integers of roundings, for these values of the inputs. `travel`: by input, how far it has
  /// come since the last event; where it passes zero it has the rounding errors of what it was on the way.
  const std::vector<double>& find(std::span<const double> inputs, std::span<const double> travel);
  bool empty() const { return kind_.empty(); }

 private:
  struct Slope {
    std::size_t relation, input;
  };
  std::vector<Op> kind_;
  bool nested_ = false;        // one stands in the function of another
  std::vector<Slope> slopes_;  // their values follow those of the functions
  Program program_;
  Workspace work_;
  std::vector<double> values_, noise_, truths_;
};

}  // namespace saltus
