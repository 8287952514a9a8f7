// What users see when a model is wrong, exact texts: events, connections and functions that are wrong, and what is
// refused.
#include <gtest/gtest.h>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

TEST(FlattenErrors, TheDerivativeOfADiscreteVariable) {
  EXPECT_EQ(load_errors(R"(model M
  Integer n(start = 0);
  Real x;
equation
  der(x) = der(n);
  when x > 1 then
    n = 1;
  end when;
end M;
)"),
            R"(a.mo:5:16: error: 'n' changes at events only and has no derivative
    der(x) = der(n);
                 ^
)");
}

TEST(FlattenErrors, AStateThatAClauseAssigns) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = 1;
  when x > 0.5 then
    x = 0;
  end when;
end M;
)"),
            R"(a.mo:4:7: error: 'x' changes at events only and has no derivative
    der(x) = 1;
        ^
hint: an equation in a 'when' makes it discrete; to set a state there, write reinit(x, value)
)");
}

TEST(FlattenErrors, PreOfAnExpression) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
  discrete Real d;
equation
  der(x) = 1;
  when x > 1 then
    d = pre(2*x);
  end when;
end M;
)"),
            R"(a.mo:7:9: error: 'pre' needs a variable, not an expression
      d = pre(2*x);
          ^~~~~~~~
)");
}

TEST(FlattenErrors, ReinitOutsideOfWhen) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = 1;
  reinit(x, 0);
end M;
)"),
            R"(a.mo:5:3: error: 'reinit' belongs into a 'when' equation
    reinit(x, 0);
    ^~~~~~~~~~~~
)");
}

TEST(FlattenErrors, ReinitOfADiscreteVariable) {
  EXPECT_EQ(load_errors(R"(model M
  discrete Real d;
  Real x;
equation
  der(x) = 1;
  when x > 1 then
    d = 1;
    reinit(d, 2);
  end when;
end M;
)"),
            R"(a.mo:8:12: error: 'd' changes at events only; assign it instead of 'reinit'
      reinit(d, 2);
             ^
hint: d = ...
)");
}

TEST(FlattenErrors, ReinitTwice) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = 1;
  when x > 1 then
    reinit(x, 0);
    reinit(x, 0.5);
  end when;
end M;
)"),
            R"(a.mo:7:5: error: 'reinit' sets 'x' twice in one 'when'
      reinit(x, 0.5);
      ^~~~~~~~~~~~~~
)");
}

TEST(FlattenErrors, AWhenEquationThatIsNoAssignment) {
  EXPECT_EQ(load_errors(R"(model M
  Real x, y;
equation
  der(x) = 1;
  when x > 1 then
    2*y = 1;
  end when;
end M;
)"),
            R"(a.mo:6:5: error: an equation in 'when' must have the form 'variable = expression'
      2*y = 1;
      ^~~
)");
}

TEST(FlattenErrors, ADiscreteVariableThatDependsOnItself) {
  EXPECT_EQ(load_errors(R"(model M
  Integer n;
  Real x;
equation
  der(x) = 1;
  when x > 1 then
    n = n + 1;
  end when;
end M;
)"),
            R"(a.mo:7:5: error: 'n' is determined by itself here
      n = n + 1;
      ^~~~~~~~~
hint: write pre(n) for the value before the event
)");
}

TEST(FlattenErrors, ADiscreteVariableWithoutAnEquation) {
  EXPECT_EQ(load_errors(R"(model M
  Boolean b;
  Real x;
equation
  der(x) = if b then 1 else 2;
end M;
)"),
            R"(a.mo:2:11: error: no equation determines 'b'
    Boolean b;
            ^
hint: give it an equation, or make it a parameter
)");
}

TEST(FlattenErrors, AnIntegerThatEqualsARealExpression) {
  EXPECT_EQ(load_errors(R"(model M
  Integer k;
  Real x(start = 0);
equation
  der(x) = 1;
  k = x^2;
end M;
)"),
            R"(a.mo:6:3: error: 'k' is of type Integer, but its value is of type Real
    k = x^2;
    ^~~~~~~
hint: integer(x) rounds down
)");
}

TEST(FlattenErrors, ADiscreteVariableWithTwoEquations) {
  EXPECT_EQ(load_errors(R"(model M
  Boolean b;
  Real x;
equation
  der(x) = 1;
  b = x > 1;
  b = x > 2;
end M;
)"),
            R"(a.mo:7:3: error: 'b' is determined twice
    b = x > 2;
    ^~~~~~~~~
a.mo:6:3: note: the other equation is here
    b = x > 1;
    ^~~~~~~~~
)");
}

TEST(FlattenErrors, ASampleWithoutAnInterval) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = 1;
  when sample(0, 0) then
    reinit(x, 0);
  end when;
end M;
)"),
            R"(a.mo:5:8: error: the interval of a sample must be positive, not 0
    when sample(0, 0) then
         ^~~~~~~~~~~~
)");
}

TEST(FlattenErrors, ConnectorsThatDoNotFit) {
  EXPECT_EQ(load_errors(R"(connector A
  Real v;
  flow Real i;
end A;
connector B
  Real w;
  flow Real i;
end B;
model M
  A a;
  B b;
  Real x;
equation
  connect(a, b);
  connect(a, x);
end M;
)"),
            R"(a.mo:14:3: error: 'a' (of the class 'A') and 'b' (of the class 'B') do not fit: 'b' has no element 'v'
    connect(a, b);
    ^~~~~~~~~~~~~
hint: connect connectors of one class
a.mo:15:3: error: 'a' (A) and 'x' (Real) are of different types
    connect(a, x);
    ^~~~~~~~~~~~~
)");
}

TEST(FlattenErrors, ConnectedArraysOfDifferentSizes) {
  EXPECT_EQ(load_errors(R"(connector A
  Real v;
  flow Real i;
end A;
model M
  A a[2], b[3];
equation
  connect(a, b);
end M;
)"),
            R"(a.mo:8:3: error: 'a' is an array of the size 2, but 'b' is an array of the size 3
    connect(a, b);
    ^~~~~~~~~~~~~
)");
}

TEST(FlattenErrors, WrongArgumentsOfFunctions) {
  EXPECT_EQ(load_errors(R"(function f
  input Real x;
  output Real y;
algorithm
  y := x;
end f;
model M
  Real a = f(1, 2);
  Real b = f();
  Real c = f(z = 1);
  Real d = sin(1, 2);
end M;
)"),
            R"(a.mo:8:17: error: 'f' takes 1 argument, not 2
    Real a = f(1, 2);
                  ^
a.mo:9:12: error: the argument 'x' is missing
    Real b = f();
             ^~~
a.mo:10:14: error: 'f' has no input 'z'
    Real c = f(z = 1);
               ^
a.mo:11:12: error: 'sin' takes 1 argument, not 2
    Real d = sin(1, 2);
             ^~~~~~~~~
hint: remove what is too many, or check the parentheses
)");
}

TEST(FlattenErrors, ARecordWithoutAValueForAField) {
  EXPECT_EQ(load_errors(R"(record R
  Real a, b;
end R;
model M
  R r = R(1);
end M;
)"),
            R"(a.mo:5:9: error: the field 'b' of the record has no value
    R r = R(1);
          ^~~~
)");
}

TEST(FlattenErrors, AFunctionThatCallsItself) {
  EXPECT_EQ(load_errors(R"(function f
  input Real x;
  output Real y;
algorithm
  y := if x > 0 then f(x - 1) else 0;
end f;
model M
  Real y = f(time);
end M;
)"),
            R"(a.mo:5:22: error: the function 'f' calls itself more than 100 times deep
    y := if x > 0 then f(x - 1) else 0;
                       ^~~~~~~~
)");
}

TEST(FlattenErrors, ExternalFunctionsAreRefused) {
  EXPECT_EQ(load_errors(R"(function f
  input Real x;
  output Real y;
  external "C" y = f(x);
end f;
model M
  Real y = f(1);
end M;
)"),
            R"(a.mo:7:12: error: the external function 'f' is not supported
    Real y = f(1);
             ^~~~
hint: docs/reference/modelica.md says under 'What is refused' what is left out
)");
}

TEST(FlattenErrors, ARedeclarationMustFit) {
  EXPECT_EQ(load_errors(R"(model A
  replaceable Real x = 1;
end A;
model M
  A a(redeclare Integer x = 2);
end M;
)"),
            R"(a.mo:5:17: error: 'x' cannot be redeclared like this: it must fit 'Real'
    A a(redeclare Integer x = 2);
                  ^~~~~~~
)");
}

TEST(FlattenErrors, InnerOuterNeedsAnInnerComponentAround) {
  EXPECT_EQ(load_errors(R"(model M
  inner outer Real g;
end M;
)"),
            R"(a.mo:2:20: error: there is no inner component 'g' around 'g'
    inner outer Real g;
                     ^
hint: declare 'inner Real g' in the model
)");
}

TEST(FlattenErrors, StringVariablesAreRefused) {
  EXPECT_EQ(load_errors(R"(model M
  String s = "a";
end M;
)"),
            R"(a.mo:2:10: error: String variables are not supported
    String s = "a";
           ^
hint: a parameter or a constant may be a String
)");
}

}  // namespace
}  // namespace saltus
