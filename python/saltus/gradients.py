"""Gradients of a number that a run gives, by any number of parameters, at a cost that does not grow with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

from . import _core
from .expression_text import number, parse
from .model import AnyModel, ModelicaModel
from .run import Prepared, checked
from .search import SearchError
from .solution import Solution, nearest

if TYPE_CHECKING:
    from .arrays import Array

#: A variable by name, an expression as text (``"x**2 + v**2"``), or an expression of the model.
Integrand = Union[str, _core.Expr]


@dataclass(frozen=True)
class _Term:
    kind: str
    weight: float = 1.0
    value: Integrand = ""
    event: str = ""
    number: int = 0

    def __str__(self) -> str:
        if self.kind == "event_time":
            inside = f"{self.event!r}, {self.number}"
        else:
            inside = ", ".join([repr(self.event)] * bool(self.event) + [str(self.value)])
        return ("" if self.weight == 1.0 else f"{self.weight:g}*") + f"{self.kind}({inside})"


class Functional:
    """One number that a run gives: a sum of ``final_value``, ``integral``, ``event_time`` and ``sum_over_events``.

    Functionals are added, subtracted, and multiplied by numbers.
    """

    def __init__(self, terms: Sequence[_Term] = ()) -> None:
        self._terms = tuple(terms)

    def __add__(self, other: Functional) -> Functional:
        return Functional(self._terms + other._terms) if isinstance(other, Functional) else NotImplemented

    def __sub__(self, other: Functional) -> Functional:
        return self + -1.0 * other if isinstance(other, Functional) else NotImplemented

    def __mul__(self, factor: float) -> Functional:
        if isinstance(factor, Functional):
            return NotImplemented
        return Functional([_Term(t.kind, float(factor) * t.weight, t.value, t.event, t.number) for t in self._terms])

    __rmul__ = __mul__

    def __neg__(self) -> Functional:
        return self * -1.0

    def __repr__(self) -> str:
        return f"<Functional {' + '.join(map(str, self._terms)) or '0'}>"

    def _resolved(self, model: AnyModel) -> list[tuple[str, float, Integrand, str, int]]:
        """The terms, with expressions in place of texts that are no names."""
        symbols = model.core if isinstance(model, ModelicaModel) else model
        return [(t.kind, t.weight, _resolve(symbols, t.value), t.event, t.number) for t in self._terms]


def _resolve(model: _core.Model | _core.CompiledModel, value: Integrand) -> Integrand:
    if not isinstance(value, str) or not value:
        return value
    if isinstance(model, _core.Model):
        return number(parse(model, value))
    if value not in model.variables:
        raise _core.UsageError(f"'{value}' is no variable of the compiled model; expressions as text need the model "
                               "that was compiled")
    return value


def final_value(value: Integrand) -> Functional:
    """The value at the end of the run, which moves with the parameters where the model ends the run."""
    return Functional([_Term("final_value", value=value)])


def integral(value: Integrand) -> Functional:
    """The integral over the run."""
    return Functional([_Term("integral", value=value)])


def event_time(event: str, number: int = 1) -> Functional:
    """The time of an event: the ``number``-th (from 1) at which a guard (``"x > 1"``) fired or a clause (``"when x >
    1"``) acted, as ``solution.events`` names them."""
    return Functional([_Term("event_time", event=event, number=int(number))])


def sum_over_events(event: str, value: Integrand) -> Functional:
    """The sum of the values just before all events of a guard or clause."""
    return Functional([_Term("sum_over_events", value=value, event=event)])


@dataclass(repr=False, eq=False)
class FunctionalGradient:
    """A number that a run gives (``value``) and its ``derivatives``, one for each of the ``parameters``."""

    value: float
    parameters: list[str]
    derivatives: Array
    #: Why there are no derivatives; "" if there are.
    why: str
    #: Of the integration backwards.
    steps: int
    #: In how many pieces the run was recorded: more than one where its record needs more than ``memory``.
    pieces: int
    #: The run; of one in several pieces, the last of them.
    solution: Solution

    @property
    def ok(self) -> bool:
        """Whether the run has ended well and has derivatives."""
        return not self.why and self.solution.ok

    @property
    def status(self) -> str:
        return "no_derivative" if self.why else str(self.solution.status["code"])

    @property
    def message(self) -> str:
        return self.why

    def by(self, parameter: str) -> float:
        """One derivative: ``g.by("mu")``, or ``g["mu"]``."""
        if parameter not in self.parameters:
            raise KeyError(f"there is no derivative by '{parameter}'{nearest(parameter, self.parameters)}")
        if self.why:
            raise _core.UsageError(f"there are no derivatives: {self.why}")
        return float(self.derivatives[self.parameters.index(parameter)])

    __getitem__ = by

    def __repr__(self) -> str:
        found = self.why or ", ".join(f"{name}: {value:.6g}" for name, value in zip(self.parameters, self.derivatives))
        return f"<FunctionalGradient of '{self.solution.name}': value {self.value:.9g}; {found}>"


def gradient(model: AnyModel, functional: Functional, parameters: Sequence[str], *,
             values: Mapping[str, float] | None = None, check: bool = True, memory: int = 256 << 20,
             **options: Any) -> FunctionalGradient:
    """Runs a model and differentiates a number that the run gives by parameters (``"mu"``) and start values
    (``"x.start"``), by the adjoint: a thousand parameters cost as much as one.

    functional  a sum of final_value(…), integral(…), event_time(…) and sum_over_events(…)
    values      parameters and start values of the run, by name
    check       raise RunError where the run fails, and SearchError where it has no derivative; if false look at ``why``
    memory      bytes for the record of the run, roughly: a run that needs more is recorded in pieces, which costs one
                more run

    Further options are those of ``simulate``. Raises UsageError for names by which a run cannot be differentiated, for
    expressions with relations, and for events that the run does not have.
    """
    if isinstance(parameters, str):
        raise TypeError(f"parameters must be a list of names, for example [{parameters!r}]")
    if not isinstance(functional, Functional):
        raise TypeError("a functional is a sum of final_value(…), integral(…), event_time(…) and sum_over_events(…), "
                        f"not {type(functional).__name__}")
    if memory < 0:
        raise _core.UsageError(f"memory is a number of bytes and cannot be {memory}")
    prepared = Prepared(model, values, options)
    found = _core.gradient(prepared.compiled, functional._resolved(model), list(parameters), prepared.options,
                           int(memory))
    solution = checked(prepared.solution(found.pop("run")), check)
    result = FunctionalGradient(**found, solution=solution)
    if check and not result.ok:
        raise SearchError(result)
    return result
