// Random models with one or two relays, clauses on their relations and resets at given times, against a reference that goes from event to event with a
// pencil: all fields are constant. Where the state lies on surfaces the reference knows the regime at once, from the discrete state as it is, and
// clauses act afterwards: it tries nothing. Models whose continuation is not unique are left out.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "random_cases.hpp"

namespace saltus {
namespace {

using Random = std::mt19937_64;
int pick(Random& random, int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); }

enum class Comparison { above, below, not_below, not_above };
bool truth(Comparison c, int side) {
  return c == Comparison::above ? side > 0 : c == Comparison::below ? side < 0 : c == Comparison::not_below ? side >= 0 : side <= 0;
}
BoolExpr relation(Comparison c, const Expr& x, double k) {
  return c == Comparison::above ? x > k : c == Comparison::below ? x < k : c == Comparison::not_below ? x >= k : x <= k;
}

/// Acts on x, on y, on both, or at a time; counts, and may set the state, d, or z, which nothing depends on.
struct Clause {
  int on = 0;  // 0: x, 1: y, 2: both, 3: time
  std::array<Comparison, 2> comparison{};
  double time = 0.0, d = 0.0;
  std::array<std::optional<double>, 2> to{};
  bool sets_d = false, adds_to_z = false;
};

/// x_i' = constant_i + sum_j relay_ij (1 if x_j > threshold_j) + gain_i d
struct Relays {
  int count = 1;
  std::array<double, 2> threshold{}, start{}, constant{}, gain{};
  std::array<std::array<double, 2>, 2> relay{};
  std::vector<Clause> clauses;
  double stop = 0.0;
};

Relays random_relays(Random& random) {
  Relays m;
  m.count = 1 + pick(random, 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const bool attracts = pick(random, 4) > 0;
    m.threshold[i] = std::array{0.0, 0.25, -0.5, 0.3}[static_cast<std::size_t>(pick(random, 4))];
    m.start[i] = m.threshold[i] + std::array{0.0, 0.0, 0.5, -0.5, 1.0, -0.75}[static_cast<std::size_t>(pick(random, 6))];
    const int size = 1 + pick(random, 4);
    m.relay[i][i] = attracts ? -size : size;
    if (m.count == 2 && pick(random, 2)) m.relay[i][1 - i] = 0.5 * (pick(random, 7) - 3);
    m.constant[i] = attracts ? 0.25 + 0.5 * pick(random, 2 * size) : 0.75 - 0.5 * pick(random, 6);  // no field vanishes
    m.gain[i] = pick(random, 2) ? pick(random, 7) - 3 : 0.0;
  }
  if (m.count == 1) {  // y is far from its threshold, which nothing depends on
    m.threshold[1] = -1e3;
    m.relay[1] = {};
    m.relay[0][1] = 0.0;
  }
  const auto place = [&](std::size_t i) { return m.threshold[i] + std::array{0.0, 0.0, 0.0, 0.5, -0.5}[static_cast<std::size_t>(pick(random, 5))]; };
  double time = 0.0;
  for (int k = pick(random, 3); k >= 0; --k) {
    Clause c;
    c.on = 3;
    c.time = time += 0.513 + 0.25 * pick(random, 4);
    for (std::size_t i = 0; i < static_cast<std::size_t>(m.count); ++i)
      if (pick(random, 3)) c.to[i] = place(i);
    c.sets_d = pick(random, 3) == 0;
    c.d = pick(random, 3) - 1;
    c.adds_to_z = pick(random, 4) == 0;
    m.clauses.push_back(c);
  }
  for (int k = pick(random, 4); k >= 0; --k) {
    Clause c;
    c.on = m.count == 1 ? 0 : pick(random, 3);
    for (Comparison& comparison : c.comparison) comparison = static_cast<Comparison>(pick(random, 4));
    c.adds_to_z = pick(random, 4) == 0;
    m.clauses.push_back(c);
  }
  m.stop = time + 0.7;
  return m;
}

class Reference {
 public:
  explicit Reference(const Relays& m) : x(m.start), counts(m.clauses.size(), 0), m_(m), held_(m.clauses.size(), false) {}

  /// False: not unique, or too close to tell.
  bool run() {
    if (!settle(true)) return false;
    std::vector<double> times;
    for (const Clause& c : m_.clauses)
      if (c.on == 3) times.push_back(c.time);
    times.push_back(m_.stop);
    for (const double time : times)
      for (bool arrives = false; !arrives;) {
        double end = time;
        std::size_t first = 2;
        const std::array<double, 2> speed = field(weight_);
        for (std::size_t i = 0; i < 2; ++i) {
          if (zero(i) || slides_[i]) continue;
          const double reached = t_ + (m_.threshold[i] - x[i]) / speed[i];
          if (!(reached > t_)) continue;
          if (std::abs(reached - end) < close) return false;
          if (reached > end) continue;
          end = reached;
          first = i;
        }
        for (std::size_t i = 0; i < 2; ++i)
          if (!slides_[i]) x[i] = i == first ? m_.threshold[i] : x[i] + (end - t_) * speed[i];
        t_ = end;
        arrives = first == 2;
        if ((!arrives || time != m_.stop) && !settle(false)) return false;
        if (++events_ > 60) return false;
      }
    return true;
  }

  std::array<double, 2> x;
  double z = 0.0;
  std::vector<int> counts;

 private:
  static constexpr double close = 1e-5;
  bool zero(std::size_t i) const { return x[i] == m_.threshold[i]; }
  std::array<double, 2> field(const std::array<double, 2>& w) const {
    std::array<double, 2> f{};
    for (std::size_t i = 0; i < 2; ++i) f[i] = m_.constant[i] + m_.relay[i][0] * w[0] + m_.relay[i][1] * w[1] + m_.gain[i] * d_;
    return f;
  }
  bool holds(const Clause& c) const {
    if (c.on == 3) return t_ >= c.time;
    return (c.on == 1 || truth(c.comparison[0], side_[0])) && (c.on == 0 || truth(c.comparison[c.on == 1 ? 0 : 1], side_[1]));
  }
  /// One round; in the first one of all there are no edges. Returns whether a clause acts.
  bool act(bool first) {
    double added = 0.0;  // all clauses of a round see z before it
    bool any = false;
    for (std::size_t k = 0; k < m_.clauses.size(); ++k) {
      const Clause& c = m_.clauses[k];
      const bool before = held_[k];
      held_[k] = holds(c);
      if (first || !held_[k] || before) continue;
      any = true;
      ++counts[k];
      for (std::size_t i = 0; i < 2; ++i)
        if (c.to[i]) x[i] = *c.to[i];
      if (c.sets_d) d_ = c.d;
      if (c.adds_to_z) added = 1.0;
    }
    z += added;
    return any;
  }
  /// The only way to go on: a side for each coordinate, 0 where it slides; false if there are others, or none, or it is hard to tell.
  bool regime(std::array<int, 2>& found) {
    int count = 0;
    std::array<std::vector<int>, 2> sides;
    for (std::size_t i = 0; i < 2; ++i) sides[i] = zero(i) ? std::vector{-1, 0, 1} : std::vector{x[i] > m_.threshold[i] ? 1 : -1};
    for (const int p : sides[0])
      for (const int q : sides[1]) {
        std::array<double, 2> w{p > 0 ? 1.0 : 0.0, q > 0 ? 1.0 : 0.0};
        const auto& r = m_.relay;
        if (p == 0 && q == 0) {
          const std::array<double, 2> f = field({0.0, 0.0});
          const double det = r[0][0] * r[1][1] - r[0][1] * r[1][0];
          if (det == 0.0) return false;
          w = {(-f[0] * r[1][1] + f[1] * r[0][1]) / det, (-f[1] * r[0][0] + f[0] * r[1][0]) / det};
        } else if (p == 0) {
          w[0] = -field({0.0, w[1]})[0] / r[0][0];
        } else if (q == 0) {
          w[1] = -field({w[0], 0.0})[1] / r[1][1];
        }
        const std::array<double, 2> f = field(w);
        bool possible = true;
        for (std::size_t i = 0; i < 2; ++i) {
          if (!zero(i)) continue;
          const int side = i == 0 ? p : q;
          const double margin = side == 0 ? std::min(w[i], 1.0 - w[i]) : side * f[i];
          if (std::abs(margin) < close) return false;
          possible = possible && margin > 0.0;
        }
        if (!possible) continue;
        ++count;
        found = {p, q};
        weight_ = w;
      }
    return count == 1;
  }
  /// What conditions see of a coordinate at its threshold goes one step in a round, through zero; one that jumps there shows zero.
  bool settle(bool initial) {
    enum class Was { unknown, zero, away };
    std::array<Was, 2> was{Was::unknown, Was::unknown};
    for (int round = 0; round < 30; ++round) {
      const bool first = initial && round == 0;
      std::array<int, 2> target{};
      if (!regime(target)) return false;
      bool arrived = true;
      for (std::size_t i = 0; i < 2; ++i) {
        slides_[i] = zero(i) && target[i] == 0;
        if (!zero(i))
          side_[i] = target[i];
        else if (first || was[i] == Was::away)
          side_[i] = 0;
        else
          side_[i] += (target[i] > side_[i]) - (target[i] < side_[i]);
        was[i] = zero(i) ? Was::zero : Was::away;
        arrived = arrived && side_[i] == target[i];
      }
      if (!act(first) && arrived && !first) return true;
    }
    return false;
  }

  const Relays& m_;
  double t_ = 0.0, d_ = 0.0;
  int events_ = 0;
  std::array<int, 2> side_{};
  std::array<bool, 2> slides_{};
  std::array<double, 2> weight_{};
  std::vector<bool> held_;
};

TEST(TriedSidesProperty, CountersAgreeWithAReferenceThatTriesNothing) {
  int models = 0;
  const int first = random_seed(1), count = random_cases(600);
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(static_cast<unsigned>(seed));
    const Relays relays = random_relays(random);
    Reference reference(relays);
    if (!reference.run()) continue;
    record_models(++models);
    Model m("relays");
    const std::array<Expr, 2> x{m.variable("x", relays.start[0]), m.variable("y", relays.start[1])};
    const Expr z = m.variable("z", 0.0), d = m.discrete("d", 0.0);
    m.equation(der(z) == 0.0);
    const bool implicit = pick(random, 4) == 0, modes = relays.count == 1 && relays.start[0] != relays.threshold[0] && pick(random, 3) == 0;
    for (std::size_t i = 0; i < 2; ++i) {
      Expr f = relays.constant[i] + relays.gain[i] * d;
      if (i == 0 && modes) {
        auto above = m.mode("above"), below = m.mode("below");
        above.equation(der(x[0]) == f + relays.relay[0][0]);
        below.equation(der(x[0]) == f);
        above.transition(x[0] < relays.threshold[0]).to(below);
        below.transition(x[0] > relays.threshold[0]).to(above);
        m.start_in(relays.start[0] > relays.threshold[0] ? above : below);
        continue;
      }
      for (std::size_t j = 0; j < 2; ++j)
        if (relays.relay[i][j] != 0.0)
          f = f + if_else(relation(pick(random, 2) ? Comparison::above : Comparison::not_below, x[j], relays.threshold[j]), relays.relay[i][j], 0.0);
      const Expr speed = implicit ? m.variable(i == 0 ? "u" : "v", 0.0) : f;
      if (implicit) m.equation(speed == f);
      m.equation(der(x[i]) == speed);
    }
    for (std::size_t k = 0; k < relays.clauses.size(); ++k) {
      const Clause& c = relays.clauses[k];
      const Expr n = m.discrete("n" + std::to_string(k), 0.0);
      const auto on = [&](std::size_t i, std::size_t comparison) { return relation(c.comparison[comparison], x[i], relays.threshold[i]); };
      auto when = m.when(c.on == 0 ? on(0, 0) : c.on == 1 ? on(1, 0) : c.on == 2 ? on(0, 0) && on(1, 1) : pick(random, 3) == 0 ? m.sample(c.time, 100.0) : m.time() >= c.time);
      when.assign(n, m.pre(n) + 1.0);
      for (std::size_t i = 0; i < 2; ++i)
        if (c.to[i]) when.reset(x[i], *c.to[i]);
      if (c.sets_d) when.assign(d, c.d);
      if (c.adds_to_z) when.reset(z, z + 1.0);
    }
    const Trajectory run = simulate(m, {.stop = relays.stop});
    ASSERT_TRUE(run.status().ok()) << run.status().message;
    EXPECT_NEAR(run.at(relays.stop, "x"), reference.x[0], 1e-4);
    EXPECT_NEAR(run.at(relays.stop, "y"), reference.x[1], 1e-4);
    EXPECT_EQ(run.at(relays.stop, "z"), reference.z);
    int named = 0, acted = 0;
    for (const Event& e : run.events()) named += static_cast<int>(e.actions.size());
    for (std::size_t k = 0; k < relays.clauses.size(); ++k) {
      EXPECT_EQ(run.at(relays.stop, "n" + std::to_string(k)), reference.counts[k]) << k;
      acted += reference.counts[k];
    }
    if (!modes) {
      EXPECT_EQ(named, acted);
    }
  }
  expect_share(models, 0.5, count);
}

}  // namespace
}  // namespace saltus
