"""Oscillator with dry friction under a harmonic force (Piiroinen and Kuznetsov, 4.1)."""

import math

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 6*math.pi, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("DryFriction")
    r = m.parameter("r", 3, description="inverse of the frequency of the force")
    F = m.parameter("F", 0.4, description="friction")
    x = m.variable("x", -0.72126788, fixed=True, description="position")
    v = m.variable("v", 0.35703024, fixed=True, description="velocity")
    m.equation(sl.der(x) == v)
    m.equation(sl.der(v) == -x + np.sin(m.time/r) - F*np.sign(v))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
