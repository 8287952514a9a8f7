// Compiled with AVX2 and FMA; called only where the processor has them.
#include "program/interpreter_loop.hpp"

namespace saltus {

void interpret_avx2(const Tape& tape, double* frame, int lanes) {
  interpreter::dispatch<interpreter::Avx2>(tape, frame, lanes);
}

}  // namespace saltus
