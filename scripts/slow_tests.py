#!/usr/bin/env python3
"""Lists the slowest tests of the last run of ctest: slow_tests.py [BUILD] [--count 40] [--most SECONDS]

BUILD is build/test unless given. The seconds are ctest's own record, on as many cores as were free. With --most it
exits 1 if a test took longer.
"""
import argparse
import re
import sys
from pathlib import Path

# A test begins with its number and name and ends with its time.
RECORD = re.compile(r"^\d+/\d+ Test: (\S+)$.*?^Test time =\s+([\d.]+) sec$", re.M | re.S)


def times(text):
    """[(seconds, test)], the slowest first, from what ctest writes into LastTest.log."""
    return sorted(((float(seconds), name) for name, seconds in RECORD.findall(text)), reverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent / "build/test")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--most", type=float)
    given = parser.parse_args()
    log = given.build / "Testing/Temporary/LastTest.log"
    if not log.is_file():
        print(f"slow_tests.py: there is no {log}; run ./test first", file=sys.stderr)
        return 2
    found = times(log.read_text(encoding="utf-8", errors="replace"))
    print(f"{len(found)} tests, {sum(seconds for seconds, _ in found):.0f} s")
    for seconds, name in found[:given.count]:
        print(f"{seconds:8.2f}  {name}")
    too_slow = [name for seconds, name in found if given.most is not None and seconds > given.most]
    if too_slow:
        print(f"more than {given.most:g} s: {', '.join(too_slow)}")
    return 1 if too_slow else 0


if __name__ == "__main__":
    sys.exit(main())
