// One system for all slides against one for each set of surfaces.
#include "model/all_slides.hpp"

#include <saltus/model/recorded_system.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <span>
#include <vector>

namespace saltus {
namespace {

/// x' = f with a choice on each of the first `surfaces` variables; neighbours may stand in each other's equations.
struct Field {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  SurfaceBase base;
  std::vector<SlidingSurface> surfaces;
  std::vector<Expr> locks;

  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }

  explicit Field(int variables) {
    RecordedEquations& eq = base.equations;
    eq.time = symbol("time", SymbolKind::time);
    for (int j = 0; j < variables; ++j) eq.variables.push_back(symbol("x" + std::to_string(j), SymbolKind::variable));
  }
  /// A surface on which one relation, g > 0 or g < 0, is locked.
  BoolExpr add_surface(const Expr& g, bool positive) {
    const BoolExpr relation = g > 0.0;
    locks.push_back(relation.expr());
    surfaces.push_back({g, {relation.expr()}, {+1}});
    base.equations.guards.push_back(g);
    return positive ? relation : !relation;
  }
  void finish(std::vector<Expr> rhs) {
    base.rhs = std::move(rhs);
    base.explicit_ode = true;
    base.equations.locks = locks;
    for (std::size_t j = 0; j < base.rhs.size(); ++j)
      base.equations.equations.push_back(der(base.equations.variables[j]) - base.rhs[j]);
  }
};

/// Masses in a row: surfaces on speeds, or on the differences of neighbours' speeds, with forces on both.
Field masses(int count, bool between, std::mt19937& dice) {
  Field field(2 * count);
  const auto& x = field.base.equations.variables;
  std::uniform_real_distribution<double> number(0.5, 1.5);
  std::vector<Expr> force(static_cast<std::size_t>(count));
  const auto n = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < n; ++i) force[i] = -x[i] + 0.1 * sin(x[n + i] + field.base.equations.time);
  for (std::size_t i = 0; i + (between ? 1 : 0) < n; ++i) {
    const Expr g = between ? x[n + i] - x[n + i + 1] : x[n + i] - 0.2 * x[i] * x[i];
    const Expr friction = number(dice) * if_else(field.add_surface(g, dice() % 2 == 0), -1.0, 1.0 + 0.1 * x[i]);
    force[i] += friction;
    if (between) force[i + 1] -= friction;
  }
  std::vector<Expr> rhs;
  for (std::size_t i = 0; i < n; ++i) rhs.push_back(x[n + i]);
  for (std::size_t i = 0; i < n; ++i) rhs.push_back(force[i] / number(dice));
  field.finish(std::move(rhs));
  return field;
}

class SlidesOfMasses : public testing::TestWithParam<bool> {};

TEST_P(SlidesOfMasses, AreThoseOfEverySet) {
  std::mt19937 dice(7);
  constexpr int count = 5;
  Field field = masses(count, GetParam(), dice);
  const auto all = all_slides(field.base, field.surfaces);
  ASSERT_TRUE(all);
  ASSERT_EQ(all->surfaces.size(), field.surfaces.size());
  const std::size_t p = field.surfaces.size(), guards = field.base.equations.guards.size();
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  for (unsigned set = 1; set < 1u << p; ++set) {
    std::vector<double> active(p), locks(p), x(2 * count), at_all(2 * count), at_set(2 * count);
    for (std::size_t k = 0; k < p; ++k) {
      active[k] = (set >> k) & 1u;
      locks[k] = static_cast<double>(dice() % 2);
    }
    for (double& value : x) value = number(dice);
    SurfaceSetup setup{field.base, field.locks, {}, {}, 0.0};
    for (std::size_t k = 0; k < p; ++k)
      if (active[k] != 0.0) setup.sliding.push_back(field.surfaces[k]);
    const auto one = surface_equations(setup);
    ASSERT_TRUE(one);
    RecordedSystem of_set(one->equations, {}, locks), of_all(all->equations, active, locks);
    of_set.rhs(0.3, x, at_set);
    of_all.rhs(0.3, x, at_all);
    for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(at_all[j], at_set[j], 1e-12 * (1.0 + std::abs(at_set[j])));
    std::vector<double> g_set(guards + 2 * setup.sliding.size()), g_all(guards + 2 * p);
    of_set.guards(0.3, x, at_set, g_set);
    of_all.guards(0.3, x, at_all, g_all);
    std::size_t next = guards;
    for (std::size_t k = 0; k < p; ++k)
      for (const std::size_t above : {0u, 1u}) {
        const double weight = g_all[guards + 2 * k + above];
        if (active[k] == 0.0)
          EXPECT_EQ(weight, 1.0);
        else
          EXPECT_NEAR(weight, g_set[next++], 1e-12 * (1.0 + std::abs(weight)));
      }
    std::vector<double> moved_all = x, moved_set = x;
    EXPECT_EQ(of_all.project(0.3, moved_all), of_set.project(0.3, moved_set));
    for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(moved_all[j], moved_set[j], 1e-12);
  }
}
INSTANTIATE_TEST_SUITE_P(AllSlides, SlidesOfMasses, testing::Bool(),
                         [](const auto& test) { return test.param ? "Between" : "OnTheGround"; });

TEST(AllSlides, HaveOneStructureForAllSets) {
  std::mt19937 dice(3);
  Field field = masses(6, false, dice);
  const auto all = all_slides(field.base, field.surfaces);
  ASSERT_TRUE(all);
  RecordedSystem system(all->equations, std::vector<double>(6, 0.0), std::vector<double>(6, 0.0));
  const Structure* const structure = &system.structure();
  system.set_data(std::vector<double>{1.0, 0.0, 1.0, 0.0, 0.0, 1.0});
  EXPECT_EQ(&system.structure(), structure);
}

TEST(AllSlides, LeaveOutWeightsThatAreMultiplied) {
  Field field(4);
  const auto& x = field.base.equations.variables;
  std::vector<BoolExpr> above;
  for (int k = 0; k < 4; ++k) above.push_back(field.add_surface(x[static_cast<std::size_t>(k)], true));
  const auto relay = [&](int k) { return if_else(above[static_cast<std::size_t>(k)], -1.0, 1.0); };
  field.finish({relay(0), relay(1), 0.2 + relay(2) * relay(3), relay(3) * (2.0 + relay(2))});
  const auto all = all_slides(field.base, field.surfaces);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->surfaces, (std::vector<int>{0, 1}));
}

TEST(AllSlides, LeaveOutSurfacesThatTheirOwnFieldDoesNotMove) {
  Field field(3);
  const auto& x = field.base.equations.variables;
  std::vector<BoolExpr> above;
  for (int k = 0; k < 3; ++k) above.push_back(field.add_surface(x[static_cast<std::size_t>(k)], true));
  const auto relay = [&](int k) { return if_else(above[static_cast<std::size_t>(k)], -1.0, 1.0); };
  field.finish({x[1], 3.0 * relay(0) + relay(1), relay(2)});  // x0' = x1 has no relay
  const auto all = all_slides(field.base, field.surfaces);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->surfaces, (std::vector<int>{1, 2}));
}

/// Adds x_k < 0 to the surface of x_k > 0: at rest neither holds.
BoolExpr add_below(Field& field, std::size_t k) {
  const BoolExpr below = field.base.equations.variables[k] < 0.0;
  field.locks.push_back(field.graph->node(below.expr().id()).op == Op::logical_not
                            ? Expr(field.graph, field.graph->node(below.expr().id()).a)
                            : below.expr());
  field.surfaces[k].locks.push_back(field.locks.back());
  field.surfaces[k].signs.push_back(+1);
  return below;
}

TEST(AllSlides, MixTheTwoSidesWhereRelationsDecideTwice) {
  Field field(3);
  const auto& x = field.base.equations.variables;
  std::vector<BoolExpr> above;
  for (int k = 0; k < 3; ++k) above.push_back(field.add_surface(x[static_cast<std::size_t>(k)], true));
  const BoolExpr below = add_below(field, 0);
  const Expr sign_of = if_else(above[0], 1.0, if_else(below, -1.0, 0.0));
  field.finish({0.5 - sign_of * (2.0 + if_else(above[0], x[0], -x[0])), if_else(above[1], -1.0, 1.0),
                if_else(above[2], -1.0, 1.0)});
  const auto all = all_slides(field.base, field.surfaces);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->surfaces, (std::vector<int>{0, 1, 2}));
  RecordedSystem system(all->equations, {1.0, 0.0, 0.0}, {1.0, 1.0, 1.0, 1.0});
  std::vector<double> xp(3), g(static_cast<std::size_t>(system.structure().guards));
  system.rhs(0.0, std::vector<double>{0.0, 0.5, 0.5}, xp);
  EXPECT_EQ(xp, (std::vector<double>{0.0, -1.0, -1.0}));
  // w (0.5 - 2) + (1 - w) (0.5 + 2) = 0
  system.guards(0.0, std::vector<double>{0.0, 0.5, 0.5}, xp, g);
  EXPECT_DOUBLE_EQ(g[g.size() - 6], 0.625);
  // beside the surface, and at rest on it, relations count as they are
  RecordedSystem beside(all->equations, {0.0, 0.0, 0.0}, {1.0, 1.0, 1.0, 1.0});
  beside.rhs(0.0, std::vector<double>{0.25, 0.5, 0.5}, xp);
  EXPECT_DOUBLE_EQ(xp[0], 0.5 - 2.25);
  RecordedSystem at_rest(all->equations, {0.0, 0.0, 0.0}, {0.0, 1.0, 1.0, 1.0});
  at_rest.rhs(0.0, std::vector<double>{0.0, 0.5, 0.5}, xp);
  EXPECT_DOUBLE_EQ(xp[0], 0.5);
}

TEST(AllSlides, LeaveOutWhatDecidesTwiceWithinOthersThatDo) {
  Field field(4);
  const auto& x = field.base.equations.variables;
  std::vector<BoolExpr> above;
  for (int k = 0; k < 4; ++k) above.push_back(field.add_surface(x[static_cast<std::size_t>(k)], true));
  const BoolExpr below0 = add_below(field, 0), below1 = add_below(field, 1);
  const Expr sign1 = if_else(above[1], 1.0, if_else(below1, -1.0, 0.0));
  field.finish({if_else(above[0], -sign1, if_else(below0, 1.0, 0.0)), -sign1, if_else(above[2], -1.0, 1.0),
                if_else(above[3], -1.0, 1.0)});
  const auto all = all_slides(field.base, field.surfaces);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->surfaces, (std::vector<int>{2, 3}));
}

TEST(AllSlides, NeedNoValuesOfBranchesThatAreNotTaken) {
  Field field(3);
  const auto& x = field.base.equations.variables;
  std::vector<BoolExpr> above;
  for (int k = 0; k < 3; ++k) above.push_back(field.add_surface(x[static_cast<std::size_t>(k)] - 1.0, true));
  field.finish({if_else(above[0], -log(x[0]), 1.0), if_else(above[1], -1.0, 1.0), if_else(above[2], -1.0, 1.0)});
  const auto all = all_slides(field.base, field.surfaces);
  ASSERT_TRUE(all);
  RecordedSystem system(all->equations, {0.0, 1.0, 0.0}, {0.0, 0.0, 0.0});
  std::vector<double> xp(3);
  system.rhs(0.0, std::vector<double>{-2.0, 1.0, 0.5}, xp);
  EXPECT_EQ(xp, (std::vector<double>{1.0, 0.0, 1.0}));
}

TEST(AllSlides, AreNotMadeForRootsThatVanishOnASurface) {
  Field field(2);
  const auto& x = field.base.equations.variables;
  std::vector<BoolExpr> above;
  for (int k = 0; k < 2; ++k) above.push_back(field.add_surface(x[static_cast<std::size_t>(k)], true));
  field.finish({if_else(above[0], -sqrt(x[0]), 1.0), if_else(above[1], -1.0, 1.0)});
  EXPECT_FALSE(all_slides(field.base, field.surfaces));
}

}  // namespace
}  // namespace saltus
