"""FMUs: models of other simulators."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _core


def describe_fmu(path: str | os.PathLike[str]) -> str:
    """What an FMU is, and whether ``load`` takes it, in some lines. Reads its description; none of its code runs."""
    return _core.describe_fmu(os.fspath(path))


#: The variable of the environment that allows code of FMUs everywhere.
ALLOWS_CODE = "SALTUS_ALLOW_FOREIGN_CODE"


class Fmu:
    """An FMU, as ``load`` reads it; ``simulate`` and ``Simulator`` run it.

    An FMU is native code that runs with your rights: load only those that you trust, and say so by ``allow_code=True``
    or by ``SALTUS_ALLOW_FOREIGN_CODE=1`` in the environment. ``describe_fmu`` says what one is and runs nothing. Each
    run loads the file again. ``max_step`` is the communication step of FMUs for co-simulation. An Fmu pickles as the
    name of its file and its values; where it is read back, the environment decides whether its code may run.
    """

    def __init__(self, file: str, values: Mapping[str, float] | None = None, allow_code: bool = False) -> None:
        if not allow_code and os.environ.get(ALLOWS_CODE) != "1":
            raise _core.UsageError(f"'{file}' is native code of others, which would run with your rights: if you trust "
                                   f"it, say allow_code=True, or set {ALLOWS_CODE}=1 in the environment; describe_fmu "
                                   "says what it is and runs nothing")
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
                                 options.get("stop"), float(rtol) if isinstance(rtol, (int, float)) else None,
                                 options.get("max_step"))

    def __reduce__(self) -> Any:
        return Fmu, (self.file, self._values)

    def __repr__(self) -> str:
        return f"<saltus.Fmu '{self.name}' from {self.file}>"
