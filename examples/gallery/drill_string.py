"""Oil well drill string: two discs, dry friction on both (Piiroinen and Kuznetsov, 4.3)."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 60, "rtol": 1e-9}


def model() -> sl.Model:
    m = sl.Model("DrillString")
    u = m.parameter("u", 2, unit="V", description="input voltage")
    km, k = m.parameter("km", 3.5693), m.parameter("k", 0.078)              # motor constant, torsional stiffness
    Ju, Jl = m.parameter("Ju", 0.4765), m.parameter("Jl", 0.0326)           # inertias of the discs
    Tsup, Tsun, bu = m.parameter("Tsup", 0.3216), m.parameter("Tsun", 0.3026), m.parameter("bu", 1.9667)
    Tsl, T1, T2 = m.parameter("Tsl", 0.0940), m.parameter("T1", 0.0826), m.parameter("T2", -0.2910)
    beta1, beta2 = m.parameter("beta1", 6.3598), m.parameter("beta2", 0.0786)
    twist = m.variable("twist", 0, fixed=True, unit="rad", description="angle between the discs")
    upper = m.variable("upper", 2, fixed=True, unit="rad/s", description="speed of the upper disc")
    lower = m.variable("lower", 2, fixed=True, unit="rad/s", description="speed of the lower disc")
    friction_upper, friction_lower = m.variable("friction_upper"), m.variable("friction_lower")

    def resistance(speed):
        return Tsl + T1*(1 - 2/(1 + np.exp(beta1*speed))) + T2*(1 - 2/(1 + np.exp(beta2*speed)))

    m.equation(friction_upper == sl.if_else(upper > 0, Tsup + bu*upper, -Tsun + bu*upper))
    m.equation(friction_lower == sl.if_else(lower > 0, resistance(lower), -resistance(-lower)))
    m.equation(sl.der(twist) == upper - lower)
    m.equation(Ju*sl.der(upper) == km*u - k*twist - friction_upper)
    m.equation(Jl*sl.der(lower) == k*twist - friction_lower)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
