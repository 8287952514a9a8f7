#include "program/tape_runner.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "program/interpreter.hpp"

namespace saltus {

TapeRunner::TapeRunner(Tape tape, int lanes) : tape_(std::make_shared<const Tape>(std::move(tape))), lanes_(lanes) {
  if (native_code_available()) native_ = make_native_code(*tape_, lanes);
}

TapeRunner::Memory TapeRunner::memory() const {
  Memory m;
  const auto width = static_cast<std::size_t>(lanes_);
  m.numbers_.assign(std::size_t{tape_->slots()} * width + 8, 0.0);
  const auto address = reinterpret_cast<std::uintptr_t>(m.numbers_.data());
  m.frame_ = m.numbers_.data() + (64 - address % 64) % 64 / sizeof(double);
  return m;
}

void TapeRunner::interpret_tape(const double* const* in, double* const* out, Memory& memory) const {
  const auto width = static_cast<std::size_t>(lanes_);
  double* place = memory.frame_;
  for (const double c : tape_->constants) place = std::fill_n(place, width, c);
  for (std::size_t g = 0; g < tape_->input_sizes.size(); ++g)
    place = std::copy_n(in[g], std::size_t{tape_->input_sizes[g]} * width, place);
  interpret(*tape_, memory.frame_, lanes_);
  for (std::size_t g = 0; g < tape_->outputs.size(); ++g)
    for (std::size_t k = 0; k < tape_->outputs[g].size(); ++k)
      std::copy_n(memory.frame_ + std::size_t{tape_->outputs[g][k]} * width, width, out[g] + k * width);
}

}  // namespace saltus
