model FrictionOnWall "A mass on a spring with Coulomb friction comes to rest (DISODE45, first example)"
  parameter Real k(unit = "1/s2") = 1 "stiffness over mass";
  parameter Real Fc(unit = "m/s2") = 0.4 "friction force over mass";
  Real x(start = 3, fixed = true, unit = "m") "position";
  Real v(start = 0, fixed = true, unit = "m/s") "velocity";
equation
  der(x) = v;
  der(v) = -k*x - Fc*sign(v);
  annotation(experiment(StopTime = 20, Tolerance = 1e-10));
end FrictionOnWall;
