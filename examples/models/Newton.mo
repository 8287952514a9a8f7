model Newton "Newton's cradle: balls of equal mass hand on their velocity"
  parameter Integer n = 3 "number of balls";
  parameter Real d = 1 "distance at which two touch";
  Real x[n](start = {-2, 0, 1.5}, each fixed = true) "positions";
  Real v[n](start = {1, 0, 0}, each fixed = true) "velocities";
equation
  der(x) = v;
  der(v) = zeros(n);
  for i in 1:n-1 loop
    when x[i+1] - x[i] < d then
      reinit(v[i], pre(v[i+1]));
      reinit(v[i+1], pre(v[i]));
    end when;
  end for;
  annotation(experiment(StopTime = 3, Tolerance = 1e-10));
end Newton;
