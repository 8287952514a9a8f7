#!/usr/bin/env python3
"""Checks that the glossary is complete: check_glossary.py [ROOT]

Every kind of event and every counter of a run that the headers have must stand in docs/notation.md in `code`. The words
of its table are in the order of the alphabet, and each is explained in at most 25 words. Prints one line a problem and
exits 1 if there are any.
"""
import re
import sys
from pathlib import Path

COUNTERS = ("StepStatistics", "RunStatistics")


def members(header, kind, name):
    """The names that are declared in an enum or a struct of a header."""
    body = re.search(rf"{kind} {name}\b[^{{]*{{(.*?)\n}};", header, re.S)
    if body is None:
        raise SystemExit(f"there is no {kind} {name}")
    text = re.sub(r"//.*", "", body.group(1))
    if kind == "enum class":
        return re.findall(r"\b(\w+),", text)
    text = re.sub(r"{.*", "", text.split("&operator", 1)[0].split("& operator", 1)[0], flags=re.S)
    return re.findall(r"^  (?:std::int64_t|double|std::string) (\w+)(?: = [^;]*)?;", text, re.M)


def problems(root):
    page = (root / "docs/notation.md").read_text(encoding="utf-8")
    run = (root / "include/saltus/hybrid/trajectory.hpp").read_text(encoding="utf-8")
    step = (root / "include/saltus/step/stepper.hpp").read_text(encoding="utf-8")
    explained = set(re.findall(r"`(\w+)`", page))
    for name in members(run, "enum class", "EventKind"):
        if name not in explained:
            yield f"the kind of event '{name}' is not explained"
    for name in members(step, "struct", COUNTERS[0]) + members(run, "struct", COUNTERS[1]):
        if name not in explained:
            yield f"the counter '{name}' is not explained"
    words = page.split("| word | meaning |", 1)[-1].split("\n\n", 1)[0]
    rows = re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|$", words, re.M)
    if not rows:
        yield "there is no table of words"
    for (word, meaning), (after, _) in zip(rows, rows[1:] + [("~", "")]):
        if word.lower() > after.lower():
            yield f"'{after}' stands after '{word}'"
        if len(meaning.split()) > 25:
            yield f"'{word}' is explained in more than 25 words"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = list(problems(root))
    for problem in found:
        print(f"docs/notation.md: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
