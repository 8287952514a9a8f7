#!/usr/bin/env python3
"""Checks that the README tells the truth: its C++ program is examples/stick_slip.cpp, and what it shows of
`./run examples/models/StickSlip.mo` is what the program prints.

usage: check_readme.py SALTUS_PROGRAM
"""
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parent.parent
readme = (root / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(r"```" + language + r"\n(.*?)```", readme, re.S)


def fail(text):
    print(text)
    sys.exit(1)


NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?")


def same(shown, printed):
    """Equal but for the last digits of numbers (mathematical libraries differ) and the line of counters."""
    if len(shown) != len(printed):
        return False
    for a, b in zip(shown, printed):
        if NUMBER.sub("#", a) != NUMBER.sub("#", b):
            return False
        if "evaluations" in a:
            continue
        for x, y in zip(map(float, NUMBER.findall(a)), map(float, NUMBER.findall(b))):
            if abs(x - y) > 1e-6 * max(1.0, abs(x)):
                return False
    return True


def lines(text):
    return [line.rstrip() for line in text.strip().splitlines()]


program = (root / "examples" / "stick_slip.cpp").read_text(encoding="utf-8")
body = program[program.index("#include"):]
if body.strip() not in [block.strip() for block in blocks("cpp")]:
    fail("README.md: the C++ program is not that of examples/stick_slip.cpp")

command = "./run examples/models/StickSlip.mo"
shown = [b for b in blocks("console") if b.startswith("$ " + command + "\n")]
if len(shown) != 1:
    fail(f"README.md: there must be one console block that begins with '$ {command}'")
with tempfile.TemporaryDirectory() as folder:
    saltus = pathlib.Path(sys.argv[1]).resolve()
    result = subprocess.run([saltus, "run", root / "examples/models/StickSlip.mo"], cwd=folder, capture_output=True, text=True)
    if result.returncode != 0:
        fail(result.stderr)
    if not (pathlib.Path(folder) / "StickSlip.svg").exists():
        fail("the run wrote no plot")
if not same(lines(shown[0].split("\n", 1)[1]), lines(result.stdout)):
    fail("README.md shows something else than the program prints:\n" + result.stdout)
print("README.md agrees with the program")
