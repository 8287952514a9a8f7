model Evaporator "A vessel with an overflow pipe (Mehrmann and Wunderlich, example 1)"
  parameter Real Rb = 1, Rp = 0.5 "resistances of outlet and overflow";
  parameter Real I = 0.5, C = 15 "inertia of the overflow, capacity of the vessel";
  parameter Real inflow = 0.25;
  parameter Real L_th = 0.08 "level of the overflow";
  Real p(start = 0.5, fixed = true) "momentum in the overflow pipe";
  Real L(start = 0.079, fixed = true) "level";
  Boolean overflow = L > L_th;
equation
  I*der(p) = -Rp*p + (if overflow then L else 0);
  C*der(L) = -L/Rb - (if overflow then p else 0) + inflow;
  annotation(experiment(StopTime = 5, Tolerance = 1e-10));
end Evaporator;
