// Numbers in JSON, which has neither infinities nor NaN.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace saltus {

using Json = nlohmann::ordered_json;

inline Json number_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

}  // namespace saltus
