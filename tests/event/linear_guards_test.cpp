// Linear guards: what their polynomials tell must be what the guards of the system say.
#include <gtest/gtest.h>
#include <saltus/event/event_locator.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

#include "event/properties.hpp"
#include "event/signals.hpp"
#include "suites/linear_forms.hpp"

namespace saltus {
namespace {

using testing::check_property;
using suite::guards_of;
using suite::LinearForm;
using testing::number_in;
using testing::real_in;
using testing::time_step;

constexpr double eps = std::numeric_limits<double>::epsilon();

/// Guards constant + time t + sum coefficients x, summed up from the back: the rounding differs from that of the locator.
class LinearSystem final : public System {
 public:
  LinearSystem(int n, std::vector<LinearForm> forms) : forms_(std::move(forms)) {
    structure_.variables = structure_.equations = n;
    structure_.guards = static_cast<int>(forms_.size());
  }
  const Structure& structure() const override { return structure_; }
  void residual(double, std::span<const double>, std::span<const double>, std::span<double>) override {}
  void jacobian(double, std::span<const double>, std::span<const double>, std::span<double>,
                std::span<double>) override {}
  void guards(double t, std::span<const double> x, std::span<const double>, std::span<double> g) override {
    ++calls;
    for (std::size_t k = 0; k < forms_.size(); ++k) {
      g[k] = 0.0;
      for (std::size_t i = forms_[k].variables.size(); i-- > 0;) {
        g[k] += forms_[k].coefficients[i] * x[static_cast<std::size_t>(forms_[k].variables[i])];
      }
      g[k] += forms_[k].time * t + forms_[k].constant;
    }
  }
  const std::vector<LinearForm>& forms() const { return forms_; }
  const std::vector<LinearGuard>& linear() const { return linear_; }
  long calls = 0;

 private:
  Structure structure_;
  std::vector<LinearForm> forms_;
  std::vector<LinearGuard> linear_ = guards_of(forms_);
};

TEST(LinearGuards, GiveTheSameEventsWithoutSampling) {
  check_property(2000, [] {
    const int n = static_cast<int>(number_in(1, 5)), degree = static_cast<int>(number_in(1, 9));
    DensePolynomial step{.t0 = real_in(-2.0, 2.0), .h = real_in(0.1, 1.0), .degree = degree, .variables = n, .c = {}};
    if (number_in(0, 2) == 1) step.h = -step.h;
    for (int i = 0; i < (degree + 1) * n; ++i) step.c.push_back(real_in(-1.0, 1.0));
    std::vector<LinearForm> forms;
    std::vector<GuardWatch> watch;
    for (int k = 0; k < 5; ++k) {
      LinearForm form{
          .guard = k, .constant = real_in(-1.0, 1.0), .time = number_in(0, 2) == 0 ? 0.0 : real_in(-1.0, 1.0)};
      for (int j = 0; j < n; ++j) {
        form.variables.push_back(j);
        form.coefficients.push_back(real_in(-1.0, 1.0));
      }
      forms.push_back(form);
    }
    LinearSystem system(n, forms);
    std::vector<double> x(static_cast<std::size_t>(n)), g(5);
    step.evaluate(step.t0, x);
    system.guards(step.t0, x, x, g);
    for (const double value : g) {
      RC_PRE(std::abs(value) > 1e-9);
      watch.push_back({static_cast<signed char>(value > 0.0 ? 1 : -1), 0, 0.0});
    }
    EventLocator locator;
    LocatedEvent sampled, linear, mixed;
    const bool found = locator.earliest(system, step, watch, sampled);
    RC_ASSERT(locator.resolved());
    system.calls = 0;
    RC_ASSERT(locator.earliest(system, step, watch, linear, system.linear()) == found);
    if (!found) RC_ASSERT(system.calls == 0);
    RC_ASSERT(locator.earliest(system, step, watch, mixed, std::span(system.linear()).first(2)) == found);
    if (!found) return;
    RC_ASSERT(linear.guards == sampled.guards);
    RC_ASSERT(mixed.guards == sampled.guards);
    RC_ASSERT(linear.directions == sampled.directions);
    // Both end in a bracket of the same function; where its slope is small rounding makes several.
    step.derivative(sampled.t_before, x);
    double slope = forms[static_cast<std::size_t>(sampled.guards[0])].time;
    for (int j = 0; j < n; ++j) {
      slope += forms[static_cast<std::size_t>(sampled.guards[0])].coefficients[static_cast<std::size_t>(j)] *
               x[static_cast<std::size_t>(j)];
    }
    // magnitudes: 2 + 4 variables times at most 9 coefficients
    const double error = 4.0 * eps * 3.0 + 2.0 * 38.0 * eps / std::abs(slope);
    RC_ASSERT(std::abs(linear.t_after - sampled.t_after) <= error);
    RC_ASSERT(std::abs(mixed.t_after - sampled.t_after) <= error);
  });
}

TEST(LinearGuards, KnownRootsTouchesAndEndsAreTheSame) {
  const DensePolynomial step{
      .t0 = 0.0, .h = 1.0, .degree = 3, .variables = 3, .c = {0, 0.16, 1, 0.5, -0.8, -1, -1, 1, 0, 0, 0, 0}};
  // x0 = t (0.5 - t), x1 = (t - 0.4)^2, x2 = 1 - t
  std::vector<LinearForm> forms;
  for (int k = 0; k < 3; ++k) forms.push_back({.guard = k, .variables = {k}, .coefficients = {1.0}});
  LinearSystem system(3, forms);
  EventLocator locator;
  LocatedEvent event;
  std::vector<GuardWatch> watch{{1, 1, 0}, {1, 0, 0}, {1, 0, 0}};
  ASSERT_TRUE(locator.earliest(system, step, watch, event, guards_of(forms)));
  EXPECT_EQ(event.guards, (std::vector{0}));
  EXPECT_NEAR(event.t_after, 0.5, 3.0 * eps);
  ASSERT_EQ(locator.touches().size(), 1u);
  EXPECT_EQ(locator.touches()[0].guard, 1);
  watch[0].side = 0;
  ASSERT_TRUE(locator.earliest(system, step, watch, event, guards_of(forms)));
  EXPECT_EQ(event.guards, (std::vector{2}));
  EXPECT_NEAR(event.t_after, 1.0, 4.0 * eps);
  watch = {{-1, 1, 0}, {1, 0, 0}, {1, 0, 0}};
  ASSERT_TRUE(locator.earliest(system, step, watch, event, guards_of(forms)));
  EXPECT_TRUE(event.at_start);
}

TEST(LinearGuards, WrongFormsAreRefused) {
  LinearSystem system(1, {{.guard = 0, .variables = {0}, .coefficients = {1.0}}});
  EventLocator locator;
  LocatedEvent event;
  const GuardWatch watch{1, 0, 0.0};
  const std::vector<LinearForm> number{{.guard = 1, .variables = {0}, .coefficients = {1.0}}};
  const std::vector<LinearForm> count{{.guard = 0, .variables = {0}, .coefficients = {}}};
  const std::vector<LinearForm> variable{{.guard = 0, .variables = {1}, .coefficients = {1.0}}};
  for (const auto& forms : {number, count, variable}) {
    EXPECT_THROW(locator.earliest(system, time_step(0.0, 1.0), {&watch, 1}, event, guards_of(forms)), UsageError);
  }
}

// --- against the guards of the system

/// The guards of the system at time t, as a user of the dense output sees them.
std::vector<double> guards_at(LinearSystem& system, const DensePolynomial& step, double t) {
  std::vector<double> x(static_cast<std::size_t>(step.variables)), g(system.forms().size());
  step.evaluate(t, x);
  system.guards(t, x, x, g);
  return g;
}

/// A guard for each variable: x_j.
std::vector<LinearForm> one_for_each(int n) {
  std::vector<LinearForm> forms;
  for (int k = 0; k < n; ++k) forms.push_back({.guard = k, .variables = {k}, .coefficients = {1.0}});
  return forms;
}

/// A step of one variable.
DensePolynomial step_of(double t0, double h, std::vector<double> c) {
  return {.t0 = t0, .h = h, .degree = static_cast<int>(c.size()) - 1, .variables = 1, .c = std::move(c)};
}

/// The coefficients of a product of polynomials.
std::vector<double> times(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> c(a.size() + b.size() - 1, 0.0);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) c[i + j] += a[i] * b[j];
  return c;
}

TEST(LinearGuards, BracketsHaveOppositeSignsOnTheSystemItself) {
  check_property(4000, [] {
    const int n = static_cast<int>(number_in(1, 5)), degree = static_cast<int>(number_in(1, 9));
    const double far = std::pow(10.0, real_in(-2.0, 7.0)) * (number_in(0, 2) == 0 ? 1.0 : -1.0);
    DensePolynomial step{.t0 = far, .h = real_in(0.1, 1.0), .degree = degree, .variables = n, .c = {}};
    if (number_in(0, 2) == 1) step.h = -step.h;
    for (int i = 0; i < (degree + 1) * n; ++i) step.c.push_back(real_in(-1.0, 1.0));
    std::vector<LinearForm> forms;
    for (int k = 0; k < 3; ++k) {
      LinearForm form{.guard = k, .constant = real_in(-1.0, 1.0)};
      if (number_in(0, 3) == 0) {  // moving levels: t - far
        form.time = real_in(-1.0, 1.0);
        form.constant -= form.time * far;
      }
      for (int j = 0; j < n; ++j) {
        form.variables.push_back(j);
        form.coefficients.push_back(real_in(-1.0, 1.0));
      }
      forms.push_back(form);
    }
    LinearSystem system(n, forms);
    std::vector<GuardWatch> watch;
    for (const double value : guards_at(system, step, step.t0)) watch.push_back({static_cast<signed char>(value > 0.0 ? 1 : -1), 0, 0.0});
    EventLocator locator;
    LocatedEvent event;
    if (!locator.earliest(system, step, watch, event, guards_of(forms)) || event.at_start) return;
    RC_ASSERT(locator.proved());
    const std::vector<double> before = guards_at(system, step, event.t_before), after = guards_at(system, step, event.t_after);
    RC_ASSERT((event.t_after > event.t_before) == (step.h > 0.0));
    for (const int k : event.guards) {
      const auto place = static_cast<std::size_t>(k);
      // A moving level is rounded like t: it may be zero over some thousands of units, of which the locator looks at 1024.
      if (forms[place].time == 0.0) RC_ASSERT(watch[place].side * before[place] > 0.0);
      RC_ASSERT(watch[place].side * before[place] >= 0.0);
      RC_ASSERT(watch[place].side * after[place] < 0.0);
    }
  });
}

TEST(LinearGuards, CancellationWidensTheBracketAndNothingElse) {
  check_property(1000, [] {
    // x0 - x1 = r - s, of numbers of size 1e6 that are rounded to 1e-10
    const double r = real_in(0.01, 0.99), size = real_in(1e5, 1e6), bend = real_in(-1.0, 1.0);
    const DensePolynomial step{.t0 = 0.0, .h = 1.0, .degree = 2, .variables = 2, .c = {size + r, size, 3.0, 4.0, bend, bend}};
    const std::vector<LinearForm> forms{{.guard = 0, .variables = {0, 1}, .coefficients = {1.0, -1.0}}};
    LinearSystem system(2, forms);
    const GuardWatch watch{1, 0, 0.0};
    EventLocator locator;
    LocatedEvent event;
    RC_ASSERT(locator.earliest(system, step, {&watch, 1}, event, guards_of(forms)));
    const double rounding = 4.0 * eps * size;  // of r in the data, and of three sums for each variable
    RC_ASSERT(std::abs(event.t_before - r) <= rounding);
    RC_ASSERT(std::abs(event.t_after - r) <= rounding);
    RC_ASSERT(guards_at(system, step, event.t_before)[0] >= 0.0);
    RC_ASSERT(guards_at(system, step, event.t_after)[0] < 0.0);
  });
}

/// All events of guard 0 over the step, as a controller finds them; the guard is given as a linear one or not.
std::vector<double> all_events(LinearSystem& system, DensePolynomial step, signed char side, bool linear, bool& strict) {
  std::vector<double> found;
  GuardWatch watch{side, 0, 0.0};
  EventLocator locator;
  LocatedEvent event;
  const std::span<const LinearGuard> forms = linear ? std::span<const LinearGuard>(system.linear()) : std::span<const LinearGuard>{};
  while (locator.earliest(system, step, {&watch, 1}, event, forms) && found.size() < 100) {
    strict = strict && watch.side * guards_at(system, step, event.t_after)[0] < 0.0 && !event.at_start &&
             watch.side * guards_at(system, step, event.t_before)[0] > 0.0;
    found.push_back(event.t_after);
    DensePolynomial rest;
    step.tail(event.t_after, rest);
    step = rest;
    watch = {static_cast<signed char>(-watch.side), 1, 0.0};
  }
  return found;
}

TEST(LinearGuards, AllRootsAreFoundOneAfterTheOther) {
  check_property(3000, [] {
    std::vector<double> roots(static_cast<std::size_t>(number_in(1, 5)));
    for (double& r : roots) r = real_in(0.01, 0.99);
    std::sort(roots.begin(), roots.end());
    for (std::size_t i = 1; i < roots.size(); ++i) RC_PRE(roots[i] - roots[i - 1] > 0.02);
    std::vector<double> c{std::pow(10.0, real_in(-5.0, 5.0)) * (number_in(0, 2) == 0 ? 1.0 : -1.0)};
    for (const double r : roots) c = times(c, {r, -1.0});
    const double h = number_in(0, 2) == 0 ? 0.5 : -0.5, t0 = real_in(-10.0, 10.0);
    const DensePolynomial step = step_of(t0, h, c);
    LinearSystem system(1, one_for_each(1));
    const auto side = static_cast<signed char>(c[0] > 0.0 ? 1 : -1);
    bool strict = true;
    const std::vector<double> linear = all_events(system, step, side, true, strict), sampled = all_events(system, step, side, false, strict);
    RC_ASSERT(strict);
    RC_ASSERT(linear.size() == roots.size());
    RC_ASSERT(sampled.size() == roots.size());
    double magnitude = 0.0;
    for (const double term : c) magnitude += std::abs(term);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      double slope = c[0];
      for (std::size_t j = 0; j < roots.size(); ++j)
        if (j != i) slope *= roots[j] - roots[i];
      // The coefficients of the rests are rounded once for each event and each of up to five powers; two units of t for the bracket.
      const double error = std::abs(h) * 5.0 * static_cast<double>(i + 1) * 2.0 * eps * magnitude / std::abs(slope) + 2.0 * 11.0 * eps;
      RC_ASSERT(std::abs(linear[i] - (t0 + h * roots[i])) <= error);
      RC_ASSERT(std::abs(sampled[i] - (t0 + h * roots[i])) <= error);
    }
  });
}

TEST(LinearGuards, ATouchBeforeTheCrossingIsSeen) {
  // (s - 0.3)^2 + e, times 0.9 - s: a pair, a touch or nothing before 0.9. Rounding of e counts with eps.
  for (const double e : {1e-3, 1e-13, 0.0, -1e-13, -1e-3}) {
    LinearSystem system(1, one_for_each(1));
    const DensePolynomial step = step_of(0.0, 1.0, times({0.09 + e, -0.6, 1.0}, {0.9, -1.0}));
    const GuardWatch watch{1, 0, 0.0};
    EventLocator locator;
    LocatedEvent event;
    ASSERT_TRUE(locator.earliest(system, step, {&watch, 1}, event, system.linear()));
    EXPECT_NEAR(event.t_after, e < 0.0 ? 0.3 - std::sqrt(-e) : 0.9, e < 0.0 ? 4.0 * eps / std::sqrt(-e) : 16.0 * eps) << e;
    EXPECT_EQ(locator.touches().size(), e == 0.0 ? 1u : 0u) << e;
  }
}

TEST(LinearGuards, AResidualAtAKnownZeroMovesTheOtherZero) {
  for (const double residual : {0.0, 1e-16, -1e-16, 1e-9, -1e-9, 1e-4, -1e-4}) {
    // u = residual + s (0.5 - s) has its second zero where s = 1/4 + sqrt(1/16 + residual)
    LinearSystem system(1, one_for_each(1));
    const GuardWatch watch{1, 1, 0.0};
    EventLocator locator;
    LocatedEvent event;
    ASSERT_TRUE(locator.earliest(system, step_of(0.0, 1.0, {residual, 0.5, -1.0}), {&watch, 1}, event, system.linear()));
    EXPECT_NEAR(event.t_after, 0.25 + std::sqrt(0.0625 + residual), 4.0 * eps) << residual;
    EXPECT_FALSE(event.at_start);
    if (std::abs(residual) < 1e-8) {  // the square of the shift is below rounding
      EXPECT_LE(system.calls, 3) << residual;
    }
  }
}

TEST(LinearGuards, TheUsualCrossingTakesTwoEvaluations) {
  // Falling all the way, or rising first: two numbers beside each other, and now and then one more where rounding hides the zero between them.
  long events = 0, evaluations = 0;
  check_property(1000, [&] {
    const double r = real_in(0.1, 0.9), other = -real_in(0.05, 4.0), t0 = real_in(0.0, 100.0);
    LinearSystem system(1, one_for_each(1));
    const GuardWatch watch{1, 0, 0.0};
    EventLocator locator;
    LocatedEvent event;
    RC_ASSERT(locator.earliest(system, step_of(t0, 0.1, times({r, -1.0}, {-other, 1.0})), {&watch, 1}, event, system.linear()));
    RC_ASSERT(std::abs(event.t_after - (t0 + 0.1 * r)) <= 3.0 * eps * 100.0);
    ++events;
    evaluations += system.calls;
    RC_ASSERT(system.calls == locator.statistics().evaluations);
  });
  EXPECT_LE(static_cast<double>(evaluations), 2.2 * static_cast<double>(events));
}

// --- several at once

TEST(LinearGuards, ThoseAFewUnitsApartFireTogether) {
  check_property(1000, [] {
    const int n = static_cast<int>(number_in(2, 6));
    const double t0 = std::pow(10.0, real_in(0.0, 7.0)), place = t0 + real_in(0.1, 0.9), unit = std::nextafter(t0 + 1.0, 1e9) - (t0 + 1.0);
    std::vector<LinearForm> forms;
    std::vector<GuardWatch> watch;
    for (int k = 0; k < n; ++k) {  // scale (place + a unit or none - t)
      const double scale = real_in(0.5, 2.0) * (number_in(0, 2) == 0 ? 1.0 : -1.0);
      forms.push_back({.guard = k, .constant = scale * (place + unit * static_cast<double>(number_in(0, 2))), .time = -scale});
      watch.push_back({static_cast<signed char>(scale > 0.0 ? 1 : -1), 0, 0.0});
    }
    forms.push_back({.guard = n, .constant = 0.05 + place, .time = -1.0});  // later
    watch.push_back({1, 0, 0.0});
    LinearSystem system(1, forms);
    const DensePolynomial step = time_step(t0, t0 + 1.0);
    EventLocator locator;
    LocatedEvent event;
    RC_ASSERT(locator.earliest(system, step, watch, event, guards_of(forms)));
    RC_ASSERT(static_cast<int>(event.guards.size()) == n);
    RC_ASSERT(std::is_sorted(event.guards.begin(), event.guards.end()));
    const std::vector<double> before = guards_at(system, step, event.t_before), after = guards_at(system, step, event.t_after);
    for (std::size_t k = 0; k < event.guards.size(); ++k) {
      RC_ASSERT(event.guards[k] == static_cast<int>(k));
      RC_ASSERT(watch[k].side * before[k] > 0.0);
      RC_ASSERT(watch[k].side * after[k] < 0.0);
    }
  });
}

TEST(LinearGuards, TheEarliestOfManyWins) {
  check_property(1000, [] {
    const int n = static_cast<int>(number_in(1, 8));
    DensePolynomial step{.t0 = real_in(-5.0, 5.0), .h = number_in(0, 2) == 0 ? 1.0 : -1.0, .degree = 3, .variables = n, .c = {}};
    step.c.resize(static_cast<std::size_t>(4 * n));
    double first = 2.0;
    int winner = 0;
    for (int j = 0; j < n; ++j) {
      const double r = real_in(0.01, 1.5), bend = real_in(0.0, 3.0);
      RC_PRE(std::abs(r - first) > 1e-6 && std::abs(r - 1.0) > 1e-6);
      const std::vector<double> c = times({r, -1.0}, {1.0, bend, 0.0});  // rises first if bend is large
      for (std::size_t d = 0; d < 4; ++d) step.c[d * static_cast<std::size_t>(n) + static_cast<std::size_t>(j)] = c[d];
      if (r < first) {
        first = r;
        winner = j;
      }
    }
    LinearSystem system(n, one_for_each(n));
    const std::vector<GuardWatch> watch(static_cast<std::size_t>(n), GuardWatch{1, 0, 0.0});
    EventLocator locator;
    LocatedEvent event;
    RC_ASSERT(locator.earliest(system, step, watch, event, system.linear()) == (first < 1.0));
    if (first >= 1.0) return;
    RC_ASSERT(event.guards == std::vector<int>{winner});
    RC_ASSERT(std::abs(event.t_after - (step.t0 + step.h * first)) <= 8.0 * 6.0 * eps);
  });
}

// --- no values

TEST(LinearGuards, ValuesThatAreNotFiniteAreReported) {
  LinearSystem system(1, one_for_each(1));
  EventLocator locator;
  LocatedEvent event;
  const GuardWatch watch{1, 0, 0.0};
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const double bad : {inf, -inf, std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::vector<double>& c : {std::vector{bad, 0.0}, std::vector{bad, -1.0}, std::vector{1.0, bad}}) {
      EXPECT_FALSE(locator.earliest(system, step_of(2.0, 1.0, c), {&watch, 1}, event, system.linear()));
      EXPECT_TRUE(locator.not_finite());
      EXPECT_EQ(locator.finite_until(), 2.0);
    }
  }
}

// A short flight in a step of high degree: the guard leaves a known zero, and comes back, by some hundred times its noise.
TEST(LinearGuards, LowFlightsAreSeenInStepsOfHighDegree) {
  for (const int degree : {2, 5, 9, 15})
    for (const double height : {30.0, 100.0, 1000.0, 1e5}) {  // in units of the noise
      const double noise = 6.8e-16, wall = 0.19, fall = 4.0 * height * noise;
      // x = wall - fall s (0.7 - s), and what rounding leaves in the other coefficients
      DensePolynomial step{.t0 = 4.38, .h = 1e-6, .degree = degree, .variables = 1, .c = {wall, -0.7 * fall, fall}};
      for (int d = 3; d <= degree; ++d) step.c.push_back((d % 2 == 0 ? 1.0 : -1.0) * 1e-3 * noise);
      const std::vector<LinearForm> forms = {{.guard = 0, .constant = -wall, .variables = {0}, .coefficients = {1.0}}};
      LinearSystem system(1, forms);
      const std::vector<GuardWatch> watch = {{.side = -1, .known_root = 1, .noise = noise}};
      EventLocator locator;
      LocatedEvent event;
      ASSERT_TRUE(locator.earliest(system, step, watch, event, guards_of(forms))) << degree << " " << height;
      // known to the noise over the slope, which is 0.7 fall there
      EXPECT_NEAR((event.t_after - step.t0) / step.h, 0.7, 4.0 * noise / (0.7 * fall) + 4.0 * eps * 4.38 / step.h) << degree << " " << height;
      ASSERT_TRUE(locator.earliest(system, step, watch, event)) << degree << " " << height;  // sampled
    }
}

}  // namespace
}  // namespace saltus
