"""Every model of the gallery, as Modelica text and written in Python, gives the same run."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import saltus as sl

FOLDER = Path(os.environ["SALTUS_EXAMPLES"]) / "gallery"
MODELS = sorted(path.stem for path in FOLDER.glob("*.mo"))


def twin_file(name: str) -> Path:
    """BouncingBall.mo has the twin bouncing_ball.py."""
    return FOLDER / (re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() + ".py")


def load_twin(name: str):
    spec = importlib.util.spec_from_file_location(name, twin_file(name))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_model_has_a_twin():
    assert MODELS and {twin_file(name) for name in MODELS} == set(FOLDER.glob("*.py"))


@pytest.mark.parametrize("name", MODELS)
def test_the_twin_gives_the_same_run(name):
    text, twin = sl.load(FOLDER / f"{name}.mo"), load_twin(name)
    model = twin.model()
    assert model.name == name
    assert twin.EXPERIMENT == {key: pytest.approx(value, rel=1e-15)
                               for key, value in text.experiment.items() if key != "start"}
    first, second = sl.simulate(text), sl.simulate(model, **twin.EXPERIMENT)
    assert set(second.names) <= set(first.names) and len(second.names) >= len(first.names) - 1
    for variable in second.names:
        assert second.units[second.index(variable)] == first.units[first.index(variable)], variable
    # the same equations in another order of operations: errors of the size of the tolerance may differ
    tolerance = 1e3 * text.experiment["rtol"]
    assert [e["kind"] for e in second.events] == [e["kind"] for e in first.events]
    assert [e["t"] for e in second.events] == pytest.approx([e["t"] for e in first.events], abs=tolerance)
    inside = np.linspace(first.t_start, first.t_end, 203)[1:-1]
    away = np.abs(inside[:, None] - np.array([e["t"] for e in first.events] or [np.inf])).min(axis=1) > tolerance
    for variable in second.names:
        expected = first(inside[away], variable)
        scale = max(1.0, np.abs(expected).max())
        assert second(inside[away], variable) == pytest.approx(expected, abs=tolerance * scale), variable


def test_a_twin_is_a_script():
    done = subprocess.run([sys.executable, twin_file("Clutch")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Clutch: success at t = 4" in done.stdout and "w1 = 2.5 rad/s" in done.stdout
