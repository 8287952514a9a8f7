model FrictionPendulum "A pendulum in Cartesian coordinates (index 3) with dry friction in its pivot, shaken sideways"
  parameter Real g(unit = "m/s2") = 9.81 "gravity";
  parameter Real M(unit = "1/s2") = 3 "friction moment over mass and squared length";
  parameter Real A(unit = "m/s2") = 6, w(unit = "rad/s") = 2 "force over mass: amplitude and frequency";
  Real x(start = 0.8414709848078965, fixed = true, unit = "m"), y(start = -0.5403023058681398, unit = "m") "position";
  Real vx(start = 0, fixed = true, unit = "m/s"), vy(start = 0, unit = "m/s") "velocity";
  Real F(unit = "1/s2") "force in the rod over mass and length";
  Real moment(unit = "1/s2") = -M*sign(x*vy - y*vx) "friction in the pivot";
equation
  der(x) = vx;
  der(y) = vy;
  der(vx) = -F*x - y*moment + A*sin(w*time);
  der(vy) = -F*y + x*moment - g;
  x^2 + y^2 = 1;
  annotation(experiment(StopTime = 12, Tolerance = 1e-9));
end FrictionPendulum;
