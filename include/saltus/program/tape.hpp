// The tape: an expression graph as a flat list of instructions over a frame of slots. Every back end (interpreter for numbers,
// lanes and intervals, native code, C source) reads the same tape, in which the order of operations and the fused multiply-adds
// are already decided; so all of them give the same bits.
#pragma once

#include <saltus/expr/expr.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace saltus {

/// One operation on slots of the frame; an external call writes all results of the call site `a`.
struct Instruction {
  Op op;
  std::uint32_t result, a, b, c;
};

/// A call of foreign code: argument slots are read, result slots written.
struct CallSite {
  std::shared_ptr<const ExternalFunction> function;
  std::vector<std::uint32_t> arguments, results;
};

/// The frame holds the constants, then the inputs group by group, then `temporaries`, then `scratch` for external calls.
struct Tape {
  std::vector<double> constants;
  std::vector<std::uint32_t> input_sizes;            ///< number of inputs of each group
  std::vector<std::vector<std::uint32_t>> outputs;   ///< slot of each output, by group
  std::vector<Instruction> code;
  std::vector<CallSite> calls;
  std::uint32_t temporaries = 0;
  std::uint32_t scratch = 0;

  std::uint32_t first_input() const { return static_cast<std::uint32_t>(constants.size()); }
  std::uint32_t first_temporary() const;
  std::uint32_t slots() const { return first_temporary() + temporaries + scratch; }
  /// Heap memory in bytes.
  std::size_t memory() const;
};

struct LowerOptions {
  bool fuse = true;         ///< use fused multiply-adds
  bool reuse_slots = true;  ///< reuse the slots of values that are no longer needed
};

/// Makes a tape. Inputs are symbols or locks (relations and roundings; see locks_of); a lock that is not among the inputs is
/// evaluated. Throws UsageError if an output depends on a symbol that is not an input, or an input is listed twice.
Tape lower(std::span<const std::vector<Expr>> inputs, std::span<const std::vector<Expr>> outputs, LowerOptions options = {});

/// One instruction a line, for reading.
std::string to_string(const Tape& tape);

}  // namespace saltus
