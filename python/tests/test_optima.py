"""Optimal controls with known answers: least energy and least time of a cart, bounces at given times."""

import pickle

import numpy as np
import pytest

import saltus as sl

CART = """
model Cart
  input Real u;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = u;
end Cart;
"""


def cart():
    return sl.loads(CART)


def test_least_energy():
    m = cart()
    found = sl.optimise(m, sl.integral("u**2"), controls={"u": 10}, end={"x": 1, "v": 0}, stop=1)
    assert found.ok and found.status == "optimal"
    assert found.objective == pytest.approx(12 / 0.99, abs=1e-6)
    assert found["u[1]"] == pytest.approx(found.controls["u"].values[0])
    assert [c.label for c in found.conditions] == ["x", "v"]
    assert found.solution is not None and found.solution(1.0, "x") == pytest.approx(1.0, abs=1e-6)
    run = sl.simulate(m, inputs=found.inputs, stop=found.stop, rtol=1e-9)
    assert run(1.0, "x") == pytest.approx(1.0, abs=1e-6)
    assert run(0.33, "v") == pytest.approx(found.solution(0.33, "v"), abs=1e-6)


def test_lines_and_bounds_for_all_times():
    control = sl.Control(6, curve="linear", lower=-20, upper=20)
    found = sl.optimise(cart(), sl.integral("u**2"), controls={"u": control}, end={"x": 1, "v": 0},
                        path={"v": (None, 1.3)}, stop=1)
    assert found.ok and found.objective > 12
    assert found.solution(np.linspace(0, 1, 2001), "v").max() <= 1.3 + 1e-5
    run = sl.simulate(cart(), inputs=found.inputs, stop=1, rtol=1e-9)
    assert run(1.0, "x") == pytest.approx(1.0, abs=1e-6)


def test_least_time():
    control = sl.Control(2, lower=-1, upper=1, free_lengths=True)
    found = sl.optimise(cart(), "time", controls={"u": control}, end={"x": 1, "v": 0}, free_stop=(3, 0.5, 10))
    assert found.stop == pytest.approx(2.0, abs=1e-5)
    assert found.controls["u"].times[1] == pytest.approx(1.0, abs=1e-4)


def test_models_of_python_and_events():
    m = sl.Model("ball")
    h, v, e = m.variable("h", 1.0, fixed=True), m.variable("v", 0.0, fixed=True), m.parameter("e", 0.5)
    m.equation(sl.der(h) == v)
    m.equation(sl.der(v) == -9.81)
    m.when(h < 0).reset(v, -e*v)
    found = sl.optimise(m, e, parameters={"e": (0.5, 0.1, 0.99)}, end={sl.event_time("when h < 0", 3): 1.2}, stop=1.5)
    first, share = np.sqrt(2 / 9.81), found["e"]
    assert first*(1 + 2*share + 2*share**2) == pytest.approx(1.2, abs=1e-5)


def test_what_is_infeasible_and_wrong():
    control = sl.Control(5, lower=-1, upper=1, guess=0)
    arguments = {"controls": {"u": control}, "end": {"x": 1, "v": 0}, "stop": 1, "shooting": "single"}
    with pytest.raises(sl.SearchError, match="infeasible"):
        sl.optimise(cart(), sl.integral("u**2"), **arguments)
    found = sl.optimise(cart(), sl.integral("u**2"), check=False, **arguments)
    assert found.status == "infeasible" and not found.ok and found.violation > 0.7
    assert "infeasible" in str(found) and "infeasible" in repr(found)
    assert str(pickle.loads(pickle.dumps(found.conditions))) == str(found.conditions)
    with pytest.raises(sl.UsageError, match="is no input"):
        sl.optimise(cart(), "x", controls={"w": 3}, stop=1)
    with pytest.raises(sl.UsageError, match="say when runs end"):
        sl.optimise(cart(), "x", controls={"u": 3})
    with pytest.raises(sl.UsageError, match="curve"):
        sl.Control(3, curve="cubic")
    with pytest.raises(sl.UsageError, match="shooting"):
        sl.optimise(cart(), "x", controls={"u": 3}, stop=1, shooting="both")
    with pytest.raises(sl.UsageError, match="is no condition"):
        sl.optimise(cart(), "x", controls={"u": 3}, stop=1, nominal={"v": 2})
    with pytest.raises(KeyError, match="was not free"):
        found["w"]


def test_a_closed_loop():
    m = sl.loads("""
model Mass
  parameter Real F = 0.2;
  input Real u;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = u - 0.8*x - 0.5*v - F*sign(v);
end Mass;""")
    cost = sl.integral("(x - 2)**2 + v**2 + 0.1*(u - 1.8)**2") + sl.final_value("(x - 2)**2 + v**2")
    controller = sl.Controller(m, cost, controls={"u": sl.Control(20, lower=-2, upper=2)}, stop=3, rtol=1e-7)
    state = {"x": 0.0, "v": 0.0}
    for _ in range(40):
        sample = controller.step(state)
        assert sample.why == "" and -2 <= sample.controls["u"] <= 2
        run = sl.simulate(m, values={**state, "F": 0.22}, inputs=sample.controls, stop=0.15, rtol=1e-9)
        state = {name: run(0.15, name) for name in state}
    assert state["x"] == pytest.approx(2, abs=0.1) and abs(state["v"]) < 0.02
    assert controller.plan["u"].values.size == 20
    with pytest.raises(sl.UsageError, match="sum of squares"):
        sl.Controller(m, "x", controls={"u": 3}, stop=1)
