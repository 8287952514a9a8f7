model SteadyState "An initial equation asks for a start at rest"
  parameter Real u = 2;
  Real x, y;
initial equation
  x = u;
  y = x^2;
equation
  der(x) = u - x;
  der(y) = x^2 - y + (if time > 1 then 1 else 0);
  annotation(experiment(StopTime = 3, Tolerance = 1e-9));
end SteadyState;
