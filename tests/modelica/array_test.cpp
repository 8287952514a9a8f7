// Arrays: declarations, constructors, functions, slices, products, loops.
#include <gtest/gtest.h>
#include <saltus/expr/print.hpp>

#include <cmath>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

/// The values of an array expression, through start values.
std::vector<double> values_of(const std::string& declarations, const std::string& expression, const std::string& size) {
  const auto m = load_text("model M\n" + declarations + "\n  Real x" + size + "(start = " + expression +
                           ", each fixed = true);\nequation\n  der(x) = 0*x;\nend M;\n");
  std::vector<double> values;
  for (const auto& info : m.model.data().variable_info) values.push_back(info.start);
  return values;
}

using Values = std::vector<double>;

TEST(Arrays, ScalarsAreNamedLikeTheirReferences) {
  const auto m = load_text(
      "model M\n  Real T[2], A[2,3];\n  Boolean b[2] = {T[1] > 0, true};\nequation\n  T = {1, 2};\n"
      "  A = fill(0, 2, 3);\nend M;\n");
  std::vector<std::string> names;
  for (const auto& info : m.model.data().variable_info) names.push_back(info.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"T[1]", "T[2]", "A[1,1]", "A[1,2]", "A[1,3]", "A[2,1]", "A[2,2]", "A[2,3]"}));
  EXPECT_EQ(m.model.data().discretes.at(1).name, "b[2]");
}

TEST(Arrays, ConstructorsRangesAndComprehensions) {
  EXPECT_EQ(values_of("", "{1, 2, 3}", "[3]"), (Values{1, 2, 3}));
  EXPECT_EQ(values_of("", "1:2:5", "[3]"), (Values{1, 3, 5}));
  EXPECT_EQ(values_of("", "0:0.25:1", "[5]"), (Values{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(values_of("", "3:-1:1", "[3]"), (Values{3, 2, 1}));
  EXPECT_EQ(values_of("", "{i^2 for i in 1:4}", "[4]"), (Values{1, 4, 9, 16}));
  EXPECT_EQ(values_of("", "{10*i + j for j in 1:3, i in 1:2}", "[2,3]"), (Values{11, 12, 13, 21, 22, 23}));
  EXPECT_EQ(values_of("", "[1, 2; 3, 4]", "[2,2]"), (Values{1, 2, 3, 4}));
  EXPECT_EQ(values_of("parameter Real v[2] = {5, 6};", "[v, {7, 8}]", "[2,2]"), (Values{5, 7, 6, 8}));
}

TEST(Arrays, FunctionsOfArrays) {
  const std::string a = "  constant Real a[3] = {1, 2, 3}, b[3] = {4, 5, 6}, A[2,3] = [1, 2, 3; 4, 5, 6];";
  EXPECT_EQ(values_of(a, "{sum(a), product(a), min(a), max(b), sum(A), size(A, 2)}", "[6]"),
            (Values{6, 6, 1, 6, 21, 3}));
  EXPECT_EQ(values_of(a, "{sum(i*a[i] for i in 1:3), product(i for i in 1:5), max(abs(2 - i) for i in a)}", "[3]"),
            (Values{14, 120, 1}));
  EXPECT_EQ(values_of(a, "size(A)", "[2]"), (Values{2, 3}));
  EXPECT_EQ(values_of(a, "cross(a, b)", "[3]"), (Values{-3, 6, -3}));
  EXPECT_EQ(values_of(a, "linspace(0, 1, 3)", "[3]"), (Values{0, 0.5, 1}));
  EXPECT_EQ(values_of(a, "transpose(A)", "[3,2]"), (Values{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values_of(a, "identity(2) + ones(2, 2) + zeros(2, 2) + fill(3, 2, 2)", "[2,2]"), (Values{5, 4, 4, 5}));
  EXPECT_EQ(values_of(a, "diagonal({1, 2})", "[2,2]"), (Values{1, 0, 0, 2}));
  EXPECT_EQ(values_of(a, "cat(1, a, b[1:2])", "[5]"), (Values{1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of(a, "cat(2, A, [7; 8])", "[2,4]"), (Values{1, 2, 3, 7, 4, 5, 6, 8}));
  EXPECT_EQ(values_of(a, "vector(A)", "[6]"), (Values{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(a, "{scalar([7]), ndims(A)}", "[2]"), (Values{7, 2}));
  EXPECT_EQ(values_of(a, "outerProduct(a, {1, 2})", "[3,2]"), (Values{1, 2, 2, 4, 3, 6}));
  EXPECT_EQ(values_of(a, "skew(a)*b", "[3]"), (Values{-3, 6, -3}));
  EXPECT_EQ(values_of(a, "symmetric([1, 2; 3, 4])", "[2,2]"), (Values{1, 2, 2, 4}));
}

TEST(Arrays, ProductsAndElementwiseOperators) {
  const std::string a = "  parameter Real a[2] = {1, 2}, A[2,2] = [1, 2; 3, 4], s = 10;";
  EXPECT_EQ(values_of(a, "A*a", "[2]"), (Values{5, 11}));
  EXPECT_EQ(values_of(a, "a*A", "[2]"), (Values{7, 10}));
  EXPECT_EQ(values_of(a, "A*A", "[2,2]"), (Values{7, 10, 15, 22}));
  EXPECT_EQ(values_of(a, "A^2 - A*A", "[2,2]"), (Values{0, 0, 0, 0}));
  EXPECT_EQ(values_of(a, "{a*a}", "[1]"), (Values{5}));
  EXPECT_EQ(values_of(a, "s*a/2", "[2]"), (Values{5, 10}));
  EXPECT_EQ(values_of(a, "a .* a .+ s", "[2]"), (Values{11, 14}));
  EXPECT_EQ(values_of(a, "s ./ a", "[2]"), (Values{10, 5}));
  EXPECT_EQ(values_of(a, "a .^ 3", "[2]"), (Values{1, 8}));
  EXPECT_EQ(values_of(a, "sqrt(a .^ 2)", "[2]"), (Values{1, 2}));
}

TEST(Arrays, SlicesAndEnd) {
  const std::string a = "  constant Real a[5] = {1, 2, 3, 4, 5}, A[2,3] = [1, 2, 3; 4, 5, 6];";
  EXPECT_EQ(values_of(a, "a[2:end-1]", "[3]"), (Values{2, 3, 4}));
  EXPECT_EQ(values_of(a, "a[{5, 1}]", "[2]"), (Values{5, 1}));
  EXPECT_EQ(values_of(a, "A[2, :]", "[3]"), (Values{4, 5, 6}));
  EXPECT_EQ(values_of(a, "A[:, 2]", "[2]"), (Values{2, 5}));
  EXPECT_EQ(values_of(a, "A[1]", "[3]"), (Values{1, 2, 3}));
  EXPECT_EQ(values_of(a, "A[end, {1, end}]", "[2]"), (Values{4, 6}));
}

TEST(Arrays, SizesFollowParametersAndOverrides) {
  constexpr auto text =
      "model M\n  parameter Integer n = 3;\n  parameter Real c[:] = {i for i in 1:n};\n"
      "  Real x[size(c, 1)](each fixed = true, start = c);\nequation\n  for i in 1:n loop\n"
      "    der(x[i]) = if i == n then 1 else 0;\n  end for;\nend M;\n";
  const auto m = load_text(text);
  EXPECT_EQ(m.model.data().variables.size(), 3u);
  const auto larger = load_text(text, {.parameters = {{"n", 5.0}}});
  EXPECT_EQ(larger.model.data().variables.size(), 5u);
  EXPECT_NEAR(run(larger.model, 1.0).at(1.0, "x[5]"), 6.0, 1e-9);
  // n decides the structure: it is not a parameter that could be set afterwards
  for (const auto& p : m.model.data().parameters) EXPECT_NE(p.name, "n");
}

TEST(Arrays, ArrayEquationsHoldElementByElement) {
  // a rotation by a matrix: x' = A x
  const auto r = run_text(
      "model M\n  parameter Real A[2,2] = [0, -1; 1, 0];\n  Real x[2](start = {1, 0}, each fixed = true);\n"
      "  Real n = sqrt(x*x);\nequation\n  der(x) = A*x;\nend M;\n",
      1.0);
  EXPECT_NEAR(r.at(1.0, "x[1]"), std::cos(1.0), 1e-8);
  EXPECT_NEAR(r.at(1.0, "x[2]"), std::sin(1.0), 1e-8);
  EXPECT_NEAR(r.at(1.0, "n"), 1.0, 1e-8);
}

TEST(Arrays, NestedLoopsOverMatrices) {
  const auto m = load_text(
      "model M\n  parameter Integer n = 2, k = 3;\n  Real A[n,k];\nequation\n  for i in 1:n, j in 1:k loop\n"
      "    A[i,j] = if i == j then time else i + 10*j;\n  end for;\nend M;\n");
  ASSERT_EQ(m.model.data().equations.size(), 6u);
  EXPECT_EQ(to_string(m.model.data().equations[5].equation), "A[2,3] = 32");
  EXPECT_EQ(to_string(m.model.data().equations[4].equation), "A[2,2] = time");
}

TEST(Arrays, LoopsRunOverVectorsAndEnumerations) {
  const auto m = load_text(
      "model M\n  type E = enumeration(a, b, c);\n  parameter Real v[E] = {5, 6, 7};\n  Real x[3], y[2];\nequation\n"
      "  for e in E loop\n    x[e] = v[e];\n  end for;\n  for k in {2, 1} loop\n    y[k] = k;\n  end for;\nend M;\n");
  EXPECT_EQ(m.model.data().equations.size(), 5u);
  EXPECT_EQ(to_string(m.model.data().equations[3].equation), "y[2] = 2");
}

// `each` belongs to the component in whose parentheses it stands, and to those around it: the arrays inside it are
// given element by element.
TEST(Each, LeavesArraysInsideItToTheirElements) {
  const std::string classes =
      "record R\n  Real v[2], w;\nend R;\n"
      "model B\n  parameter Real x = 0;\n  parameter Real u[2] = {0, 0};\nend B;\n"
      "model A\n  B b[2];\n  parameter R r = R({0, 0}, 0);\nend A;\n";
  const struct {
    std::string modification;
    std::string value;  // of a[3].b[2] and a[3].r
    double expected;
  } cases[] = {
      {"b(x = [1, 2; 3, 4; 5, 6])", "b[2].x", 6.0},
      {"each b(x = {7, 8})", "b[2].x", 8.0},
      {"each b.x = 7", "b[2].x", 7.0},
      {"b(each x = 7)", "b[2].x", 7.0},
      {"each b(each x = 7)", "b[2].x", 7.0},
      {"each b(each u = {3, 4})", "b[2].u[2]", 4.0},
      {"each b(u = [3, 4; 5, 6])", "b[2].u[1]", 5.0},
      {"each r = R({1, 2}, 3)", "r.v[2]", 2.0},
      {"r = {R({k, 2*k}, 3*k) for k in 1:3}", "r.v[2]", 6.0},
      {"r(v = [1, 2; 3, 4; 5, 6], each w = 7)", "r.v[2] + 100*r.w", 706.0},
  };
  for (const auto& c : cases) {
    std::string value = "a[3]." + c.value;
    if (const auto sum = value.find("100*r"); sum != std::string::npos) value.replace(sum, 5, "100*a[3].r");
    const auto m =
        load_text(classes + "model M\n  A a[3](" + c.modification + ");\n  Real z = " + value + ";\nend M;\n");
    EXPECT_EQ(run(m.model, 1.0).at(1.0, "z"), c.expected) << c.modification;
  }
}

TEST(Each, IsAskedForWhereOneValueIsGivenForAnArray) {
  const std::string classes =
      "model B\n  parameter Real x = 0;\nend B;\nmodel A\n  B b[2];\n  Real y;\nequation\n  y = 1;\nend A;\n";
  const auto errors = [&](const std::string& declaration) {
    return load_errors(classes + "model M\n  " + declaration + ";\n  Real z = time;\nend M;\n");
  };
  for (const std::string declaration : {"B c[3](x = 1)", "A a(b(x = 1))", "A a[3](b(x = {1, 2, 3}))", "A a[3](b.x = 1)",
                                        "A a[3](each b(x = 1))", "A a[3](y(start = 1))"}) {
    const std::string text = errors(declaration);
    EXPECT_NE(text.find("a.mo:11:"), std::string::npos) << declaration << ": " << text;
    EXPECT_NE(text.find("modifies an array of components, but it is one value"), std::string::npos) << text;
    EXPECT_NE(text.find("write 'each' if it is meant for every element"), std::string::npos) << text;
  }
  for (const std::string attribute : {"start = 1", "fixed = true", "min = 0", "nominal = 2", "unit = \"m\""}) {
    const std::string text = errors("Real x[2](" + attribute + ") = {time, 2}");
    EXPECT_NE(text.find("a.mo:11:"), std::string::npos) << attribute << ": " << text;
    EXPECT_NE(text.find("is one value, but 'x' has the size 2"), std::string::npos) << attribute << ": " << text;
    EXPECT_EQ(errors("Real x[2](each " + attribute + ") = {time, 2}"), "") << attribute;
  }
  EXPECT_EQ(errors("A a[3](y(start = {1, 2, 3}))"), "");
  EXPECT_EQ(errors("A a[3](each y(start = 1))"), "");
  EXPECT_EQ(errors("A a[3](y(each start = 1))"), "");
}

TEST(Arrays, OpenSizesFollowFromValuesOfVariables) {
  const auto r = run_text(R"(model M
  block S
    input Boolean r[:];
    input Real v[:];
    Real s = sum(v);
    Boolean any = max(r);
  end S;
  Real x = time, y = 2*time;
  Real q[3] = {1, 2, 3}*time;
  S s(r = {time > 1, x > 2}, v = {x, y, x + y});
  S t(r = {true}, v = 2*q[2:3]);
  S u[2](r = {{x > 1, x > 9}, {x > 8, x > 9}}, v = {q, -q});
  Real z[:] = if time > 1 then q else -q;
  Real w[:, :] = [q, {x, x, x}];
end M;)",
                          3.0);
  EXPECT_NEAR(r.at(3.0, "s.s"), 18.0, 1e-12);
  EXPECT_NEAR(r.at(3.0, "t.s"), 30.0, 1e-12);
  EXPECT_NEAR(r.at(3.0, "u[2].s"), -18.0, 1e-12);
  EXPECT_EQ(r.at(3.0, "u[1].any"), 1.0);
  EXPECT_EQ(r.at(3.0, "u[2].any"), 0.0);
  EXPECT_NEAR(r.at(3.0, "z[3]"), 9.0, 1e-12);
  EXPECT_NEAR(r.at(3.0, "w[3,2]"), 3.0, 1e-12);
}

TEST(Arrays, ValuesMustHaveTheDimensionsOfOpenSizes) {
  EXPECT_NE(load_errors("model M\n  Real x = time;\n  Real a[:] = {{x, x}};\nend M;\n")
                .find("'a' has 1 dimensions, but its value has the size 1x2"),
            std::string::npos);
  EXPECT_NE(load_errors("model M\n  Real x = time;\n  Real a[:] = 2*x;\nend M;\n")
                .find("'a' has 1 dimensions, but its value is a scalar"),
            std::string::npos);
}

}  // namespace
}  // namespace saltus
