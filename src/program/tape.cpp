#include <saltus/program/tape.hpp>

#include <fmt/format.h>

#include <iterator>
#include <numeric>

namespace saltus {

std::uint32_t Tape::first_temporary() const {
  return std::accumulate(input_sizes.begin(), input_sizes.end(), first_input());
}

std::size_t Tape::memory() const {
  std::size_t bytes = constants.capacity() * sizeof(double) + code.capacity() * sizeof(Instruction);
  for (const auto& group : outputs) bytes += group.capacity() * sizeof(std::uint32_t);
  for (const auto& call : calls)
    bytes += sizeof(CallSite) + (call.arguments.capacity() + call.results.capacity()) * sizeof(std::uint32_t);
  return bytes;
}

std::string to_string(const Tape& tape) {
  std::string text;
  auto out = std::back_inserter(text);
  for (std::size_t k = 0; k < tape.constants.size(); ++k) fmt::format_to(out, "s{} = {}\n", k, tape.constants[k]);
  std::uint32_t slot = tape.first_input();
  for (std::size_t g = 0; g < tape.input_sizes.size(); ++g)
    for (std::uint32_t k = 0; k < tape.input_sizes[g]; ++k) fmt::format_to(out, "s{} = input {}[{}]\n", slot++, g, k);
  for (const Instruction& i : tape.code) {
    if (i.op == Op::external) {
      fmt::format_to(out, "call {}\n", tape.calls[i.a].function->name);
      continue;
    }
    fmt::format_to(out, "s{} = {} s{}", i.result, info(i.op).name, i.a);
    if (operand_count(i.op) > 1) fmt::format_to(out, " s{}", i.b);
    if (operand_count(i.op) > 2) fmt::format_to(out, " s{}", i.c);
    text += '\n';
  }
  for (std::size_t g = 0; g < tape.outputs.size(); ++g)
    for (std::size_t k = 0; k < tape.outputs[g].size(); ++k)
      fmt::format_to(out, "output {}[{}] = s{}\n", g, k, tape.outputs[g][k]);
  return text;
}

}  // namespace saltus
