// Random models by all executors: the counters of their events, their statuses and their values are those of the loop.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>

#include "executors/execute.hpp"
#include "random_cases.hpp"

namespace saltus::executors {
namespace {

/// An oscillator that begins at p, with equations of some kind and events of some kinds.
class RandomModel {
 public:
  explicit RandomModel(int seed) : random_(static_cast<unsigned>(seed)) {
    declare("Real x(start = p, fixed = true), v(start = " + number(-0.5, 0.5) + ", fixed = true); ");
    std::string force = number(0.5, 1.5) + "*cos(" + number(0.6, 1.7) + "*time) - " + number(0.1, 0.5) + "*v - " +
                        number(0.5, 3.0) + "*x";
    switch (pick(7)) {
      case 0:  // an algebraic variable, not linear
        declare("Real z(start = 0.1); ");
        equate("z + " + number(0.1, 0.5) + "*z^3 = x + 0.2*v; ");
        force += " - z";
        break;
      case 1:  // a fast variable
        declare("Real s(start = 1, fixed = true); ");
        equate("der(s) = -2000*(s - cos(x)); ");
        force += " + 0.3*s";
        break;
      case 2:  // a pendulum beside it
        declare(
            "Real a(start = 1, fixed = true), b(start = 0), c(start = 0, fixed = true), d(start = 0), "
            "f(start = 0); ");
        equate("der(a) = c; der(b) = d; der(c) = -f*a; der(d) = -f*b - 1; a^2 + b^2 = 1; ");
        force += " + 0.2*b";
        if (pick(2) == 0) {  // against a wall, where the rod takes its share of the impact
          declare("discrete Real nw(start = 0, fixed = true); ");
          equate("when a < -" + number(0.2, 0.8) + " then reinit(c, -" + number(0.6, 1.0) +
                 "*pre(c)); nw = pre(nw) + 1; end when; ");
        }
        break;
      case 3:  // two cranks: a slider whose position two angles give, with a force that depends on a speed
        declare(
            "Real s1(start = 0.5, fixed = true), w1(start = 0.3, fixed = true), s2(start = 0.4), w2(start = 0), "
            "push(start = 0); discrete Real nk(start = 0, fixed = true); ");
        equate("der(s1) = w1; der(s2) = w2; der(w1) = -s1 + push*cos(s1) + 0.2*x; der(w2) = -" + number(0.1, 0.6) +
               "*(if w2 > 0 then 1 else -1) + " + number(0.5, 1.5) +
               "*sin(time) - push; sin(s1) - s2 = 0.079425538604203; "
               "when push > 0.1 then nk = pre(nk) + 1; end when; ");
        force += " + 0.1*s2";
        break;
      default:
        break;
    }
    const int events = 1 + pick(3);
    std::vector<int> kinds(7);
    for (int k = 0; k < 7; ++k) kinds[static_cast<std::size_t>(k)] = k;
    std::shuffle(kinds.begin(), kinds.end(), random_);
    for (int k = 0; k < events; ++k) force += add_event(kinds[static_cast<std::size_t>(k)], std::to_string(k));
    equate("der(x) = v; der(v) = " + force + "; ");
  }

  std::string text() const { return declarations_ + "equation " + equations_; }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  std::string number(double low, double high) {
    return std::to_string(std::uniform_real_distribution<double>(low, high)(random_));
  }
  void declare(const std::string& text) { declarations_ += text; }
  void equate(const std::string& text) { equations_ += text; }

  /// What it adds to the force.
  std::string add_event(int kind, const std::string& name) {
    const std::string n = "n" + name;
    declare("discrete Real " + n + "(start = 0, fixed = true); ");
    const std::string count = n + " = pre(" + n + ") + 1; ";
    switch (kind) {
      case 0:  // a wall
        equate("when x < -" + number(0.2, 0.6) + " then reinit(v, -" + number(0.5, 0.9) + "*pre(v)); " + count +
               "end when; ");
        return "";
      case 1:  // dry friction
        equate("when v > 0 then " + count + "end when; ");
        return " - " + number(0.2, 0.8) + "*(if v > 0 then 1 else -1)";
      case 2: {  // a hysteresis
        declare("discrete Real on" + name + "(start = 0, fixed = true); ");
        const std::string level = number(0.1, 0.4);
        equate("when x > " + level + " then on" + name + " = 1; " + count + "elsewhen x < -" + level + " then on" +
               name + " = 0; end when; ");
        return " - 0.5*on" + name;
      }
      case 3:  // a sampled force
        declare("discrete Real u" + name + "(start = 0, fixed = true); ");
        equate("when sample(0, " + number(0.2, 0.6) + ") then u" + name + " = -0.4*x; " + count + "end when; ");
        return " + u" + name;
      case 4:  // a guard that is not affine, and counts
        equate("when " + std::string(pick(2) == 0 ? "sin(3*x)*v > 0.1" : "exp(x) - v*v > 0.9") + " then " + count +
               "end when; ");
        return "";
      case 5:  // one that switches
        equate("when x*x + v*v < " + number(0.2, 0.9) + " then " + count + "end when; ");
        return " + (if x*x + v*v < " + number(0.2, 0.9) + " then 0.6*v else 0)";
      default:  // the reset of one makes another one happen
        declare("Real y" + name + "(start = 0, fixed = true); ");
        equate("der(y" + name + ") = 1 - y" + name + "; when x > " + number(0.1, 0.4) + " then reinit(y" + name +
               ", y" + name + " + 1); end when; when y" + name + " > 1.2 then reinit(y" + name + ", 0); " + count +
               "end when; ");
        return " - 0.1*y" + name;
    }
  }

  std::mt19937 random_;
  std::string declarations_, equations_;
};

/// How far apart two outcomes are, relative to their values; nothing if their events are not the same ones.
std::optional<double> distance(const Outcome& a, const Outcome& b) {
  if (a.status != b.status) return {};
  double largest = 0.0;
  for (const auto& [name, value] : a.values) {
    const double other = b.values.at(name);
    if (name.front() == 'n' && value != other) return {};
    largest = std::max(largest, std::abs(value - other) / (1.0 + std::abs(value)));
  }
  return largest;
}

std::string describe(const Outcome& one) {
  std::string text = std::string(to_string(one.status));
  for (const auto& [name, value] : one.values) text += ", " + name + " = " + std::to_string(value);
  return text;
}

class RandomModels : public testing::TestWithParam<Executor> {};

// Models that amplify errors are told by two tolerances of the loop: where these have the same events, every executor
// has them, and values within some times their distance.
TEST_P(RandomModels, HaveTheEventsAndValuesOfTheLoop) {
#ifndef SALTUS_FMU_LIBRARY
  if (GetParam() == Executor::exchange) GTEST_SKIP() << "built without FMUs";
#endif
  constexpr double rtol = 1e-8, amplified = 1e4;
  const int cases = random_cases(10), first = random_seed();
  std::int64_t compared = 0, taken = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    Task task{RandomModel(seed).text(), 0.2, 1.1, {.stop = 6.0, .rtol = rtol, .atol = rtol, .max_steps = 100000}};
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + task.text);
    const std::vector<Outcome> outcomes = execute(GetParam(), task);
    const std::size_t every = std::max<std::size_t>(outcomes.size() / 6, 1);
    for (std::size_t k = 0; k < outcomes.size(); k += every) {
      const Outcome& one = outcomes[k];
      if (one.values.empty()) {
        EXPECT_NE(one.refusal, "");
        continue;
      }
      const Outcome loop = run_by_loop(task, one.p);
      Task tight = task;
      tight.options.rtol = tight.options.atol = 0.01 * rtol;
      const std::optional<double> error = distance(loop, run_by_loop(tight, one.p));
      if (!error || *error > 1e3 * rtol || loop.status != StatusCode::success) continue;
      ++compared;
      taken += one.taken;
      const std::optional<double> apart = distance(loop, one);
      EXPECT_TRUE(apart && *apart <= amplified * rtol)
          << "p = " << one.p << "\nloop: " << describe(loop) << "\nhere: " << describe(one);
      if (one.events >= 0 && GetParam() != Executor::exchange) {
        EXPECT_EQ(one.events, loop.events) << "p = " << one.p;
      }
    }
    if (testing::Test::HasFailure()) return;
  }
  record_models(cases);
  EXPECT_GT(compared, cases);
  EXPECT_GT(taken, 0);
}

INSTANTIATE_TEST_SUITE_P(Executors, RandomModels, testing::ValuesIn(all_executors),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace saltus::executors
