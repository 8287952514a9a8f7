// A CUDA device and its run-time compiler. Both libraries are looked for when a program runs: nothing is linked.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "study/device_flight.hpp"

namespace saltus {

class CudaDevice {
 public:
  /// Null if there is none; `why` then says what was looked for.
  static std::unique_ptr<CudaDevice> open(std::string& why);
  virtual ~CudaDevice() = default;

  virtual const std::string& name() const = 0;
  /// Compiles the text of a flight. Throws UsageError with the words of the compiler.
  virtual void compile(const std::string& source, const std::vector<std::pair<std::string, std::string>>& headers) = 0;
  /// Flies members until none is in the air, or until `stop`, which is asked now and then, becomes true. Returns false
  /// then. Throws UsageError if the device fails.
  virtual bool fly(DeviceFlight& members, long long max_steps, const std::function<bool()>& stop) = 0;
};

}  // namespace saltus
