"""A room whose heating is switched between two temperatures (DISODE45, example 6)."""

import saltus as sl

EXPERIMENT = {"stop": 20, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("RoomHeating")
    K, u = m.parameter("K", 0.1), m.parameter("u", 2)                       # heat loss, heat of the source
    T_outside = m.parameter("T_outside", 18, unit="degC")
    T_low, T_high = m.parameter("T_low", 22, unit="degC"), m.parameter("T_high", 23.5, unit="degC")
    T = m.variable("T", 15, fixed=True, unit="degC", description="temperature")
    on = m.discrete("on", True)
    m.define(on, (T < T_low) | m.pre(on) & (T < T_high))
    m.equation(sl.der(T) == -K*(T - T_outside) + sl.if_else(on, u, 0))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
