model Clutch "Two shafts; while the clutch is engaged they turn together: the index rises from 1 to 2"
  parameter Real J1(unit = "kg.m2") = 1, J2(unit = "kg.m2") = 2 "inertias";
  parameter Real drive(unit = "N.m") = 1, load(unit = "N.m") = 0.5 "torques";
  Real w1(start = 3, fixed = true, unit = "rad/s"), w2(start = 0, fixed = true, unit = "rad/s") "speeds";
  Real M(unit = "N.m") "torque in the clutch";
  Boolean engaged = time > 1 and time < 3;
equation
  J1*der(w1) = drive - M;
  J2*der(w2) = M - load;
  if engaged then
    w1 = w2;
  else
    M = 0;
  end if;
  annotation(experiment(StopTime = 4, Tolerance = 1e-9));
end Clutch;
