#!/usr/bin/env python3
"""numpy and SciPy read what the program writes: read_back_test.py SALTUS FOLDER

Skipped with a message (exit code 77) where they are not installed, but not in continuous integration (CI=true).
"""
import csv
import json
import math
import os
import pathlib
import re
import subprocess
import sys

try:
    import numpy
    import scipy.io
except ImportError:
    system = "/usr/bin/python3"  # Debian's packages belong to it, whichever Python was found first
    other = os.path.exists(system) and os.path.realpath(sys.executable) != os.path.realpath(system)
    if other and "SALTUS_AGAIN" not in os.environ:
        os.execve(system, [system, *sys.argv], {**os.environ, "SALTUS_AGAIN": "1"})
    in_ci = os.environ.get("CI", "").lower() in ("1", "true", "yes")
    print("FAILED:" if in_ci else "skipped:", "no numpy or SciPy (Debian packages: python3-numpy, python3-scipy)")
    sys.exit(1 if in_ci else 77)

MODEL = """model Ball "a ball that bounces"
  parameter Real e = 0.5 "coefficient of restitution";
  parameter Real g(unit = "m/s2") = 10;
  Real h(start = 5, fixed = true, unit = "m") "height, above the floor";
  Real 'v, "ü"'(start = 0, fixed = true, unit = "m/s") "Geschwindigkeit – schräg";
  Boolean low = h < 1;
equation
  der(h) = 'v, "ü"';
  der('v, "ü"') = -g;
  when h < 0 then
    reinit('v, "ü"', -e*pre('v, "ü"'));
  end when;
  annotation(experiment(StopTime = 1.5, Tolerance = 1e-9));
end Ball;
"""
SPEED = """'v, "ü"'"""
TYPES = """model Types
  type Gear = enumeration(low, high);
  parameter Real k(unit = "N/m") = 2.5 "stiffness";
  parameter Integer n = 3;
  parameter Boolean on = true "switch";
  parameter Gear gear = Gear.high "at the start";
  parameter Real p[2](each unit = "m") = {1, 2};
  Real x = k*time + (if on then n else 0) + (if gear == Gear.low then p[1] else p[2]);
end Types;
"""
FIXED = """model Fixed
  model Part
    parameter Real m(unit = "kg") = 1;
    parameter Real weight(unit = "N") = 10*m "on earth";
    outer parameter Real scale;
  end Part;
  inner parameter Real scale = 2;
  parameter Integer size = 3 "of the chain";
  parameter Boolean damped = size > 2;
  final parameter Real pi2 = 6.25;
  parameter Real sums[2] = {scale + pi2, parts[2].weight};
  parameter Real chosen(fixed = false);
  parameter String title = "text";
  constant Real c = 4;
  Part parts[2](m = {3, 4*scale});
  Part absent if not damped;
  Real x[size](each start = 1, each fixed = true);
initial equation
  chosen = scale^2;
equation
  for k in 1:size loop
    der(x[k]) = if damped then -x[k]*sums[1] else chosen + c;
  end for;
end Fixed;
"""


def main():
    saltus, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Ball.mo").write_text(MODEL, encoding="utf-8")

    def run(*options):
        subprocess.run([saltus, "run", "Ball.mo", "--quiet", "--no-plot", *options], cwd=folder, check=True)

    run("--csv", "a.csv", "--csv-units", "--json", "a.json", "--trajectories", "--mat", "a.mat", "--npz", "a.npz",
        "--intervals", "30")
    rows = list(csv.reader(open(folder / "a.csv", encoding="utf-8")))
    assert rows[0] == ["# unit", "m", "m/s", ""], rows[0]
    assert rows[1] == ["# description", "height, above the floor", "Geschwindigkeit – schräg", ""], rows[1]
    assert rows[2] == ["# type", "Real", "Real", "Boolean"], rows[2]
    assert rows[3] == ["time", "h", SPEED, "low"], rows[3]
    table = numpy.array([[float(x) for x in row] for row in rows[4:]])
    time, h, v = table[:, 0], table[:, 1], table[:, 2]
    assert len(time) > 31 and (numpy.diff(time) == 0).sum() >= 2  # the impact and the changes of `low`, twice each
    assert time[-1] == 1.5 and h.min() > -1e-9
    before = time < 1.0  # falls freely from 5 with 10: hits the floor at t = 1, to the tolerance
    assert abs(h[before] - (5 - 5 * time[before] ** 2)).max() < 1e-8

    arrays = numpy.load(folder / "a.npz")
    assert arrays["time"].tolist() == time.tolist()  # the same numbers, to the last bit
    assert arrays["h"].tolist() == h.tolist() and arrays[SPEED].tolist() == v.tolist()
    assert list(arrays["$names"]) == ["h", SPEED, "low"] and list(arrays["$units"]) == ["m", "m/s", ""]
    assert arrays["$descriptions"][1] == "Geschwindigkeit – schräg"
    assert arrays["low"].dtype == bool and arrays["low"].tolist() == [x != 0 for x in table[:, 3]]
    assert list(arrays["$types"]) == ["Real", "Real", "Boolean"] and list(arrays["$causalities"]) == 3 * ["local"]
    assert dict(zip(arrays["$parameters"], arrays["$parameter_values"])) == {"e": 0.5, "g": 10.0}

    mat = scipy.io.loadmat(folder / "a.mat", chars_as_strings=False)
    assert ["".join(row).rstrip() for row in mat["Aclass"]] == ["Atrajectory", "1.1", "", "binTrans"]
    text = lambda matrix: ["".join(column).rstrip().encode("latin-1").decode() for column in matrix.T]
    names, descriptions, info = text(mat["name"]), text(mat["description"]), mat["dataInfo"]
    assert names == ["time", "e", "g", "h", SPEED, "low"], names
    assert descriptions[3:] == ["height, above the floor [m]", "Geschwindigkeit – schräg [m/s]", "[:#(type=Boolean)]"]
    assert info.shape == (4, 6) and info[:, 0].tolist() == [0, 1, 0, -1]
    values = {name: mat[f"data_{max(info[0, k], 1)}"][info[1, k] - 1] for k, name in enumerate(names)}
    assert values["e"].tolist() == [0.5, 0.5] and mat["data_2"][0].tolist() == time.tolist()
    assert values["h"].tolist() == h.tolist() and values[SPEED].tolist() == v.tolist()

    result = json.load(open(folder / "a.json", encoding="utf-8"))
    assert result["trajectories"]["time"] == time.tolist() and result["trajectories"]["values"]["h"] == h.tolist()
    assert result["variables"][1] == {"name": SPEED, "unit": "m/s", "description": "Geschwindigkeit – schräg",
                                      "type": "Real", "causality": "local"}
    assert result["variables"][2]["type"] == "Boolean"

    def compare(first, second):
        return subprocess.run([saltus, "compare", first, second], cwd=folder, capture_output=True, text=True)

    for file in ("a.mat", "a.json", "a.npz"):
        assert compare("a.csv", file).returncode == 0, file
    numpy.savez(folder / "d.npz", time=time, h=h.astype("f4"), low=arrays["low"])  # as a user of numpy writes it
    answer = compare("a.npz", "d.npz")
    assert answer.returncode == 0 and "only in the first result: " + SPEED in answer.stdout, answer
    h[3] += 0.1
    numpy.savez(folder / "d.npz", time=time, h=h)
    assert compare("a.npz", "d.npz").returncode == 1
    numpy.savez_compressed(folder / "e.npz", time=time, h=h)
    answer = compare("a.npz", "e.npz")
    assert answer.returncode == 2 and "numpy.savez instead" in answer.stderr, answer

    run("--npz", "b.npz", "--times", "0.2:0.1:1.2", "--vars", "h")
    arrays = numpy.load(folder / "b.npz")
    assert len(arrays["time"]) == 11
    assert numpy.allclose(arrays["time"], numpy.arange(0.2, 1.25, 0.1), rtol=0, atol=1e-15)
    assert list(arrays["$names"]) == ["h"] and math.isclose(arrays["h"][3], 5 - 5 * 0.25, rel_tol=1e-8)
    run("--npz", "c.npz", "--samples", "7")
    assert numpy.load(folder / "c.npz")["time"].tolist() == [0, 0.25, 0.5, 0.75, 1, 1.25, 1.5]
    # the same run gives the same bytes
    first = (folder / "c.npz").read_bytes()
    run("--npz", "c.npz", "--samples", "7")
    assert first == (folder / "c.npz").read_bytes()
    read_types(saltus, folder)
    read_fixed(saltus, folder)
    print("CSV, JSON, MAT and npz agree")


def read_types(saltus, folder):
    """Parameters have their types, units and descriptions in all files."""
    (folder / "Types.mo").write_text(TYPES, encoding="utf-8")
    files = ["--json", "t.json", "--mat", "t.mat", "--npz", "t.npz", "--html", "t.html"]
    subprocess.run([saltus, "run", "Types.mo", "--quiet", "--no-plot", *files], cwd=folder, check=True)
    names, values = ["k", "n", "on", "gear", "p[1]", "p[2]"], [2.5, 3, 1, 2, 1, 2]
    units = ["N/m", "", "", "", "m", "m"]
    descriptions = ["stiffness", "", "switch", "at the start", "", ""]
    types = ["Real", "Integer", "Boolean", "enumeration", "Real", "Real"]

    result = json.load(open(folder / "t.json", encoding="utf-8"))
    assert result["parameters"] == dict(zip(names, values))
    info = result["parameter_info"]
    for key, expected in {"name": names, "unit": units, "description": descriptions, "type": types}.items():
        assert [parameter[key] for parameter in info] == expected, (key, info)
    assert [parameter.get("literals") for parameter in info] == 3 * [None] + [["low", "high"]] + 2 * [None]

    arrays = numpy.load(folder / "t.npz")
    types[3] = "enumeration(low, high)"
    for key, expected in {"$parameters": names, "$parameter_values": values, "$parameter_units": units,
                          "$parameter_descriptions": descriptions, "$parameter_types": types}.items():
        assert list(arrays[key]) == expected, (key, arrays[key])

    described = scipy.io.loadmat(folder / "t.mat", chars_as_strings=False)["description"]
    assert ["".join(column).rstrip() for column in described.T][1:7] == [
        "stiffness [N/m]", "[:#(type=Integer)]", "switch [:#(type=Boolean)]", "at the start [:#(type=Integer)]",
        "[m]", "[m]"]

    page = (folder / "t.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.DOTALL).group(1))
    shown = [2.5, 3, "true", "high", 1, 2]
    assert data["parameters"] == [list(row) for row in zip(names, shown, units, descriptions)], data["parameters"]


def read_fixed(saltus, folder):
    """Parameters that decide the structure, that are final or computed from others stand behind those that can be set,
    with their values in the run."""
    (folder / "Fixed.mo").write_text(FIXED, encoding="utf-8")
    files = ["--json", "f.json", "--mat", "f.mat", "--npz", "f.npz", "--html", "f.html"]
    subprocess.run([saltus, "run", "Fixed.mo", "--quiet", "--no-plot", "--set", "scale=5", *files], cwd=folder,
                   check=True)
    expected = {"scale": 5, "parts[1].m": 3, "size": 3, "damped": 1, "pi2": 6.25, "sums[1]": 11.25, "sums[2]": 200,
                "chosen": 25, "parts[1].weight": 30, "parts[2].m": 20, "parts[2].weight": 200}

    result = json.load(open(folder / "f.json", encoding="utf-8"))
    assert result["parameters"] == expected, result["parameters"]
    info = {parameter["name"]: parameter for parameter in result["parameter_info"]}
    assert info["parts[2].weight"]["unit"] == "N" and info["parts[2].weight"]["description"] == "on earth", info
    assert [info[name]["type"] for name in ("size", "damped")] == ["Integer", "Boolean"], info

    arrays = numpy.load(folder / "f.npz")
    assert dict(zip(arrays["$parameters"], arrays["$parameter_values"])) == expected

    mat = scipy.io.loadmat(folder / "f.mat", chars_as_strings=False)
    names = ["".join(column).rstrip() for column in mat["name"].T]
    rows = mat["dataInfo"][1]
    assert {name: mat["data_1"][rows[names.index(name)] - 1][0] for name in expected} == expected, names

    page = (folder / "f.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.DOTALL).group(1))
    assert [row[0] for row in data["parameters"]] == list(result["parameters"]), data["parameters"]


if __name__ == "__main__":
    main()
