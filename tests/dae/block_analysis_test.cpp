// Characteristic values of modes that are too large for dense decompositions and have no certificate.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <saltus/dae/characteristic_values.hpp>
#include <saltus/dae/initialisation.hpp>

#include <algorithm>
#include <cmath>

#include "problems/catalogue.hpp"
#include "problems/large_without_certificate.hpp"

namespace saltus {
namespace {

using problems::Cell;
using problems::Problem;

// Everything block by block, however small.
constexpr CharacteristicOptions by_blocks{.max_level = 12, .use_structure = false, .dense_limit = 0};

void expect_found(const Problem& p, const CharacteristicOptions& options = {}) {
  const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess, options);
  EXPECT_EQ(to_string(c.numbers), to_string(p.expected)) << p.name << ": " << c.reason;
  EXPECT_EQ(to_string(c.status), "clear") << p.name;
}

TEST(BlockAnalysis, FindsLongChainsOfStructurallyWrongCells) {
  for (const Cell cell : {Cell::singular_mass, Cell::hidden_constraint})
    for (const bool nonlinear : {false, true}) {
      const Problem p = problems::chain_of_cells(1000, cell, nonlinear);
      EXPECT_NE(analyse_structure(p.system->structure()).degrees_of_freedom, p.expected.d);
      expect_found(p);
    }
  expect_found(problems::chain_of_cells(5000, Cell::singular_mass));
}

TEST(BlockAnalysis, CountsDifferentiationsThroughAChain) {
  // each cell differentiates the output of the one before; from six nonlinear cells on, no consistent point is found
  for (const bool nonlinear : {false, true})
    for (int count = 1; count <= (nonlinear ? 4 : 7); ++count) {
      const Problem p = problems::chain_of_cells(count, Cell::differentiating, nonlinear);
      expect_found(p, by_blocks);
      if (!nonlinear) expect_found(p);  // the whole array agrees
    }
  const Problem p = problems::chain_of_cells(600, Cell::differentiating);
  const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess);
  EXPECT_EQ(c.status, AnalysisStatus::undecided);
  EXPECT_EQ(c.reason, "its blocks need up to 600 differentiations together");
}

TEST(BlockAnalysis, CombinesALargeCertifiedBlockWithWrongSmallOnes) {
  expect_found(problems::heat_rod_between_cells(5000));
  expect_found(problems::heat_rod_between_cells(1000, Cell::hidden_constraint));
}

TEST(BlockAnalysis, AgreesWithTheWholeArrayOnTheCatalogue) {
  int compared = 0;
  for (const problems::NamedProblem& named : problems::dae_catalogue()) {
    const Problem p = named.make();
    if (analyse_structure(p.system->structure()).singular()) continue;
    const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess, by_blocks);
    // regular blocks only; and a projection may fail where the structured one does not
    if (p.expected.u > 0) {
      EXPECT_EQ(c.status, AnalysisStatus::undecided) << named.name;
    }
    if (c.status == AnalysisStatus::undecided) {
      EXPECT_NE(c.reason, "") << named.name;
      continue;
    }
    EXPECT_EQ(to_string(c.numbers), to_string(p.expected)) << named.name;
    ++compared;
  }
  EXPECT_GE(compared, 28);
}

TEST(BlockAnalysis, FindsRedundantEquationsOfALargeMode) {
  expect_found(problems::redundant_heat_rod(400, 100));
  const Problem p = problems::redundant_heat_rod(400, 100, true);
  const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess);
  EXPECT_EQ(c.status, AnalysisStatus::undecided);
  EXPECT_NE(c.reason, "");
}

TEST(BlockAnalysis, LeadsToConsistentValues) {
  for (const Problem& p : {problems::chain_of_cells(600, Cell::singular_mass, true),
                           problems::chain_of_cells(600, Cell::hidden_constraint, true),
                           problems::heat_rod_between_cells(600)}) {
    const CharacteristicValues c = characteristic_values(*p.system, p.t, p.guess);
    EXPECT_EQ(static_cast<int>(c.free_components.size()), c->d);
    const Initialisation i = initialise(*p.system, p.t, p.guess, c);
    ASSERT_TRUE(i.ok()) << i.message;
    EXPECT_LT(i.residual, 1e-12);
    for (const int j : c.free_components) EXPECT_EQ(i.x[j], p.guess[j]) << p.system->variable_name(j);
  }
}

TEST(BlockAnalysis, GivesTheExactHiddenConstraints) {
  // p = w - g', q = g - p with g = cos t and w = sin t, then w = q / 2 of the cell before; slopes by differentiation
  const Problem p = problems::chain_of_cells(600, Cell::hidden_constraint);
  const Initialisation i = initialise(*p.system, p.t, p.guess);
  ASSERT_TRUE(i.ok()) << i.message;
  double w = std::sin(p.t), wp = std::cos(p.t);
  for (std::size_t k = 0; k < p.guess.size(); k += 2) {
    const double first = w + std::sin(p.t), slope = wp + std::cos(p.t);
    EXPECT_NEAR(i.x[k], first, 1e-14);
    EXPECT_NEAR(i.x[k + 1], std::cos(p.t) - first, 1e-14);
    EXPECT_NEAR(i.xp[k], slope, 1e-13);
    w = 0.5 * i.x[k + 1];
    wp = 0.5 * (-std::sin(p.t) - slope);
  }
}

RC_GTEST_PROP(BlockAnalysis, AgreesWithTheWholeArray, ()) {
  // random linear cells of both kinds, driven by random earlier ones through either equation, with or without derivative
  problems::Recorder r;
  std::vector<Expr> outputs{sin(r.time())};
  std::vector<double> guess;
  const int count = *rc::gen::inRange(1, 5);
  for (int k = 0; k < count; ++k) {
    const Expr p = r.variable("p" + std::to_string(k)), q = r.variable("q" + std::to_string(k));
    const auto input = [&] {
      const int from = *rc::gen::inRange(0, static_cast<int>(outputs.size()));
      const Expr& w = outputs[from];
      return from > 0 && *rc::gen::inRange(0, 4) == 0 ? der(w) : w;
    };
    r.equation(der(p) + der(q) + p - input());
    if (*rc::gen::inRange(0, 2) == 0)
      r.equation(der(p) + der(q) - 2.0 * q + input());
    else
      r.equation(p + q - input());
    outputs.push_back(p);
    outputs.push_back(q);
    guess.insert(guess.end(), {0.3, 0.2});
  }
  const auto system = r.system();
  const CharacteristicValues whole = characteristic_values(*system, 0.2, guess);
  const CharacteristicValues blocks = characteristic_values(*system, 0.2, guess, by_blocks);
  RC_LOG() << to_string(whole.numbers) << ", by blocks " << to_string(blocks.numbers) << " " << blocks.reason;
  RC_ASSERT(whole.status == AnalysisStatus::clear);
  RC_ASSERT(blocks.status == AnalysisStatus::clear);
  RC_ASSERT(blocks->d == whole->d);
  RC_ASSERT(blocks->a == whole->a);
  RC_ASSERT(blocks->mu >= whole->mu);  // a bound
  if (!blocks.decided_by_structure) RC_ASSERT(blocks->mu == whole->mu);
}

}  // namespace
}  // namespace saltus
