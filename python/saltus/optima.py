"""Optimal controls, parameters and start values, through all events of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from .extension import ExtendedModel, Quantity
from .gradients import Functional, final_value
from .model import Model, ModelicaModel
from .search import SearchError, run_options, solution_of
from .solution import Solution, nearest

if TYPE_CHECKING:
    from .arrays import Array, ArrayLike

#: A value, or (lower, upper), in which None stands for no bound.
Bounds = Union[float, "tuple[float | None, float | None]"]
#: None (the value in the model), a guess, or (guess, lower, upper), in which None stands for no bound.
Wanted = Union[None, float, "tuple[float | None, float | None, float | None]"]


@dataclass
class Control:
    """An input of the model that is free over the whole run.

    ``curve`` is "constant" (one value an interval) or "linear" (lines between values at the nodes). With
    ``free_lengths`` the lengths of the intervals are free, too, and with ``fixed_values`` only they are. ``guess`` is
    one value, or one for each interval (linear: for each node).
    """

    intervals: int
    lower: float = -np.inf
    upper: float = np.inf
    guess: ArrayLike | None = None
    curve: str = "constant"
    free_lengths: bool = False
    fixed_values: bool = False
    #: A guess of free lengths; None: equal ones.
    lengths: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.curve not in ("constant", "linear"):
            raise _core.UsageError(f"the curve of a control is 'constant' or 'linear', not {self.curve!r}")


@dataclass(frozen=True)
class FoundValue:
    """What was found for a parameter, a start value, a value of a control or a length."""

    name: str
    value: float
    lower: float
    upper: float
    at_bound: bool


@dataclass(frozen=True, eq=False)
class FoundControl:
    """A control: its intervals have one border more than there are of them."""

    input: str
    curve: str
    times: Array
    values: Array

    @property
    def table(self) -> tuple[Array, Array]:
        """(times, values) for ``simulate(model, inputs={"u": control.table})``; a jump has two rows."""
        if self.curve == "linear":
            return self.times, self.values
        return np.repeat(self.times, 2)[1:-1], np.repeat(self.values, 2)


@dataclass(frozen=True)
class FoundCondition:
    """A condition at the result. ``t`` is when a path condition has its ``value``, and NaN for others; ``multiplier``
    is how fast the objective changes if the bound that holds is moved."""

    label: str
    value: float
    lower: float
    upper: float
    violation: float
    t: float
    multiplier: float


@dataclass(repr=False, eq=False)
class Optimum:
    """What was found. ``optimum["mu"]`` is a value, ``optimum.inputs`` are the controls as ``simulate`` takes them."""

    name: str
    #: "optimal", "optimal_at_kink", "infeasible", "dead", "not_converged", "interrupted" or "failed".
    status: str
    #: What holds the optimum, or what is wrong and what to try.
    message: str
    notes: list[str]
    objective: float
    #: Sum over all conditions, in units of their nominal values.
    violation: float
    values: list[FoundValue]
    controls: dict[str, FoundControl]
    #: The end of the run.
    stop: float
    conditions: list[FoundCondition]
    #: A structured array: runs, objective, violation, radius, events, step.
    history: Array
    #: (status, text, objective, violation) for each start.
    tries: list[tuple[str, str, float, float]]
    iterations: int
    runs: int
    #: Runs that were made beside points without derivatives.
    nudged: int
    #: At the result; None if the model could not be run.
    solution: Solution | None = field(default=None)

    @property
    def ok(self) -> bool:
        """True for "optimal" and "optimal_at_kink"."""
        return self.status in ("optimal", "optimal_at_kink")

    @property
    def inputs(self) -> dict[str, tuple[Array, Array]]:
        """The controls as ``simulate(model, inputs=optimum.inputs, stop=optimum.stop)`` takes them."""
        return {name: control.table for name, control in self.controls.items()}

    def __getitem__(self, name: str) -> float:
        found = {v.name: v.value for v in self.values}
        if name not in found:
            raise KeyError(f"'{name}' was not free{nearest(name, list(found))}")
        return found[name]

    def __repr__(self) -> str:
        return (f"<Optimum of '{self.name}': {self.status}, objective {self.objective:.9g}, violation "
                f"{self.violation:.1e}, {self.runs} runs>")

    def __str__(self) -> str:
        lines = [f"{self.status} after {self.iterations} iterations and {self.runs} runs"]
        lines += [self.message] if self.message else []
        lines += [f"note: {note}" for note in self.notes]
        lines += ["", f"  objective  {self.objective:.10g}", f"  violation  {self.violation:.1e}"]
        inside = tuple(f"{name}[" for name in self.controls)
        lines += [f"  {v.name}  {v.value:.10g}" + ("  at its bound" if v.at_bound else "")
                  for v in self.values if not v.name.startswith(inside)]
        return "\n".join(lines)


def _bounds(name: object, given: Any) -> tuple[float, float]:
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise _core.UsageError(f"'{name}' needs a value, or (lower, upper)")
        return (-np.inf if given[0] is None else float(given[0]), np.inf if given[1] is None else float(given[1]))
    return float(given), float(given)


def _wanted(name: str, given: Any) -> tuple[str, float, float, float]:
    parts = given if isinstance(given, (tuple, list)) else (given, None, None)
    if len(parts) != 3:
        raise _core.UsageError(f"'{name}' must have a guess, or (guess, lower, upper)")
    guess, lower, upper = (default if part is None else float(part)
                           for part, default in zip(parts, (np.nan, -np.inf, np.inf)))
    return name, guess, lower, upper


def _numbers(given: Any) -> Array:
    numbers: Array = np.empty(0) if given is None else np.atleast_1d(np.asarray(given, float))
    return numbers


def _control(name: str, given: Any) -> tuple[Any, ...]:
    c = given if isinstance(given, Control) else Control(int(given))
    return (name, int(c.intervals), c.curve, bool(c.free_lengths), bool(c.fixed_values), float(c.lower),
            float(c.upper), _numbers(c.guess), _numbers(c.lengths))


def _functional(value: Quantity | Functional) -> Functional:
    return value if isinstance(value, Functional) else final_value(value)  # type: ignore[arg-type]


def optimise(model: Model | ModelicaModel, minimise: Quantity | Functional, *,
             controls: Mapping[str, int | Control] | None = None,
             parameters: Sequence[str] | Mapping[str, Wanted] | None = None,
             end: Mapping[Any, Bounds] | None = None, path: Mapping[Any, Bounds] | None = None,
             stop: float | None = None, free_stop: tuple[float | None, float, float] | None = None,
             values: Mapping[str, float] | None = None, nominal: Mapping[Any, float] | None = None,
             tolerance: float = 1e-6, max_runs: int = 300, starts: int = 1, seed: int = 1, homotopy: str = "",
             shooting: str = "auto", check: bool = True, **options: Any) -> Optimum:
    """Finds controls, parameters and start values with which a number of the run is least and conditions hold.

    minimise    an expression at the end of the run ("x**2"), or a sum of final_value(…), integral(…), event_time(…)
    controls    inputs that are free: {"u": 20} for 20 intervals, or {"u": Control(20, lower=-5, upper=5)}
    parameters  what else is free: ["e", "h.start"], or with guesses and bounds {"e": (0.8, 0, 1)}
    end         conditions at the end: {"x": 1.0, "v": (0, 1), event_time("h < 0", 3): 2.0}
    path        conditions for all times: {"x": (None, 2)}; extrema are located
    stop        the end of the run; free_stop = (guess, lower, upper): it is free
    values      other parameters and start values, by name
    nominal     in what units violations are counted, by condition; otherwise the nominal values of variables
    tolerance   of the sum of violations
    starts      so many searches, the first from the guess, the others from random points within bounds
    homotopy    a parameter that makes it hard: it is zero at first
    shooting    "auto", "single" (runs from start to end) or "multiple" (runs over intervals, joined)
    check       raise SearchError where the search does not end well; if false look at ``status``

    Further options are those of ``simulate``; rtol is 1e-8 and atol a hundredth of it. Raises UsageError for wrong
    programmes. Ctrl-C raises KeyboardInterrupt.
    """
    symbols, programme, chosen = _written(model, minimise, controls, parameters, end, path, stop, free_stop, values,
                                          nominal, options)
    if shooting not in ("auto", "single", "multiple"):
        raise _core.UsageError(f"shooting is 'auto', 'single' or 'multiple', not {shooting!r}")
    search = {"tolerance": float(tolerance), "max_runs": int(max_runs), "starts": int(starts), "seed": int(seed),
              "homotopy": homotopy, "shooting": shooting}
    found = _core.optimise(symbols.model, programme, search, chosen)
    result = _optimum_of(found, symbols)
    if check and not result.ok:
        raise SearchError(result)
    return result


@dataclass(frozen=True)
class ControlSample:
    """What a sample of a closed loop gives: the controls of the first interval by name."""

    controls: dict[str, float]
    #: Predicted, before the last step; likewise the violation.
    objective: float
    violation: float
    #: Steps that were made; 0: the last controls, moved on.
    iterations: int
    #: Why no step was made; "" if one was.
    why: str


class Controller:
    """Model predictive control: a programme that is solved again from the present state, sample by sample.

    Arguments are those of ``optimise``; the objective is a sum of squares, and the end of the run and all intervals
    are fixed. ``iterations`` is the number of steps of Gauss and Newton's method at a sample.
    """

    def __init__(self, model: Model | ModelicaModel, minimise: Quantity | Functional, *,
                 controls: Mapping[str, int | Control], end: Mapping[Any, Bounds] | None = None,
                 path: Mapping[Any, Bounds] | None = None, stop: float | None = None,
                 values: Mapping[str, float] | None = None, nominal: Mapping[Any, float] | None = None,
                 iterations: int = 1, **options: Any) -> None:
        symbols, programme, chosen = _written(model, minimise, controls, None, end, path, stop, None, values, nominal,
                                              options)
        search = {"tolerance": 1e-6, "max_runs": 1, "starts": 1, "seed": 1, "homotopy": "", "shooting": "single"}
        self._core = _core.Controller(symbols.model, programme, search, chosen, int(iterations))
        self._names = list(controls)

    def step(self, state: Mapping[str, float]) -> ControlSample:
        """The controls for a state: values of variables and discrete variables by name."""
        controls, objective, violation, iterations, why = self._core.step(
            [(name, float(value)) for name, value in state.items()])
        return ControlSample(dict(zip(self._names, controls)), objective, violation, iterations, why)

    @property
    def plan(self) -> dict[str, FoundControl]:
        """All values of the prediction's controls, as they are now."""
        return {row[0]: FoundControl(*row) for row in self._core.plan()}


def _written(model: Model | ModelicaModel, minimise: Quantity | Functional,
             controls: Mapping[str, int | Control] | None, parameters: Sequence[str] | Mapping[str, Wanted] | None,
             end: Mapping[Any, Bounds] | None, path: Mapping[Any, Bounds] | None, stop: float | None,
             free_stop: tuple[float | None, float, float] | None, values: Mapping[str, float] | None,
             nominal: Mapping[Any, float] | None,
             options: dict[str, Any]) -> tuple[ExtendedModel, dict[str, Any], dict[str, Any]]:
    """The model with variables for its expressions, the programme over it, and the options of its runs."""
    extended = ExtendedModel(model, values, options.get("start"), "value")
    chosen = run_options(model, options, 1e-8, "it is an argument of its own")
    chosen["stop"] = float(free_stop[2]) if free_stop is not None else _stop_of(model, stop)
    sizes = dict(nominal or {})
    named = parameters if isinstance(parameters, Mapping) else dict.fromkeys(parameters or [])
    symbols: Any = extended.model
    programme = {
        "controls": [_control(name, given) for name, given in (controls or {}).items()],
        "parameters": [_wanted(name, given) for name, given in named.items()],
        "stop": _wanted("stop", free_stop) if free_stop is not None else None,
        "minimise": _functional(minimise)._resolved(symbols),
        "end": [(_functional(value)._resolved(symbols), *_bounds(value, given), sizes.pop(value, np.nan), str(value))
                for value, given in (end or {}).items()],
        "path": [(extended.value(value), *_bounds(value, given), sizes.pop(value, np.nan), str(value))
                 for value, given in (path or {}).items()],
    }
    if sizes:
        raise _core.UsageError(f"nominal: '{next(iter(sizes))}' is no condition")
    return extended, programme, chosen


def _stop_of(model: Model | ModelicaModel, stop: float | None) -> float:
    """What is given, or the stop time of the model's experiment."""
    given = stop if stop is not None else model.experiment.get("stop")
    if given is None:
        raise _core.UsageError("say when runs end: stop=2.0, or free_stop=(guess, lower, upper)")
    return float(given)


def _optimum_of(found: dict[str, Any], model: ExtendedModel) -> Optimum:
    kinds = [("runs", int), ("objective", float), ("violation", float), ("radius", float), ("events", int),
             ("step", "U16")]
    controls = {row[0]: FoundControl(*row) for row in found.pop("controls")}
    return Optimum(name=model.model.name, values=[FoundValue(*row) for row in found.pop("values")], controls=controls,
                   conditions=[FoundCondition(*row) for row in found.pop("conditions")],
                   history=np.array(found.pop("history"), dtype=kinds), solution=solution_of(found.pop("run"), model),
                   **found)
