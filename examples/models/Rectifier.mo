package Rectifier "A half-wave rectifier with an ideal diode"
  connector Pin
    Real v;
    flow Real i;
  end Pin;
  partial model OnePort
    Pin p, n;
    Real v, i;
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
  end OnePort;
  model IdealDiode "conducts without loss in one direction, blocks in the other"
    extends OnePort;
    Boolean off;
    Real s "voltage where it blocks, current where it conducts";
  equation
    off = s < 0;
    v = if off then s else 0;
    i = if off then 0 else s;
  end IdealDiode;
  model Resistor
    extends OnePort;
    parameter Real R = 1;
  equation
    v = R*i;
  end Resistor;
  model Capacitor
    extends OnePort;
    parameter Real C = 1;
  equation
    C*der(v) = i;
  end Capacitor;
  model SineVoltage
    extends OnePort;
    parameter Real V = 1, w = 1;
  equation
    v = V*sin(w*time);
  end SineVoltage;
  model Ground
    Pin p;
  equation
    p.v = 0;
  end Ground;
  model Circuit
    SineVoltage source(V = 10, w = 5);
    IdealDiode diode;
    Resistor resistor(R = 0.1), load(R = 10);
    Capacitor capacitor(C = 0.5, v(start = 0, fixed = true));
    Ground ground;
  equation
    connect(source.p, resistor.p);
    connect(resistor.n, diode.p);
    connect(diode.n, capacitor.p);
    connect(capacitor.p, load.p);
    connect(capacitor.n, source.n);
    connect(load.n, source.n);
    connect(source.n, ground.p);
    annotation(experiment(StopTime = 3, Tolerance = 1e-8));
  end Circuit;
end Rectifier;
