"""FMUs: models of other simulators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _core


def describe_fmu(path: str | os.PathLike[str]) -> str:
    """What an FMU is, and whether ``load`` takes it, in some lines. Reads its description; none of its code runs."""
    return _core.describe_fmu(os.fspath(path))


class Fmu:
    """An FMU for model exchange, as ``load`` reads it; ``simulate`` and ``Simulator`` run it.

    An FMU is native code that runs with your rights: load only those that you trust. ``describe_fmu`` says what one is
    and runs nothing. Each run loads the file again. An Fmu pickles as the name of its file and its values.
    """

    def __init__(self, file: str, values: Mapping[str, float] | None = None) -> None:
        self.file, self._values = file, {name: float(value) for name, value in (values or {}).items()}
        core = _core.ImportedFmu(file, list(self._values.items()))
        self.name: str = core.name
        self.description: str = core.description
        self.experiment: dict[str, float | None] = core.experiment
        #: What one should know: variables that cannot be shown, abilities that are missing.
        self.notes: list[str] = core.notes
        #: Values by name.
        self.parameters: dict[str, float] = {p.name: p.value for p in core.parameters}
        self.variables: dict[str, dict[str, Any]] = core.variables
        self.inputs: list[str] = core.inputs

    def _begin(self, values: Mapping[str, float], options: Mapping[str, Any]) -> _core.ImportedFmu:
        """An instance for one run."""
        rtol = options.get("rtol")
        return _core.ImportedFmu(self.file, list({**self._values, **values}.items()), options.get("start"),
                                 options.get("stop"), float(rtol) if isinstance(rtol, (int, float)) else None)

    def __reduce__(self) -> Any:
        return Fmu, (self.file, self._values)

    def __repr__(self) -> str:
        return f"<saltus.Fmu '{self.name}' from {self.file}>"
