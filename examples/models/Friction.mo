model Friction "A block on a moving belt, pulled by a spring"
  parameter Real m = 1, k = 1, mu = 0.5, belt = 0.2;
  Real x(start = 0, fixed = true), v(start = 0.5, fixed = true);
  Boolean faster = v > belt;
  Real force = if faster then -mu else mu;
equation
  der(x) = v;
  m*der(v) = -k*x + force;
  annotation(experiment(StopTime = 0.3, Tolerance = 1e-9));
end Friction;
