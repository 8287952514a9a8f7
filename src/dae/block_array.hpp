// The derivative array of a large system, block by block of its block triangular form: what the equations of one block
// say about its variables, those of earlier blocks being given.
#pragma once

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/linalg/decomposition.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dae/array_scaling.hpp"
#include "dae/sub_system.hpp"

namespace saltus {

/// Blocks up to this size are treated densely.
inline constexpr int largest_dense_block = 100;

class BlockArray {
 public:
  /// A place where a block contains a variable of an earlier one.
  struct Coupling {
    int row, variable;  // own number of the equation, the system's of the variable
    int place;          // among the entries of F_x, or of F_x'
    bool derivative;
  };
  struct Block {
    std::vector<int> equations, variables;
    Structure structure;
    std::vector<int> state_place, derivative_place;  // of its entries among those of the system
    std::vector<Coupling> couplings;
    std::vector<int> inputs;           // the variables in them, each once, in ascending order
    std::unique_ptr<SubSystem> large;  // only if it is too large for dense decompositions
    StructuralAnalysis offsets;        // of a large block
  };

  /// Keeps references. The structure must not be singular. Blocks with more variables than `largest_dense` need a
  /// certificate.
  BlockArray(System& system, const StructuralAnalysis& structure, int largest_dense);

  const std::vector<Block>& blocks() const { return blocks_; }

  /// Finds X, (level+2) n values, near the given ones with F_[0] … F_[level] = 0: Gauss-Newton with minimum-norm
  /// corrections block after block. `fixed`: components of x_[0] that must not move; empty: none. False if it fails.
  bool project(double t, int level, std::span<double> X, const std::vector<char>& fixed = {});
  int iterations() const { return iterations_; }

  /// Evaluates everything at X and some ulp beside it, for the functions below.
  void evaluate(double t, int level, std::span<const double> X);
  bool finite() const { return finite_; }
  ArrayScaling scaling(const Block& block, const ScalingRule& rule) const;
  /// The scaled array of a block at X, or beside it.
  Matrix jacobian(const Block& block, const ArrayScaling& scaling, bool beside) const;

  /// Derivatives of the block's rows with respect to x_[q] of input k, in column q * inputs + k, rows scaled, columns
  /// such that the largest entry of each input is 1.
  Matrix input_jacobian(const Block& block, const ArrayScaling& scaling) const;

  /// The certificate of a large block at X.
  StructuralCertificate certificate(const Block& block, double t, std::span<const double> X);

 private:
  struct Values {
    std::vector<double> F, Fx, Fxp, forces;
  };
  struct Step;  // what the Newton iteration keeps of a block
  void evaluate_at(double t, std::span<const double> X, Values& values);
  Matrix assemble(const Block& block, const Values& values) const;
  PointEntries entries(const Block& block, const Values& values) const;
  bool solve_large(Block& block, double t, std::span<double> X, const std::vector<char>& fixed);
  bool iterate(std::size_t first, std::size_t last, double t, std::span<double> X, const std::vector<char>& fixed,
               bool hold_state, int limit);
  bool iterate_with(const ScalingRule& rule, std::size_t first, std::size_t last, double t, std::span<double> X,
                    const std::vector<char>& fixed);
  bool within_rounding(std::size_t first, std::size_t last, std::span<const double> F) const;
  double solve_steps(std::size_t first, std::size_t last, std::span<const double> F, const std::vector<Step>& steps,
                     std::vector<double>& correction) const;

  System& system_;
  const Structure& s_;
  std::size_t n_;
  std::vector<double> preference_, nominal_;
  std::vector<Block> blocks_;
  std::vector<ArrayScaling> scalings_;  // of the iteration, by block
  int level_ = 0, iterations_ = 0;
  bool finite_ = false;
  Values at_, beside_;
  std::vector<double> X_;
};

}  // namespace saltus
