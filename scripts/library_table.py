#!/usr/bin/env python3
"""The table of a Modelica library: which of its examples Saltus reads, checks and runs, and how long a run takes.

    library_table.py update --saltus PROGRAM --library FOLDER [--page PAGE.md] [--limit SECONDS] [--jobs N] [--keep-slow]
    library_table.py check  --saltus PROGRAM --library FOLDER [--page PAGE.md]

`update` writes the page. Seconds are those of the processor, so that a busy machine does not matter. With --keep-slow the examples
that the page calls not done in time are not tried again. `check` reads each example that the page says is read, and fails if one is not read any more: the
numbers may only rise. FOLDER may be left out where the environment variable SALTUS_MODELICA_LIBRARY names it; `check` without
either ends with code 77 (skipped).
"""
import argparse
import math
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "modelica-library.md"
KINDS = {"model", "block", "class", "package", "record", "connector", "function", "type", "operator"}
NOISE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|'(?:[^'\\]|\\.)*'|[=(;.]")
NO_TIME_LEFT = 124


def class_head(tokens, k):
    """The name of a class whose definition begins with the keyword at k and goes on to an `end`, or None."""
    at = k + 1
    if tokens[k] == "operator" and tokens[at] in ("record", "function"):
        return None  # the next keyword begins the class
    if tokens[at] == "extends":
        at += 1
    name = tokens[at]
    if name in KINDS or not re.match(r"[A-Za-z_']", name) or tokens[at + 1] in ("=", "(", "."):
        return None
    return name


def examples_of(text):
    """Full names of the classes in a file that extend Icons.Example."""
    tokens = TOKEN.findall(NOISE.sub(" ", text)) + [";"] * 4
    stack, found, within, k = [], [], "", 0
    if tokens[0] == "within":
        end = tokens.index(";")
        within = "".join(tokens[1:end])
        k = end + 1
    while k < len(tokens) - 4:
        token = tokens[k]
        if token in KINDS and tokens[k - 1] != "end" and (name := class_head(tokens, k)):
            stack.append((name, token, tokens[max(0, k - 3):k]))
            k += 2 if tokens[k + 1] == name else 3
            continue
        if token == "end" and stack and tokens[k + 1] == stack[-1][0]:
            stack.pop()
            k += 2
            continue
        if token == "extends" and stack and "Icons" in tokens[k:k + 6]:
            end = tokens.index(";", k)
            whole = "".join(tokens[k + 1:end])
            name, kind, before = stack[-1]
            if whole.split("(")[0].endswith("Icons.Example") and kind in ("model", "block", "class") and "partial" not in before:
                found.append(".".join(filter(None, [within, *(entry[0] for entry in stack)])))
        k += 1
    return found


def all_examples(library):
    names = []
    for path in sorted(Path(library).rglob("*.mo")):
        names += examples_of(path.read_text(encoding="utf-8-sig", errors="replace"))
    return names


def call(program, arguments, limit):
    """Exit code, output and seconds of the processor; NO_TIME_LEFT after `limit` of them, or ten times as long."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [program, *arguments], stdout=output, stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1)))
        killer = threading.Timer(10 * limit, process.kill)
        killer.start()
        _, status, usage = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        code = NO_TIME_LEFT if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL) else process.returncode
        return code, output.read(), usage.ru_utime + usage.ru_stime


def shorten(text, most=90):
    text = re.sub(r"\d+\.\d{4,}(e[-+]?\d+)?", lambda m: f"{float(m[0]):.0e}", text.strip()).replace("|", "\\|")
    return text if len(text) <= most else text[:most - 1] + "…"


def judge(options, name):
    """One row: (name, read, checked, runs, seconds, remark)."""
    arguments = ["run", "--library", options.library, "--model", name, "--quiet", "--no-plot"]
    code, output, seconds = call(options.saltus, arguments, options.limit)
    output = output.replace(str(options.library).rstrip("/") + "/", "")
    errors = re.findall(r"error: (.*)", output)
    if code == 2 and errors:
        return name, False, False, False, None, shorten(errors[0])
    if code == 2:
        return name, True, False, False, None, shorten(re.sub(r"^\S*:\d+:\d+: (model '[^']*': )?", "", output.split("\n")[0]))
    if code == NO_TIME_LEFT:
        return name, True, True, False, None, f"not done after {options.limit:g} s"
    if code != 0:
        return name, True, True, False, None, shorten(output.split("\n")[0]) or f"ended with code {code}"
    return name, True, True, True, seconds, ""


def page_text(rows):
    count = [sum(1 for row in rows if row[k]) for k in (1, 2, 3)]
    lines = [
        "# Examples of the Modelica Standard Library",
        "",
        "Made by `scripts/library_table.py update` from the development state of version 4.2. The library does not come with Saltus. The",
        "archive that was measured lacks `Modelica/package.mo`, `Units`, `Utilities`, `Thermal` and `StateGraph`; short stand-ins took their",
        "place, so the numbers of a complete library may differ. *Read*: flattened without an error. *Checked*: as many equations as",
        "variables, and all of them usable. *Runs*: to the stop time of the example. Seconds are those of the processor, of the development",
        "build; the remark says after how many of them a run was given up.",
        "",
        f"Of {len(rows)} examples **{count[0]} are read, {count[1]} pass the check and {count[2]} run**. These numbers may only rise: with the",
        "environment variable `SALTUS_MODELICA_LIBRARY`, which names the folder of the library, the test `modelica.library` reads again what is",
        "read here.",
        "",
        "| package | examples | read | checked | run |",
        "|---|---|---|---|---|",
    ]
    groups = Counter(".".join(row[0].split(".")[:3 if row[0].startswith("Modelica.") else 2]) for row in rows)
    for group in sorted(groups):
        members = [row for row in rows if row[0].startswith(group + ".")]
        sums = [sum(1 for row in members if row[k]) for k in (1, 2, 3)]
        lines.append(f"| {group} | {len(members)} | {sums[0]} | {sums[1]} | {sums[2]} |")
    lines += ["", "| example | read | checked | runs | seconds | remark |", "|---|---|---|---|---|---|"]
    yes = {True: "yes", False: ""}
    for name, read, checked, runs, seconds, remark in rows:
        shown = f"{seconds:.1f}" if seconds is not None else ""
        lines.append(f"| {name} | {yes[read]} | {yes[checked]} | {yes[runs]} | {shown} | {remark} |")
    return "\n".join(lines) + "\n"


def update(options):
    names = all_examples(options.library)
    print(len(names), "examples", file=sys.stderr)
    slow = {}
    if options.keep_slow:
        text = Path(options.page).read_text(encoding="utf-8")
        for name, remark in re.findall(r"(?m)^\| (\S+) \| yes \| yes \|  \|  \| (not done after [\d.]+ s) \|$", text):
            slow[name] = (name, True, True, False, None, remark)
    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda name: slow.get(name) or judge(options, name), names))
    Path(options.page).write_text(page_text(rows), encoding="utf-8")
    return 0


def check(options):
    text = Path(options.page).read_text(encoding="utf-8")
    floor = re.findall(r"(?m)^\| (\S+\.\S+) \| yes \|", text)
    lost = []
    for name in floor:
        code, output, _ = call(options.saltus, ["check", "--library", options.library, "--model", name, "--no-run"], options.limit)
        errors = re.findall(r"error: (.*)", output)
        if code == 2 and errors:
            lost.append(f"{name}: {errors[0]}")
    print("\n".join(lost) if lost else f"all {len(floor)} examples are read")
    return 1 if lost else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["update", "check", "list"])
    parser.add_argument("--saltus", default="saltus")
    parser.add_argument("--library", default=os.environ.get("SALTUS_MODELICA_LIBRARY", ""))
    parser.add_argument("--page", default=str(PAGE))
    parser.add_argument("--limit", type=float, default=60, help="seconds of the processor for one example")
    parser.add_argument("--keep-slow", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if not options.library:
        print("SALTUS_MODELICA_LIBRARY does not name the folder of a library: skipped")
        return 77
    if options.action == "list":
        print("\n".join(all_examples(options.library)))
        return 0
    return update(options) if options.action == "update" else check(options)


if __name__ == "__main__":
    sys.exit(main())
