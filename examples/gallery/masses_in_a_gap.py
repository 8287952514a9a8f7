"""One mass in a hole of another: they hit each other, stick together, part (DISODE45, example 3)."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 10, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("MassesInAGap")
    m1, m2 = m.parameter("m1", 2), m.parameter("m2", 1)                     # masses
    r, k1, k2 = m.parameter("r", 0.6), m.parameter("k1", 30), m.parameter("k2", 20)
    a0, b0, w = m.parameter("a0", 30), m.parameter("b0", 35), m.parameter("w", 1.38)
    d, e = m.parameter("d", 1), m.parameter("e", 0.7)                       # width of the gap, restitution
    x1, x2 = m.variable("x1", 0.2, fixed=True, unit="m"), m.variable("x2", 0.3, fixed=True, unit="m")
    v1, v2 = m.variable("v1", 0, fixed=True, unit="m/s"), m.variable("v2", 0, fixed=True, unit="m/s")
    m.equation(sl.der(x1) == v1)
    m.equation(sl.der(x2) == v2)
    m.equation(m1*sl.der(v1) == -r*v1 - k1*x1 + b0 + a0*np.cos(w*m.time))
    m.equation(m2*sl.der(v2) == -r*v2 - k2*x2)
    right = m.when(x1 - x2 > d/2)
    left = right.otherwise_when(x2 - x1 > d/2)
    for impact in (right, left):
        impact.reset(v1, (m1*v1 + m2*v2 - m2*e*(v1 - v2))/(m1 + m2))
        impact.reset(v2, (m1*v1 + m2*v2 + m1*e*(v1 - v2))/(m1 + m2))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
