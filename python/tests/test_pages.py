"""The Python in the pages runs."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

ROOT = Path(os.environ["SALTUS_EXAMPLES"]).parent


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/python.md"])
def test_the_snippets_of_a_page_run(page, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copy(ROOT / "examples" / "gallery" / "BouncingBall.mo", tmp_path)
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.S | re.M)
    assert snippets
    names: dict[str, object] = {}
    exec("import numpy as np", names)
    for snippet in snippets:
        if importlib.util.find_spec("xarray") is None:
            snippet = snippet.replace("run.to_xarray(); ", "")
        exec(compile(snippet, page, "exec"), names)
