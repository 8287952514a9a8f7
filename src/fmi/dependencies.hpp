// What the unknowns of a model depend on: ModelStructure of the description.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "fmi/exported_model.hpp"

namespace saltus {

/// Dependencies of derivatives and observed variables on the knowns (time, continuous states, inputs) in all modes,
/// with slides and contacts, and in Event Mode, where relations and clauses count as well.
class Dependencies {
 public:
  explicit Dependencies(const ExportedModel& model);

  /// Value references of the knowns on which a derivative or an observed variable may depend, in ascending order.
  /// Empty: any of them.
  std::optional<std::vector<std::size_t>> of(std::size_t reference) const;

 private:
  std::vector<std::optional<std::vector<std::size_t>>> found_;  ///< by value reference
};

}  // namespace saltus
