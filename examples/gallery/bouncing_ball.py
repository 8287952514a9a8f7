"""A ball that loses a tenth of its speed at each impact (DISODE45, example 5)."""

import saltus as sl

EXPERIMENT = {"stop": 20, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("BouncingBall")
    e = m.parameter("e", 0.9, description="coefficient of restitution")
    g = m.parameter("g", 9.8, unit="m/s2", description="gravity")
    h = m.variable("h", 10, fixed=True, unit="m", description="height")
    v = m.variable("v", 0, fixed=True, unit="m/s", description="velocity")
    m.equation(sl.der(h) == v)
    m.equation(sl.der(v) == -g)
    m.when(h < 0).reset(v, -e*v)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
