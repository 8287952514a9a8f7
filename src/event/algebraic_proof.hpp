// AlgebraicProof: whether guards that read algebraic variables stay on their sides along the solution, not only along
// the dense output of a step. A polynomial of an algebraic variable need not show a pulse that its equation has.
#pragma once

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/dae/system.hpp>
#include <saltus/event/event_locator.hpp>
#include <saltus/linalg/lu.hpp>
#include <saltus/step/dense_polynomial.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "event/step_enclosure.hpp"

namespace saltus {

class AlgebraicProof {
 public:
  enum class Outcome : std::uint8_t {
    proved,    ///< no guard leaves its side, or the dense output shows all that matters
    unproved,  ///< nothing is known
    missed     ///< a guard is certainly on the other side at missed_at()
  };

  /// For the steps of one mode from here on. `analysis`: of its structure; null or singular: of no use.
  void begin(System& system, const StructuralAnalysis* analysis);
  /// Whether a guard reads a variable whose derivative determines nothing.
  bool needed() const { return !read_.empty(); }
  /// Looks at a step of this mode from its beginning to `until`, along which no guard of `watch` leaves its side.
  /// `same`: how far a variable may be from its polynomial without a meaning, by variable.
  Outcome check(System& system, const DensePolynomial& step, double until, std::span<const GuardWatch> watch,
                std::span<const double> same);
  double missed_at() const { return missed_at_; }

 private:
  struct Read {
    int variable;
    bool slope;  // its derivative is the unknown
  };
  struct Entry {  // of the system Jacobian
    int row;      // within the block
    int column;   // within the block; < 0: -1 - variable, of an earlier one
    int place;    // in J_
  };
  struct Block {
    std::vector<int> equations, variables;
    std::vector<Entry> entries;
  };

  void find_blocks();
  /// A part of a step, how often it was halved, and how it is looked at.
  struct Part {
    double low, high;
    int depth;
  };
  /// How a part is looked at: the order of the expansion of what the equations leave, and about which polynomials.
  enum class Look : std::uint8_t { quick, fine, shifted };
  bool clear(const Part& part, Look look, std::span<const GuardWatch> watch, std::span<const double> same);
  /// Whether a guard is certainly beyond zero at a point.
  bool left_at(double place, std::span<const GuardWatch> watch);
  /// Encloses the distances of all unknowns from their polynomials on a part of the step. False: it is not known
  /// whether there are any.
  bool enclose_distances(double low, double high, Look look);
  /// Solves for the unknowns in the middle of a part, without a proof, and moves their polynomials there.
  void find_shift(double place);
  void enclose_course(double low, double high, int rows);
  void enclose_residual(double low, double high, int order);
  void enclose_jacobian(Interval times);
  bool solve(const Block& block, bool verify);
  bool as_shown(std::span<const double> same) const;
  /// Encloses the guards where unknowns have their distances from the polynomials.
  bool enclose_guards(double low, double high, std::span<const GuardWatch> watch);

  System* system_ = nullptr;
  const DensePolynomial* step_ = nullptr;
  std::uint64_t structure_ = 0;  // number of the one that the following belongs to
  bool possible_ = false;
  std::vector<Read> read_;  // unknowns that guards read
  StructuralAnalysis analysis_;
  std::optional<SystemJacobian> jacobian_;
  std::vector<Block> blocks_;   // that matter, in order
  std::vector<int> equations_;  // of them, increasing
  std::vector<int> variables_;  // that occur there, and those that guards read
  int most_differentiated_ = 0;
  double missed_at_ = 0.0;

  // of one part of a step
  CourseEnclosure course_;
  std::vector<Interval> X_, box_, F_, Fx_, Fxp_, J_, guard_X_, G_;
  std::vector<Interval> residual_;  // by equation
  std::vector<Interval> distance_,
      trial_;                  // by variable: of x_j,[d_j]; from the shifted polynomials until they are final
  std::vector<double> shift_;  // of those with d_j = 0
  std::vector<Interval> matrix_, right_;
  std::vector<double> middle_, inverse_;
  DenseLu lu_;
  std::vector<int> watched_;
};

}  // namespace saltus
