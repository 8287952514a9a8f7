"""Packages that users may lack. On continuous integration they are there, and their tests are never skipped."""

import importlib
import os
from types import ModuleType

import pytest


def need(name: str) -> ModuleType:
    """The package. Skips the test where it is missing."""
    return importlib.import_module(name) if os.environ.get("CI") == "true" else pytest.importorskip(name)


def need_pyplot() -> ModuleType:
    """matplotlib.pyplot, which draws into no window."""
    need("matplotlib").use("Agg")
    return importlib.import_module("matplotlib.pyplot")
