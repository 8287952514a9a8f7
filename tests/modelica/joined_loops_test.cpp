// Loops whose passes share variables and events, against the same models written out.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "kept_helpers.hpp"

namespace saltus {
namespace {

TEST(JoinedLoops, PassesThatOnlyFollowBesideEvents) {
  const std::string text = R"(
model Follow
  parameter Integer n = 220;
  Real x[n](each start = 1, each fixed = true), y[n];
  Boolean on[n];
equation
  for i in 1:n loop
    der(x[i]) = (if on[i] then 1 else 0) - 0.1*i*x[i];
    when x[i] < 0.5 then on[i] = true; elsewhen x[i] > 1 then on[i] = false; end when;
  end for;
  for i in 1:n-1 loop
    y[i] = x[i] - x[i+1];
  end for;
  y[n] = x[n];
end Follow;
)";
  compare(text, until(1.0), true, 1e-5);
}

TEST(JoinedLoops, PassesThatShareVariables) {
  // fluxes between cells, what follows from them, and what follows from that
  compare(R"(
model Fluxes
  parameter Integer n = 220;
  parameter Real G = 10, c[n] = {1 + 0.01*i for i in 1:n};
  Real T[n](start = {sin(0.1*i) for i in 1:n}, each fixed = true), q[n + 1], y[n], z[n], a[n];
equation
  q[1] = G*(sin(time) - T[1]);
  for i in 2:n loop
    q[i] = G*(T[i-1] - T[i]);
  end for;
  q[n + 1] = G*T[n];
  for i in 1:n loop
    c[i]*der(T[i]) = q[i] - q[i + 1];
    y[i] = q[i]*q[i + 1];
    a[i] = der(T[i]);
  end for;
  for i in 1:n loop
    z[i] = y[i] + T[i];
  end for;
end Fluxes;
)",
          until(1.0), true, 1e-11);
  // algebraic loops of two passes
  compare(R"(
model Pairs
  parameter Integer n = 220;
  Real x[n](start = {cos(0.1*i) for i in 1:n}, each fixed = true), u[n], v[n];
equation
  for i in 1:n loop
    u[i] + 0.5*v[i] = x[i];
    der(x[i]) = -u[i] + 0.1*v[if i == n then 1 else i + 1];
  end for;
  for i in 1:n loop
    v[i] - 0.25*u[i] = 1;
  end for;
end Pairs;
)",
          until(1.0), true, 1e-11);
  // a heater beside its room: events in one loop, states in another
  compare(R"(
model Heaters
  parameter Integer n = 220;
  Real T[n](start = {19.2 + 1.6*abs(sin(3.7*i)) for i in 1:n}, each fixed = true), Q[n], S[n], P[n];
  Boolean on[n](each start = false, each fixed = true);
equation
  for i in 1:n loop
    S[i] = T[i];
    when S[i] < 19 then
      on[i] = true;
    elsewhen S[i] > 21 then
      on[i] = false;
    end when;
    Q[i] = if on[i] then 3 else 0;
    P[i] = 2*Q[i];
  end for;
  for i in 1:n loop
    der(T[i]) = Q[i] - 0.1*(T[i] - 12) + 0.2*(T[max(i - 1, 1)] - T[i]);
  end for;
end Heaters;
)",
          until(5.0), true, 1e-4);
  // something outside of loops that decides about several passes
  compare(R"(
model Watch
  parameter Integer n = 210;
  Real x[n](each start = 1, each fixed = true);
  Boolean low(start = false, fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = -x[i];
  end for;
  when x[1] + x[2] < 1.5 then
    low = true;
  end when;
end Watch;
)",
          until(0.5), true, 1e-6);
}

TEST(JoinedLoops, OneCellThatReadsAll) {
  compare(R"(
model Bus
  parameter Integer n = 210;
  parameter Real d[n] = {0.3 + 0.2*abs(sin(3.3*k)) for k in 1:n}, R = 10/n;
  Real i[n](each start = 0, each fixed = true), v(start = 12, fixed = true), total;
  Boolean on[n](each start = false, each fixed = true);
equation
  for k in 1:n loop
    der(i[k]) = if on[k] then 24 - v else -v*i[k];
    when i[k] < 0.5*d[k] then
      on[k] = true;
    elsewhen i[k] > d[k] then
      on[k] = false;
    end when;
  end for;
  total = sum(i);
  n*der(v) = total - v/R;
end Bus;
)",
          until(0.5), true, 1e-5);
}

TEST(JoinedLoops, AThermostatFarFromItsHeater) {
  const std::string text = R"(
model Heat
  parameter Integer n = 200;
  Real T[n](start = {0.9*(1 - 0.3*(i - 0.5)/n) for i in 1:n}, each fixed = true);
  Boolean on(start = true, fixed = true);
equation
  der(T[1]) = ((if on then 4 else 0) - (T[1] - T[2])*n)*n/(1 + 0.4*T[1]);
  for i in 2:n - 1 loop
    der(T[i]) = ((T[i - 1] - T[i])*n - (T[i] - T[i + 1])*n)*n/(1 + 0.4*T[i]);
  end for;
  der(T[n]) = ((T[n - 1] - T[n])*n - T[n])*n/(1 + 0.4*T[n]);
  when T[div(n, 4)] > 1.05 then
    on = false;
  elsewhen T[div(n, 4)] < 0.95 then
    on = true;
  end when;
end Heat;
)";
  for (const Method method : {Method::automatic, Method::rodas5p, Method::radau, Method::bdf})
    compare(text, until(0.3, method), true, 1e-6);
}

TEST(JoinedLoops, AssertionsOfPasses) {
  for (const char* limit : {"-5", "0.93"})
    compare(R"(
model Watched
  parameter Integer n = 220;
  Real x[n](each start = 1, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = -0.001*i*x[i] + (if x[i] > 0.95 then -0.01 else 0);
    assert(x[i] > )" +
                std::string(limit) +
                R"(, "x is low");
  end for;
end Watched;
)",
            until(1.0), true, 1e-6);
}

TEST(JoinedLoops, WrittenOutWhereANumberOfOnePassVanishes) {
  compare(R"(
model Rod
  parameter Integer n = 220;
  parameter Real c[n] = {if i == 7 then 0 else 1 for i in 1:n};
  Real x[n](start = {0.1*i for i in 1:n});
equation
  c[1]*der(x[1]) = x[2] - x[1];
  for i in 2:n-1 loop
    c[i]*der(x[i]) = x[i-1] - 2*x[i] + x[i+1];
  end for;
  c[n]*der(x[n]) = x[n-1] - x[n];
end Rod;
)",
          until(0.5), false);
}

// A Boolean that an equation defines is read in passes of another loop, whose elements are defined in other ways.
TEST(JoinedLoops, BooleansOfOtherLoopsAreDefinedByTheirOwnElements) {
  const auto with = [](const std::string& equations) {
    return R"(
model Switched
  parameter Integer n = 200;
  Real x[n](each start = 0, each fixed = true);
  Boolean b[n];
  Integer count[n](each start = 0, each fixed = true);
equation
  for i in 1:n loop
    when change(b[i]) then
      count[i] = pre(count[i]) + 1;
    end when;
  end for;
  for i in 1:n loop
    der(x[i]) = if b[i] then 1 else 0.1;
  end for;
)" + equations +
           "end Switched;";
  };
  const std::string by_index = with(R"(
  for i in 1:n loop
    if i < 100 then
      b[i] = x[i] < 0.3;
    else
      b[i] = x[i] < 0.6;
    end if;
  end for;
)");
  compare(by_index, until(1.0), true, 1e-6);
  const Trajectory run = simulate(compile(load_text(by_index).model), until(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  // linear between events at 0.3 and 0.6: errors are those of rounding
  EXPECT_NEAR(run.at(1.0, "x[99]"), 0.3 + 0.1 * 0.7, 1e-12);
  EXPECT_NEAR(run.at(1.0, "x[100]"), 0.6 + 0.1 * 0.4, 1e-12);
  compare(with("for i in 1:n loop b[i] = x[i] < 0.1 + i/1000; end for;"), until(1.0), true, 1e-6);
  compare(with("for i in 1:n loop b[i] = x[n + 1 - i] < 0.1 + i/1000; end for;"), until(1.0), true, 1e-6);
}

// A thermostat without hysteresis holds the temperature: the heater is on for a part of the time.
TEST(JoinedLoops, RelaysThatAreComponentsOfTheirOwnSlide) {
  const std::string text = R"(
model Room
  parameter Real k = 0.1;
  Real T(start = 18, fixed = true);
  input Boolean on;
  output Real y;
equation
  der(T) = (if on then 5 else 0) - k*(T - 10);
  y = T;
end Room;
model Thermostat
  parameter Real set = 20;
  input Real T;
  output Boolean on;
equation
  on = T < set;
end Thermostat;
model Rooms
  parameter Integer n = 100;
  Room r[n](k = {0.1 + 0.001*i for i in 1:n});
  Thermostat h[n];
equation
  for i in 1:n loop
    connect(r[i].y, h[i].T);
    connect(h[i].on, r[i].on);
  end for;
end Rooms;
)";
  const auto system = compile(load_text(text).model);
  EXPECT_FALSE(is_written_out(*system));
  const Trajectory run = simulate(system, until(1.0));
  ASSERT_TRUE(run.status().ok()) << run.status().message;
  ASSERT_EQ(run.events().size(), 100u);
  for (int i = 1; i <= 100; ++i) {
    SCOPED_TRACE(i);
    const double k = 0.1 + 0.001 * i, limit = 10.0 + 5.0 / k;  // T goes from 18 towards the limit, and is held at 20
    const Event& event = run.events()[static_cast<std::size_t>(i - 1)];
    EXPECT_EQ(event.kind, EventKind::slide_enter);
    EXPECT_NEAR(event.t, std::log((limit - 18.0) / (limit - 20.0)) / k, 1e-6);  // tolerance 1e-6, slope 4
    EXPECT_NEAR(run.at(1.0, "r[" + std::to_string(i) + "].T"), 20.0, 1e-6);
  }
}

}  // namespace
}  // namespace saltus
