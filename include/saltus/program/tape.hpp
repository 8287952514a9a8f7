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

/// Instructions. Truth values are 0.0 and 1.0; anything that is not zero counts as true.
enum class Opcode : std::uint32_t {
  add, sub, mul, div, neg,
  fma,   ///< a*b + c, rounded once
  fms,   ///< a*b - c, rounded once
  fnma,  ///< c - a*b, rounded once
  sqrt, exp, log, sin, cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh,
  pow, atan2,
  floor,
  positive,     ///< a > 0 ? 1 : 0
  nonnegative,  ///< a >= 0 ? 1 : 0
  logical_and, logical_or, logical_not,
  select,    ///< a != 0 ? b : c
  external,  ///< calls[a]; writes all results of the call
};
inline constexpr int opcode_count = static_cast<int>(Opcode::external) + 1;

std::string_view to_string(Opcode op);
/// Number of operand slots that an instruction reads (0 for external calls).
int operand_count(Opcode op);

struct Instruction {
  Opcode op;
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
