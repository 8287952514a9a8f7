#include "flight/kept_analyses.hpp"

#include <saltus/model/compiled_model.hpp>
#include <saltus/model/recorded_system.hpp>

#include <algorithm>

#include "base/finite.hpp"
#include "model/model_access.hpp"
#include "model/wrapped_model.hpp"

namespace saltus {

std::shared_ptr<KeptAnalyses> KeptAnalyses::of(const HybridSystem& system) {
  const auto* model = dynamic_cast<const CompiledModel*>(&system);
  if (const auto* const wrapped = dynamic_cast<const WrappedModel*>(&system)) model = &wrapped->model();
  if (!model) return nullptr;
  constexpr double key = -2.0;  // among what is attached to a model
  return std::static_pointer_cast<KeptAnalyses>(
      ModelAccess::attached(*model, {key}, [] { return std::make_shared<KeptAnalyses>(); }));
}

CharacteristicValues KeptAnalyses::find(System& system, double t, std::span<const double> x,
                                        const CharacteristicOptions& options) {
  const auto* const recorded = dynamic_cast<const RecordedSystem*>(&system);
  if (!recorded || x.size() > most_variables || !all_finite(x)) return characteristic_values(system, t, x, options);
  std::vector<double> question{static_cast<double>(system.structure().id.number()),
                               static_cast<double>(options.max_level),
                               static_cast<double>(options.project),
                               static_cast<double>(options.neighbours),
                               static_cast<double>(options.use_structure),
                               static_cast<double>(options.dense_limit),
                               static_cast<double>(options.certified_dense_limit),
                               t};
  const std::vector<double> data = recorded->data();
  const std::span<const double> locks = recorded->locks();
  question.insert(question.end(), x.begin(), x.end());
  for (std::size_t j = 0; j < x.size(); ++j) question.push_back(system.nominal(static_cast<int>(j)));
  question.insert(question.end(), data.begin(), data.end());
  question.insert(question.end(), locks.begin(), locks.end());
  {
    const std::lock_guard guard(lock_);
    for (const auto& [asked, answer] : known_)
      if (asked == question) return *answer;
  }
  CharacteristicValues values = characteristic_values(system, t, x, options);
  if (values.index_one) return values;  // it works on what it has found before
  const std::lock_guard guard(lock_);
  if (known_.size() == most) known_.pop_front();
  known_.emplace_back(std::move(question), std::make_shared<const CharacteristicValues>(values));
  return values;
}

}  // namespace saltus
