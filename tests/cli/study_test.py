#!/usr/bin/env python3
"""Studies from the command line: study_test.py SALTUS FOLDER

Runs small studies, reads their folders by hand, kills them at random moments, and compares bytes.
"""
import json
import math
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import time
import zipfile

SALTUS = str(pathlib.Path(sys.argv[1]).resolve())
FOLDER = pathlib.Path(sys.argv[2]).resolve()

IMPACT = """model Impact
  parameter Real omega = 0.8;
  parameter Real e = 0.7;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = cos(omega*time) - x - 0.1*v;
  when x > 1 then reinit(v, -e*pre(v)); end when;
end Impact;
"""
DECAY = """model Decay
  parameter Real a = 1;
  Real x(start = 1, fixed = true);
equation
  der(x) = a*x*x;
  annotation(experiment(StopTime = 0.5, Tolerance = 1e-8));
end Decay;
"""
WELLS = """model Wells
  Real x(start = 1, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = x - x^3 - 0.5*v;
end Wells;
"""
DUFFING = """model Duffing
  parameter Real w = 1;
  Real x(start = 0, fixed = true), v(start = 0, fixed = true);
equation
  der(x) = v;
  der(v) = 0.3*cos(w*time) - 0.1*v - x - x^3;
end Duffing;
"""
TYPES = {"<f8": "d", "<i8": "q", "|u1": "B"}
SWEEP = ["bifurcation", "Impact.mo", "--over", "omega=0.6:1.6:300", "--period", "2*pi/omega",
         "--transient", "10", "--keep", "4", "--vars", "x,v", "--rtol", "1e-5", "--block", "16"]


def saltus(*arguments, code=0):
    result = subprocess.run([SALTUS, *arguments], cwd=FOLDER, capture_output=True, text=True, timeout=280, check=False)
    assert result.returncode == code, (arguments, result.returncode, result.stdout, result.stderr)
    return result.stdout + result.stderr


def read_array(study, name):
    """An array of a Zarr group of version 2, by its specification: rows of numbers, or numbers."""
    folder = FOLDER / study / name
    info = json.loads((folder / ".zarray").read_text())
    assert info["zarr_format"] == 2 and info["compressor"] is None and info["order"] == "C"
    members, block = info["shape"][0], info["chunks"][0]
    width = math.prod(info["shape"][1:])
    assert info["chunks"][1:] == info["shape"][1:]
    numbers = []
    for chunk in range((members + block - 1) // block):
        data = (folder / (f"{chunk}.0" if len(info["shape"]) == 2 else str(chunk))).read_bytes()
        numbers += struct.unpack(f"<{block * width}{TYPES[info['dtype']]}", data)
    numbers = numbers[:members * width]
    return [numbers[k:k + width] for k in range(0, len(numbers), width)] if len(info["shape"]) == 2 else numbers


def files_of(study):
    """All files of a study with their bytes."""
    root = FOLDER / study
    return {str(f.relative_to(root)): f.read_bytes() for f in sorted(root.rglob("*")) if f.is_file()}


def test_sweep_has_the_exact_values():
    text = saltus("sweep", "Decay.mo", "--over", "a=-2,-1,0,1", "--out", "decay.zarr", "--collect",
                  "final(x),big=max(2*x),count(x > 1.5),first(x > 1.5)")
    assert "4 members: 4 success" in text, text
    a, x, big = (read_array("decay.zarr", name) for name in ("a", "final(x)", "big"))
    assert a == [-2, -1, 0, 1]
    for k, value in enumerate(a):
        assert abs(x[k] - 1 / (1 - 0.5 * value)) < 1e-6, (value, x[k])
        assert abs(big[k] - 2 * max(1, 1 / (1 - 0.5 * value))) < 1e-6, (value, big[k])
    assert read_array("decay.zarr", "count(x > 1.5)") == [0, 0, 0, 1]
    first = read_array("decay.zarr", "first(x > 1.5)")
    assert math.isnan(first[0]) and abs(first[3] - 1 / 3) < 1e-6, first


def test_members_that_fail_are_listed_and_can_be_repeated():
    text = saltus("sweep", "Decay.mo", "--over", "a=1:4:4", "--stop", "0.6", "--out", "fail.zarr", "--max-steps",
                  "5000", code=1)
    assert "member 1 (a = 2)" in text and "saltus study member fail.zarr 1" in text, text
    assert "member 1 (a = 2)" in saltus("study", "failed", "fail.zarr", code=1)
    text = saltus("study", "member", "fail.zarr", "1", code=1)
    assert "at t = 0.5" in text or "at t = 0.49999" in text, text
    text = saltus("study", "member", "fail.zarr", "0", "--csv", "member.csv")
    assert "success at t = 0.6" in text and (FOLDER / "member.csv").stat().st_size > 1000, text
    text = saltus("study", "status", "fail.zarr")
    assert "4 members: 1 success" in text and "final(x)" in text, text
    status = read_array("fail.zarr", "status")
    assert status[0] == 0 and all(s not in (0, 1, 255) for s in status[1:]), status


def test_a_repeated_member_has_all_settings():
    (FOLDER / "Gears.mo").write_text("""model Gears
      type Gear = enumeration(low, middle, high);
      parameter Gear gear = Gear.low;
      parameter Real k = 1;
      Real x(start = 0, fixed = true);
    equation
      der(x) = k*(if gear == Gear.low then 1 elseif gear == Gear.middle then 2 else 3);
    end Gears;""")
    saltus("sweep", "Gears.mo", "--set", "gear=middle", "--scaling", "nominal", "--over", "k=1:3:3", "--out",
           "gears.zarr")
    assert [round(x, 9) for x in read_array("gears.zarr", "final(x)")] == [2, 4, 6]
    assert json.loads((FOLDER / "gears.zarr" / ".zattrs").read_text())["source"]["scaling"] == "nominal"
    (FOLDER / "Gears.mo").unlink()  # the text of the model is stored
    text = saltus("study", "member", "gears.zarr", "1")
    assert "x = 4\n" in text, text


def test_a_thousand_members_agree_with_single_runs():
    """Event by event: a study in lanes, one in full, and runs of the model itself."""
    study = ["sweep", "Impact.mo", "--over", "omega=0.6:1.6:1000", "--stop", "60", "--rtol", "1e-7", "--collect",
             "final(x),final(v)"]
    saltus(*study, "--out", "full.zarr")
    saltus(*study, "--executor", "lanes", "--out", "lanes.zarr")
    omega, events, x = (read_array("full.zarr", name) for name in ("omega", "events", "final(x)"))
    assert read_array("lanes.zarr", "path").count(1) > 900
    assert read_array("lanes.zarr", "events") == events and len(set(events)) > 5
    # impacts multiply differences: the two ways differ by some hundred tolerances at most
    assert max(abs(a - b) for a, b in zip(x, read_array("lanes.zarr", "final(x)"))) < 1e-4
    for k in range(1000):
        saltus("run", "Impact.mo", "--set", f"omega={omega[k]!r}", "--stop", "60", "--rtol", "1e-7", "--no-plot",
               "--quiet", "--json", "one.json")
        one = json.loads((FOLDER / "one.json").read_text())
        assert len(one["events"]) == events[k] and one["final"]["values"]["x"] == x[k], (k, one["final"], x[k])


def test_wrong_words_are_answered():
    for words, answer in ((["sweep", "Decay.mo"], "say what varies"),
                          (["sweep", "Decay.mo", "--over", "a=1:2"], "FROM:TO:COUNT"),
                          (["sweep", "Decay.mo", "--over", "b=1:2:3"], "no parameter or variable 'b'"),
                          (["sweep", "Decay.mo", "--over", "a=1:2:3", "--collect", "max(y)"], "'y' is not declared"),
                          (["sweep", "Decay.mo", "--over", "a=1:2:3", "--collect", "most(x)"], "--collect wants"),
                          (["sweep", "Decay.mo", "--over", "a=1:2:3", "--shard", "4/3"], "--shard wants"),
                          (["sweep", "Decay.mo", "--random", "a~lognormal(1,2)"], "--random wants"),
                          (["bifurcation", "Decay.mo", "--over", "a=1:2:3", "--vars", "x"], "--period"),
                          (["basin", "Wells.mo", "--over", "x=1:2:3", "--period", "1"], "two axes"),
                          ([*SWEEP, "--reduce", "mean"], "--reduce wants density"),
                          ([*SWEEP, "--reduce", "density:9x0"], "--reduce wants density"),
                          (["study", "status", "nothing.zarr"], "there is no study"),
                          (["export", "decay.zarr", "--csv", "-", "--results", "y"], "there is no result 'y'")):
        text = saltus(*words, code=2)
        assert answer in text, (words, text)


def test_a_changed_plan_is_refused_by_name():
    command = ["sweep", "Decay.mo", "--over", "a=-2,-1,0,1", "--out", "decay.zarr", "--collect",
               "final(x),big=max(2*x),count(x > 1.5),first(x > 1.5)"]
    saltus(*command)
    text = saltus(*command, "--rtol", "1e-9", code=2)
    assert "plan.simulate.rtol was 1e-08 and is now 1e-09" in text and "--restart" in text, text


def test_damage_is_reported_and_repaired():
    command = ["sweep", "Decay.mo", "--over", "a=-2:1:40", "--block", "8", "--out", "damaged.zarr"]
    saltus(*command)
    expected = files_of("damaged.zarr")
    assert "everything is there" in saltus("study", "check", "damaged.zarr")
    folder = FOLDER / "damaged.zarr"
    (folder / "final(x)" / "1").write_bytes(b"short")
    flipped = bytearray(expected["t_end/2"])
    flipped[17] ^= 4
    (folder / "t_end" / "2").write_bytes(flipped)
    (folder / "steps" / "3").unlink()
    (folder / ".blocks" / "4.json").unlink()
    (folder / "x").mkdir()
    text = saltus("study", "check", "damaged.zarr", code=1)
    for line in ("final(x)/1: damaged, 5 bytes instead of 64", "t_end/2: damaged, its bytes are not",
                 "steps/3: missing", "block 4: missing", "x: no part of this study"):
        assert line in text, (line, text)
    text = saltus("export", "damaged.zarr", "--csv", "damaged.csv", code=2)
    assert "is damaged" in text and not (FOLDER / "damaged.csv").exists(), text
    (folder / "x").rmdir()
    saltus(*command)
    assert files_of("damaged.zarr") == expected


def test_racing_shards_and_ranks_start_every_time():
    """Four processes at once, as arrays and as a density; the folder is that of one process."""
    study = ["sweep", "Decay.mo", "--over", "a=-2:1:40", "--block", "4"]
    reduce = ["bifurcation", "Impact.mo", "--over", "omega=0.6:1.6:24", "--period", "2*pi/omega", "--transient", "2",
              "--keep", "2", "--vars", "x", "--block", "2", "--reduce", "density:16x16"]
    for command in (study, reduce):
        saltus(*command, "--out", "one.zarr")
        expected = {name: data for name, data in files_of("one.zarr").items() if not name.startswith(".parts")}
        for ranks in (False, True):
            for _ in range(3):
                shutil.rmtree(FOLDER / "race.zarr", ignore_errors=True)
                processes = []
                for k in range(4):
                    more = [] if ranks else ["--shard", f"{k}/4"]
                    launched = {"PMI_RANK": str(k), "PMI_SIZE": "4"} if ranks else {}
                    processes.append(subprocess.Popen(
                        [SALTUS, *command, "--out", "race.zarr", *more], cwd=FOLDER, env=dict(os.environ, **launched),
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
                results = [(p.communicate(timeout=280), p.returncode) for p in processes]
                assert [code for _, code in results] == [0]*4, results
                saltus("study", "check", "race.zarr")
                now = {name: data for name, data in files_of("race.zarr").items() if not name.startswith(".parts")}
                assert now == expected
        shutil.rmtree(FOLDER / "one.zarr")
    assert not list(FOLDER.glob(".race.zarr.*")), list(FOLDER.glob(".race.zarr.*"))


def test_random_members_and_tables():
    saltus("sweep", "Decay.mo", "--random", "a~uniform(-2,1)", "--members", "50", "--seed", "3", "--out", "random.zarr")
    a = read_array("random.zarr", "a")
    assert len(set(a)) == 50 and all(-2 < v < 1 for v in a)
    (FOLDER / "table.csv").write_text("a,x(start)\n1,0.5\n-1,2\n")
    saltus("sweep", "Decay.mo", "--table", "table.csv", "--out", "table.zarr")
    x = read_array("table.zarr", "final(x)")
    assert abs(x[0] - 1 / (2 - 0.5)) < 1e-6 and abs(x[1] - 1 / (0.5 + 0.5)) < 1e-6, x
    (FOLDER / "wrong.csv").write_text("a\n1\ntwo\n")
    assert "wrong.csv:3" in saltus("sweep", "Decay.mo", "--table", "wrong.csv", code=2)


def test_shards_and_threads_give_the_same_bytes():
    saltus(*SWEEP, "--out", "whole.zarr", "--threads", "1")
    saltus(*SWEEP, "--out", "threads.zarr", "--threads", "8")
    for shard in ("3/3", "1/3", "2/3"):
        saltus(*SWEEP, "--out", "shards.zarr", "--shard", shard)
    expected = files_of("whole.zarr")
    assert files_of("threads.zarr") == expected
    assert files_of("shards.zarr") == expected


def test_processes_of_one_launcher_share_the_work_and_one_reports():
    """What mpirun sets in the environment of its processes; the last one starts first."""
    saltus(*SWEEP, "--out", "alone.zarr", "--executor", "lanes", "--threads", "1")
    processes = []
    for rank in (2, 1, 0):
        environment = dict(os.environ, OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE="3",
                           OMPI_COMM_WORLD_LOCAL_SIZE="3")
        processes.append(subprocess.Popen([SALTUS, *SWEEP, "--out", "ranks.zarr", "--executor", "lanes"], cwd=FOLDER,
                                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    results = [(p.communicate(timeout=280), p.returncode) for p in processes]
    assert [code for _, code in results] == [0, 0, 0], results
    assert [out for (out, _), _ in results[:2]] == ["", ""], results
    assert "300 members: 300 success" in results[2][0][0] and "300 in lanes" in results[2][0][0], results
    assert files_of("ranks.zarr") == files_of("alone.zarr")
    # a device, or lanes where there is none, goes on with a study that lanes have begun
    saltus(*SWEEP, "--out", "begun.zarr", "--executor", "lanes", "--shard", "1/2")
    without_block = [word for word in SWEEP if word not in ("--block", "16")]
    text = saltus(*without_block, "--out", "begun.zarr", "--executor", "cuda")
    assert "300 members: 300 success" in text, text
    assert files_of("begun.zarr") == files_of("alone.zarr")
    restarted = subprocess.run([SALTUS, *SWEEP, "--out", "ranks.zarr", "--restart"], cwd=FOLDER, capture_output=True,
                               env=dict(os.environ, PMI_RANK="1", PMI_SIZE="2"), text=True, timeout=280, check=False)
    assert restarted.returncode == 2 and "--restart" in restarted.stderr, restarted


def test_a_density_is_that_of_the_members():
    reduce = [*SWEEP, "--reduce", "density:64x32", "--out", "density.zarr"]
    saltus(*reduce)
    counts = read_array("density.zarr", "density")
    columns, rows = read_array("density.zarr", "omega"), read_array("density.zarr", "x")
    wide, high = columns[1] - columns[0], rows[1] - rows[0]
    expected = [[0]*len(columns) for _ in rows]
    for omega, samples in zip(read_array("whole.zarr", "omega"), read_array("whole.zarr", "x")):
        for x in samples:
            expected[math.floor((x - rows[0])/high + 0.5)][math.floor((omega - columns[0])/wide + 0.5)] += 1
    assert [list(row) for row in counts] == expected
    assert 32 < len(columns) <= 64 and 16 < len(rows) <= 32
    assert "300 members: 300 success" in saltus("study", "status", "density.zarr")
    assert "saltus" not in saltus("study", "member", "density.zarr", "7")
    assert "only a density" in saltus("export", "density.zarr", "--csv", "-", code=2)
    assert "reduce.rows was 32 and is now 16" in saltus(*SWEEP, "--reduce", "density:64x16", "--out", "density.zarr",
                                                        code=2)
    first = (FOLDER / "density.zarr" / "density" / "0.0").read_bytes()
    for shard in ("1/3", "2/3", "3/3"):
        saltus(*SWEEP, "--reduce", "density:64x32", "--out", "parts.zarr", "--shard", shard)
    assert (FOLDER / "parts.zarr" / "density" / "0.0").read_bytes() == first
    if shutil.which("gnuplot"):
        saltus(*reduce, "--plot", "density.svg")
        assert "<image" in (FOLDER / "density.svg").read_text()


def test_kills_at_random_moments_change_nothing():
    began = time.monotonic()
    subprocess.run([SALTUS, *SWEEP, "--out", "timed.zarr"], cwd=FOLDER, check=True, capture_output=True)
    whole = time.monotonic() - began
    killed, finished = 0, 0
    dice = random.Random(1)
    while killed < 100:
        shutil.rmtree(FOLDER / "killed.zarr", ignore_errors=True)
        finished += 1
        assert finished < 100, killed
        while True:
            run = subprocess.Popen([SALTUS, *SWEEP, "--out", "killed.zarr", "--threads", "2"], cwd=FOLDER,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            before = len(list((FOLDER / "killed.zarr").glob("status/*")))
            time.sleep(dice.uniform(0.0, 0.12 * whole))
            if run.poll() is not None or killed == 100:
                break
            run.kill()
            run.wait()
            killed += 1
            # what was complete stays
            assert len(list((FOLDER / "killed.zarr").glob("status/*"))) >= before
        assert run.wait() == 0
        after = {name: data for name, data in files_of("killed.zarr").items() if not name.endswith(".part")}
        assert after == files_of("whole.zarr")
    remain = FOLDER / "killed.zarr" / "x" / ".3.0.0123456789abcdef.part"
    remain.write_bytes(b"remains of a writer that was killed")
    (FOLDER / "killed.zarr" / "x" / "notes.part").write_bytes(b"of the user")
    for part in (FOLDER / "killed.zarr").rglob("*.part"):
        os.utime(part, (time.time() - 1000, time.time() - 1000))
    saltus(*SWEEP, "--out", "killed.zarr")
    assert files_of("killed.zarr") == {**files_of("whole.zarr"), "x/notes.part": b"of the user"}


def test_control_c_stops_and_the_same_command_goes_on():
    command = [SALTUS, *SWEEP, "--out", "stopped.zarr", "--threads", "1", "--progress"]
    command[command.index("omega=0.6:1.6:300")] = "omega=0.6:1.6:3000"
    run = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list((FOLDER / "stopped.zarr").glob("status/[0-9]")):
        assert run.poll() is None
        time.sleep(0.02)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130, (run.returncode, errors)
    assert "the same command goes on" in errors, errors
    assert "members are missing" in saltus("study", "status", "stopped.zarr")


def test_following_shows_hysteresis():
    saltus("bifurcation", "Duffing.mo", "--over", "w=1:2.6:17", "--period", "2*Modelica.Constants.pi/w",
           "--transient", "40", "--keep", "2", "--vars", "x", "--collect", "top=max(x)", "--follow", "both",
           "--out", "duffing.zarr")
    top, w = read_array("duffing.zarr", "top"), read_array("duffing.zarr", "w")
    assert len(top) == 34 and abs(w[7] - 1.7) < 1e-12 and w[24] == w[7]
    assert top[7] > 2 * top[24], (top[7], top[24])
    assert read_array("duffing.zarr", "direction") == [1.0] * 17 + [-1.0] * 17


def test_basins_have_two_attractors():
    text = saltus("basin", "Wells.mo", "--over", "x=-1.5:1.5:8", "--over", "v=-1:1:6", "--period", "1",
                  "--transient", "80", "--out", "wells.zarr",
                  *(["--plot", "wells.svg"] if shutil.which("gnuplot") else []))
    labels = read_array("wells.zarr", "attractor")
    assert set(labels) == {1, 2} and labels[0] == 1, labels
    assert "attractor 2:" in text, text
    if shutil.which("gnuplot"):
        picture = (FOLDER / "wells.svg").read_text()
        assert "attractor 1" in picture and "<image" in picture


def test_sections_have_the_points_of_the_cycle():
    saltus("poincare", "Duffing.mo", "--section", "x", "--direction", "both", "--stop", "1e3", "--transient", "60",
           "--keep", "20", "--vars", "x,v", "--out", "section.zarr", "--over", "w=1.2,1.3")
    for member in read_array("section.zarr", "x"):
        assert all(abs(x) < 1e-6 for x in member), member
    v = read_array("section.zarr", "v")[0]
    assert all((a > 0) != (b > 0) for a, b in zip(v, v[1:])), v


def test_pictures_are_drawn():
    if not shutil.which("gnuplot"):
        return
    saltus(*SWEEP, "--out", "whole.zarr", "--plot", "points.png", "--lines", "0.8,1.2")
    assert (FOLDER / "points.png").read_bytes().startswith(b"\x89PNG")
    saltus("poincare", "Impact.mo", "--period", "0.5", "--transient", "10", "--keep", "25000", "--vars", "x,v",
           "--rtol", "1e-3", "--out", "many.zarr", "--plot", "many.svg")
    assert "<image" in (FOLDER / "many.svg").read_text()  # a raster
    saltus("sweep", "Decay.mo", "--over", "a=-2:1:5", "--over", "x=0.5:1:4", "--out", "map.zarr", "--plot", "map.svg")
    assert "<image" in (FOLDER / "map.svg").read_text()


def test_exports_have_the_same_numbers():
    x, omega = read_array("whole.zarr", "x"), read_array("whole.zarr", "omega")
    saltus("export", "whole.zarr", "--csv", "whole.csv", "--npz", "whole.npz", "--results", "omega,x")
    lines = (FOLDER / "whole.csv").read_text().splitlines()
    assert lines[0] == "member,omega,x[1],x[2],x[3],x[4]"
    assert [float(v) for v in lines[8].split(",")] == [7, omega[7], *x[7]]
    with zipfile.ZipFile(FOLDER / "whole.npz") as archive:
        data = archive.read("x.npy")
    head = 10 + int.from_bytes(data[8:10], "little")
    assert b"'shape': (300, 4)" in data[:head]
    assert list(struct.unpack("<4d", data[head + 7 * 32:head + 8 * 32])) == x[7]


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for name, text in (("Impact", IMPACT), ("Decay", DECAY), ("Wells", WELLS), ("Duffing", DUFFING)):
        (FOLDER / f"{name}.mo").write_text(text)
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            began = time.monotonic()
            test()
            print(f"{name}: {time.monotonic() - began:.1f} s", flush=True)


if __name__ == "__main__":
    os.environ.pop("MODELICAPATH", None)
    main()
