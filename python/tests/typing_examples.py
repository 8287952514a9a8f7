"""What users write, for the type checker."""

import numpy as np

import saltus as sl

m = sl.Model("ball")
h, v = m.variable("h", 10, unit="m"), m.variable("v", 0.0)
e = m.parameter("e", 0.9)
m.equation(sl.der(h) == v)
m.equation(sl.der(v) == -9.81)
m.when((h < 0) & (v < 0)).reset(v, -e * v)
run = sl.simulate(m, stop=20, rtol=1e-8, values={"e": 0.8})
height = run["h"].max() + run(3.0, "h")
kinds: list[str] = [event["kind"] for event in run.events]
steps = sl.Simulator(m, stop=1.0)
while steps.step():
    now: dict[str, float] = steps.values
out = sl.solve_ivp(lambda t, y: [y[1], -np.sin(y[0])], (0, 10), [1.0, 0.0], dense_output=True)
u = m.input("u", 0.5, curve="smooth")
switched: sl.BoolExpr = m.input("on", False)
run = sl.simulate(m, inputs={"u": lambda t: np.sin(t), "on": ([0.0, 1.0], [0.0, 1.0])})
steps.set_input("u", 1.0)
steps = sl.Simulator(m, from_state=steps.state())
sensitivities = sl.simulate_with_sensitivities(m, ["e", "h.start"], stop=5)
slope = sensitivities.final("h", "e") + sensitivities(1.0, "h", "e")
m.define(m.discrete("below", False), h < 0)
study = sl.sweep(m, {"e": np.linspace(0.5, 0.9, 10)}, collect={"top": ("max", h), "n": "count(h < 0)"}, stop=5)
top = study["top"].max()
sl.basin(m, {"h": [1.0, 2.0], "v": [0.0, 1.0]}, period="1/e", progress=lambda p: p["done"] < 10)
fitted: sl.Fit = sl.fit(m, {"h": ([0.1, 0.2], [9.9, 9.8])}, {"e": (0.8, 0, 1), "h.start": None}, sigma=0.01)
best: dict[str, float] = fitted.values
cost: sl.Functional = sl.final_value(h) + 0.5 * sl.integral("h**2") - sl.event_time("when h < 0", 2)
slopes = sl.gradient(m, cost, ["e"], stop=5).derivatives + 1.0
cycle = sl.find_cycle(m, period="1/e", variables=["h", "v"])
sizes = abs(cycle.multipliers).max() if cycle.stable else cycle.period
branch = sl.follow_cycle(m, {"e": (0.5, 0.9)}, section=("v", 0.0), transient=50)
folds: list[float] = [b.parameter for b in branch.bifurcations if b.kind == "fold"]
chaotic: bool = bool(sl.lyapunov_exponents(m, intervals=100).values[0] > 0)
m.export_fmu("ball.fmu", fmi=3, kind="both", stop=5.0)
fmu = sl.Fmu("other.fmu", values={"e": 0.5}, allow_code=True)
other: sl.Solution = sl.simulate(fmu, stop=fmu.experiment["stop"], inputs={"u": 1.0})
loaded = sl.sweep(sl.load("Ball.mo"), {"e": [0.5]})
