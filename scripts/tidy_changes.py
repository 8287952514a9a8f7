#!/usr/bin/env python3
"""Lets clang-tidy look at lines that have changed: tidy_changes.py FOLDER [--base COMMIT] [--most N] [--all]

FOLDER was configured by scripts/check_compiler.py with clang. Looks at C++ files of the library and the programs that
differ from the base: COMMIT, or where this branch left origin/main or main, or the last commit. Only remarks about
changed lines count, of a few checks that are hardly ever wrong. --most: at most N files, those that changed most.
--all: all lines of all files, for the night.
"""
import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "cli", "python/src")
CHECKS = ("-*,bugprone-use-after-move,bugprone-infinite-loop,bugprone-dangling-handle,bugprone-sizeof-container,"
          "bugprone-suspicious-memset-usage,bugprone-unused-raii,bugprone-string-constructor,bugprone-integer-division,"
          "bugprone-undefined-memory-manipulation,bugprone-virtual-near-miss,bugprone-unhandled-self-assignment,"
          "bugprone-copy-constructor-init,bugprone-suspicious-semicolon,bugprone-redundant-branch-condition,"
          "bugprone-stringview-nullptr,performance-for-range-copy,performance-unnecessary-copy-initialization,"
          "performance-inefficient-algorithm,performance-implicit-conversion-in-loop")


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def find_base():
    here = git("rev-parse", "HEAD")
    for name in ("origin/main", "main"):
        base = git("merge-base", "HEAD", name)
        if base and base != here:
            return base
    return git("rev-parse", "HEAD~1")


def changed_lines(base):
    """{file: [[first, last], …]} of what differs from the base."""
    found, file = {}, None
    for line in git("diff", "-U0", "--diff-filter=d", base, "--", *FOLDERS).splitlines():
        if line.startswith("+++ "):
            file = line[6:]
        elif (place := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)) and file and file.endswith(".cpp"):
            first, count = int(place[1]), int(place[2] or 1)
            if count:
                found.setdefault(file, []).append([first, first + count - 1])
    return found


def commands(folder):
    """How the file, or the unit of its folder, is compiled."""
    entries = json.loads((folder / "compile_commands.json").read_text(encoding="utf-8"))
    by_file = {entry["file"]: entry for entry in entries}
    by_folder = {}
    for entry in entries:
        if "/Unity/" in entry["file"] and "saltus_fmu" not in entry["file"]:
            part = os.path.relpath(entry["file"], folder).split("/CMakeFiles/")[0]
            by_folder.setdefault(part, entry)

    def command_of(file):
        entry = by_file.get(str(ROOT / file))
        if entry is None:
            parts = [part for part in by_folder if file.startswith(part + "/")]
            if not parts:
                return None
            entry = by_folder[max(parts, key=len)]
        words = shlex.split(entry["command"])
        place = words.index("-o")
        return [word for word in words[1:place] if word != "-c" and not word.endswith((".cpp", ".cxx"))]
    return command_of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--base")
    parser.add_argument("--most", type=int, default=1 << 30)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--tidy", default="clang-tidy-16")
    given = parser.parse_args()
    if given.all:
        lines = {file: [] for file in git("ls-files", *FOLDERS).splitlines() if file.endswith(".cpp")}
    else:
        base = given.base or find_base()
        if not base:
            print("nothing to compare with: there is one commit")
            return 0
        lines = changed_lines(base)
    files = sorted(lines, key=lambda file: -sum(last - first + 1 for first, last in lines[file]))
    command_of = commands(given.folder.resolve())

    def look_at(file):
        flags = command_of(file)
        if flags is None:
            return 0, ""
        only = {"name": str(ROOT / file), **({"lines": lines[file]} if lines[file] else {})}
        done = subprocess.run([given.tidy, "--quiet", f"--checks={CHECKS}", "--warnings-as-errors=*",
                               f"--line-filter={json.dumps([only])}", str(ROOT / file), "--", *flags],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        return done.returncode, done.stdout

    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, (code, text) in zip(files[:given.most], pool.map(look_at, files[:given.most])):
            if text.strip():
                print(text)
            if code:
                failed += 1
                print(f"{given.tidy}: {file}")
    left = files[given.most:]
    rest = f"; {len(left)} that changed less were not looked at" if left else ""
    print(f"{len(files) - len(left)} files, {failed} with remarks{rest}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
