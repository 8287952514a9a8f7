"""Two bodies that rub against each other; the first one is driven."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 10, "rtol": 1e-8}


def model() -> sl.Model:
    m = sl.Model("StickSlip")
    mu = m.parameter("mu", 0.4, description="friction force over mass")
    p1, p2 = m.variable("p1", 1, fixed=True, unit="m"), m.variable("p2", 1, fixed=True, unit="m")
    v1, v2 = m.variable("v1", 0, fixed=True, unit="m/s"), m.variable("v2", 0, fixed=True, unit="m/s")
    m.equation(sl.der(p1) == v1)
    m.equation(sl.der(p2) == v2)
    m.equation(sl.der(v1) == np.sin(m.time) - mu*np.sign(v1 - v2))
    m.equation(sl.der(v2) == mu*np.sign(v1 - v2))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
