// What users see when a model is wrong, exact texts: types, sizes and parameters that do not fit.
#include <gtest/gtest.h>

#include "modelica/load_helpers.hpp"

namespace saltus {
namespace {

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
hint: use 1 to 3, or declare a larger array
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
hint: change the declared size, or the value
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
hint: a -> b -> a: give one of them a number
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
hint: leave out 'parameter' to make it a variable, or give it a number
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

}  // namespace
}  // namespace saltus
