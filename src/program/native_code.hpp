// Native code for a tape on x86-64 with AVX2 and FMA, for eight lanes with AVX-512 where the processor has it.
#pragma once

#include <saltus/program/tape.hpp>

#include <cstddef>
#include <memory>

namespace saltus {

class NativeCode {
 public:
  /// One pointer per group of inputs and of outputs (pointers of empty groups are not touched). `memory` has room for
  /// lanes times (tape.temporaries + tape.scratch) doubles: values that find no register, and the arguments and results
  /// of external calls. Inputs and `memory` must not overlap the outputs.
  using Entry = void (*)(const double* const* in, double* const* out, double* memory);

  virtual ~NativeCode() = default;
  Entry entry() const { return entry_; }
  /// Bytes of code and constants.
  std::size_t size() const { return size_; }

 protected:
  Entry entry_ = nullptr;
  std::size_t size_ = 0;
};

/// Whether native code can be made and run here.
bool native_code_available();

/// Which registers code for eight lanes uses.
enum class EightLanes {
  automatic,  ///< the widest that the processor has
  halves,     ///< AVX2: four lanes, twice
};

/// Compiles for 1, 4 or 8 lanes; the results are the same bits as the interpreter's (any NaN equals any other). Null
/// where not available, where the system forbids executable memory, or where a group is too large for 32-bit offsets.
/// The tape must outlive the code.
std::shared_ptr<const NativeCode> make_native_code(const Tape& tape, int lanes,
                                                   EightLanes registers = EightLanes::automatic);

}  // namespace saltus
