model ImpactOscillator "A driven oscillator that hits a wall (Thompson and Ghaffari 1982)"
  parameter Real omega = 2.8 "frequency of the force", e = 0.8 "coefficient of restitution";
  Real x(start = 0.1, fixed = true) "distance from the wall", v(start = 0, fixed = true) "velocity";
equation
  der(x) = v;
  der(v) = sin(omega*time) - x;
  when x < 0 then
    reinit(v, -e*pre(v));
  end when;
  annotation(experiment(StopTime = 40, Tolerance = 1e-9));
end ImpactOscillator;
