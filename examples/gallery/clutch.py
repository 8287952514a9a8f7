"""Two shafts; while the clutch is engaged they turn together: the index rises from 1 to 2."""

import saltus as sl

EXPERIMENT = {"stop": 4, "rtol": 1e-9}


def model() -> sl.Model:
    m = sl.Model("Clutch")
    J1, J2 = m.parameter("J1", 1, unit="kg.m2"), m.parameter("J2", 2, unit="kg.m2")
    drive, load = m.parameter("drive", 1, unit="N.m"), m.parameter("load", 0.5, unit="N.m")
    w1, w2 = m.variable("w1", 3, fixed=True, unit="rad/s"), m.variable("w2", 0, fixed=True, unit="rad/s")
    M = m.variable("M", unit="N.m", description="torque in the clutch")
    engaged = m.discrete("engaged", False)
    m.define(engaged, (m.time > 1) & (m.time < 3))
    m.equation(J1*sl.der(w1) == drive - M)
    m.equation(J2*sl.der(w2) == M - load)
    m.equation(sl.if_else(engaged, w1 - w2, M) == 0)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
