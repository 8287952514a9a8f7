// Random models in which relations on one expression, of all kinds, move the solution to zero, across it, along it and away from it, against a
// reference that goes from event to event with a pencil: all fields are constant. Models whose continuation is not unique, or denied by the
// value at zero itself, are left out.
#include <gtest/gtest.h>
#include <saltus/hybrid/simulate.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "hybrid/random_relations.hpp"
#include "random_cases.hpp"

namespace saltus {
namespace {

/// x' is one function of the sign of x - offset until the end of each phase, where x may be reset; y integrates another, z a discrete
/// variable that is defined by a third, and n counts the edges of a relation.
struct RandomModel {
  struct Phase {
    Choice speed;
    double end;
    bool resets;
    double target;
  };
  Model m{"random"};
  int direction;
  double start, offset;
  std::vector<Phase> phases;
  Choice y, d;
  Relation edge;

  // the reference
  static constexpr int sliding = 2;  // as a state, beside the signs
  bool unique = true, slides = false, rests = false;
  double x_end = 0.0, y_end = 0.0, z_end = 0.0, n_end = 0.0;
  int changes = 0;  // of the state

  explicit RandomModel(Random& random) {
    direction = pick(random, 4) == 0 ? -1 : +1;
    offset = pick(random, 2) == 0 ? 0.0 : 0.3;
    start = std::vector{0.0, 0.0, 1.0, -1.0, 0.7, -0.35}[static_cast<std::size_t>(pick(random, 6))];
    const Expr x = m.variable("x", start + offset), v = m.variable("y", 0.0), z = m.variable("z", 0.0), q = m.discrete("d", 0.0),
               n = m.discrete("n", 0.0);
    Expr g = x - offset;
    if (const int shape = pick(random, 3); shape > 0) g = shape == 1 ? g * (1.0 + g * g) : exp(g) - 1.0;
    double end = 0.0;
    for (int k = pick(random, 4); k >= 0; --k) {
      end += 0.513 + 0.1 * pick(random, 20);
      const Choice f = random_choice(random, g, {-1.0, -0.5, 0.0, 0.0, 0.0, 0.5, 1.0}, 1 + pick(random, 2));
      phases.push_back({f, end, k > 0 && pick(random, 3) == 0, 0.5 * (pick(random, 3) - 1)});
    }
    y = random_choice(random, g, {-3.0, 0.0, 1.0, 2.0, 5.0, 7.0}, 2);
    d = random_choice(random, g, {-3.0, 0.0, 1.0, 2.0, 5.0, 7.0}, 2);
    edge = random_relation(random, g, 2);
    predict();

    const auto over = [&](double when) { return direction > 0 ? m.time() >= when : m.time() <= -when; };
    Expr speed = phases.back().speed.expr;
    for (std::size_t k = phases.size() - 1; k-- > 0;) speed = if_else(over(phases[k].end), speed, phases[k].speed.expr);
    if (const int form = pick(random, 3); form == 0) {
      m.equation(der(x) == speed);
    } else {  // an algebraic variable, which can be eliminated or not
      const Expr w = m.variable("w", 0.0);
      m.equation(der(x) == w);
      m.equation(form == 1 ? w == speed : w + 0.1 * w * w * w == speed + 0.1 * speed * speed * speed);
    }
    for (const Phase& phase : phases)
      if (phase.resets) m.when(over(phase.end)).reset(x, phase.target + offset);
    m.equation(der(v) == y.expr);
    if (slides) {  // what discrete parts see on a surface is no matter of this test
      m.equation(der(z) == 0.0);
    } else {
      m.define(q, d.expr);
      m.equation(der(z) == q);
      m.when(edge.expr).assign(n, m.pre(n) + 1.0);
    }
  }

  void predict() {
    double t = 0.0, x = start;
    int state = 9, seen = 9;
    bool jumped = false;
    const auto see = [&](int s) {
      if (seen != 9 && edge.truth(s) && !edge.truth(seen)) n_end += 1.0;
      seen = s;
    };
    const auto enter = [&](int next) {
      if (next != sliding && (next != state || jumped)) {  // conditions see it pass through zero, or jump there
        if (x == 0.0) see(0);
        see(next);
      }
      if (state != 9 && next != state) ++changes;
      state = next;
      jumped = false;
      slides = slides || state == sliding;
      rests = rests || state == 0;
    };
    for (const Phase& phase : phases) {
      const auto f = [&](int s) { return direction * phase.speed.value(s); };
      for (bool over = false; !over;) {
        const double above = f(+1), below = f(-1), there = f(0);
        if (x != 0.0) {
          enter(x > 0.0 ? +1 : -1);
        } else if (above * below > 0.0) {
          unique = unique && !(state == 0 && there == 0.0) && there * above >= 0.0;
          enter(above > 0.0 ? +1 : -1);
        } else if (above < 0.0 && below > 0.0) {
          unique = unique && !(state == 0 && there == 0.0);
          enter(sliding);
        } else {
          unique = unique && there == 0.0 && above <= 0.0 && below >= 0.0;
          enter(0);
        }
        const double speed = state == +1 || state == -1 ? f(state) : 0.0, arrival = x * speed < 0.0 ? t - x / speed : 1e9;
        unique = unique && std::abs(arrival - phase.end) > 1e-6;
        over = arrival > phase.end;
        const double h = std::min(arrival, phase.end) - t, weight = state == sliding ? below / (below - above) : 0.0;
        y_end += direction * h * (state == sliding ? weight * y.value(+1) + (1.0 - weight) * y.value(-1) : y.value(state));
        if (state != sliding) z_end += direction * h * d.value(state);
        x = over ? x + h * speed : 0.0;
        t += h;
      }
      unique = unique && !(phase.resets && x == 0.0);  // the new field leads off zero before the reset: conditions may see that
      jumped = phase.resets && phase.target == 0.0;
      if (phase.resets) x = phase.target;
    }
    x_end = x;
  }
};

TEST(RelationsProperty, RandomModelsAgreeWithAReference) {
  const Method methods[] = {Method::taylor, Method::tsit5, Method::dopri5, Method::dop853, Method::radau, Method::radau5, Method::bdf};
  int compared = 0, rested = 0, slid = 0;
  const int first = random_seed(1), count = random_cases(1200);
  for (int seed = first; seed < first + count && !HasFailure(); ++seed) {
    Random random(static_cast<unsigned>(seed));
    const RandomModel model(random);
    if (!model.unique) continue;
    record_models(++compared);
    rested += model.rests ? 1 : 0;
    slid += model.slides ? 1 : 0;
    const bool explicit_equations = !model.m.data().names.contains("w");
    const Method method = explicit_equations ? methods[pick(random, 7)] : pick(random, 2) == 0 ? Method::automatic : Method::radau5;
    const double tol = 1e-6;
    const Trajectory run =
        simulate(model.m, {.stop = model.direction * model.phases.back().end, .rtol = tol, .atol = tol, .method = method});
    const std::string name = "seed " + std::to_string(seed) + ", " + std::string(to_string(method));
    ASSERT_TRUE(run.status().ok()) << name << ": " << run.status().message;
    const auto final = run.final();
    const auto value = [&](const std::string& wanted) {
      for (std::size_t k = 0; k < final.size(); ++k)
        if (run.variables()[k].name == wanted) return final[k];
      return std::nan("");
    };
    // fields are constant: errors come from the times of events, which are those of guards within the tolerance
    EXPECT_NEAR(value("x") - model.offset, model.x_end, 100.0 * tol) << name;
    EXPECT_NEAR(value("y"), model.y_end, 100.0 * tol) << name;
    if (!model.slides) {
      EXPECT_NEAR(value("z"), model.z_end, 100.0 * tol) << name;
      EXPECT_EQ(value("n"), model.n_end) << name;
    }
    EXPECT_LE(run.events().size(), static_cast<std::size_t>(model.changes) + model.phases.size()) << name;
  }
  expect_share(compared, 0.5, count);  // the tests are what they say
  expect_share(rested, 1.0 / 12.0, count);
  expect_share(slid, 1.0 / 24.0, count);
}

}  // namespace
}  // namespace saltus
