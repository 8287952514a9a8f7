// What tells that a hybrid system passes on a compiled model: then what is kept with the model serves it, too.
#pragma once

#include <saltus/model/compiled_model.hpp>

namespace saltus {

class WrappedModel {
 public:
  virtual ~WrappedModel() = default;
  virtual const CompiledModel& model() const = 0;
};

}  // namespace saltus
