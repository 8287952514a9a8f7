#include "program/native_code.hpp"

#include <algorithm>

#include "base/system/executable_memory.hpp"
#include "program/interpreter.hpp"
#include "program/lane_functions.hpp"
#include "program/native_code_emitter.hpp"

namespace saltus {

namespace {

/// The code that the emitter has written.
class MappedCode final : public NativeCode {
 public:
  /// False if the system does not allow it.
  bool assign(std::span<const std::uint8_t> bytes, std::size_t entry_offset) {
    const std::uint8_t* const code = memory_.assign(bytes);
    if (!code) return false;
    size_ = bytes.size();
    entry_ = reinterpret_cast<Entry>(reinterpret_cast<std::uintptr_t>(code + entry_offset));
    return true;
  }

 private:
  ExecutableMemory memory_;
};

}  // namespace

bool native_code_available() {
  return cpu_has_avx2_fma();
}

std::shared_ptr<const NativeCode> make_native_code(const Tape& tape, int lanes, EightLanes registers) {
  if (!native_code_available() || (lanes != 1 && lanes != 4 && lanes != 8)) return nullptr;
  const bool wide = lanes == 8 && registers == EightLanes::automatic && cpu_has_avx512();
  native::Emitter emitter(tape, lanes, wide ? 8 : std::min(lanes, 4));
  if (!emitter.run()) return nullptr;
  auto code = std::make_shared<MappedCode>();
  if (!code->assign(emitter.bytes(), emitter.entry_offset())) return nullptr;
  return code;
}

}  // namespace saltus
