"""solve_ivp with SciPy's conventions. A function that can be recorded runs as native code; others are called back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .solution import Solution

if TYPE_CHECKING:
    from .arrays import Array, ArrayLike

METHODS = {"RK45": "dopri5", "RK23": "bs3", "DOP853": "dop853", "Radau": "radau5", "BDF": "bdf", "LSODA": "auto",
           None: "auto"}
Function = Callable[..., Any]
NO_COMPLEX = "complex values are not supported; write real and imaginary parts as two states"


class IvpResult(dict[str, Any]):
    """What SciPy's result has (t, y, sol, t_events, y_events, nfev, njev, nlu, status, message, success), ``recorded``,
    and ``solution`` with all that Saltus knows."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class DenseOutput:
    """The states at any times of the run: ``out.sol(t)`` has the shape (states,) + t.shape."""

    def __init__(self, solution: Solution, states: int) -> None:
        self._solution, self._names = solution, solution.names[:states]

    def __call__(self, t: ArrayLike) -> Array:
        return self._solution(t, self._names)


class _Recording:
    """y' = fun(t, y) as a model, with a clause for each event."""

    def __init__(self, fun: Function, y0: Array) -> None:
        self.model = _core.Model("solve_ivp")
        states = [self.model.variable(f"y[{k}]", float(v), fixed=True) for k, v in enumerate(y0)]
        self.y = np.array(states, dtype=object)
        self.clauses: dict[str, set[int]] = {}
        self.rates = [_expression(rate) for rate in np.ravel(np.asarray(fun(self.model.time, self.y), dtype=object))]
        if len(self.rates) != len(self.y):
            raise TypeError("another number of rates than of states")
        for state, rate in zip(self.y, self.rates):
            self.model.equation(_core.der(state) == rate)

    def add_event(self, number: int, event: Function, direction: int, terminal: int) -> None:
        g = _expression(event(self.model.time, self.y))
        for condition, sign in ((g > 0.0, 1), (g < 0.0, -1)):
            if direction not in (0, sign):
                continue
            clause = self.model.when(condition)
            clause.record()
            if terminal:
                clause.terminate(f"event {number} ended the run")
            self.clauses.setdefault(f"when {condition!r}", set()).add(number)


def _expression(value: Any) -> _core.Expr:
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.item()
    return value if isinstance(value, _core.Expr) else _core.Expr(float(value))


def _agrees(recording: _Recording, fun: Function, t0: float, tf: float, y0: Array) -> bool:
    """Whether what was recorded has the values of the function itself, at the start and at three points near it."""
    points, expected = [], []
    for k in range(4):
        away = 1e-3 * np.sin(1.0 + 7.0 * k + np.arange(len(y0)))  # in no special direction
        t, y = t0 + 1e-3 * k * (tf - t0), y0 + (away * (1.0 + np.abs(y0)) if k else 0.0)
        try:
            values = np.ravel(fun(t, y))
        except Exception:
            if k == 0:
                raise
            return False  # the function refuses a point that the solution may never reach
        if np.iscomplexobj(values):
            raise ValueError(NO_COMPLEX)
        if len(values) != len(recording.rates):
            return False
        points.append((t, list(y)))
        expected.append(np.asarray(values, float))
    found = _core.evaluate(recording.model, recording.rates, points)
    return np.allclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True)


def _record(fun: Function, events: list[Function], directions: list[int], terminals: list[int], t0: float, tf: float,
            y0: Array) -> _Recording | None:
    """None where the functions cannot be recorded: they branch on values, call compiled code, count how often, …"""
    if max(terminals, default=0) > 1:
        return None
    try:
        recording = _Recording(fun, y0)
        for k, event in enumerate(events):
            recording.add_event(k, event, directions[k], terminals[k])
    except Exception:  # whatever a function does that expects numbers
        return None
    with np.errstate(all="ignore"):
        return recording if _agrees(recording, fun, t0, tf, y0) else None


def _event_times(solution: Solution, count: int, clauses: dict[str, set[int]]) -> list[Array]:
    times: list[list[float]] = [[] for _ in range(count)]
    for event in solution.events:
        if event["kind"] == "initial":
            continue
        fired = {k for action in event["actions"]
                 for k in clauses.get(action, {int(action.split()[-1])} if action.startswith("event ") else set())}
        for k in fired:
            times[k].append(event["t"])
    return [np.array(t) for t in times]


def _start(y0: ArrayLike) -> Array:
    if np.iscomplexobj(y0):
        raise ValueError(NO_COMPLEX)
    start: Array = np.atleast_1d(np.asarray(y0, float))
    if start.ndim != 1:
        raise ValueError("y0 must be one-dimensional")
    if not np.isfinite(start).all():
        raise ValueError("all components of y0 must be finite")
    return start


def _check_times(t_eval: ArrayLike, t0: float, tf: float) -> Array:
    times: Array = np.asarray(t_eval, float)
    if times.ndim != 1:
        raise ValueError("t_eval must be one-dimensional")
    if ((times < min(t0, tf)) | (times > max(t0, tf))).any():
        raise ValueError("values in t_eval are not within t_span")
    if (np.diff(times) * (1.0 if tf >= t0 else -1.0) <= 0.0).any():
        raise ValueError("values in t_eval are not properly sorted: they go from the start of t_span to its end")
    return times


def _tolerance(name: str, value: ArrayLike, states: int, least: float) -> float | list[float]:
    """A number, or one for each state."""
    numbers = np.asarray(value, float)
    if numbers.ndim and numbers.shape != (states,):
        raise ValueError(f"{name} has the wrong shape: it is a number, or a list of {states} numbers")
    if (numbers < 0.0).any():
        raise ValueError(f"{name} must be positive")
    if (numbers < least).any():
        warnings.warn(f"{name} is too small; {least:.3g} is taken", stacklevel=3)
        numbers = np.maximum(numbers, least)
    return float(numbers) if numbers.ndim == 0 else [float(n) for n in numbers]


def _options(t0: float, tf: float, states: int, method: str | None, rtol: ArrayLike, atol: ArrayLike,
             max_step: float, first_step: float | None) -> dict[str, Any]:
    """SciPy's options as those of a run."""
    if not max_step > 0.0:
        raise ValueError("max_step must be positive")
    if first_step is not None and not 0.0 < first_step <= abs(tf - t0):
        raise ValueError(f"first_step must be positive, and at most the length of t_span, not {first_step}")
    if method is not None and not isinstance(method, str):
        raise ValueError("method is a name; solvers that are classes are not taken")
    return {"start": t0, "stop": tf, "method": METHODS.get(method, method), "max_step": float(max_step),
            "initial_step": float(first_step or 0.0),
            "rtol": _tolerance("rtol", rtol, states, 100.0 * float(np.finfo(float).eps)),
            "atol": _tolerance("atol", atol, states, 0.0)}


def _with_arguments(f: Function, args: Sequence[Any] | None) -> Function:
    if not callable(f):
        raise TypeError(f"fun, events and jac must be callable, not {f!r}")
    if args is None:
        return f
    try:
        extra = tuple(args)
    except TypeError:
        raise TypeError(f"args must be a tuple, for example args=({args!r},)") from None
    return lambda t, y: f(t, y, *extra)


def _jacobian(jac: Any, args: Sequence[Any] | None, states: int) -> Function | None:
    if jac is None:
        return None
    if callable(jac):
        return _with_arguments(jac, args)
    if np.shape(jac) != (states, states):
        raise ValueError(f"jac must have the shape ({states}, {states}), not {np.shape(jac)}")
    return lambda t, y: jac


def _fired_at_start(fun: Function, events: list[Function], directions: list[int], t0: float, tf: float,
                    y0: Array) -> list[bool]:
    """For each event function: whether it is zero at the start and leaves in its direction. SciPy counts this, too."""
    fired = []
    for event, direction in zip(events, directions):
        leaves = 0.0
        if t0 != tf and np.ravel(event(t0, y0))[0] == 0.0:
            h = 1e-6 * (tf - t0)
            leaves = np.sign(np.ravel(event(t0 + h, y0 + h * np.ravel(np.asarray(fun(t0, y0), float))))[0])
        fired.append(bool(leaves != 0.0 and direction in (0, leaves)))
    return fired


def solve_ivp(fun: Function, t_span: Sequence[float], y0: ArrayLike, method: str | None = "RK45",
              t_eval: ArrayLike | None = None, dense_output: bool = False,
              events: Function | Sequence[Function] | None = None, vectorized: bool = False,
              args: Sequence[Any] | None = None, *, rtol: ArrayLike = 1e-3, atol: ArrayLike = 1e-6,
              max_step: float = math.inf, first_step: float | None = None, jac: Any = None,
              record: bool = True) -> IvpResult:
    """As ``scipy.integrate.solve_ivp``, with its names, defaults and results.

    Differences: all zeros of an event function within a step are found; ``method`` may also be one of Saltus;
    ``record=False`` forbids that ``fun`` is recorded. A recorded function that jumps (``sign``) slides where it must.
    Complex values are refused. The result also has ``recorded`` and ``solution``.
    """
    start = _start(y0)
    t0, tf = (float(t) for t in t_span)
    options = _options(t0, tf, len(start), method, rtol, atol, max_step, first_step)
    wanted = None if t_eval is None else _check_times(t_eval, t0, tf)
    called, matrix = _with_arguments(fun, args), _jacobian(jac, args, len(start))
    if vectorized:
        by_columns = called
        called = lambda t, y: np.ravel(by_columns(t, y[:, None]))
    given = [events] if callable(events) else list(events or [])
    hooks = [_with_arguments(e, args) for e in given]
    directions = [int(np.sign(getattr(e, "direction", 0) or 0)) for e in given]
    terminals = [int(getattr(e, "terminal", 0) or 0) for e in given]
    fired = _fired_at_start(called, hooks, directions, t0, tf, start)
    left = [count - 1 if count and now else count for count, now in zip(terminals, fired)]
    if any(count and not remaining for count, remaining in zip(terminals, left)):
        options["stop"] = t0  # the run ends where it begins
    recording = _record(called, hooks, directions, left, t0, tf, start) if record and len(start) else None
    if recording is not None:
        run = _core.run(_core.CompiledModel(recording.model), options)
    else:
        run = _core.run_callbacks(called, list(start), hooks, directions, left, matrix, options)
    solution = Solution(run, "solve_ivp")
    t_events = _event_times(solution, len(hooks), recording.clauses if recording else {})
    t_events = [np.concatenate([[t0], t[t != t0]]) if now else t for t, now in zip(t_events, fired)]
    return _result(run, solution, recording is not None, len(start), wanted, dense_output,
                   None if events is None else t_events, options["stop"] != tf)


def _result(run: _core.Run, solution: Solution, recorded: bool, states: int, wanted: Array | None, dense_output: bool,
            t_events: list[Array] | None, ended_at_start: bool) -> IvpResult:
    rows = np.arange(states, dtype=np.int32)
    times = run.step_times
    if wanted is not None:
        forward = 1.0 if run.t_end >= run.t_start else -1.0
        times = wanted[(wanted - run.t_end) * forward <= 0.0]
    code, statistics = solution.status["code"], solution.statistics
    message = "an event ended the run at its start" if ended_at_start else solution.status["message"] or code
    return IvpResult(
        t=times, y=run.sample(times, rows), sol=DenseOutput(solution, states) if dense_output else None,
        t_events=t_events, y_events=None if t_events is None else [run.sample(t, rows).T for t in t_events],
        nfev=statistics["evaluations"], njev=statistics["jacobians"], nlu=statistics["factorisations"],
        status=1 if ended_at_start or code == "terminated" else 0 if code == "success" else -1, message=message,
        success=solution.ok, recorded=recorded, solution=solution)
