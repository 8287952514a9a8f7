model Pendulum "A pendulum in its angle"
  parameter Real g = 9.81, L = 1;
  Real phi(start = 1, fixed = true, unit = "rad") "angle";
  Real w(start = 0, fixed = true, unit = "rad/s") "angular velocity";
  Real energy = L^2*w^2/2 - g*L*cos(phi);
equation
  w = der(phi);
  der(w) = -g/L*sin(phi);
  annotation(experiment(StopTime = 10, Tolerance = 1e-10));
end Pendulum;
