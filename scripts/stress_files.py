#!/usr/bin/env python3
"""Kills studies, fills disks and damages files: stress_files.py SALTUS FOLDER [--kills N] [--creations N] …

SALTUS is the command, of any build; FOLDER is an empty folder, or one that the script may make. Numbers are compared in
bytes with those of a study that nothing has disturbed. The parts, each for arrays and densities, by threads, in lanes,
in processes, in shards and as ranks of a launcher:

  --kills N      (500)  a study is killed at random times until it is complete, N kills in all
  --creations N  (200)  a study is killed while its folder is made, or replaced by --restart
  --workers N    (100)  a process of a member is killed: the member is run again by another one
  --disks N      (40)   a study runs on a file system that is too small for it, which then grows (needs unshare)

With the usual numbers it takes some 15 minutes on two cores; with --kills 12 --creations 8 --workers 4 --disks 2, as
among the tests, 20 seconds. Random damage to files has tests of its own, in which SALTUS_RANDOM_CASES says how many:

  SALTUS_RANDOM_CASES=100000 saltus_tests_study --gtest_filter='*Damage*'   some 30 minutes under AddressSanitizer
  SALTUS_RANDOM_CASES=100000 saltus_tests_io --gtest_filter='*Damage*'      some 10 minutes

Prints what was done; the exit status is 1 if a study has ended with other bytes, or cannot go on.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

IMPACT = """model Impact
  parameter Real omega = 0.8;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = cos(omega*time) - x - 0.1*v;
  when x > 1 then reinit(v, -0.7*pre(v)); end when;
end Impact;
"""
STUDY = ["bifurcation", "Impact.mo", "--over", "omega=0.6:1.6:240", "--period", "2*pi/omega", "--transient", "10",
         "--keep", "4", "--vars", "x", "--rtol", "1e-5", "--block", "16", "--quiet"]
WAYS = {"threads": [], "processes": ["--executor", "processes"], "lanes": ["--executor", "lanes"]}
KINDS = {"arrays": [], "density": ["--reduce", "density:32x32"]}
PARTS = 3  # shards, and ranks


class Finding(Exception):
    """What must not happen."""


class Stress:
    def __init__(self, program, folder, seed):
        self.program, self.folder, self.dice = str(Path(program).resolve()), Path(folder).resolve(), random.Random(seed)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "Impact.mo").write_text(IMPACT)
        self.expected, self.seconds = {}, {}

    def start(self, words, environment=None):
        return subprocess.Popen([self.program, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(environment or {})))

    def run(self, words):
        process = self.start(words)
        _, errors = process.communicate(timeout=600)
        if process.returncode != 0:
            raise Finding(f"exit status {process.returncode} of {' '.join(words)}: {errors}")

    def files(self, name):
        """The bytes of the results; parts of densities depend on how the work was divided."""
        root = self.folder / name
        return {str(f.relative_to(root)): f.read_bytes() for f in sorted(root.rglob("*"))
                if f.is_file() and f.suffix != ".part" and ".parts" not in f.parts}

    def words(self, kind, way, name, more=()):
        return [*STUDY, *KINDS[kind], *WAYS[way], "--out", name, *more]

    def undisturbed(self, kind, way):
        if (kind, way) not in self.expected:
            began = time.monotonic()
            self.run(self.words(kind, way, "undisturbed.zarr", ["--restart"]))
            self.seconds[kind, way] = time.monotonic() - began
            self.expected[kind, way] = self.files("undisturbed.zarr")
        return self.expected[kind, way]

    def compare(self, kind, way, name):
        self.run(["study", "check", name])
        if self.files(name) != self.undisturbed(kind, way):
            raise Finding(f"a study ({kind}, {way}) has other bytes than one that was not disturbed")

    def team(self, kind, way, name, how):
        """The processes of one study: alone, shards, or ranks."""
        if how == "alone":
            return [self.start(self.words(kind, way, name))]
        if how == "shards":
            return [self.start(self.words(kind, way, name, ["--shard", f"{k}/{PARTS}"])) for k in range(PARTS)]
        return [self.start(self.words(kind, way, name), {"PMI_RANK": str(k), "PMI_SIZE": str(PARTS)})
                for k in range(PARTS)]

    def kill(self, team, longest):
        """Ends the processes of a team at random times; the number of those that were at work."""
        killed = 0
        for process in self.dice.sample(team, len(team)):
            time.sleep(self.dice.uniform(0.0, longest / len(team)))
            if process.poll() is None:
                process.kill()
                killed += 1
            _, errors = process.communicate(timeout=600)
            if process.returncode not in (0, -9):
                raise Finding(f"exit status {process.returncode}: {errors}")
        return killed

    def kills(self, count):
        done = studies = 0
        while done < count:
            kind, way = self.dice.choice(list(KINDS)), self.dice.choice(list(WAYS))
            how = self.dice.choice(["alone", "shards", "ranks"])
            self.undisturbed(kind, way)
            shutil.rmtree(self.folder / "killed.zarr", ignore_errors=True)
            for _ in range(self.dice.randint(1, 8)):
                done += self.kill(self.team(kind, way, "killed.zarr", how), 0.6*self.seconds[kind, way])
            self.run(self.words(kind, way, "killed.zarr"))
            self.compare(kind, way, "killed.zarr")
            studies += 1
        return f"{done} kills of {studies} studies"

    def creations(self, count):
        """The folder is that of the old study or of the new one, and the same command goes on."""
        restarts = 0
        for _ in range(count):
            kind = self.dice.choice(list(KINDS))
            old = [*STUDY, *KINDS[kind], "--out", "made.zarr", "--atol", "1e-4"]
            shutil.rmtree(self.folder / "made.zarr", ignore_errors=True)
            before = {}
            if restart := self.dice.random() < 0.5:
                self.run(old)
                before = self.files("made.zarr")
                restarts += 1
            self.undisturbed(kind, "threads")
            process = self.start(self.words(kind, "threads", "made.zarr", ["--restart"] if restart else []))
            self.kill([process], 0.5*self.seconds[kind, "threads"])
            if restart:
                now = self.files("made.zarr")
                if not now:
                    raise Finding("a kill during --restart has left no study")
                if now.get(".zattrs") == before[".zattrs"]:
                    if now != before:
                        raise Finding("a kill during --restart has changed the old study")
                    self.run(old)
                    continue
            self.run(self.words(kind, "threads", "made.zarr"))
            self.compare(kind, "threads", "made.zarr")
        return f"{count} kills at creation, {restarts} of them with --restart"

    def workers(self, count):
        """One process of each study is killed, by its number."""
        killed = 0
        for _ in range(count):
            kind = self.dice.choice(list(KINDS))
            self.undisturbed(kind, "processes")
            shutil.rmtree(self.folder / "worker.zarr", ignore_errors=True)
            process = self.start(self.words(kind, "processes", "worker.zarr", ["--threads", "3"]))
            time.sleep(self.dice.uniform(0.0, self.seconds[kind, "processes"]))
            try:
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                os.kill(int(self.dice.choice(children)), signal.SIGKILL)
                killed += 1
            except (OSError, IndexError):
                pass  # none has begun, or all have ended
            _, errors = process.communicate(timeout=600)
            if process.returncode != 0:
                raise Finding(f"exit status {process.returncode} after a process was killed: {errors}")
            self.compare(kind, "processes", "worker.zarr")
        return f"{killed} processes killed in {count} studies"

    def disks(self, count):
        """In a name space of its own: a file system in memory that is too small, and then is not."""
        full = 0
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        for _ in range(count):
            kind, way = self.dice.choice(list(KINDS)), self.dice.choice(list(WAYS))
            self.undisturbed(kind, way)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.dice.randint(1, 60)*4}k", "tmpfs", disk],
                           check=True)
            process = self.start(self.words(kind, way, "disk/full.zarr"))
            _, errors = process.communicate(timeout=600)
            full += process.returncode != 0
            if process.returncode not in (0, 2) or (process.returncode == 2 and "No space left" not in errors):
                raise Finding(f"exit status {process.returncode} on a full disk: {errors}")
            subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
            self.run(self.words(kind, way, "disk/full.zarr"))
            self.compare(kind, way, "disk/full.zarr")
            subprocess.run(["umount", disk], check=True)
        return f"{full} full disks of {count}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("saltus")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--creations", type=int, default=200)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--disks", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.pop("MODELICAPATH", None)
    stress = Stress(options.saltus, options.folder, options.seed)
    may_mount = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    try:
        for part in ("kills", "creations", "workers", "disks"):
            count = getattr(options, part)
            began = time.monotonic()
            if count == 0:
                continue
            if part != "disks" or os.environ.get("STRESS_FILES_MAY_MOUNT"):
                print(f"{part}: {getattr(stress, part)(count)}, {time.monotonic() - began:.0f} s", flush=True)
            elif may_mount:
                inside = subprocess.run(
                    ["unshare", "-rm", sys.executable, __file__, options.saltus, options.folder, "--kills", "0",
                     "--creations", "0", "--workers", "0", "--disks", str(count), "--seed", str(options.seed)],
                    env=dict(os.environ, STRESS_FILES_MAY_MOUNT="1"), check=False)
                if inside.returncode != 0:
                    return inside.returncode
            else:
                print("disks: not tried, no file system can be mounted here (unshare -rm)", flush=True)
    except Finding as finding:
        print(f"seed {options.seed}: {finding}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
