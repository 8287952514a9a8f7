model RopePendulum "A ball on a rope: it flies while the rope is slack and swings while it is taut"
  parameter Real g(unit = "m/s2") = 9.81 "gravity";
  parameter Real R(unit = "m") = 1 "length of the rope";
  parameter Real slip(unit = "m2") = 1e-9 "keeps the rope from being taut again at the instant at which it becomes slack";
  Real x(start = 0.6, fixed = true, unit = "m"), y(start = 0.2, fixed = true, unit = "m") "position";
  Real vx(start = 0, fixed = true, unit = "m/s"), vy(start = -6, fixed = true, unit = "m/s") "velocity";
  Real F(unit = "1/s2") "force of the rope per mass and length";
  discrete Boolean taut(start = false) "the rope is taut";
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -F*x;
  der(vy) = -F*y - g;
  if taut then
    x^2 + y^2 = R^2;
  else
    F = 0;
  end if;
  when (if taut then -R^2 else x^2 + y^2 - R^2) > slip then
    taut = true;
  elsewhen (if taut then F else 1) < 0 then
    taut = false;
  end when;
  annotation(experiment(StopTime = 3, Tolerance = 1e-9));
end RopePendulum;
