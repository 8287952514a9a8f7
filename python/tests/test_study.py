"""Studies beside exact answers."""

import math
import os
import pickle
import signal
import threading

import numpy as np
import pytest
from models import BALL, ball
from optional import need, need_pyplot
from ticking import ticking

import saltus as sl

RATES = np.array([0.5, 1.0, 2.0, 4.0])
NAMES = "model Names parameter Real k = 2; Real x[2](start = {1, 0.5}, each fixed = true); Boolean on = x[1] < 0.5; " \
        "equation der(x[1]) = -k*x[1]; der(x[2]) = 0; end Names;"


def decay() -> sl.Model:
    m = sl.Model("decay")
    x, k = m.variable("x", 1.0, fixed=True), m.parameter("k", 1.0)
    m.equation(sl.der(x) == -k * x)
    return m


def oscillator() -> sl.Model:
    m = sl.Model("oscillator")
    x, v, w = m.variable("x", 1.0, fixed=True), m.variable("v", 0.0, fixed=True), m.parameter("w", 2.0)
    m.equation(sl.der(x) == w * v)
    m.equation(sl.der(v) == -w * x)
    return m


def test_other_programs_read_a_stored_study(tmp_path):
    zarr, xarray = need("zarr"), need("xarray")
    study = sl.bifurcation(oscillator(), {"w": [1.0, 2.0, 3.0]}, period=0.5, transient=1, keep=4, variables=["x", "v"],
                           store=tmp_path / "o.zarr")
    group = zarr.open(str(tmp_path / "o.zarr"), mode="r")
    for name in study.names:
        assert (group[name][:] == study[name]).all() and group[name].shape == study[name].shape, name
    data = xarray.open_zarr(str(tmp_path / "o.zarr"), consolidated=True)
    assert data["x"].dims == ("member", "sample") and (data["x"].values == study["x"]).all()
    assert (data.coords["w"].values == [1.0, 2.0, 3.0]).all() and int(data["status"][0]) == 0


def test_damaged_numbers_are_refused(tmp_path):
    store = tmp_path / "decay.zarr"
    expected = sl.sweep(decay(), {"k": RATES}, stop=1.0, store=store)["final(x)"]
    assert (sl.open_study(store)["final(x)"] == expected).all()
    chunk = store / "final(x)" / "0"
    data = bytearray(chunk.read_bytes())
    data[5] ^= 16
    chunk.write_bytes(data)
    with pytest.raises(sl.UsageError, match="0' is damaged: its bytes are not those"):
        sl.open_study(store)
    assert (sl.sweep(decay(), {"k": RATES}, stop=1.0, store=store)["final(x)"] == expected).all()
    assert (sl.open_study(store)["final(x)"] == expected).all()


def test_what_is_collected_has_its_exact_value():
    wanted = ["final(x)", "min(x)", "max(2*x)", "mean(x)", "count(x < 0.5)", "first(x < 0.5)"]
    study = sl.sweep(decay(), {"k": RATES}, stop=1.0, rtol=1e-9, collect=wanted)
    assert study.collected == wanted and study.ok and study.shape == (4,) and (study.axes["k"] == RATES).all()
    assert study["final(x)"] == pytest.approx(np.exp(-RATES), abs=1e-8)
    assert study["min(x)"] == pytest.approx(np.exp(-RATES), abs=1e-8)
    assert study["max(2*x)"] == pytest.approx(2.0)
    assert study["mean(x)"] == pytest.approx((1 - np.exp(-RATES)) / RATES, abs=1e-8)
    assert list(study["count(x < 0.5)"]) == [0, 1, 1, 1]
    assert study["first(x < 0.5)"][1:] == pytest.approx(math.log(2.0) / RATES[1:], abs=1e-8)
    assert math.isnan(study["first(x < 0.5)"][0])


def test_expressions_of_python_can_be_collected():
    m = decay()
    study = sl.sweep(m, {"k": RATES}, stop=1.0, collect={"half": ("final", m["x"] / 2), "n": ("count", m["x"] < 0.5),
                                                         "top": "max(x)"})
    assert study["half"] == pytest.approx(np.exp(-RATES) / 2, abs=1e-5) and list(study["n"]) == [0, 1, 1, 1]
    assert m.variable_names == ["x"], "a study leaves the model as it is"


def test_a_grid_has_the_shape_of_its_axes_and_default_results():
    study = sl.sweep(sl.loads(BALL), {"e": [0.5, 0.7, 0.9], "h": [1.0, 10.0]}, stop=1.0, values={"v": -1.0})
    assert study.shape == (3, 2) and study["final(h)"].shape == (3, 2) and study.collected == ["final(h)", "final(v)"]
    assert study["final(h)"][:, 1] == pytest.approx(10 - 1 - 4.9, abs=1e-6)
    assert list(study.axes["h"]) == [1.0, 10.0] and study["h(start)"][2, 1] == 10.0
    run = study.member((2, 1))
    assert run(1.0, "h") == pytest.approx(study["final(h)"][2, 1], abs=1e-12)
    assert study.member(5)(1.0, "h") == run(1.0, "h")
    with pytest.raises(IndexError, match="0 to 5"):
        study.member(6)
    with pytest.raises(KeyError, match=r"did you mean 'final\(h\)'"):
        study["final(hh)"]


def test_random_values_depend_on_the_seed_alone():
    def draws(seed, threads):
        return sl.sweep(decay(), random={"k": ("uniform", 1.0, 2.0)}, members=20, seed=seed, threads=threads)["k"]

    assert (draws(1, 1) == draws(1, 3)).all() and not (draws(1, 1) == draws(2, 1)).any()
    assert ((draws(1, 1) > 1) & (draws(1, 1) < 2)).all()
    grid = sl.sweep(decay(), {"x": [1.0, 2.0]}, random={"k": ("normal", 1.0, 0.1)}, members=5)
    assert grid.shape == (2, 5) and grid["final(x)"] == pytest.approx(grid["x(start)"] * np.exp(-grid["k"]), abs=1e-5)


def test_tables():
    pandas = need("pandas")
    columns = {"k": [1.0, 2.0], "x": [3.0, 4.0]}
    for table in (columns, pandas.DataFrame(columns)):
        study = sl.sweep(decay(), table=table)
        assert study["final(x)"] == pytest.approx([3 * math.exp(-1), 4 * math.exp(-2)], abs=1e-5)
    frame = study.to_pandas()
    assert list(frame["k"]) == [1.0, 2.0] and frame.index.name == "member" and "final(x)" in frame.columns
    with pytest.raises(ValueError, match="'x' has 1 values"):
        sl.sweep(decay(), table={"k": [1.0, 2.0], "x": [1.0]})


def test_sections_and_periods():
    for direction, x in (("up", [-1.0] * 6), ("down", [1.0] * 6), ("both", [-1.0, 1.0] * 3)):
        study = sl.poincare(oscillator(), ("x", "v"), section="v", direction=direction, transient=2, keep=6, stop=100.0,
                            rtol=1e-9)
        assert study.shape == (1,) and study["x"].shape == (1, 6)
        found = study["x"][0] if direction != "both" else np.sort(study["x"][0].reshape(3, 2)).ravel()
        assert found == pytest.approx(x, abs=1e-6) and study["v"] == pytest.approx(0.0, abs=1e-6)
    m = oscillator()
    for period in ("2*pi/w", 2 * math.pi / m["w"], math.pi):
        study = sl.poincare(m, ("x", "v"), period=period, transient=0, keep=3, rtol=1e-9)
        assert study["x"] == pytest.approx(np.ones((1, 3)), abs=1e-6)


def test_a_diagram_and_its_followers():
    study = sl.bifurcation(oscillator(), {"w": [1.0, 2.0]}, ["x", "x*v"], period="pi/w", transient=1, keep=4,
                           collect=["period(x)"], rtol=1e-9)
    assert study["x"] == pytest.approx(np.array([[1.0, -1.0, 1.0, -1.0]] * 2), abs=1e-6)
    assert list(study["period(x)"]) == [2, 2] and study["x*v"].shape == (2, 4)
    both = sl.bifurcation(decay(), {"k": [1.0, 2.0]}, "x", period=1.0, transient=0, keep=1, follow="both", rtol=1e-9)
    up, down = both["x"][..., 0]
    assert up == pytest.approx(np.exp([-1.0, -3.0]), abs=1e-8)  # the second starts where the first ended
    assert down == pytest.approx(np.exp([-3.0, -2.0]), abs=1e-8) and list(both.axes["k"]) == [1.0, 2.0]


def test_basins():
    m = sl.Model("wells")
    x, y = m.variable("x", 1.0, fixed=True), m.variable("y", 0.0, fixed=True)
    m.equation(sl.der(x) == x - x**3)
    m.equation(sl.der(y) == -y)
    study = sl.basin(m, {"x": [-1.5, -0.5, 0.5, 1.5], "y": [-1.0, 0.0, 1.0]}, period=1.0, transient=30)
    assert (study["attractor"] == np.array([[1] * 3, [1] * 3, [2] * 3, [2] * 3])).all()


def test_members_that_fail_leave_the_others_alone():
    m = sl.Model("blow up")
    x, k = m.variable("x", 1.0, fixed=True), m.parameter("k", 1.0)
    m.equation(sl.der(x) == k * x * x)
    study = sl.sweep(m, {"k": [0.5, 2.0]}, stop=1.0)
    assert not study.ok and [f["index"] for f in study.failures] == [1] and study.failures[0]["message"]
    assert study["final(x)"][0] == pytest.approx(2.0, abs=1e-4) and math.isnan(study["final(x)"][1])
    assert study.counts["success"] == 1 and "1 success" in repr(study)


def test_inputs_are_the_same_for_all_members():
    m = sl.Model("driven")
    u, k, x = m.input("u", curve="smooth"), m.parameter("k", 1.0), m.variable("x", 0.0, fixed=True)
    m.equation(sl.der(x) == k * u)
    study = sl.sweep(m, {"k": RATES}, stop=1.0, rtol=1e-8, inputs={"u": math.cos}, collect=["final(x)"])
    assert study["final(x)"] == pytest.approx(RATES * math.sin(1.0), abs=1e-6)


def test_members_in_lanes_have_the_results_of_full_runs():
    heights = np.linspace(8.0, 12.0, 64)
    full, lanes = (sl.sweep(ball(), {"h": heights}, stop=3.0, rtol=1e-8, collect=["final(h)", "count(h < 0)"],
                            executor=executor) for executor in ("full", "lanes"))
    assert (lanes["path"] == 1).sum() > 32 and (full["path"] == 0).all()
    assert lanes["final(h)"] == pytest.approx(full["final(h)"], abs=1e-5)  # heights of 10 m at a tolerance of 1e-8
    assert (lanes["count(h < 0)"] == full["count(h < 0)"]).all()
    with pytest.raises(ValueError, match='"full", "lanes"'):
        sl.sweep(ball(), {"h": heights}, executor="threads")


def test_an_input_that_raises_fails_its_members_with_the_reason():
    m = sl.Model("driven")
    u, k, x = m.input("u", curve="smooth"), m.parameter("k", 1.0), m.variable("x", 0.0, fixed=True)
    m.equation(sl.der(x) == k * u)
    study = sl.sweep(m, {"k": RATES}, inputs={"u": lambda t: 1 / 0}, threads=2)
    assert len(study.failures) == 4 and all("ZeroDivisionError" in f["message"] for f in study.failures)


def test_a_stored_study_is_opened_again(tmp_path):
    store = tmp_path / "decay.zarr"
    study = sl.sweep(decay(), {"k": RATES}, store=store)
    again = sl.sweep(decay(), {"k": RATES}, store=store, progress=lambda p: False)  # nothing is left to run
    assert (again["final(x)"] == study["final(x)"]).all() and again.ok
    opened = sl.open_study(store)
    assert (opened["final(x)"] == study["final(x)"]).all() and (opened.axes["k"] == RATES).all()
    with pytest.raises(RuntimeError, match="opened"):
        opened.member(0)
    with pytest.raises(ValueError):
        sl.open_study(tmp_path / "none.zarr")


def test_studies_pickle_with_their_numbers():
    study = sl.sweep(decay(), {"k": RATES})
    again = pickle.loads(pickle.dumps(study))
    assert (again["final(x)"] == study["final(x)"]).all() and again.shape == study.shape
    assert set(again.to_dict()) == set(study.names)


def test_plots():
    need_pyplot()
    line = sl.sweep(decay(), {"k": RATES}).plot()
    assert line.get_xlabel() == "k" and line.get_ylabel() == "final(x)"
    assert sl.sweep(decay(), {"k": RATES, "x": [1.0, 2.0]}).plot().get_xlabel() == "x"
    points = sl.poincare(oscillator(), ("x", "v"), period="2*pi/w", keep=3).plot()
    assert (points.get_xlabel(), points.get_ylabel()) == ("x", "v")


@pytest.mark.parametrize("call, text", [
    (lambda m: sl.sweep(m), "say what varies"), (lambda m: sl.sweep(m, {"k": 1.0}), "list of values"),
    (lambda m: sl.sweep(m, {"k": []}), "list of values"), (lambda m: sl.sweep(m, {"kk": [1.0]}), "kk"),
    (lambda m: sl.sweep(m, {"k": [1.0]}, collect=["x"]), "collect wants"),
    (lambda m: sl.sweep(m, {"k": [1.0]}, collect=["final(y)"]), "there is no 'y'"),
    (lambda m: sl.sweep(m, {"k": [1.0]}, collect=["most(x)"]), '"final", "sample"'),
    (lambda m: sl.sweep(m, random={"k": ("gauss", 0.0, 1.0)}), '"normal"'),
    (lambda m: sl.sweep(m, random={"k": 1.0}), "mean, deviation"),
    (lambda m: sl.bifurcation(m, {"k": [1.0]}, "x"), "say when members are sampled"),
    (lambda m: sl.bifurcation(m, {"k": [1.0]}, "x", period=1.0, section="x"), "leave out one"),
    (lambda m: sl.bifurcation(m, {"k": [1.0]}, "x", section="x"), "stop="),
    (lambda m: sl.bifurcation(m, {"k": [1.0]}, "x", section="x", stop=9.0, direction="left"), '"up", "down", "both"'),
    (lambda m: sl.bifurcation(m, {"k": [1.0]}, "x", period=1.0, follow="left"), '"both"'),
    (lambda m: sl.poincare(m, "x", period=1.0), "two values"), (lambda m: sl.basin(m, {"x": [1.0]}), "two axes")])
def test_studies_that_make_no_sense(call, text):
    with pytest.raises(ValueError, match=text):
        call(decay())


def test_compiled_models_and_unknown_options_are_refused():
    with pytest.raises(TypeError, match="needs a Model"):
        sl.sweep(decay().compile(), {"k": RATES})
    with pytest.raises(TypeError, match="no option 'tol'"):
        sl.sweep(decay(), {"k": RATES}, tol=1e-6)


@pytest.mark.parametrize("text, value", [
    ("2*x[1] - x[2]/4", 1.875), ("-x[1]**2", -1.0), ("k % 1.5", 0.5), ("max(x[1], k)", 2.0), ("sin(pi/2)*k", 2.0),
    ("if_else(x[1] > 0.9 and not k < 1, 3, 4)", 3.0), ("3 if x[1] < 0 or k == 2 else 4", 3.0), ("0 < x[1] < 2", 1.0),
    ("on", 0.0), ("time", 0.0), ("abs(-k)", 2.0), ("(x[1] < 0) | 1", None), ("x[1]^2", None), ("x[3]", None),
    ("log2(k)", None), ("~k", None), ("sin(k, k)", None), ("x[1] +", None), ("k is x", None),
    ("'text'", None), ("__import__('os')", None)])
def test_expressions_as_text(text, value):
    def final():
        return sl.sweep(sl.loads(NAMES), {"k": [2.0]}, stop=1e-12, collect={"it": f"final({text})"})["it"][0]

    if value is None:
        with pytest.raises(ValueError, match="cannot read the expression"):
            final()
    else:
        assert final() == pytest.approx(value, abs=1e-9)


def lorenz() -> sl.ModelicaModel:
    return sl.loads("model L parameter Real r = 28; Real x(start=1),y(start=1),z(start=1); equation der(x)=10*(y-x); "
                    "der(y)=x*(r-z)-y; der(z)=x*y-8/3*z; end L;")


def test_other_threads_run_meanwhile_and_are_told():
    told = []
    with ticking() as ticks:
        sl.sweep(lorenz(), {"r": np.linspace(20, 30, 40)}, stop=100.0, rtol=1e-9, progress=told.append)
    assert len(ticks) > 10 and told[-1]["done"] == 40


def test_a_study_is_stopped_by_progress_and_by_ctrl_c():
    stopped = sl.sweep(lorenz(), {"r": np.linspace(20, 30, 40)}, stop=1e5, threads=1, progress=lambda p: False)
    assert stopped.counts.get("not_run", 0) > 0
    with pytest.raises(ZeroDivisionError):
        sl.sweep(lorenz(), {"r": np.linspace(20, 30, 40)}, stop=1e5, threads=1, progress=lambda p: 1 / 0)
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        sl.sweep(lorenz(), {"r": np.linspace(20, 30, 40)}, stop=1e5)
    timer.join()
