#!/usr/bin/env python3
"""The table of a Modelica library: which of its examples Saltus reads, checks and runs, and how long a run takes.

    library_table.py update --saltus PROGRAM --library FOLDER [--page PAGE.md] [--limit SECONDS] [--jobs N]
                            [--keep-slow] [--only TEXT] [--lower]
    library_table.py check  --saltus PROGRAM --library FOLDER [--page PAGE.md]
    library_table.py list   --library FOLDER

`update` writes the page. Each example that runs is run once more with another method and a tolerance of 1e-8, or 1e-7
where that cannot be met; the page says whether the two results agree within a thousandth of the range of each
variable, or agree once the first method has that tolerance, too. Seconds are those of the processor, so that a busy
machine does not matter. --keep-slow keeps the rows of examples that the page calls not done in time; --only keeps all
rows but those whose names contain TEXT. The numbers of the page may only rise: where fewer examples are read, checked
or run the page stays as it is, unless --lower is given. A folder without examples, or with --only one that lacks some
of the page, is refused in any case. `check` reads each example that the page says is read, and
fails if one is not read any more: the numbers may only rise. FOLDER may be left out where the environment variable
SALTUS_MODELICA_LIBRARY names it; `check` without either ends with code 77 (skipped).

Archives of the library may lack the file package.mo of Modelica. Then links to their files and to the short stand-ins
of tests/modelica/library make a complete folder.
"""
import argparse
import json
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

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "modelica-library.md"
STAND_INS = ROOT / "tests" / "modelica" / "library" / "Modelica"
KINDS = {"model", "block", "class", "package", "record", "connector", "function", "type", "operator"}
NOISE = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
TOKEN = re.compile(r"[A-Za-z_]\w*|'(?:[^'\\]|\\.)*'|[=(;.]")
NO_TIME_LEFT = 124
TIGHT = (1e-8, 1e-7)  # the tolerance of the second run; the larger one where rounding errors are above the first
ABSOLUTE = 1e-6  # that of the first one, which says nothing about smaller values


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
            is_model = kind in ("model", "block", "class") and "partial" not in before
            if is_model and whole.split("(")[0].endswith("Icons.Example"):
                found.append(".".join(filter(None, [within, *(entry[0] for entry in stack)])))
        k += 1
    return found


def complete(library, folder):
    """The library; or, if its package Modelica has no file package.mo, `folder` with links to it and to stand-ins."""
    incomplete = Path(library).resolve() / "Modelica"
    if not incomplete.is_dir() or (incomplete / "package.mo").exists():
        return library
    (Path(folder) / "Modelica").mkdir()
    for source in [*incomplete.parent.iterdir(), *incomplete.iterdir(), *STAND_INS.iterdir()]:
        link = Path(folder) / ("" if source.parent == incomplete.parent else "Modelica") / source.name
        if not link.exists():
            link.symlink_to(source)
    return folder


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


def same(options, first, second):
    """Whether two results agree within a thousandth of the range of each variable. Differences below the absolute
    tolerance of the first run do not count: what is left of a sum that vanishes has the range of errors."""
    code, output, _ = call(options.saltus, ["compare", first, second, "--tol", "1e-3"], options.limit)
    if code == 0:
        return True
    apart = re.findall(r"(?m)^\S+ .* (\S+) +(\S+)  <-$", output)
    return bool(apart) and all(abs(float(x) - float(y)) <= ABSOLUTE for x, y in apart)


def agrees(options, arguments, first, folder):
    """Whether a second method with a tighter tolerance gives the same result: yes; tight, if the first method needs
    that tolerance, too; no; or "?" if the second run does not end."""
    method = json.loads((folder / "first.json").read_text(encoding="utf-8"))["statistics"]["method"]
    second, third = folder / "second.mat", folder / "third.mat"
    for tolerance in TIGHT:
        tight = ["--rtol", tolerance, "--atol", tolerance]
        # a method that has nothing in common with the one that was taken
        more = ["--method", "bdf" if "radau" in method else "radau", *tight, "--mat", second]
        code = call(options.saltus, [*arguments, *map(str, more)], options.limit)[0]
        if code in (0, NO_TIME_LEFT):
            break
    if code != 0:
        return "?"
    if same(options, first, second):
        return "yes"
    if call(options.saltus, [*arguments, *map(str, tight), "--mat", third], options.limit)[0] != 0:
        return "no"
    return "tight" if same(options, third, second) else "no"


def judge(options, name):
    """One row: (name, read, checked, runs, seconds, agrees, remark)."""
    arguments = ["run", "--library", options.library, "--model", name, "--quiet", "--no-plot", "--intervals", "5000"]
    with tempfile.TemporaryDirectory() as folder:
        first, facts = Path(folder) / "first.mat", Path(folder) / "first.json"
        code, output, seconds = call(options.saltus, [*arguments, "--mat", first, "--json", facts], options.limit)
        slow = code == NO_TIME_LEFT
        if slow:  # whether it is read shows without a run
            read, output, _ = call(options.saltus, ["flatten", *arguments[1:5], "-o", os.devnull], options.limit)
            if read == NO_TIME_LEFT:
                return name, False, False, False, None, "", f"not read after {options.limit:g} s"
        output = output.replace(str(options.library).rstrip("/") + "/", "")
        errors = re.findall(r"error: (.*)", output)
        if code in (2, NO_TIME_LEFT) and errors:
            return name, False, False, False, None, "", shorten(errors[0])
        if code == 2:
            text = re.sub(r"^\S*:\d+:\d+: (model '[^']*': )?", "", output.split("\n")[0])
            return name, True, False, False, None, "", shorten(text)
        if slow:
            return name, True, True, False, None, "", f"not done after {options.limit:g} s"
        if code != 0:
            return name, True, True, False, None, "", shorten(output.split("\n")[0]) or f"ended with code {code}"
        return name, True, True, True, seconds, agrees(options, arguments, first, Path(folder)), ""


def page_text(rows):
    count = [sum(1 for row in rows if row[k]) for k in (1, 2, 3)]
    agree, tight, differ = (sum(1 for row in rows if row[5] == word) for word in ("yes", "tight", "no"))
    lines = [
        "# Examples of the Modelica Standard Library",
        "",
        "Made by `scripts/library_table.py update` from the development state of version 4.2. The library does not come",
        "with Saltus. `Batteries`, `Clocked`, `Digital`, `Fluid`, `StateGraph`, `Thermal`, `Utilities` and the examples of",
        "noise and buses in `Blocks` were measured with the complete library, the",
        "other packages with one that lacks `Modelica/package.mo`, `Units`, `Thermal`, `Utilities` and `StateGraph`:",
        "the short stand-ins of `tests/modelica/library` took their place, so their numbers may differ.",
        "",
        "- *Read*: flattened without an error.",
        "- *Checked*: as many equations as variables, and all of them usable.",
        "- *Runs*: to the stop time of the example, with all equations satisfied.",
        "- *Seconds*: of the processor, with the development or the release build; the remark says after how many a run",
        "  was given up.",
        "- *Agrees*: another method with a tolerance of 1e-8 (1e-7 where rounding errors are larger than that, as in",
        "  bridges of diodes with 1e-5 Ohm) gives the same result, within a thousandth of the range of",
        "  each variable, or within 1e-6. *tight*: it does so if the first method has this tolerance, too; with that of",
        "  the example some variable is less accurate. *no*: chaotic models, angles of zero, truth values where a guard",
        "  only touches zero, and outputs that jump without an event. *?*: the second run fails or was given up.",
        "",
        f"Of {len(rows)} examples **{count[0]} are read, {count[1]} pass the check and {count[2]} run**. Of those that run,",
        f"{agree} agree with the second method, {tight} at a tight tolerance, {differ} do not, and",
        f"{count[2] - agree - tight - differ} have no second result.",
        "The numbers may only rise: with the environment variable `SALTUS_MODELICA_LIBRARY`, which names the folder of the",
        "library, the test `modelica.library` reads again what is read here.",
        "",
        "Classes are read when they are first named. With the release build `saltus flatten` takes 46 ms of the processor",
        "for `CoupledClutches` and 0.17 s for 280 inertias with springs between",
        "them (5035 equations): the least of several calls, with the start of the program and the file that is written.",
        "",
        "| package | examples | read | checked | run |",
        "|---|---|---|---|---|",
    ]
    groups = Counter(".".join(row[0].split(".")[:3 if row[0].startswith("Modelica.") else 2]) for row in rows)
    for group in sorted(groups):
        members = [row for row in rows if row[0].startswith(group + ".")]
        sums = [sum(1 for row in members if row[k]) for k in (1, 2, 3)]
        lines.append(f"| {group} | {len(members)} | {sums[0]} | {sums[1]} | {sums[2]} |")
    lines += ["", "| example | read | checked | runs | seconds | agrees | remark |", "|---|---|---|---|---|---|---|"]
    yes = {True: "yes", False: ""}
    for name, read, checked, runs, seconds, agreement, remark in rows:
        shown = f"{seconds:.1f}" if seconds is not None else ""
        lines.append(f"| {name} | {yes[read]} | {yes[checked]} | {yes[runs]} | {shown} | {agreement} | {remark} |")
    return "\n".join(lines) + "\n"


def rows_of(page):
    """The rows of a page by name, as judge() returns them."""
    rows = {}
    pattern = r"(?m)^\| (\S+\.\S+) \| (yes)? ?\| (yes)? ?\| (yes)? ?\| ([\d.]*) ?\| (\S*) ?\| (.*?) ?\|$"
    for name, read, checked, runs, seconds, agreement, remark in re.findall(pattern, page):
        spent = float(seconds) if seconds else None
        rows[name] = (name, bool(read), bool(checked), bool(runs), spent, agreement, remark)
    return rows


def update(options):
    names = all_examples(options.source)
    print(len(names), "examples", file=sys.stderr)
    page = Path(options.page)
    before = rows_of(page.read_text(encoding="utf-8")) if page.exists() else {}
    missing = sorted(set(before) - set(names))
    if not names or missing and options.only:
        print(f"'{options.source}' has {len(names)} examples, and lacks {len(missing)} of the page"
              + (f" ({missing[0]}, …)" if missing else "") + ": is it the folder of the library? The page stays as it is")
        return 1

    def kept(name):
        row = before.get(name)
        if options.only and options.only not in name:
            return row
        return row if options.keep_slow and row and row[6].startswith("not done after") else None

    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(lambda name: kept(name) or judge(options, name), names))
    lost = [what for what, k in (("read", 1), ("checked", 2), ("run", 3))
            if sum(1 for row in before.values() if row[k]) > sum(1 for row in rows if row[k])]
    if lost and not options.lower:
        for name, *_, remark in (row for row in rows if before.get(row[0], row)[3] and not row[3]):
            print(f"{name}: {remark}")
        print("fewer examples than on the page are", " and ".join(lost) + ": it stays as it is (--lower writes it)")
        return 1
    page.write_text(page_text(rows), encoding="utf-8")
    return 0


def check(options):
    text = Path(options.page).read_text(encoding="utf-8")
    floor = re.findall(r"(?m)^\| (\S+\.\S+) \| yes \|", text)
    lost = []
    for name in floor:
        arguments = ["check", "--library", options.library, "--model", name, "--no-run"]
        code, output, _ = call(options.saltus, arguments, options.limit)
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
    parser.add_argument("--lower", action="store_true", help="write the page even if its numbers fall")
    parser.add_argument("--only", default="", help="judge examples whose names contain this; keep other rows")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    if not options.library:
        print("SALTUS_MODELICA_LIBRARY does not name the folder of a library: skipped")
        return 77
    if options.action == "list":
        print("\n".join(all_examples(options.library)))
        return 0
    options.source = options.library
    with tempfile.TemporaryDirectory() as folder:
        options.library = str(complete(options.library, folder))
        return update(options) if options.action == "update" else check(options)


if __name__ == "__main__":
    sys.exit(main())
