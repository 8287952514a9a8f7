#!/usr/bin/env python3
"""Checks line lengths and the format of C++ files: check_style.py lines|format [--write] [ROOT]

  lines    no line of a text file of the repository has more than 120 characters
  format   clang-format would change no C++ file

Files that do not comply yet are listed in scripts/style_exceptions.txt, one "CHECK PATH" a line. The list may only get
shorter: a file that complies must leave it, and no file may join those of the last two commits. --write writes the
entries of the check anew, which is for merges of branches that do not know the list. Prints one line a problem and
exits 1 if there are any.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

LONGEST = 120
LIST = "scripts/style_exceptions.txt"
NOT_TEXT = {".svg", ".csv", ".png", ".pdf", ".json", ".html"}
CPP = {".cpp", ".hpp"}


def git(root, *words):
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)


def tracked(root):
    """All files of the repository that are there, new ones included."""
    listed = git(root, "ls-files", "--cached", "--others", "--exclude-standard").stdout.splitlines()
    return [name for name in sorted(set(listed)) if (root / name).is_file()]


def long_lines(root):
    """{file: problem} for files with long lines."""
    found = {}
    for name in tracked(root):
        if Path(name).suffix in NOT_TEXT or name == LIST:
            continue
        try:
            lines = (root / name).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            if len(line) > LONGEST:
                found[name] = f"{name}:{number}: {len(line)} characters, at most {LONGEST} are allowed"
                break
    return found


def unformatted(root):
    """{file: problem} for files that clang-format would change."""
    if not shutil.which("clang-format"):
        sys.exit("check_style.py: clang-format is not installed (Debian: apt-get install clang-format)")
    files = [name for name in tracked(root) if Path(name).suffix in CPP]
    found = {}
    for first in range(0, len(files), 50):
        result = subprocess.run(["clang-format", "--dry-run", "--Werror", *files[first:first + 50]], cwd=root,
                                capture_output=True, text=True, check=False)
        for match in re.finditer(r"^(.*?):(\d+):\d+: error: ", result.stderr, re.M):
            name, line = match.groups()
            found.setdefault(name, f"{name}:{line}: not formatted; run clang-format -i on it")
    return found


def entries(text, check):
    return {line.split(" ", 1)[1] for line in text.splitlines() if line.startswith(check + " ")}


def write(root, check, found):
    path = root / LIST
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    others = [line for line in text.splitlines() if not line.startswith(check + " ")]
    path.write_text("\n".join(sorted(others + [f"{check} {name}" for name in found])) + "\n", encoding="utf-8")


def main():
    words = [word for word in sys.argv[1:] if word != "--write"]
    checks = {"lines": long_lines, "format": unformatted}
    if not words or words[0] not in checks or len(words) > 2:
        sys.exit(__doc__)
    check, root = words[0], Path(words[1] if len(words) > 1 else Path(__file__).resolve().parents[1])
    found = checks[check](root)
    if "--write" in sys.argv:
        write(root, check, found)
        return 0
    path = root / LIST
    exempt = entries(path.read_text(encoding="utf-8") if path.exists() else "", check)
    problems = [text for name, text in found.items() if name not in exempt]
    problems += [f"{LIST}: {name} complies now, remove it from the list" for name in sorted(exempt - set(found))]
    for commit in ("HEAD", "HEAD~1"):
        old = git(root, "show", f"{commit}:{LIST}")
        if old.returncode == 0:
            joined = exempt - entries(old.stdout, check)
            problems += [f"{LIST}: {name} must not join the list (it is not in that of {commit})"
                         for name in sorted(joined)]
    print("\n".join(problems + [f"{check}: {len(exempt)} exceptions, {len(problems)} problems"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
