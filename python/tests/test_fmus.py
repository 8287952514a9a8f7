"""FMUs: models are written for other simulators, and FMUs are read and run."""

import pickle
import zipfile

import numpy as np
import pytest
from models import BALL, ball

import saltus as sl

TANK = """
model Tank "A tank"
  input Real u(start = 1) "inflow";
  parameter Real A = 2;
  output Real h(start = 0.5, fixed = true, unit = "m");
equation
  der(h) = u/A;
  annotation(experiment(StopTime = 2, Tolerance = 1e-8));
end Tank;
"""

try:
    sl.loads(BALL).export_fmu("/dev/null")
except sl.UsageError as error:
    if "is missing" in str(error):
        pytest.skip("this build has no saltus_fmu.so", allow_module_level=True)


def load(path, *words, **options):
    return sl.load(path, *words, allow_code=True, **options)


@pytest.fixture
def tank(tmp_path):
    path = tmp_path / "Tank.fmu"
    sl.loads(TANK).export_fmu(path, kind="both", fmi=3)
    return path


@pytest.mark.parametrize("fmi", [2, 3])
def test_a_model_goes_out_and_comes_back(tmp_path, fmi):
    path = tmp_path / "Ball.fmu"
    model = sl.loads(BALL)
    model.export_fmu(path, fmi=fmi, kind="me")
    fmu = load(path)
    assert isinstance(fmu, sl.Fmu) and fmu.name == "Ball" and fmu.description == "A ball that bounces"
    assert fmu.experiment["stop"] == 5 and fmu.experiment["rtol"] == 1e-10 and fmu.parameters == {"e": 0.9}
    assert {"h", "v"} <= set(fmu.variables) and fmu.inputs == [] and fmu.notes == []
    direct, back = sl.simulate(model), sl.simulate(fmu)
    assert [e["t"] for e in back.events] == pytest.approx([e["t"] for e in direct.events], abs=1e-8)
    t = np.linspace(0, 5, 50)
    assert back(t, "h") == pytest.approx(direct(t, "h"), abs=1e-7)
    assert sl.simulate(fmu, values={"e": 0.5}).events[0]["after"]["v"] == pytest.approx(7.0)
    assert sl.simulate(fmu, values={"h.start": 2.5}).events[0]["t"] == pytest.approx(np.sqrt(5 / 9.8))
    assert sl.simulate(load(path, values={"e": 0.25}), stop=2).events[0]["after"]["v"] == pytest.approx(3.5)
    sl.simulate(fmu, values={"e": 0.5}).to_html(tmp_path / "ball.html")
    page = (tmp_path / "ball.html").read_text()
    assert "A ball that bounces" in page


def test_a_recorded_model_is_written_with_an_experiment(tmp_path):
    path = tmp_path / "ball.fmu"
    ball().export_fmu(path, kind="me", stop=3.0, rtol=1e-8)
    fmu = load(path)
    assert fmu.experiment == {"start": 0.0, "stop": 3.0, "rtol": 1e-8}
    run = sl.simulate(fmu)
    assert run.t_end == 3.0 and run.events[0]["t"] == pytest.approx(np.sqrt(20 / 9.8))


def test_the_experiment_of_a_file_can_be_replaced(tmp_path):
    sl.loads(BALL).export_fmu(tmp_path / "b.fmu", kind="me", stop=1.0)
    assert load(tmp_path / "b.fmu").experiment == {"start": 0.0, "stop": 1.0, "rtol": 1e-10}


def test_inputs_reach_the_fmu(tank):
    fmu = load(tank)
    assert fmu.inputs == ["u"]
    assert sl.simulate(fmu)(2.0, "h") == pytest.approx(1.5)
    assert sl.simulate(fmu, inputs={"u": ([0, 1, 1, 2], [0, 0, 4, 4])})(2.0, "h") == pytest.approx(2.5)
    steps = sl.Simulator(fmu, stop=2.0)
    steps.advance_to(1.0)
    steps.set_input("u", 3.0)
    assert steps.finish()(2.0, "h") == pytest.approx(0.5 + 0.5 + 1.5)
    for refused in (steps.state, lambda: sl.Simulator(fmu, from_state=sl.Simulator(sl.loads(TANK)).state())):
        with pytest.raises(sl.UsageError, match="state"):
            refused()


def test_runs_and_results_are_independent(tank, monkeypatch):
    fmu = load(tank)
    one, other = sl.simulate(fmu, values={"A": 1.0}), sl.simulate(fmu, values={"A": 4.0})
    assert one(2.0, "h") == pytest.approx(2.5) and other(2.0, "h") == pytest.approx(1.0)
    monkeypatch.setenv("SALTUS_ALLOW_FOREIGN_CODE", "1")
    copy = pickle.loads(pickle.dumps(load(tank, values={"A": 1.0})))
    assert sl.simulate(copy)(2.0, "h") == pytest.approx(2.5)
    kept = pickle.loads(pickle.dumps(one))
    tank.unlink()
    assert kept(1.0, "h") == pytest.approx(1.5) and one(1.0, "h") == pytest.approx(1.5)
    with pytest.raises(sl.UsageError, match="Tank.fmu"):
        sl.simulate(fmu)


def test_results_are_read_by_several_threads(tank):
    from concurrent.futures import ThreadPoolExecutor
    run, t = sl.simulate(load(tank)), np.linspace(0, 2, 2000)
    with ThreadPoolExecutor(8) as pool:
        for rows in pool.map(lambda _: run(t), range(16)):
            assert rows[run.index("h")] == pytest.approx(0.5 + t / 2)


def test_what_an_fmu_is_can_be_asked(tank):
    text = sl.describe_fmu(tank)
    assert "Tank: FMI 3.0, model exchange, co-simulation" in text and "1 states" in text


def test_code_of_others_is_run_only_where_it_is_allowed(tank, monkeypatch):
    monkeypatch.delenv("SALTUS_ALLOW_FOREIGN_CODE", raising=False)
    for refused in (lambda: sl.load(tank), lambda: sl.Fmu(str(tank)), lambda: pickle.loads(pickle.dumps(load(tank)))):
        with pytest.raises(sl.UsageError, match="allow_code=True"):
            refused()
    assert "Tank" in sl.describe_fmu(tank)
    for word, allowed in (("", False), ("0", False), ("1", True)):
        monkeypatch.setenv("SALTUS_ALLOW_FOREIGN_CODE", word)
        if allowed:
            assert sl.load(tank).name == "Tank"
        else:
            with pytest.raises(sl.UsageError, match="SALTUS_ALLOW_FOREIGN_CODE=1"):
                sl.load(tank)


def test_an_fmu_that_was_just_written_runs(tmp_path):
    sl.loads(BALL).export_fmu(tmp_path / "b.fmu")
    assert sl.simulate(load(tmp_path / "b.fmu")).ok


def test_wrong_use_is_refused(tmp_path, tank):
    model = sl.loads(BALL)
    with pytest.raises(sl.UsageError, match="2 or 3, not 1"):
        model.export_fmu(tmp_path / "x.fmu", fmi=1)
    with pytest.raises(sl.UsageError, match="not \"xy\""):
        model.export_fmu(tmp_path / "x.fmu", kind="xy")
    with pytest.raises(sl.UsageError, match="cannot write"):
        model.export_fmu(tmp_path / "missing" / "x.fmu")
    (tmp_path / "no.fmu").write_text("no")
    with pytest.raises(sl.UsageError, match="no.fmu"):
        load(tmp_path / "no.fmu")
    with pytest.raises(sl.UsageError, match="Missing.fmu"):
        load(tmp_path / "Missing.fmu")
    with pytest.raises(sl.UsageError, match="name and libraries"):
        load(tank, "Tank")
    with pytest.raises(sl.UsageError, match="no parameter or start value 'AA'; did you mean 'A'"):
        load(tank, values={"AA": 1.0})
    fmu = load(tank)
    for call in (lambda: sl.simulate_with_sensitivities(fmu, ["A"]),
                 lambda: sl.gradient(fmu, sl.final_value("h"), ["A"])):
        with pytest.raises(TypeError, match="which an FMU does not show"):
            call()
    with pytest.raises(TypeError, match="not Fmu"):
        sl.sweep(fmu, {"A": [1.0, 2.0]})


def test_co_simulation_fmus_run_from_one_communication_point_to_the_next(tmp_path):
    sl.loads(BALL).export_fmu(tmp_path / "cs.fmu", kind="cs")
    run = sl.simulate(load(tmp_path / "cs.fmu"), stop=1.0, max_step=0.125)
    assert run.ok
    assert run(1.0, "h") == pytest.approx(10.0 - 4.9, abs=1e-8)  # the ball has not met the floor
    assert run(0.5, "v") == pytest.approx(-4.9, abs=1e-8)


def test_the_archive_holds_what_the_standard_wants(tmp_path):
    sl.loads(BALL).export_fmu(tmp_path / "b.fmu")
    with zipfile.ZipFile(tmp_path / "b.fmu") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    assert names[0] == "modelDescription.xml" and "documentation/index.html" in names
    assert any(name.startswith("binaries/") and name.endswith("/Ball.so") for name in names)
