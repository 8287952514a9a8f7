#!/usr/bin/env python3
"""Checks that each number in the sources of events is explained once: check_numbers.py [ROOT] [--missing]

FOLDERS are the layers that decide what happens at an event. Each floating literal there, and each integer above 2 that
a named constant has, stands in TABLE with its reason. 0.0, 1.0, 2.0 and 0.5 are arithmetic, unless a named constant has
them. A line of the table is

    FILE | NUMBERS | KIND | REASON

and goes on in the next one if that begins with a space. NUMBERS are separated by spaces: `4.0` is the literal, `4.0*3`
three of them in that file, `near=1e-3` the one that the named constant `near` is made of, `*` all of the file. Several
lines may explain the same literal of a file; their counts are added up. KIND is one of KINDS or, where the number
answers a question about what is the same, one of QUESTIONS.

Prints what is not explained, and what the table explains although it is gone, and exits 1 if there is any of them.
--missing prints what is not explained as lines to be completed.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

FOLDERS = ["src/event", "src/flight", "src/fmi", "src/hybrid", "src/study", "include/saltus/event",
           "include/saltus/fmi", "include/saltus/hybrid", "include/saltus/study"]
TABLE = "scripts/numbers.txt"

# What a number may be that answers none of QUESTIONS.
KINDS = {
    "formula": "coefficient of an identity, a quadrature, a difference quotient or a method",
    "unit": "conversion of units, layout of data, sentinel value",
    "message": "what is worth a word in a text or a drawing; no result depends on it",
    "option": "default of an option that the caller may set",
    "effort": "ends or divides a search: another value costs time, or ends a run with a name, but finds no other event",
    "control": "lengths of steps, choice of a method: another value makes other steps of the same accuracy",
    "generator": "a point or a direction without symmetries",
    "safety": "factor on an error bound or estimate that is computed where it stands",
}
# Questions about what is the same, small or certain.
QUESTIONS = {
    "time": "times between which nothing can be resolved",
    "noise": "rounding errors of a value or a guard",
    "zero": "a guard that cannot be told from a zero",
    "leaves": "a slope that is not zero: the side to which a guard leaves zero",
    "side": "a guard within the errors of the run",
    "same point": "two states that differ by errors only",
    "converged": "what an iteration leaves",
    "too short": "a step or a piece that has no room for what it is made for",
    "simultaneous": "two times that are one instant",
    "coefficient": "coefficients of a polynomial that are zero",
    "accumulates": "events that have a limit",
    "structure": "a pivot, a rank or a dependence that is there by structure",
}

TRIVIAL = {0.0, 0.5, 1.0, 2.0}

COMMENTS_AND_TEXTS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.){1,4}\'(?!\d)', re.DOTALL)
FLOAT = (r"0[xX][0-9a-fA-F']*\.?[0-9a-fA-F']*[pP][+-]?\d+|"
         r"(?:\d[\d']*\.[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?|\d[\d']*[eE][+-]?\d+")
INTEGER = r"0[xX][0-9a-fA-F']+|\d[\d']*"
NUMBER = re.compile(rf"(?<![\w.'])(?:({FLOAT})|({INTEGER}))[fFlLuUzZ]*(?![\w.])")
CONSTANT = re.compile(
    r"\bconstexpr\s+(?:inline\s+|static\s+)*(?:[\w:]+(?:<[\w:, ]*>)?\s+)+(?=\w+(?:\[\w*\])?\s*[={])[^;]*;")
NAME = re.compile(r"(\w+)(?:\[\w*\])?\s*=(?!=)")


def numbers_of(text):
    """(line, key) of each number that needs a reason."""
    text = COMMENTS_AND_TEXTS.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    constants = [match.span() for match in CONSTANT.finditer(text)]
    for match in NUMBER.finditer(text):
        literal = (match.group(1) or match.group(2)).replace("'", "")
        inside = next((span for span in constants if span[0] <= match.start() < span[1]), None)
        name = None
        if inside:
            names = list(NAME.finditer(text, inside[0], match.start()))
            name = names[-1].group(1) if names else None
        if name is None:
            if match.group(1) is None or value_of(literal) in TRIVIAL:
                continue
        elif re.search(r"\[\s*$", text[:match.start()]):
            continue  # the length of an array
        elif match.group(1) is None and value_of(literal) in TRIVIAL:
            continue
        yield text.count("\n", 0, match.start()) + 1, f"{name}={literal}" if name else literal


def value_of(literal):
    return float.fromhex(literal) if literal[:2].lower() == "0x" else float(literal)


def read_table(file, report):
    """Counter of the numbers that each file may have; None: any."""
    allowed = {}
    entries = []
    for line, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if text.startswith(" ") and entries:
            entries[-1][1] += text
        elif text.strip() and not text.startswith("#"):
            entries.append([line, text])
    for line, text in entries:
        fields = [field.strip() for field in text.split("|", 3)]
        if len(fields) != 4 or not all(fields):
            report(TABLE, line, "a line has four fields: file | numbers | kind | reason")
            continue
        name, numbers, kind, _ = fields
        if kind not in KINDS and kind not in QUESTIONS:
            report(TABLE, line, f"'{kind}' is neither a kind nor a question")
        if numbers == "*":
            allowed[name] = None
            continue
        counts = allowed.setdefault(name, Counter())
        for number in numbers.split():
            key, _, times = number.partition("*")
            counts[key] += int(times or 1)
    return allowed


def check(root, missing):
    violations = []

    def report(name, line, text):
        violations.append(f"{name}:{line}: {text}")

    allowed = read_table(root / TABLE, report)
    used = set()
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*.[ch]pp")):
            name = str(file.relative_to(root))
            used.add(name)
            found = list(numbers_of(file.read_text(encoding="utf-8")))
            known = allowed.get(name, Counter())
            if known is None:
                if not found:
                    report(TABLE, 0, f"{name} has no numbers that need a reason")
                continue
            counts = Counter(key for _, key in found)
            for key, count in counts.items():
                lines = [line for line, other in found if other == key]
                if count > known[key]:
                    if missing:
                        words = f"{key}*{count - known[key]}" if count - known[key] > 1 else key
                        print(f"{name} | {words} | {lines} | ")
                    report(name, lines[-1], f"the number {key} stands here {count} times, and {TABLE} explains "
                                            f"{known[key]}: give its reason there")
            for key, count in known.items():
                if count > counts[key]:
                    report(TABLE, 0, f"{name}: {key} is explained {count} times and stands there {counts[key]} times")
    for name in sorted(set(allowed) - used):
        report(TABLE, 0, f"there is no {name}")
    return violations


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parents[1], type=Path)
    parser.add_argument("--missing", action="store_true")
    options = parser.parse_args()
    violations = check(options.root, options.missing)
    if not options.missing:
        print("\n".join(violations))
        print(f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
