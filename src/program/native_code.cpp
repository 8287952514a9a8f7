// Executable memory for the code that the emitter writes: written first, then made executable and read-only (never
// both).
#include "program/native_code.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "program/interpreter.hpp"
#include "program/lane_functions.hpp"
#include "program/native_code_emitter.hpp"

namespace saltus {

namespace {

class MappedCode final : public NativeCode {
 public:
  MappedCode() = default;
  MappedCode(const MappedCode&) = delete;
  MappedCode& operator=(const MappedCode&) = delete;
  ~MappedCode() override {
    if (memory_ != MAP_FAILED) munmap(memory_, size_);
  }

  /// False if the system does not allow it.
  bool assign(std::span<const std::uint8_t> bytes, std::size_t entry_offset) {
    size_ = bytes.size();
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) return false;
    std::memcpy(memory_, bytes.data(), bytes.size());
    if (mprotect(memory_, size_, PROT_READ | PROT_EXEC) != 0) return false;
    entry_ = reinterpret_cast<Entry>(static_cast<std::uint8_t*>(memory_) + entry_offset);
    return true;
  }

 private:
  void* memory_ = MAP_FAILED;
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
