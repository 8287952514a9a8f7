model SawTooth "mod and floor make events"
  parameter Real T = 0.75 "period";
  Real y = mod(time, T)/T;
  Integer n = integer(time/T);
  Real area(start = 0, fixed = true) "its integral";
equation
  der(area) = y;
  annotation(experiment(StopTime = 3, Tolerance = 1e-10));
end SawTooth;
