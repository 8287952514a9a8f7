model RopePendulum "A ball on a rope: it flies while the rope is slack and swings while it is taut"
  parameter Real g(unit = "m/s2") = 9.81 "gravity";
  parameter Real R(unit = "m") = 1 "length of the rope";
  Real x(start = 0.6, fixed = true, unit = "m"), y(start = 0.2, fixed = true, unit = "m") "position";
  Real vx(start = 0, fixed = true, unit = "m/s"), vy(start = -6, fixed = true, unit = "m/s") "velocity";
  Real F(unit = "1/s2") "force of the rope per mass and length";
  Real s(start = 1) "what is left of the rope while it is slack, minus its force while it is taut";
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -F*x;
  der(vy) = -F*y - g;
  R^2 - x^2 - y^2 = if s > 0 then s else 0;
  F = if s > 0 then 0 else -s;
  annotation(experiment(StopTime = 3, Tolerance = 1e-9));
end RopePendulum;
