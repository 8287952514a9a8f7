model HeatEquation "A rod with its ends at temperature zero, by finite differences"
  parameter Integer n = 20 "number of inner points";
  parameter Real L = 1 "length";
  parameter Real a = 1 "diffusivity";
  parameter Real dx = L/(n + 1);
  constant Real pi = 3.14159265358979;
  Real T[n](start = {sin(pi*i/(n + 1)) for i in 1:n}, each fixed = true) "temperatures";
equation
  der(T[1]) = a*(T[2] - 2*T[1])/dx^2;
  for i in 2:n-1 loop
    der(T[i]) = a*(T[i+1] - 2*T[i] + T[i-1])/dx^2;
  end for;
  der(T[n]) = a*(T[n-1] - 2*T[n])/dx^2;
  annotation(experiment(StopTime = 0.1, Tolerance = 1e-8));
end HeatEquation;
