#!/usr/bin/env python3
"""Lets another compiler read the library and the program: check_compiler.py FOLDER COMPILER [OPTION ...]

It makes no code. Configures FOLDER (units of several files, warnings are errors) with the C++ compiler and the options
of CMake, writes the sources that are generated, and reads every unit with -fsyntax-only. Prints what the compiler says
and exits with 1 if it refuses a unit. For example
  check_compiler.py build/clang clang++-16
  check_compiler.py build/aarch64 aarch64-linux-gnu-g++ -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64
"""
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPTIONS = ["-G", "Ninja", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DSALTUS_UNITY=ON", "-DSALTUS_WERROR=ON",
           "-DSALTUS_BUILD_TESTS=OFF", "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON", "-DCMAKE_CXX_FLAGS=-O0"]


def quiet(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout)
        sys.exit(f"{' '.join(map(str, command[:2]))} failed")
    return done.stdout


def generate_sources(folder):
    """Units include sources that CMake's own commands write."""
    listed = quiet(["ninja", "-C", folder, "-t", "targets", "all"])
    sources = [line.partition(":")[0] for line in listed.splitlines() if line.endswith(": CUSTOM_COMMAND")]
    sources = [source for source in sources if source.endswith(".cpp") and not Path(source).is_absolute()]
    if sources:
        quiet(["ninja", "-C", folder, *sources])


def read_unit(entry):
    command = shlex.split(entry["command"])
    place = command.index("-o")
    del command[place:place + 2]
    done = subprocess.run([*command, "-fsyntax-only"], cwd=entry["directory"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, compiler, options = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    quiet(["cmake", "-S", ROOT, "-B", folder, f"-DCMAKE_CXX_COMPILER={compiler}", *OPTIONS, *options])
    generate_sources(folder)
    entries = {}  # (FMUs compile some sources once more)
    for entry in json.loads((folder / "compile_commands.json").read_text(encoding="utf-8")):
        if entry["file"].endswith((".cpp", ".cxx")):
            entries[entry["file"], "saltus_fmu" in entry["command"]] = entry
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, (code, text) in zip(entries.values(), pool.map(read_unit, entries.values())):
            if text:
                print(text)
            if code != 0:
                failed += 1
                print(f"{compiler} refuses {os.path.relpath(entry['file'], ROOT)}")
    print(f"{compiler}: {len(entries)} units, {failed} refused")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
