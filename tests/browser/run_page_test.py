#!/usr/bin/env python3
"""The page that runs models in the browser: run_page_test.py SALTUS SOLVER.js FOLDER [--need-solver]

Without a solver the page must say so. With one, Node.js runs all models of the gallery and their results are compared
with those of SALTUS, and Chromium uses the page; pictures of it go to FOLDER. Skipped (exit code 77) where there is no
Chromium, Node.js or npm, but not in continuous integration (CI=true). --need-solver: fails where no solver is built.
"""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "html"))

from browser_test import BROWSERS, install_driver, program  # noqa: E402

# The page takes elementary functions from another C library than the program: last digits differ, and a run along
# unstable paths makes more of them.
TOLERANCE = 1e-9


def native(saltus, model, folder):
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    done = subprocess.run([saltus, "run", model, "--no-plot", "--quiet", "--json", result], check=False)
    return done.returncode, json.loads(result.read_text(encoding="utf-8"))


def close(a, b, size):
    return a == b or (a is not None and b is not None and abs(a - b) <= TOLERANCE * size)


def differences(ours, theirs):
    """What the page and the program do not agree on."""
    if ours["status"]["code"] != theirs["status"]["code"]:
        yield f"status {theirs['status']['code']} instead of {ours['status']['code']}"
    kinds = [[event["kind"] for event in run["events"]] for run in (ours, theirs)]
    if kinds[0] != kinds[1]:
        yield f"{len(kinds[1])} events instead of {len(kinds[0])}, or of other kinds"
        return
    for number, (a, b) in enumerate(zip(ours["events"], theirs["events"]), 1):
        if not close(a["t"], b["t"], max(1.0, abs(a["t"]))):
            yield f"event {number} at {b['t']!r} instead of {a['t']!r}"
    final = ours["final"]["values"]
    for name, value in final.items():
        # relative to what the variable was at events, too: near a zero only noise is left
        sizes = [abs(event[side].get(name) or 0) for event in ours["events"] for side in ("before", "after")]
        other = theirs["final"]["values"].get(name)
        if not close(value, other, max([1.0, abs(value or 0), *sizes])):
            yield f"{name} = {other!r} instead of {value!r}"


def compare_gallery(saltus, solver, node, folder):
    models = sorted((ROOT / "examples/gallery").glob("*.mo"))
    results = folder / "results.json"
    subprocess.run([node, HERE / "solver_test.cjs", solver, results, *models], check=True)
    answers = json.loads(results.read_text(encoding="utf-8"))
    problems = 0
    for model in models:
        code, ours = native(saltus, model, folder)
        answer = answers[model.name]
        found = list(differences(ours, answer["result"])) if answer.get("result") else answer["errors"]
        if answer["code"] != code:
            found.append(f"exit code {answer['code']} instead of {code}")
        if not answer["report"]:
            found.append("no report")
        for text in found:
            print(f"{model.name}: {text}")
        problems += len(found)
    print(f"{len(models)} models of the gallery in Node.js and as a program, {problems} differences")
    return problems


def main():
    arguments = [word for word in sys.argv[1:] if word != "--need-solver"]
    saltus, solver, folder = (Path(word).resolve() for word in arguments)
    browser, node = os.environ.get("SALTUS_BROWSER") or program(*BROWSERS), program("node", "nodejs")
    folder.mkdir(parents=True, exist_ok=True)
    install_driver(folder)
    shutil.copyfile(HERE / "page_test.mjs", folder / "page_test.mjs")
    make = ROOT / "scripts/make_run_page.py"
    subprocess.run([make, folder / "without", folder / "none.js"], check=True, stderr=subprocess.DEVNULL)
    if not solver.exists():
        if "--need-solver" in sys.argv:
            print(f"FAILED: there is no {solver}")
            return 1
        print("without a solver, which scripts/make_browser.sh builds: only that the page says so is tested")
        page = [node, folder / "page_test.mjs", browser, folder / "without"]
        return subprocess.run(page, cwd=folder, check=False).returncode
    subprocess.run([make, folder / "with", solver], check=True)
    problems = compare_gallery(saltus, solver, node, folder)
    page = [node, folder / "page_test.mjs", browser, folder / "without", folder / "with"]
    return 1 if subprocess.run(page, cwd=folder, check=False).returncode or problems else 0


if __name__ == "__main__":
    sys.exit(main())
