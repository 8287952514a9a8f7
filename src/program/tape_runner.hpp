// Runs a tape with one lane or several, as native code where that can be had. Immutable; what changes is in its memory.
#pragma once

#include <saltus/program/tape.hpp>

#include <memory>
#include <vector>

#include "program/native_code.hpp"

namespace saltus {

class TapeRunner {
 public:
  /// Memory of one evaluation at a time: one for each thread.
  class Memory {
   private:
    friend class TapeRunner;
    std::vector<double> numbers_;
    double* frame_ = nullptr;  // 64-byte aligned
  };

  TapeRunner() = default;
  /// 1, 4 or 8 lanes.
  TapeRunner(Tape tape, int lanes);

  const Tape& tape() const { return *tape_; }
  int lanes() const { return lanes_; }
  Memory memory() const;

  /// Evaluates. Value k of a group lies at k*lanes … k*lanes + lanes-1; see NativeCode::Entry.
  void operator()(const double* const* in, double* const* out, Memory& memory) const {
    if (native_)
      native_->entry()(in, out, memory.frame_);
    else
      interpret_tape(in, out, memory);
  }

 private:
  void interpret_tape(const double* const* in, double* const* out, Memory& memory) const;

  std::shared_ptr<const Tape> tape_;
  std::shared_ptr<const NativeCode> native_;
  int lanes_ = 1;
};

}  // namespace saltus
