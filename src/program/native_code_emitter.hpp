// Writes the machine code of a tape into a buffer. Position-independent: the constants stand in front of the code.
//
// Straight-line code needs no graph colouring: registers are handed out in order, and when none is free the value goes
// whose next use is furthest away (Belady's rule, which is optimal but for the cost of the stores). The work is linear
// in the length of the tape.
//
// Eight lanes are one AVX-512 register, or two halves: the code for four lanes twice, the second time for the upper
// half of every array. Each half has all registers for itself, and the processor works on both at once where the code
// is short.
#pragma once

#include <xbyak/xbyak.h>

#include <cstdint>
#include <span>
#include <vector>

#include "program/native_code_flow.hpp"

namespace saltus::native {

class Emitter {
 public:
  /// `lanes` is 1, 4 or 8; `width`, the lanes of a register, is 1 for one lane, 4 for four, and 4 or 8 for eight. The
  /// tape's call sites must stay where they are for as long as the code is used.
  Emitter(const Tape& tape, int lanes, int width);

  /// Writes the code. False if offsets do not fit into 32 bits.
  bool run();

  std::span<const std::uint8_t> bytes() const { return {code_.getCode(), code_.getSize()}; }
  std::size_t entry_offset() const { return entry_offset_; }

 private:
  using Reg = int;  // number of a vector register
  static constexpr Reg none = -1;
  static constexpr Reg most_registers = 32;
  static constexpr std::uint32_t never = 0xffffffffu;
  enum class Special { zero, one, sign, ones };  // first entries of the constants
  struct Base {                                  // a group of inputs or outputs
    std::uint32_t uses = 0;
    int gpr = -1;  // general register that holds its pointer, -1: loaded from the array at need
  };
  using Binary = void (Xbyak::CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Operand&, const Xbyak::Operand&);
  using Ternary = void (Xbyak::CodeGenerator::*)(const Xbyak::Xmm&, const Xbyak::Xmm&, const Xbyak::Operand&);

  // --- frame of the function (native_code_emitter.cpp)
  void write_half();
  bool offsets_fit() const;
  void count_group_uses();
  void choose_bases();
  void write_constants();
  void prologue();
  void epilogue();

  // --- addresses
  bool packed() const { return width_ > 1; }
  bool wide() const { return width_ == 8; }
  Xbyak::Xmm vec(Reg r) const {
    return wide()     ? static_cast<Xbyak::Xmm>(Xbyak::Zmm(r))
           : packed() ? static_cast<Xbyak::Xmm>(Xbyak::Ymm(r))
                      : Xbyak::Xmm(r);
  }
  Xbyak::Address special(Special s) const;
  Xbyak::Reg64 group_pointer(const Base& base, int array, std::uint32_t group);
  /// Where the value lies in memory. May load a pointer into rax: use it before the next address is asked for.
  Xbyak::Address home(Value v);
  Xbyak::Address scratch(std::size_t offset) const;
  /// Place of a value in an array of values with all lanes, and of the present half within that.
  int bytes_of(std::size_t count) const { return (static_cast<int>(count) * lanes_ + half_ * width_) * 8; }

  // --- registers
  std::uint32_t next_use(Value v) const;
  void spill(Value v);
  void evict(Reg r);
  Reg allocate(std::uint32_t pinned = 0);
  void load(Reg r, Value v);
  Reg need(Value v);
  bool foldable(Value v) const;
  void release(Value v);
  void define(Value v, Reg r);
  void store_outputs(Value v, Reg r);
  void end_step();
  void save_all_for_call();
  void forget_registers();

  // --- instructions
  void step(const Step& s);
  void arithmetic(const Step& s);
  void fused(const Step& s);
  void unary(const Step& s);
  void relation(const Step& s);
  void logic(const Step& s);
  void logical_not(const Step& s);
  void select(const Step& s);
  void math_call(const Step& s);
  void math_calls_at_once(const Step& s);
  void external_call(const Step& s);
  void pass_argument(Reg r, std::size_t k, std::size_t stride);
  void fetch_result(Reg r, std::size_t k, std::size_t stride);
  void call(const void* function);
  void move_to_memory(const Xbyak::Address& to, Reg r);
  void move_from_memory(Reg r, const Xbyak::Address& from);
  void compare(Reg d, Reg a, const Xbyak::Operand& b, int predicate);
  void make_number(Reg d);
  void choose(Reg d, Reg condition, Reg no, const Xbyak::Operand& yes);
  void compare_with_zero(Reg d, Value a, Reg ra, int predicate, int mirrored);
  bool is_plus_zero(Value v) const;

  /// Calls f with the register, or with the address of the value if it has none.
  template <class F>
  void with(Reg r, Value v, F f) {
    if (r != none)
      f(static_cast<const Xbyak::Operand&>(vec(r)));
    else
      f(static_cast<const Xbyak::Operand&>(home(v)));
  }

  const Tape& tape_;
  const int lanes_, width_;
  const Reg register_count_;
  int half_ = 0;  // of eight lanes in registers of four
  const Flow flow_;
  Xbyak::Allocator heap_;
  Xbyak::CodeGenerator code_;
  Xbyak::Label constants_;
  std::size_t entry_offset_ = 0;

  bool calls_ = false;
  std::vector<Base> in_, out_;
  std::vector<std::uint32_t> input_group_, input_offset_;  // by input
  Xbyak::Reg64 in_array_, out_array_, memory_;
  bool keep_arrays_ = false;
  std::vector<int> saved_;  // callee-saved general registers in use
  int stack_bytes_ = 0;

  std::uint32_t position_ = 0;  // number of the step
  Value owner_[most_registers];
  std::uint32_t occupied_ = 0;        // bit per register
  std::vector<std::int8_t> reg_;      // by value
  std::vector<std::int32_t> slot_;    // by value: spill slot or -1
  std::vector<std::uint32_t> use_;    // by value: index of its next use
  std::vector<char> output_pending_;  // by leaf: its outputs are not written yet
  std::vector<std::int32_t> free_slots_, dying_slots_;
  std::int32_t slots_ = 0;
};

}  // namespace saltus::native
