// What users see when a model is wrong, exact texts: names, classes and modifications that do not exist or do not fit.
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

TEST(FlattenErrors, NamesThatModelicaSpellsOtherwise) {
  const std::pair<const char*, const char*> cases[] = {{"pi", "write Modelica.Constants.pi"},
                                                       {"t", "the time is called time"},
                                                       {"inf", "write Modelica.Constants.inf"},
                                                       {"q", "declare it, for example: Real q;"}};
  for (const auto& [name, hint] : cases) {
    const std::string errors =
        load_errors("model M\n  Real x;\nequation\n  der(x) = " + std::string(name) + ";\nend M;\n");
    EXPECT_NE(errors.find("'" + std::string(name) + "' is not declared"), std::string::npos) << errors;
    EXPECT_NE(errors.find("hint: " + std::string(hint)), std::string::npos) << errors;
  }
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
hint: give one of the two another name, or remove it
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
hint: change the declared size, or the value
a.mo:6:12: error: 'z' is not declared
    der(x) = z + p;
             ^
hint: declare it, for example: Real z;
a.mo:7:5: error: the subscript 3 of 'y' is out of range: that dimension has the size 2
    y[3] = true;
      ^
hint: use 1 to 2, or declare a larger array
a.mo:9:5: error: 'q' is not declared
      q[i] = 1;
      ^
hint: declare it, for example: Real q;
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
