"""The package, installed into an empty folder and packed into a wheel, imports and runs without the source tree."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from optional import need

import saltus as sl

ROOT = Path(os.environ["SALTUS_EXAMPLES"]).parent
BUILD = Path(sl.__file__).parents[2]
PROGRAM = """
import saltus as sl
m = sl.loads("model M Real x(start = 1, fixed = true); equation der(x) = -x; end M;")
print(sl.__file__, sl.__version__, float(sl.simulate(m)(1.0, "x")))
try:
    m.export_fmu("M.fmu", kind="me")
    print(float(sl.simulate(sl.load("M.fmu", allow_code=True))(1.0, "x")))
except sl.UsageError as error:
    print(error)
"""


def run_program(folder: Path) -> list[str]:
    """Runs the program with the package in a folder, and nothing else of ours."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SALTUS", "PYTHON"))}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, env={**environment, "PYTHONPATH": str(folder)},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def check(folder: Path) -> None:
    file, version, value, *from_fmu = run_program(folder)
    assert Path(file).is_relative_to(folder) and version == sl.__version__
    assert float(value) == pytest.approx(0.36787944, abs=1e-5)
    if (BUILD / "saltus_fmu.so").exists():
        assert float(from_fmu[0]) == pytest.approx(0.36787944, abs=1e-5)
    sources = {path.name for path in (ROOT / "python" / "saltus").iterdir() if path.suffix in (".py", ".pyi", ".typed")}
    assert sources <= {path.name for path in (folder / "saltus").iterdir()}


@pytest.mark.skipif(not (BUILD / "CMakeCache.txt").exists(), reason="this package was not built here")
def test_cmake_installs_the_package_into_an_empty_prefix(tmp_path):
    subprocess.run(["cmake", "--install", BUILD, "--component", "python", "--prefix", tmp_path], check=True,
                   stdout=subprocess.DEVNULL)
    check(tmp_path / "lib" / "python3" / "dist-packages")


@pytest.mark.skipif(not (BUILD / "CMakeCache.txt").exists(), reason="this package was not built here")
def test_a_wheel_holds_the_package(tmp_path):
    need("wheel")
    source = tmp_path / "source"
    shutil.copytree(ROOT / "python", source / "python")
    shutil.copy(ROOT / "CMakeLists.txt", source)
    done = subprocess.run([sys.executable, "-c", "import setuptools.build_meta as b; print(b.build_wheel('..'))"],
                          cwd=source / "python", env={**os.environ, "SALTUS_BUILD_DIR": str(BUILD)},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wheel = next(source.glob("*.whl"))
    assert wheel.name.startswith(f"saltus-{sl.__version__}-cp") and "none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    check(tmp_path / "site")
