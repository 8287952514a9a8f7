"""What a report shows beside the run: where its model comes from, its parameters, the structure of its equations."""

from __future__ import annotations

from collections.abc import Mapping

from . import _core
from .model import AnyModel, ModelicaModel


class Report:
    """Writes the page of ``saltus run --html``. ``compiled`` is the model with the values of the run; without it the
    page has neither parameters nor structure."""

    def __init__(self, model: AnyModel | None = None, compiled: _core.CompiledModel | None = None,
                 values: Mapping[str, float] | None = None) -> None:
        self._model, self._compiled, self._values = model, compiled, values

    def write(self, run: _core.Run, path: str, name: str) -> None:
        text = file = description = ""
        notes: list[str] = []
        fixed: list[_core.FixedParameter] = []
        if isinstance(self._model, ModelicaModel):
            model = self._model
            text, file, description, notes = model.text, model.file, model.description, model.notes
            if self._compiled is not None:  # parameters that are computed from others follow the values of the run
                fixed = (model.with_values(self._values) if self._values else model).fixed_parameters
        run.write_html(path, name, text, file, description, notes, self._compiled, fixed)
