"""What fits, cycles, branches and exponents share: their options, and the error of a search that did not end well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from . import _core
from .extension import ExtendedModel
from .model import Model, ModelicaModel
from .report import Report
from .run import complete
from .solution import Solution


class _Result(Protocol):
    @property
    def status(self) -> str: ...

    @property
    def message(self) -> str: ...


class SearchError(_core.Error):
    """A search that did not end well. ``result`` holds what there is; its ``status`` and ``message`` say why."""

    def __init__(self, result: _Result) -> None:
        super().__init__(f"{result.status}: {result.message}" if result.message else result.status)
        self.result, self.status = result, result.status

    def __reduce__(self) -> Any:
        return SearchError, (self.result,)


def run_options(model: Model | ModelicaModel, options: dict[str, Any], rtol: float, end: str) -> dict[str, Any]:
    """Options of the runs of a search. They are tighter than those of a single run (a hundredth of ``rtol`` is the
    default of ``atol``), whatever tolerance the model says, and ``end`` says where the runs end."""
    if options.get("stop") is not None:
        raise TypeError(f"stop does not count here: {end}")
    tolerances: dict[str, Any] = {"rtol": rtol, **{name: value for name, value in options.items() if value is not None}}
    relative = np.asarray(tolerances["rtol"], float)
    tolerances.setdefault("atol", float(0.01 * relative) if relative.ndim == 0 else list(0.01 * relative))
    return complete({"start": model.experiment.get("start")}, tolerances)


def solution_of(run: _core.Run | None, model: ExtendedModel) -> Solution | None:
    return Solution(run, model.model.name, Report(model.source)) if run is not None else None


def names_of(variables: str | Sequence[str]) -> list[str]:
    """A list of names; a single one is a list, too."""
    return [variables] if isinstance(variables, str) else list(variables)


def with_error(value: float, error: float) -> str:
    """A value with as many digits as its error allows: two of the error are shown."""
    if not (error > 0.0 and math.isfinite(error)):
        return f"{value:.10g}"
    size = max(abs(value), error)
    digits = math.floor(math.log10(size)) - math.floor(math.log10(error)) + 3
    return f"{value:.{min(max(digits, 3), 15)}g}"
