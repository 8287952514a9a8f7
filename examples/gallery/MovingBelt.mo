model MovingBelt "A driven mass on a belt whose speed oscillates (DISODE45, example 2)"
  parameter Real k = 1, r = 0.2, a0 = 1, w = 0.7, Fc = 0.4;
  Real x(start = 3, fixed = true, unit = "m") "position";
  Real v(start = 0, fixed = true, unit = "m/s") "velocity";
  Real belt(unit = "m/s") = cos(time) + 0.7 "velocity of the belt";
equation
  der(x) = v;
  der(v) = -k*x - 2*r*v + a0*cos(w*time) - Fc*sign(v - belt);
  annotation(experiment(StopTime = 30, Tolerance = 1e-10));
end MovingBelt;
