"""Cycles, branches and Lyapunov exponents with known answers."""

import math
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from interrupting import interrupted
from optional import need, need_pyplot
from ticking import ticking

import saltus as sl

EXAMPLES = Path(os.environ["SALTUS_EXAMPLES"])
#: On its cycles q = x^2 + y^2 is constant with m + q - q^2 = 0, and the period is 2 pi.
CIRCLES = """
model Circles
  parameter Real m = 0.5;
  Real x(start = 1, fixed = true), y(start = 0, fixed = true), q = x^2 + y^2;
equation
  der(x) = x*(m + q - q^2)/10 - y;
  der(y) = y*(m + q - q^2)/10 + x;
end Circles;
"""
LAG = "model Lag parameter Real w = 2; Real x(start = 0, fixed = true); equation der(x) = sin(w*time) - x; end Lag;"
LINEAR = "model Linear Real x(start = 1, fixed = true), y(start = 1, fixed = true); " \
         "equation der(x) = 0.3*x; der(y) = -2*y; end Linear;"


def outer(m: float) -> float:
    """q on the stable cycle."""
    return (1 + math.sqrt(1 + 4 * m)) / 2


def multiplier(q: float) -> float:
    """r' = r (m + q - q^2)/10, linearised on the cycle, over a period."""
    return math.exp(2 * math.pi * (2 * q - 4 * q * q) / 10)


@pytest.fixture(scope="module")
def branch() -> sl.Branch:
    return sl.follow_cycle(sl.loads(CIRCLES), {"m": (0.5, -0.4)}, period_guess=6.0)


@pytest.mark.parametrize("period", [math.pi, "2*pi/w"], ids=["number", "expression"])
def test_a_forced_cycle_is_the_steady_state(period):
    # x = (sin wt - w cos wt)/(1 + w^2)
    found = sl.find_cycle(sl.loads(LAG), period=period)
    assert found.ok and found.status == "converged" and found.stable and found.message == ""
    assert found.period == pytest.approx(math.pi, abs=1e-12) and found.variables == ["x"]
    assert found.start == pytest.approx([-0.4], abs=1e-9) and found.values["x"] == found.start[0]
    assert found.multipliers == pytest.approx([math.exp(-math.pi)], abs=1e-9)
    assert found.monodromy.shape == (1, 1) and found.monodromy[0, 0] == pytest.approx(math.exp(-math.pi), abs=1e-9)
    assert found.solution(1.0, "x") == pytest.approx((math.sin(2) - 2 * math.cos(2)) / 5, abs=1e-9)
    assert found.residual < 1e-8 and found.iterations >= 1


def test_models_of_python_with_values_and_a_period_from_an_expression():
    m = sl.Model("lag")
    x, w = m.variable("x", 0.0, fixed=True), m.parameter("w", 5.0)
    m.equation(sl.der(x) == sl.sin(w * m.time) - x)
    found = sl.find_cycle(m, period=2 * math.pi / w, values={"w": 2.0})
    assert found.period == pytest.approx(math.pi) and found.start == pytest.approx([-0.4], abs=1e-9)


def test_a_free_cycle_and_its_multiplier():
    found = sl.find_cycle(sl.loads(CIRCLES), section=("y", 0.0), transient=30.0)
    q = outer(0.5)
    assert found.period == pytest.approx(2 * math.pi, abs=1e-9)
    assert abs(found.values["x"]) == pytest.approx(math.sqrt(q), abs=1e-9) and found.values["y"] == 0.0
    assert found.multipliers.dtype == complex and found.multipliers == pytest.approx([multiplier(q)], rel=1e-6)
    assert found.trivial_error < 1e-8
    assert repr(found).startswith("<Cycle of 'Circles': period 6.28318531, stable, multipliers 0.0")


def test_an_unstable_cycle_is_found():
    q = (1 - math.sqrt(1 - 4 * 0.2)) / 2  # the inner one, for m = -0.2
    found = sl.find_cycle(sl.loads(CIRCLES), period_guess=6.0, values={"m": -0.2, "x.start": 0.6})
    assert not found.stable and found.ok and found.multipliers == pytest.approx([multiplier(q)], rel=1e-6)
    assert "unstable" in repr(found)


def test_a_cycle_through_slides():
    # Shaw (1986): while the mass sticks a direction is lost
    found = sl.find_cycle(sl.load(EXAMPLES / "gallery" / "DryFriction.mo"), period="2*pi*r")
    assert found.multipliers[1] == 0.0 and found.multipliers[0] == pytest.approx(0.3563165932, abs=1e-8)
    assert [e["kind"] for e in found.solution.events] == ["slide_enter", "slide_exit"] * 2


def test_no_cycle_raises_and_keeps_what_there_is():
    with pytest.raises(sl.SearchError) as info:
        sl.find_cycle(sl.loads("model M Real x(start = 1, fixed = true); equation der(x) = 1; end M;"), period=1.0)
    result = info.value.result
    assert isinstance(result, sl.Cycle) and not result.ok and not result.stable
    assert info.value.status == result.status and result.message in str(info.value)
    assert repr(result).startswith(f"<Cycle of 'M': {result.status}: ")
    with pytest.raises(RuntimeError, match="no cycle to draw"):
        sl.Cycle("M", "failed", "why", 0.0, [], np.zeros(0), 0.0, 0, np.zeros((0, 0)), np.zeros(0), 0.0, None).plot()


@pytest.mark.parametrize("options, text", [
    ({}, "period"), ({"period": 1.0, "period_guess": 2.0}, "period"), ({"period": -1.0}, "must be positive"),
    ({"period": "2*pi/ww"}, "did you mean 'w'"), ({"section": ("xx", 0.0), "transient": 5.0}, "did you mean 'x'"),
    ({"section": "x"}, "a variable and its value"), ({"period": 1.0, "variables": ["z"]}, "'z'")])
def test_wrong_searches_say_what_is_wrong(options, text):
    with pytest.raises(sl.Error, match=text):
        sl.find_cycle(sl.loads(LAG), **options)


def test_stop_does_not_count():
    with pytest.raises(TypeError, match="last a period"):
        sl.find_cycle(sl.loads(LAG), period=1.0, stop=5.0)


def test_a_branch_goes_round_its_fold(branch):
    assert branch.status == "ended" and not branch.ok and "equilibrium" in branch.message
    (fold,) = branch.bifurcations
    assert fold.kind == "fold" and fold.parameter == pytest.approx(-0.25, abs=1e-8) and fold.uncertainty < 1e-6
    assert branch.points[fold.behind].stable and not branch.points[fold.behind + 1].stable
    q = (1 + np.where(branch.stable, 1, -1) * np.sqrt(1 + 4 * branch.parameters)) / 2
    near = np.abs(branch.parameters + 0.25) > 1e-3  # at the fold the two are one
    starts = branch.values("x", "start") ** 2 + branch.values("y", "start") ** 2
    assert starts[near] == pytest.approx(q[near], abs=1e-6)
    # extrema are those of 300 samples: next to one, cos(pi/300) of it is left
    assert branch.values("x")[near] == pytest.approx(np.sqrt(q)[near], rel=1 - math.cos(math.pi / 300) + 1e-6)
    assert branch.values("x", "lowest")[near] == pytest.approx(-np.sqrt(q)[near], rel=6e-5)
    assert branch.periods == pytest.approx(2 * math.pi, abs=1e-7)
    sizes = [abs(p.multipliers).max() for p in branch.points]
    assert np.array(sizes)[near] == pytest.approx(np.array([multiplier(v) for v in q])[near], rel=1e-4)
    assert repr(branch).endswith("fold at -0.25>") and repr(fold) == "<Bifurcation: fold at -0.25>"
    with pytest.raises(KeyError, match="no variable of the state"):
        branch.values("q")
    with pytest.raises(ValueError, match="show is one of"):
        branch.values("x", "middle")


def test_the_onset_of_sliding():
    model = sl.load(EXAMPLES / "gallery" / "DryFriction.mo")
    found = sl.follow_cycle(model, {"r": (1.5, 2.5)}, period="2*pi*r", transient=200.0)
    assert found.ok and [b.kind for b in found.bifurcations] == ["sliding_onset"]
    assert found.bifurcations[0].parameter == pytest.approx(1.8665236381, abs=1e-8)


def test_branches_as_tables_and_pickles(branch):
    again = pickle.loads(pickle.dumps(branch))
    assert (again.parameters == branch.parameters).all() and again.bifurcations[0].kind == "fold"
    pandas = need("pandas")
    table = branch.to_pandas()
    assert isinstance(table, pandas.DataFrame) and len(table) == len(branch.points)
    assert list(table)[:4] == ["m", "period", "stable", "largest_multiplier"] and "highest(x)" in table
    cycle = sl.find_cycle(sl.loads(LAG), period=math.pi)
    assert pickle.loads(pickle.dumps(cycle)).multipliers == cycle.multipliers


def test_pictures_of_cycles_and_branches(branch):
    plt = need_pyplot()
    panel = branch.plot()
    labels = [artist.get_label() for artist in panel.lines]
    assert labels == ["stable", "unstable", "fold at -0.25"] and panel.get_ylabel() == "highest x"
    drawn = panel.lines[0].get_ydata()
    assert (np.isfinite(drawn) == branch.stable).all()
    assert branch.plot("y", show="start").get_ylabel() == "y at the begin"
    cycle = sl.find_cycle(sl.loads(LAG), period=math.pi)
    assert len(cycle.plot("x")) == 1 and cycle.plot(phase=("x", "x")).get_xlabel() == "x"
    plt.close("all")


def test_wrong_branches_say_what_is_wrong():
    model = sl.loads(CIRCLES)
    for over in ({}, {"m": (0.5, -0.4), "x": (0, 1)}, {"m": 0.5}):
        with pytest.raises(sl.UsageError, match="over"):
            sl.follow_cycle(model, over, period_guess=6.0)
    with pytest.raises(sl.Error, match="'mm'"):
        sl.follow_cycle(model, {"mm": (0.5, -0.4)}, period_guess=6.0)
    with pytest.raises(sl.SearchError, match="too_many_points") as info:
        sl.follow_cycle(model, {"m": (0.5, -0.4)}, period_guess=6.0, max_points=5)
    assert len(info.value.result.points) == 5 and not sl.follow_cycle(
        model, {"m": (0.5, -0.4)}, period_guess=6.0, max_points=5, check=False).ok


def test_exponents_of_a_linear_system_are_its_eigenvalues():
    found = sl.lyapunov_exponents(sl.loads(LINEAR), interval=0.5, intervals=40)
    assert found.ok and found.values == pytest.approx([0.3, -2.0], abs=1e-8) and (found.errors < 1e-6).all()
    assert found.time == pytest.approx(20.0) and found.t_end == pytest.approx(20.0)
    assert repr(found).startswith("<LyapunovExponents of 'Linear': 0.3")


def test_exponents_of_chaos_and_of_slides():
    # the sum is the divergence of the field, -(10 + 1 + 8/3); the largest is 0.9056 (Sprott 2003)
    lorenz = sl.lyapunov_exponents(sl.load(EXAMPLES / "models" / "Lorenz.mo"), transient=20.0, intervals=400)
    assert lorenz.values.sum() == pytest.approx(-(11 + 8 / 3), abs=1e-4)
    assert lorenz.values[0] == pytest.approx(0.9056, abs=4 * lorenz.errors[0]) and lorenz.errors[0] < 0.05
    friction = sl.lyapunov_exponents(sl.load(EXAMPLES / "gallery" / "DryFriction.mo"), transient=20.0, interval=7.0,
                                     intervals=100)
    expected = math.log(0.3563165932) / (6 * math.pi)  # of the multiplier, over the period
    assert friction.values[1] == -math.inf and friction.values[0] == pytest.approx(expected, abs=4 * friction.errors[0])
    assert "-infinity" in repr(friction)


def test_exponents_of_a_run_that_ends():
    ends = sl.loads("model M Real x(start = 1, fixed = true); equation der(x) = x; "
                    "when x > 10 then terminate(\"far\"); end when; end M;")
    with pytest.raises(sl.SearchError) as info:
        sl.lyapunov_exponents(ends)
    assert info.value.result.status == "no_derivative" and info.value.result.t_end < 1000.0
    with pytest.raises(sl.UsageError, match="interval"):
        sl.lyapunov_exponents(ends, interval=-1.0)


def test_other_threads_go_on_and_ctrl_c_ends_searches():
    lorenz = sl.load(EXAMPLES / "models" / "Lorenz.mo")
    with ticking() as ticks, interrupted():
        sl.lyapunov_exponents(lorenz, intervals=1_000_000)
    assert len(ticks) > 10
    with interrupted():
        sl.find_cycle(lorenz, section=("z", 27.0), transient=1e6, max_steps=10**9)
