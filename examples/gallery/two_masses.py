"""Two masses, a spring between them, on a floor of two materials (DISODE45, example 1)."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 20, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("TwoMasses")
    k = m.parameter("k", 1, unit="1/s2", description="stiffness over mass")
    x1, x2 = m.variable("x1", -2, fixed=True, unit="m"), m.variable("x2", 3, fixed=True, unit="m")
    v1, v2 = m.variable("v1", 0, fixed=True, unit="m/s"), m.variable("v2", 0, fixed=True, unit="m/s")
    F1, F2 = m.variable("F1"), m.variable("F2")                             # friction of the masses
    m.equation(F1 == sl.if_else(x1 > 0, 1, 0.6))
    m.equation(F2 == sl.if_else(x2 > 0, 0.2, 0.5))
    m.equation(sl.der(x1) == v1)
    m.equation(sl.der(x2) == v2)
    m.equation(sl.der(v1) == -k*(x1 - x2) - F1*np.sign(v1))
    m.equation(sl.der(v2) == -k*(x2 - x1) - F2*np.sign(v2))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
