// Many surfaces on which a solution may slide: a slide is data of one system, not a system of its own.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace saltus {
namespace {

struct Block {
  double x, v;
};

Block start_of(int i) {
  return {0.3 * std::sin(1.7 * i), 0.5 * std::cos(2.3 * i)};
}

/// Blocks on a belt, each on a spring of its own; `spring`: between neighbours.
Model blocks(int first, int count, double spring) {
  Model m("belt");
  std::vector<Expr> x, v;
  for (int i = first; i < first + count; ++i) {
    x.push_back(m.variable("x" + std::to_string(i), start_of(i).x));
    v.push_back(m.variable("v" + std::to_string(i), start_of(i).v));
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Expr &left = x[i > 0 ? i - 1 : i], &right = x[std::min(i + 1, x.size() - 1)];
    m.equation(der(x[i]) == v[i]);
    m.equation(der(v[i]) == -x[i] + spring * (left - 2.0 * x[i] + right) + if_else(v[i] > 0.1, -0.2, 0.2));
  }
  return m;
}

const SimulateOptions exact{.stop = 6.0, .rtol = 1e-10, .atol = 1e-10};

TEST(ManySlides, BlocksThatDoNotTouchMoveAsEachAlone) {
  constexpr int count = 12;
  const Trajectory all = simulate(blocks(0, count, 0.0), exact);
  ASSERT_TRUE(all.status().ok()) << all.status().message;
  std::size_t events = 0;
  for (int i = 0; i < count; ++i) {
    const Trajectory one = simulate(blocks(i, 1, 0.0), exact);
    ASSERT_TRUE(one.status().ok()) << one.status().message;
    events += one.events().size();
    for (const double t : {1.0, 3.0, 6.0})
      for (const std::string& name : {"x" + std::to_string(i), "v" + std::to_string(i)})
        EXPECT_NEAR(all.at(t, name), one.at(t, name), 1e-8) << name << " at " << t;
  }
  EXPECT_EQ(all.events().size(), events);
}

TEST(ManySlides, AgreeBetweenMethods) {
  const Model m = blocks(0, 8, 2.0);
  const Trajectory one = simulate(m, exact);
  ASSERT_TRUE(one.status().ok()) << one.status().message;
  EXPECT_GT(std::count_if(one.events().begin(), one.events().end(),
                          [](const Event& e) { return e.kind == EventKind::slide_enter; }),
            8);
  for (const Method method : {Method::dop853, Method::rodas5p, Method::radau, Method::bdf, Method::taylor}) {
    SimulateOptions options = exact;
    options.method = method;
    const Trajectory other = simulate(m, options);
    ASSERT_TRUE(other.status().ok()) << other.status().message;
    EXPECT_EQ(other.events().size(), one.events().size());
    for (std::size_t j = 0; j < one.final().size(); ++j) EXPECT_NEAR(other.final()[j], one.final()[j], 2e-7);
  }
}

TEST(ManySlides, HaveOneSystemForAllSets) {
  CompiledModel model(blocks(0, 6, 2.0));
  Mode mode = model.initial_mode();
  const Structure* structure = nullptr;
  for (const std::vector<int>& set : {std::vector<int>{0}, {3}, {1, 2}, {0, 1, 2, 3, 4, 5}}) {
    mode.sliding = set;
    ASSERT_TRUE(model.can_stay_on_surfaces(mode));
    const Structure* const found = &model.system(mode).structure();
    EXPECT_TRUE(!structure || structure == found);
    structure = found;
    std::vector<int> exits;
    model.exit_guards(mode, exits);
    ASSERT_EQ(exits.size(), set.size());
    for (std::size_t k = 0; k < set.size(); ++k) EXPECT_EQ(exits[k], 6 + 2 * set[k]);
  }
}

/// The whole of a large belt: no step or event may cost what the number of sets does.
TEST(ManySlides, AThousandBlocksStartAndSlide) {
  const CompiledModel model(blocks(0, 1000, 2.0));
  const Trajectory run = simulate(model, {.stop = 0.02, .rtol = 1e-6, .atol = 1e-6});
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_GT(run.events().size(), 10u);
  EXPECT_TRUE(run.segments().back().slides);
}

}  // namespace
}  // namespace saltus
