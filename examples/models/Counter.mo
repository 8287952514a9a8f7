block Counter "Counts the rising edges of a signal and resets itself"
  parameter Integer limit = 4;
  Boolean u = sin(6.283185307179586*time) > 0.5;
  Integer count(start = 0), overflows(start = 0);
  Real z(start = 0, fixed = true);
equation
  der(z) = count;
algorithm
  when u then
    count := pre(count) + 1;
    if count >= limit then
      count := 0;
      overflows := pre(overflows) + 1;
    end if;
  end when;
  annotation(experiment(StopTime = 10));
end Counter;
