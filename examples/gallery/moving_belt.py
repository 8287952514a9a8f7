"""A driven mass on a belt whose speed oscillates (DISODE45, example 2)."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 30, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("MovingBelt")
    k, r, a0 = m.parameter("k", 1), m.parameter("r", 0.2), m.parameter("a0", 1)
    w, Fc = m.parameter("w", 0.7), m.parameter("Fc", 0.4)
    x = m.variable("x", 3, fixed=True, unit="m", description="position")
    v = m.variable("v", 0, fixed=True, unit="m/s", description="velocity")
    belt = m.variable("belt", unit="m/s", description="velocity of the belt")
    m.equation(belt == np.cos(m.time) + 0.7)
    m.equation(sl.der(x) == v)
    m.equation(sl.der(v) == -k*x - 2*r*v + a0*np.cos(w*m.time) - Fc*np.sign(v - belt))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
