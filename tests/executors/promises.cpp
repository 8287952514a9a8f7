#include "executors/promises.hpp"

#include <cmath>
#include <numbers>

namespace saltus::executors {

using std::numbers::pi;

namespace {

std::vector<Promise> smooth_steps_and_crossings() {
  return {
      {.number = 1,
       .name = "ADiscontinuityCostsNoAccuracy",
       .text = "Real x(start = 0, fixed = true); equation der(x) = if x > 0.5 then 2*p else p;",
       .low = 0.3,
       .high = 0.8,
       .stop = 3.0,
       .exact =
           [](double p) {
             return Values{{"x", 0.5 + 2.0 * p * (3.0 - 0.5 / p)}};
           }},
      {.number = 1,
       .name = "NothingIsEvaluatedBeyondASurface",
       .text = "Real h(start = 1, fixed = true); discrete Real te(start = 0, fixed = true); equation "
               "der(h) = if h > 1e-4 then -p*sqrt(h) else 0; when h <= 1e-4 then te = time; end when;",
       .low = 0.8,
       .high = 1.6,
       .stop = 4.0,
       .exact =
           [](double p) {
             return Values{{"h", 1e-4}, {"te", 2.0 * (1.0 - 1e-2) / p}};
           },
       .refused_by = {Executor::flight}},
      {.number = 2,
       .name = "AllCrossingsOfALongStepAreFound",
       .text = "Real x(start = 0.05, fixed = true); discrete Real n(start = 0, fixed = true); equation der(x) = p; "
               "when sin(10*x) > 0 then n = pre(n) + 1; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 9.7,
       .exact =
           [](double p) {
             return Values{{"n", std::floor(10.0 * (0.05 + 9.7 * p) / (2.0 * pi))}};
           }},
      {.number = 2,
       .name = "ANarrowPulseIsFound",
       .text = "Real x(start = 0, fixed = true); discrete Real n(start = 0, fixed = true); equation der(x) = p; "
               "when exp(-4e4*(x - 1.3)^2) > 0.5 then n = pre(n) + 1; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 5.0,
       .exact =
           [](double p) {
             return Values{{"x", 5.0 * p}, {"n", 1.0}};
           },
       .unproved_by = {Executor::exchange}},
      {.number = 2,
       .name = "GuardsThatCrossTogetherFireTogether",
       .text =
           "Real x(start = 0, fixed = true); discrete Real n(start = 0, fixed = true), k(start = 0, fixed = true), "
           "a(start = 0, fixed = true); equation der(x) = p; when x > 1 then n = pre(n) + 1; end when; "
           "when 2 - 2*x < 0 then k = pre(k) + 1; end when; when {x > 1, 2 - 2*x < 0} then a = pre(a) + 1; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 3.0,
       .exact =
           [](double) {
             return Values{{"n", 1.0}, {"k", 1.0}, {"a", 1.0}};
           }},
      {.number = 3,
       .name = "ValuesOfGuardsAreAccurate",
       .text =
           "Real x(start = 0, fixed = true); discrete Real te(start = 0, fixed = true); equation der(x) = p*(2 - x); "
           "when exp(x) > 3 then te = time; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 3.0,
       .exact =
           [](double p) {
             return Values{{"te", -std::log(1.0 - 0.5 * std::log(3.0)) / p}};
           }},
  };
}

std::vector<Promise> zeros_and_points() {
  return {
      {.number = 4,
       .name = "ACrossingFiresOnce",
       .text =
           "Real x(start = 1, fixed = true), v(start = 0, fixed = true); discrete Real n(start = 0, fixed = true), "
           "k(start = 0, fixed = true); equation der(x) = v; der(v) = -p*p*x; when x > 0.3 then n = pre(n) + 1; end "
           "when; when x < 0.3 then k = pre(k) + 1; end when;",
       .low = 0.7,
       .high = 2.2,
       .stop = 20.0,
       .exact =
           [](double p) {
             const double phase = std::acos(0.3);
             double falls = 0.0, rises = 0.0;
             for (int k = 0; k < 20; ++k) {
               falls += (phase + 2.0 * pi * k) / p <= 20.0;
               rises += (2.0 * pi - phase + 2.0 * pi * k) / p <= 20.0;
             }
             return Values{{"n", rises}, {"k", falls}};
           }},
      {.number = 4,
       .name = "AStartOnASurfaceFollowsTheSolution",
       .text = "Real x(start = 0, fixed = true), v(start = p, fixed = true); equation der(x) = v; "
               "der(v) = if x > 0 then 0 else 100;",
       .low = 0.7,
       .high = 1.2,
       .stop = 2.0,
       .exact =
           [](double p) {
             return Values{{"x", 2.0 * p}, {"v", p}};
           },
       .refused_by = {Executor::flight}},
      {.number = 4,
       .name = "AStartWithoutSpeedIsDecidedByTheAcceleration",
       .text =
           "Real x(start = 0, fixed = true), v(start = 0, fixed = true); discrete Real te(start = 0, fixed = true), "
           "n(start = 0, fixed = true); equation der(x) = v; der(v) = -2; "
           "when x < -p then te = time; end when; when x > 0 then n = 100; end when;",
       .low = 0.2,
       .high = 0.8,
       .stop = 1.0,
       .exact =
           [](double p) {
             return Values{{"te", std::sqrt(p)}, {"n", 0.0}};
           }},
      {.number = 5,
       .name = "ATouchIsNoCrossing",
       .text = "Real x(start = -1, fixed = true); discrete Real n(start = 0, fixed = true); equation der(x) = p; "
               "when x*x < 0 then n = pre(n) + 1; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 3.0,
       .exact =
           [](double p) {
             return Values{{"x", 3.0 * p - 1.0}, {"n", 0.0}};
           },
       .refused_by = {Executor::flight}},
      {.number = 6,
       .name = "TheStateAtAnEventLiesOnItsGuard",
       .text = "Real x(start = 0, fixed = true); discrete Real xe(start = 0, fixed = true); equation der(x) = p + x; "
               "when x^2 > 2 then xe = x; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 2.0,
       .exact =
           [](double) {
             return Values{{"xe", std::sqrt(2.0)}};
           },
       .tolerance = 1e-9},
  };
}

std::vector<Promise> rounds_and_jumps() {
  return {
      {.number = 7,
       .name = "AResetThatCausesAnotherEventIsOneInstant",
       .text = "Real x(start = 0, fixed = true), y(start = 0, fixed = true); discrete Real n(start = 0, fixed = true); "
               "equation der(x) = 1; der(y) = 0; when x > p then reinit(y, 2); end when; "
               "when y > 1 then reinit(x, -1); n = pre(n) + 1; end when;",
       .low = 0.3,
       .high = 0.8,
       .stop = 1.0,
       .exact =
           [](double p) {
             return Values{{"x", -p}, {"y", 2.0}, {"n", 1.0}};
           },
       .refused_by = {Executor::flight, Executor::lanes, Executor::device}},
      {.number = 7,
       .name = "ClausesOfARoundSeeTheValuesBeforeIt",
       .text =
           "Real x(start = 0, fixed = true); discrete Real a(start = 1, fixed = true), b(start = 2, fixed = true); "
           "equation der(x) = 1; when x > p then a = pre(b) + 1; end when; when x > p then b = pre(a) + 10; end when;",
       .low = 0.3,
       .high = 0.8,
       .stop = 1.0,
       .exact =
           [](double) {
             return Values{{"a", 3.0}, {"b", 11.0}};
           }},
      {.number = 7,
       .name = "AnEndlessCascadeEndsTheRun",
       .text =
           "Real x(start = 0, fixed = true), y(start = 0, fixed = true); equation der(x) = 1; der(y) = 0; "
           "when x > p then reinit(x, 0); reinit(y, 1); end when; when y > 0.5 then reinit(y, 0); reinit(x, 1); end "
           "when;",
       .low = 0.3,
       .high = 0.8,
       .stop = 1.0,
       .exact = [](double) { return Values{}; },
       .status = StatusCode::too_many_mode_changes,
       .refused_by = {Executor::flight, Executor::lanes, Executor::device, Executor::exchange}},
      {.number = 8,
       .name = "AResetIsObeyed",
       .text = "Real x(start = p, fixed = true), v(start = 0, fixed = true); discrete Real n(start = 0, fixed = true); "
               "equation der(x) = v; der(v) = -x; when x < 0 then reinit(v, -0.5*pre(v)); n = pre(n) + 1; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 3.0 * pi,
       .exact =
           [](double p) {
             return Values{{"x", p / 8.0}, {"v", 0.0}, {"n", 3.0}};
           }},
      {.number = 8,
       .name = "AResetIsMadeConsistent",
       .text = "Real x(start = 0, fixed = true), z(start = 0.1); equation der(x) = 1; z + z^3 = x; "
               "when x > 1 then reinit(x, -p); end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 2.0,
       .exact =
           [](double p) {
             const double x = 1.0 - p;
             double z = x;
             for (int k = 0; k < 50; ++k) z -= (z + z * z * z - x) / (1.0 + 3.0 * z * z);
             return Values{{"x", x}, {"z", z}};
           },
       .refused_by = {Executor::flight, Executor::parts, Executor::cells}},
      {.number = 8,
       .name = "AnImpulseConservesMomentum",
       .text =
           "Real w(start = 3, fixed = true), u(start = 1, fixed = true), f(start = 0); discrete Boolean locked(start "
           "= false, fixed = true); equation der(w) = -f; p*der(u) = f; 0 = if locked then w - u else f; "
           "when time >= 0.5 then locked = true; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 1.0,
       .exact =
           [](double p) {
             const double together = (3.0 + p) / (1.0 + p);
             return Values{{"w", together}, {"u", together}};
           },
       .refused_by = {Executor::flight, Executor::lanes, Executor::device, Executor::parts, Executor::cells,
                      Executor::exchange}},
  };
}

std::vector<Promise> surfaces_and_time() {
  return {
      {.number = 9,
       .name = "WhereBothSidesPushTheSolutionSlides",
       .text = "Real v(start = 0.1, fixed = true); discrete Real n(start = 0, fixed = true); equation "
               "der(v) = 2*p*sin(time) - (if v > 0 then 1 else -1); when v > 0.2 then n = pre(n) + 1; end when;",
       .low = 0.8,
       .high = 1.2,
       .stop = 1.2,
       .exact =
           [](double p) {
             const double leaves = std::asin(0.5 / p);
             return Values{{"v", 2.0 * p * (std::cos(leaves) - std::cos(1.2)) - (1.2 - leaves)}};
           }},
      {.number = 9,
       .name = "ASlideDoesNotEnd",
       .text = "Real x(start = p, fixed = true); equation der(x) = 0.5 - (if x > 0 then 1 else -1);",
       .low = 0.3,
       .high = 0.8,
       .stop = 3.0,
       .exact =
           [](double) {
             return Values{{"x", 0.0}};
           },
       .tolerance = 1e-12},
      {.number = 10,
       .name = "FastSwitchingIsFollowed",
       .text = "Real x(start = 0, fixed = true); discrete Real d(start = 1, fixed = true), n(start = 0, fixed = true); "
               "equation der(x) = d; when x > p then d = -1; n = pre(n) + 1; elsewhen x < -p then d = 1; end when;",
       .low = 0.031,
       .high = 0.033,
       .stop = 1.0,
       .exact =
           [](double p) {
             return Values{{"n", std::floor((1.0 - p) / (4.0 * p)) + 1.0}};
           },
       .refused_by = {Executor::cells}},
      {.number = 11,
       .name = "ResetsThatAccumulateEndInContact",
       .text = "Real h(start = 1, fixed = true), v(start = 0, fixed = true); equation der(h) = v; der(v) = -2*p; "
               "when h < 0 then reinit(v, -0.5*pre(v)); end when;",
       .low = 0.8,
       .high = 1.2,
       .stop = 4.0,
       .exact =
           [](double) {
             return Values{{"h", 0.0}, {"v", 0.0}};
           },
       .refused_by = {Executor::lanes, Executor::device},
       .known_issue = {Executor::cells}},
      {.number = 12,
       .name = "SamplesAreExact",
       .text = "Real x(start = 0, fixed = true); discrete Real n(start = 0, fixed = true), s(start = 0, fixed = true); "
               "equation der(x) = p; when sample(0, 0.1) then n = pre(n) + 1; s = x; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 5.05,
       .exact =
           [](double p) {
             return Values{{"n", 51.0}, {"s", 5.0 * p}, {"x", 5.05 * p}};
           },
       .refused_by = {Executor::cells}},
      {.number = 12,
       .name = "ATimeEventSetsTheNextOne",
       .text = "Real x(start = 0, fixed = true); discrete Real n(start = 0, fixed = true), next(start = 0.25, fixed = "
               "true); equation der(x) = n; when time >= pre(next) then n = pre(n) + 1; next = pre(next) + 0.5*p; end "
               "when;",
       .low = 0.7,
       .high = 1.2,
       .stop = 2.0,
       .exact =
           [](double p) {
             double x = 0.0, n = 0.0, t = 0.25;
             for (; t <= 2.0; t += 0.5 * p) {
               x += 2.0 - t;
               n += 1.0;
             }
             return Values{{"x", x}, {"n", n}};
           }},
      {.number = 13,
       .name = "TimeRunsBackwards",
       .text = "Real x(start = 1, fixed = true); discrete Real n(start = 0, fixed = true); equation "
               "der(x) = if x > 0.5 then 2*p else p; when x < 0.5 then n = pre(n) + 1; end when;",
       .low = 0.7,
       .high = 1.2,
       .stop = -1.0,
       .exact =
           [](double p) {
             return Values{{"x", 0.5 - p * (1.0 - 0.25 / p)}, {"n", 1.0}};
           },
       .refused_by = {Executor::flight, Executor::lanes, Executor::device, Executor::parts, Executor::exchange}},
  };
}

}  // namespace

std::vector<Promise> promises() {
  std::vector<Promise> all;
  for (const auto make : {smooth_steps_and_crossings, zeros_and_points, rounds_and_jumps, surfaces_and_time})
    for (Promise& promise : make()) all.push_back(std::move(promise));
  return all;
}

}  // namespace saltus::executors
