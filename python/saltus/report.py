"""What a report shows beside the run: where its model comes from, its parameters, the structure of its equations."""

from __future__ import annotations

from collections.abc import Mapping

from . import _core
from .fmu import Fmu
from .model import ModelicaModel, Runnable


class Report:
    """Writes the page of ``saltus run --html``. ``system`` is what ran, with its values; without it the page has
    neither parameters nor structure. An FMU has no structure."""

    def __init__(self, model: Runnable | None = None, system: _core.HybridSystem | None = None,
                 values: Mapping[str, float] | None = None) -> None:
        self._model, self._system, self._values = model, system, values

    def write(self, run: _core.Run, path: str, name: str) -> None:
        text = file = description = ""
        notes: list[str] = []
        fixed: list[_core.FixedParameter] = []
        if isinstance(self._model, ModelicaModel):
            model = self._model
            text, file, description, notes = model.text, model.file, model.description, model.notes
            if self._system is not None:  # parameters that are computed from others follow the values of the run
                fixed = (model.with_values(self._values) if self._values else model).fixed_parameters
        if isinstance(self._model, Fmu):
            description, notes = self._model.description, self._model.notes
        if isinstance(self._system, _core.ImportedFmu):
            fixed = self._system.parameters
        compiled = self._system if isinstance(self._system, _core.CompiledModel) else None
        run.write_html(path, name, text, file, description, notes, compiled, fixed)
