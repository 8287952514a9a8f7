"""A vessel with an overflow pipe (Mehrmann and Wunderlich, example 1)."""

import saltus as sl

EXPERIMENT = {"stop": 5, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("Evaporator")
    Rb, Rp = m.parameter("Rb", 1), m.parameter("Rp", 0.5)                   # resistances of outlet and overflow
    I, C = m.parameter("I", 0.5), m.parameter("C", 15)                      # inertia of the overflow, capacity
    inflow = m.parameter("inflow", 0.25)
    L_th = m.parameter("L_th", 0.08, description="level of the overflow")
    p = m.variable("p", 0.5, fixed=True, description="momentum in the overflow pipe")
    L = m.variable("L", 0.079, fixed=True, description="level")
    overflow = L > L_th
    m.equation(I*sl.der(p) == -Rp*p + sl.if_else(overflow, L, 0))
    m.equation(C*sl.der(L) == -L/Rb - sl.if_else(overflow, p, 0) + inflow)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
