model TrafficLight "A state machine with an enumeration"
  type Light = enumeration(red, green, yellow);
  parameter Real duration[Light] = {3, 2, 0.5} "how long each light is on";
  Light light(start = Light.red);
  discrete Real next(start = duration[Light.red]) "time of the next change";
  Real waiting(start = 0, fixed = true) "time spent waiting so far";
algorithm
  when time >= pre(next) then
    if pre(light) == Light.red then
      light := Light.green;
      next := pre(next) + duration[Light.green];
    elseif pre(light) == Light.green then
      light := Light.yellow;
      next := pre(next) + duration[Light.yellow];
    else
      light := Light.red;
      next := pre(next) + duration[Light.red];
    end if;
  end when;
equation
  der(waiting) = if light == Light.green then 0 else 1;
  annotation(experiment(StopTime = 10));
end TrafficLight;
