// Models of any size as Modelica text, few equations repeated: what grows with the number of copies?
#pragma once

#include <string>

namespace saltus::bench {

struct LargeModel {
  const char* name;
  const char* text;  ///< the size is the parameter n
  bool square;       ///< n is the side of a plate: the size is its square
  bool slides;       ///< events of all copies together cost their square, so far: sizes up to 1000
  double stop;
};

inline constexpr LargeModel large_models[] = {
    {"rod", R"(
model Rod "heat in a rod, cold at both ends"
  parameter Integer n = 10;
  parameter Real c = (n + 1.0)^2;
  Real T[n](start = {sin(3.141592653589793*i/(n + 1)) for i in 1:n}, each fixed = true);
equation
  der(T[1]) = c*(T[2] - 2*T[1]);
  for i in 2:n-1 loop
    der(T[i]) = c*(T[i-1] - 2*T[i] + T[i+1]);
  end for;
  der(T[n]) = c*(T[n-1] - 2*T[n]);
end Rod;
)",
     false, false, 0.1},
    {"plate, thermostats", R"(
model Plate "cells with a heater each, and a thermostat with hysteresis"
  parameter Integer n = 3;
  Real T[n, n](start = {{19.2 + 1.6*abs(sin(3.7*i + 9.1*j)) for j in 1:n} for i in 1:n}, each fixed = true);
  Boolean on[n, n](each start = false, each fixed = true);
equation
  for i in 1:n loop
    for j in 1:n loop
      der(T[i, j]) = T[max(i - 1, 1), j] + T[min(i + 1, n), j] + T[i, max(j - 1, 1)] + T[i, min(j + 1, n)]
        - 4*T[i, j] - 0.1*(T[i, j] - 12) + (if on[i, j] then 2 else 0);
      when T[i, j] < 19 then
        on[i, j] = true;
      elsewhen T[i, j] > 21 then
        on[i, j] = false;
      end when;
    end for;
  end for;
end Plate;
)",
     true, false, 1.0},
    {"ladder, equations", R"(
model Ladder "coils in a line, capacitors to ground"
  parameter Integer n = 10;
  Real i[n](each start = 0, each fixed = true), v[n](each start = 0, each fixed = true);
  Real across[n], charging[n];
equation
  for k in 1:n loop
    der(i[k]) = across[k];
    der(v[k]) = charging[k];
    across[k] = (if k == 1 then sin(time) - i[1] else v[max(k - 1, 1)]) - 0.01*i[k] - v[k];
    charging[k] = i[k] - 0.02*v[k] - (if k == n then 0 else i[min(k + 1, n)]);
  end for;
end Ladder;
)",
     false, false, 10.0},
    {"ladder, components", R"(
connector Pin
  Real v;
  flow Real i;
end Pin;
partial model TwoPin
  Pin p, n;
  Real v, i;
equation
  v = p.v - n.v;
  p.i + n.i = 0;
  i = p.i;
end TwoPin;
model Resistor
  extends TwoPin;
  parameter Real R = 50;
equation
  v = R*i;
end Resistor;
model Capacitor
  extends TwoPin;
equation
  der(v) = i;
end Capacitor;
model Coil
  extends TwoPin;
equation
  der(i) = v;
end Coil;
model Source
  extends TwoPin;
equation
  v = sin(time);
end Source;
model Ground
  Pin p;
equation
  p.v = 0;
end Ground;
model Components
  parameter Integer n = 10;
  Coil coil[n](each i(start = 0, fixed = true));
  Capacitor capacitor[n](each v(start = 0, fixed = true));
  Resistor resistor[n];
  Resistor first(R = 1);
  Source source;
  Ground ground;
equation
  connect(source.n, ground.p);
  connect(source.p, first.p);
  connect(first.n, coil[1].p);
  for k in 1:n loop
    connect(coil[k].n, capacitor[k].p);
    connect(capacitor[k].p, resistor[k].p);
    connect(capacitor[k].n, ground.p);
    connect(resistor[k].n, ground.p);
  end for;
  for k in 1:n-1 loop
    connect(coil[k].n, coil[k + 1].p);
  end for;
end Components;
)",
     false, false, 10.0},
    {"friction chain", R"(
model Chain "masses with springs between them on a rough floor, pulled at one end"
  parameter Integer n = 10;
  Real x[n](each start = 0, each fixed = true), v[n](each start = 0, each fixed = true);
equation
  for j in 1:n loop
    der(x[j]) = v[j];
    der(v[j]) = (if j == 1 then 1.2*sin(time) else x[max(j - 1, 1)]) - 2*x[j]
      + (if j == n then x[n] else x[min(j + 1, n)]) - 0.3*sign(v[j]);
  end for;
end Chain;
)",
     false, true, 1.0},
    {"converters on a bus", R"(
model Bus "step-down converters with ideal switches and diodes"
  parameter Integer n = 5;
  parameter Real E = 24, L = 1e-3, C = 1e-4, T = 1e-4;
  Real bus(start = 24, fixed = true);
  Real i[n](each start = 0, each fixed = true), v[n](each start = 0, each fixed = true), u[n], drawn[n];
  Boolean closed[n];
equation
  1e-3*der(bus) = n*(E - bus)/0.05 - sum(drawn);
  for j in 1:n loop
    closed[j] = mod(time + mod(0.618*j, 1.0)*T, T) < (0.3 + 0.4*mod(0.755*j, 1.0))*T;
    u[j] = if closed[j] then bus elseif i[j] > 0 then 0 else v[j];
    drawn[j] = if closed[j] then i[j] else 0;
    L*der(i[j]) = u[j] - v[j];
    C*der(v[j]) = i[j] - v[j]/10;
  end for;
end Bus;
)",
     false, true, 1e-4},
    {"pendula", R"(
model Pendula "side by side, with weak springs between them: index 3"
  parameter Integer n = 3;
  Real x[n](start = {0.5 + 0.3*sin(j) for j in 1:n}, each fixed = true), y[n](each start = -0.8);
  Real vx[n](each start = 0, each fixed = true), vy[n], force[n](each start = 1);
equation
  for j in 1:n loop
    der(x[j]) = vx[j];
    der(y[j]) = vy[j];
    x[j]^2 + y[j]^2 = 1;
    der(vx[j]) = -force[j]*x[j] + 0.5*(x[max(j - 1, 1)] - 2*x[j] + x[min(j + 1, n)]);
    der(vy[j]) = -force[j]*y[j] - 9.81;
  end for;
end Pendula;
)",
     false, false, 1.0},
    {"spiking ring", R"(
model Ring "each resets itself at a threshold and kicks its neighbour"
  parameter Integer n = 10;
  Real v[n](start = {mod(0.618033988749895*j, 1.0) for j in 1:n}, each fixed = true);
  Real s[n](each start = 0, each fixed = true);
equation
  for j in 1:n loop
    der(v[j]) = 1.2 - v[j] + 0.2*s[if j == 1 then n else j - 1];
    der(s[j]) = -10*s[j];
    when v[j] > 1 then
      reinit(v[j], 0);
      reinit(s[j], s[j] + 1);
    end when;
  end for;
end Ring;
)",
     false, false, 1.0},
};

/// The same for models in which many events happen, each in a small part.
inline constexpr LargeModel models_with_local_events[] = {
    {"thermostats", R"(
model Plate "cells with a heater each, and a thermostat with hysteresis"
  parameter Integer n = 3;
  Real T[n, n](start = {{18 + 4*abs(sin(12.9898*i + 78.233*j)) for j in 1:n} for i in 1:n}, each fixed = true);
  Real on[n, n](each start = 0, each fixed = true);
equation
  for i in 1:n loop
    for j in 1:n loop
      der(T[i, j]) = T[max(i - 1, 1), j] + T[min(i + 1, n), j] + T[i, max(j - 1, 1)] + T[i, min(j + 1, n)]
        - 4*T[i, j] - 0.1*(T[i, j] - 10) + 3*on[i, j];
      when T[i, j] > 21 then
        on[i, j] = 0;
      elsewhen T[i, j] < 19 then
        on[i, j] = 1;
      end when;
    end for;
  end for;
end Plate;
)",
     true, false, 0.3},
    {"belt", R"(
model Belt "masses on a moving belt, with springs between them and friction that falls with the speed"
  parameter Integer n = 10;
  Real x[n](start = {0.8*sin(7.31*(i - 1)) for i in 1:n}, each fixed = true);
  Real v[n](start = {0.2*cos(3.7*(i - 1)) for i in 1:n}, each fixed = true);
equation
  for i in 1:n loop
    der(x[i]) = v[i];
    der(v[i]) = 0.2*(x[max(i - 1, 1)] - 2*x[i] + x[min(i + 1, n)]) - x[i] - sign(v[i] - 0.3)/(1 + abs(v[i] - 0.3));
  end for;
end Belt;
)",
     false, false, 0.3},
    {"neurons", R"(
model Ring "each is charged by its neighbour, and discharged where it reaches 1"
  parameter Integer n = 10;
  Real u[n](start = {mod(0.618033988749895*j, 1.0) for j in 1:n}, each fixed = true);
  Real w[n](each start = 0, each fixed = true);
equation
  for j in 1:n loop
    der(u[j]) = 1.2 - u[j] + 0.2*w[if j == 1 then n else j - 1];
    der(w[j]) = -10*w[j];
    when u[j] > 1 then
      reinit(u[j], 0);
      reinit(w[j], w[j] + 1);
    end when;
  end for;
end Ring;
)",
     false, false, 1.0},
    {"rooms, components", R"(
connector Port
  Real T;
  flow Real Q;
end Port;
model Mass
  parameter Real C = 1, T0 = 20;
  Real T(start = T0, fixed = true);
  Port p;
equation
  T = p.T;
  C*der(T) = p.Q;
end Mass;
model Wall
  parameter Real G = 1;
  Port a, b;
  Real Q;
equation
  Q = G*(a.T - b.T);
  a.Q = Q;
  b.Q = -Q;
end Wall;
model Heater
  parameter Real low = 19, high = 21, P = 3;
  Port p;
  Boolean on(start = false, fixed = true);
equation
  when p.T < low then
    on = true;
  elsewhen p.T > high then
    on = false;
  end when;
  p.Q = if on then -P else 0;
end Heater;
model Air
  Port p;
equation
  p.T = 12;
end Air;
model House "rooms in a row, each with a heater and a thermostat"
  parameter Integer n = 10;
  Mass m[n](T0 = {19.2 + 1.6*abs(sin(3.7*i)) for i in 1:n});
  Heater h[n];
  Wall w[n-1], o[n](each G = 0.1);
  Air air;
equation
  for i in 1:n loop
    connect(m[i].p, h[i].p);
    connect(m[i].p, o[i].a);
    connect(o[i].b, air.p);
  end for;
  for i in 1:n-1 loop
    connect(m[i].p, w[i].a);
    connect(m[i+1].p, w[i].b);
  end for;
end House;
)",
     false, false, 3.0},
    {"converters on a bus", R"(
model Bus
  parameter Integer n = 5;
  parameter Real L = 1e-3, C = 0.01, R = 10/n, Vin = 24, f = 1000;
  parameter Real d[n] = {0.1 + 0.1*abs(sin(3.3*k)) for k in 1:n};
  parameter Real p[n] = {abs(sin(7.7*k)) for k in 1:n};
  Real i[n](each start = 0, each fixed = true), v(start = 12, fixed = true);
  Boolean on[n](each start = false, each fixed = true);
  Real next[n](start = p/f, each fixed = true);
equation
  for k in 1:n loop
    der(i[k]) = if on[k] then (Vin - v)/L else if i[k] > 0 then -v/L else 0;
    when time >= pre(next[k]) then
      on[k] = not pre(on[k]);
      next[k] = pre(next[k]) + (if on[k] then d[k]/f else (1 - d[k])/f);
    end when;
  end for;
  C*n*der(v) = sum(i) - v/R;
end Bus;
)",
     false, false, 0.002},
};

}  // namespace saltus::bench
