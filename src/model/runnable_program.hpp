// A program and the memory to run it.
#pragma once

#include <saltus/program/program.hpp>

#include <span>
#include <utility>

namespace saltus {

/// A copy shares the code and has memory of its own: each serves one thread.
class RunnableProgram {
 public:
  RunnableProgram() = default;
  explicit RunnableProgram(Program program) : program_(std::move(program)) {
    if (!program_.empty()) memory_ = program_.workspace();
  }
  RunnableProgram(const RunnableProgram& other) : RunnableProgram(other.program_) {}
  RunnableProgram(RunnableProgram&&) = default;
  RunnableProgram& operator=(const RunnableProgram& other) { return *this = RunnableProgram(other); }
  RunnableProgram& operator=(RunnableProgram&&) = default;

  bool empty() const { return program_.empty(); }
  const Program& program() const { return program_; }
  void operator()(std::span<const double* const> in, std::span<double* const> out) { program_(in, out, memory_); }

 private:
  Program program_;
  Workspace memory_;
};

}  // namespace saltus
