#!/usr/bin/env python3
"""Makes the commit of a release: release.py VERSION [--date YYYY-MM-DD] [--root FOLDER] [--check]

Checks that VERSION follows the last one, that the tree is clean and that the changelog has something to say; then

- cuts the changelog: what stood under "Unreleased" stands under "VERSION – DATE", and Unreleased is empty;
- writes version and date into CMakeLists.txt, CITATION.cff, the formula for Homebrew and the pages that show them.

It commits nothing: it prints what a person has to do, tag and packages included. --check: only checks.
"""
import argparse
import datetime
import re
import subprocess
import sys
from pathlib import Path

NUMBER = re.compile(r"(\d+)\.(\d+)\.(\d+)")
PROJECT = r"(project\(saltus VERSION )([\d.]+)"
SHOWN = r"made by Saltus [\d.]+"
UNRELEASED = "## Unreleased\n"


class Problem(Exception):
    pass


def numbers(text):
    match = NUMBER.fullmatch(text)
    if not match:
        raise Problem(f"'{text}' is not a version; write MAJOR.MINOR.PATCH, such as 0.2.0")
    return tuple(int(part) for part in match.groups())


def check_step(old, new):
    """A release counts one of its three numbers up and sets those after it to zero."""
    major, minor, patch = numbers(old)
    allowed = [(major + 1, 0, 0), (major, minor + 1, 0), (major, minor, patch + 1)]
    if numbers(new) not in allowed:
        texts = ", ".join(".".join(map(str, version)) for version in allowed)
        raise Problem(f"{new} does not follow {old}: the next one is one of {texts}")


def cut(changelog, version, date):
    begin = changelog.find(UNRELEASED)
    if begin < 0:
        raise Problem("CHANGELOG.md has no section '## Unreleased'")
    after = begin + len(UNRELEASED)
    end = changelog.find("\n## ", after)
    section = changelog[after:end if end >= 0 else len(changelog)]
    if not re.search(r"^- ", section, re.M):
        raise Problem("nothing stands under '## Unreleased' in CHANGELOG.md: there is nothing to release")
    return f"{changelog[:after]}\n## {version} – {date}\n{changelog[after:]}"


def change(path, pattern, replacement, least=1):
    text = path.read_text(encoding="utf-8")
    text, count = re.compile(pattern, re.M).subn(replacement, text)
    if count < least:
        raise Problem(f"{path.name}: nothing matches '{pattern}'")
    path.write_text(text, encoding="utf-8")


def git(root, *words):
    done = subprocess.run(["git", "-C", root, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise Problem(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def release(root, version, date, only_check):
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    old = re.search(PROJECT, cmake)[2]
    check_step(old, version)
    if git(root, "status", "--porcelain").strip():
        raise Problem("the tree has changes that are not committed: commit them first")
    if f"v{version}" in git(root, "tag", "--list").split():
        raise Problem(f"there is a tag v{version} already")
    changelog = cut((root / "CHANGELOG.md").read_text(encoding="utf-8"), version, date)
    if only_check:
        print(f"{version} can be made from {old}")
        return
    (root / "CHANGELOG.md").write_text(changelog, encoding="utf-8")
    change(root / "CMakeLists.txt", PROJECT, rf"\g<1>{version}")
    change(root / "CITATION.cff", r"^version: .*$", f"version: {version}")
    if re.search(r"^date-released:", (root / "CITATION.cff").read_text(encoding="utf-8"), re.M):
        change(root / "CITATION.cff", r"^date-released: .*$", f"date-released: {date}")
    else:
        change(root / "CITATION.cff", r"^(version: .*)$", rf"\1\ndate-released: {date}")
    change(root / "packaging/homebrew/saltus.rb", r'^(  version ")[\d.]+', rf"\g<1>{version}")
    for page in sorted((root / "docs").rglob("*.md")):
        if re.search(SHOWN, page.read_text(encoding="utf-8")):
            change(page, SHOWN, f"made by Saltus {version}")
    print(f"""version {old} is {version} now. What is left:
  git diff                                    read it
  .ci/run                                     must be green with these changes
  git commit -a -m "release: make {version}"
  git tag -a v{version} -m "Saltus {version}"
  cmake --preset python && cmake --build build/release
  cpack --config build/release/CPackConfig.cmake
  scripts/make_archive.py build/release
  SALTUS_BUILD_DIR=build/release pip wheel --no-build-isolation --no-deps -w build/wheel .
  scripts/repair_wheel.py build/wheel/saltus-{version}-*.whl
  git push --follow-tags, and the packages to where they are published""")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--date", default=datetime.date.today().isoformat())
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    try:
        release(given.root, given.version, given.date, given.check)
    except Problem as problem:
        print(f"release.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
