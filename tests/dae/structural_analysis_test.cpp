#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <saltus/dae/structural_analysis.hpp>

#include <algorithm>
#include <set>

#include "problems/structures.hpp"

namespace saltus {
namespace {

using problems::make_structure;
using problems::Places;

constexpr int absent = -1000;

std::vector<std::vector<int>> signature_of(const Structure& s) {
  std::vector sigma(static_cast<std::size_t>(s.equations),
                    std::vector<int>(static_cast<std::size_t>(s.variables), absent));
  for (int j = 0; j < s.variables; ++j) {
    for (int k = s.state_pattern.start[j]; k < s.state_pattern.start[j + 1]; ++k) sigma[s.state_pattern.row[k]][j] = 0;
    for (int k = s.derivative_pattern.start[j]; k < s.derivative_pattern.start[j + 1]; ++k)
      sigma[s.derivative_pattern.row[k]][j] = 1;
  }
  return sigma;
}

// All facts that make an analysis of a square regular structure right, checked without the algorithm.
void expect_certified_by_duality(const Structure& s, const StructuralAnalysis& a) {
  const int n = s.variables;
  ASSERT_FALSE(a.singular());
  const auto sigma = signature_of(s);
  std::set<int> used;
  int weight = 0, dual = 0;
  for (int i = 0; i < n; ++i) {
    const int j = a.matched_variable[i];
    ASSERT_NE(sigma[i][j], absent);
    EXPECT_TRUE(used.insert(j).second);
    weight += sigma[i][j];
    EXPECT_GE(a.equation_offset[i], 0);
    for (int k = 0; k < n; ++k) {
      if (sigma[i][k] != absent) {
        EXPECT_GE(a.variable_offset[k] - a.equation_offset[i], sigma[i][k]);
      }
    }
    dual += a.variable_offset[i] - a.equation_offset[i];
  }
  EXPECT_EQ(weight, dual);  // primal and dual values agree: the matching and the offsets are optimal
  EXPECT_EQ(a.degrees_of_freedom, dual);
}

Structure pendulum() {
  return problems::hanging_chain(1);
}

TEST(StructuralAnalysis, OfThePendulumHasThePublishedOffsets) {
  // Pryce (2001), written as a first order system: p' = v, v' = -lambda p - g, |p|^2 = 1
  const StructuralAnalysis a = analyse_structure(pendulum());
  EXPECT_EQ(a.equation_offset, (std::vector{1, 1, 0, 0, 2}));
  EXPECT_EQ(a.variable_offset, (std::vector{2, 2, 1, 1, 0}));
  EXPECT_EQ(a.index, 3);
  EXPECT_EQ(a.degrees_of_freedom, 2);
  EXPECT_EQ(a.blocks.blocks(), 1);
}

TEST(StructuralAnalysis, OfAnExplicitOdeNeedsNoDifferentiation) {
  const StructuralAnalysis a = analyse_structure(make_structure(2, 2, {{0, 1}, {1, 0}}, {{0, 0}, {1, 1}}));
  EXPECT_EQ(a.index, 0);
  EXPECT_EQ(a.degrees_of_freedom, 2);
}

TEST(StructuralAnalysis, OfTheEmptySystemIsRegular) {
  const StructuralAnalysis a = analyse_structure(make_structure(0, 0, {}, {}));
  EXPECT_FALSE(a.singular());
  EXPECT_EQ(a.blocks.blocks(), 0);
}

TEST(StructuralAnalysis, OrdersTheBlocksSoThatTheyCanBeSolvedOneAfterTheOther) {
  // x0 = f; x1 + x2 = x0, x1 - x2 = 0; x3 from all
  const Structure s = make_structure(4, 4, {{0, 3}, {0, 1}, {1, 0}, {2, 1}, {2, 2}, {2, 0}, {3, 1}, {3, 2}}, {});
  const StructuralAnalysis a = analyse_structure(s);
  ASSERT_EQ(a.blocks.blocks(), 3);
  EXPECT_EQ(a.blocks.equation.front(), 1);
  EXPECT_EQ(a.blocks.start, (std::vector{0, 1, 3, 4}));
  EXPECT_EQ(a.blocks.variable.back(), 3);
}

TEST(StructuralAnalysis, NamesTheOverAndUnderdeterminedParts) {
  // equations 0, 1 both contain x0 only; x1, x2 share equation 2; equation 3 determines x3
  const Structure s = make_structure(4, 4, {{0, 0}, {1, 0}, {2, 1}, {2, 2}, {3, 3}, {3, 0}}, {});
  const StructuralAnalysis a = analyse_structure(s);
  ASSERT_TRUE(a.singular());
  EXPECT_EQ(a.overdetermined.equations, (std::vector{0, 1}));
  EXPECT_EQ(a.overdetermined.variables, (std::vector{0}));
  EXPECT_EQ(a.underdetermined.equations, (std::vector{2}));
  EXPECT_EQ(a.underdetermined.variables, (std::vector{1, 2}));
  EXPECT_EQ(a.blocks.equation, (std::vector{3}));
  EXPECT_EQ(a.blocks.variable, (std::vector{3}));
}

class StructureOnly final : public System {
 public:
  explicit StructureOnly(Structure s) : structure_(std::move(s)) {}
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double>, std::span<const double>, std::span<double>) override {}
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double> Fx,
                std::span<double> Fxp) override {
    std::ranges::copy(state_values, Fx.begin());
    std::ranges::copy(derivative_values, Fxp.begin());
  }
  std::vector<double> state_values, derivative_values;

 private:
  Structure structure_;
};

TEST(StructuralAnalysis, DescribesASingularSystemInWords) {
  const StructureOnly system(make_structure(4, 4, {{0, 0}, {1, 0}, {2, 1}, {2, 2}, {3, 3}}, {}));
  EXPECT_EQ(describe_singularity(analyse_structure(system.structure()), system, 1),
            "2 equations for 1 variables: 'equation 1' and 1 more contain only 'x[1]'; "
            "2 variables in 1 equations: 'x[2]' and 1 more occur only in 'equation 3'");
  const StructureOnly regular(pendulum());
  EXPECT_EQ(describe_singularity(analyse_structure(regular.structure()), regular), "");
}

TEST(StructuralAnalysis, OfANonSquareSystemIsSingular) {
  const StructuralAnalysis more = analyse_structure(make_structure(2, 1, {{0, 0}, {1, 0}}, {}));
  EXPECT_EQ(more.overdetermined.equations.size(), 2U);
  EXPECT_TRUE(more.underdetermined.empty());
  const StructuralAnalysis fewer = analyse_structure(make_structure(1, 2, {{0, 0}}, {}));
  EXPECT_EQ(fewer.underdetermined.variables, (std::vector{1}));
}

RC_GTEST_PROP(StructuralAnalysis, IsOptimalForRandomStructures, ()) {
  const int n = *rc::gen::inRange(1, 12);
  const int places = *rc::gen::inRange(n, 4 * n);
  Places state, derivative;
  for (int k = 0; k < places; ++k)
    (*rc::gen::inRange(0, 2) ? state : derivative).emplace_back(*rc::gen::inRange(0, n), *rc::gen::inRange(0, n));
  if (*rc::gen::arbitrary<bool>())
    for (int i = 0; i < n; ++i) state.emplace_back(i, (i + 1) % n);  // regular for sure
  const Structure s = make_structure(n, n, state, derivative);
  const StructuralAnalysis a = analyse_structure(s);
  if (!a.singular()) {
    expect_certified_by_duality(s, a);
    RC_ASSERT(!testing::Test::HasFailure());
    // canonical: the fixed point iteration from zero gives the smallest offsets
    const auto sigma = signature_of(s);
    std::vector<int> c(static_cast<std::size_t>(n), 0), d(static_cast<std::size_t>(n), 0);
    for (bool changed = true; changed;) {
      changed = false;
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) d[j] = std::max(d[j], sigma[i][j] + c[i]);
      for (int i = 0; i < n; ++i) {
        const int next = d[a.matched_variable[i]] - sigma[i][a.matched_variable[i]];
        changed |= next != c[i];
        c[i] = next;
      }
    }
    RC_ASSERT(c == a.equation_offset);
    RC_ASSERT(d == a.variable_offset);
  } else {
    // Koenig: the overdetermined equations have fewer neighbours than members, or are empty; likewise the variables
    const auto sigma = signature_of(s);
    std::set<int> neighbours;
    for (int i : a.overdetermined.equations)
      for (int j = 0; j < n; ++j)
        if (sigma[i][j] != absent) neighbours.insert(j);
    RC_ASSERT(neighbours == std::set<int>(a.overdetermined.variables.begin(), a.overdetermined.variables.end()));
    RC_ASSERT(neighbours.size() < a.overdetermined.equations.size());
    RC_ASSERT(a.underdetermined.variables.size() > a.underdetermined.equations.size());
  }
  // the blocks are triangular
  const auto sigma = signature_of(s);
  std::vector<int> block_of(static_cast<std::size_t>(n), -1);
  for (int b = 0; b < a.blocks.blocks(); ++b)
    for (int k = a.blocks.start[b]; k < a.blocks.start[b + 1]; ++k) block_of[a.blocks.variable[k]] = b;
  for (int b = 0; b < a.blocks.blocks(); ++b)
    for (int k = a.blocks.start[b]; k < a.blocks.start[b + 1]; ++k)
      for (int j = 0; j < n; ++j)
        if (sigma[a.blocks.equation[k]][j] != absent) RC_ASSERT(block_of[j] <= b);
}

TEST(StructuralAnalysis, OfALongShuffledChainIsIndexThree) {
  const int links = 4000;
  const StructuralAnalysis a = analyse_structure(problems::shuffled(problems::hanging_chain(links), 5));
  EXPECT_EQ(a.index, 3);
  EXPECT_EQ(a.degrees_of_freedom, 2 * links);
}

TEST(StructuralAnalysis, FollowsADifferentiatorChainToAnyIndexWithoutRecursion) {
  const int n = 100000;
  const StructuralAnalysis a = analyse_structure(problems::differentiator_chain(n));
  EXPECT_EQ(a.index, n);
  EXPECT_EQ(a.degrees_of_freedom, 0);
  EXPECT_EQ(a.blocks.blocks(), n);
}

TEST(Certificate, AcceptsANonsingularSystemJacobianInAnyUnits) {
  // x' + 1e-9 y = 0, x = f: index 2, system Jacobian [1, 1e-9; 1, 0]
  StructureOnly system(make_structure(2, 2, {{0, 1}, {1, 0}}, {{0, 0}}));
  system.state_values = {1.0, 1e-9};
  system.derivative_values = {1.0};
  const std::vector x{0.0, 0.0};
  const StructuralCertificate certificate = certify(system, analyse_structure(system.structure()), 0.0, x, x);
  EXPECT_TRUE(certificate.valid);
  EXPECT_GT(certificate.reciprocal_condition, 0.1);
}

TEST(Certificate, RefusesASingularSystemJacobian) {
  StructureOnly system(make_structure(2, 2, {}, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  system.derivative_values = {1.0, 2.0, 2.0, 4.0};
  const std::vector x{0.0, 0.0};
  EXPECT_FALSE(certify(system, analyse_structure(system.structure()), 0.0, x, x).valid);
}

}  // namespace
}  // namespace saltus
