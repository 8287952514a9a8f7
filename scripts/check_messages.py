#!/usr/bin/env python3
"""Checks the graded messages: check_messages.py PAGE.md [--least N]

The page has a section "### …" for each bad input, with a console block (which check_docs.py runs) and a table of one
row: what is wrong, where, and what to try. Each of the three quotes a part of the output. A case without one of them
fails, and so does a page with fewer than N cases.
"""
import argparse
import pathlib
import re
import sys


def cases(text):
    """(title, output of the last command as one line, quotes) of each section."""
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        title = section.splitlines()[0]
        blocks = re.findall(r"^```console\n(.*?)^```", section, flags=re.M | re.S)
        output = " ".join(blocks[-1].rpartition("$ ")[2].partition("\n")[2].split()) if blocks else ""
        rows = re.findall(r"^\| `(.*)` \|$", section, flags=re.M)
        quotes = rows[0].replace("\\|", "|").split("` | `") if rows else []
        yield title, output, quotes


def problems(text, least):
    found, count = [], 0
    for title, output, quotes in cases(text):
        count += 1
        if len(quotes) != 3:
            found.append(f"{title}: {len(quotes)} of 3 parts are quoted")
        missing = [quote for quote in quotes if not quote or quote not in output]
        found += [f"{title}: the message does not say '{quote}'" for quote in missing]
    if count < least:
        found.append(f"{count} cases; {least} are wanted")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--least", type=int, default=60)
    arguments = parser.parse_args()
    found = problems(arguments.page.read_text(encoding="utf-8"), arguments.least)
    print("\n".join(found) if found else "all messages have their three parts")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
