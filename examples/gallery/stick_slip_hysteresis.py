"""Stick-slip as it was solved before: the force switches with hysteresis, so the bodies chatter."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 10, "rtol": 1e-8}


def model() -> sl.Model:
    m = sl.Model("StickSlipHysteresis")
    mu = m.parameter("mu", 0.4, description="friction force over mass")
    eps = m.parameter("eps", 0.003, unit="m/s", description="half width of the hysteresis")
    v1, v2 = m.variable("v1", 0, fixed=True, unit="m/s"), m.variable("v2", 0, fixed=True, unit="m/s")
    direction = m.discrete("direction", 1.0)                                # the sign of the friction force
    m.equation(sl.der(v1) == np.sin(m.time) - mu*direction)
    m.equation(sl.der(v2) == mu*direction)
    down = m.when(v1 - v2 < -eps).assign(direction, -1)
    down.otherwise_when(v1 - v2 > eps).assign(direction, 1)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
