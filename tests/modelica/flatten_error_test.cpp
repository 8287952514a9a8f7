// What users see when a model is wrong: exact texts.
#include <gtest/gtest.h>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

TEST(FlattenErrors, AnUnknownNameComesWithTheNearestOne) {
  EXPECT_EQ(load_errors(R"(model M
  Real speed;
equation
  der(speed) = -sped;
end M;
)"),
            R"(a.mo:4:17: error: 'sped' is not declared
    der(speed) = -sped;
                  ^~~~
hint: did you mean 'speed'?
)");
}

TEST(FlattenErrors, AnUnknownFunction) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = sinn(x);
end M;
)"),
            R"(a.mo:4:12: error: there is no function 'sinn'
    der(x) = sinn(x);
             ^~~~
hint: did you mean 'sin'?
)");
}

TEST(FlattenErrors, AnUnknownType) {
  EXPECT_EQ(load_errors(R"(model M
  Reel x;
end M;
)"),
            R"(a.mo:2:3: error: there is no class 'Reel'
    Reel x;
    ^~~~
hint: did you mean 'Real'?
)");
}

TEST(FlattenErrors, AnUnknownAttribute) {
  EXPECT_EQ(load_errors(R"(model M
  Real x(strat = 1) = 2;
end M;
)"),
            R"(a.mo:2:10: error: 'strat' is not an attribute of Real
    Real x(strat = 1) = 2;
           ^~~~~~~~~
hint: did you mean 'start'?
)");
}

TEST(FlattenErrors, AModificationOfWhatDoesNotExist) {
  EXPECT_EQ(load_errors(R"(model A
  parameter Real size1 = 1;
end A;
model M
  A a(sise1 = 2);
end M;
)"),
            R"(a.mo:5:7: error: 'A' has no element 'sise1'
    A a(sise1 = 2);
        ^~~~~~~~~
hint: did you mean 'size1'?
)");
}

TEST(FlattenErrors, AModificationOfWhatIsNotInherited) {
  EXPECT_EQ(load_errors(R"(model A
  parameter Real size1 = 1;
end A;
model M
  extends A(sise1 = 2);
end M;
)"),
            R"(a.mo:5:13: error: 'A' has no element 'sise1'
    extends A(sise1 = 2);
              ^~~~~~~~~
hint: did you mean 'size1'?
)");
}

TEST(FlattenErrors, AnUnknownElementOfAComponent) {
  EXPECT_EQ(load_errors(R"(model A
  Real level = 1;
end A;
model M
  A tank;
  Real y = tank.levle;
end M;
)"),
            R"(a.mo:6:17: error: 'tank' (of the class 'A') has no element 'levle'
    Real y = tank.levle;
                  ^~~~~
hint: did you mean 'level'?
)");
}

TEST(FlattenErrors, AnUnknownValueOfAnEnumeration) {
  EXPECT_EQ(load_errors(R"(model M
  type E = enumeration(red, green);
  parameter E e = E.gren;
end M;
)"),
            R"(a.mo:3:21: error: the enumeration 'M.E' has no value 'gren'
    parameter E e = E.gren;
                      ^~~~
hint: did you mean 'green'?
)");
}

TEST(FlattenErrors, ABooleanInArithmetic) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
  Boolean b = x > 1;
equation
  der(x) = 2*b;
end M;
)"),
            R"(a.mo:5:12: error: '*' needs numbers, not a value of type Boolean
    der(x) = 2*b;
             ^~~
hint: write 'if b then 1 else 0'
)");
}

TEST(FlattenErrors, AnEquationBetweenARealAndABoolean) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
  Boolean b = x > 1;
equation
  der(x) = b;
end M;
)"),
            R"(a.mo:5:3: error: an equation between values of the types Real and Boolean
    der(x) = b;
    ^~~~~~~~~~
hint: write 'if b then 1 else 0' to make a number of a Boolean
)");
}

TEST(FlattenErrors, AConditionThatIsNoBoolean) {
  EXPECT_EQ(load_errors(R"(model M
  Real x, y;
equation
  der(x) = 1;
  y = if x then 1 else 2;
end M;
)"),
            R"(a.mo:5:10: error: a condition must be a Boolean, not a value of type Real
    y = if x then 1 else 2;
           ^
)");
}

TEST(FlattenErrors, ARealForAnInteger) {
  EXPECT_EQ(load_errors(R"(model M
  parameter Integer n = 2.5;
end M;
)"),
            R"(a.mo:2:25: error: 'n' is of type Integer, but its value is of type Real
    parameter Integer n = 2.5;
                          ^~~
hint: integer(x) rounds down
)");
}

TEST(FlattenErrors, EqualityOfReals) {
  EXPECT_EQ(load_errors(R"(model M
  Real x, y;
equation
  der(x) = 1;
  y = if x == 1 then 1 else 2;
end M;
)"),
            R"(a.mo:5:10: error: '==' between Reals is hit by chance only and not allowed in models
    y = if x == 1 then 1 else 2;
           ^~~~~~
hint: compare with <, <=, > or >=, or with a tolerance: abs(a - b) < eps
)");
}

TEST(FlattenErrors, TooManySubscripts) {
  EXPECT_EQ(load_errors(R"(model M
  Real A[2,2] = fill(0, 2, 2);
  Real y = A[1,2,1];
end M;
)"),
            R"(a.mo:3:12: error: 'A' has 2 dimensions, but 3 subscripts are given
    Real y = A[1,2,1];
             ^~~~~~~~
)");
}

TEST(FlattenErrors, SubscriptsOfAScalar) {
  EXPECT_EQ(load_errors(R"(model M
  Real a = 1;
  Real y = a[1];
end M;
)"),
            R"(a.mo:3:12: error: 'a' is a scalar and takes no subscripts
    Real y = a[1];
             ^~~~
)");
}

TEST(FlattenErrors, ASubscriptOutOfRangeInALoopIsReportedOnce) {
  EXPECT_EQ(load_errors(R"(model M
  Real T[3];
equation
  for i in 1:3 loop
    der(T[i]) = T[i+1];
  end for;
end M;
)"),
            R"(a.mo:5:19: error: the subscript 4 of 'T' is out of range: that dimension has the size 3
      der(T[i]) = T[i+1];
                    ^~~
)");
}

TEST(FlattenErrors, AnEquationBetweenArraysOfDifferentSizes) {
  EXPECT_EQ(load_errors(R"(model M
  Real x[3], y[2] = {1, 2};
equation
  der(x) = y;
end M;
)"),
            R"(a.mo:4:3: error: the sides of the equation have different sizes: Real[3] and Real[2]
    der(x) = y;
    ^~~~~~~~~~
)");
}

TEST(FlattenErrors, AValueOfTheWrongSize) {
  EXPECT_EQ(load_errors(R"(model M
  parameter Real c[3] = {1, 2};
end M;
)"),
            R"(a.mo:2:25: error: 'c' has the size 3, but its value has the size 2
    parameter Real c[3] = {1, 2};
                          ^~~~~~
)");
}

TEST(FlattenErrors, ASumOfArraysOfDifferentSizes) {
  EXPECT_EQ(load_errors(R"(model M
  Real x[3], y[2] = {1, 2};
equation
  der(x) = x + y;
end M;
)"),
            R"(a.mo:4:12: error: '+' between values of the types Real[3] and Real[2]: the sizes differ
    der(x) = x + y;
             ^~~~~
)");
}

TEST(FlattenErrors, ANegativeSize) {
  EXPECT_EQ(load_errors(R"(model M
  parameter Integer n = -1;
  Real x[n];
end M;
)"),
            R"(a.mo:3:10: error: the size of 'x' is negative: -1
    Real x[n];
           ^
)");
}

TEST(FlattenErrors, AnArrayThatIsTooLarge) {
  EXPECT_EQ(load_errors(R"(model M
  Real x[100000, 100000];
end M;
)"),
            R"(a.mo:2:18: error: 'x' has more than 10000000 elements
    Real x[100000, 100000];
                   ^~~~~~
)");
}

TEST(FlattenErrors, AParameterWithoutAValue) {
  EXPECT_EQ(load_errors(R"(model M
  parameter Real R;
  Real x;
equation
  der(x) = R;
end M;
)"),
            R"(a.mo:2:18: error: the parameter 'R' has no value
    parameter Real R;
                   ^
hint: write 'R = ...' in its declaration or in a modification
)");
}

TEST(FlattenErrors, ParametersThatNeedEachOther) {
  EXPECT_EQ(load_errors(R"(model M
  parameter Real a = b + 1;
  parameter Real b = 2*a;
  Real x = a;
end M;
)"),
            R"(a.mo:2:18: error: the value of 'a' depends on itself
    parameter Real a = b + 1;
                   ^
hint: a -> b -> a
)");
}

TEST(FlattenErrors, AParameterThatDependsOnAVariable) {
  EXPECT_EQ(load_errors(R"(model M
  Real x = time;
  parameter Real p = 2*x;
end M;
)"),
            R"(a.mo:3:22: error: the parameter 'p' must not depend on variables
    parameter Real p = 2*x;
                       ^~~
)");
}

TEST(FlattenErrors, ASizeThatDependsOnAVariable) {
  EXPECT_EQ(load_errors(R"(model M
  Integer n = 3;
  Real x[n];
end M;
)"),
            R"(a.mo:3:10: error: 'n' is a variable; only parameters and constants can be used here
    Real x[n];
           ^
)");
}

TEST(FlattenErrors, AModificationOfAFinalElement) {
  EXPECT_EQ(load_errors(R"(model A
  final parameter Real k = 1;
end A;
model M
  A a(k = 2);
end M;
)"),
            R"(a.mo:5:7: error: this element is final and cannot be modified
    A a(k = 2);
        ^~~~~
)");
}

TEST(FlattenErrors, ANameDeclaredTwice) {
  EXPECT_EQ(load_errors(R"(model M
  Real x = 1;
  Real x = 2;
end M;
)"),
            R"(a.mo:3:8: error: 'x' is declared twice in 'M'
    Real x = 2;
         ^
)");
}

TEST(FlattenErrors, AComponentOfAPartialClass) {
  EXPECT_EQ(load_errors(R"(partial model A
  Real x;
end A;
model M
  A a;
end M;
)"),
            R"(a.mo:5:3: error: 'A' is partial and cannot be the type of a component
    A a;
    ^
hint: extend it and complete it
)");
}

TEST(FlattenErrors, AClassThatContainsItself) {
  EXPECT_EQ(load_errors(R"(model M
  M m;
end M;
)"),
            R"(a.mo:2:5: error: the class 'M' contains itself
    M m;
      ^
)");
}

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
            R"(a.mo:5:22: error: the function 'f' calls itself; recursion is not supported
    y := if x > 0 then f(x - 1) else 0;
                       ^~~~~~~~
hint: docs/reference/modelica.md lists what is read
)");
}

TEST(FlattenErrors, ALoopWhoseEndIsNotKnown) {
  EXPECT_EQ(load_errors(R"(function f
  input Real x;
  output Real y;
algorithm
  y := x;
  while y > 1 loop
    y := y/2;
  end while;
end f;
model M
  Real y = f(time);
end M;
)"),
            R"(a.mo:6:9: error: 'while' with a condition that is not known before the run is not supported
    while y > 1 loop
          ^~~~~
hint: docs/reference/modelica.md lists what is read
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
            R"(a.mo:7:12: error: external functions are not supported
    Real y = f(1);
             ^~~~
hint: docs/reference/modelica.md lists what is read
)");
}

TEST(FlattenErrors, DelayIsRefused) {
  EXPECT_EQ(load_errors(R"(model M
  Real x;
equation
  der(x) = delay(x, 1);
end M;
)"),
            R"(a.mo:4:12: error: 'delay' is not supported
    der(x) = delay(x, 1);
             ^~~~~
hint: docs/reference/modelica.md lists what is read
)");
}

TEST(FlattenErrors, RedeclareIsRefused) {
  EXPECT_EQ(load_errors(R"(model A
  replaceable Real x = 1;
end A;
model M
  A a(redeclare Integer x = 2);
end M;
)"),
            R"(a.mo:5:7: error: 'redeclare' is not supported
    A a(redeclare Integer x = 2);
        ^~~~~~~~~~~~~~~~~~~~~~~
hint: docs/reference/modelica.md lists what is read
)");
}

TEST(FlattenErrors, InnerIsRefused) {
  EXPECT_EQ(load_errors(R"(model M
  inner Real g = 9.81;
end M;
)"),
            R"(a.mo:2:14: error: 'inner' is not supported
    inner Real g = 9.81;
               ^
hint: docs/reference/modelica.md lists what is read
)");
}

TEST(FlattenErrors, StreamIsRefused) {
  EXPECT_EQ(load_errors(R"(connector C
  Real p;
  flow Real m;
  stream Real h;
end C;
model M
  C c;
end M;
)"),
            R"(a.mo:4:15: error: 'stream' is not supported
    stream Real h;
                ^
hint: docs/reference/modelica.md lists what is read
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

TEST(FlattenErrors, AllIndependentErrorsAreReportedInOneGo) {
  EXPECT_EQ(load_errors(R"(model M
  Real x(strat = 1);
  parameter Real p;
  Real y[2] = {1, 2, 3};
equation
  der(x) = z + p;
  y[3] = true;
  for i in 1:1000 loop
    q[i] = 1;
  end for;
end M;
)"),
            R"(a.mo:2:10: error: 'strat' is not an attribute of Real
    Real x(strat = 1);
           ^~~~~~~~~
hint: did you mean 'start'?
a.mo:3:18: error: the parameter 'p' has no value
    parameter Real p;
                   ^
hint: write 'p = ...' in its declaration or in a modification
a.mo:4:15: error: 'y' has the size 2, but its value has the size 3
    Real y[2] = {1, 2, 3};
                ^~~~~~~~~
a.mo:6:12: error: 'z' is not declared
    der(x) = z + p;
             ^
a.mo:7:5: error: the subscript 3 of 'y' is out of range: that dimension has the size 2
    y[3] = true;
      ^
a.mo:9:5: error: 'q' is not declared
      q[i] = 1;
      ^
)");
}

TEST(FlattenErrors, AModelThatIsNotInTheFile) {
  EXPECT_EQ(load_errors("model Ball\n  Real x = 1;\nend Ball;\n", {.model_name = "Bal"}),
            "a.mo:1:1: error: there is no model 'Bal' in this file\n  model Ball\n  ^\nhint: did you mean 'Ball'?\n");
  EXPECT_EQ(load_errors("package P\nend P;\n"),
            "a.mo:1:1: error: the file contains no model\n  package P\n  ^\nhint: write 'model Name ... end Name;'\n");
}

TEST(FlattenErrors, AParameterToSetThatDoesNotExist) {
  EXPECT_EQ(
      load_errors("model M\n  parameter Real mass = 1;\n  Real x;\nequation\n  der(x) = mass;\nend M;\n",
                  {.parameters = {{"mas", 2.0}}}),
      "a.mo:1:7: error: the model has no parameter 'mas' to set\n  model M\n        ^\nhint: did you mean 'mass'?\n");
}

TEST(FlattenErrors, AFileThatCannotBeOpened) {
  EXPECT_THROW(load_modelica_file("no such file.mo"), UsageError);
}

}  // namespace
}  // namespace saltus
