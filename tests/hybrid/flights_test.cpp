// Runs that fly along events that they have met agree with those of the simulator's loop, event by event.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <cmath>
#include <numbers>
#include <thread>

namespace saltus {
namespace {

SimulateOptions options(double stop, std::int64_t flights_after, double rtol = 1e-8) {
  SimulateOptions o;
  o.stop = stop;
  o.rtol = o.atol = rtol;
  o.method = Method::dopri5;
  o.flights_after = flights_after;
  return o;
}

/// The same events, with the same words, at the same times and values within the tolerance; the same values in between.
void expect_same(const Trajectory& flown, const Trajectory& plain, double tolerance) {
  ASSERT_EQ(flown.status().code, plain.status().code) << flown.status().message;
  EXPECT_EQ(flown.status().message, plain.status().message);
  ASSERT_EQ(flown.events().size(), plain.events().size());
  EXPECT_EQ(flown.statistics().events, plain.statistics().events);
  for (std::size_t k = 0; k < plain.events().size(); ++k) {
    const Event &a = flown.events()[k], &b = plain.events()[k];
    SCOPED_TRACE("event " + std::to_string(k) + " at " + std::to_string(b.t) + ": " + b.describe());
    ASSERT_NEAR(a.t, b.t, tolerance);
    ASSERT_EQ(a.kind, b.kind);
    ASSERT_EQ(a.guards, b.guards);
    ASSERT_EQ(a.direction, b.direction);
    ASSERT_EQ(a.actions, b.actions);
    ASSERT_EQ(a.mode_before, b.mode_before);
    ASSERT_EQ(a.mode_after, b.mode_after);
    ASSERT_EQ(a.surfaces, b.surfaces);
    if (std::max(a.jump, b.jump) > 1e-12) {  // not a rounding error
      ASSERT_EQ(a.cause, b.cause);
    }
    ASSERT_EQ(a.proved, b.proved);
    ASSERT_EQ(a.message.substr(0, a.message.find(" at t =")), b.message.substr(0, b.message.find(" at t =")));
    const auto near = [&](const std::vector<double>& x, const std::vector<double>& y, double scale) {
      ASSERT_EQ(x.size(), y.size());
      for (std::size_t j = 0; j < x.size(); ++j) ASSERT_NEAR(x[j], y[j], scale * tolerance * (1.0 + std::abs(y[j])));
    };
    near(a.before, b.before, 10.0);
    near(a.after, b.after, 10.0);
    near(a.slope_before, b.slope_before, 100.0);
    near(a.slope_after, b.slope_after, 100.0);
    near(a.weights, b.weights, 100.0);
  }
  ASSERT_EQ(flown.segments().size(), plain.segments().size());
  const double length = plain.t_end() - plain.t_start();
  for (int k = 0; k <= 977; ++k) {
    const double t = plain.t_start() + length * k / 977.0;
    const auto near_event = [&](const Event& e) { return std::abs(e.t - t) <= 2.0 * tolerance; };
    if (std::ranges::any_of(plain.events(), near_event)) continue;
    const std::vector<double> x = flown.at(t), y = plain.at(t);
    for (std::size_t j = 0; j < x.size(); ++j)
      ASSERT_NEAR(x[j], y[j], 10.0 * tolerance * (1.0 + std::abs(y[j]))) << "at " << t;
  }
}

/// Flights and loop agree with every explicit method.
void expect_agreement(const Model& model, double stop, double tolerance) {
  const CompiledModel compiled(model);
  for (const Method method : {Method::dopri5, Method::dop853, Method::tsit5, Method::taylor}) {
    SCOPED_TRACE(to_string(method));
    SimulateOptions in_flight = options(stop, 0), on_ground = options(stop, -1);
    in_flight.method = on_ground.method = method;
    const Trajectory flown = simulate(compiled, in_flight), plain = simulate(compiled, on_ground);
    ASSERT_TRUE(plain.status().ok()) << plain.status().message;
    expect_same(flown, plain, tolerance);
    EXPECT_GT(flown.statistics().flown, 0);
  }
}

Model ball(double loss = 0.0, double slower_at = 1e9) {
  Model m("ball");
  const Expr h = m.variable("h", 10.0), v = m.variable("v", 0.0);
  if (slower_at < 1e9) m.when(m.time() > slower_at).reset(v, 0.5 * v);
  m.equation(der(h) == v);
  m.equation(der(v) == -9.81);
  m.when(h < 0.0).reset(v, -(1.0 - loss) * v);
  return m;
}

Model friction(double frequency = 0.7, bool with_pulse = false, double interval = 0.0) {
  const double force = 0.4;
  Model m("friction");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 1.0);
  if (with_pulse) {
    const Expr n = m.discrete("n", 0.0), far = (x - 0.3) / 1e-4;
    m.when(exp(-far * far) > 0.5).assign(n, m.pre(n) + 1.0);
  }
  Expr spring = -x;
  if (interval > 0.0) {
    const Expr held = m.discrete("held", 0.0);
    m.when(m.sample(0.0, interval)).assign(held, if_else(x > 0.2, Expr(0.1), Expr(-0.1)));
    spring = -x - held;
  }
  m.equation(der(x) == v);
  m.equation(der(v) == sin(frequency * m.time()) + spring - force * sign(v));
  return m;
}

Model buck() {
  Model m("buck");
  const Expr v = m.variable("v", 12.0), i = m.variable("i", 0.6), t = m.time();
  const double T = 400e-6;
  m.equation(der(v) == (i - v / 22.0) / 47e-6);
  m.equation(der(i) == (if_else(8.4 * (v - 11.3) < 3.8 + 4.4 * mod(t, T) / T, Expr(20.0), Expr(0.0)) - v) / 20e-3);
  return m;
}

Model sampled() {
  Model m("sampled");
  const Expr x = m.variable("x", 1.0), input = m.discrete("u", 0.0), k = m.discrete("k", 0.0);
  m.equation(der(x) == input - x);
  m.when(m.sample(0.0, 0.01))
      .assign(input, if_else(mod(m.pre(k), 200.0) < 99.5, Expr(1.0), Expr(-1.0)) - 3.0 * x)
      .assign(k, m.pre(k) + 1.0);
  return m;
}

/// A thermostat that counts, with an output that is eliminated.
Model thermostat() {
  Model m("thermostat");
  const Expr T = m.variable("T", 18.0), power = m.variable("power", 0.0), on = m.discrete("on", 1.0),
             count = m.discrete("count", 0.0);
  m.equation(power == 3.0 * on);
  m.equation(der(T) == power - 0.1 * (T - 5.0 - sin(0.01 * m.time())));
  m.when(T > 21.0).assign(on, 0.0).assign(count, m.pre(count) + 1.0);
  m.when(T < 20.0).assign(on, 1.0);
  return m;
}

TEST(Flights, BallAgrees) {
  expect_agreement(ball(), 2000.0, 1e-5);
}
TEST(Flights, FrictionAgrees) {
  expect_agreement(friction(), 2000.0, 1e-6);
}
TEST(Flights, ConverterAgrees) {
  expect_agreement(buck(), 0.4, 1e-7);
}
TEST(Flights, SampledControllerAgrees) {
  expect_agreement(sampled(), 20.0, 1e-7);
}
TEST(Flights, ThermostatAgrees) {
  expect_agreement(thermostat(), 1000.0, 1e-4);
}

// What leaves its bounds is seen in the air, too.
TEST(Flights, WatchBounds) {
  Model m("bounded");
  const Expr x = m.variable("x", 1.0, {.min = -10.0}), v = m.variable("v", 1.0),
             height = m.variable("height", 1.0, {.min = -4.0});
  m.equation(der(x) == v);
  m.equation(der(v) == sin(0.7 * m.time()) - x - 0.4 * sign(v));
  m.equation(height == x - if_else(m.time() > 900.0, Expr(9.0), Expr(0.0)));
  const CompiledModel model(m);
  const Trajectory flown = simulate(model, options(1200.0, 100)), plain = simulate(model, options(1200.0, -1)),
                   within = simulate(model, options(800.0, 100));
  EXPECT_GT(flown.statistics().flown, flown.statistics().steps / 2);
  EXPECT_GT(within.statistics().flown, within.statistics().steps / 2);
  EXPECT_EQ(within.status().message, "");
  for (const Trajectory* run : {&flown, &plain}) {
    EXPECT_TRUE(run->status().ok());
    EXPECT_EQ(run->status().message.find("height = "), 0u) << run->status().message;
    EXPECT_NE(run->status().message.find("is below its min = -4 at t = 90"), std::string::npos);
  }
}

constexpr double slow = 0.3;  // a frequency at which the mass sticks twice in each period

// Ends of slides are flown through, too.
TEST(Flights, LeaveSurfaces) {
  expect_agreement(friction(slow), 2000.0, 1e-6);
  const Trajectory run = simulate(CompiledModel(friction(slow)), options(4000.0, 0));
  EXPECT_GT(run.statistics().flown, run.statistics().steps * 9 / 10);
  EXPECT_GT(std::ranges::count(run.events(), EventKind::slide_exit, &Event::kind), 300);
}

// The step behind the end of a slide is tried first; the run must not end within a longer one.
TEST(Flights, EndShortlyBehindSlides) {
  const CompiledModel model(friction(slow));
  std::vector<double> exits;
  for (const Event& e : simulate(model, options(150.0, -1)).events())
    if (e.kind == EventKind::slide_exit && e.t > 100.0) exits.push_back(e.t);
  ASSERT_GT(exits.size(), 3u);
  for (const Method method : {Method::dopri5, Method::dop853, Method::taylor})
    for (const double t : exits)
      for (double further = 0.02; further < 2.0; further *= 1.1) {
        SimulateOptions o = options(t + further, 0);
        o.method = method;
        o.keep_steps = false;
        const Trajectory run = simulate(model, o);
        ASSERT_TRUE(run.status().ok()) << to_string(method) << ", " << o.stop << ": " << run.status().message;
      }
}

// A clause that only counts changes neither equations nor states.
TEST(Flights, PassEventsWithoutConsequences) {
  Model m("counting");
  const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0), count = m.discrete("count", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == cos(1.3 * m.time()) - x - 0.2 * v);
  m.when(x > 0.3).assign(count, m.pre(count) + 1.0);
  expect_agreement(m, 2000.0, 1e-6);
  const Trajectory run = simulate(CompiledModel(m), options(4000.0, 0));
  EXPECT_GT(run.statistics().flown, run.statistics().steps * 9 / 10);
  EXPECT_GT(run.at(4000.0, "count"), 800.0);
}

// Where a slide ends and something else happens before the step behind it is over, the loop settles both.
TEST(Flights, LandBeforeSlidesThatEndNearOtherEvents) {
  for (const double interval : {0.02, 0.11, 0.7}) expect_agreement(friction(slow, false, interval), 300.0, 1e-6);
}

// The last impacts are those of the loop: it knows how they end.
TEST(Flights, LandBeforeImpactsEndInRest) {
  expect_agreement(ball(0.01), 600.0, 1e-5);
}

// What is met for the first time in the air is settled by the loop.
TEST(Flights, LandBeforeWhatTheyDoNotKnow) {
  expect_agreement(ball(0.0, 700.0), 1500.0, 1e-5);
}

// Guards that are not linear are interpolated, and enclosed: a pulse between the points of the interpolation is seen.
TEST(Flights, SeeNarrowPulses) {
  expect_agreement(friction(0.7, true), 500.0, 1e-6);
}

// Impacts that nearly accumulate, with a counter in the clause.
TEST(Flights, NeverPassAWall) {
  Model m("wall");
  const Expr x = m.variable("x", 0.5), v = m.variable("v", 0.0), hits = m.discrete("hits", 0.0);
  m.equation(der(x) == v);
  m.equation(der(v) == -x - 0.2 * v + 2.227 * cos(2.813 * m.time()));
  m.when(x < -0.097).reset(v, -0.541 * v).assign(hits, m.pre(hits) + 1.0);
  SimulateOptions o = options(400.0, 0);
  o.rtol = o.atol = 1e-9;
  const Trajectory run = simulate(m, o);
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  EXPECT_GT(run.statistics().flown, 0);
  for (int k = 0; k <= 20000; ++k) ASSERT_GE(run.at(0.02 * k).front(), -0.097 - 1e-8) << "at " << 0.02 * k;
}

TEST(Flights, HaveTheSameBitsEachTime) {
  const CompiledModel model(friction());
  const Trajectory first = simulate(model, options(800.0, 100)), second = simulate(model, options(800.0, 100));
  Trajectory third = first;
  std::thread other([&] { third = simulate(model, options(800.0, 100)); });
  other.join();
  EXPECT_EQ(first.final(), second.final());
  EXPECT_EQ(first.final(), third.final());
}

// Code is kept with the model, for the method that it was made for.
TEST(Flights, DoNotDependOnEarlierRuns) {
  SimulateOptions o = options(400.0, 0);
  o.method = Method::tsit5;
  const CompiledModel used(friction());
  simulate(used, options(400.0, 0));
  const Trajectory first = simulate(CompiledModel(friction()), o), later = simulate(used, o);
  EXPECT_GT(first.statistics().flown, 0);
  EXPECT_EQ(first.final(), later.final());
  EXPECT_EQ(first.statistics().steps, later.statistics().steps);
}

TEST(Flights, GoOnFromSavedStatesWithTheSameBits) {
  for (const Method method : {Method::dopri5, Method::taylor})
    for (const Model& m : {ball(), friction(), sampled()}) {
      const CompiledModel model(m);
      SimulateOptions o = options(model.name() == "sampled" ? 40.0 : 8000.0, 100);
      o.method = method;
      Simulator whole(std::make_shared<CompiledModel>(model), o);
      int saved = 0;
      for (std::int64_t k = 1; whole.step(); ++k) {
        if (k % 701 != 0 || saved == 4) continue;
        ++saved;
        Simulator rest(std::make_shared<CompiledModel>(model), o, whole.state());
        Simulator until = whole.fork();
        rest.run();
        until.run();
        const Trajectory all = simulate(model, o);
        EXPECT_EQ(rest.trajectory().final(), all.final()) << model.name() << " from step " << k;
        EXPECT_EQ(until.trajectory().final(), all.final()) << model.name() << " from step " << k;
      }
      EXPECT_GE(saved, 2);
    }
}

// A state that is saved right behind the end of a slide.
// In a slide the mode has other guards than the one in which the run took off.
TEST(Flights, GoOnFromStatesInSlidesWithTheSameBits) {
  const CompiledModel model(friction(slow));
  const SimulateOptions o = options(400.0, 100);
  const std::vector<double> end = simulate(model, o).final();
  Simulator whole(std::make_shared<CompiledModel>(model), o);
  int saved = 0;
  for (int steps = 0; whole.step(); ++steps) {
    if (whole.mode().sliding.empty() || steps < 150 || steps % 7 != 0 || saved == 6) continue;
    ++saved;
    Simulator rest(std::make_shared<CompiledModel>(model), o, whole.state());
    rest.run();
    EXPECT_EQ(rest.trajectory().final(), end) << "from " << whole.t();
  }
  EXPECT_GE(saved, 3);
}

TEST(Flights, GoOnBehindSlidesWithTheSameBits) {
  const CompiledModel model(friction(slow));
  const SimulateOptions o = options(2000.0, 100);
  const std::vector<double> end = simulate(model, o).final();
  Simulator whole(std::make_shared<CompiledModel>(model), o);
  std::size_t events = 0;
  int saved = 0;
  while (whole.step()) {
    const auto& seen = whole.trajectory().events();
    if (seen.size() == events) continue;
    events = seen.size();
    if (seen.back().kind != EventKind::slide_exit || whole.t() < 100.0) continue;
    ++saved;
    Simulator rest(std::make_shared<CompiledModel>(model), o, whole.state());
    rest.run();
    EXPECT_EQ(rest.trajectory().final(), end) << "from " << whole.t();
  }
  EXPECT_GT(saved, 20);
}

TEST(Flights, StopWhereTheyAreAskedTo) {
  const CompiledModel model(ball());
  Simulator run(std::make_shared<CompiledModel>(model), options(2000.0, 100));
  const Trajectory plain = simulate(model, options(2000.0, -1));
  for (const double t : {100.0, 500.5, 1000.0, 1777.0}) {
    ASSERT_TRUE(run.advance_to(t));
    EXPECT_EQ(run.t(), t);
    EXPECT_NEAR(run.values()[0], plain.at(t)[0], 1e-5);
    EXPECT_NEAR(run.x()[1], plain.at(t)[1], 1e-5);
    EXPECT_EQ(run.trajectory().statistics().events, static_cast<std::int64_t>(run.trajectory().events().size()));
  }
}

TEST(Flights, ReportProgressAndObey) {
  SimulateOptions o = options(2000.0, 100);
  double last = 0.0;
  o.progress = [&](const Progress& p) {
    EXPECT_GE(p.t, last);
    last = p.t;
    return p.t < 1000.0;
  };
  const Trajectory run = simulate(CompiledModel(ball()), o);
  EXPECT_EQ(run.status().code, StatusCode::cancelled);
  EXPECT_NEAR(run.t_end(), 1000.0, 5.0);
}

TEST(Flights, CountTheirSteps) {
  SimulateOptions o = options(2000.0, 100);
  o.max_steps = 500;
  const Trajectory run = simulate(CompiledModel(ball()), o);
  EXPECT_EQ(run.status().code, StatusCode::too_many_steps);
  EXPECT_GT(run.statistics().flown, 0);
  EXPECT_NEAR(static_cast<double>(run.statistics().steps), 500.0, 2.0);
}

TEST(Flights, KeepNothingThatIsNotWanted) {
  SimulateOptions o = options(500.0, 100);
  o.keep_steps = o.keep_event_values = false;
  const CompiledModel model(friction());
  const Trajectory lean = simulate(model, o), plain = simulate(model, options(500.0, -1));
  ASSERT_EQ(lean.events().size(), plain.events().size());
  EXPECT_TRUE(lean.events().back().before.empty());
  EXPECT_NEAR(lean.final()[0], plain.final()[0], 1e-6);
  o.keep_steps = true;
  const Trajectory steps = simulate(model, o);
  for (int k = 1; k < 400; ++k) EXPECT_NEAR(steps.at(1.2345 * k)[1], plain.at(1.2345 * k)[1], 1e-5);
}

}  // namespace
}  // namespace saltus
