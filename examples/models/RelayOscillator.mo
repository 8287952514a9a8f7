model RelayOscillator "A double integrator under a relay with hysteresis, a classical limit cycle"
  parameter Real h = 0.5 "half width of the hysteresis";
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
  discrete Real u(start = -1);
equation
  der(x) = v;
  der(v) = u;
  when x > h then
    u = -1;
  elsewhen x < -h then
    u = 1;
  end when;
  annotation(experiment(StopTime = 20, Tolerance = 1e-9));
end RelayOscillator;
