model Rocket "A rocket of two stages in empty space"
  parameter Real c = 2 "exhaust velocity";
  parameter Real rate = 1 "fuel burnt per time";
  parameter Real fuel[2] = {3, 1}, hull[2] = {1, 0.5};
  Real m(start = sum(fuel) + sum(hull), fixed = true) "mass";
  Real v(start = 0, fixed = true) "velocity";
  Integer stage(start = 1);
  Boolean burning = stage <= 2;
equation
  der(m) = if burning then -rate else 0;
  der(v) = if burning then c*rate/m else 0;
  when m <= fuel[2] + hull[1] + hull[2] then
    reinit(m, fuel[2] + hull[2]);
    stage = 2;
  elsewhen m <= hull[2] then
    stage = 3;
  end when;
  assert(m > 0, "the rocket has lost its mass");
  when stage > 2 then
    terminate("all stages are burnt out");
  end when;
  annotation(experiment(StopTime = 10, Tolerance = 1e-9));
end Rocket;
