"""A driven oscillator that hits a wall (Thompson and Ghaffari 1982)."""

import saltus as sl

EXPERIMENT = {"stop": 40, "rtol": 1e-9}


def model() -> sl.Model:
    m = sl.Model("ImpactOscillator")
    omega = m.parameter("omega", 2.8, description="frequency of the force")
    e = m.parameter("e", 0.8, description="coefficient of restitution")
    x = m.variable("x", 0.1, fixed=True, description="distance from the wall")
    v = m.variable("v", 0, fixed=True, description="velocity")
    m.equation(sl.der(x) == v)
    m.equation(sl.der(v) == sl.sin(omega*m.time) - x)
    m.when(x < 0).reset(v, -e*v)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
