#!/usr/bin/env python3
"""Writes the page that runs models in the browser: make_run_page.py FOLDER [SOLVER.js]

FOLDER/index.html is the page; it needs neither a web server nor a network. SOLVER.js is build/browser/solver.js unless
given (scripts/make_browser.sh). Without it the page says that it has no solver.
"""
import argparse
import json
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = {"run.html": "index.html", "run.css": "run.css", "run.js": "run.js"}
GROUPS = {"gallery": ROOT / "examples/gallery", "models": ROOT / "examples/models"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("solver", type=Path, nargs="?", default=ROOT / "build/browser/solver.js")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for source, target in PARTS.items():
        shutil.copyfile(ROOT / "browser" / source, given.folder / target)
    models = {group: {file.stem: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.mo"))}
              for group, folder in GROUPS.items()}
    text = json.dumps(models, indent=1, ensure_ascii=False)
    (given.folder / "models.js").write_text(f"const saltusModels = {text};\n", encoding="utf-8")
    target = given.folder / "solver.js"
    if given.solver.exists():
        shutil.copyfile(given.solver, target)
    else:
        target.unlink(missing_ok=True)
        print(f"{given.folder}: without a solver, which scripts/make_browser.sh builds", file=sys.stderr)
    print(given.folder / "index.html")


if __name__ == "__main__":
    main()
