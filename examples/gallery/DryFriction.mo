model DryFriction "Oscillator with dry friction under a harmonic force (Piiroinen and Kuznetsov, 4.1)"
  parameter Real r = 3 "inverse of the frequency of the force";
  parameter Real F = 0.4 "friction";
  Real x(start = -0.72126788, fixed = true) "position";
  Real v(start = 0.35703024, fixed = true) "velocity";
equation
  der(x) = v;
  der(v) = -x + sin(time/r) - F*sign(v);
  annotation(experiment(StopTime = 18.849555921538759, Tolerance = 1e-10));
end DryFriction;
