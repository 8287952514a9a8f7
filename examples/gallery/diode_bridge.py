"""Three phases, six ideal diodes, a load with resistance and inductance."""

import math

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 0.04, "rtol": 1e-9}


def model() -> sl.Model:
    m = sl.Model("DiodeBridge")
    V, w = m.parameter("V", 325, unit="V"), m.parameter("w", 100*math.pi, unit="rad/s")
    shift = m.parameter("shift", 0.1, unit="rad")
    R, L = m.parameter("R", 10, unit="Ohm"), m.parameter("L", 0.02, unit="H")
    i = m.variable("i", 0, fixed=True, unit="A", description="current in the load")
    u = m.variable("u", unit="V", description="voltage of the load")
    phase = [m.variable(f"phase[{k}]", unit="V") for k in (1, 2, 3)]
    plus, minus = m.variable("plus", unit="V"), m.variable("minus", unit="V")
    # of each diode: its current where it conducts (positive), its voltage where it blocks (negative)
    upper = [m.variable(f"upper[{k}]") for k in (1, 2, 3)]
    lower = [m.variable(f"lower[{k}]") for k in (1, 2, 3)]
    for k in range(3):
        m.equation(phase[k] == V*np.sin(w*m.time + shift - 2*math.pi*k/3))
        m.equation(phase[k] - plus == sl.if_else(upper[k] > 0, 0, upper[k]))
        m.equation(minus - phase[k] == sl.if_else(lower[k] > 0, 0, lower[k]))
    m.equation(i == sum(sl.if_else(d > 0, d, 0) for d in upper))
    m.equation(i == sum(sl.if_else(d > 0, d, 0) for d in lower))
    m.equation(u == plus - minus)
    m.equation(L*sl.der(i) + R*i == u)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
