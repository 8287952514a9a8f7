"""Wheels: the compiled module is built by CMake, the rest is copied. pyproject.toml says how to call it."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent.parent


class BuildByCMake(build_ext):
    """Builds the preset `python`, or takes the build folder that SALTUS_BUILD_DIR names, and installs the module."""

    def build_extension(self, extension):
        given = os.environ.get("SALTUS_BUILD_DIR")
        build = Path(given) if given else ROOT / "build" / "release"
        if not given:
            subprocess.run(["cmake", "--preset", "python", f"-DPython3_EXECUTABLE={sys.executable}"], cwd=ROOT,
                           check=True)
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


def version():
    return re.search(r"project\(saltus VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.I)[1]


setup(version=version(), packages=["saltus"], package_data={"saltus": ["*.pyi", "py.typed"]},
      ext_modules=[Extension("saltus._core", sources=[])], cmdclass={"build_ext": BuildByCMake})
