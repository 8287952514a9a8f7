// Program: expressions made ready to be evaluated often. Immutable and cheap to copy; what changes lives in a Workspace.
#pragma once

#include <saltus/expr/expr.hpp>
#include <saltus/base/interval.hpp>
#include <saltus/program/tape.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace saltus {

class NativeCode;

/// How a program is run.
enum class Backend {
  automatic,    ///< native code where the processor and the size allow it, otherwise the interpreter
  interpreter,  ///< always there
  native,       ///< x86-64 with AVX2 and FMA; throws UsageError elsewhere
};

struct ProgramOptions {
  Backend backend = Backend::automatic;
  /// Largest number of instructions for which `automatic` makes native code: it takes some ten bytes for each.
  std::size_t native_limit = 1000000;
};

/// Memory for one evaluation at a time: one per thread. Made by Program::workspace, for that program and its copies only.
class Workspace {
 public:
  Workspace() = default;
  Workspace(Workspace&&) = default;  // not copyable: it points into its own memory
  Workspace& operator=(Workspace&&) = default;

 private:
  friend class Program;
  std::vector<double> memory_;
  double* frame_ = nullptr;  // 64-byte aligned start inside memory_
  double* temporaries_ = nullptr;  // where the tape's temporaries start in the frame
  void (*native_)(const double* const* in, double* const* out, double* memory) = nullptr;  // null: interpreted
  int lanes_ = 1;
};

/// Inputs and outputs come in groups (time, states, parameters, …), each an array of doubles. With L lanes, value k of a group lies at
/// positions k*L … k*L + L-1.
class Program {
 public:
  Program() = default;
  /// See `lower` for what may be an input.
  Program(std::span<const std::vector<Expr>> inputs, std::span<const std::vector<Expr>> outputs, ProgramOptions options = {});

  bool empty() const { return !tape_; }
  const Tape& tape() const { return *tape_; }
  /// interpreter or native: what runs with one lane.
  Backend backend() const;
  /// Bytes of native code (0 when interpreted).
  std::size_t code_size() const;
  /// Whether foreign code takes part: then there are no Taylor coefficients and no intervals.
  bool has_external() const { return !tape_->calls.empty(); }

  Workspace workspace(int lanes = 1) const;

  /// Evaluates. `in` and `out` have one pointer per group; the number of lanes is the workspace's. Allocates nothing.
  /// The outputs must not overlap the inputs. Where an external function throws, its results are NaN.
  void operator()(std::span<const double* const> in, std::span<double* const> out, Workspace& workspace) const {
    if (workspace.native_)
      workspace.native_(in.data(), out.data(), workspace.temporaries_);
    else
      run_interpreter(in, out, workspace);
  }

  /// Encloses the outputs for all inputs in the given intervals. Throws UsageError if there is external code.
  std::vector<std::vector<Interval>> enclose(std::span<const std::vector<Interval>> in) const;

  /// The program as a C function `void name(const double* const* in, double* const* out)`, self-contained apart from math.h.
  /// Elementary functions are those of the C library there: values differ in the last digits from those of the program.
  /// Throws UsageError if there is external code or the name is not an identifier of C.
  std::string c_source(const std::string& name) const;

 private:
  void run_interpreter(std::span<const double* const> in, std::span<double* const> out, Workspace& workspace) const;

  std::shared_ptr<const Tape> tape_;
  std::shared_ptr<const NativeCode> native_;
  struct LaneCode;
  std::shared_ptr<LaneCode> lane_code_;  // native code for four and eight lanes, made when first asked for
};

}  // namespace saltus
