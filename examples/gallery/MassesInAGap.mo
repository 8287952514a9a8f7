model MassesInAGap "One mass in a hole of another: they hit each other, stick together, part (DISODE45, example 3)"
  parameter Real m1 = 2, m2 = 1 "masses";
  parameter Real r = 0.6, k1 = 30, k2 = 20 "dampers, springs";
  parameter Real a0 = 30, b0 = 35, w = 1.38 "force on the first mass";
  parameter Real d = 1 "width of the gap";
  parameter Real e = 0.7 "coefficient of restitution";
  Real x1(start = 0.2, fixed = true, unit = "m"), x2(start = 0.3, fixed = true, unit = "m") "positions";
  Real v1(start = 0, fixed = true, unit = "m/s"), v2(start = 0, fixed = true, unit = "m/s") "velocities";
equation
  der(x1) = v1;
  der(x2) = v2;
  m1*der(v1) = -r*v1 - k1*x1 + b0 + a0*cos(w*time);
  m2*der(v2) = -r*v2 - k2*x2;
  when x1 - x2 > d/2 then
    reinit(v1, (m1*pre(v1) + m2*pre(v2) - m2*e*(pre(v1) - pre(v2)))/(m1 + m2));
    reinit(v2, (m1*pre(v1) + m2*pre(v2) + m1*e*(pre(v1) - pre(v2)))/(m1 + m2));
  elsewhen x2 - x1 > d/2 then
    reinit(v1, (m1*pre(v1) + m2*pre(v2) - m2*e*(pre(v1) - pre(v2)))/(m1 + m2));
    reinit(v2, (m1*pre(v1) + m2*pre(v2) + m1*e*(pre(v1) - pre(v2)))/(m1 + m2));
  end when;
  annotation(experiment(StopTime = 10, Tolerance = 1e-10));
end MassesInAGap;
