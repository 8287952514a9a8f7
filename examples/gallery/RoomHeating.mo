model RoomHeating "A room whose heating is switched between two temperatures (DISODE45, example 6)"
  parameter Real K = 0.1 "heat loss";
  parameter Real u = 2 "heat of the source";
  parameter Real T_outside(unit = "degC") = 18, T_low(unit = "degC") = 22, T_high(unit = "degC") = 23.5;
  Real T(start = 15, fixed = true, unit = "degC") "temperature";
  Boolean on(start = true) "the heating is on";
equation
  on = T < T_low or pre(on) and T < T_high;
  der(T) = -K*(T - T_outside) + (if on then u else 0);
  annotation(experiment(StopTime = 20, Tolerance = 1e-10));
end RoomHeating;
