// What the code generator must know about a tape before it writes the first instruction: which values there are, where
// each is used next, and which outputs it feeds.
//
// A tape reuses its slots; here every result is a value of its own. Values are numbered: constants, then inputs (both
// with the numbers of their slots), then the results of the instructions in order.
#pragma once

#include <saltus/program/tape.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace saltus::native {

using Value = std::uint32_t;

/// One instruction over values, or up to four calls of one function of one argument, side by side. Results of an
/// external call, and of such calls, have consecutive numbers.
struct Step {
  Op op;
  std::uint32_t call;  ///< external: index into the tape's calls
  std::uint32_t first_operand, operand_count;
  Value result;
  std::uint32_t result_count;
};

/// Where an output goes.
struct Place {
  std::uint32_t group, index;
};

/// A list of lists in two arrays.
template <class T>
struct Lists {
  std::vector<std::uint32_t> begin;
  std::vector<T> items;
  std::span<const T> operator[](std::size_t k) const { return {items.data() + begin[k], items.data() + begin[k + 1]}; }
};

struct Flow {
  /// `together`: neighbouring calls of a function become one step.
  Flow(const Tape& tape, bool together);

  std::span<const Value> operands_of(const Step& step) const {
    return {operands.data() + step.first_operand, step.operand_count};
  }
  bool is_leaf(Value v) const { return v < leaves; }

  std::uint32_t leaves = 0;  ///< number of constants and inputs
  std::uint32_t values = 0;
  std::vector<Step> steps;
  std::vector<Value> operands;
  Lists<std::uint32_t> uses;  ///< by value: numbers of the steps that read it, ascending
  Lists<Place> outputs;       ///< by value
  /// By value: a truth value of which only the truth is ever asked; it may live as a mask of bits instead of 0 or 1.
  std::vector<char> is_mask;

 private:
  void make_steps(const Tape& tape, bool together, std::vector<Value>& value_in_slot);
  bool joins_last(Op op, Value operand) const;
  void list_uses();
  void list_outputs(const Tape& tape, const std::vector<Value>& value_in_slot);
  void find_masks();
};

/// Whether operand `k` of the operation is only asked for its truth.
bool reads_truth(Op op, std::size_t k);

}  // namespace saltus::native
