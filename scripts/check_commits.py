#!/usr/bin/env python3
"""Checks the messages of commits: check_commits.py [--since COMMIT] [ROOT]

The first line reads `layer: imperative summary`, with at most 72 characters and one topic (no `;`); then comes an empty
line and a body that says why. Without --since, all commits after the one that brought this script are checked; merges
are not. Prints one line a problem and exits 1 if there are any.
"""
import re
import subprocess
import sys
from pathlib import Path

LONGEST = 72
SUBJECT = re.compile(r"^[a-z][a-z0-9_.+-]*(/[a-z0-9_.+-]+)?(, [a-z][a-z0-9_.+-]*)*: \S")


def git(root, *words):
    result = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return result.stdout if result.returncode == 0 else ""


def problems_of(message):
    lines = message.rstrip("\n").split("\n")
    subject = lines[0]
    if not SUBJECT.match(subject):
        yield "the first line must read 'layer: imperative summary'"
    if len(subject) > LONGEST:
        yield f"the first line has {len(subject)} characters, at most {LONGEST} are allowed"
    if ";" in subject:
        yield "the first line has a ';': one commit has one topic"
    if len(lines) < 3 or lines[1] != "" or not lines[2].strip():
        yield "an empty line and a body that says why must follow"
    if any(len(line) > 120 for line in lines[1:]):
        yield "a line of the body has more than 120 characters"


def main():
    words = sys.argv[1:]
    since = None
    if "--since" in words:
        place = words.index("--since")
        since = words[place + 1]
        del words[place:place + 2]
    root = Path(words[0]) if words else Path(__file__).resolve().parents[1]
    if since is None:
        added = git(root, "log", "--diff-filter=A", "--format=%H", "--", "scripts/check_commits.py")
        since = added.strip().split("\n")[-1]
    commits = git(root, "rev-list", "--no-merges", f"{since}..HEAD" if since else "HEAD").split()
    count = 0
    for commit in reversed(commits):
        for problem in problems_of(git(root, "log", "-1", "--format=%B", commit)):
            count += 1
            print(f"{commit[:10]}: {problem}")
    print(f"{len(commits)} commits, {count} problems")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
