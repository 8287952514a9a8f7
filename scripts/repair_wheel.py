#!/usr/bin/env python3
"""Makes a wheel run where no library is installed: repair_wheel.py WHEEL [--out FOLDER]

Copies the shared libraries that not every Linux has into saltus.libs, with their licences, makes the module look for
them there, and names the oldest system in the tag (manylinux_2_N: glibc 2.N). Prints the name of the new wheel.
"""
import argparse
import base64
import hashlib
import re
import sys
import tempfile
import zipfile
from pathlib import Path

from shared_libraries import Problem, copy_libraries, copy_licences, look_in, oldest_glibc


def record_line(root, file):
    digest = base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()
    return f"{file.relative_to(root).as_posix()},sha256={digest},{file.stat().st_size}"


def repair(wheel, out):
    """Writes the repaired wheel into the folder `out` and returns its path."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(root)
        modules = sorted(root.glob("saltus/_core*.so"))
        information = next(root.glob("saltus-*.dist-info"), None)
        if not modules or information is None:
            raise Problem(f"{wheel} is no wheel of saltus with a compiled module")
        libraries = root / "saltus.libs"
        copied = copy_libraries(modules, libraries)
        for module in modules:
            look_in(module, "$ORIGIN/../saltus.libs")
        copy_licences(copied, information / "licenses")

        major, minor = oldest_glibc([*modules, *root.glob("saltus/*.so"), *libraries.iterdir()])
        tag = re.search(r"^Tag: (\S+)-linux_(\w+)$", (information / "WHEEL").read_text(), re.M)
        if not tag:
            raise Problem(f"{wheel} has no tag of linux: was it repaired already?")
        name = f"{tag[1]}-manylinux_{major}_{minor}_{tag[2]}"
        text = (information / "WHEEL").read_text().replace(tag[0], f"Tag: {name}")
        (information / "WHEEL").write_text(text)

        files = sorted(path for path in root.rglob("*") if path.is_file() and path.name != "RECORD")
        record = information / "RECORD"
        record.write_text("".join(record_line(root, file) + "\n" for file in files)
                          + f"{record.relative_to(root).as_posix()},,\n")
        target = out / f"{information.name.removesuffix('.dist-info')}-{name}.whl"
        out.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for file in [*files, record]:
                archive.write(file, file.relative_to(root).as_posix())
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, default=Path("."))
    given = parser.parse_args()
    try:
        print(repair(given.wheel, given.out))
    except (Problem, OSError, zipfile.BadZipFile) as problem:
        print(f"repair_wheel.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
