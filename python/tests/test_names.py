"""Names: of the package, of the compiled module and of its stub."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import saltus as sl
from saltus import _core


def test_the_stub_names_what_the_module_has():
    stub = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text())
    named = {n.name for n in stub.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    module = {name for name in dir(_core) if not name.startswith("_")}
    assert named == module
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and not node.name.endswith("Error"):
            members = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
            assert members <= set(dir(getattr(_core, node.name))), node.name


def public(of: type) -> set[str]:
    return {name for name in dir(of) if not name.startswith("_")}


def test_the_reference_names_everything():
    page = (Path(os.environ["SALTUS_EXAMPLES"]).parent / "docs" / "reference" / "python.md").read_text()
    words = set(re.findall(r"\w+", page))
    classes = (sl.Model, sl.Array, sl.BoolArray, sl.Index, sl.ModelicaModel, sl.Fmu, sl.When, sl.ExplicitMode,
               sl.ModeTransition, sl.Simulator,
               sl.SimulatorState, sl.InputSignal, sl.SensitivityRun, sl.Solution, sl.Study, sl.FunctionalGradient,
               sl.Fit, sl.FittedParameter, sl.Control, sl.Controller, sl.ControlSample, sl.Optimum,
               sl.FoundValue, sl.FoundControl, sl.FoundCondition, sl.Cycle, sl.Branch, sl.BranchPoint,
               sl.Bifurcation, sl.LyapunovExponents,
               _core.CompiledModel)
    fields = [set(getattr(of, "__dataclass_fields__", ())) for of in classes]
    for names in (set(sl.__all__), *map(public, classes), *fields):
        assert names <= words, f"not on the page: {sorted(names - words)}"
    solution = sl.simulate(sl.loads("model M Real x = time; end M;"))
    section = page.split("## Solutions")[1].split("\n## ")[0]
    named = set(re.findall(r"`(\w+)(?:\(kind\))?`", section)) - {"Solution"}
    assert named == public(sl.Solution) | {name for name in vars(solution) if not name.startswith("_")}


def test_numpy_is_not_imported_before_it_is_needed():
    program = "import sys, saltus; assert 'numpy' not in sys.modules; saltus.simulate; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        sl.simulat
    assert set(sl.__all__) == set(dir(sl))


def test_the_package_has_what_it_names():
    assert all(hasattr(sl, name) for name in sl.__all__)
    assert sl.__version__ == _core.__version__
