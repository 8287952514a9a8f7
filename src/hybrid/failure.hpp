// Why a run cannot go on.
#pragma once

#include <saltus/base/status.hpp>

#include <string>
#include <vector>

namespace saltus {

struct Failure {
  StatusCode code = StatusCode::success;
  std::string message;
  std::vector<std::string> culprits;

  explicit operator bool() const { return code != StatusCode::success; }
};

}  // namespace saltus
