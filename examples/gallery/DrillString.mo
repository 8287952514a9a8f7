model DrillString "Oil well drill string: two discs, dry friction on both (Piiroinen and Kuznetsov, 4.3)"
  parameter Real u(unit = "V") = 2 "input voltage";
  parameter Real km = 3.5693, k = 0.078 "motor constant, torsional stiffness";
  parameter Real Ju = 0.4765, Jl = 0.0326 "inertias of the upper and of the lower disc";
  parameter Real Tsup = 0.3216, Tsun = 0.3026, bu = 1.9667 "friction of the upper disc";
  parameter Real Tsl = 0.0940, T1 = 0.0826, T2 = -0.2910, beta1 = 6.3598, beta2 = 0.0786 "friction of the lower disc";
  Real twist(start = 0, fixed = true, unit = "rad") "angle between the discs";
  Real upper(start = 2, fixed = true, unit = "rad/s") "speed of the upper disc";
  Real lower(start = 2, fixed = true, unit = "rad/s") "speed of the lower disc";
  Real friction_upper = if upper > 0 then Tsup + bu*upper else -Tsun + bu*upper;
  Real friction_lower = if lower > 0
    then Tsl + T1*(1 - 2/(1 + exp(beta1*lower))) + T2*(1 - 2/(1 + exp(beta2*lower)))
    else -Tsl - T1*(1 - 2/(1 + exp(-beta1*lower))) - T2*(1 - 2/(1 + exp(-beta2*lower)));
equation
  der(twist) = upper - lower;
  Ju*der(upper) = km*u - k*twist - friction_upper;
  Jl*der(lower) = k*twist - friction_lower;
  annotation(experiment(StopTime = 60, Tolerance = 1e-9));
end DrillString;
