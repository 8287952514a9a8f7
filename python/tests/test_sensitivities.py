"""Derivatives of runs beside exact ones and difference quotients; refusals where there are none."""

import math
import pickle

import numpy as np
import pytest
from models import BALL, ball

import saltus as sl

G, E, H0 = 9.8, 0.9, 10.0
FIRST = math.sqrt(2 * H0 / G)  # the first bounce
TIGHT = {"rtol": 1e-9, "atol": 1e-11}


@pytest.fixture(scope="module")
def bounces() -> sl.SensitivityRun:
    return sl.simulate_with_sensitivities(ball(), ["e", "h.start"], stop=3.0, **TIGHT)


def test_derivatives_have_their_exact_values(bounces):
    # before the bounce h = h0 - g t^2/2; after it h = e g t1 (t - t1) - g (t - t1)^2/2 with t1 = sqrt(2 h0/g)
    moves = 1 / (G * FIRST)
    assert bounces(1.0, "h", "h.start") == pytest.approx(1.0, abs=1e-8)
    assert bounces(1.0, "h", "e") == pytest.approx(0.0, abs=1e-8)
    assert bounces(3.0, "h", "e") == pytest.approx(G * FIRST * (3 - FIRST), abs=1e-7)
    assert bounces(3.0, "v", "h.start") == pytest.approx(moves * G * (E + 1), abs=1e-7)
    assert bounces.event_times == pytest.approx(np.array([[0.0, moves]]), abs=1e-8)
    t = bounces.events[0]["t"]
    assert bounces(t, "h", "h.start", before=True) == pytest.approx(1.0, abs=1e-8)
    assert bounces(t, "h", "h.start") == pytest.approx(-E * G * FIRST * moves, abs=1e-7)
    assert bounces.end == 3.0 and bounces.why == "" and bounces.parameters == ["e", "h.start"]


def test_shapes(bounces):
    assert bounces(1.0).shape == (2, 2) and bounces(1.0, "h").shape == (2,) and bounces(1.0, "h", "e").shape == ()
    assert bounces(1.0, parameter="e").shape == (2,) and bounces(np.zeros((3, 4))).shape == (2, 2, 3, 4)
    assert (bounces([0.5, 2.0])[1, 0] == bounces([0.5, 2.0], "v", "e")).all()
    assert (bounces.final() == bounces(3.0)).all() and bounces.final("h", "e") == bounces.final()[0, 0]
    assert (bounces.final("v") == bounces.final()[1]).all() and bounces.final(parameter="e").shape == (2,)
    assert sl.simulate_with_sensitivities(ball(), ["e"], stop=1.0).event_times.shape == (0, 1)


def test_arrays_stand_beside_those_of_the_run(bounces):
    column = bounces["v", "e"]
    assert column.shape == bounces.solution.t.shape
    k = np.flatnonzero(np.diff(bounces.solution.t) == 0)[0]  # the bounce: before, after
    assert column[k] == pytest.approx(0.0, abs=1e-8) and column[k + 1] == pytest.approx(G * FIRST, abs=1e-7)


def test_the_run_is_the_one_without_sensitivities(bounces):
    alone = sl.simulate(ball(), stop=3.0, **TIGHT)
    assert (bounces.solution.t == alone.t).all() and (bounces.solution.values == alone.values).all()


def test_errors_that_are_not_controlled():
    m = sl.Model("decay")
    p, x = m.parameter("p", 0.0), m.variable("x", 1.0)
    m.equation(sl.der(x) == p * sl.sin(20 * m.time))  # x stays 1 at p = 0: steps as long as they please
    exact = (1 - math.cos(40.0)) / 20
    errors, runs = [], []
    for control in (True, False):
        run = sl.simulate_with_sensitivities(m, ["p"], stop=2.0, control=control, **TIGHT)
        errors.append(abs(float(run.final("x", "p")) - exact))
        runs.append(run.solution)
    assert errors[0] < 1e-8 and errors[1] > 1e-4
    assert (runs[0].t == runs[1].t).all() and (runs[0].values == runs[1].values).all()


def test_models_of_all_kinds_with_values_and_options():
    for model in (sl.loads(BALL), ball(), ball().compile()):
        run = sl.simulate_with_sensitivities(model, ["e"], values={"e": 0.5}, stop=2.5, **TIGHT)
        assert run.final("v", "e") == pytest.approx(G * FIRST, abs=1e-6)
        assert run.events[0]["smoothness"] == "smooth" and run.events[0]["text"] == ""


def test_an_end_that_moves():
    m = sl.Model("throw")
    angle = m.parameter("angle", 0.6)
    x, y, w = (m.variable(name, 0.0, fixed=True) for name in "xyw")
    m.start(w, 10 * sl.sin(angle))
    m.equation(sl.der(x) == 10 * sl.cos(angle))
    m.equation(sl.der(y) == w)
    m.equation(sl.der(w) == -9.81)
    m.when(y < 0).terminate("landed")
    run = sl.simulate_with_sensitivities(m, ["angle"], stop=10.0, **TIGHT)
    assert run.solution.status["code"] == "terminated"
    assert run.final("x", "angle") == pytest.approx(200 * math.cos(1.2) / 9.81, abs=1e-6)  # x = 100 sin(2 angle)/g


def test_difference_quotients_through_slides():
    text = """
    model StickSlip
      parameter Real mu = 0.4;
      Real v1(start = 0, fixed = true), v2(start = 0, fixed = true), x(start = 0, fixed = true);
    equation
      der(v1) = sin(time) - mu*sign(v1 - v2);
      der(v2) = mu*sign(v1 - v2);
      der(x) = v1 - v2;
    end StickSlip;"""
    model, h = sl.loads(text), 1e-4
    run = sl.simulate_with_sensitivities(model, ["mu"], stop=5.0, rtol=1e-10, atol=1e-12)
    above, below = (sl.simulate(model, stop=5.0, rtol=1e-10, atol=1e-12, values={"mu": 0.4 + d}) for d in (h, -h))
    t = np.array([1.5, 2.5, 3.5, 4.5])  # slipping, slipping, sticking, slipping
    names = run.solution.names
    # the error of the quotient is of the size h^2, that of the derivative some tolerances
    assert run(t, parameter="mu") == pytest.approx((above(t, names) - below(t, names)) / (2 * h), abs=1e-6)
    moved = [a["t"] - b["t"] for a, b in zip(above.events, below.events)]
    assert run.event_times[:, 0] == pytest.approx(np.array(moved) / (2 * h), abs=1e-6)


def together() -> sl.Model:
    """Two guards are zero at t = 1, x0 decides which of them is first, and w depends on that."""
    m = sl.Model("together")
    x0 = m.parameter("x0", 0.0)
    x, y, w = (m.variable(name, 0.0, fixed=True) for name in "xyw")
    v = m.variable("v", 1.0, fixed=True)
    m.start(x, x0)
    for z, slope in ((x, 1), (y, 1), (v, 0), (w, 0)):
        m.equation(sl.der(z) == slope)
    m.when(x > 1).reset(v, 2 * v)
    m.when(y > 1).reset(w, v)
    return m


def test_behind_an_event_without_derivative_there_are_none():
    run = sl.simulate_with_sensitivities(together(), ["x0"], stop=3.0, rtol=1e-9)
    assert "x > 1" in run.why and run.end == pytest.approx(1.0, abs=1e-9) and "up to t = 1: " in repr(run)
    assert run(0.5, "x", "x0") == pytest.approx(1.0, abs=1e-9)
    assert run.events[-1]["smoothness"] == "undefined" and run.events[-1]["text"] == run.why
    assert math.isnan(run.event_times[-1, 0])
    with pytest.raises(sl.UsageError, match="there are sensitivities from 0 to 1.*, not at 2: .*x0"):
        run(2.0)
    with pytest.raises(sl.UsageError, match="no sensitivities at the end of the run"):
        run.final()
    with pytest.raises(sl.UsageError, match="there are sensitivities from"):
        run["x", "x0"]


def test_names_that_make_no_sense(bounces):
    with pytest.raises(sl.Error, match="did you mean 'e'"):
        sl.simulate_with_sensitivities(ball(), ["ee"], stop=1.0)
    with pytest.raises(TypeError, match=r"for example \['e'\]"):
        sl.simulate_with_sensitivities(ball(), "e", stop=1.0)
    with pytest.raises(sl.UsageError, match="name something to differentiate by"):
        sl.simulate_with_sensitivities(ball(), [], stop=1.0)
    with pytest.raises(KeyError, match="not differentiated by 'h.stat'; did you mean 'h.start'"):
        bounces(1.0, "h", "h.stat")
    with pytest.raises(KeyError, match="there is no variable 'hh'"):
        bounces(1.0, "hh")
    with pytest.raises(TypeError, match="variable"):
        bounces["h"]
    with pytest.raises(TypeError, match="no option 'tolerance'"):
        sl.simulate_with_sensitivities(ball(), ["e"], tolerance=1e-6)


def test_a_failed_run_raises_with_its_result():
    m = sl.Model("blow up")
    x, k = m.variable("x", 1.0, fixed=True), m.parameter("k", 1.0)
    m.equation(sl.der(x) == k * x * x)
    with pytest.raises(sl.RunError) as info:
        sl.simulate_with_sensitivities(m, ["k"], stop=2.0)
    assert info.value.solution["x"][-1] > 1e3
    run = sl.simulate_with_sensitivities(m, ["k"], stop=2.0, check=False)
    assert not run.solution.ok
    assert run(0.5, "x", "k") == pytest.approx(2.0, rel=1e-4)  # x = 1/(1 - k*t)


def test_sensitivities_do_not_pickle(bounces):
    with pytest.raises(TypeError, match="pickle the arrays"):
        pickle.dumps(bounces)


def test_derivatives_of_one_side_are_flagged():
    model = sl.loads("model M parameter Real c = 1; Real x(start = 0, fixed = true), y(start = 0, fixed = true); "
                     "equation der(x) = 1; der(y) = if x > c then 3 else 1; end M;")
    run = sl.simulate_with_sensitivities(model, ["c"], stop=1.0, **TIGHT)
    assert run.final_smoothness("y", "c") == "one_sided"
    assert run.final_smoothness("x", "c") == "smooth"
    assert run.smoothness(0.5, "c") == "smooth"
    assert "stop time" in run.remark("c")
    later = sl.simulate_with_sensitivities(model, ["c"], stop=2.0, **TIGHT)
    assert later.final_smoothness("y", "c") == "smooth" and later.remark("c") == ""
    assert later.events[0]["dt_smoothness"] == ["smooth"]
