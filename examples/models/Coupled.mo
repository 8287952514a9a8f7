model Coupled "A chain of masses and springs as a matrix equation"
  parameter Integer n = 4;
  parameter Real K[n,n] = 2*identity(n) - {if abs(i - j) == 1 then 1 else 0 for j in 1:n, i in 1:n} "stiffness";
  parameter Real x0[n] = {sin(3.14159265358979*i/(n + 1)) for i in 1:n} "the first eigenvector";
  Real x[n](start = x0, each fixed = true), v[n](each start = 0, each fixed = true);
  Real energy = (v*v + x*K*x)/2;
equation
  der(x) = v;
  der(v) = -K*x;
  annotation(experiment(StopTime = 5, Tolerance = 1e-10));
end Coupled;
