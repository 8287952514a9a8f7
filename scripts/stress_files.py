#!/usr/bin/env python3
"""Kills studies, fills disks and damages files: stress_files.py SALTUS FOLDER [--kills N] [--creations N] …

SALTUS is the command, of any build; FOLDER is an empty folder, or one that the script may make. Numbers are compared in
bytes with those of a study that nothing has disturbed. Studies are of arrays and densities, by threads, in lanes, in
processes; one process alone, shards, ranks, and the ranks of real launchers (Open MPI, MPICH), where these are there:

  --kills N      (500)  a study is killed at random times until it is complete, N kills in all; a launcher is killed
                        with its ranks, without them, or loses one of them
  --creations N  (200)  a study is killed while its folder is made, or replaced by --restart
  --workers N    (100)  a process of a member is killed: the member is run again by another one
  --disks N      (40)   a study runs on a file system that is too small for it, which then grows (needs unshare)
  --results N    (100)  the result files of a run are written over old ones: half of the runs are killed, the others
                        have a file system that is too small (needs unshare)

After each kill the folder is read as other programs read it: where a member has a status, it has its numbers.
With the usual numbers it takes some 25 minutes on two cores; with --kills 12 --creations 8 --workers 4 --disks 2
--results 6, as among the tests, 30 seconds. Random damage to files has tests of its own, in which SALTUS_RANDOM_CASES
says how many:

  SALTUS_RANDOM_CASES=100000 saltus_tests_study --gtest_filter='*Damage*'   some 30 minutes under AddressSanitizer
  SALTUS_RANDOM_CASES=100000 saltus_tests_io --gtest_filter='*Damage*'      some 10 minutes

Prints what was done and what could not be; the exit status is 1 if a study has ended with other bytes, or cannot go on.
"""

import argparse
import json
import os
import random
import re
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
SIZES = {"<f8": 8, "<i8": 8, "|u1": 1}
LAUNCHERS = {"mpirun.openmpi": ["--allow-run-as-root", "--oversubscribe"], "mpirun.mpich": []}
RESULTS = {"csv": "r.csv", "json": "r.json", "mat": "r.mat", "npz": "r.npz", "html": "r.html", "plot": "r.svg",
           "save-state": "state.json"}
OLD = b"what was there before\n"


class Finding(Exception):
    """What must not happen."""


class Stress:
    def __init__(self, program, folder, seed):
        self.program, self.folder, self.dice = str(Path(program).resolve()), Path(folder).resolve(), random.Random(seed)
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "Impact.mo").write_text(IMPACT)
        self.expected, self.seconds = {}, {}
        self.launchers = [name for name in LAUNCHERS if shutil.which(name)]
        self.lost = []  # ranks whose launcher was killed

    def start(self, words, environment=None, launcher=()):
        return subprocess.Popen([*launcher, self.program, *words], cwd=self.folder, stdout=subprocess.DEVNULL,
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
        """The processes of one study: alone, shards, ranks, or those of a launcher."""
        if how == "alone":
            return [self.start(self.words(kind, way, name))]
        if how == "shards":
            return [self.start(self.words(kind, way, name, ["--shard", f"{k}/{PARTS}"])) for k in range(PARTS)]
        if how == "ranks":
            return [self.start(self.words(kind, way, name), {"PMI_RANK": str(k), "PMI_SIZE": str(PARTS)})
                    for k in range(PARTS)]
        return [self.start(self.words(kind, way, name), launcher=[how, *LAUNCHERS[how], "-n", str(PARTS)])]

    @staticmethod
    def children(process):
        """Numbers of the processes that a process has started."""
        return [int(k) for k in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]

    def ranks(self, launcher):
        """The processes of this program below a launcher."""
        found, below = [], [launcher.pid]
        while below:
            try:
                process = below.pop()
                below += [int(k) for k in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
                if os.readlink(f"/proc/{process}/exe") == self.program:
                    found.append(process)
            except OSError:
                pass  # it has ended
        return found

    def kill(self, team, longest, launched=False):
        """Ends the processes of a team at random times; the number of those that were at work."""
        killed = 0
        for process in self.dice.sample(team, len(team)):
            time.sleep(self.dice.uniform(0.0, longest / len(team)))
            if process.poll() is None:
                killed += 1
                if launched:
                    self.kill_launcher(process)
                else:
                    process.kill()
            _, errors = process.communicate(timeout=600)
            if process.returncode not in (0, -9) and not launched:
                raise Finding(f"exit status {process.returncode}: {errors}")
        return killed

    def kill_launcher(self, launcher):
        """With its ranks, without them, or one rank alone, after which the launcher ends the others."""
        ranks, fate = self.ranks(launcher), self.dice.randrange(3)
        if fate < 2 or not ranks:
            launcher.kill()
            self.lost += ranks
        for rank in ranks[:1] if fate == 2 else ranks if fate == 1 else []:
            self.end(rank)

    def end(self, rank):
        try:
            if os.readlink(f"/proc/{rank}/exe") == self.program:
                os.kill(rank, signal.SIGKILL)
        except OSError:
            pass  # it has ended

    def await_lost(self, kill):
        """Ranks without a launcher go on; the first of them waits for parts that may never come."""
        for rank in self.lost:
            end = time.monotonic() + (0.0 if kill else 5.0)
            while time.monotonic() < end and Path(f"/proc/{rank}/exe").exists():
                time.sleep(0.02)
            self.end(rank)
        self.lost = []

    def read_by_others(self, name):
        """What zarr and xarray see of arrays after a kill: where a block has a status, all of its numbers are there."""
        folder = self.folder / name
        if not (folder / "status").is_dir():
            return
        arrays = {key[:-len("/.zarray")]: value
                  for key, value in json.loads((folder / ".zmetadata").read_text())["metadata"].items()
                  if key.endswith("/.zarray")}
        for chunk in (folder / "status").iterdir():
            for array, info in arrays.items() if chunk.name.isdigit() else ():
                size = SIZES[info["dtype"]]
                for length in info["chunks"]:
                    size *= length
                file = folder / array / (chunk.name + ".0"*(len(info["chunks"]) - 1))
                if not file.exists() or file.stat().st_size != size:
                    raise Finding(f"block {chunk.name} has a status, and no sound '{array}'")

    def kills(self, count):
        done = studies = 0
        counts = dict.fromkeys(["alone", "shards", "ranks", *self.launchers], 0)
        while done < count:
            kind, way = self.dice.choice(list(KINDS)), self.dice.choice(list(WAYS))
            how = self.dice.choice(list(counts))
            self.undisturbed(kind, way)
            shutil.rmtree(self.folder / "killed.zarr", ignore_errors=True)
            for _ in range(self.dice.randint(1, 8)):
                # a density counts no block twice: ranks that are still at work would be told so
                self.await_lost(kill=kind == "density" and self.dice.random() < 0.5)
                killed = self.kill(self.team(kind, way, "killed.zarr", how), 0.6*self.seconds[kind, way],
                                   how in self.launchers)
                done += killed
                counts[how] += killed
                self.read_by_others("killed.zarr")
            if kind == "density":
                self.await_lost(kill=False)
            self.run(self.words(kind, way, "killed.zarr"))
            self.await_lost(kill=False)
            self.compare(kind, way, "killed.zarr")
            studies += 1
        return f"{done} kills of {studies} studies ({', '.join(f'{how} {n}' for how, n in counts.items())})"

    def creations(self, count):
        """The folder is that of the old study or of the new one, and the same command goes on."""
        restarts = 0
        for _ in range(count):
            kind, way = self.dice.choice(list(KINDS)), self.dice.choice(list(WAYS))
            how = self.dice.choice(["alone", "alone", "shards", "ranks", *self.launchers])
            old = [*STUDY, *KINDS[kind], *WAYS[way], "--out", "made.zarr", "--atol", "1e-4"]
            shutil.rmtree(self.folder / "made.zarr", ignore_errors=True)
            before = {}
            if restart := how == "alone":
                self.run(old)
                before = self.files("made.zarr")
                restarts += 1
            self.undisturbed(kind, way)
            team = ([self.start(self.words(kind, way, "made.zarr", ["--restart"]))] if restart
                    else self.team(kind, way, "made.zarr", how))
            # a folder is made in the first hundredths of a second
            self.kill(team, self.dice.choice([0.03, 0.1, 0.5*self.seconds[kind, way]]), how in self.launchers)
            self.await_lost(kill=self.dice.random() < 0.5)
            if restart:
                now = self.files("made.zarr")
                if not now:
                    raise Finding("a kill during --restart has left no study")
                if now.get(".zattrs") == before[".zattrs"]:
                    if now != before:
                        raise Finding("a kill during --restart has changed the old study")
                    self.run(old)
                    continue
            self.run(self.words(kind, way, "made.zarr"))
            self.compare(kind, way, "made.zarr")
        return f"{count} kills at creation, {restarts} of them with --restart"

    def workers(self, count):
        """One process of each study is killed, by its number."""
        killed = 0
        for _ in range(count):
            kind = self.dice.choice(list(KINDS))
            self.undisturbed(kind, "processes")
            shutil.rmtree(self.folder / "worker.zarr", ignore_errors=True)
            process = self.start(self.words(kind, "processes", "worker.zarr", ["--threads", "3"]))
            try:
                while not (children := self.children(process)) and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(self.dice.uniform(0.0, 0.5*self.seconds[kind, "processes"]))
                children = self.children(process)
                os.kill(self.dice.choice(children), signal.SIGKILL)
                killed += 1
            except (OSError, IndexError):
                pass  # all have ended
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

    def result_files(self, folder):
        """The files of a run, without the times that it took."""
        return {option: re.sub(rb'"seconds": ?[0-9.e-]+', b"", (self.folder / folder / file).read_bytes())
                for option, file in RESULTS.items()}

    def results(self, count):
        """Each file is the old one or the new one, as a whole, and the command says which."""
        run = ["run", "Impact.mo", "--stop", "30", "--quiet"]
        words = {folder: [*run, *(word for option, file in RESULTS.items()
                                  for word in ("--" + option, f"{folder}/{file}"))] for folder in ("new", "disk")}
        (self.folder / "new").mkdir(exist_ok=True)
        began = time.monotonic()
        self.run(words["new"])
        longest = time.monotonic() - began
        new, disk = self.result_files("new"), self.folder / "disk"
        disk.mkdir(exist_ok=True)
        full = killed = 0
        for k in range(count):
            small = k % 2 == 0 and bool(os.environ.get("STRESS_FILES_MAY_MOUNT"))
            if small:
                subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={self.dice.randint(8, 120)*4}k", "tmpfs", disk],
                               check=True)
            for file in RESULTS.values():
                (disk / file).write_bytes(OLD)
            process = self.start(words["disk"])
            if not small:
                time.sleep(self.dice.uniform(0.0, longest))
                process.kill()
                killed += 1
            _, errors = process.communicate(timeout=600)
            now = self.result_files("disk")
            for option, data in now.items():
                if data not in (OLD, new[option]):
                    raise Finding(f"--{option} has left {len(data)} bytes of {len(new[option])}: {errors}")
            whole = now == new
            full += small and not whole
            if process.returncode != -9 and whole != (process.returncode == 0):
                raise Finding(f"exit status {process.returncode} where files are "
                              f"{'all' if whole else 'not'} there: {errors}")
            if small and not whole and not re.search("No space left|gnuplot", errors):
                raise Finding(f"a full disk is not named: {errors}")
            if small:
                subprocess.run(["umount", disk], check=True)
        return f"{killed} runs killed, {full} full disks of {count - killed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("saltus")
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--creations", type=int, default=200)
    parser.add_argument("--workers", type=int, default=100)
    parser.add_argument("--disks", type=int, default=40)
    parser.add_argument("--results", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.pop("MODELICAPATH", None)
    stress = Stress(options.saltus, options.folder, options.seed)
    inside = bool(os.environ.get("STRESS_FILES_MAY_MOUNT"))
    may_mount = inside or subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0
    if not inside and (missing := [name for name in LAUNCHERS if name not in stress.launchers]):
        print(f"ranks of {', '.join(missing)}: not tried, the program is not there (packages openmpi-bin and mpich)")
    try:
        for part in ("kills", "creations", "workers", "disks", "results"):
            count = getattr(options, part)
            began = time.monotonic()
            if count == 0:
                continue
            if part in ("disks", "results") and may_mount and not inside:
                others = [word for other in ("kills", "creations", "workers", "disks", "results")
                          for word in ("--" + other, str(count if other == part else 0))]
                tried = subprocess.run(["unshare", "-rm", sys.executable, __file__, options.saltus, options.folder,
                                        *others, "--seed", str(options.seed)],
                                       env=dict(os.environ, STRESS_FILES_MAY_MOUNT="1"), check=False)
                if tried.returncode != 0:
                    return tried.returncode
            elif part == "disks" and not may_mount:
                print("disks: not tried, no file system can be mounted here (unshare -rm)", flush=True)
            else:
                print(f"{part}: {getattr(stress, part)(count)}, {time.monotonic() - began:.0f} s", flush=True)
    except Finding as finding:
        print(f"seed {options.seed}: {finding}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
