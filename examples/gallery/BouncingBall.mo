model BouncingBall "A ball that loses a tenth of its speed at each impact (DISODE45, example 5)"
  parameter Real e = 0.9 "coefficient of restitution";
  parameter Real g(unit = "m/s2") = 9.8 "gravity";
  Real h(start = 10, fixed = true, unit = "m") "height";
  Real v(start = 0, fixed = true, unit = "m/s") "velocity";
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
  annotation(experiment(StopTime = 20, Tolerance = 1e-10));
end BouncingBall;
