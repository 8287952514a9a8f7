"""Models: recorded in Python, or read from Modelica text."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _core


def settings(values: Mapping[str, float] | None, model: AnyModel) -> dict[str, float]:
    """Values by the names that a model has: a start value is set by the name of its variable, and may be called
    ``"h.start"`` as well, as fits and sensitivities call it."""
    given = {name: float(value) for name, value in (values or {}).items()}
    if not any(name.endswith(".start") for name in given):
        return given
    core = model.core if isinstance(model, ModelicaModel) else model
    variables = set(core.variables if isinstance(core, _core.CompiledModel) else core.variable_names)
    return {name[:-6] if name.endswith(".start") and name not in variables and name[:-6] in variables else name: value
            for name, value in given.items()}


class Model(_core.Model):
    """Variables, equations and events, written down; ``simulate`` compiles and runs it.

    ``load`` and ``loads`` read a model from Modelica text instead.
    """

    def __init__(self, name: str = "model") -> None:
        super().__init__(name)

    @property
    def experiment(self) -> dict[str, float | None]:
        """A model that is recorded says nothing about its runs."""
        return {}

    def compile(self) -> _core.CompiledModel:
        """The model as it is now. Later changes of the model do not change it."""
        return _core.CompiledModel(self)

    def __reduce__(self) -> Any:
        try:
            return _from_text, (self.text(),)
        except _core.ModelError as error:
            raise TypeError(f"the model '{self.name}' cannot be pickled, because its text cannot be written ({error}); "
                            "build it where it is needed") from None

    def __repr__(self) -> str:
        return f"<saltus.Model '{self.name}'>"


def _from_text(text: str) -> Model:
    """The model that Model.text has written."""
    model = Model.__new__(Model)
    _core.Model.__init__(model, _core.load_modelica(text, "<pickled>", "", [], [])[0])
    return model


class ModelicaModel:
    """A model that was read from a text. It pickles as its text, so that other processes can be handed one."""

    def __init__(self, text: str, file: str, name: str = "", values: Mapping[str, float] | None = None,
                 libraries: Sequence[str] = (), start: float | None = None) -> None:
        self.text, self.file = text, file
        self._class, self._values, self._libraries = name, dict(values or {}), list(libraries)
        #: The time for which it was read, if initial equations depend on the time at which runs begin; else None.
        self.start: float | None
        #: Parameters that no run can change: those that decide sizes and branches, final ones, and computed ones.
        self.fixed_parameters: list[_core.FixedParameter]
        (self.core, self.experiment, self.notes, self.description, self.start,
         self.fixed_parameters) = _core.load_modelica(text, file, name, list(self._values.items()), self._libraries,
                                                      start)

    @property
    def name(self) -> str:
        return self.core.name

    def compile(self) -> _core.CompiledModel:
        """The model as it is now."""
        return _core.CompiledModel(self.core)

    def with_values(self, values: Mapping[str, float]) -> ModelicaModel:
        """The same model, read again with other values: also of parameters that decide sizes and branches."""
        return ModelicaModel(self.text, self.file, self._class, {**self._values, **values}, self._libraries, self.start)

    def for_start(self, start: float | None) -> ModelicaModel:
        """The same model for runs that begin at this time: read again where its initial equations depend on it."""
        if start is None or self.start is None or self.start == start:
            return self
        return ModelicaModel(self.text, self.file, self._class, self._values, self._libraries, float(start))

    def __getitem__(self, name: str) -> _core.Expr:
        return self.core[name]

    def __reduce__(self) -> Any:
        return ModelicaModel, (self.text, self.file, self._class, self._values, self._libraries, self.start)

    def __repr__(self) -> str:
        return f"<saltus model '{self.name}' from {self.file}>"


AnyModel = Union[Model, ModelicaModel, _core.CompiledModel]


def load(path: str | os.PathLike[str], name: str = "", *, values: Mapping[str, float] | None = None,
         libraries: Sequence[str | os.PathLike[str]] = ()) -> ModelicaModel:
    """Reads a Modelica file. ``name`` chooses one of its classes (default: the last model); ``values`` replace what the
    file says of parameters and start values; ``libraries`` are folders with packages that the model uses."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
    except OSError as error:
        raise _core.UsageError(f"the file '{os.fspath(path)}' cannot be read: {error.strerror}") from None
    return ModelicaModel(text, os.fspath(path), name, values, [os.fspath(p) for p in libraries])


def loads(text: str, name: str = "", *, values: Mapping[str, float] | None = None,
          libraries: Sequence[str | os.PathLike[str]] = ()) -> ModelicaModel:
    """Reads Modelica text."""
    return ModelicaModel(text, "<text>", name, values, [os.fspath(p) for p in libraries])
