// Mutation fuzzing of the Modelica parser: texts that are almost Modelica must be read or diagnosed, never crash, and
// what was read must survive being printed and read again.
//
//   saltus_fuzz_modelica ITERATIONS SEED      a deterministic run; prints how many texts were read without errors
//
// With clang, -fsanitize=fuzzer and -DSALTUS_LIBFUZZER the same checks run under libFuzzer.
#include "modelica/parser.hpp"
#include "modelica/printer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace saltus::modelica;

[[noreturn]] void give_up(std::string_view what, std::string_view input) {
  std::fprintf(stderr, "%.*s\n--- input of %zu bytes ---\n%.*s\n", static_cast<int>(what.size()), what.data(),
               input.size(), static_cast<int>(input.size()), input.data());
  std::abort();
}

void check_printing(const Equation& equation, std::string_view input) {
  const std::string printed = print(equation);
  const ParseResult again = parse("model M equation\n" + printed + "end M;", "printed.mo");
  if (!again.ok()) give_up("a printed equation cannot be read:\n" + printed + again.diagnostics.render(), input);
  const auto* body = again.ast.root.classes.at(0)->as<LongClass>();
  if (print(*body->equations.at(0).equations.at(0)) != printed)
    give_up("a printed equation changes when it is printed again:\n" + printed, input);
}

// Returns whether the text was read without errors.
bool check(std::string_view input) {
  const ParseResult result = parse(input, "fuzz.mo");
  const std::string rendered = result.diagnostics.render();
  if (result.ok() != (result.diagnostics.error_count() == 0)) give_up("the count of errors is wrong", input);
  if (result.diagnostics.items().size() > 2 * saltus::Diagnostics::default_limit) give_up("too many messages", input);
  for (const auto& item : result.diagnostics.items())
    if (!item.where.known() || item.length < 1 || item.message.empty()) give_up("a message has no place", input);
  if (!result.ok()) return false;
  for (const ClassDefinition* definition : result.ast.root.classes)
    if (const auto* body = definition->as<LongClass>())
      for (const auto& section : body->equations)
        for (const Equation* equation : section.equations) check_printing(*equation, input);
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifndef SALTUS_LIBFUZZER
namespace {

constexpr std::array<std::string_view, 12> corpus{
    "model Ball \"a ball\"\n  parameter Real g = 9.81 \"gravity\";\n  Real h(start = 1, fixed = true), v;\nequation\n"
    "  der(h) = v;\n  der(v) = -g;\n  when h < 0 then\n    reinit(v, -0.8*pre(v));\n  end when;\n"
    "  annotation(experiment(StopTime = 3, Tolerance = 1e-8));\nend Ball;\n",
    "model M\n  Real x[3], y;\nequation\n  for i in 1:3, j loop\n    x[i] = if y > 0 then i^2 elseif y < -1 then 0 "
    "else "
    "sum(x[k] for k in 1:2:n);\n  end for;\n  if initial() then\n    y = 1;\n  elseif x[end] <> 2 then\n    y = 2;\n"
    "  else\n    y = 3;\n  end if;\nend M;\n",
    "function f\n  input Real x;\n  output Real y;\nprotected\n  Integer i;\nalgorithm\n  y := 0;\n  while i < 10 "
    "loop\n"
    "    (y, i) := g(x, i, n = 3);\n    if y > 1 then break; elseif y < 0 then return; end if;\n  end while;\n"
    "  for i loop y := y + x; end for;\nend f;\n",
    "within A.B;\nencapsulated package P\n  import SI = Modelica.Units.SI;\n  import A.*;\n  import B.{c, d};\n"
    "  type E = enumeration(a \"first\", b);\n  type T = input Real[3](unit = \"m\", each min = 0);\n"
    "  function g = der(f, x);\n  operator record C\n    Real re, im;\n    operator '+' end '+';\n  end C;\nend P;\n",
    "model R\n  extends A(redeclare replaceable model X = Y constrainedby Z, final b(c = 2), break d);\n"
    "  replaceable package Q = W constrainedby V(k = 1) \"q\";\n  inner outer flow Real z if use_z;\n"
    "  expandable connector K end K;\ninitial equation\n  connect(a.b[1], c);\ninitial algorithm\n  x := 1;\nend R;\n",
    "model X\n  Real A[2, :] = [1, 2; 3, 4] .* {{1, 2}, {3, 4}} ./ 2 .^ 2;\n  Boolean b = not (a and b or c <= d);\n"
    "equation\n  (a, , b) = f(function g(q = 1), h = {});\n  .A.B.c = -(a + b)*c/(d - e)^(-2);\n  x = (a:b)[1];\nend "
    "X;\n",
    "function e\n  external \"C\" y = foo(x, 2) annotation(Library = \"m\");\nend e;\n",
    "partial block B // comment\n  /* multi\n line */ discrete Real 'quoted name'(start = \"a\\n\\\"b\");\n"
    "algorithm\n  when {a, b} then\n    x := pre(x);\n  elsewhen sample(0, 1) then\n    x := 2;\n  end when;\nend B;\n",
    "class extends C(x = 1) Real y; end C;\n",
    "pure function p end p; impure function q end q; final connector L = M;\n",
    "model S\nequation\n  assert(x > 0, \"x = \" + String(x));\n  terminate(\"done\");\n  x = 1e300 + 1.5e-3 - 3;\nend "
    "S;\n",
    "model D\n  Real x = 1 annotation(Dialog(group = \"a\"));\n  constant Integer n = 3;\n  Real y[n] = fill(0, "
    "n);\nend D;\n",
};

constexpr std::array<std::string_view, 62> tokens{
    "algorithm", "and",       "annotation", "break",     "connect(",    "der(",     "each",    "else",     "elseif",
    "elsewhen",  "end",       "end if",     "end M;",    "enumeration", "equation", "extends", "external", "final",
    "for",       "function",  "if",         "import",    "in",          "initial",  "loop",    "model",    "not",
    "or",        "parameter", "protected",  "redeclare", "replaceable", "then",     "when",    "while",    "(",
    ")",         "[",         "]",          "{",         "}",           ";",        ",",       ":",        ":=",
    "==",        "=",         ".",          ".*",        "+",           "-",        "^",       "\"",       "'",
    "/*",        "//",        "1e",         "endif",     "\n",          "\xCE\xB1", "!=",      "\\"};

std::string mutate(std::string text, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  const std::size_t rounds = 1 + below(6);
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(text.size() - at, 24) + 1);
    switch (below(7)) {
      case 0:  // flip a bit
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 1:  // insert a token
        text.insert(at, " " + std::string(tokens[below(tokens.size())]) + " ");
        break;
      case 2:  // delete
        text.erase(at, length);
        break;
      case 3:  // repeat
        text.insert(at, text.substr(at, length));
        break;
      case 4: {  // splice a piece of another text
        const std::string_view other = corpus[below(corpus.size())];
        const std::size_t from = below(other.size());
        text.insert(at, other.substr(from, below(80)));
        break;
      }
      case 5:  // a random byte
        text.insert(at, 1, static_cast<char>(below(256)));
        break;
      default:  // replace a piece by a token
        text.replace(at, length, tokens[below(tokens.size())]);
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t iterations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  for (const auto text : corpus)
    if (!check(text))
      give_up("a text of the corpus has errors:\n" + parse(text, "corpus.mo").diagnostics.render(), text);
  std::size_t clean = 0;
  for (std::size_t i = 0; i < iterations; ++i)
    clean += check(mutate(std::string(corpus[random() % corpus.size()]), random)) ? 1 : 0;
  std::printf("%zu texts, %zu of them without errors\n", iterations, clean);
  return 0;
}
#endif
