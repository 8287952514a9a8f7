// Functions of the library that are not followed statement by statement: roots, and linear equations of parameters.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

// The names are those of the Modelica Standard Library, which is not there.
const std::string nonlinear = R"(
package Modelica
  package Math
    package Nonlinear
      partial function partialScalarFunction
        input Real u;
        output Real y;
      end partialScalarFunction;
      function solveOneNonlinearEquation
        input partialScalarFunction f;
        input Real u_min;
        input Real u_max;
        input Real tolerance = 1e-14;
        output Real u;
      protected
        Real a = u_min;
        Real b = u_max;
        Real fa = f(u_min);
        Real c;
        Real fc;
      algorithm
        while b - a > tolerance*(abs(a) + abs(b)) loop
          c := (a + b)/2;
          fc := f(c);
          if fa*fc > 0 then
            a := c;
          else
            b := c;
          end if;
        end while;
        u := (a + b)/2;
      end solveOneNonlinearEquation;
    end Nonlinear;
  end Math;
end Modelica;
function cubic
  extends Modelica.Math.Nonlinear.partialScalarFunction;
  input Real h;
algorithm
  y := u^3 + u - h;
end cubic;
function inverse
  input Real h;
  output Real u;
algorithm
  u := Modelica.Math.Nonlinear.solveOneNonlinearEquation(function cubic(h = h), -10, 10);
end inverse;
)";

/// The root of u^3 + u = h, by Cardano's formula.
double cubic_root(double h) {
  const double d = std::sqrt(h * h / 4.0 + 1.0 / 27.0);
  return std::cbrt(h / 2.0 + d) + std::cbrt(h / 2.0 - d);
}

TEST(IteratingFunctions, ARootOfVaryingArgumentsIsAVariable) {
  const auto r = run_text(nonlinear +
                              "model M Real u = inverse(2 + time), v = inverse(2 + time); "
                              "Real x(start = 0, fixed = true); equation der(x) = u; end M;",
                          3.0);
  for (const double t : {0.0, 1.0, 3.0}) {
    EXPECT_NEAR(r.at(t, "u"), cubic_root(2.0 + t), 1e-9);
    EXPECT_EQ(r.at(t, "u"), r.at(t, "v"));
  }
  // x = the integral of u; with h = u^3 + u, dh = (3 u^2 + 1) du
  const double a = cubic_root(2.0), b = cubic_root(5.0);
  const auto primitive = [](double u) { return 0.75 * std::pow(u, 4) + 0.5 * u * u; };
  EXPECT_NEAR(r.at(3.0, "x"), primitive(b) - primitive(a), 1e-8);
}

TEST(IteratingFunctions, EqualRootsAreOneVariable) {
  const auto model = load_text(nonlinear + "model M Real u = inverse(2 + time), v = 2*inverse(2 + time); end M;").model;
  int roots = 0;
  for (const VariableInfo& v : model.data().variable_info) roots += v.name.starts_with("root ");
  EXPECT_EQ(roots, 1);
}

TEST(IteratingFunctions, KnownArgumentsAreSolvedWhenTheModelIsRead) {
  const auto model =
      load_text(nonlinear + "model M final parameter Real u = inverse(10); Real y = u*time; end M;").model;
  EXPECT_EQ(model.data().variables.size(), 1u);
  EXPECT_NEAR(run(model, 1.0).at(1.0, "y"), 2.0, 1e-12);
}

// Where the function is not asked, its equation need not have a solution: u^3 + u = 1e9 has none between the bounds.
TEST(IteratingFunctions, ABranchThatIsNotTakenNeedsNoRoot) {
  const auto r = run_text(nonlinear +
                              "model M Real u = if time < 1 then 0 else inverse(1e9*(time - 2)^2 + 3); "
                              "Real w = if time < 5 then inverse(time) else 1; end M;",
                          2.0);
  EXPECT_EQ(r.at(0.5, "u"), 0.0);
  EXPECT_NEAR(r.at(2.0, "u"), cubic_root(3.0), 1e-8);
  EXPECT_NEAR(r.at(2.0, "w"), cubic_root(2.0), 1e-8);
}

const std::string lapack = R"(
function least
  input Real A[:, :];
  input Real b[size(A, 1)];
  input Real rcond = 1e-12;
  output Real x[max(size(A, 1), size(A, 2))] = cat(1, b, zeros(max(nrow, ncol) - nrow));
  output Integer info;
  output Integer rank;
protected
  Integer nrow = size(A, 1);
  Integer ncol = size(A, 2);
  Integer nrhs = 1;
  Integer nx = max(nrow, ncol);
  Integer lwork = 100;
  Real work[100];
  Real Awork[size(A, 1), size(A, 2)] = A;
  Integer jpvt[size(A, 2)] = zeros(ncol);
external "FORTRAN 77" dgelsy(nrow, ncol, nrhs, Awork, nrow, x, nx, jpvt, rcond, rank, work, lwork, info);
end least;
function solve
  input Real A[:, size(A, 1)];
  input Real b[size(A, 1)];
  output Real x[size(A, 1)] = b;
  output Integer info;
protected
  Integer n = size(A, 1);
  Integer nrhs = 1;
  Real Awork[size(A, 1), size(A, 1)] = A;
  Integer lda = n;
  Integer ldb = n;
  Integer ipiv[size(A, 1)];
external "FORTRAN 77" dgesv(n, nrhs, Awork, lda, ipiv, x, ldb, info);
end solve;
function least_rank
  input Real A[:, :];
  input Real b[size(A, 1)];
  output Integer rank;
protected
  Real x[max(size(A, 1), size(A, 2))];
  Integer info;
algorithm
  (x, info, rank) := least(A, b);
end least_rank;
)";

std::vector<double> solution(const std::string& call, int size) {
  const auto model = load_text(lapack + "model M parameter Real x[" + std::to_string(size) + "] = " + call +
                               "; Real y[" + std::to_string(size) + "] = x; end M;")
                         .model;
  const Trajectory r = run(model, 0.0);
  std::vector<double> x;
  for (int k = 1; k <= size; ++k) x.push_back(r.at(0.0, "y[" + std::to_string(k) + "]"));
  return x;
}

TEST(LinearEquations, LeastSquaresOfFullRank) {
  // a line through (0, 1), (1, 3), (2, 4), (3, 4): normal equations by hand: 1.5 + 1 t
  const auto x = solution("least([1, 0; 1, 1; 1, 2; 1, 3], {1, 3, 4, 4})", 4);
  EXPECT_NEAR(x[0], 1.5, 1e-13);
  EXPECT_NEAR(x[1], 1.0, 1e-13);
}

TEST(LinearEquations, TheShortestSolutionOfDeficientRank) {
  auto x = solution("least([1, 1; 1, 1], {2, 2})", 2);
  EXPECT_NEAR(x[0], 1.0, 1e-14);
  EXPECT_NEAR(x[1], 1.0, 1e-14);
  x = solution("least([1, 2], {5})", 2);
  EXPECT_NEAR(x[0], 1.0, 1e-14);
  EXPECT_NEAR(x[1], 2.0, 1e-14);
  // columns (1,0,1), (0,1,1), their sum: the shortest x with x1 + x3 = 1, x2 + x3 = 2 is (0, 1, 1)
  x = solution("least([1, 0, 1; 0, 1, 1; 1, 1, 2], {1, 2, 3})", 3);
  EXPECT_NEAR(x[0], 0.0, 1e-13);
  EXPECT_NEAR(x[1], 1.0, 1e-13);
  EXPECT_NEAR(x[2], 1.0, 1e-13);
  x = solution("least([0, 0; 0, 0], {1, 1})", 2);
  EXPECT_EQ(x[0], 0.0);
  const auto rank = load_text(lapack +
                              "model M parameter Integer r = least_rank([1, 0, 1; 0, 1, 1; 1, 1, 2], {1, 2, 3}); "
                              "Real y = r; end M;")
                        .model;
  EXPECT_EQ(run(rank, 0.0).at(0.0, "y"), 2.0);
}

TEST(LinearEquations, SquareSystems) {
  const auto x = solution("solve([2, 1; 1, 3], {5, 10})", 2);
  EXPECT_NEAR(x[0], 1.0, 1e-14);
  EXPECT_NEAR(x[1], 3.0, 1e-14);
}

TEST(LinearEquations, VariablesAreRefused) {
  const std::string errors = load_errors(lapack + "model M Real x[2] = least([1, time; 0, 1], {2, 2}); end M;");
  EXPECT_NE(errors.find("least squares are taken of parameters and constants only"), std::string::npos) << errors;
}

// A field that nothing reads needs no value.
TEST(RecordsOfFunctions, AFieldThatNothingReadsNeedsNoValue) {
  const std::string text = R"(
record R
  Real a;
  Real b;
end R;
function make
  input Real u;
  output R r;
algorithm
  r.a := 2*u;
end make;
function use
  input Real u;
  output Real y;
protected
  R r;
algorithm
  r := make(u);
  y := r.FIELD;
end use;
model M
  Real y = use(time);
end M;)";
  const auto with = [&](const std::string& field) {
    std::string all = text;
    return all.replace(all.find("FIELD"), 5, field);
  };
  EXPECT_NEAR(run_text(with("a"), 1.0).at(1.0, "y"), 2.0, 1e-12);
  EXPECT_NE(load_errors(with("b")).find("'b' is used before it has a value"), std::string::npos);
}

// Attributes of an inherited element may stand in its declaration or in the modification of a base class.
TEST(InheritedTwice, EqualAttributesMakeOneElement) {
  const auto model = load_text(R"(
model A
  Real m(start = 3);
end A;
model B
  Real m(start = 3, nominal = 10);
end B;
model M
  extends A(m(nominal = 10));
  extends B;
equation
  m = time;
end M;)")
                         .model;
  EXPECT_EQ(model.data().variables.size(), 1u);
  EXPECT_NE(load_errors("model A Real m(start = 3); end A; model B Real m(start = 4); end B; "
                        "model M extends A; extends B; equation m = time; end M;")
                .find("'m' is declared twice"),
            std::string::npos);
}

// What is known before the run may have a name of its own, or several.
TEST(StartValues, KnownThroughNames) {
  const auto r = run_text(R"(model M
  parameter Real limit = 2, first = 3;
  Real here = limit, there;
  Real level(start = 0, fixed = true);
  Boolean above;
initial equation
  pre(above) = first >= there;
equation
  there = here;
  der(level) = 1;
  above = level >= there + 1 or pre(above) and level >= -1;
end M;)",
                          1.0);
  EXPECT_EQ(r.at(0.5, "above"), 1.0);
}

// A step that is active at the start: what the initial equation says of `active` holds before the start for `next`.
TEST(StartValues, GoThroughNamesToTheValueBeforeTheStart) {
  for (const bool begins : {true, false}) {
    const auto r = run_text(std::string("model M\n  Boolean active, local, next, old;\ninitial equation\n  active = ") +
                                (begins ? "true" : "false") + R"(;
  pre(next) = pre(local);
  pre(old) = pre(local);
equation
  active = local;
  local = pre(next);
  next = if time < 1 then local else not local;
  when time >= 2 then
    old = local;
  end when;
end M;)",
                            0.5);
    EXPECT_EQ(r.at(0.0, "active"), begins ? 1.0 : 0.0);
    EXPECT_EQ(r.at(0.5, "active"), begins ? 1.0 : 0.0);
    EXPECT_EQ(r.at(0.5, "old"), begins ? 1.0 : 0.0);
  }
}

}  // namespace
}  // namespace saltus
