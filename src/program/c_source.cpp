// The tape as C source. Fused operations are written as fma(), so a compiler that does not contract on its own
// (-ffp-contract=off) gives the same bits as the interpreter.
#include <fmt/format.h>
#include <saltus/program/program.hpp>

#include <cctype>
#include <cmath>
#include <iterator>

namespace saltus {

namespace {

std::string c_number(double value) {
  if (std::isnan(value)) return "NAN";
  if (std::isinf(value)) return value > 0 ? "INFINITY" : "-INFINITY";
  return fmt::format("{:a}", value);
}

std::string c_expression(const Instruction& i, const std::string& a, const std::string& b, const std::string& c) {
  switch (i.op) {
    case Op::add: return a + " + " + b;
    case Op::sub: return a + " - " + b;
    case Op::mul: return a + " * " + b;
    case Op::div: return a + " / " + b;
    case Op::neg: return "-" + a;
    case Op::fma: return fmt::format("fma({}, {}, {})", a, b, c);
    case Op::fms: return fmt::format("fma({}, {}, -{})", a, b, c);
    case Op::fnma: return fmt::format("fma(-{}, {}, {})", a, b, c);
    case Op::positive: return a + " > 0 ? 1.0 : 0.0";
    case Op::nonnegative: return a + " >= 0 ? 1.0 : 0.0";
    case Op::logical_and: return fmt::format("{} != 0 && {} != 0 ? 1.0 : 0.0", a, b);
    case Op::logical_or: return fmt::format("{} != 0 || {} != 0 ? 1.0 : 0.0", a, b);
    case Op::logical_not: return a + " == 0 ? 1.0 : 0.0";
    case Op::select: return fmt::format("{} != 0 ? {} : {}", a, b, c);
    default: break;
  }
  const Operator& function = info(i.op);  // its name is that of C
  return function.operands == 2 ? fmt::format("{}({}, {})", function.name, a, b) : fmt::format("{}({})", function.name, a);
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

  const std::uint32_t first_temporary = tape.first_temporary();
  const auto operand = [&](std::uint32_t slot) {
    if (slot >= first_temporary) return fmt::format("s{}", slot - first_temporary);
    if (slot < tape.first_input()) return "(" + c_number(tape.constants[slot]) + ")";
    std::uint32_t k = slot - tape.first_input();
    std::size_t group = 0;
    while (k >= tape.input_sizes[group]) k -= tape.input_sizes[group++];
    return fmt::format("in[{}][{}]", group, k);
  };
  std::string text = fmt::format("#include <math.h>\n\nvoid {}(const double* const* in, double* const* out) {{\n", name);
  auto out = std::back_inserter(text);
  if (tape.temporaries > 0) {
    text += "  double";
    for (std::uint32_t k = 0; k < tape.temporaries; ++k) fmt::format_to(out, "{}s{}", k == 0 ? " " : ", ", k);
    text += ";\n";
  }
  for (const Instruction& i : tape.code) {
    const int count = operand_count(i.op);
    fmt::format_to(out, "  s{} = {};\n", i.result - first_temporary,
                   c_expression(i, operand(i.a), count > 1 ? operand(i.b) : "", count > 2 ? operand(i.c) : ""));
  }
  for (std::size_t g = 0; g < tape.outputs.size(); ++g)
    for (std::size_t k = 0; k < tape.outputs[g].size(); ++k)
      fmt::format_to(out, "  out[{}][{}] = {};\n", g, k, operand(tape.outputs[g][k]));
  text += "  (void)in;\n  (void)out;\n}\n";
  return text;
}

}  // namespace saltus
