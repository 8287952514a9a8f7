"""A building hits its neighbour in an earthquake; the law of contact has no values before the contact."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 3, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("Pounding")
    c = m.parameter("c", 2.47e6, description="stiffness of the contact")
    gap = m.parameter("gap", 0.005, unit="m", description="distance of the neighbour")
    x = m.variable("x", 0, fixed=True, unit="m", description="displacement")
    v = m.variable("v", 0, fixed=True, unit="m/s", description="velocity")
    contact = m.variable("contact", unit="N", description="force of the contact")
    damping = sl.if_else(v > 0, 1.98*np.sqrt(2*c*np.sqrt(x - gap))*v, 0)
    m.equation(contact == sl.if_else(x > gap, c*(x - gap)**1.5 + damping, 0))
    m.equation(sl.der(x) == v)
    m.equation(2*sl.der(v) == -4.1*v - 210.125*x - contact - 2*np.sin(14*m.time))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
