#!/usr/bin/env python3
"""Runs many random models: random_models.py PROGRAM [--models N] [--first SEED] [--batch SIZE] [--jobs J] [--minutes M]

PROGRAM is saltus_tests_random of any build; ./test --random builds it under AddressSanitizer and
UndefinedBehaviourSanitizer and calls this script. Each of its tests draws models of one family from consecutive seeds.
This script gives each test seeds in batches, one process a batch, until N models were simulated or M minutes are over.

A batch that ends early is continued after the seed at which it ended, so that one finding does not hide the next one.
Findings are of four kinds: what a sanitizer reports, a crash, a batch that does not end, and a wrong answer. Each is
printed with the call that repeats it. The exit status is 1 if there is a finding.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import NamedTuple

SANITIZER = re.compile(r"ERROR: \w*Sanitizer|WARNING: ThreadSanitizer|runtime error:")
SEED = re.compile(r"\bseed (\d+)\b")


class Batch(NamedTuple):
    test: str
    first: int
    count: int


class Outcome(NamedTuple):
    batch: Batch
    models: int
    kind: str  # empty: no finding
    text: str
    seed: int | None  # at which the batch ended early


def list_tests(program):
    """Full names of the tests in the program."""
    out = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    names, suite = [], ""
    for line in out.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split("#")[0].strip())
        elif line.endswith("."):
            suite = line
    return names


def environment(batch):
    return {"SALTUS_RANDOM_SEED": str(batch.first), "SALTUS_RANDOM_CASES": str(batch.count)}


def repeat_call(program, batch):
    """The command line that runs the batch again."""
    settings = " ".join(f"{name}={value}" for name, value in environment(batch).items())
    return f"{settings} {program} --gtest_filter={batch.test}"


def read_record(path):
    """Returns the number of simulated models and the texts of failures from GoogleTest's record, or None."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    cases = [case for suite in record["testsuites"] for case in suite["testsuite"]]
    models = sum(int(case.get("models", 0)) for case in cases)
    return models, [failure["failure"] for case in cases for failure in case.get("failures", [])]


def run_batch(program, batch, seconds):
    """Runs one batch in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "record.json"
        command = [program, f"--gtest_filter={batch.test}", f"--gtest_output=json:{path}"]
        try:
            done = subprocess.run(command, env=os.environ | environment(batch), capture_output=True, text=True,
                                  errors="replace", timeout=seconds)
        except subprocess.TimeoutExpired:
            return Outcome(batch, 0, "no end", f"did not end within {seconds} s", None)
        record = read_record(path)
    output = done.stdout + done.stderr
    models, failures = record if record else (0, [])
    if SANITIZER.search(output):
        return Outcome(batch, models, "sanitizer", output[-8000:], None)
    if record is None or done.returncode not in (0, 1):
        return Outcome(batch, models, "crash", f"exit status {done.returncode}\n{output[-4000:]}", None)
    if failures or done.returncode != 0:
        text = "\n".join(failures) or output[-4000:]
        seeds = [int(seed) for seed in SEED.findall(text) if batch.first <= int(seed) < batch.first + batch.count]
        return Outcome(batch, models, "wrong answer", text[:4000], seeds[0] if seeds else None)
    return Outcome(batch, models, "", "", None)


def search(program, batch, seconds):
    """Runs a batch to its end, past every finding: a list of outcomes."""
    outcomes = []
    while batch.count > 0:
        outcome = run_batch(program, batch, seconds)
        if outcome.seed is None:
            break
        outcomes.append(outcome)
        batch = Batch(batch.test, outcome.seed + 1, batch.first + batch.count - outcome.seed - 1)
    else:
        return outcomes
    # The process ended without naming the seed: halves find it, and the rest of the batch is not lost.
    if outcome.kind in ("sanitizer", "crash", "no end") and batch.count > 1:
        half = batch.count // 2
        parts = search(program, Batch(batch.test, batch.first, half), seconds)
        parts += search(program, Batch(batch.test, batch.first + half, batch.count - half), seconds)
        outcomes += parts
        if any(part.kind for part in parts):
            return outcomes
        outcome = outcome._replace(models=0, text=f"not in either half of the batch\n{outcome.text}")
    return outcomes + [outcome]


class Campaign:
    """Draws batches until enough models were simulated, and collects what is found."""

    def __init__(self, program, tests, options):
        self.program, self.tests, self.options = program, tests, options
        self.models = self.batches = 0
        self.findings = []
        self.begin = time.monotonic()

    def minutes(self):
        return (time.monotonic() - self.begin) / 60.0

    def over(self):
        return self.models >= self.options.models or self.minutes() >= self.options.minutes

    def next_batch(self):
        """The next seeds of the test whose turn it is."""
        turn, test = divmod(self.batches, len(self.tests))
        self.batches += 1
        return Batch(self.tests[test], self.options.first + turn * self.options.batch, self.options.batch)

    def record(self, outcome):
        self.models += outcome.models
        if not outcome.kind:
            return
        batch = outcome.batch if outcome.seed is None else Batch(outcome.batch.test, outcome.seed, 1)
        self.findings.append((outcome.kind, batch))
        print(f"\n{outcome.kind}: {repeat_call(self.program, batch)}\n{outcome.text}\n", flush=True)

    def run(self):
        reported = 0.0
        with ThreadPoolExecutor(self.options.jobs) as pool:
            running = set()
            while running or not self.over():
                while len(running) < self.options.jobs and not self.over():
                    running.add(pool.submit(search, self.program, self.next_batch(), self.options.batch_seconds))
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    for outcome in future.result():
                        self.record(outcome)
                if self.minutes() - reported >= 1.0:
                    reported = self.minutes()
                    print(f"{self.models} models, {len(self.findings)} findings, {reported:.0f} minutes", flush=True)

    def summary(self):
        kinds = [kind for kind, _ in self.findings]
        counts = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in
                           (("sanitizer", "reports of a sanitizer"), ("crash", "crashes"), ("no end", "without end"),
                            ("wrong answer", "wrong answers")))
        return (f"{self.models} random models of {len(self.tests)} families in {self.minutes():.1f} minutes, "
                f"seeds from {self.options.first}: {counts}")


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"must be a positive number, not {text}")
    return value


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--models", type=positive, default=1000)
    parser.add_argument("--first", type=int, default=100000, help="first seed; smaller ones are those of the tests")
    parser.add_argument("--batch", type=positive, default=200)
    parser.add_argument("--batch-seconds", type=positive, default=900, help="a batch that takes longer has no end")
    parser.add_argument("--jobs", type=positive, default=os.cpu_count() or 1)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args(arguments)
    program = str(Path(options.program).resolve())
    if not os.access(program, os.X_OK):
        parser.error(f"there is no program {options.program}: build saltus_tests_random first")
    tests = list_tests(program)
    if not tests:
        parser.error(f"{options.program} has no tests")
    campaign = Campaign(program, tests, options)
    campaign.run()
    print(campaign.summary())
    return 1 if campaign.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
