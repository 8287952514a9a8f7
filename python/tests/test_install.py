"""The package, installed into an empty folder and packed into a wheel, imports and runs without the source tree."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from optional import need

import saltus as sl

ROOT = Path(os.environ["SALTUS_EXAMPLES"]).parent
BUILD = Path(sl.__file__).parents[2]
BUILT_HERE = pytest.mark.skipif(not (BUILD / "CMakeCache.txt").exists(), reason="this package was not built here")
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


@BUILT_HERE
def test_cmake_installs_the_package_into_an_empty_prefix(tmp_path):
    subprocess.run(["cmake", "--install", BUILD, "--component", "python", "--prefix", tmp_path], check=True,
                   stdout=subprocess.DEVNULL)
    check(tmp_path / "lib" / "python3" / "dist-packages")


def call(*command: object, **options: Any) -> str:
    """What a command writes; it must succeed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


FROM_BUILD = {**os.environ, "SALTUS_BUILD_DIR": str(BUILD)}


def sources(folder: Path) -> Path:
    """A copy of what a wheel is made of, so that nothing is written into the tree."""
    shutil.copytree(ROOT / "python", folder / "python", ignore=shutil.ignore_patterns("tests", "*.egg-info"))
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "CMakeLists.txt", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("wheel")
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "dist").mkdir()
    call(sys.executable, "-c", "import setuptools.build_meta as b; b.build_wheel('dist')", env=FROM_BUILD,
         cwd=sources(folder))
    return next((folder / "dist").glob("*.whl"))


@BUILT_HERE
def test_a_wheel_holds_the_package(wheel, tmp_path):
    assert wheel.name.startswith(f"saltus-{sl.__version__}-cp") and "none-any" not in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    check(tmp_path / "site")


@BUILT_HERE
@pytest.mark.skipif(not shutil.which("patchelf") and os.environ.get("CI") != "true", reason="there is no patchelf")
def test_a_repaired_wheel_runs_in_an_empty_environment_without_the_libraries_of_the_system(wheel, tmp_path):
    repaired = Path(call(sys.executable, ROOT / "scripts" / "repair_wheel.py", wheel, "--out", tmp_path).strip())
    assert "-manylinux_2_" in repaired.name
    call(sys.executable, "-m", "venv", tmp_path / "venv")
    # Without an index: what pip would fetch besides is numpy, which comes from the system here.
    call(tmp_path / "venv/bin/pip", "install", "--no-index", "--no-deps", "--quiet", repaired)
    site = next((tmp_path / "venv/lib").glob("python*/site-packages"))
    libraries = {path.name for path in (site / "saltus.libs").iterdir()}
    assert {"libklu.so.1", "libamd.so.2"} <= libraries
    licences = next(site.glob("saltus-*.dist-info")) / "licenses"
    assert {f"{name}.txt" for name in libraries} <= {path.name for path in licences.iterdir()}

    # The loader says where it finds each library: none of them outside of the wheel.
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SALTUS", "PYTHON"))}
    program = [str(tmp_path / "venv/bin/saltus"), "run", str(ROOT / "examples/models/StickSlip.mo"), "--no-plot"]
    text = call(*program, env={**environment, "LD_DEBUG": "libs"}, cwd=tmp_path)
    assert "slides on v1 = v2 with weight 0.657405" in text and "success at t = 10" in text
    loaded = {Path(path) for path in re.findall(r"calling init: (\S+)", text)}
    assert libraries <= {path.name for path in loaded}
    assert all(path.is_relative_to(site) for path in loaded if path.name in libraries)

    # Once more with the libraries of the system hidden, where this user may do that.
    hidden = sorted(path for name in libraries for path in Path("/").glob(f"usr/lib/*/{name}"))
    hide = "".join(f"mount --bind /dev/null {path} && " for path in hidden)
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    if hidden and shutil.which("unshare") and subprocess.run(
            [*namespace, "sh", "-c", hide + "true"], capture_output=True, check=False).returncode == 0:
        text = call(*namespace, "sh", "-c", hide + 'exec "$@"', "sh", *program, env=environment, cwd=tmp_path)
        assert "success at t = 10" in text

    # The package, with the numpy of the system, and `python -m saltus`; exit codes are those of the program.
    (site / "numpy").symlink_to(Path(need("numpy").__file__).parent)
    python = tmp_path / "venv/bin/python"
    assert "0.367879" in call(python, "-c", PROGRAM, env=environment, cwd=tmp_path)
    assert call(python, "-m", "saltus", "--version", env=environment).startswith(f"saltus {sl.__version__}")
    assert subprocess.run([python, "-m", "saltus", "rnu"], env=environment, capture_output=True).returncode == 2


@BUILT_HERE
def test_an_archive_of_the_sources_can_be_configured(tmp_path):
    call(sys.executable, "-c", f"import setuptools.build_meta as b; b.build_sdist({str(tmp_path)!r})", cwd=ROOT)
    archive = next(tmp_path.glob("saltus-*.tar.gz"))
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path)
    folder = tmp_path / archive.name.removesuffix(".tar.gz")
    # CMake refuses targets whose sources are missing, and headers are compared by name.
    call("cmake", "--preset", "python", "-B", tmp_path / "build", cwd=folder)
    for part in ("include", "src", "cli"):
        assert {path.relative_to(folder) for path in (folder / part).rglob("*") if path.is_file()} == {
            path.relative_to(ROOT) for path in (ROOT / part).rglob("*") if path.is_file()}
    if (ROOT / ".git").exists():
        assert re.match(r"[0-9a-f]+ \d+-\d+-\d+ ", (folder / "cmake/commit.txt").read_text())
