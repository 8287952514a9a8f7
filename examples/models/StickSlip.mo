model StickSlip "Two bodies that rub against each other; the first one is driven"
  parameter Real mu = 0.4 "friction force over mass";
  Real p1(start = 1, fixed = true, unit = "m"), p2(start = 1, fixed = true, unit = "m") "positions";
  Real v1(start = 0, fixed = true, unit = "m/s"), v2(start = 0, fixed = true, unit = "m/s") "velocities";
equation
  der(p1) = v1;
  der(p2) = v2;
  der(v1) = sin(time) - mu*sign(v1 - v2);
  der(v2) = mu*sign(v1 - v2);
  annotation(experiment(StopTime = 10, Tolerance = 1e-8));
end StickSlip;
