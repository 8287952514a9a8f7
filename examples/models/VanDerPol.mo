model VanDerPol "An oscillator that feeds small swings and damps large ones"
  parameter Real mu = 1;
  Real x(start = 2, fixed = true);
  Real y(start = 0, fixed = true);
equation
  der(x) = y;
  der(y) = mu*(1 - x^2)*y - x;
  annotation(experiment(StopTime = 20, Tolerance = 1e-9));
end VanDerPol;
