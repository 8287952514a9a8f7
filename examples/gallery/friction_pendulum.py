"""A pendulum in Cartesian coordinates (index 3) with dry friction in its pivot, shaken sideways."""

import math

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 12, "rtol": 1e-9}


def model() -> sl.Model:
    m = sl.Model("FrictionPendulum")
    g = m.parameter("g", 9.81, unit="m/s2", description="gravity")
    M = m.parameter("M", 3, unit="1/s2", description="friction moment over mass and squared length")
    A, w = m.parameter("A", 6, unit="m/s2"), m.parameter("w", 2, unit="rad/s")
    x, y = m.variable("x", math.sin(1), fixed=True, unit="m"), m.variable("y", -math.cos(1), unit="m")
    vx, vy = m.variable("vx", 0, fixed=True, unit="m/s"), m.variable("vy", 0, unit="m/s")
    F = m.variable("F", unit="1/s2", description="force in the rod over mass and length")
    moment = m.variable("moment", unit="1/s2", description="friction in the pivot")
    m.equation(moment == -M*np.sign(x*vy - y*vx))
    m.equation(sl.der(x) == vx)
    m.equation(sl.der(y) == vy)
    m.equation(sl.der(vx) == -F*x - y*moment + A*np.sin(w*m.time))
    m.equation(sl.der(vy) == -F*y + x*moment - g)
    m.equation(x**2 + y**2 == 1)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
