// A run that is saved where it stops and resumed has the bits of the longer run: all events and values after the state.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "hybrid/random_oscillator.hpp"
#include "random_cases.hpp"
#include "threads/models.hpp"

namespace saltus {
namespace {

/// The bits of what happens after a time: events, some values between, and the end.
std::vector<std::uint64_t> future(const Trajectory& run, double t) {
  std::vector<std::uint64_t> all{static_cast<std::uint64_t>(run.status().code)};
  const auto add = [&](double v) { all.push_back(std::bit_cast<std::uint64_t>(v)); };
  const auto add_all = [&](const std::vector<double>& values) { std::ranges::for_each(values, add); };
  for (const Event& event : run.events()) {
    if (event.t <= t) continue;
    add(event.t);
    all.push_back(static_cast<std::uint64_t>(event.kind));
    add_all(event.before);
    add_all(event.after);
  }
  for (const double part : {0.01, 0.3, 0.9})
    if (!run.segments().empty()) add_all(run.at(t + part * (run.t_end() - t)));
  add(run.t_end());
  add_all(run.final());
  return all;
}

/// The state after a run to `t`; nothing if it does not end well.
std::optional<SimulatorState> saved_at(const std::shared_ptr<CompiledModel>& model, SimulateOptions options, double t) {
  options.stop = t;
  Simulator first(model, options);
  first.run();
  if (!first.status().ok()) return {};
  return first.state();
}

Trajectory resumed(const std::shared_ptr<CompiledModel>& model, const SimulateOptions& options,
                   const SimulatorState& from) {
  Simulator run(model, options, from);
  EXPECT_EQ(run.t(), from.t);
  EXPECT_EQ(run.state().x, from.x);
  EXPECT_EQ(run.state().mode, from.mode);
  run.run();
  return run.take();
}

/// Fast and slow variables, and a relay.
Model stiff_relay(double rate, double level) {
  Model m("stiff relay");
  const Expr x = m.variable("x", 1.0), y = m.variable("y", 0.5), n = m.discrete("n", 0.0);
  m.equation(der(x) == -rate * (x - cos(m.time())));
  m.equation(der(y) == x - level * sign(y - 0.1));
  m.when(y > 0.3).assign(n, m.pre(n) + 1.0);
  return m;
}

/// A pulled mass on a rough floor: the pull comes from outside.
Model pulled_mass(double friction) {
  Model m("pulled mass");
  const Expr pull = m.input("pull", 0.0, InputCurve::line), x = m.variable("x", 0.1), v = m.variable("v", 0.3);
  m.equation(der(x) == v);
  m.equation(der(v) == pull - friction * sign(v) - x);
  return m;
}

/// Many masses on a belt: a model whose events are local.
Model belt(int masses, double speed) {
  Model m("belt");
  std::vector<Expr> x, v;
  for (int i = 0; i < masses; ++i) {
    x.push_back(m.variable("x[" + std::to_string(i) + "]", 0.1 * std::sin(0.7 * i)));
    v.push_back(m.variable("v[" + std::to_string(i) + "]", 0.9 + 0.1 * std::cos(1.1 * i)));
  }
  for (int i = 0; i < masses; ++i) {
    const auto c = static_cast<std::size_t>(i);
    const Expr left = i > 0 ? x[c - 1] : Expr(0.0), right = i + 1 < masses ? x[c + 1] : Expr(0.0);
    m.equation(der(x[c]) == v[c]);
    m.equation(der(v[c]) == left - 2.0 * x[c] + right - 0.5 * x[c] - 1.2 * sign(v[c] - speed));
  }
  return m;
}

struct RandomRun {
  explicit RandomRun(int seed) : oscillator(seed) {
    SimulateOptions& o = options;
    o.stop = oscillator.between(5.0, 30.0);
    o.rtol = o.atol = std::pow(10.0, oscillator.between(-9.0, -4.0));
    o.max_steps = 20'000;  // a relay on a position may switch faster and faster
    o.max_events = 20'000;
    constexpr std::array explicit_methods{Method::automatic, Method::dopri5, Method::tsit5,
                                          Method::bs3,       Method::dop853, Method::taylor};
    constexpr std::array implicit_methods{Method::automatic, Method::rodas4, Method::rodas5p,
                                          Method::radau,     Method::radau5, Method::bdf};
    const auto choose = [&](const auto& list) { return list[pick(list.size())]; };
    o.method = pick(5) == 0 ? choose(implicit_methods) : choose(explicit_methods);
    o.flights_after = std::array<std::int64_t, 3>{40, 1000, -1}[pick(3)];
    kind = pick(10);
    switch (kind) {
      case 0:
        model = testing::pendulum();
        o.method = choose(std::array{Method::automatic, Method::radau, Method::bdf, Method::taylor, Method::rodas5p});
        o.stop *= 0.1;
        break;
      case 1:
        model = stiff_relay(oscillator.between(10.0, 3000.0), oscillator.between(0.2, 2.0));
        o.method = choose(implicit_methods);
        break;
      case 2: {
        model = pulled_mass(oscillator.between(0.2, 1.0));
        std::vector<double> times, pulls;
        for (double t = 0.0; t < 31.0; t += oscillator.between(0.3, 3.0)) {
          times.push_back(t);
          pulls.push_back(oscillator.between(-2.0, 2.0));
        }
        o.inputs.emplace("pull", InputSignal::table(times, pulls));
        break;
      }
      case 3:
        model = testing::ball_on_table();
        o.stop = oscillator.between(2.0, 6.0);
        break;
      case 4:
        if (pick(4) == 0) {
          model = belt(110, oscillator.between(0.8, 1.1));
          o.stop = oscillator.between(1.0, 4.0);
          o.method = choose(explicit_methods);
          break;
        }
        [[fallthrough]];
      default:
        model = oscillator.make();
        if (pick(6) == 0 && is_explicit(o.method)) o.stop *= 20.0;  // long enough for a later point, and for flights
    }
  }

  std::size_t pick(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(oscillator.random);
  }

  RandomOscillator oscillator;
  SimulateOptions options;
  Model model{"none"};
  std::size_t kind = 0;
};

TEST(ResumedRun, HasTheBitsOfTheLongerRun) {
  const int cases = random_cases(100), first = random_seed();
  int compared = 0;
  for (int seed = first; seed < first + cases; ++seed) {
    RandomRun random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed) + ", kind " + std::to_string(random.kind) + "/" +
                 std::to_string(random.oscillator.kind) + ", " + std::string(to_string(random.options.method)));
    const auto model = std::make_shared<CompiledModel>(random.model);
    const SimulateOptions& options = random.options;
    const Trajectory whole = simulate(model, options);
    constexpr std::int64_t most_repeated = 9'000;  // more steps are not repeated, and explicit methods need not
    if (!whole.status().ok() || (!is_explicit(options.method) && whole.statistics().steps > most_repeated)) continue;
    const double early = options.stop * random.oscillator.between(0.0, 0.9),
                 late = early + (options.stop - early) * random.oscillator.between(0.0, 0.9);
    const std::optional<SimulatorState> state = saved_at(model, options, early);
    if (!state) continue;
    EXPECT_EQ(future(resumed(model, options, *state), early), future(whole, early)) << "from t = " << early;
    // twice, and from a run that has been paused
    SimulateOptions longer = options;
    longer.stop = late;
    Simulator second(model, longer, *state);
    second.run();
    EXPECT_EQ(future(resumed(model, options, second.state()), late), future(whole, late)) << "again at t = " << late;
    Simulator paused(model, options);
    paused.advance_to(early);
    if (!paused.step()) continue;
    const SimulatorState between = paused.state();
    Simulator rest(model, options, between);
    rest.run();
    paused.run();
    EXPECT_EQ(future(rest.take(), between.t), future(paused.take(), between.t)) << "paused at t = " << early;
    ++compared;
  }
  record_models(compared);
  expect_share(compared, 0.8, cases);
}

}  // namespace
}  // namespace saltus
