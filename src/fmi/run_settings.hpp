// What the importer of an FMU says about a run before it begins.
#pragma once

#include <optional>

namespace saltus {

struct RunSettings {
  double start = 0.0;
  std::optional<double> stop = {}, tolerance = {};
};

}  // namespace saltus
