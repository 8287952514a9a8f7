"""Runs and results."""

import json
import multiprocessing
import os
import pickle
import re
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from models import BALL, ball
from optional import need, need_pyplot
from ticking import ticking

import saltus as sl

LORENZ = "model L Real x(start=1),y(start=1),z(start=1); equation der(x)=10*(y-x); der(y)=x*(28-z)-y; " \
         "der(z)=x*y-8/3*z; end L;"


def simulate_in_process(model) -> sl.Solution:
    return sl.simulate(model, stop=5.0)


@pytest.fixture(scope="module")
def run() -> sl.Solution:
    return sl.simulate(sl.loads(BALL))


def test_values_before_and_after_an_event_stand_side_by_side(run):
    k = np.flatnonzero(np.diff(run.t) == 0)[0]
    assert run["v"][k + 1] == pytest.approx(-0.9 * run["v"][k])
    assert run["v"][k] == run.events[0]["before"]["v"] and run["v"][k + 1] == run.events[0]["after"]["v"]


def test_dense_output_has_the_shape_of_its_argument(run):
    assert run(1.0).shape == (2,)
    assert run(np.zeros((3, 4))).shape == (2, 3, 4)
    assert run(1.0, "h").shape == ()
    assert run([0.5, 1.0], ["v", "h"]).shape == (2, 2)
    assert run(1.0, "h") == pytest.approx(10 - 4.9, abs=1e-9)
    with pytest.raises(sl.UsageError, match="covers times"):
        run(99.0)
    with pytest.raises(KeyError, match="did you mean 'h'"):
        run(1.0, "hh")


def test_arrays_are_not_copied_and_not_writeable(run):
    assert run["h"].base is not None and not run.values.flags.writeable and run["h"].flags.c_contiguous


def test_events_as_array(run):
    assert run.event_array["t"] == pytest.approx([e["t"] for e in run.events])
    assert set(run.event_array["kind"]) == {"reset"}
    assert len(run.events_of("reset")) == len(run.events)
    assert "h < 0" in run.events[0]["text"]


def test_tables(run):
    pandas = need("pandas")
    table = run.to_pandas(points=11)
    assert isinstance(table, pandas.DataFrame) and list(table.columns) == ["h", "v"] and table.index[-1] == 5.0
    assert len(table) == 11 + 2 * len(run.events)


def test_datasets(run):
    need("xarray")
    data = run.to_xarray(points=11)
    assert set(data.data_vars) == {"h", "v"} and data.attrs["model"] == "Ball" and data["v"].attrs["units"] == "m/s"
    assert float(data["h"].sel(t=1.0)) == pytest.approx(10 - 4.9) and data.sizes["t"] == 11 + 2 * len(run.events)


def test_a_report_is_written(run, tmp_path):
    path = tmp_path / "ball.html"
    run.to_html(str(path))
    text = path.read_text()
    assert "Content-Security-Policy" in text and "reinit" in text
    with pytest.raises(sl.UsageError, match="cannot write"):
        run.to_html(str(tmp_path / "no" / "folder.html"))


def test_plots_of_truth_values_enumerations_and_many_events():
    plt = need_pyplot()
    run = sl.simulate(sl.loads("""model Gears
      type Gear = enumeration(low, middle, high);
      Real x = time;
      Boolean on = time > 0.3 and time < 0.6, fast = sin(2000*time) > 0;
      Gear gear = if time < 0.2 then Gear.low else Gear.high;
      input Real push(start = 2);
      output Real pushed = 2*push;
    end Gears;"""))
    assert run.types == ["Real", "Real", "Real", "Boolean", "Boolean", "enumeration"]
    assert dict(zip(run.names, run.causalities)) == {"x": "local", "pushed": "output", "push": "input", "on": "local",
                                                     "fast": "local", "gear": "local"}
    assert run.literals == {"gear": ["low", "middle", "high"]}
    curves, bands = run.plot("x", "on", "gear")
    assert [label.get_text() for label in bands.get_yticklabels()] == ["on", "gear"]
    assert [text.get_text() for text in bands.texts] == ["low", "high"]
    (box,) = bands.collections[0].get_paths()
    assert box.get_extents().x0 == pytest.approx(0.3) and box.get_extents().x1 == pytest.approx(0.6)
    assert len(run.events) > 200 and len(curves.lines) == 2, "the curve, and marks instead of lines"
    assert curves.lines[1].get_label() == f"{len(set(e['t'] for e in run.events))} events"
    with pytest.raises(ValueError, match="1 units and a panel of bands need as many axes, not 1"):
        run.plot("x", "on", axes=plt.subplots()[1])
    plt.close("all")


def test_carriers_are_drawn_by_their_range():
    plt = need_pyplot()
    text = "model M Real slow = sin(3*time), fast = 2*sin(12566.370614359172*time), ripple = slow + 1e-3*fast; end M;"
    (panel,) = sl.simulate(sl.loads(text)).plot()  # 2000 periods: 2000 equidistant samples would be a straight line
    assert [curve.get_label() for curve in panel.lines] == ["slow", "ripple"]
    (band,) = panel.collections
    assert band.get_label() == "fast (range)"
    bounds = band.get_paths()[0].get_extents()
    assert bounds.y0 == pytest.approx(-2.0, abs=0.02) and bounds.y1 == pytest.approx(2.0, abs=0.02)
    plt.close("all")


def test_plots(run):
    need_pyplot()
    axes = run.plot("h", "v")
    assert [a.get_ylabel() for a in axes] == ["m", "m/s"] and len(axes[0].lines) == 1 + len(run.events)
    assert run.plot(phase=("h", "v")).get_xlabel() == "h [m]" and axes[-1].get_xlabel() == "time [s]"
    sticks = sl.simulate(sl.load(Path(os.environ["SALTUS_EXAMPLES"]) / "gallery" / "StickSlip.mo"))
    entered, left = sticks.events_of("slide_enter"), sticks.events_of("slide_exit")
    assert np.ravel(sticks.stays) == pytest.approx(np.sort([*entered, *left, sticks.t_end]))
    assert len(sticks.plot("v1", "v2")[0].patches) == len(sticks.stays)  # shaded


def test_a_failed_run_raises_with_its_result():
    m = sl.Model("blow up")
    x = m.variable("x", 1.0, fixed=True)
    m.equation(sl.der(x) == x * x)
    with pytest.raises(sl.RunError) as info:
        sl.simulate(m, stop=2.0)
    assert info.value.solution.status["t"] == pytest.approx(1.0, abs=1e-3)
    assert info.value.solution["x"][-1] > 1e3
    assert not sl.simulate(m, stop=2.0, check=False).ok


@pytest.mark.parametrize("options, text", [({"method": "euler"}, "no method 'euler'"), ({"rtol": -1.0}, "rtol"),
                                           ({"max_steps": 0}, "max_steps")])
def test_options_that_make_no_sense(options, text):
    with pytest.raises(ValueError, match=text):
        sl.simulate(ball(), **options)
    with pytest.raises(TypeError, match="no option 'tolerance'"):
        sl.simulate(ball(), tolerance=1e-6)


def test_tolerances_of_single_variables():
    assert sl.simulate(ball(), stop=1.0, atol=[1e-9, 1e-6], rtol=[1e-9, 1e-6]).ok


def test_limits_of_events_end_a_run():
    m = sl.Model("steps")
    x, n = m.variable("x", 0.0, fixed=True), m.discrete("n", 0.0)
    m.equation(sl.der(x) == 1.0)
    for level in (0.1, 0.2, 0.3):
        m.when(x > level).assign(n, m.pre(n) + 1.0)
    assert sl.simulate(m, stop=1.0, max_events=3, shortest_interval=0.05).ok
    many = sl.simulate(m, stop=1.0, max_events=2, check=False).status
    assert many["code"] == "too_many_steps" and "2 events were not enough" in many["message"]
    close = sl.simulate(m, stop=1.0, shortest_interval=0.15, check=False).status
    assert close["code"] == "chattering" and "shortest_interval" in close["message"]


def test_step_by_step():
    run = sl.Simulator(ball(), stop=5.0)
    steps = 0
    while run.step():
        steps += 1
    assert run.finished and steps > 3 and run.t == 5.0
    run = sl.Simulator(ball(), stop=5.0, values={"e": 0.5})
    assert run.advance_to(1.0) and run.values["h"] == pytest.approx(10 - 4.9)
    assert run.solution.t_end == 1.0
    end = run.finish()
    assert end.t_end == 5.0 and end.events[0]["after"]["v"] == pytest.approx(7.0)


def test_what_there_is_so_far_does_not_change_when_the_run_goes_on():
    run = sl.Simulator(ball(), stop=5.0)
    run.advance_to(1.0)
    so_far = run.solution
    end = run.finish()
    assert so_far.t_end == 1.0 and so_far(1.0, "h") == end(1.0, "h") and not so_far.events


def test_a_run_in_steps_that_fails_raises():
    m = sl.Model("blow up")
    x = m.variable("x", 1.0, fixed=True)
    m.equation(sl.der(x) == x * x)
    with pytest.raises(sl.RunError, match="pole"):
        sl.Simulator(m, stop=2.0).finish()
    assert not sl.Simulator(m, stop=2.0).finish(check=False).ok


def test_a_run_in_steps_serves_one_thread_at_a_time():
    m = sl.Model("driven")
    m.equation(sl.der(m.variable("x", 0.0, fixed=True)) == m.input("u", curve="smooth"))
    said = []

    def use_the_run_itself(t):
        for use in (lambda: run.values, lambda: run.step(), lambda: run.solution, lambda: run.fork()):
            with pytest.raises(sl.UsageError, match="in the middle of a step"):
                use()
        said.append(t)
        return 1.0

    signal = sl.InputSignal.function(lambda t: use_the_run_itself(t) if t > 0.0 and started else 1.0)
    started = False
    run = sl.Simulator(m, stop=1.0, inputs={"u": signal})
    started = True
    assert run.finish()(1.0, "x") == pytest.approx(1.0) and said


def test_a_solution_prints_its_events_and_final_values(run):
    text = str(run)
    assert "    1       1.42857142857  reset: h < 0 becomes true; when h < 0; v jumps from -14 to 12.6 m/s" in text
    assert "Ball: success at t = 5" in text
    assert text.splitlines()[-1].startswith("  v = ") and text.endswith(" m/s")


def test_other_threads_run_meanwhile():
    model = sl.loads(LORENZ)
    with ticking() as ticks:
        sl.simulate(model, stop=2000.0, rtol=1e-9, keep_steps=False)
    assert len(ticks) > 10  # of some hundred; with the interpreter lock held there would be one or two
    run = sl.simulate(model, stop=200.0)
    with ticking() as ticks:
        run(np.linspace(0.0, 200.0, 3_000_000))
    assert len(ticks) > 10, "while values are read"


def test_eight_runs_at_once_are_those_of_one_after_the_other():
    compiled = sl.loads(LORENZ).compile()
    values = [{"x": 1.0 + 0.1 * k} for k in range(8)]
    alone = [sl.simulate(compiled, stop=5.0, values=v)(5.0) for v in values]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda v: sl.simulate(compiled, stop=5.0, values=v)(5.0), values))
    assert all((a == b).all() for a, b in zip(alone, together))


def test_ctrl_c_ends_a_run():
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt) as info:
        sl.simulate(sl.loads(LORENZ), stop=1e6, rtol=1e-9, keep_steps=False, max_steps=10**9)
    timer.join()
    assert 0.0 < info.value.solution.t_end < 1e6 and info.value.solution.status["code"] == "cancelled"


def test_solutions_pickle_with_dense_output(run):
    again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(run))))
    assert (again["h"] == run["h"]).all() and again.events == run.events and again.ok
    t = np.linspace(0.0, 5.0, 50001)
    assert again(t) == pytest.approx(run(t), abs=1e-11) and again(1.0, "h").shape == ()
    hits = np.array([e["t"] for e in run.events])
    assert (again(hits, "v") == run(hits, "v")).all(), "values after the events"
    assert (again.to_pandas().values == run.to_pandas().values).all()
    with pytest.raises(ValueError, match="covers times"):
        again(99.0)
    with pytest.raises(RuntimeError, match="report"):
        again.to_html("ball.html")


def test_a_report_has_what_that_of_the_command_line_has(tmp_path):
    model = sl.loads("""model Tank "A tank that empties"
      parameter Real area(unit = "m2") = 2 "of the ground";
      parameter Real rate = 1/area;
      final parameter Integer holes = 3;
      Real level(start = 1, fixed = true);
    equation
      der(level) = -rate*holes*level;
      when level < 0.5 then
        terminate("half");
      end when;
    end Tank;""")
    assert {p.name: p.value for p in model.fixed_parameters} == {"rate": 0.5, "holes": 3}
    sl.simulate(model, values={"area": 4.0}).to_html(tmp_path / "tank.html")
    page = (tmp_path / "tank.html").read_text()
    data = json.loads(re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.S)[1])
    assert [row[:2] for row in data["parameters"]] == [["area", 4], ["rate", 0.25], ["holes", 3]]
    assert "A tank that empties" in page and data["structure"] and "terminate" in page
    sl.simulate(ball(), stop=5.0).to_html(str(tmp_path / "ball.html"))
    assert '"e"' in (tmp_path / "ball.html").read_text()


@pytest.mark.parametrize("options", [{"method": "taylor"}, {"method": "radau"}, {"method": "dop853", "rtol": 1e-10},
                                     {"start": 2.0, "stop": -1.0}])
def test_stored_dense_output_is_that_of_the_run(options):
    m = sl.Model("pendulum")
    phi, w, top = m.variable("phi", 1.0, fixed=True), m.variable("w", 0.0, fixed=True), m.variable("top")
    m.equation(sl.der(phi) == w)
    m.equation(sl.der(w) == -sl.sin(phi))
    m.equation(top == sl.exp(sl.cos(phi)) * sl.abs(w))  # not a polynomial in a step
    run = sl.simulate(m, **{"stop": 10.0, **options})
    again = pickle.loads(pickle.dumps(run))
    t = np.linspace(run.t_start, run.t_end, 1001)
    assert again(t, ["phi", "w"]) == pytest.approx(run(t, ["phi", "w"]), abs=1e-12)
    assert again(t, "top") == pytest.approx(run(t, "top"), abs=1e-10)


def test_a_run_without_steps_pickles_with_its_ends():
    run = sl.simulate(ball(), stop=5.0, keep_steps=False)
    again = pickle.loads(pickle.dumps(run))
    assert (again.values == run.values).all() and again.events == run.events and again.status == run.status
    with pytest.raises(RuntimeError, match="kept no steps"):
        again(5.0)


def test_a_run_without_length_pickles():
    run = sl.simulate(ball(), start=1.0, stop=1.0)
    assert (pickle.loads(pickle.dumps(run))(1.0) == run(1.0)).all()


def test_runs_in_other_processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        runs = list(pool.map(simulate_in_process, [ball(), sl.loads(BALL)]))
    assert [r(5.0, "h") for r in runs] == pytest.approx([sl.simulate(ball(), stop=5.0)(5.0, "h")] * 2, abs=1e-5)


def refused(t, y):
    raise ZeroDivisionError


def raises() -> None:
    with pytest.raises(ZeroDivisionError):
        sl.solve_ivp(refused, (0.0, 1.0), [1.0], record=False)


BOUNCES, COMPILED = ball(), ball().compile()
LAG = sl.loads("model Lag Real x(start = 0, fixed = true); equation der(x) = sin(6.283185307*time) - x; end Lag;")


@pytest.mark.parametrize("use", [
    lambda: sl.simulate(COMPILED, stop=2.0)["h"],
    lambda: sl.simulate(COMPILED, stop=2.0).events,
    lambda: sl.simulate_with_sensitivities(COMPILED, ["e"], stop=2.0).final(),
    lambda: sl.gradient(COMPILED, sl.final_value("h"), ["e"], stop=2.0).derivatives,
    lambda: sl.fit(BOUNCES, {"h": ([0.5, 1.0, 2.0], [8.8, 5.1, 5.9])}, ["e"]).values,
    lambda: sl.find_cycle(LAG, period=1.0).multipliers,
    lambda: sl.Simulator(COMPILED, stop=2.0).fork().finish(),
    lambda: sl.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0], record=False).y,
    raises], ids=["values", "events", "sensitivities", "gradient", "fit", "cycle", "steps", "called back", "raised"])
def test_a_thousand_runs_leak_nothing(use):
    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(200):
        use()
    before = resident()
    for _ in range(1000):
        use()
    assert resident() - before < 1_000_000


def test_the_examples_run():
    folder = Path(os.environ["SALTUS_EXAMPLES"])
    for path in sorted((folder / "gallery").glob("*.mo")):
        run = sl.simulate(sl.load(path))
        assert run.ok and np.isfinite(run(run.t_end)).all(), path


ARRAYS = """
model Arrays
  parameter Real k[3] = {1, 2, 3};
  Real u[3](each start = 1, each fixed = true), m[2,2], h(start = 1, fixed = true);
equation
  der(h) = -h;
  for i in 1:3 loop der(u[i]) = -k[i]*u[i]; end for;
  for i in 1:2 loop for j in 1:2 loop m[i,j] = i*h + j; end for; end for;
  annotation(experiment(StopTime = 1, Tolerance = 1e-9));
end Arrays;
"""


def test_arrays_are_arrays():
    run = sl.simulate(sl.loads(ARRAYS))
    assert run["u"].shape == (3, len(run.t)) and run["m"].shape == (2, 2, len(run.t))
    assert (run["u"][1] == run["u[2]"]).all() and (run["m"][0, 1] == run["m[1, 2]"]).all()
    assert run["u*"].shape == (3, len(run.t))
    assert run([0.0, 1.0], "u").shape == (3, 2) and run(1.0, "u") == pytest.approx(np.exp([-1.0, -2.0, -3.0]), abs=1e-8)
    assert run(1.0, "m").shape == (2, 2) and run(1.0, "h").shape == ()
    assert "u" in run and "u[1]" in run and "m[1, 2]" in run and "q" not in run and 3 not in run
    assert list(run) == run.keys() == run.names and len(dict(run)) == 8
    with pytest.raises(KeyError, match=r"the elements of 'u' are u\[1\] to u\[3\]"):
        run["u[4]"]
    with pytest.raises(KeyError, match="there is no variable 'q'"):
        run["q"]
    assert (pickle.loads(pickle.dumps(run))["u"] == run["u"]).all()


def test_values_may_be_arrays_and_have_every_spelling():
    model = sl.loads(ARRAYS)
    expected = sl.simulate(model, values={"k[1]": 4, "k[2]": 5, "k[3]": 6})["u"]
    assert (sl.simulate(model, values={"k": [4, 5, 6]})["u"] == expected).all()
    assert (sl.simulate(sl.loads(ARRAYS, values={"k": np.array([4, 5, 6])}))["u"] == expected).all()
    for name in ("h", "h.start", "h(start)", " h "):
        assert sl.simulate(model, values={name: 3.0})["h"][0] == 3.0
        assert sl.simulate_with_sensitivities(model, [name]).final("h") == pytest.approx([np.exp(-1.0)], abs=1e-7)
    assert (sl.simulate(model, values={"u.start": [3, 4, 5]})["u"][:, 0] == [3, 4, 5]).all()
    assert (sl.simulate(model, values={"u": 7.0})["u"][:, 0] == 7.0).all()


def test_a_locked_mode_does_not_switch():
    model = sl.loads("model M Real x(start = 1, fixed = true), v(start = 0, fixed = true); "
                     "equation der(x) = v; der(v) = if x > 0 then -4*x else -x; end M;")
    run = sl.simulate(model, stop=10.0, rtol=1e-9, lock_mode=True)
    assert not run.events
    assert run(10.0, "x") == pytest.approx(np.cos(20.0), abs=1e-6)
    with pytest.raises(sl.UsageError, match="cannot be locked"):
        sl.simulate(sl.loads("model M input Real u; Real x(start = 0, fixed = true); equation der(x) = u; end M;"),
                    lock_mode=True)
