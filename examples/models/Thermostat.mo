model Thermostat "A room with a heater that is switched with hysteresis"
  parameter Real T_outside = 5 "outside temperature";
  parameter Real T_low = 19 "the heater is switched on below";
  parameter Real T_high = 21 "the heater is switched off above";
  parameter Real tau = 10 "time constant of the room";
  parameter Real rise = 30 "stationary temperature rise with the heater on";
  Real T(start = 15, fixed = true) "room temperature";
  Boolean on(start = true) "the heater is on";
equation
  on = T < T_low or pre(on) and T < T_high;
  der(T) = (T_outside - T + (if on then rise else 0))/tau;
  annotation(experiment(StopTime = 30, Tolerance = 1e-9));
end Thermostat;
