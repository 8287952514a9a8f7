#include "sens/sensitivity_code.hpp"

#include <utility>

#include "model/model_access.hpp"
#include "sens/observed.hpp"

namespace saltus {

std::shared_ptr<SensitivityCode> SensitivityCode::of(const CompiledModel& model) {
  return std::static_pointer_cast<SensitivityCode>(
      ModelAccess::attached(model, {-1.0}, [] { return std::make_shared<SensitivityCode>(); }));
}

std::shared_ptr<const TangentCode> SensitivityCode::tangents(const CompiledModel& model, const Mode& mode,
                                                             const RecordedSystem& system) {
  const std::lock_guard lock(access_);
  std::shared_ptr<const TangentCode>& code = tangents_[system.structure().id.number()];
  if (!code) code = std::make_shared<TangentCode>(system, observed_variables(model, mode, system));
  return code;
}

std::unique_ptr<SensitivityCode::Tools> SensitivityCode::take(const CompiledModel& model) {
  {
    const std::lock_guard lock(access_);
    if (!idle_.empty()) {
      std::unique_ptr<Tools> tools = std::move(idle_.back());
      idle_.pop_back();
      return tools;
    }
  }
  return std::make_unique<Tools>(model);
}

void SensitivityCode::give(std::unique_ptr<Tools> tools) {
  const std::lock_guard lock(access_);
  idle_.push_back(std::move(tools));
}

}  // namespace saltus
