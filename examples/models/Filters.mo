package Filters "A cascade of first-order filters, as an array of blocks"
  connector RealInput = input Real;
  connector RealOutput = output Real;
  block FirstOrder
    parameter Real T = 1;
    RealInput u;
    RealOutput y(start = 0, fixed = true);
  equation
    T*der(y) = u - y;
  end FirstOrder;
  model Cascade
    parameter Integer n = 3;
    FirstOrder f[n](each T = 0.5);
  equation
    f[1].u = 1;
    for i in 2:n loop
      connect(f[i-1].y, f[i].u);
    end for;
    annotation(experiment(StopTime = 2, Tolerance = 1e-10));
  end Cascade;
end Filters;
