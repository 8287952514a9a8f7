// Structural analysis of a system from the places where its variables and their derivatives occur: Pryce's Sigma-method
// with an assignment problem of linear size, the block triangular form, and what is wrong with structurally singular
// systems.
#pragma once

#include <saltus/dae/system.hpp>

#include <span>
#include <string>
#include <vector>

namespace saltus {

/// The block triangular form: block b holds the equations equation[start[b]] … and the variables variable[start[b]] …
/// before start[b+1]. The equations of a block contain variables of this and of earlier blocks only, so the blocks can
/// be solved one after the other.
struct BlockTriangularForm {
  std::vector<int> equation, variable, start = {0};

  int blocks() const { return static_cast<int>(start.size()) - 1; }
};

/// A set of equations with the variables that occur in them (overdetermined part: more equations than variables) or of
/// variables with the equations in which they occur (underdetermined part: more variables than equations).
struct StructuralPart {
  std::vector<int> equations, variables;

  bool empty() const { return equations.empty() && variables.empty(); }
};

/// What the places of the non-zeros alone say about F(t, x, x') = 0.
struct StructuralAnalysis {
  /// The variable matched to each equation, -1 if none.
  std::vector<int> matched_variable;
  /// Canonical offsets: equation i has to be differentiated equation_offset[i] times, and variable j then occurs with
  /// derivatives up to order variable_offset[j]. Empty if the system is structurally singular.
  std::vector<int> equation_offset, variable_offset;
  int index = 0;               ///< structural index (an upper bound of the differentiation index where certified)
  int degrees_of_freedom = 0;  ///< number of initial values that can be chosen
  StructuralPart overdetermined, underdetermined;
  /// The part that is neither over- nor underdetermined, in block triangular form.
  BlockTriangularForm blocks;

  /// Whether no assignment of equations to variables covers all of them (always so if m != n).
  bool singular() const { return !overdetermined.empty() || !underdetermined.empty(); }
};

/// Analyses the structure; time and memory grow about linearly with the number of non-zeros.
StructuralAnalysis analyse_structure(const Structure& structure);

/// The guilty equations and variables of a structurally singular system in words, at most `limit` names of each kind;
/// "" if it is regular.
std::string describe_singularity(const StructuralAnalysis& analysis, const System& system, int limit = 5);

/// The system Jacobian of the Sigma-method: entry (i, j) is the derivative of the equation i, differentiated
/// equation_offset[i] times, with respect to the derivative of order variable_offset[j] of x_j. Non-singular at a
/// consistent point, it certifies the analysis.
class SystemJacobian {
 public:
  /// Throws UsageError if the analysis is singular.
  SystemJacobian(const Structure& structure, const StructuralAnalysis& analysis);

  const SparsePattern& pattern() const { return pattern_; }
  /// Picks its values out of those of F_x and F_x' (in the order of the patterns of the structure).
  void assemble(std::span<const double> Fx, std::span<const double> Fxp, std::span<double> values) const;
  /// The same with enclosures of them.
  void assemble(std::span<const Interval> Fx, std::span<const Interval> Fxp, std::span<Interval> values) const;

 private:
  SparsePattern pattern_;
  std::vector<int> source_;  // >= 0: place in F_x; < 0: -1 - place in F_x'
};

/// The answer of the numerical check of a structural analysis at one point.
struct StructuralCertificate {
  bool valid = false;                 ///< the system Jacobian is finite and non-singular
  double reciprocal_condition = 0.0;  ///< of the equilibrated system Jacobian (estimate in the 1-norm)
};

/// The smallest reciprocal condition that counts as non-singular.
inline constexpr double certificate_threshold = 1e-10;

/// Evaluates the system Jacobian at (t, x, xp), equilibrates it with powers of two and factorises it (sparse). At a
/// consistent point a valid certificate proves the structural result: degrees of freedom are exact, the structural
/// index bounds the differentiation index. A structurally singular analysis gets no certificate.
StructuralCertificate certify(System& system, const StructuralAnalysis& analysis, double t, std::span<const double> x,
                              std::span<const double> xp);

}  // namespace saltus
