model SlidingMode "A relay drives the state to a line on which it slides to rest"
  parameter Real c = 1 "slope of the switching line";
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
  Real s = c*x + v "switching function";
equation
  der(x) = v;
  der(v) = if s > 0 then -2 else 2;
  annotation(experiment(StopTime = 3, Tolerance = 1e-8));
end SlidingMode;
