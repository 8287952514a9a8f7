#include "program/tape_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace saltus {

namespace {

std::string expression(Op op, const TapeWords& words, const std::string& a, const std::string& b,
                       const std::string& c) {
  switch (op) {
    case Op::add:
      return a + " + " + b;
    case Op::sub:
      return a + " - " + b;
    case Op::mul:
      return a + " * " + b;
    case Op::div:
      return a + " / " + b;
    case Op::neg:
      return "-" + a;
    case Op::fma:
      return fmt::format("{}({}, {}, {})", words.function(Op::fma), a, b, c);
    case Op::fms:
      return fmt::format("{}({}, {}, -{})", words.function(Op::fma), a, b, c);
    case Op::fnma:
      return fmt::format("{}(-{}, {}, {})", words.function(Op::fma), a, b, c);
    case Op::positive:
      return a + " > 0 ? 1.0 : 0.0";
    case Op::nonnegative:
      return a + " >= 0 ? 1.0 : 0.0";
    case Op::logical_and:
      return fmt::format("{} != 0 && {} != 0 ? 1.0 : 0.0", a, b);
    case Op::logical_or:
      return fmt::format("{} != 0 || {} != 0 ? 1.0 : 0.0", a, b);
    case Op::logical_not:
      return a + " == 0 ? 1.0 : 0.0";
    case Op::select:
      return fmt::format("{} != 0 ? {} : {}", a, b, c);
    default:
      return info(op).operands == 2 ? fmt::format("{}({}, {})", words.function(op), a, b)
                                    : fmt::format("{}({})", words.function(op), a);
  }
}

}  // namespace

std::string tape_text(const Tape& tape, const TapeWords& words) {
  const std::uint32_t first_temporary = tape.first_temporary();
  const auto operand = [&](std::uint32_t slot) {
    if (slot >= first_temporary) return fmt::format("s{}", slot - first_temporary);
    if (slot < tape.first_input()) return words.number(tape.constants[slot]);
    std::uint32_t k = slot - tape.first_input();
    std::size_t group = 0;
    while (k >= tape.input_sizes[group]) k -= tape.input_sizes[group++];
    return words.input(group, k);
  };
  std::string text;
  auto out = std::back_inserter(text);
  for (std::uint32_t k = 0; k < tape.temporaries; ++k) fmt::format_to(out, "{}s{}", k == 0 ? "  double " : ", ", k);
  if (tape.temporaries > 0) text += ";\n";
  for (const Instruction& i : tape.code) {
    const int count = operand_count(i.op);
    fmt::format_to(out, "  s{} = {};\n", i.result - first_temporary,
                   expression(i.op, words, operand(i.a), count > 1 ? operand(i.b) : "", count > 2 ? operand(i.c) : ""));
  }
  for (std::size_t g = 0; g < tape.outputs.size(); ++g)
    for (std::size_t k = 0; k < tape.outputs[g].size(); ++k)
      fmt::format_to(out, "  {} = {};\n", words.output(g, k), operand(tape.outputs[g][k]));
  return text;
}

}  // namespace saltus
