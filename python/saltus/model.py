"""Models: recorded in Python, or read from Modelica text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, cast

from . import _core
from .fmu import Fmu

if TYPE_CHECKING:
    from .arrays import ArrayLike


class MissingFile(_core.UsageError, FileNotFoundError):
    """A file that is not there: an error of use, and Python's own."""

    def __str__(self) -> str:
        return str(self.args[0])


def settings(values: Mapping[str, ArrayLike] | None) -> dict[str, float]:
    """Values by the names of numbers: ``{"k": [4, 5]}`` is ``{"k[1]": 4.0, "k[2]": 5.0}``. How names may be spelled is
    known where they are looked up."""
    if values is not None and not isinstance(values, Mapping):
        raise TypeError(f"values are given by name, for example {{\"e\": 0.8}}, not as {type(values).__name__}")
    given: dict[str, float] = {}
    for name, value in (values or {}).items():
        if isinstance(value, (list, tuple)) or bool(getattr(value, "shape", None)):
            for place, element in _elements(value):
                given[f"{_core.Names.base(name)}[{place}]"] = element
        else:
            try:
                given[name] = float(cast(Any, value))
            except (TypeError, ValueError):
                raise TypeError(f"the value of '{name}' is a number, or a list of numbers; got {value!r}") from None
    return given


def _elements(values: Any) -> Iterator[tuple[str, float]]:
    """The elements of nested lists or an array, with their subscripts: "2,1"."""
    for k, value in enumerate(values, 1):
        if isinstance(value, (list, tuple)) or bool(getattr(value, "shape", None)):
            for place, element in _elements(value):
                yield f"{k},{place}", element
        else:
            yield str(k), float(value)


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

    def check(self, **options: Any) -> dict[str, Any]:
        """The modes that a run enters, and how it was in each: ``saltus.check(model, …)``."""
        from .reasons import check
        return check(self, **options)

    def export_fmu(self, path: str | os.PathLike[str], *, fmi: int = 2, kind: str = "auto", start: float | None = None,
                   stop: float | None = None, rtol: float | None = None) -> None:
        """Writes the model as an FMU for other simulators, with the solver inside.

        fmi    version of the standard: 2 or 3
        kind   "cs": co-simulation, the FMU solves; "me": model exchange, the importer solves; "both"; "auto":
               both where the model allows model exchange, else "cs"
        start, stop, rtol   the default experiment of the FMU
        """
        _core.export_fmu(_core.ModelSource(self), {"start": start, "stop": stop, "rtol": rtol}, os.fspath(path), fmi,
                         kind)

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

    def __init__(self, text: str, file: str, name: str = "", values: Mapping[str, ArrayLike] | None = None,
                 libraries: Sequence[str] = (), start: float | None = None) -> None:
        self.text, self.file = text, file
        self._class, self._values, self._libraries = name, settings(values), list(libraries)
        #: The time for which it was read, if initial equations depend on the time at which runs begin; else None.
        self.start: float | None
        #: Parameters that no run can change: those that decide sizes and branches, final ones, and computed ones.
        self.fixed_parameters: list[_core.FixedParameter]
        (self.core, self.experiment, self.notes, self.description, self.start, self.fixed_parameters,
         self._source) = _core.load_modelica(text, file, name, list(self._values.items()), self._libraries, start)

    @property
    def name(self) -> str:
        return self.core.name

    def compile(self) -> _core.CompiledModel:
        """The model as it is now."""
        return _core.CompiledModel(self.core)

    def with_values(self, values: Mapping[str, ArrayLike]) -> ModelicaModel:
        """The same model, read again with other values: also of parameters that decide sizes and branches."""
        return ModelicaModel(self.text, self.file, self._class, {**self._values, **values}, self._libraries, self.start)

    def check(self, **options: Any) -> dict[str, Any]:
        """The modes that a run enters, and how it was in each: ``saltus.check(model, …)``."""
        from .reasons import check
        return check(self, **options)

    def export_fmu(self, path: str | os.PathLike[str], *, fmi: int = 2, kind: str = "auto", start: float | None = None,
                   stop: float | None = None, rtol: float | None = None) -> None:
        """Writes the model as an FMU, as ``Model.export_fmu`` does; ``start``, ``stop`` and ``rtol`` replace what the
        experiment annotation says."""
        _core.export_fmu(self.for_start(start)._source, {"start": start, "stop": stop, "rtol": rtol}, os.fspath(path),
                         fmi, kind)

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
#: What can be run. An FMU has no equations that could be extended or differentiated.
Runnable = Union[AnyModel, Fmu]


def load(path: str | os.PathLike[str], name: str = "", *, values: Mapping[str, ArrayLike] | None = None,
         libraries: Sequence[str | os.PathLike[str]] = (), allow_code: bool = False) -> ModelicaModel | Any:
    """Reads a Modelica file. ``name`` chooses one of its classes (default: the last model); ``values`` replace what the
    file says of parameters and start values; ``libraries`` are folders with packages that the model uses.

    A file whose name ends with ``.fmu`` is an FMU of another simulator, and becomes an ``Fmu``: native code, which runs
    with your rights, and only if ``allow_code`` or SALTUS_ALLOW_FOREIGN_CODE=1 in the environment says so."""
    if os.fspath(path).endswith(".fmu"):
        if name or libraries:
            raise _core.UsageError("name and libraries are for Modelica files; an FMU holds one model and all it needs")
        return Fmu(os.fspath(path), settings(values), allow_code)
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
    except FileNotFoundError:
        raise MissingFile(f"there is no file '{os.fspath(path)}'") from None
    except OSError as error:
        raise _core.UsageError(f"the file '{os.fspath(path)}' cannot be read: {error.strerror}") from None
    return ModelicaModel(text, os.fspath(path), name, values, [os.fspath(p) for p in libraries])


def loads(text: str, name: str = "", *, values: Mapping[str, ArrayLike] | None = None,
          libraries: Sequence[str | os.PathLike[str]] = ()) -> ModelicaModel:
    """Reads Modelica text."""
    return ModelicaModel(text, "<text>", name, values, [os.fspath(p) for p in libraries])
