// TapeChain: makes one tape of several that run one after another. Every tape keeps its own operations, fused or not,
// so the chain gives the bits of its parts.
#pragma once

#include <saltus/program/tape.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace saltus {

class TapeChain {
 public:
  /// A value: an input of the chain or a result of a tape.
  struct Place {
    enum class Kind : std::uint8_t { constant, input, temporary } kind;
    std::uint32_t index;
  };
  using Places = std::vector<Place>;

  /// A new group of inputs.
  Places input(std::size_t count);
  /// Appends a tape; `arguments` are its inputs, all groups behind each other. Returns its outputs, likewise. Throws
  /// UsageError if the number of arguments is not the tape's.
  Places append(const Tape& tape, std::span<const Place> arguments);
  /// A new group of outputs.
  void output(std::span<const Place> values) { outputs_.emplace_back(values.begin(), values.end()); }
  /// The tape of all parts. The chain is empty afterwards.
  Tape finish();

 private:
  struct Call {
    std::shared_ptr<const ExternalFunction> function;
    Places arguments, results;
  };
  struct Step {
    Op op;
    std::uint32_t call;
    Place result, operand[3];
  };

  std::vector<double> constants_;
  std::vector<std::uint32_t> input_sizes_;
  std::vector<Places> outputs_;
  std::vector<Step> steps_;
  std::vector<Call> calls_;
  std::uint32_t inputs_ = 0, temporaries_ = 0;
};

}  // namespace saltus
