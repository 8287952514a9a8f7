model TwoMasses "Two masses, a spring between them, on a floor of two materials (DISODE45, example 1)"
  parameter Real k(unit = "1/s2") = 1 "stiffness over mass";
  Real x1(start = -2, fixed = true, unit = "m"), x2(start = 3, fixed = true, unit = "m") "positions";
  Real v1(start = 0, fixed = true, unit = "m/s"), v2(start = 0, fixed = true, unit = "m/s") "velocities";
  Real F1 = if x1 > 0 then 1 else 0.6 "friction of the first mass";
  Real F2 = if x2 > 0 then 0.2 else 0.5 "friction of the second mass";
equation
  der(x1) = v1;
  der(x2) = v2;
  der(v1) = -k*(x1 - x2) - F1*sign(v1);
  der(v2) = -k*(x2 - x1) - F2*sign(v2);
  annotation(experiment(StopTime = 20, Tolerance = 1e-10));
end TwoMasses;
