// Characteristic values of a (possibly over- or underdetermined) DAE at a point, found numerically from its derivative
// array.
#pragma once

#include <saltus/dae/structural_analysis.hpp>
#include <saltus/dae/system.hpp>
#include <saltus/linalg/matrix.hpp>
#include <saltus/linalg/rank.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saltus {

class IndexOneSolver;

/// How sure the answer is.
enum class AnalysisStatus {
  clear,           ///< all rank decisions were clear, and neighbouring points agree
  grey,            ///< some rank decision was doubtful
  singular_point,  ///< neighbouring points have other values: the point is exceptional
  undecided,  ///< no level up to the limit satisfies the hypothesis, or the equations cannot be evaluated at the point
};
std::string_view to_string(AnalysisStatus status);

/// The numbers of the strangeness-free form (Kunkel, Mehrmann, Differential-Algebraic Equations, EMS 2006,
/// Hypothesis 4.2).
struct CharacteristicNumbers {
  int mu = 0;  ///< strangeness index: so many differentiations are needed (differentiation index - 1 for regular
               ///< systems, at least 0)
  int d = 0;   ///< differential components
  int a = 0;   ///< algebraic components
  int u = 0;   ///< undetermined components
  int v = 0;   ///< vanishing (redundant or contradictory) equations
  int r = 0;   ///< rank of the derivative array of level mu

  bool operator==(const CharacteristicNumbers&) const = default;
};

/// "mu=2 d=2 a=3 u=0 v=0 r=15".
std::string to_string(const CharacteristicNumbers& numbers);

/// What was found at one level of the derivative array.
struct LevelAnalysis {
  int d = 0, a = 0, v = 0, r = 0;
  RankDecision derivatives;   ///< rank of the columns of x_[1] … x_[k+1]
  RankDecision algebraic;     ///< rank of the constraints on x
  RankDecision differential;  ///< rank of F_x' on the space that the constraints leave
  bool satisfied = false;     ///< d = m - a - v
};

struct CharacteristicOptions {
  int max_level = 8;  ///< highest mu that is tried (one more level is looked at to confirm)
  bool project =
      true;  ///< find a consistent point first (ranks hold on the solution set only); linear systems do not need it
  bool neighbours = true;  ///< repeat at four neighbouring points
  /// Where the structural analysis has a certificate at a consistent point, its numbers d and a are right (and u = v =
  /// 0); rank decisions then only find mu, and where they are doubtful or disagree mu is the structural bound.
  bool use_structure = true;
  /// Largest number of variables for which dense rank decisions are made on the whole array. Beyond it a certificate
  /// decides, or rank decisions on the blocks of the block triangular form.
  int dense_limit = 500;
  /// The same where the structure has a certificate, which says all but the exact mu.
  int certified_dense_limit = 100;
};

/// The result at one point.
struct CharacteristicValues {
  CharacteristicNumbers numbers;
  AnalysisStatus status = AnalysisStatus::undecided;
  bool decided_by_structure = false;  ///< the rank decisions were doubtful or failed, the certified structure decided
  std::string reason;                 ///< why nothing was decided, where more can be said than the status does
  double kept = 1.0;                  ///< smallest singular value that counted / norm of the array, over all decisions
  double dropped = 0.0;               ///< largest one that did not count / norm of the array
  std::vector<LevelAnalysis> levels;
  std::vector<CharacteristicNumbers> neighbours;  ///< values at neighbouring points, where these were examined

  StructuralAnalysis structure;
  StructuralCertificate certificate;

  /// The point at which the decisions were made: Taylor coefficients x_[0] … x_[mu+1]. Consistent unless the system is
  /// linear.
  std::vector<double> X;
  // Scale factors in which the projectors below are orthonormal: x = diag(variable_scale) * scaled x, and equation i of
  // derivative order j is multiplied by equation_scale[i] * time_scale^j.
  std::vector<double> variable_scale, equation_scale;
  double time_scale = 1.0;
  Matrix Z2;  ///< (mu+1) m x a: combinations of the array that are constraints on x alone
  Matrix T2;  ///< n x (n - a): directions that satisfy the linearised constraints
  Matrix Z1;  ///< m x d: combinations of the equations that are the differential part
  /// What finds consistent values of a large mode without hidden constraints; kept for the next time, null for others.
  std::shared_ptr<IndexOneSolver> index_one;

  /// Where the equations leave u directions of x open: u variables that are kept constant, which determines the others.
  /// Chosen by the size of their parts in these directions; of equal ones the first. Empty without projectors.
  std::vector<int> constant_components;

  /// Large modes that were decided block by block have no projectors; these components can be prescribed.
  std::vector<int> free_components;

  const CharacteristicNumbers* operator->() const { return &numbers; }
};

/// Finds the characteristic values at (t, x), level by level. x need not be consistent: it is a guess. Needs Taylor
/// coefficients for levels above 0 (UsageError otherwise, unless the system is an explicit ODE or without hidden
/// constraints already at level 0). The work grows with the third power of (mu+2) n: this is for dense modes; large
/// sparse ones have their structural certificate.
CharacteristicValues characteristic_values(System& system, double t, std::span<const double> x,
                                           const CharacteristicOptions& options = {});

/// The variables that the equations leave undetermined (u > 0) at the point of the values: those with a part in
/// directions that neither constraints nor derivatives restrict. Empty if u = 0, and for large modes without
/// projectors.
std::vector<int> undetermined_variables(System& system, double t, const CharacteristicValues& values);

}  // namespace saltus
