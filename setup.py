"""Wheels and archives of the sources. CMake builds the compiled module; pyproject.toml says how to call it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parent


class BuildByCMake(build_ext):
    """Builds the preset `python`, or takes the build folder that SALTUS_BUILD_DIR names, and installs the module."""

    def build_extension(self, extension):
        given = os.environ.get("SALTUS_BUILD_DIR")
        # (a folder of its own: the interpreter of an isolated build is gone afterwards)
        build = Path(given) if given else ROOT / "build" / f"wheel-{sys.implementation.cache_tag}"
        if not given:
            subprocess.run(["cmake", "--preset", "python", "-B", build, f"-DPython3_EXECUTABLE={sys.executable}",
                            *place_of_pybind11()], cwd=ROOT, check=True)
            subprocess.run(["cmake", "--build", build, "--target", "saltus_python_package", "-j",
                            str(os.cpu_count() or 1)], check=True)
        target = Path(self.get_ext_fullpath(extension.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as prefix:
            subprocess.run(["cmake", "--install", build, "--component", "python", "--prefix", prefix], check=True,
                           stdout=subprocess.DEVNULL)
            found = list(Path(prefix).rglob(target.name))
            if len(found) != 1:
                raise RuntimeError(f"{build} has no module {target.name}: was it built with another Python?")
            shutil.copy(found[0], target)
            for library in Path(prefix).rglob("saltus_fmu.so"):  # the part of every FMU that is exported
                shutil.copy(library, target.parent)


def place_of_pybind11():
    """The option that names pybind11's CMake files, where it is a package of this interpreter."""
    try:
        import pybind11
    except ImportError:
        return []
    return [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]


class SourceArchive(sdist):
    """An archive without a repository names its commit in cmake/commit.txt, as `git archive` does."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        done = subprocess.run(["git", "log", "-1", "--format=%h %cs %D"], cwd=ROOT, capture_output=True, text=True)
        if (ROOT / ".git").exists() and done.returncode == 0:
            text = Path(base_dir, "cmake", "commit.txt")
            text.unlink()  # it may be a link to the one of the tree
            text.write_text(done.stdout)


def version():
    return re.search(r"project\(saltus VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.I)[1]


setup(version=version(), packages=["saltus"], package_dir={"": "python"},
      package_data={"saltus": ["*.pyi", "py.typed"]},
      ext_modules=[Extension("saltus._core", sources=[])],
      cmdclass={"build_ext": BuildByCMake, "sdist": SourceArchive})
