// Several guards, recorded systems, integrators: the locator as the controller uses it.
#include <gtest/gtest.h>
#include <saltus/event/event_locator.hpp>
#include <saltus/expr/derivative.hpp>
#include <saltus/model/recorded_system.hpp>
#include <saltus/step/explicit_runge_kutta.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <numbers>

#include "event/properties.hpp"
#include "event/signals.hpp"

namespace {
std::atomic<long> allocations{0};
}  // namespace

[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (void* p = operator new(size, std::nothrow)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept {
  std::free(p);
}

namespace saltus {
namespace {

using testing::check_property;
using testing::number_in;
using testing::real_in;
using testing::Signal;
using testing::SignalSystem;
using testing::time_step;

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double pi = std::numbers::pi;

TEST(EventLocatorSystem, TheEarliestOfManyGuardsWins) {
  check_property(1000, [] {
    const auto count = static_cast<std::size_t>(number_in(1, 40));
    std::vector<Signal> signals;
    std::vector<GuardWatch> watch;
    double first = 2.0;
    int winner = -1;
    const bool backward = number_in(0, 2) == 1;
    for (std::size_t k = 0; k < count; ++k) {
      const double r = real_in(0.01, 1.5), bend = real_in(-0.6, 0.6), scale = std::pow(10.0, real_in(-6.0, 6.0));
      const double sign = number_in(0, 2) == 0 ? 1.0 : -1.0;
      const bool watched = number_in(0, 4) != 0;
      // positive before r, with one root in [0, 1.5]; time runs as 1 - t when backward
      signals.push_back([=](double t) {
        const double s = backward ? 1.0 - t : t;
        return sign * scale * (r - s) * (1.0 + bend * s);
      });
      watch.push_back({static_cast<signed char>(watched ? sign : 0.0), 0, 0.0});
      RC_PRE(std::abs(r - first) > 1e-9 && std::abs(r - 1.0) > 1e-9);
      if (watched && r < first) {
        first = r;
        winner = static_cast<int>(k);
      }
    }
    SignalSystem system(signals);
    EventLocator locator;
    LocatedEvent event;
    const bool found = locator.earliest(system, backward ? time_step(1.0, 0.0) : time_step(0.0, 1.0), watch, event);
    RC_ASSERT(found == (first < 1.0));
    if (!found) return;
    RC_ASSERT(event.guards == std::vector<int>{winner});
    const double t = backward ? 1.0 - first : first;
    RC_ASSERT(std::abs(event.t_before - t) <= 3.0 * eps);
    RC_ASSERT(std::abs(event.t_after - t) <= 3.0 * eps);
    RC_ASSERT((event.t_after < event.t_before) == backward);
    RC_ASSERT(locator.resolved());
    RC_ASSERT(!event.at_start);
  });
}

TEST(EventLocatorSystem, GuardsWithTheSameZeroFireTogether) {
  SignalSystem system({[](double t) { return 0.9 - t; },                             // later
                       [](double t) { return std::sin(t) - 0.5; },                   // pi/6
                       [](double t) { return pi / 6.0 - t; },                        // pi/6
                       [](double t) { return t * t - pi * pi / 36.0; },              // pi/6
                       [](double t) { return 1e6 * std::exp(t - pi / 6.0) - 1e6; },  // pi/6, noisier
                       [](double t) { return 0.6 - t; }});                           // later
  const std::vector<GuardWatch> watch{{1, 0, 0}, {-1, 0, 0}, {1, 0, 0}, {-1, 0, 0}, {-1, 0, 0}, {1, 0, 0}};
  EventLocator locator;
  LocatedEvent event;
  ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), watch, event));
  EXPECT_EQ(event.guards, (std::vector{1, 2, 3, 4}));
  EXPECT_EQ(event.directions, (std::vector<signed char>{1, -1, 1, 1}));
  // The window is 4 units of 2 eps and the noise of two guards over their slopes, which is at most 8 eps times the
  // magnitude each.
  EXPECT_NEAR(event.t_before, pi / 6.0, 32.0 * eps);
  EXPECT_NEAR(event.t_after, pi / 6.0, 32.0 * eps);
  std::vector<double> g(6);
  system.guards(event.t_before, {}, {}, g);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_GT(watch[k].side * g[k], 0.0) << k;
  system.guards(event.t_after, {}, {}, g);
  for (const int k : event.guards)
    EXPECT_LT(watch[static_cast<std::size_t>(k)].side * g[static_cast<std::size_t>(k)], 0.0) << k;
}

TEST(EventLocatorSystem, OneGuardTwiceFiresTwice) {
  const Signal g = [](double t) { return std::cos(3.0 * t); };
  SignalSystem system({g, g, [&](double t) { return -g(t); }});
  const std::vector<GuardWatch> watch{{1, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
  EventLocator locator;
  LocatedEvent event;
  ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), watch, event));
  EXPECT_EQ(event.guards, (std::vector{0, 1, 2}));
  EXPECT_EQ(event.directions, (std::vector<signed char>{-1, -1, 1}));
}

TEST(EventLocatorSystem, GuardsACloseTimeApartFireOneAfterTheOther) {
  for (const double apart : {1e-13, 1e-10, 1e-6}) {
    SignalSystem system({[=](double t) { return 0.3 + apart - t; }, [](double t) { return 0.3 - t; }});
    EventLocator locator;
    LocatedEvent event;
    std::vector<GuardWatch> watch{{1, 0, 0}, {1, 0, 0}};
    ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), watch, event));
    EXPECT_EQ(event.guards, (std::vector{1})) << apart;
    watch[1] = {-1, 1, 0};
    const double t = event.t_after;
    ASSERT_TRUE(locator.earliest(system, time_step(t, 1.0), watch, event));
    EXPECT_EQ(event.guards, (std::vector{0})) << apart;
    EXPECT_NEAR(event.t_after, 0.3 + apart, 3.0 * eps);
    watch[0] = {-1, 1, 0};
    EXPECT_FALSE(locator.earliest(system, time_step(event.t_after, 1.0), watch, event));
  }
}

TEST(EventLocatorSystem, TouchesAfterTheEventAreLeftToTheNextStep) {
  SignalSystem system({[](double t) { return (t - 0.2) * (t - 0.2); }, [](double t) { return (t - 0.8) * (t - 0.8); },
                       [](double t) { return 0.5 - t; }});
  const std::vector<GuardWatch> watch{{1, 0, 0}, {1, 0, 0}, {1, 0, 0}};
  EventLocator locator;
  LocatedEvent event;
  ASSERT_TRUE(locator.earliest(system, time_step(0.0, 1.0), watch, event));
  EXPECT_EQ(event.guards, (std::vector{2}));
  ASSERT_EQ(locator.touches().size(), 1u);
  EXPECT_EQ(locator.touches()[0].guard, 0);
}

TEST(EventLocatorSystem, NineEvaluationsAreEnoughWhenNothingHappens) {
  std::vector<Signal> signals(100, [](double t) { return 2.0 + t + 0.3 * t * t; });
  SignalSystem system(signals);
  EventLocator locator;
  LocatedEvent event;
  const std::vector<GuardWatch> watch(100, GuardWatch{1, 0, 0.0});
  EXPECT_FALSE(locator.earliest(system, time_step(0.0, 1.0), watch, event));
  EXPECT_EQ(system.calls, 9);
  EXPECT_EQ(locator.statistics().evaluations, 9);
  EXPECT_EQ(locator.statistics().suspects, 0);
}

TEST(EventLocatorSystem, SizesThatDoNotFitAreRefused) {
  SignalSystem system({[](double t) { return t; }});
  EventLocator locator;
  LocatedEvent event;
  EXPECT_THROW(locator.earliest(system, time_step(0.0, 1.0), {}, event), UsageError);
  const GuardWatch watch{1, 0, 0.0};
  DensePolynomial step = time_step(0.0, 1.0);
  step.variables = 2;
  step.c = {0.0, 0.0, 1.0, 1.0};
  EXPECT_THROW(locator.earliest(system, step, {&watch, 1}, event), UsageError);
  EXPECT_THROW(EventLocator({.max_depth = 1000}), UsageError);
}

TEST(EventLocatorSystem, NothingIsAllocatedAfterTheFirstCalls) {
  std::vector<Signal> signals;
  for (int k = 0; k < 20; ++k) {
    signals.push_back([=](double t) { return std::sin((3.0 + k) * t + 0.1 * k) + 0.2; });
    signals.push_back([=](double t) { return (t - 0.05 * k) * (t - 0.05 * k) + (k % 2 == 0 ? 0.0 : 0.1); });
  }
  signals.push_back([](double t) { return t > 0.9 ? std::numeric_limits<double>::quiet_NaN() : 1.0; });
  SignalSystem system(signals);
  std::vector<GuardWatch> watch(signals.size(), GuardWatch{1, 0, 0.0});
  EventLocator locator;
  LocatedEvent event;
  const DensePolynomial whole = time_step(0.0, 1.0), part = time_step(0.2, 0.95);
  const auto both = [&] {
    locator.earliest(system, whole, watch, event);
    locator.earliest(system, part, watch, event);
  };
  both();
  const long before = allocations;
  both();
  EXPECT_EQ(allocations - before, 0);
}

// --- recorded systems

struct RecordedGuards : ::testing::Test {
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  Expr t{graph, graph->symbol("time", SymbolKind::time)};
  Expr x{graph, graph->symbol("x", SymbolKind::variable)};
  Expr y{graph, graph->symbol("y", SymbolKind::variable)};
};

TEST_F(RecordedGuards, DerivativesTimeAndProductsMayEnterAGuard) {
  // x = sin t, y = cos t as Taylor polynomials of degree 16 from 0: the error is 1/17! = 3e-15 at t = 1, and 16 times
  // that in x'.
  RecordedSystem system({.time = t,
                         .variables = {x, y},
                         .equations = {der(x) - y, y - cos(t)},
                         .guards = {der(x) - 0.6, x * y - 0.4, x - t + 0.05}});
  ASSERT_FALSE(system.structure().explicit_ode);
  DensePolynomial step{.t0 = 0.0, .h = 1.0, .degree = 16, .variables = 2, .c = {}};
  double factorial = 1.0;
  for (int k = 0; k <= 16; ++k) {
    if (k > 0) factorial *= k;
    step.c.push_back(std::round(std::sin(k * pi / 2.0)) / factorial);
    step.c.push_back(std::round(std::cos(k * pi / 2.0)) / factorial);
  }
  EventLocator locator;
  LocatedEvent event;
  const auto earliest = [&](signed char a, signed char b, signed char c) {
    const std::vector<GuardWatch> watch{{a, 0, 0}, {b, 0, 0}, {c, 0, 0}};
    return locator.earliest(system, step, watch, event);
  };
  ASSERT_TRUE(earliest(1, 0, 0));
  EXPECT_NEAR(event.t_after, std::acos(0.6), 1e-13);  // slope 0.8
  ASSERT_TRUE(earliest(0, -1, 0));
  EXPECT_NEAR(event.t_after, 0.5 * std::asin(0.8), 1e-13);  // slope 0.6
  ASSERT_TRUE(earliest(0, 0, 1));
  // sin t = t - 0.05
  double root = 0.67;
  for (int i = 0; i < 20; ++i) root -= (std::sin(root) - root + 0.05) / (std::cos(root) - 1.0);
  EXPECT_NEAR(event.t_after, root, 1e-13);  // slope 0.2
  ASSERT_TRUE(earliest(1, -1, 1));
  EXPECT_EQ(event.guards, (std::vector{1}));
  EXPECT_TRUE(event.proved);
}

struct Oscillation {
  std::vector<double> times;
  int sign_changes = 0;
};

/// Crossings of x = 1 - epsilon for x = cos t from 0.5 to 33: five pairs around 2 pi k.
Oscillation oscillate(RecordedSystem& system, const Tableau& tableau, double rtol, double level) {
  Oscillation result;
  const auto stepper = make_explicit_runge_kutta(tableau, {.rtol = rtol, .atol = {rtol * 1e-2}});
  const double x0[2] = {std::cos(0.5), -std::sin(0.5)};
  stepper->start(system, {.t = 0.5, .x = x0});
  EventLocator locator;
  LocatedEvent event;
  GuardWatch watch{static_cast<signed char>(x0[0] > level ? 1 : -1), 0, 0.0};
  while (stepper->t() < 33.0) {
    EXPECT_TRUE(stepper->advance(33.0).ok());
    // The rest of a step after an event: the same polynomial, moved to start at the end of the bracket.
    DensePolynomial step = stepper->dense();
    if ((step.evaluate(step.t0, 0) - level) * (step.evaluate(step.t1(), 0) - level) < 0.0) ++result.sign_changes;
    while (locator.earliest(system, step, {&watch, 1}, event)) {
      result.times.push_back(event.t_after);
      EXPECT_TRUE(event.proved);
      EXPECT_FALSE(event.at_start);
      watch = {static_cast<signed char>(-watch.side), 1, 0.0};
      const double shift = (event.t_after - step.t0) / step.h;
      for (int i = 0; i < step.degree; ++i) {
        for (int k = step.degree - 1; k >= i; --k) {
          for (int j = 0; j < 2; ++j)
            step.c[static_cast<std::size_t>(2 * k + j)] += shift * step.c[static_cast<std::size_t>(2 * k + 2 + j)];
        }
      }
      double power = 1.0;
      const double end = stepper->dense().t1();
      const double ratio = (end - event.t_after) / step.h;
      for (int k = 0; k <= step.degree; ++k, power *= ratio) {
        for (int j = 0; j < 2; ++j) step.c[static_cast<std::size_t>(2 * k + j)] *= power;
      }
      step.t0 = event.t_after;
      step.h = end - event.t_after;
      if (step.h <= 0.0) break;
    }
    watch.known_root = 0;
  }
  return result;
}

TEST_F(RecordedGuards, NearGrazingPairsOfAnOscillatorAreAllFound) {
  struct Case {
    const Tableau& tableau;
    double rtol, epsilon;
  };
  int few_sign_changes = 0;
  for (const Case& c : {Case{dormand_prince_5(), 1e-6, 1e-2}, Case{dormand_prince_5(), 1e-6, 1e-3},
                        Case{dormand_prince_5(), 1e-9, 1e-4}, Case{dormand_prince_5(), 1e-9, 1e-6},
                        Case{tsitouras_5(), 1e-8, 1e-5}, Case{bogacki_shampine_3(), 1e-8, 1e-4},
                        Case{dormand_prince_8(), 1e-6, 1e-3}, Case{dormand_prince_8(), 1e-10, 1e-6}}) {
    RecordedSystem system(
        {.time = t, .variables = {x, y}, .equations = {der(x) - y, der(y) + x}, .guards = {x - (1.0 - c.epsilon)}});
    const Oscillation found = oscillate(system, c.tableau, c.rtol, 1.0 - c.epsilon);
    ASSERT_EQ(found.times.size(), 10u) << c.tableau.name << " " << c.rtol << " " << c.epsilon;
    for (int k = 1; k <= 5; ++k) {
      // The error of x grows like t rtol (a factor of 3 for the method), and counts over the slope sqrt(2 epsilon).
      const double error = 3.0 * 33.0 * c.rtol / std::sqrt(2.0 * c.epsilon);
      EXPECT_NEAR(found.times[static_cast<std::size_t>(2 * k - 2)], 2.0 * pi * k - std::acos(1.0 - c.epsilon), error);
      EXPECT_NEAR(found.times[static_cast<std::size_t>(2 * k - 1)], 2.0 * pi * k + std::acos(1.0 - c.epsilon), error);
    }
    if (found.sign_changes < 10) ++few_sign_changes;
  }
  // What a test of signs at the ends of the steps would have lost.
  EXPECT_GE(few_sign_changes, 4);
}

}  // namespace
}  // namespace saltus
