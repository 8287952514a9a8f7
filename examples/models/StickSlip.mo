model StickSlip "Two bodies with dry friction between them; one of them is driven"
  parameter Real mu = 0.4 "friction force";
  Real p1(start = 1, fixed = true), p2(start = 1, fixed = true) "positions";
  Real v1(start = 0, fixed = true), v2(start = 0, fixed = true) "velocities";
equation
  der(p1) = v1;
  der(p2) = v2;
  der(v1) = sin(time) - mu*sign(v1 - v2);
  der(v2) = mu*sign(v1 - v2);
  annotation(experiment(StopTime = 10, Tolerance = 1e-8));
end StickSlip;
