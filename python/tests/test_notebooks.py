"""The notebooks run from their first cell to their last, and each draws something. Jupyter is not needed."""

import json
import os
from pathlib import Path

import pytest
from optional import need_pyplot

FOLDER = Path(os.environ["SALTUS_EXAMPLES"]) / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def cells(path: Path) -> list[dict]:
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4
    return notebook["cells"]


def test_the_tutorial_names_all_notebooks():
    page = (FOLDER.parents[1] / "docs" / "tutorial" / "python.md").read_text()
    assert len(NOTEBOOKS) >= 6 and all(f"notebooks/{path.name})" in page for path in NOTEBOOKS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path, monkeypatch):
    plt = need_pyplot()
    plt.close("all")
    monkeypatch.chdir(FOLDER)
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(path)):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{path.name}, cell {number + 1}", "exec"), names)
    assert plt.get_fignums(), "a notebook shows a picture"
    plt.close("all")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_stored_without_output(path):
    for cell in cells(path):
        assert cell["cell_type"] != "code" or (cell["outputs"] == [] and cell["execution_count"] is None)
