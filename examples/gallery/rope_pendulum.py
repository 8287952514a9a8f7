"""A ball on a rope: it flies while the rope is slack and swings while it is taut."""

import saltus as sl

EXPERIMENT = {"stop": 3, "rtol": 1e-9}


def model() -> sl.Model:
    m = sl.Model("RopePendulum")
    g = m.parameter("g", 9.81, unit="m/s2", description="gravity")
    R = m.parameter("R", 1, unit="m", description="length of the rope")
    x, y = m.variable("x", 0.6, fixed=True, unit="m"), m.variable("y", 0.2, fixed=True, unit="m")
    vx, vy = m.variable("vx", 0, fixed=True, unit="m/s"), m.variable("vy", -6, fixed=True, unit="m/s")
    F = m.variable("F", unit="1/s2", description="force of the rope per mass and length")
    s = m.variable("s", 1, description="what is left of the rope while it is slack, minus its force while it is taut")
    m.equation(sl.der(x) == vx)
    m.equation(sl.der(y) == vy)
    m.equation(sl.der(vx) == -F*x)
    m.equation(sl.der(vy) == -F*y - g)
    m.equation(R**2 - x**2 - y**2 == sl.if_else(s > 0, s, 0))
    m.equation(F == sl.if_else(s > 0, 0, -s))
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
