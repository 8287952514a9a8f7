model DryFriction "Oscillator with dry friction under a harmonic force (Piiroinen and Kuznetsov, 4.1)"
  parameter Real omega = 1/3 "frequency of the force";
  parameter Real F = 0.4 "friction";
  parameter Real pi = 3.141592653589793;
  Real x(start = 1, fixed = true) "position";
  Real v(start = 2, fixed = true) "velocity";
equation
  der(x) = v;
  der(v) = -x + sin(omega*time) - F*sign(v);
  annotation(experiment(StopTime = 150.79644737231007, Tolerance = 1e-10));
end DryFriction;
