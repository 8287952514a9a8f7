// Modes as small numbers.
#include "hybrid/mode_table.hpp"

#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <random>
#include <vector>

namespace saltus {
namespace {

/// A counter, a sampled value, a discrete variable that decides, and one that changes the structure.
Model model() {
  Model m("m");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.0), count = m.discrete("count", 0.0),
             held = m.discrete("held", 0.0);
  const BoolExpr armed = m.discrete("armed", false), joined = m.discrete("joined", false);
  m.equation(der(x) == if_else(x > 0.0, held - x, held + x));
  m.equation(if_else(joined, y - x, der(y) - x) == 0.0);
  const Expr z = m.variable("z", 0.0);  // no explicit form, whose derivatives would need fixed coefficients
  m.equation(z + sin(z) == x);
  m.when(x > 2.0).assign(count, m.pre(count) + 1.0).assign(held, -x);
  m.when(armed && x > 3.0).assign(count, 0.0);
  return m;
}

TEST(ModeTable, EqualModesAreOneAndCountersDoNotCount) {
  CompiledModel c(model());
  ModeTable table(c);
  const Mode first = c.initial_mode();
  EXPECT_EQ(table.number(first), 0);
  EXPECT_EQ(table.number(first), 0);
  Mode other = first;
  other.discrete[0] = 7.0;    // count
  other.discrete[1] = -1.25;  // held: a number in the equations
  EXPECT_EQ(table.number(other), 0);
  other.discrete[2] = 1.0;  // armed: a clause asks for it
  EXPECT_EQ(table.number(other), 1);
  other.discrete[3] = 1.0;  // joined: the structure depends on it
  EXPECT_EQ(table.number(other), 2);
  EXPECT_NE(&c.system(table.mode(1)).structure(), &c.system(table.mode(2)).structure());
  Mode side = first;
  c.set_side(side, 0, +1);
  EXPECT_EQ(table.number(side), 3);
  Mode slides = side;
  slides.sliding = {0};
  EXPECT_EQ(table.number(slides), 4);
  slides.sliding = {};
  slides.contacts = {0};
  slides.contact_sides = {1};
  EXPECT_EQ(table.number(slides), 5);
  slides.contact_sides = {-1};
  EXPECT_EQ(table.number(slides), 6);
  EXPECT_EQ(table.size(), 7);
  EXPECT_EQ(table.mode(3).locks, side.locks);
  EXPECT_EQ(table.number(first), 0);
}

// against a comparison of every mode with all that have been met
TEST(ModeTable, NumbersRandomModesAsAComparisonDoes) {
  CompiledModel c(model());
  ModeTable table(c);
  std::mt19937 random(1);
  const auto bit = [&] { return static_cast<double>(random() % 2); };
  std::vector<Mode> met;
  for (int k = 0; k < 2000; ++k) {
    Mode mode = c.initial_mode();
    for (double& lock : mode.locks) lock = bit();
    for (double& condition : mode.conditions) condition = bit();
    mode.discrete = {static_cast<double>(random() % 100), 0.1 * static_cast<double>(random() % 100), bit(), bit()};
    if (random() % 3 == 0) mode.sliding = {0};
    const auto same = [&](const Mode& other) {
      return mode.locks == other.locks && mode.conditions == other.conditions && mode.sliding == other.sliding &&
             mode.discrete[2] == other.discrete[2] && mode.discrete[3] == other.discrete[3];
    };
    std::size_t expected = 0;
    while (expected < met.size() && !same(met[expected])) ++expected;
    if (expected == met.size()) met.push_back(mode);
    ASSERT_EQ(table.number(mode), static_cast<int>(expected));
  }
  EXPECT_EQ(table.size(), static_cast<int>(met.size()));
}

/// A family of two modes that says nothing about identity.
class Plain final : public HybridSystem {
 public:
  const std::string& name() const override { return name_; }
  const std::vector<VariableInfo>& variables() const override { return variables_; }
  const std::vector<GuardInfo>& guards() const override { return guards_; }
  Mode initial_mode() const override { return {}; }
  std::string describe(const Mode&) const override { return ""; }
  System& system(const Mode&) override { throw UsageError("not needed here"); }
  int side(const Mode&, int) const override { return 0; }
  void set_side(Mode&, int, int) const override {}
  double next_time_event(const Mode&, double, int, std::vector<int>&) override { return 0.0; }
  bool transition(const EventInput&, Transition&) override { return false; }

 private:
  std::string name_;
  std::vector<VariableInfo> variables_;
  std::vector<GuardInfo> guards_;
};

TEST(ModeTable, TellsAllNumbersApartByDefault) {
  const Plain plain;
  ModeTable table(plain);
  EXPECT_EQ(table.number({.automaton = 0, .discrete = {1.0}}), 0);
  EXPECT_EQ(table.number({.automaton = 0, .discrete = {2.0}}), 1);
  EXPECT_EQ(table.number({.automaton = 0, .locks = {1.0}}), 2);  // the same numbers in another place
  EXPECT_EQ(table.number({.automaton = 1, .discrete = {1.0}}), 3);
  EXPECT_EQ(table.number({.automaton = 0, .discrete = {1.0}}), 0);
  EXPECT_EQ(table.number({.automaton = 0, .discrete = {0.0}}), 4);
  EXPECT_EQ(table.number({.automaton = 0, .discrete = {-0.0}}), 4);
}

}  // namespace
}  // namespace saltus
