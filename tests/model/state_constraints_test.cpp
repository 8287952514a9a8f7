// Which variables stop to be states because a linear equation ties them to others.
#include "model/state_constraints.hpp"

#include <saltus/expr/derivative.hpp>
#include <saltus/expr/print.hpp>
#include <saltus/model/model.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace saltus {
namespace {

/// The variables whose derivatives the equations name.
std::set<std::string> states(const ModelData& data) {
  std::set<std::string> names;
  for (const auto& equation : data.equations) {
    const Expr residual = equation.equation.residual();
    for (const Expr& symbol : symbols_of(std::span(&residual, 1), SymbolKind::derivative))
      names.insert(to_string(symbol));
  }
  return names;
}

/// Two bodies and the distance between them, by positions and velocities.
struct Pair {
  Model m{"pair"};
  Expr s1 = m.variable("s1", 0.0), s2 = m.variable("s2", 1.0), v1 = m.variable("v1", 0.0), v2 = m.variable("v2", 0.0);

  Pair() {
    m.equation(der(s1) == v1);
    m.equation(der(s2) == v2);
    m.equation(der(v1) == s2 - s1);
    m.equation(der(v2) == s1 - s2);
  }
};

TEST(StateConstraintsOf, AModelWithoutThemStaysAsItIs) {
  Pair pair;
  ModelData data = pair.m.data();
  const auto before = states(data);
  solve_state_constraints(data);
  EXPECT_EQ(states(data), before);
  EXPECT_EQ(before, (std::set<std::string>{"der(s1)", "der(s2)", "der(v1)", "der(v2)"}));
}

TEST(StateConstraintsOf, ADifferenceOfStatesIsNoStateAndItsVelocityFollows) {
  Pair pair;
  const Expr s = pair.m.variable("s"), v = pair.m.variable("v");
  pair.m.equation(s == pair.s2 - pair.s1);
  pair.m.equation(der(s) == v);
  ModelData data = pair.m.data();
  solve_state_constraints(data);
  EXPECT_EQ(states(data), (std::set<std::string>{"der(s1)", "der(s2)", "der(v1)", "der(v2)"}));
}

TEST(StateConstraintsOf, FixedVariablesAndThoseThatAreResetStayStates) {
  Pair pair;
  const Expr s = pair.m.variable("s", 1.0, {.fixed = true});
  pair.m.equation(s == pair.s2 - pair.s1);
  pair.m.equation(der(s) == 0.0);
  ModelData data = pair.m.data();
  solve_state_constraints(data);
  EXPECT_TRUE(states(data).contains("der(s)"));
}

TEST(StateConstraintsOf, EquationsThatAreNotLinearStay) {
  Pair pair;
  const Expr s = pair.m.variable("s");
  pair.m.equation(s == pair.s2 * pair.s1);
  pair.m.equation(der(s) == pair.v1);
  ModelData data = pair.m.data();
  const auto before = states(data);
  solve_state_constraints(data);
  EXPECT_EQ(states(data), before);
}

}  // namespace
}  // namespace saltus
