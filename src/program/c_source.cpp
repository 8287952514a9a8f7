// The tape as C source. Fused operations are written as fma(), so a compiler that does not contract on its own
// (-ffp-contract=off) gives the same bits as the interpreter.
#include <fmt/format.h>
#include <saltus/program/program.hpp>

#include <cctype>
#include <cmath>

#include "program/tape_text.hpp"

namespace saltus {

namespace {

std::string c_number(double value) {
  if (std::isnan(value)) return "(NAN)";
  if (std::isinf(value)) return value > 0 ? "(INFINITY)" : "(-INFINITY)";
  return fmt::format("({:a})", value);
}

}  // namespace

std::string Program::c_source(const std::string& name) const {
  const Tape& tape = *tape_;
  if (has_external())
    throw UsageError("C source cannot be made: the program calls the external function '" +
                     tape.calls.front().function->name + "'");
  bool identifier = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_');
  for (const char ch : name) identifier = identifier && (std::isalnum(static_cast<unsigned char>(ch)) || ch == '_');
  if (!identifier) throw UsageError("'" + name + "' cannot be the name of a C function");

  const TapeWords words{.number = c_number,
                        .input = [](std::size_t group, std::uint32_t k) { return fmt::format("in[{}][{}]", group, k); },
                        .output = [](std::size_t group, std::size_t k) { return fmt::format("out[{}][{}]", group, k); },
                        .function = [](Op op) { return std::string(info(op).name); }};  // that of C
  std::string text =
      fmt::format("#include <math.h>\n\nvoid {}(const double* const* in, double* const* out) {{\n", name);
  text += tape_text(tape, words);
  text += "  (void)in;\n  (void)out;\n}\n";
  return text;
}

}  // namespace saltus
