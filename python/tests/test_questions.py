"""Questions about a run: derivatives, linear systems, reasons of events, modes."""

import math
import pickle

import numpy as np
import pytest

import saltus as sl

SPRING = """
model Spring
  parameter Real k = 4;
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
  input Real F(start = 0);
  output Real y = 2*x;
equation
  der(x) = v;
  der(v) = F - k*x - 0.4*v;
end Spring;
"""
BALL = """
model Ball
  parameter Real g = 9.81, e = 0.7;
  Real h(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(h) = v;
  der(v) = -g;
  when h < 0 then
    reinit(v, -e*pre(v));
  end when;
end Ball;
"""


def test_derivatives_are_read_as_variables():
    run = sl.simulate(sl.loads(SPRING), stop=2.0, rtol=1e-9)
    assert np.allclose(run["der(x)"], run["v"], atol=1e-12)
    assert run.slope(0.5, "y") == pytest.approx(2.0 * run(0.5, "v"), abs=1e-7)
    assert run(0.5, "der(v)") == run.slope(0.5, "v")
    assert run.slope([0.1, 0.2]).shape == (len(run.names), 2)
    assert "der(x)" in run and "der(q)" not in run
    with pytest.raises(KeyError):
        run["der(q)"]
    with pytest.raises(RuntimeError):
        pickle.loads(pickle.dumps(run))["der(x)"]


def test_both_sides_of_an_event_have_slopes():
    run = sl.simulate(sl.loads(BALL), stop=0.6, rtol=1e-10, atol=1e-10)
    at = run.t == run.events[0]["t"]
    impact = math.sqrt(2 * 9.81)
    assert run["der(h)"][at] == pytest.approx([-impact, 0.7 * impact], rel=1e-8)


def test_a_linear_system_is_its_own_linearisation():
    lin = sl.linearise(sl.loads(SPRING), at=0.5)
    assert (lin.states, lin.inputs, lin.outputs) == (["x", "v"], ["F"], ["y"])
    assert lin.A == pytest.approx(np.array([[0, 1], [-4, -0.4]]), abs=1e-9)
    assert lin.B == pytest.approx(np.array([[0], [1]]), abs=1e-9)
    assert lin.C == pytest.approx(np.array([[2, 0]]), abs=1e-9)
    assert lin.D == pytest.approx(np.array([[0]]), abs=1e-9)
    assert lin.eigenvalues == pytest.approx(np.linalg.eigvals(lin.A)[np.argsort(-np.linalg.eigvals(lin.A).imag)])
    assert lin.stability == "stable" and lin.ok and "eigenvalues" in repr(lin)
    assert sum(lin.shares[0].values()) == pytest.approx(1.0)


def test_state_spaces_of_the_package_control():
    control = pytest.importorskip("control")  # it is in no package of Debian
    space = sl.linearise(sl.loads(SPRING), at=0.5).to_control()
    assert isinstance(space, control.StateSpace)
    assert space.dcgain() == pytest.approx(0.5)


def test_equilibria():
    found = sl.equilibria(sl.loads(SPRING), at=0.1, values={"F": 2.0})
    assert len(found) == 1 and found[0].found and found[0].admissible and not found[0].pseudo
    assert found[0].values["x"] == pytest.approx(0.5)
    assert "equilibrium" in repr(found[0])


def test_why_an_event_happens():
    run = sl.simulate(sl.loads(BALL), stop=1.5)
    reason = run.why(2)
    first = math.sqrt(2 / 9.81)
    effects = {p.name: p.derivative for p in reason.parameters}
    assert effects["e"] == pytest.approx(2 * first, rel=1e-5)
    assert reason.earlier[0].event == 1
    assert reason.earlier[0].derivative == pytest.approx(1 + (2 * 0.49 - 1) / 0.7, abs=1e-3)
    assert "h < 0 becomes true" in reason.text and "per delay of event 1" in str(reason)
    with pytest.raises(sl.UsageError):
        run.why(99)
    with pytest.raises(RuntimeError):
        pickle.loads(pickle.dumps(run)).why(1)


def test_check_lists_modes():
    found = sl.loads(BALL).check(stop=1.0)
    assert found["status"]["ok"]
    assert found["modes"][0]["kind"] == "explicit"
    assert sum(mode["time"] for mode in found["modes"]) == pytest.approx(1.0)
    assert all(mode["steps"] > 0 for mode in found["modes"])
