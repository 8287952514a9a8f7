// The linearisations of the modes of a run, each made when it is first asked for.
#pragma once

#include <saltus/model/compiled_model.hpp>

#include <cstdint>
#include <map>
#include <memory>

#include "sens/linear_mode.hpp"

namespace saltus {

class LinearModes {
 public:
  using Known = std::map<std::uint64_t, std::shared_ptr<LinearMode>>;  ///< by the number of the structure

  /// Keeps references.
  LinearModes(CompiledModel& model, Known& known) : model_(model), known_(known) {}

  /// The linearisation of a mode, at no point yet; why() of its mode says if there is none.
  LinearPoint at(const Mode& mode) {
    auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
    const std::span<const double> locks = system.locks();
    return {code(mode), system.data(), {locks.begin(), locks.end()}};
  }
  /// What all points of a mode share.
  std::shared_ptr<const LinearMode> code(const Mode& mode) {
    auto& system = dynamic_cast<RecordedSystem&>(model_.system(mode));
    std::shared_ptr<LinearMode>& code = known_[system.structure().id.number()];
    if (!code) code = std::make_shared<LinearMode>(system);
    return code;
  }

  bool is_explicit(const Mode& mode) { return model_.system(mode).structure().explicit_ode; }

  /// Whether the equations of two modes have one structure.
  bool same(const Mode& a, const Mode& b) {
    const std::uint64_t of_a = model_.system(a).structure().id.number();
    return of_a == model_.system(b).structure().id.number();
  }

 private:
  CompiledModel& model_;
  Known& known_;
};

}  // namespace saltus
