package RLC "A series circuit of resistor, inductor and capacitor, drawn with connectors"
  type Voltage = Real(unit = "V");
  type Current = Real(unit = "A");
  connector Pin
    Voltage v;
    flow Current i;
  end Pin;
  partial model OnePort
    Pin p, n;
    Voltage v "voltage drop";
    Current i "current from p to n";
  equation
    v = p.v - n.v;
    0 = p.i + n.i;
    i = p.i;
  end OnePort;
  model Resistor
    extends OnePort;
    parameter Real R(unit = "Ohm") = 1;
  equation
    v = R*i;
  end Resistor;
  model Capacitor
    extends OnePort;
    parameter Real C(unit = "F") = 1;
  equation
    C*der(v) = i;
  end Capacitor;
  model Inductor
    extends OnePort;
    parameter Real L(unit = "H") = 1;
  equation
    L*der(i) = v;
  end Inductor;
  model ConstantVoltage
    extends OnePort;
    parameter Voltage V = 1;
  equation
    v = V;
  end ConstantVoltage;
  model Ground
    Pin p;
  equation
    p.v = 0;
  end Ground;
  model Circuit
    Resistor resistor(R = 1);
    Inductor inductor(L = 0.5, i(start = 0, fixed = true));
    Capacitor capacitor(C = 0.1, v(start = 0, fixed = true));
    ConstantVoltage source(V = 10);
    Ground ground;
  equation
    connect(source.p, resistor.p);
    connect(resistor.n, inductor.p);
    connect(inductor.n, capacitor.p);
    connect(capacitor.n, source.n);
    connect(source.n, ground.p);
    annotation(experiment(StopTime = 3, Tolerance = 1e-9));
  end Circuit;
end RLC;
