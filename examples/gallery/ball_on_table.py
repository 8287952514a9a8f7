"""A ball on a vibrating table: it bounces, comes to rest on the table, and is thrown up again."""

import math

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 3, "rtol": 1e-9}


def model() -> sl.Model:
    m = sl.Model("BallOnTable")
    g = m.parameter("g", 10, unit="m/s2", description="gravity")
    A = m.parameter("A", 0.3, unit="m", description="amplitude of the table")
    w = m.parameter("w", 2*math.pi, unit="rad/s", description="frequency of the table")
    e = m.parameter("e", 0.3, description="coefficient of restitution")
    h = m.variable("h", 0.01, fixed=True, unit="m", description="height of the ball")
    v = m.variable("v", 0, fixed=True, unit="m/s", description="velocity of the ball")
    table = m.variable("table", unit="m", description="height of the table")
    speed = A*w*np.cos(w*m.time)
    m.equation(table == A*np.sin(w*m.time))
    m.equation(sl.der(h) == v)
    m.equation(sl.der(v) == -g)
    m.when(h < table).reset(v, speed - e*(v - speed))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
