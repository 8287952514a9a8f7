"""Models that several tests use."""

import saltus as sl

BALL = """
model Ball "A ball that bounces"
  parameter Real e = 0.9;
  Real h(start = 10, fixed = true, unit = "m");
  Real v(start = 0, fixed = true, unit = "m/s");
equation
  der(h) = v;
  der(v) = -9.8;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
  annotation(experiment(StopTime = 5, Tolerance = 1e-10));
end Ball;
"""


def ball() -> sl.Model:
    m = sl.Model("ball")
    h, v = m.variable("h", 10.0, fixed=True, unit="m"), m.variable("v", 0.0, fixed=True, unit="m/s")
    e = m.parameter("e", 0.9)
    m.equation(sl.der(h) == v)
    m.equation(sl.der(v) == -9.8)
    m.when(h < 0).reset(v, -e * v)
    return m
