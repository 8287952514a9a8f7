// Stands in for native_code.cpp where the assembler library or the processor family is missing.
#include "program/native_code.hpp"

namespace saltus {

bool native_code_available() {
  return false;
}
std::shared_ptr<const NativeCode> make_native_code(const Tape&, int, EightLanes) {
  return nullptr;
}

}  // namespace saltus
