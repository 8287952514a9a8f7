model Tumbling "A free rigid body: Euler's equations with vectors"
  parameter Real I[3,3] = diagonal({1, 2, 3}) "inertia";
  Real w[3](start = {0.1, 2, 0.1}, each fixed = true) "angular velocity";
  Real h[3] = I*w "angular momentum";
  Real energy = w*h/2;
equation
  I*der(w) = -cross(w, h);
  annotation(experiment(StopTime = 5, Tolerance = 1e-10));
end Tumbling;
