// TapeChain: makes one tape of several that run one after another. Every tape keeps its own operations, fused or not,
// so the chain gives the bits of its parts. What two parts compute alike is computed once, and what no output needs
// not at all. Calls of one function that do not need each other stand side by side: native code makes them at once.
#pragma once

#include <saltus/program/tape.hpp>

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace saltus {

class TapeChain {
 public:
  /// A value: an input of the chain or a result of a tape. Temporaries are numbered as they are made, one for each
  /// result.
  struct Place {
    enum class Kind : std::uint8_t { constant, input, temporary } kind = Kind::constant;
    std::uint32_t index = 0;

    bool operator==(const Place&) const = default;
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
  /// An operation on its operands.
  struct Operation {
    Op op;
    Place operand[3];

    bool operator==(const Operation&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Operation& o) const;
  };

  Place constant(double value);
  /// Leaves out steps that no output needs. External code is always called.
  void drop_unneeded();
  /// Puts calls of one function together.
  void gather_calls();
  /// By step: a number that is the same for calls to be made at once, else `alone`.
  std::vector<std::uint32_t> groups_of_calls() const;
  static constexpr std::uint32_t alone = 0xffffffffu;
  /// By temporary: its slot among the temporaries of the tape, reused once its value is not needed any more.
  std::vector<std::uint32_t> slots(std::uint32_t& count) const;
  template <class Visit>
  void for_operands(const Step& step, Visit&& visit) const;
  template <class Visit>
  void for_results(const Step& step, Visit&& visit) const;

  std::vector<double> constants_;
  std::unordered_map<std::uint64_t, std::uint32_t> constant_of_;  // by its bits
  std::vector<std::uint32_t> input_sizes_;
  std::vector<Places> outputs_;
  std::vector<Step> steps_;
  std::unordered_map<Operation, Place, Hash> known_;
  std::vector<Call> calls_;
  std::uint32_t inputs_ = 0, temporaries_ = 0;
};

}  // namespace saltus
