#!/usr/bin/env python3
"""Writes the reports of many models and opens them in a browser: browser_test.py SALTUS FOLDER [MODEL ...]

Needs a Chromium, Node.js and npm; what npm installs goes to FOLDER. Where one of them is missing the test is skipped
(exit code 77) with a message, but not in continuous integration (CI=true), where it fails. Names of models restrict the
test to them.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
# All reports are looked at; in these of the gallery pointer and keys are tried as well.
USED = ["BallOnTable", "DiodeBridge", "StickSlip", "StickSlipHysteresis"]

SPECIAL = {
    "Hostile": ({"hostile": True, "use": True}, """model Hostile "</script><script>window.hacked = 1</script>"
  Real '</script><img src=x onerror="window.hacked=1">'(start = 1, fixed = true, unit = "</style>")
    "<b>bold</b> & 'quotes'";
  Real NAME(start = 0, fixed = true) "a very long name";
equation
  der('</script><img src=x onerror="window.hacked=1">') = -1;
  der(NAME) = '</script><img src=x onerror="window.hacked=1">'; // </script><!-- ]]> \\u003c
  when '</script><img src=x onerror="window.hacked=1">' < 0 then
    reinit('</script><img src=x onerror="window.hacked=1">', 1);
  end when;
  annotation(experiment(StopTime = 3));
end Hostile;
""".replace("NAME", "x" * 10_000)),
    "Fails": ({"status": "not_finite", "use": True,
               "texts": {"pre.source .failed": "der(x) = -sqrt(x)", "#notes pre": "der(x) = -sqrt(x)"}},
              """model Fails "the root of a negative number"
  Real x(start = 1, fixed = true, unit = "m");
equation
  der(x) = -sqrt(x) - 0.1;
  annotation(experiment(StopTime = 10));
end Fails;
"""),
    "NeverStarts": ({"status": "initialisation_failed"}, """model NeverStarts
  Real x(start = 1);
equation
  x*x = -1;
end NeverStarts;
"""),
    "Parameters": ({"texts": {"#parameters tbody tr:nth-child(1)": "2.5\tN/m\tstiffness",
                              "#parameters tbody tr:nth-child(2)": "on\ttrue",
                              "#parameters tbody tr:nth-child(3)": "gear\thigh"}}, """model Parameters
  type Gear = enumeration(low, high);
  parameter Real k(unit = "N/m") = 2.5 "stiffness";
  parameter Boolean on = true;
  parameter Gear gear = Gear.high;
  Real x = if on and gear == Gear.high then k*time else 0;
end Parameters;
"""),
    "Backwards": ({"use": True}, """model Backwards
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
  Boolean up = v > 0;
equation
  der(x) = v;
  der(v) = -x;
  annotation(experiment(StartTime = 5, StopTime = 0));
end Backwards;
"""),
    # times are no tests: this bound only finds pages that never load
    # Numbers of very different size share no axis, and a path that is not known is no line.
    "ManyEvents": ({"loads_within_ms": 60_000, "use": True, "panels": 4,
                    "texts": {"#phase-notes": "within the shaded area"}},
                   """model ManyEvents "a hundred thousand events"
  Real x(start = 0, fixed = true, unit = "V"), y(start = 0, fixed = true, unit = "A");
  discrete Real s(start = 1);
  Integer n(start = 0, fixed = true);
equation
  der(x) = 2000*s;
  der(y) = x - y;
  when x > 0.01 then
    s = -1;
    n = pre(n) + 1;
  elsewhen x < -0.01 then
    s = 1;
    n = pre(n) + 1;
  end when;
  annotation(experiment(StopTime = 1, Tolerance = 1e-6));
end ManyEvents;
"""),
}


def missing(text):
    in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    print(f"{'FAILED' if in_ci else 'skipped'}: {text}")
    sys.exit(1 if in_ci else 77)


def program(*names):
    for name in names:
        if shutil.which(name):
            return shutil.which(name)
    return missing(f"there is no {names[0]} on this machine (Debian packages: chromium, nodejs, npm)")


def output_of(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)


def install_driver(folder):
    """playwright-core, in the version that package-lock.json names, by its hash."""
    here = pathlib.Path(__file__).resolve().parent
    lock = (here / "package-lock.json").read_text(encoding="utf-8")
    stamp = folder / "installed"
    if (folder / "node_modules/playwright-core").is_dir() and stamp.exists() and stamp.read_text() == lock:
        return
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(here / name, folder / name)
    command = [program("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    result = output_of(command, cwd=folder)
    if result.returncode != 0:
        missing("npm cannot install playwright-core:\n" + result.stdout)
    stamp.write_text(lock)


def write_report(saltus, model, page):
    result = output_of([saltus, "run", model, "--quiet", "--no-plot", "--html", page])
    if result.returncode not in (0, 1) or not page.exists():
        sys.exit(f"{model}: {result.stdout}")
    return page


def main():
    saltus, folder, wanted = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    browser, node = os.environ.get("SALTUS_BROWSER") or program(*BROWSERS), program("node", "nodejs")
    folder.mkdir(parents=True, exist_ok=True)
    install_driver(folder)
    models = sorted((ROOT / "examples/gallery").glob("*.mo"))
    for name in USED:
        (folder / f"{name}.expect.json").write_text(json.dumps({"use": True}))
    for name, (expected, text) in SPECIAL.items():
        (folder / f"{name}.mo").write_text(text, encoding="utf-8")
        (folder / f"{name}.expect.json").write_text(json.dumps(expected))
        models.append(folder / f"{name}.mo")
    if wanted:
        models = [model for model in models if model.stem in wanted]
    pages = [write_report(saltus, model, folder / f"{model.stem}.html") for model in models]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        if str(ROOT) in text or str(folder) in text:
            sys.exit(f"{page.name} names a folder of this machine")
        if page.stem != "ManyEvents" and len(text) > 300_000:
            sys.exit(f"{page.name} has {len(text)} bytes")
    shutil.copyfile(pathlib.Path(__file__).resolve().parent / "report_test.mjs", folder / "report_test.mjs")
    return subprocess.run([node, folder / "report_test.mjs", browser, *pages], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
