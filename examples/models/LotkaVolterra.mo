model LotkaVolterra "Rabbits and foxes"
  parameter Real a = 1.5, b = 1, c = 3, d = 1;
  Real rabbits(start = 1, fixed = true, min = 0), foxes(start = 1, fixed = true, min = 0);
  Real invariant = d*rabbits - c*log(rabbits) + b*foxes - a*log(foxes);
equation
  der(rabbits) = (a - b*foxes)*rabbits;
  der(foxes) = (d*rabbits - c)*foxes;
  annotation(experiment(StopTime = 10, Tolerance = 1e-10));
end LotkaVolterra;
