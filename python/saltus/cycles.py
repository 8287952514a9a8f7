"""Cycles: periodic solutions, their multipliers and their branches; Lyapunov exponents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .extension import ExtendedModel, Quantity
from .model import Model, ModelicaModel
from .search import SearchError, names_of, run_options, solution_of, with_error
from .solution import Solution, nearest

if TYPE_CHECKING:
    from .arrays import AnyArray, Array, ArrayLike

_END = "the runs of a cycle last a period"


@dataclass(repr=False, eq=False)
class Cycle:
    """A periodic solution."""

    name: str
    #: "converged", "not_converged", "no_derivative", "not_periodic" or "failed".
    status: str
    #: What is wrong, and what to try; "" if nothing is.
    message: str
    period: float
    #: The state: the names of its variables, and their values where the cycle begins.
    variables: list[str]
    start: Array
    #: Largest difference after a period, relative to the size of the variables.
    residual: float
    iterations: int
    #: Derivatives of the state after a period by the state at its begin.
    monodromy: Array
    #: Floquet multipliers, complex, the largest first. Where the period is unknown, the one along the cycle, which is
    #: 1, is left out. A multiplier that a slide or a contact takes away is 0.
    multipliers: AnyArray
    #: How far the multiplier along a cycle of unknown period is from 1.
    trivial_error: float
    #: Of one period; None if there is no cycle.
    solution: Solution | None

    @property
    def ok(self) -> bool:
        return self.status == "converged"

    @property
    def stable(self) -> bool:
        """Whether all multipliers are inside of the unit circle."""
        return self.ok and bool((np.abs(self.multipliers) < 1.0).all())

    @property
    def values(self) -> dict[str, float]:
        """The state where the cycle begins, by name."""
        return dict(zip(self.variables, map(float, self.start)))

    def plot(self, *names: str, **options: Any) -> Any:
        """Draws one period: the arguments are those of ``Solution.plot``."""
        if self.solution is None:
            raise RuntimeError(f"there is no cycle to draw: {self.message}")
        return self.solution.plot(*names, **options)

    def __repr__(self) -> str:
        if not self.ok:
            return f"<Cycle of '{self.name}': {self.status}: {self.message}>"
        shown = ", ".join(f"{m.real:.6g}" if m.imag == 0.0 else f"{m:.6g}" for m in self.multipliers)
        return f"<Cycle of '{self.name}': period {self.period:.9g}, {'stable' if self.stable else 'unstable'}, " \
               f"multipliers {shown or 'none'}>"


@dataclass(frozen=True, eq=False)
class BranchPoint:
    """A cycle of a branch: values of the state where it begins, and the lowest and highest ones on it."""

    parameter: float
    period: float
    start: Array
    lowest: Array
    highest: Array
    multipliers: AnyArray
    stable: bool
    #: Kinds and guards of the events of a period.
    events: str


@dataclass(frozen=True, repr=False, eq=False)
class Bifurcation:
    """Where a branch changes its kind: "fold", "flip", "torus", "grazing", "sliding_onset" or "events_change"."""

    kind: str
    #: At the place, or next to it.
    point: BranchPoint
    #: Number of the last point of the branch before it.
    behind: int
    #: Of the parameter.
    uncertainty: float

    @property
    def parameter(self) -> float:
        return self.point.parameter

    def __repr__(self) -> str:
        return f"<Bifurcation: {self.kind} at {with_error(self.parameter, 100.0 * self.uncertainty)}>"


@dataclass(repr=False, eq=False)
class Branch:
    """Cycles over a parameter, stable or not, and the points at which the branch changes its kind."""

    name: str
    #: "finished", "ended" (it cannot be followed any farther), "too_many_points" or "no_cycle".
    status: str
    message: str
    parameter: str
    #: The state.
    variables: list[str]
    points: list[BranchPoint]
    #: In their order along the branch.
    bifurcations: list[Bifurcation]

    @property
    def ok(self) -> bool:
        """Whether the parameter has gone through its range."""
        return self.status == "finished"

    @property
    def parameters(self) -> Array:
        """The values of the parameter along the branch."""
        return np.array([p.parameter for p in self.points])

    @property
    def periods(self) -> Array:
        return np.array([p.period for p in self.points])

    @property
    def stable(self) -> AnyArray:
        """Which points are stable."""
        return np.array([p.stable for p in self.points], bool)

    def values(self, variable: str | None = None, show: str = "highest") -> Array:
        """A variable of the state (default: the first) along the branch: its "highest" or "lowest" value on the cycle,
        or that at its "start"."""
        if show not in ("highest", "lowest", "start"):
            raise _core.UsageError(f'show is one of "highest", "lowest", "start", not "{show}"')
        chosen = variable if variable is not None else self.variables[0]
        if chosen not in self.variables:
            raise KeyError(f"'{chosen}' is no variable of the state{nearest(chosen, self.variables)}")
        k = self.variables.index(chosen)
        return np.array([getattr(p, show)[k] for p in self.points])

    def plot(self, variable: str | None = None, show: str = "highest", axes: Any = None) -> Any:
        """Draws a variable over the parameter with matplotlib: stable parts are solid, unstable ones dashed,
        bifurcations are points with names. Returns axes."""
        from . import plotting
        return plotting.draw_branch(self, variable, show, axes)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each point, as ``saltus continue --csv`` writes it."""
        import pandas  # type: ignore[import]
        columns: dict[str, Any] = {
            self.parameter: self.parameters, "period": self.periods, "stable": self.stable,
            "largest_multiplier": [float(np.abs(p.multipliers).max(initial=0.0)) for p in self.points]}
        for name in self.variables:
            columns[name] = self.values(name, "start")
            columns.update((f"{show}({name})", self.values(name, show)) for show in ("lowest", "highest"))
        return pandas.DataFrame(columns)

    def __repr__(self) -> str:
        reached = f", {self.parameter} from {self.points[0].parameter:.6g} to {self.points[-1].parameter:.6g}" \
            if self.points else ""
        found = ", ".join(f"{b.kind} at {b.parameter:.6g}" for b in self.bifurcations) or "no bifurcations"
        return f"<Branch of '{self.name}': {self.status}, {len(self.points)} points{reached}, {found}>"


@dataclass(repr=False, eq=False)
class LyapunovExponents:
    """How fast neighbouring solutions separate: ``values``, the largest first, -infinity for directions that slides
    take away, and their standard ``errors``."""

    name: str
    #: "finished", or "no_derivative": the exponents are those up to there.
    status: str
    message: str
    values: Array
    errors: Array
    #: Over which the average was taken.
    time: float
    #: Where the run has come to.
    t_end: float

    @property
    def ok(self) -> bool:
        return self.status == "finished"

    def __repr__(self) -> str:
        shown = ", ".join(f"{with_error(v, e)} ± {e:.2g}" if np.isfinite(v) else "-infinity"
                          for v, e in zip(self.values, self.errors))
        return f"<LyapunovExponents of '{self.name}': {shown or self.message}>"


def _search(model: ExtendedModel, period: Quantity | None, period_guess: float, section: tuple[str, float] | None,
            transient: float, variables: str | Sequence[str], max_iterations: int) -> dict[str, Any]:
    """How a cycle is looked for, as the module takes it."""
    known = isinstance(period, (int, float, np.floating))
    if period is not None and known and not float(period) > 0.0:  # type: ignore[arg-type]
        raise _core.UsageError(f'period must be positive, or an expression such as "2*pi/omega", not {period}')
    if section is not None and (not isinstance(section, (tuple, list)) or len(section) != 2):
        raise _core.UsageError('section must be a variable and its value: ("v", 0.0)')
    return {
        "period": float(period) if known else 0.0,  # type: ignore[arg-type]
        "period_of": "" if period is None or known else model.value(period),
        "period_guess": float(period_guess),
        "section": (model.variable(section[0]), float(section[1])) if section is not None else ("", 0.0),
        "transient": float(transient), "variables": names_of(variables), "max_iterations": int(max_iterations)}


def find_cycle(model: Model | ModelicaModel, *, period: Quantity | None = None, period_guess: float = 0.0,
               section: tuple[str, float] | None = None, transient: float = 0.0, variables: str | Sequence[str] = (),
               max_iterations: int = 30, values: Mapping[str, ArrayLike] | None = None, check: bool = True,
               **options: Any) -> Cycle:
    """Finds a periodic solution near the start values of a model, stable or not, and its Floquet multipliers.

    period        of a model that is forced: a number, or an expression of parameters ("2*pi/omega")
    period_guess  where the period is unknown: near this value
    section       where a cycle of unknown period begins: a variable and its value, ("y", 0.0)
    transient     run the model so long first; with a section, the last two upward passages give the guess
    variables     that make up the state; default: all that are integrated, and discrete Reals
    values        parameters and start values, by name
    check         raise SearchError where there is no cycle; if false look at ``status``

    Further options are those of ``simulate``; rtol is 1e-10, atol a hundredth of it, and ``start`` is the phase at
    which the cycle begins.
    """
    extended = ExtendedModel(model, values, options.get("start"), "cycle")
    chosen = run_options(model, options, 1e-10, _END)
    search = _search(extended, period, period_guess, section, transient, variables, max_iterations)
    found = _core.find_cycle(_core.CompiledModel(extended.model), search, chosen)
    result = Cycle(name=extended.model.name, solution=solution_of(found.pop("run"), extended), **found)
    if check and not result.ok:
        raise SearchError(result)
    return result


def follow_cycle(model: Model | ModelicaModel, over: Mapping[str, tuple[float, float]], *,
                 period: Quantity | None = None, period_guess: float = 0.0, section: tuple[str, float] | None = None,
                 transient: float = 0.0, variables: str | Sequence[str] = (), max_iterations: int = 30,
                 step: float = 0.02, smallest_step: float = 1e-6, max_points: int = 1000,
                 values: Mapping[str, ArrayLike] | None = None, check: bool = True, **options: Any) -> Branch:
    """Follows a cycle while a parameter changes, through folds, and locates the places at which its kind changes.

    over      the parameter, its value at the first cycle, and where the branch ends: {"r": (1.5, 6)}
    step, smallest_step   steps along the branch, as a share of it: the parameter counts by its range, variables by
              their size on the cycle
    check     raise SearchError if there is no first cycle or max_points were not enough; a branch that cannot be
              followed any farther has the status "ended"

    The other arguments are those of ``find_cycle``, which finds the first cycle. ``period`` may follow the parameter.
    """
    if not isinstance(over, Mapping) or len(over) != 1:
        raise _core.UsageError('over must name one parameter and its range: {"r": (0.5, 3)}')
    (parameter, ends), = over.items()
    if np.shape(ends) != (2,):
        raise _core.UsageError(f"over: '{parameter}' must have two values, at the first cycle and at the end: (0.5, 3)")
    extended = ExtendedModel(model, values, options.get("start"), "cycle")
    chosen = run_options(model, options, 1e-10, _END)
    search = _search(extended, period, period_guess, section, transient, variables, max_iterations)
    found = _core.follow_cycle(_core.CompiledModel(extended.model), search, parameter, float(ends[0]), float(ends[1]),
                               float(step), float(smallest_step), int(max_points), chosen)
    points = [BranchPoint(*row) for row in found.pop("points")]
    bifurcations = [Bifurcation(kind, BranchPoint(*row), behind, uncertainty)
                    for kind, row, behind, uncertainty in found.pop("bifurcations")]
    result = Branch(name=extended.model.name, points=points, bifurcations=bifurcations, **found)
    if check and result.status not in ("finished", "ended"):
        raise SearchError(result)
    return result


def lyapunov_exponents(model: Model | ModelicaModel, *, interval: float = 1.0, transient: float = 0.0,
                       intervals: int = 1000, variables: str | Sequence[str] = (),
                       values: Mapping[str, ArrayLike] | None = None, check: bool = True,
                       **options: Any) -> LyapunovExponents:
    """Averages how fast neighbouring solutions separate, through all events. A positive exponent is chaos.

    interval   after which differences are made orthogonal again
    transient  run the model so long first
    intervals  over which the exponents are averaged
    variables  that make up the state; default: all that are integrated, and discrete Reals
    check      raise SearchError where the run has no derivative, or has ended; if false look at ``status``

    Further options are those of ``simulate``; rtol is 1e-9 and atol a hundredth of it.
    """
    extended = ExtendedModel(model, values, options.get("start"), "lyapunov")
    chosen = run_options(model, options, 1e-9, "the average ends after so many intervals")
    found = _core.lyapunov_exponents(_core.CompiledModel(extended.model), float(interval), float(transient),
                                     int(intervals), names_of(variables), chosen)
    result = LyapunovExponents(name=extended.model.name, **found)
    if check and not result.ok:
        raise SearchError(result)
    return result
