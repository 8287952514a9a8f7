// Native code for a tape on x86-64 with AVX2 and FMA.
#pragma once

#include <saltus/program/tape.hpp>

#include <cstddef>
#include <memory>

namespace saltus {

class NativeCode {
 public:
  /// `scratch` has room for the tape's external calls (lanes times tape.scratch doubles).
  using Entry = void (*)(const double* const* in, double* const* out, double* scratch);

  virtual ~NativeCode() = default;
  Entry entry() const { return entry_; }
  std::size_t size() const { return size_; }

 protected:
  Entry entry_ = nullptr;
  std::size_t size_ = 0;
};

/// Whether native code can be made and run here.
bool native_code_available();

/// Compiles for 1 or 4 lanes; the results are the same bits as the interpreter's. Null where not available. The tape must
/// outlive the code.
std::shared_ptr<const NativeCode> make_native_code(const Tape& tape, int lanes);

}  // namespace saltus
