#include <saltus/program/program.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "program/interpreter.hpp"
#include "program/native_code.hpp"

namespace saltus {

struct Program::LaneCode {
  struct Code {
    std::once_flag once;
    std::shared_ptr<const NativeCode> code;
  };
  Code four, eight;
};

Program::Program(std::span<const std::vector<Expr>> inputs, std::span<const std::vector<Expr>> outputs,
                 ProgramOptions options)
    : tape_(std::make_shared<const Tape>(lower(inputs, outputs))) {
  if (options.backend == Backend::interpreter) return;
  const bool wanted = options.backend == Backend::native || tape_->code.size() <= options.native_limit;
  if (wanted && native_code_available()) {
    native_ = make_native_code(*tape_, 1);
    lane_code_ = std::make_shared<LaneCode>();
  }
  if (options.backend == Backend::native && !native_)
    throw UsageError("backend = native needs an x86-64 processor with AVX2 and FMA and a build with the assembler library; "
                     "use Backend::automatic");
}

Backend Program::backend() const { return native_ ? Backend::native : Backend::interpreter; }
std::size_t Program::code_size() const { return native_ ? native_->size() : 0; }

Workspace Program::workspace(int lanes) const {
  if (lanes != 1 && lanes != 4 && lanes != 8) throw UsageError("a workspace has 1, 4 or 8 lanes");
  Workspace w;
  w.lanes_ = lanes;
  const std::size_t slots = std::size_t{tape_->slots()} * static_cast<std::size_t>(lanes);
  w.memory_.assign(slots + 8, 0.0);
  const auto address = reinterpret_cast<std::uintptr_t>(w.memory_.data());
  w.frame_ = w.memory_.data() + (64 - address % 64) % 64 / sizeof(double);
  w.temporaries_ = w.frame_ + std::size_t{tape_->first_temporary()} * static_cast<std::size_t>(lanes);
  const NativeCode* native = lanes == 1 ? native_.get() : nullptr;
  if (lanes > 1 && lane_code_) {
    LaneCode::Code& made = lanes == 4 ? lane_code_->four : lane_code_->eight;
    std::call_once(made.once, [&] { made.code = make_native_code(*tape_, lanes); });
    native = made.code.get();
  }
  if (native) w.native_ = native->entry();
  for (std::size_t k = 0; k < tape_->constants.size(); ++k)
    std::fill_n(w.frame_ + k * static_cast<std::size_t>(lanes), lanes, tape_->constants[k]);
  return w;
}

void Program::run_interpreter(std::span<const double* const> in, std::span<double* const> out, Workspace& w) const {
  const auto lanes = static_cast<std::size_t>(w.lanes_);
  const Tape& tape = *tape_;
  double* const frame = w.frame_;
  std::size_t slot = tape.first_input() * lanes;
  for (std::size_t g = 0; g < tape.input_sizes.size(); ++g) {
    const std::size_t count = tape.input_sizes[g] * lanes;
    for (std::size_t k = 0; k < count; ++k) frame[slot + k] = in[g][k];  // most groups are tiny: no call for them
    slot += count;
  }
  interpret(tape, frame, w.lanes_);
  for (std::size_t g = 0; g < tape.outputs.size(); ++g) {
    double* target = out[g];
    if (lanes == 1) {
      for (const std::uint32_t s : tape.outputs[g]) *target++ = frame[s];
    } else {
      for (const std::uint32_t s : tape.outputs[g]) {
        std::memcpy(target, frame + s * lanes, lanes * sizeof(double));
        target += lanes;
      }
    }
  }
}

std::vector<std::vector<Interval>> Program::enclose(std::span<const std::vector<Interval>> in) const {
  const Tape& tape = *tape_;
  if (has_external())
    throw UsageError("interval evaluation is not possible through the external function '" +
                     tape.calls.front().function->name + "'");
  if (in.size() != tape.input_sizes.size()) throw UsageError("enclose: wrong number of input groups");
  std::vector<Interval> frame(tape.slots() + 1);
  std::copy(tape.constants.begin(), tape.constants.end(), frame.begin());
  std::size_t slot = tape.first_input();
  for (std::size_t g = 0; g < in.size(); ++g) {
    if (in[g].size() != tape.input_sizes[g]) throw UsageError("enclose: wrong number of inputs in a group");
    for (const Interval& x : in[g]) frame[slot++] = x;
  }
  interpret(tape, frame.data());
  std::vector<std::vector<Interval>> result;
  for (const auto& group : tape.outputs) {
    auto& values = result.emplace_back();
    for (const std::uint32_t s : group) values.push_back(frame[s]);
  }
  return result;
}

}  // namespace saltus
