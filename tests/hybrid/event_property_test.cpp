// Nothing is missed and nothing fires twice: random guards and random hybrid systems with known events, integrated by every method, with any
// initial step, largest step and output times. Over 10^4 cases together with those of tests/event.
#include <gtest/gtest.h>
#include <saltus/saltus.hpp>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "event/properties.hpp"
#include "hybrid/linear_automaton.hpp"

namespace saltus {
namespace {

using std::numbers::pi;
using testing::check_property;
using testing::number_in;
using testing::real_in;

constexpr ProgramOptions interpreted{.backend = Backend::interpreter};  // random models are not worth compiling

constexpr Method explicit_methods[] = {Method::dopri5, Method::tsit5, Method::bs3, Method::dop853, Method::taylor};
constexpr Method all_methods[] = {Method::dopri5, Method::tsit5,  Method::bs3,    Method::dop853, Method::taylor,
                                  Method::rodas4, Method::rodas5p, Method::radau5, Method::radau9, Method::radau13};

template <std::size_t N>
Method any_of(const Method (&methods)[N]) { return methods[static_cast<std::size_t>(number_in(0, N))]; }

SimulateOptions any_steps(double stop, double tolerance, Method method) {
  SimulateOptions o{.stop = stop, .rtol = tolerance, .atol = tolerance, .method = method};
  if (number_in(0, 2) == 1) o.initial_step = std::pow(10.0, real_in(-8.0, 1.0));
  if (number_in(0, 3) == 0) o.max_step = stop * real_in(0.05, 1.0);
  return o;
}

/// Runs with outputs at random times, or at once.
std::vector<Event> events_of(const Model& m, const SimulateOptions& o, bool grid) {
  Simulator s(std::make_shared<CompiledModel>(m, interpreted), o);
  if (grid) {
    std::vector<double> outputs;
    for (auto i = number_in(0, 12); i > 0; --i) outputs.push_back(real_in(o.start, o.stop));
    std::sort(outputs.begin(), outputs.end());
    for (const double t : outputs)
      if (!s.finished()) s.advance_to(t);
  }
  s.run();
  RC_ASSERT(s.status().ok());
  return s.trajectory().events();
}

/// Random numbers in (0, 1), at least `apart` from each other and from the ends.
std::vector<double> apart_in_unit(std::int64_t count, double apart) {
  std::vector<double> r;
  for (std::int64_t i = 0; i < count; ++i) r.push_back(real_in(apart, 1.0 - apart));
  std::sort(r.begin(), r.end());
  for (std::size_t i = 1; i < r.size(); ++i) RC_PRE(r[i] - r[i - 1] > apart);
  return r;
}

TEST(EventProperty, RandomPolynomialsCrossWhereTheyShouldForEveryMethodAndGrid) {
  check_property(2000, [] {
    const std::vector<double> r = apart_in_unit(number_in(1, 7), 1e-3);
    const double lead = std::pow(10.0, real_in(-6.0, 6.0)) * (number_in(0, 2) == 0 ? 1.0 : -1.0);
    Model m("polynomial");
    const Expr x = m.variable("x", 0.0);
    m.equation(der(x) == 1.0);
    Expr g = lead;
    for (const double root : r) g = g * (x - root);
    m.when(g > 0.0).record();
    const Method method = any_of(all_methods);
    const std::vector<Event> events = events_of(m, any_steps(1.0, 1e-8, method), true);
    RC_ASSERT(events.size() == r.size());
    // x = t: every method is exact up to the rounding of its sums; those that iterate stop at their own tolerance
    for (std::size_t i = 0; i < r.size(); ++i) RC_ASSERT(std::abs(events[i].t - r[i]) <= 1e-13);
  });
}

TEST(EventProperty, RandomOscillationsCrossWhereTheyShouldForEveryMethodAndGrid) {
  check_property(1500, [] {
    // x = cos w t crosses c
    const double w = std::exp(real_in(std::log(0.5), std::log(20.0))), c = real_in(-0.99, 0.99), tolerance = 1e-7;
    const double stop = 6.0 / std::sqrt(w);
    const Method method = any_of(all_methods);
    Model m("oscillation");
    const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
    m.equation(der(x) == w * v);
    m.equation(der(v) == -w * x);
    m.when(x > c).record();
    std::vector<double> exact;
    // errors add up over the phase w t; over the slope w sqrt(1 - c^2)
    const double error = 20.0 * tolerance * (1.0 + w * stop) / (w * std::sqrt(1.0 - c * c));
    for (int k = 0; k < 40; ++k)
      for (const double phase : {std::acos(c), 2.0 * pi - std::acos(c)}) {
        const double t = (phase + 2.0 * pi * k) / w;
        RC_PRE(std::abs(t - stop) > 2.0 * error);
        if (t < stop) exact.push_back(t);
      }
    const std::vector<Event> events = events_of(m, any_steps(stop, tolerance, method), true);
    RC_ASSERT(events.size() == exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) RC_ASSERT(std::abs(events[i].t - exact[i]) <= error);
  });
}

TEST(EventProperty, SumsOfSinesAreTheSameForTwoMethodsAndGrids) {
  check_property(800, [] {
    // a guard of time alone with structure far below the steps that x' = 0 allows, and a moving state in it
    const double a = real_in(1.0, 30.0), b = real_in(1.0, 30.0), p = real_in(0.0, 6.0), c = real_in(-0.5, 0.5);
    Model m("signal");
    const Expr x = m.variable("x", 0.0), t = m.time();
    m.equation(der(x) == cos(t));
    m.when(sin(a * t + p) + 0.7 * sin(b * t) + 0.1 * x > c).record();
    const std::vector<Event> one = events_of(m, any_steps(4.0, 1e-9, any_of(explicit_methods)), true),
                             two = events_of(m, any_steps(4.0, 1e-9, any_of(all_methods)), false);
    // Where the signal grazes zero within the error of x, the two may differ in truth. Find out by the exact signal.
    const auto g = [&](double s) { return std::sin(a * s + p) + 0.7 * std::sin(b * s) + 0.1 * std::sin(s) - c; };
    int changes = 0;
    double nearest = 1.0;
    for (double s = 0.0, last = g(-1e-3), now = g(0.0); s < 4.0 - 0.5e-3; s += 1e-3) {
      const double next = g(s + 1e-3);
      if (now * next < 0.0) ++changes;
      if ((now - last) * (next - now) <= 0.0) nearest = std::min(nearest, std::abs(now));
      last = now;
      now = next;
    }
    RC_PRE(nearest > 1e-3 && std::abs(g(0.0)) > 1e-3 && std::abs(g(4.0)) > 1e-3);  // the grid sees turns to 1e-6 * 30^2 / 2
    RC_ASSERT(static_cast<int>(one.size()) == changes);
    RC_ASSERT(two.size() == one.size());
    // slopes at crossings are at least sqrt(2 * 1e-3 * curvature), curvature of the order of 1: 4e-2
    for (std::size_t i = 0; i < one.size(); ++i) RC_ASSERT(std::abs(one[i].t - two[i].t) <= 1e-7);
  });
}

TEST(EventProperty, SeveralGuardsFireInTheOrderOfTheirTimes) {
  check_property(1000, [] {
    const auto count = number_in(2, 12);
    const std::vector<double> r = apart_in_unit(count, 1e-6);
    Model m("guards");
    const Expr x = m.variable("x", 0.0), last = m.discrete("last", -1.0), order = m.discrete("order", 0.0);
    m.equation(der(x) == 1.0);
    std::vector<std::size_t> places(r.size());
    for (std::size_t i = 0; i < r.size(); ++i) places[i] = i;
    for (std::size_t i = r.size(); i > 1; --i) std::swap(places[i - 1], places[static_cast<std::size_t>(number_in(0, static_cast<std::int64_t>(i)))]);
    for (const std::size_t i : places) {
      const double bend = real_in(-0.5, 0.5);
      // order counts the guards that fire right after their predecessor
      const auto number = static_cast<double>(i);
      m.when((x - r[i]) * (1.0 + bend * x) > 0.0)
          .assign(order, m.pre(order) + if_else(abs(m.pre(last) - (number - 1.0)) < 0.5, Expr(1.0), Expr(0.0)))
          .assign(last, number);
    }
    const Trajectory run = simulate(m, any_steps(1.0, 1e-6, any_of(explicit_methods)), interpreted);
    RC_ASSERT(run.events().size() == r.size());
    for (std::size_t i = 0; i < r.size(); ++i) RC_ASSERT(std::abs(run.events()[i].t - r[i]) <= 1e-13);
    RC_ASSERT(run.final()[2] == static_cast<double>(r.size()));
  });
}

TEST(EventProperty, PairsOfRootsAreBothFound) {
  check_property(1000, [] {
    const double r = real_in(0.1, 0.9), gap = std::pow(10.0, real_in(-9.0, -2.0));
    Model m("pair");
    const Expr x = m.variable("x", 0.0);
    m.equation(der(x) == 1.0);
    m.when((x - r) * (x - r - gap) < 0.0).record();
    const std::vector<Event> events = events_of(m, any_steps(1.0, 1e-8, any_of(all_methods)), true);
    RC_ASSERT(events.size() == 2u);
    // the product is known to a few eps, over its slope at the roots
    for (std::size_t i = 0; i < events.size(); ++i)
      RC_ASSERT(std::abs(events[i].t - (r + (i == 0 ? 0.0 : gap))) <= 1e-13);
  });
}

TEST(EventProperty, ANoOpEventLeavesTheSolutionUnchanged) {
  check_property(200, [] {
    const double w = real_in(0.5, 3.0), c = real_in(-0.9, 0.9), tolerance = 1e-8;
    const Method method = any_of(explicit_methods);
    const auto final_of = [&](bool events) {
      Model m("no-op");
      const Expr x = m.variable("x", 1.0), v = m.variable("v", 0.0);
      m.equation(der(x) == v);
      m.equation(der(v) == -w * w * sin(x));
      if (events) {
        m.when(x > c).record();
        m.when(v * v > 0.5).record();
      }
      SimulateOptions options{.stop = 8.0, .rtol = tolerance, .atol = tolerance, .method = method};
      options.flights_after = -1;  // in flight a step begins at every event
      return simulate(m, options, interpreted).final();
    };
    const auto with = final_of(true), without = final_of(false);
    for (std::size_t k = 0; k < 2; ++k) RC_ASSERT(with[k] == without[k]);
  });
}

// --- random automata against the exponential

template <int n>
testing::LinearAutomaton<n> random_automaton() {
  testing::LinearAutomaton<n> a;
  for (auto& mode : a.modes)
    for (int i = 0; i < n; ++i) mode.c[i] = real_in(-1.0, 1.0);
  for (int q = 0; q < 2; ++q) {
    auto &mode = a.modes[q], &other = a.modes[1 - q];
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        mode.A[i][j] = real_in(-1.5, 1.5) - (i == j ? 1.5 : 0.0);  // mostly stable
        mode.R[i][j] = real_in(-0.2, 0.2);
      }
      mode.b[i] = real_in(-1.0, 1.0) + 3.0 * mode.c[i];   // towards the guard
      mode.r[i] = real_in(-0.3, 0.3) - 0.5 * other.c[i];  // away from the next one
    }
    mode.d = real_in(0.05, 0.8);
  }
  for (int i = 0; i < n; ++i) a.start[i] = real_in(-0.3, 0.3) - 0.5 * a.modes[0].c[i];
  return a;
}

/// Cases with fewer than three events, or with grazing guards, are not counted.
template <int n>
void check_automata(int cases) {
  int checked = 0;
  long events = 0;
  check_property(cases, [&] {
    const auto automaton = random_automaton<n>();
    constexpr double stop = 4.0, tolerance = 1e-9;
    const auto exact = automaton.solve(stop);
    if (exact.events.size() < 3 || exact.events.size() > 200 || exact.least_slope < 0.1L || exact.least_margin < 0.01L) return;
    // How much an error at the start moves the events, by experiment; errors made later are moved less or as much.
    auto moved = automaton;
    for (int i = 0; i < n; ++i) moved.start[i] += 1e-6L;
    const auto perturbed = moved.solve(stop);
    if (perturbed.events.size() != exact.events.size() || stop - exact.events.back().t < 1e-3) return;
    testing::Real gain = 1.0L / exact.least_slope;
    for (std::size_t k = 0; k < exact.events.size(); ++k)
      gain = std::max(gain, std::abs(perturbed.events[k].t - exact.events[k].t) / 1e-6L);
    const Trajectory run = simulate(automaton.model(), any_steps(stop, tolerance, any_of(explicit_methods)), interpreted);
    RC_ASSERT(run.status().ok());
    RC_ASSERT(run.events().size() == exact.events.size());
    for (std::size_t k = 0; k < exact.events.size(); ++k) {
      const auto error = std::abs(run.events()[k].t - exact.events[k].t);
      RC_ASSERT(error <= 10.0L * tolerance * gain * static_cast<testing::Real>(k + 1));
      RC_ASSERT(run.events()[k].kind == EventKind::transition);
    }
    ++checked;
    events += static_cast<long>(exact.events.size());
  });
  ::testing::Test::RecordProperty("automata", checked);
  ::testing::Test::RecordProperty("events", static_cast<int>(events));
  EXPECT_GT(checked, cases / 4);
}

TEST(EventProperty, RandomAutomataOfDimension2SwitchAsTheExponentialSays) { check_automata<2>(3000); }
TEST(EventProperty, RandomAutomataOfDimension3SwitchAsTheExponentialSays) { check_automata<3>(1500); }
TEST(EventProperty, RandomAutomataOfDimension5SwitchAsTheExponentialSays) { check_automata<5>(500); }

}  // namespace
}  // namespace saltus
