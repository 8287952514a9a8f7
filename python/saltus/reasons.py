"""why: what an event depends on; check: the modes of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core
from .model import AnyModel
from .run import Prepared

if TYPE_CHECKING:
    from .arrays import ArrayLike


class Reading(NamedTuple):
    """A variable or parameter that a guard reads, at the event, and its derivative by time before it."""
    name: str
    value: float
    slope: float
    parameter: bool


class Cause(NamedTuple):
    """An earlier event, and by how much the later one would be later for each unit of time that this one is later."""
    event: int
    t: float
    text: str
    derivative: float


class Influence(NamedTuple):
    """The derivative of the event time by a parameter or start value, and the change of the time for 1 % more."""
    name: str
    value: float
    derivative: float
    per_percent: float
    by_differences: bool


class NearMiss(NamedTuple):
    """A guard that came near to zero and turned round: its distance, by its largest distance in the run."""
    guard: str
    t: float
    distance: float


class Prevention(NamedTuple):
    """The smallest change of one parameter that lets an event not happen."""
    name: str
    value: float
    to: float


@dataclass(frozen=True, repr=False, eq=False)
class EventReason:
    """Why an event happens, as ``saltus why`` prints it.

        reason = sl.simulate(model).why(3)
        reason.parameters[0]     # what moves it most
    """

    event: int
    t: float
    text: str
    reads: list[Reading]
    earlier: list[Cause]
    parameters: list[Influence]
    prevention: Prevention | None
    near_misses: list[NearMiss]
    notes: list[str]

    def __str__(self) -> str:
        lines = [f"event {self.event} at t = {self.t:.12g}: {self.text}"]
        lines += [f"  reads {r.name} = {r.value:.6g}" + ("" if r.parameter else f", derivative {r.slope:.6g}")
                  for r in self.reads]
        lines += [f"  {c.derivative:+.4g} per delay of event {c.event} at t = {c.t:.9g}: {c.text}"
                  for c in self.earlier]
        lines += [f"  {p.per_percent:+.4g} for 1 % more of {p.name} = {p.value:.6g}" for p in self.parameters]
        if self.prevention:
            lines.append(f"  does not happen with {self.prevention.name} = {self.prevention.to:.6g}")
        lines += [f"  near miss: {m.guard} at t = {m.t:.9g}" for m in self.near_misses]
        return "\n".join(lines + [f"  note: {note}" for note in self.notes])

    def __repr__(self) -> str:
        return f"<EventReason: event {self.event} at t = {self.t:.6g}, {len(self.earlier)} earlier events, " \
               f"{len(self.parameters)} parameters>"


def explain(compiled: _core.CompiledModel, options: dict[str, Any], event: int, causes: int, largest_change: float,
            near: float) -> EventReason:
    found = _core.explain_event(compiled, event, options, causes, largest_change, near)
    prevention = found["prevention"]
    return EventReason(
        event=found["event"], t=found["t"], text=found["text"], reads=[Reading(*r) for r in found["reads"]],
        earlier=[Cause(*c) for c in found["earlier"]], parameters=[Influence(*p) for p in found["parameters"]],
        prevention=None if prevention is None else Prevention(*prevention),
        near_misses=[NearMiss(*m) for m in found["near_misses"]], notes=found["notes"])


def why(model: AnyModel, event: int, *, values: Mapping[str, ArrayLike] | None = None, causes: int = 8,
        largest_change: float = 1.0, near: float = 0.01, **options: Any) -> EventReason:
    """Why an event of a run happens, and what moves it: runs the model several times.

    event           its number, from 1, as a run prints it
    causes          how many earlier events are looked at
    largest_change  of a parameter, by its value, to prevent the event
    near            distance of near misses

    Further options are those of ``simulate``. ``Solution.why`` asks the same of a run.
    """
    prepared = Prepared(model, values, options)
    return explain(prepared.compiled, prepared.options, event, causes, largest_change, near)


def check(model: AnyModel, *, values: Mapping[str, ArrayLike] | None = None, most: int = 100,
          **options: Any) -> dict[str, Any]:
    """The modes that a run enters: structure, index and characteristic values, and how often, how long and with how
    many steps the run was in each. A dict with ``modes``, a list of dicts, and ``status``. Options are those of
    ``simulate``."""
    prepared = Prepared(model, values, options)
    return _core.analyse_modes(prepared.compiled, prepared.options, most)
