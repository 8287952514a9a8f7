package TwoTanks "Tanks connected by a pipe, with records and functions"
  record TankData
    Real area = 1;
    Real level0 = 0;
  end TankData;
  connector Port
    Real p "pressure";
    flow Real q "volume flow into the component";
  end Port;
  function smoothRoot "sign(x) sqrt(|x|), linear near zero"
    input Real x;
    input Real eps = 1e-3;
    output Real y;
  algorithm
    y := x/(x^2 + eps^2)^0.25;
  end smoothRoot;
  model Tank
    parameter TankData data;
    Port port;
    Real level(start = data.level0, fixed = true);
  equation
    data.area*der(level) = port.q;
    port.p = level;
  end Tank;
  model Pipe
    parameter Real k = 0.5;
    Port a, b;
  equation
    a.q = k*smoothRoot(a.p - b.p);
    a.q + b.q = 0;
  end Pipe;
  model System
    Tank left(data = TankData(level0 = 4)), right(data(area = 3));
    Pipe pipe;
    Real volume = left.data.area*left.level + right.data.area*right.level;
  equation
    connect(left.port, pipe.a);
    connect(pipe.b, right.port);
    annotation(experiment(StopTime = 10, Tolerance = 1e-9));
  end System;
end TwoTanks;
