model DiodeBridge "Three phases, six ideal diodes, a load with resistance and inductance"
  parameter Real V(unit = "V") = 325, w(unit = "rad/s") = 314.1592653589793, shift(unit = "rad") = 0.1;
  parameter Real R(unit = "Ohm") = 10, L(unit = "H") = 0.02;
  Real i(start = 0, fixed = true, unit = "A") "current in the load";
  Real u(unit = "V") "voltage of the load";
  Real phase[3](each unit = "V"), plus(unit = "V"), minus(unit = "V");
  Real upper[3], lower[3] "each diode: its current where it conducts (positive), its voltage where it blocks (negative)";
equation
  for k in 1:3 loop
    phase[k] = V*sin(w*time + shift - 2*3.141592653589793*(k - 1)/3);
    phase[k] - plus = if upper[k] > 0 then 0 else upper[k];
    minus - phase[k] = if lower[k] > 0 then 0 else lower[k];
  end for;
  i = sum(if upper[k] > 0 then upper[k] else 0 for k in 1:3);
  i = sum(if lower[k] > 0 then lower[k] else 0 for k in 1:3);
  u = plus - minus;
  L*der(i) + R*i = u;
  annotation(experiment(StopTime = 0.04, Tolerance = 1e-9));
end DiodeBridge;
