"""Values from outside, and snapshots of runs."""

import math
import os
import pickle
import signal
import threading

import numpy as np
import pytest
from models import ball
from optional import need

import saltus as sl

TANK = """
model Tank
  input Real q(start = 0.5);
  input Boolean open;
  Real level(start = 1, fixed = true);
equation
  der(level) = q - (if open then 1 else 0);
end Tank;
"""


def follower(curve: str = "line") -> sl.Model:
    """x' = u from x(0) = 0: x is the integral of the input."""
    m = sl.Model("follower")
    u, x = m.input("u", 0.5, curve=curve, unit="m/s"), m.variable("x", 0.0, fixed=True)
    m.equation(sl.der(x) == u)
    return m


def test_an_input_without_values_keeps_its_start_value_and_the_status_says_so():
    run = sl.simulate(follower(), stop=2.0)
    assert run(2.0, "x") == pytest.approx(1.0) and "u" in run.status["message"]
    assert follower().compile().inputs == ["u"]


@pytest.mark.parametrize("value, integral", [
    (2.0, 6.0), (np.float32(2.0), 6.0), (([0.0, 3.0], [0.0, 3.0]), 4.5),
    ((np.array([1.0, 1.0]), np.array([0, 1])), 2.0),
    (sl.InputSignal.table([0.0, 1.0, 2.0], [1.0, 2.0, 4.0], "steps"), 7.0), (sl.InputSignal.constant(-1.0), -3.0)])
def test_values_of_an_input(value, integral):
    run = sl.simulate(follower(), stop=3.0, inputs={"u": value})
    assert run(3.0, "x") == pytest.approx(integral, abs=1e-6)  # the tolerance of the run


def test_a_pandas_series_is_a_table():
    pandas = need("pandas")
    run = sl.simulate(follower(), stop=3.0, inputs={"u": pandas.Series([0.0, 3.0], index=[0.0, 3.0])})
    assert run(3.0, "x") == pytest.approx(4.5, abs=1e-6)


def test_a_function_of_time():
    run = sl.simulate(follower("smooth"), stop=3.0, rtol=1e-8, inputs={"u": math.cos})
    assert run(3.0, "x") == pytest.approx(math.sin(3.0), abs=1e-7)
    jump = sl.InputSignal.function(lambda t: 1.0 if t >= 1.0 else 0.0, breaks=[1.0])
    assert sl.simulate(follower("smooth"), stop=3.0, inputs={"u": jump})(3.0, "x") == pytest.approx(2.0, abs=1e-6)


def test_functions_that_raise_or_return_no_number():
    def bad(t):
        raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        sl.simulate(follower("smooth"), inputs={"u": bad})
    with pytest.raises(ValueError, match="must return one number"):
        sl.simulate(follower("smooth"), inputs={"u": lambda t: "much"})
    with pytest.raises(ValueError, match="must return one number"):
        sl.simulate(follower("smooth"), inputs={"u": lambda t: [1.0, 2.0]})


@pytest.mark.parametrize("inputs, error, text", [
    ({"v": 1.0}, ValueError, "v"), ({"u": "much"}, TypeError, "the input 'u' needs a number"),
    ({"u": ([0.0, 1.0], [0.0])}, ValueError, "the input 'u'.*2 times and 1 values"),
    ({"u": ([1.0, 0.0], [0.0, 1.0])}, ValueError, "the input 'u'.*goes back in row 2"),
    ({"u": ([0.0], [1.0], [2.0])}, TypeError, "the input 'u' needs"), ({"u": math.nan}, ValueError, "the input 'u'"),
    ({"u": math.cos}, ValueError, "smooth")])
def test_inputs_that_make_no_sense(inputs, error, text):
    with pytest.raises(error, match=text):
        sl.simulate(follower(), inputs=inputs)


def test_curves_that_do_not_exist():
    with pytest.raises(ValueError, match='"held", "line" or "smooth"'):
        sl.Model().input("u", curve="spline")
    with pytest.raises(ValueError, match='"lines" or "steps"'):
        sl.InputSignal.table([0.0], [1.0], "splines")


def test_inputs_of_modelica_models():
    run = sl.simulate(sl.loads(TANK), stop=4.0, inputs={"q": ([0.0, 2.0, 2.0], [0.0, 2.0, 1.0]),
                                                        "open": ([0.0, 3.0], [False, True])})
    assert run(2.0, "level") == pytest.approx(3.0, abs=1e-6) and run(4.0, "level") == pytest.approx(4.0, abs=1e-6)
    assert [e["t"] for e in run.events] == pytest.approx([2.0, 3.0])


def test_inputs_set_step_by_step():
    m = sl.Model("two")
    u, on, x = m.input("u"), m.input("on", False), m.variable("x", 0.0, fixed=True)
    m.equation(sl.der(x) == sl.if_else(on, u, 0.0))
    run = sl.Simulator(m, stop=4.0)
    run.advance_to(1.0)
    run.set_inputs({"u": (0.0, 2.0), "on": True})
    run.advance_to(2.0)
    assert run.values["x"] == pytest.approx(1.0, abs=1e-6)
    run.set_input("u", 3.0)
    assert run.finish()(4.0, "x") == pytest.approx(7.0, abs=1e-6)
    run = sl.Simulator(m, stop=1.0)
    with pytest.raises(ValueError, match="x"):
        run.set_input("x", 1.0)


def test_a_run_goes_on_from_a_snapshot(tmp_path):
    whole = sl.simulate(ball(), stop=5.0)
    first = sl.Simulator(ball(), stop=5.0)
    first.advance_to(3.0)
    state = first.state()
    assert state.t == 3.0 and state.model == "ball" and "3.0" in repr(state)
    path = str(tmp_path / "ball.state")
    state.save(path)
    for again in (state, pickle.loads(pickle.dumps(state)), sl.load_state(path)):
        assert again == state
        run = sl.Simulator(ball(), stop=5.0, from_state=again).finish()
        assert run.t_start == 3.0 and run(5.0) == pytest.approx(whole(5.0), abs=1e-5)  # tolerance 1e-6, in steps anew
    with pytest.raises(ValueError, match="follower"):
        sl.Simulator(follower(), from_state=state)


def test_forks_go_their_own_ways():
    run = sl.Simulator(follower(), stop=4.0)
    run.advance_to(1.0)
    other = run.fork()
    other.set_input("u", 0.0)
    assert run.finish()(4.0, "x") == pytest.approx(2.0) and other.finish()(4.0, "x") == pytest.approx(0.5)
    run = sl.Simulator(follower(), stop=4.0)
    run.advance_to(1.0)
    run.forget_past()
    assert run.finish().t_start == 1.0


def test_ctrl_c_ends_a_run_in_steps():
    m = sl.loads("model L Real x(start=1),y(start=1),z(start=1); equation der(x)=10*(y-x); der(y)=x*(28-z)-y; "
                 "der(z)=x*y-8/3*z; end L;")
    run = sl.Simulator(m, stop=1e6, rtol=1e-9, keep_steps=False, max_steps=10**9)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run.finish()
    timer.join()
