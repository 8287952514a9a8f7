// The relations of a mode as the user wrote them, beside its equations: to check that a run goes on with their truths.
// An object of WrittenEquations may be one of these, too.
#pragma once

#include <saltus/dae/written_equations.hpp>

#include <span>
#include <string>

namespace saltus {

class WrittenRelations {
 public:
  virtual ~WrittenRelations() = default;

  virtual int relation_count() const = 0;
  /// The text of a relation, and whether the mode takes it as true.
  virtual std::string relation_name(int i, const Mode& mode) const = 0;
  /// The value of the function of each relation where it contradicts the truth that the mode has of the relation, or
  /// where the mode keeps it at zero. 0 where nothing is wrong, and where the relation has no meaning in the mode.
  virtual void wrong_relations(const Mode& mode, double t, std::span<const double> values, std::span<const double> xp,
                               std::span<WrittenResidual> wrong) = 0;
};

}  // namespace saltus
