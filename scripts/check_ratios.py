#!/usr/bin/env python3
"""Compares what runs cost with a loop by hand: check_ratios.py PROGRAM [--write]

PROGRAM is saltus_ratios of a release build. Valgrind counts the instructions of five problems, solved by the library
and by a loop written for each, and the ratios are compared with those in benchmarks/ratios/recorded.txt: one that is
15 % larger is an error, one that is 15 % smaller should be recorded (--write). Instructions, not times: they are the
same on a busy machine. Where there is no valgrind, or the processor has no AVX2, nothing is compared.
"""
import re
import shutil
import subprocess
import sys
from pathlib import Path

PROBLEMS = ["steps", "ball", "buck", "sampled", "friction"]
RECORDED = Path(__file__).resolve().parent.parent / "benchmarks/ratios/recorded.txt"
HEADER = ("# Instructions of the library over those of a loop by hand, from scripts/check_ratios.py --write\n"
          "# (GCC 12.2, release build, valgrind 3.19).\n")
LIMIT = 1.15


def instructions(program, problem, who):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no",
                           "--toggle-collect=counted", program, problem, who],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found or int(found[1]) == 0:
        sys.exit(f"{problem}, {who}: valgrind counts nothing\n{done.stderr}")
    return int(found[1]), done.stdout.strip()


def main():
    arguments = [word for word in sys.argv[1:] if word != "--write"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    if not shutil.which("valgrind") or " avx2 " not in flags:
        print("no ratios: there is no valgrind, or the processor has no AVX2")
        return 0
    known = dict(line.split() for line in RECORDED.read_text().splitlines() if line and line[0] != "#") \
        if RECORDED.exists() else {}
    ratios, worse = {}, []
    for problem in PROBLEMS:
        (ours, events), (hand, by_hand) = (instructions(arguments[0], problem, who) for who in ("library", "hand"))
        ratios[problem] = ours / hand
        before = float(known.get(problem, "nan"))
        remark = ""
        if ratios[problem] > LIMIT * before:
            worse.append(problem)
            remark = "  WORSE"
        elif LIMIT * ratios[problem] < before:
            remark = "  better: record it with --write"
        print(f"{problem:10} {ours / 1e6:9.2f} M, {events}; by hand {hand / 1e6:8.2f} M, {by_hand}; "
              f"ratio {ratios[problem]:6.2f}, recorded {before:6.2f}{remark}")
    if "--write" in sys.argv:
        RECORDED.write_text(HEADER + "".join(f"{name} {value:.2f}\n" for name, value in ratios.items()))
        return 0
    if worse:
        print(f"15 % worse than recorded: {', '.join(worse)}. If that is the price of something, say so in the commit "
              "and record it with --write")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
