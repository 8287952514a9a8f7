model Clutch "Two shafts; when the clutch engages, they turn together"
  parameter Real J1 = 1, J2 = 2 "inertias";
  parameter Real t_engage = 1;
  Real w1(start = 3, fixed = true), w2(start = 0, fixed = true) "angular velocities";
  Real M "torque in the clutch";
  Boolean engaged = time > t_engage;
equation
  J1*der(w1) = -M;
  J2*der(w2) = M;
  if engaged then
    w1 = w2;
  else
    M = 0;
  end if;
  annotation(experiment(StopTime = 2));
end Clutch;
