// The programs that derivatives of runs need, kept with the code of a compiled model: repeated runs make nothing anew.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "sens/act_tangents.hpp"
#include "sens/linear_modes.hpp"
#include "sens/tangent_code.hpp"

namespace saltus {

/// For any number of threads.
class SensitivityCode {
 public:
  /// Programs that have memory of their own: they serve one run at a time.
  struct Tools {
    explicit Tools(const CompiledModel& model) : acts(ModelAccess::logic(model)) {}
    ActTangents acts;
    LinearModes::Known linear;
  };

  /// That of a model and of all models with the same code.
  static std::shared_ptr<SensitivityCode> of(const CompiledModel& model);

  /// The code of an explicit mode with this system.
  std::shared_ptr<const TangentCode> tangents(const CompiledModel& model, const Mode& mode,
                                              const RecordedSystem& system);
  /// Lends tools. They are given back with give().
  std::unique_ptr<Tools> take(const CompiledModel& model);
  void give(std::unique_ptr<Tools> tools);

 private:
  std::mutex access_;
  std::map<std::uint64_t, std::shared_ptr<const TangentCode>> tangents_;  // by the number of the structure
  std::vector<std::unique_ptr<Tools>> idle_;
};

/// Tools of a model for the length of a run.
class BorrowedTools {
 public:
  explicit BorrowedTools(const CompiledModel& model) : code_(SensitivityCode::of(model)), tools_(code_->take(model)) {}
  ~BorrowedTools() { code_->give(std::move(tools_)); }
  BorrowedTools(const BorrowedTools&) = delete;
  BorrowedTools& operator=(const BorrowedTools&) = delete;

  SensitivityCode& code() { return *code_; }
  SensitivityCode::Tools* operator->() { return tools_.get(); }

 private:
  std::shared_ptr<SensitivityCode> code_;
  std::unique_ptr<SensitivityCode::Tools> tools_;
};

}  // namespace saltus
