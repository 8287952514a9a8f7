"""A linear system of third order under relay feedback (Piiroinen and Kuznetsov, 4.2)."""

import numpy as np
import saltus as sl

EXPERIMENT = {"stop": 8, "rtol": 1e-10}


def model() -> sl.Model:
    m = sl.Model("RelayFeedback")
    zeta, omega, sigma = m.parameter("zeta", 0.05), m.parameter("omega", 25), m.parameter("sigma", 1)
    lam = m.parameter("lambda", 1)
    x = np.array([m.variable(f"x{k + 1}", start, fixed=True) for k, start in enumerate([0, 0.5, 1])])
    u = m.variable("u", description="the relay")
    A = np.array([[-(2*zeta*omega + lam), 1, 0], [-(2*zeta*omega*lam + omega**2), 0, 1], [-lam*omega**2, 0, 0]])
    b = np.array([1, -2*sigma, 1])
    m.equation(u == -np.sign(x[0]))
    for state, rate in zip(x, A @ x + b*u):
        m.equation(sl.der(state) == rate)
    return m


if __name__ == "__main__":
    print(sl.simulate(model(), **EXPERIMENT))
