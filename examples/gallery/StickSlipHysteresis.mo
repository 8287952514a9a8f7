model StickSlipHysteresis "Stick-slip as it was solved before: the friction force switches with hysteresis, so the bodies chatter"
  parameter Real mu = 0.4 "friction force over mass";
  parameter Real eps(unit = "m/s") = 0.003 "half width of the hysteresis";
  Real v1(start = 0, fixed = true, unit = "m/s"), v2(start = 0, fixed = true, unit = "m/s") "velocities";
  discrete Real direction(start = 1) "sign of the friction force";
equation
  der(v1) = sin(time) - mu*direction;
  der(v2) = mu*direction;
  when v1 - v2 < -eps then
    direction = -1;
  elsewhen v1 - v2 > eps then
    direction = 1;
  end when;
  annotation(experiment(StopTime = 10, Tolerance = 1e-8));
end StickSlipHysteresis;
