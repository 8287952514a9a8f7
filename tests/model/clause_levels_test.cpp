// Which clauses of a round wait for others.
#include "model/clause_levels.hpp"

#include <saltus/expr/expr.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace saltus {
namespace {

using Levels = std::vector<std::vector<int>>;

class ClauseLevels : public testing::Test {
 protected:
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr symbol(const std::string& name, SymbolKind kind) { return {graph, graph->symbol(name, kind)}; }
  const Expr x = symbol("x", SymbolKind::variable), a = symbol("a", SymbolKind::discrete),
             b = symbol("b", SymbolKind::discrete), c = symbol("c", SymbolKind::discrete);
  std::vector<ModelData::Clause> clauses;
  std::vector<ModelData::Definition> definitions;

  /// when condition then target := value; `after`: elsewhen of that clause.
  void when(const BoolExpr& condition, const Expr& target, const Expr& value, int after = -1) {
    ModelData::Clause clause;
    clause.condition = condition;
    ModelData::Action action;
    action.kind = ModelData::Action::Kind::assign;
    action.target = target;
    action.value = value;
    clause.actions.push_back(action);
    clause.after = after;
    clauses.push_back(clause);
  }
  Levels levels() const { return clause_levels(clauses, definitions); }
};

TEST_F(ClauseLevels, ClausesThatNeedNothingOfOthersActTogether) {
  when(x > 1.0, a, 1.0);
  when(x > 2.0, b, x);
  EXPECT_EQ(levels(), (Levels{{0, 1}}));
}

TEST_F(ClauseLevels, AClauseWaitsForWhatItsConditionNeeds) {
  when(x > 1.0, a, 1.0);
  when(a > 0.0, b, 1.0);
  when(b > 0.0, c, 1.0);
  EXPECT_EQ(levels(), (Levels{{0}, {1}, {2}}));
}

TEST_F(ClauseLevels, AClauseWaitsForWhatItsValueNeeds) {
  when(x > 1.0, a, a + 1.0);
  when(x > 1.0, b, 2.0 * a);
  EXPECT_EQ(levels(), (Levels{{0}, {1}}));
}

TEST_F(ClauseLevels, OnlyClausesThatAreWrittenBeforeAreWaitedFor) {
  when(x > 1.0, b, 2.0 * a);
  when(x > 1.0, a, a + 1.0);
  EXPECT_EQ(levels(), (Levels{{0, 1}}));
}

TEST_F(ClauseLevels, NeedsGoThroughDefinitions) {
  definitions.push_back({b, 3.0 * a, {}});
  definitions.push_back({c, b + 1.0, {}});
  when(x > 1.0, a, 1.0);
  const Expr other = symbol("other", SymbolKind::discrete);
  when(c > 2.0, other, 1.0);
  EXPECT_EQ(levels(), (Levels{{0}, {1}}));
}

TEST_F(ClauseLevels, DefinitionsInACircleEndTheSearch) {
  definitions.push_back({b, c + a, {}});
  definitions.push_back({c, b, {}});
  when(x > 1.0, a, 1.0);
  const Expr other = symbol("other", SymbolKind::discrete);
  when(c > 2.0, other, 1.0);
  EXPECT_EQ(levels(), (Levels{{0}, {1}}));
}

TEST_F(ClauseLevels, TheBranchesOfOneClauseStayTogether) {
  when(x > 1.0, a, 1.0);
  when(x > 2.0, b, 1.0);
  when(a > 0.0, b, 2.0, 1);  // elsewhen of the second
  EXPECT_EQ(levels(), (Levels{{0}, {1, 2}}));
}

TEST_F(ClauseLevels, NobodyWaitsForWhatSeveralClausesAssign) {
  when(x > 1.0, a, 1.0);
  when(x > 2.0, a, 2.0);
  when(a > 1.0, b, 1.0);
  EXPECT_EQ(levels(), (Levels{{0, 1, 2}}));
}

TEST_F(ClauseLevels, SamplesAreLeftOut) {
  when(x > 1.0, a, 1.0);
  clauses.back().samples = true;
  when(a > 0.0, b, 1.0);
  EXPECT_EQ(levels(), (Levels{{1}}));
}

}  // namespace
}  // namespace saltus
