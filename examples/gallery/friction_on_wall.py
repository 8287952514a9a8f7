"""A mass on a spring with Coulomb friction comes to rest (DISODE45, first example)."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 20, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("FrictionOnWall")
    k = m.parameter("k", 1, unit="1/s2", description="stiffness over mass")
    Fc = m.parameter("Fc", 0.4, unit="m/s2", description="friction force over mass")
    x = m.variable("x", 3, fixed=True, unit="m", description="position")
    v = m.variable("v", 0, fixed=True, unit="m/s", description="velocity")
    m.equation(sl.der(x) == v)
    m.equation(sl.der(v) == -k*x - Fc*np.sign(v))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
