// Mutation fuzzing of the Modelica reader: texts that are almost Modelica must be read or diagnosed, never crash; what
// was read must survive being printed and read again, and must flatten into a model or into diagnostics, within limits.
//
//   saltus_fuzz_modelica ITERATIONS SEED      a deterministic run; prints how many texts were read and flattened
//
// With clang, -fsanitize=fuzzer and -DSALTUS_LIBFUZZER the same checks run under libFuzzer.
#include "modelica/flatten/load.hpp"
#include "modelica/parser.hpp"
#include "modelica/printer.hpp"

#include <saltus/model/text.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <utility>
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

// What is written as Base Modelica is read with as many variables, equations and clauses.
void check_writing(const saltus::Model& model, std::string_view input) {
  std::string text;
  try {
    text = saltus::base_modelica(model);
  } catch (const saltus::ModelError&) {
    return;  // it says what is in the way
  }
  try {
    const saltus::Model again = load(text, "written.bmo", {}, {}).model;
    const saltus::ModelData &a = model.data(), &b = again.data();
    if (a.variables.size() != b.variables.size() || a.parameters.size() != b.parameters.size() ||
        a.equations.size() != b.equations.size() || a.definitions.size() != b.definitions.size() ||
        a.clauses.size() != b.clauses.size() || a.assertions.size() > b.assertions.size())  // E(n) adds its own
      give_up("a written model changes when it is read:\n" + text + saltus::base_modelica(again), input);
  } catch (const saltus::ModelicaError& error) {
    const std::string_view what = error.what();
    if (what.find("nested") != std::string_view::npos || what.find("nesting") != std::string_view::npos) return;
    give_up("what was written cannot be read:\n" + text + error.what(), input);
  }
}

// Returns whether the text became a model.
bool check_flattening(std::string_view input) {
  FlattenLimits limits;  // small, so that a mutated number does not cost minutes
  limits.scalars = 2000;
  limits.work = 200000;
  try {
    const saltus::ModelicaModel loaded = load(input, "fuzz.mo", {}, limits);
    for (const auto& note : loaded.notes)
      if (note.severity == saltus::Severity::error) give_up("a loaded model has errors", input);
    check_writing(loaded.model, input);
    return true;
  } catch (const saltus::ModelicaError& error) {
    if (!error.diagnostics().has_errors()) give_up("refused without an error", input);
    for (const auto& item : error.diagnostics().items())
      if (!item.where.known() || item.message.empty()) give_up("a message has no place", input);
  } catch (const std::exception& error) {
    give_up(std::string("flattening throws: ") + error.what(), input);
  }
  return false;
}

struct Outcome {
  bool read = false, flattened = false;
};

Outcome check(std::string_view input) {
  const ParseResult result = parse(input, "fuzz.mo");
  const std::string rendered = result.diagnostics.render();
  if (result.ok() != (result.diagnostics.error_count() == 0)) give_up("the count of errors is wrong", input);
  if (result.diagnostics.items().size() > 2 * saltus::Diagnostics::default_limit) give_up("too many messages", input);
  for (const auto& item : result.diagnostics.items())
    if (!item.where.known() || item.length < 1 || item.message.empty()) give_up("a message has no place", input);
  if (!result.ok()) return {};
  for (const ClassDefinition* definition : result.ast.root.classes)
    if (const auto* body = definition->as<LongClass>())
      for (const auto& section : body->equations)
        for (const Equation* equation : section.equations) check_printing(*equation, input);
  return {true, check_flattening(input)};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  check({reinterpret_cast<const char*>(data), size});
  return 0;
}

#ifndef SALTUS_LIBFUZZER
namespace {

constexpr std::array<std::string_view, 31> corpus{
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
    // from here on they flatten
    "function f\n  input Real x;\n  output Real y;\nprotected\n  Integer n;\nalgorithm\n  y := x;\n  n := 0;\n"
    "  while y < 3 and n < 4 loop\n    y := y + 1;\n    n := n + 1;\n    if y > 2.5 then\n      break;\n    end if;\n"
    "  end while;\n  for i in 1:3 loop\n    if x < i then\n      return;\n    end if;\n    y := y*i;\n  end for;\n"
    "end f;\nmodel M\n  Real y = f(time);\nend M;\n",
    "package A\n  replaceable constant Integer n = 1;\n  replaceable type T = Real(start = 1);\n"
    "  replaceable model X = Y(k = 2) constrainedby Y(m = 3);\n  model Y\n    parameter Real k = 1, m = 1;\n"
    "    Real y = k + m;\n  end Y;\n  model N\n    T x(fixed = true);\n    X p[n];\n  equation\n    der(x) = "
    "sum(p.y);\n"
    "  end N;\nend A;\npackage B\n  extends A;\n  redeclare constant Integer n = 2;\n"
    "  redeclare replaceable model X = Y(k = 5);\nend B;\nmodel M\n  B.N b;\n  A.N a;\nend M;\n",
    "//! base 0.1.0\npackage 'P'\n  type 'E' = enumeration('a', 'b');\n  pure constant function 'f'\n    input Real "
    "'u';\n"
    "    output Real 'y';\n  algorithm\n    'y' := 2*'u';\n  end 'f';\n  model 'P'\n    parameter Real 'a.p' = 3 @1;\n"
    "    Real 'x[1]'(fixed = true);\n    parameter equation guess('x[1]') = prioritize('a.p', 2);\n    discrete 'E' "
    "'e';\n"
    "    discrete Integer 'n'(start = 1);\n  equation\n    der('x[1]') = 'f'('a.p') - 'x[1]' @2;\n"
    "    'e' = (if ('x[1]' > 1) then 'E'.'a' else 'E'(integer(2)));\n    when sample(0, 0.5) then\n"
    "      'n' = pre('n') + Integer('e');\n    end when;\n  end 'P';\nend 'P';\n",
    "model Tank\n  parameter Integer n(min = 1) = 3;\n  parameter Real dx = 1/n, c[:] = {i^2 for i in 1:n};\n"
    "  Real T[n](start = c, each fixed = true), s = sum(T)/size(T, 1);\nequation\n  der(T[1]) = (T[2] - T[1])/dx^2;\n"
    "  for i in 2:n-1 loop\n    der(T[i]) = T[i-1] - 2*T[i] + T[i+1];\n  end for;\n  der(T[n]) = if s > 1 then -T[n] "
    "else 0;\nend Tank;\n",
    "package P\n  connector Pin\n    Real v;\n    flow Real i;\n  end Pin;\n  partial model One\n    Pin p, n;\n    "
    "Real v = p.v - n.v;\n  equation\n"
    "    p.i + n.i = 0;\n  end One;\n  model R\n    extends One;\n    parameter Real R = 1;\n  equation\n    v = "
    "R*p.i;\n  end R;\n"
    "  model C\n    extends One(v(start = 1, fixed = true));\n  equation\n    der(v) = p.i;\n  end C;\n  model M\n    "
    "R r[2](R = {1, 2});\n    C c;\n    Pin g;\n"
    "  equation\n    connect(r[1].n, r[2].p);\n    connect(r[2].n, c.p);\n    connect(c.n, r[1].p);\n    connect(g, "
    "c.n);\n    g.v = 0;\n  end M;\nend P;\n",
    "function f\n  input Real x[:];\n  input Real k = 2;\n  output Real y;\n  output Integer n;\nprotected\n  Real "
    "w[3];\nalgorithm\n  y := 0;\n"
    "  for i in 1:size(x, 1) loop\n    if x[i] > k then\n      y := y + x[i];\n    else\n      y := y - 1;\n    end "
    "if;\n  end for;\n  w[2] := y;\n"
    "  n := integer(w[2]);\nend f;\nmodel M\n  Real x(start = 1), y;\n  Real z[2] = {x, 2*x};\n  Integer "
    "n;\nequation\n  der(x) = -y;\n  (y, n) = f(z, k = 1);\nend M;\n",
    "model E\n  type G = enumeration(a, b, c);\n  G g(start = G.a);\n  Boolean u = time > 1, h;\n  Integer n(start = "
    "0);\n  discrete Real q(start = 0.5);\n"
    "  Real x(start = 0);\nequation\n  der(x) = if g == G.b then 1 elseif h then -1 else 0;\n  h = x > 1 or pre(h) and "
    "x > 0;\n  when sample(0, 0.1) then\n"
    "    n = pre(n) + 1;\n    q = x + n;\n  elsewhen edge(u) then\n    n = 0;\n    q = pre(q);\n  end when;\n  when "
    "{initial(), change(n)} then\n"
    "    g = if n > 3 then G.b else G.c;\n  end when;\nend E;\n",
    "model A\n  Real x(start = 1), y, z;\n  Integer k(start = 0);\nequation\n  der(x) = z;\ninitial equation\n  x = "
    "2;\nalgorithm\n  y := x^2;\n  z := 0;\n"
    "  for i in 1:3 loop\n    z := z + i*y;\n    if z > 3 then\n      z := -z;\n    end if;\n  end for;\n  when y > 2 "
    "then\n    k := pre(k) + 1;\n    reinit(x, 0);\n  end when;\nend A;\n",
    "record R\n  Real a = 1, b;\nend R;\nmodel M\n  parameter R p = R(b = 2), q(a = 3, b = p.a);\n  R r(a = time, b = "
    "2), s = r;\n  Real x = p.b + s.b + q.b;\n"
    "  Real A[2, 2] = [1, 2; 3, 4]*transpose([x, 0; 1, x]), v[2] = A*{1, 2} .+ 3, w = v*v;\nend M;\n",
    "model C\n  parameter Boolean on = true;\n  parameter Integer k = 2;\n  Real a, b;\n  D d if on;\n  model D\n    "
    "Real y = 1;\n  end D;\nequation\n"
    "  if on and k > 1 then\n    a = 1;\n  else\n    a = 2;\n    b = 3;\n  end if;\n  if a > time then\n    b = 0;\n  "
    "elseif a < -time then\n    a = b;\n  else\n    der(b) = 1;\n  end if;\n"
    "  assert(a > 0, \"a is \" + String(a));\nend C;\n",
    "package L\n  constant Real g = 9.81;\n  import L.Q.*;\n  package Q\n    constant Integer m[2] = {1, 2};\n    type "
    "V = Real[2](each unit = \"m\");\n    block B\n"
    "      input Real u;\n      output Real y = u + g;\n    end B;\n  end Q;\n  model M\n    import H = L.g;\n    Q.V "
    "v = {H, g};\n    B b(u = v[2]);\n"
    "    Real z = b.y + L.Q.m[end];\n  end M;\nend L;\n",
    "model T\n  Real x(start = 0), m = mod(time, 2) + rem(x, 3) + div(x, 2) + floor(x) + ceil(x) + abs(x) + sign(x) + "
    "min(x, 1) + max({x, 2, 3});\n"
    "  Real y = noEvent(if x > 0 then sqrt(x) else 0) + smooth(0, x) + semiLinear(x, 1, 2) + homotopy(x, 0) + atan2(x, "
    "1) + exp(-x);\nequation\n"
    "  der(x) = 1;\n  when x > 2 then\n    terminate(\"end\");\n  end when;\nend T;\n",
    "model Z\n  Real a[3] = linspace(0, 1, 3), b[3] = cross(a, {1, 2, 3}), c = product(a) + sum(b[i]*i for i in "
    "1:3);\n  Real D[3, 3] = diagonal(a) + identity(3) + skew(b);\n"
    "  Real e[4] = cat(1, a, {b[1]}), f = a[end] + D[2, :]*a + scalar([4]) + ndims(D), h[2, 3] = {10*i + j for j in "
    "1:3, i in 1:2};\nend Z;\n",
    "model V\n  parameter Real a = 2;\n  Real x(start = a + 1, fixed = true);\n  Real[3] z[2](each start = a);\n  Real "
    "f = "
    "if x > 0 then -1 else 1 annotation(__saltus_surface = \"crossing\");\nequation\n  der(x) = f;\n  for i in 1:2, j "
    "in "
    "1:3 loop\n    der(z[i, j]) = if z[i, j] > x then -1 else 1 annotation(__saltus_surface = \"stop\");\n  end for;\n "
    " "
    "if x > a then\n    assert(x > 0, \"\");\n  end if annotation(__saltus_surface = \"filippov\", __other = 1);\nend "
    "V;\n",
    "package Medium\n  constant Real c = 1;\n  replaceable partial function h\n    input Real T;\n    output Real y;\n "
    " end h;\nend "
    "Medium;\n"
    "package Water\n  extends Medium(c = 4);\n  redeclare function extends h\n  algorithm\n    y := c*T;\n  end "
    "h;\nend Water;\n"
    "partial model Part\n  parameter Real k = 1;\n  Real y;\nend Part;\nmodel Once\n  extends Part;\nequation\n  y = "
    "k;\nend Once;\n"
    "model A\n  replaceable package M = Water constrainedby Medium;\n  replaceable Once p(k = 3) constrainedby Part(k "
    "= 2);\n"
    "  replaceable model P = Once;\n  P q;\n  Real z = M.h(p.y);\nend A;\n"
    "model B\n  extends A;\n  redeclare model P = Once(k = 5);\nend B;\n"
    "model C\n  A a(redeclare package M = Water(c = 2), redeclare Once p(k = 7)), b[2](redeclare model P = Once);\n  B "
    "d;\nend C;\n",
    "model K\n  Clock c = Clock(1, 10), d = subSample(c, 2), e = shiftSample(c, 1, 3);\n  Real x(start = 1), y, z, u = "
    "hold(y), w(start = 0);\n  Boolean f;\nequation\n  when c then\n    y = previous(y) + interval();\n    f = "
    "firstTick();\n  end when;\n  z = superSample(subSample(y, 2)) + backSample(x, 1, 3) + sample(time, c);\n"
    "  x = noClock(y) + sample(u, e);\n  der(w) = -w + sample(1, Clock(d, solverMethod = \"ImplicitEuler\"));\nend K;\n"
    "model E\n  Integer n(start = 0);\nequation\n  when Clock(time > 1, 0.5) then\n    n = previous(n) + 1;\n  end "
    "when;\nend E;\n",
    "function twice\n  input F f;\n  input Real u;\n  output Real y = f(f(u));\nend twice;\npartial function "
    "F\n  input Real u;\n  output Real y;\nend F;\nfunction line\n  extends F;\n  input Real k = 1;\nalgorithm\n  y := "
    "k*u;\nend line;\n"
    "model G\n  Real x = twice(function line(k = 2), time), v[:] = {x, 2*x}, h, y;\n  inner Real g = x;\n  "
    "model P\n    inner outer Real g = 2*g;\n  end P;\n  P p;\n  parameter "
    "String s = getInstanceName();\nequation\n  y = semiLinear(x, 1, h);\n  y = semiLinear(x, h, 2);\nend G;\n",
    "function power\n  input Integer n;\n  output Integer y;\nalgorithm\n  y := if n <= 0 then 1 else 2*power(n - "
    "1);\nend power;\n"
    "model World\n  parameter Real g = 9.81;\n  parameter String names[:] = {\"a\", \"b\"};\nend World;\n"
    "model Body\n  outer World world;\n  parameter Real p(fixed = false), t0(fixed = false);\n  Real a = world.g + p;\n"
    "initial equation\n  p = power(3);\n  t0 = time;\nend Body;\n"
    "model M\n  inner World world(g = 2);\n  Body b[2];\n  Integer i = if time > 0.5 then 1 else 2;\n  Real v[2] = {1, "
    "2}, y = v[i];\n"
    "  Real x(stateSelect = StateSelect.prefer) = time;\nequation\n  assert(x > -1, \"low\", "
    "AssertionLevel.warning);\nend M;\n",
    "operator record C\n  Real a, b;\n  operator function '+'\n    input C x;\n    input C y;\n    output C z;\n  "
    "algorithm\n"
    "    z := C(x.a + y.a, x.b + y.b);\n  end '+';\nend C;\n"
    "class T\n  extends ExternalObject;\n  function constructor\n    input String fileName;\n    input Real table[:, "
    ":];\n"
    "    input Integer columns[:];\n    input Integer smoothness;\n    input Integer extrapolation;\n    output T t;\n"
    "  external \"C\" t = ModelicaStandardTables_CombiTable1D_init3(table);\n  end constructor;\nend T;\n"
    "function value\n  input T t;\n  input Integer k;\n  input Real u;\n  output Real y;\n"
    "external \"C\" y = ModelicaStandardTables_CombiTable1D_getValue(t, k, u);\nend value;\n"
    "record R\n  Real c;\n  function equalityConstraint\n    input R x;\n    input R y;\n    output Real r[0];\n  "
    "algorithm\n"
    "  end equalityConstraint;\nend R;\nconnector F\n  Real x;\n  flow Real f;\n  R r;\nend F;\n"
    "model G\n  F b;\nequation\n  Connections.root(b.r);\n  b.x = 0;\n  b.r.c = 1;\nend G;\n"
    "model L\n  F a, b;\nequation\n  Connections.branch(a.r, b.r);\n  a.f + b.f = 0;\n  a.f = a.x - b.x;\n  b.r.c = "
    "a.r.c;\nend L;\n"
    "model M\n  C p = C(1, 2) + C(3, time), q[2] = {p, p} + {p, p};\n  parameter T t = T(\"NoName\", [0, 0; 1, 1; 2, "
    "5], {2}, 2, 1);\n"
    "  Real y = value(t, 1, time);\n  G g;\n  L l, m;\nequation\n  connect(g.b, l.a);\n  connect(g.b, m.a);\n  "
    "connect(l.b, m.b);\n"
    "end M;\n",
};

constexpr std::size_t first_that_flattens = 12;

constexpr std::array<std::string_view, 66> tokens{"algorithm",
                                                  "and",
                                                  "annotation",
                                                  "break",
                                                  "connect(",
                                                  "der(",
                                                  "each",
                                                  "else",
                                                  "elseif",
                                                  "elsewhen",
                                                  "end",
                                                  "end if",
                                                  "end M;",
                                                  "enumeration",
                                                  "equation",
                                                  "extends",
                                                  "external",
                                                  "final",
                                                  "for",
                                                  "function",
                                                  "if",
                                                  "import",
                                                  "in",
                                                  "initial",
                                                  "loop",
                                                  "model",
                                                  "not",
                                                  "or",
                                                  "parameter",
                                                  "protected",
                                                  "redeclare",
                                                  "replaceable",
                                                  "then",
                                                  "when",
                                                  "while",
                                                  "(",
                                                  ")",
                                                  "[",
                                                  "]",
                                                  "{",
                                                  "}",
                                                  ";",
                                                  ",",
                                                  ":",
                                                  ":=",
                                                  "==",
                                                  "=",
                                                  ".",
                                                  ".*",
                                                  "+",
                                                  "-",
                                                  "^",
                                                  "\"",
                                                  "'",
                                                  "inner ",
                                                  "outer ",
                                                  "constrainedby ",
                                                  "(fixed = false)",
                                                  "/*",
                                                  "//",
                                                  "1e",
                                                  "endif",
                                                  "\n",
                                                  "\xCE\xB1",
                                                  "!=",
                                                  "\\"};

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

// Words of the text change places, numbers change, lines are repeated or lost: mostly still Modelica, mostly with
// another meaning.
std::string mutate_meaning(std::string text, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const std::size_t rounds = 1 + below(3);
  for (std::size_t round = 0; round < rounds; ++round) {
    std::vector<std::pair<std::size_t, std::size_t>> names, numbers;
    for (std::size_t i = 0; i < text.size();) {
      if (!is_word(text[i])) {
        ++i;
        continue;
      }
      const std::size_t begin = i;
      while (i < text.size() && is_word(text[i])) ++i;
      (std::isdigit(static_cast<unsigned char>(text[begin])) ? numbers : names).emplace_back(begin, i - begin);
    }
    const std::size_t kind = below(5);
    if (kind < 2 && !names.empty()) {
      const auto to = names[below(names.size())], from = names[below(names.size())];
      text.replace(to.first, to.second, text.substr(from.first, from.second));
    } else if (kind < 3 && !numbers.empty()) {
      constexpr std::array<std::string_view, 8> values{"0", "1", "-1", "2", "1e308", "1000000000", "0.5", "n"};
      const auto to = numbers[below(numbers.size())];
      text.replace(to.first, to.second, values[below(values.size())]);
    } else {
      const std::size_t line = text.rfind('\n', below(text.size()));
      const std::size_t begin = line == std::string::npos ? 0 : line + 1, end = text.find('\n', begin);
      const std::string copy = text.substr(begin, end == std::string::npos ? end : end + 1 - begin);
      if (kind == 3)
        text.insert(begin, copy);
      else
        text.erase(begin, copy.size());
    }
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t iterations = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
  std::mt19937_64 random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
  for (std::size_t k = 0; k < corpus.size(); ++k) {
    if (!check(corpus[k]).read)
      give_up("a text of the corpus has errors:\n" + parse(corpus[k], "corpus.mo").diagnostics.render(), corpus[k]);
    if (k >= first_that_flattens) saltus::load_modelica(corpus[k], "corpus.mo");
  }
  std::size_t clean = 0, flattened = 0;
  for (std::size_t i = 0; i < iterations; ++i) {
    const std::string_view text = corpus[random() % corpus.size()];
    const bool spelling_only = random() % 3 == 0;
    const Outcome outcome =
        check(spelling_only ? mutate(std::string(text), random) : mutate_meaning(std::string(text), random));
    clean += outcome.read ? 1 : 0;
    flattened += outcome.flattened ? 1 : 0;
  }
  std::printf("%zu texts, %zu of them read without errors, %zu flattened\n", iterations, clean, flattened);
  return 0;
}
#endif
