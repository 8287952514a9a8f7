#!/usr/bin/env python3
"""Packs the program with its libraries: make_archive.py BUILD [--out FOLDER]

Makes saltus-VERSION-SYSTEM.tar.xz, which needs no installation: unpack it and call bin/saltus. BUILD is a build folder
whose program is built. Prints the name of the archive.
"""
import argparse
import platform
import re
import sys
import tarfile
import tempfile
from pathlib import Path

from shared_libraries import Problem, copy_libraries, copy_licences, look_in, oldest_glibc, output


def pack(build, out):
    """Writes the archive into the folder `out` and returns its path."""
    version = re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(\S+)$", (build / "CMakeCache.txt").read_text(), re.M)[1]
    with tempfile.TemporaryDirectory() as folder:
        prefix = Path(folder) / "saltus"
        output("cmake", "--install", build, "--component", "program", "--prefix", prefix)
        program, libraries = prefix / "bin/saltus", prefix / "lib/saltus"
        copied = copy_libraries([program], libraries)
        look_in(program, "$ORIGIN/../lib/saltus")
        copy_licences(copied, prefix / "share/doc/saltus/licenses")
        system = "glibc{}.{}-{}".format(*oldest_glibc([program, *libraries.iterdir()]), platform.machine())
        name = f"saltus-{version}-{platform.system().lower()}-{system}"
        out.mkdir(parents=True, exist_ok=True)
        target = out / f"{name}.tar.xz"
        with tarfile.open(target, "w:xz") as archive:
            archive.add(prefix, name)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--out", type=Path, default=Path("."))
    given = parser.parse_args()
    try:
        print(pack(given.build, given.out))
    except (Problem, OSError) as problem:
        print(f"make_archive.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
