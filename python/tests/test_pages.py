"""The Python in the pages runs."""

import os
import re
import shutil
from pathlib import Path

import pytest
from optional import need, need_pyplot

ROOT = Path(os.environ["SALTUS_EXAMPLES"]).parent


@pytest.mark.parametrize("page", ["README.md", "docs/tutorial/python.md", "docs/tutorial/from-scipy.md",
                                  "docs/reference/fmi.md"])
def test_the_snippets_of_a_page_run(page, tmp_path, monkeypatch, capsys):
    """As a reader types them in the folder of the repository. A block of text after a snippet is what it prints."""
    need_pyplot()
    need("pandas"), need("xarray")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    snippets = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", (ROOT / page).read_text(), re.S | re.M)
    assert snippets
    names: dict[str, object] = {}
    for snippet, output in snippets:
        exec(compile(snippet, page, "exec"), names)
        printed = capsys.readouterr().out
        assert not output or printed == output
