"""linearise and equilibria: the linear systems that a model is near points of its modes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core
from .model import AnyModel
from .run import Prepared
from .search import names_of

if TYPE_CHECKING:
    from .arrays import AnyArray, Array, ArrayLike


@dataclass(repr=False, eq=False)
class Linearisation:
    """d/dt dz = A dz + B du and dy = C dz + D du near a point: ``A``, ``B``, ``C``, ``D`` are arrays.

        lin = sl.linearise(model, at=2.0, inputs="u", outputs="w")
        lin.A, lin.eigenvalues, lin.to_control()
    """

    name: str
    t: float
    mode: str
    states: list[str]
    inputs: list[str]
    outputs: list[str]
    A: Array
    B: Array
    C: Array
    D: Array
    #: Values of the states, their derivatives, and values of inputs and outputs at the point.
    x: Array
    slopes: Array
    u: Array
    y: Array
    #: Complex, the largest real part first (of a cycle the largest size), and of each the shares of the states in it.
    eigenvalues: AnyArray
    shares: list[dict[str, float]]
    #: "stable", "unstable" or "undecided", while the mode lasts.
    stability: str
    #: Largest estimated error of an entry, relative to the largest entry of its matrix.
    error: float
    #: Of a cycle: A maps deviations at its begin to those after this time. 0 otherwise.
    period: float
    #: Why there is no linearisation; "" if there is nothing to say.
    why: str

    @property
    def ok(self) -> bool:
        return not self.why

    def to_control(self) -> Any:
        """A ``StateSpace`` of the package control, with the names of states, inputs and outputs."""
        control: Any = importlib.import_module("control")
        if self.period:
            raise RuntimeError("the map of a cycle has no inputs and outputs, which a StateSpace needs")
        return control.ss(self.A, self.B, self.C, self.D, states=self.states, inputs=self.inputs,
                          outputs=self.outputs)

    def __repr__(self) -> str:
        if not self.ok:
            return f"<Linearisation of '{self.name}': {self.why}>"
        shown = ", ".join(f"{e.real:.6g}" if e.imag == 0.0 else f"{e:.6g}" for e in self.eigenvalues[:4])
        return f"<Linearisation of '{self.name}' at t = {self.t:.6g}: {len(self.states)} states, {self.stability}, " \
               f"eigenvalues {shown or 'none'}{', …' if len(self.eigenvalues) > 4 else ''}>"


@dataclass(repr=False, eq=False)
class Equilibrium:
    """A point of a mode at which its solution stands still."""

    name: str
    found: bool
    #: Why none was found, or what to think of it.
    message: str
    #: On a surface along which the solution slides.
    pseudo: bool
    #: It lies where its mode holds. Otherwise ``violated`` names the relations that do not hold there.
    admissible: bool
    violated: list[str]
    values: dict[str, float]
    linearisation: Linearisation

    def __repr__(self) -> str:
        if not self.found:
            return f"<no equilibrium of '{self.name}' in mode '{self.linearisation.mode}': {self.message}>"
        kind = "pseudo-equilibrium" if self.pseudo else "equilibrium"
        return f"<{kind} of '{self.name}', {self.linearisation.stability}" \
               f"{'' if self.admissible else ', outside of its mode'}>"


def _prepared(model: AnyModel, values: Mapping[str, ArrayLike] | None, at: float | None,
              options: dict[str, Any]) -> Prepared:
    if at is not None:
        if options.get("stop") is not None:
            raise TypeError("give at, the time of the point, or stop, the end of the run, not both")
        options = {**options, "stop": at}
    tight = {"rtol": 1e-9, "atol": 1e-11, **{name: value for name, value in options.items() if value is not None}}
    return Prepared(model, values, tight)


def linearise(model: AnyModel, *, at: float | None = None, inputs: str | Sequence[str] = (),
              outputs: str | Sequence[str] = (), values: Mapping[str, ArrayLike] | None = None,
              period: float | None = None, period_guess: float | None = None, **options: Any) -> Linearisation:
    """The linear system that a model is near the point of a run, in its mode: on its constraints, hidden ones too, and
    on the surfaces along which it slides.

    at       the time of the point; default: the end of the experiment
    inputs   inputs or parameters; default: the inputs of the model
    outputs  variables; default: the outputs of the model, or all that are integrated
    values   parameters and start values, by name
    period, period_guess   instead of a point: the map of a cycle whose period is this, or unknown and near this

    Further options are those of ``simulate``; rtol is 1e-9.
    """
    prepared = _prepared(model, values, at, options)
    if period is not None or period_guess is not None:
        found = _core.linearise_cycle(prepared.compiled, float(period or 0.0), float(period_guess or 0.0),
                                      prepared.options)
    else:
        found = _core.linearise(prepared.compiled, prepared.options, names_of(inputs), names_of(outputs))
    return Linearisation(name=prepared.system.name, **found)


def equilibria(model: AnyModel, *, at: float | None = None, inputs: str | Sequence[str] = (),
               outputs: str | Sequence[str] = (), values: Mapping[str, ArrayLike] | None = None,
               **options: Any) -> list[Equilibrium]:
    """The equilibrium of each mode that a run enters, near where it enters it; with ``at`` that of the mode at that
    time. Modes without one are in the list, with ``found`` false. Arguments are those of ``linearise``."""
    prepared = _prepared(model, values, at, options)
    found = _core.find_equilibria(prepared.compiled, prepared.options, names_of(inputs), names_of(outputs), at is None)
    name = prepared.system.name
    result: list[Equilibrium] = []
    for e in found:
        values_of: dict[str, Any] = {**e, "linearisation": Linearisation(name=name, **e["linearisation"])}
        result.append(Equilibrium(name=name, **values_of))
    return result
