"""solve_ivp with SciPy's conventions. A function that can be recorded runs as native code; others are called back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .solution import Array, Solution

METHODS = {"RK45": "dopri5", "RK23": "bs3", "DOP853": "dop853", "Radau": "radau5", "BDF": "bdf", "LSODA": "auto",
           None: "auto"}
Function = Callable[..., Any]


class IvpResult(dict[str, Any]):
    """What SciPy's result has (t, y, sol, t_events, y_events, nfev, njev, nlu, status, message, success), ``recorded``,
    and ``solution`` with all that Saltus knows."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


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


def _agrees(recording: _Recording, fun: Function, t0: float, y0: Array) -> bool:
    """Whether what was recorded has the values of the function itself, at the start and near it."""
    random = np.random.default_rng(1)
    for k in range(4):
        y = y0 + (1e-3 * random.standard_normal(len(y0)) * (1.0 + np.abs(y0)) if k else 0.0)
        t = t0 + 1e-3 * k
        expected = np.ravel(np.asarray(fun(t, y), float))
        found = np.array(_core.evaluate(recording.model, recording.rates, t, list(y)))
        if not np.allclose(found, expected, rtol=1e-9, atol=1e-12, equal_nan=True):
            return False
    return True


def _record(fun: Function, events: list[Function], directions: list[int], terminals: list[int], t0: float,
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
    return recording if _agrees(recording, fun, t0, y0) else None


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


def solve_ivp(fun: Function, t_span: Sequence[float], y0: npt.ArrayLike, method: str | None = "RK45",
              t_eval: npt.ArrayLike | None = None, dense_output: bool = False,
              events: Function | Sequence[Function] | None = None, vectorized: bool = False,
              args: Sequence[Any] | None = None, *, rtol: float = 1e-3, atol: npt.ArrayLike = 1e-6,
              max_step: float = math.inf, first_step: float | None = None, jac: Any = None,
              record: bool = True) -> IvpResult:
    """As ``scipy.integrate.solve_ivp``, with its names, defaults and results.

    Differences: all zeros of an event function within a step are found; ``method`` may also be one of Saltus;
    ``record=False`` forbids that ``fun`` is recorded. A recorded function that jumps (``sign``) slides where it must.
    """
    extra = tuple(args) if args is not None else ()

    def wrap(f: Function) -> Function:
        def with_arguments(t: Any, y: Any) -> Any:
            return f(t, y, *extra)

        if extra:
            return with_arguments
        return f

    start = np.atleast_1d(np.asarray(y0, float))
    if start.ndim != 1:
        raise ValueError("y0 must be one-dimensional")
    if np.iscomplexobj(y0):
        raise ValueError("complex values are not supported; write real and imaginary parts as two states")
    hooks = [events] if callable(events) else list(events or [])
    directions = [int(np.sign(getattr(e, "direction", 0) or 0)) for e in hooks]
    terminals = [int(getattr(e, "terminal", 0) or 0) for e in hooks]
    t0, tf = (float(t) for t in t_span)
    tolerance = np.asarray(atol, float)
    options: dict[str, Any] = {"start": t0, "stop": tf, "rtol": float(rtol), "method": METHODS.get(method, method),
                               "max_step": float(max_step), "initial_step": float(first_step or 0.0),
                               "atol": float(tolerance) if tolerance.ndim == 0 else list(tolerance)}
    wrapped = [wrap(e) for e in hooks]
    recording = _record(wrap(fun), wrapped, directions, terminals, t0, start) if record else None
    if recording is not None:
        run = _core.run(_core.CompiledModel(recording.model), options)
    else:
        def by_columns(t: float, y: Array) -> Array:
            return np.ravel(fun(t, y[:, None], *extra))

        def constant_matrix(t: float, y: Array) -> Any:
            return jac

        matrix = wrap(jac) if callable(jac) else None if jac is None else constant_matrix
        called: Function = wrap(fun)
        if vectorized:
            called = by_columns
        run = _core.run_callbacks(called, list(start), wrapped, directions, terminals, matrix, options)
    solution = Solution(run, "solve_ivp")
    rows = np.arange(len(start), dtype=np.int32)
    times = run.step_times if t_eval is None else np.asarray(t_eval, float)
    if t_eval is not None and len(times) and (min(times) < min(t0, tf) or max(times) > max(t0, tf)):
        raise ValueError("values in t_eval are not within t_span")
    times = times[(times - solution.t_end) * (1.0 if tf >= t0 else -1.0) <= 0.0]
    t_events = _event_times(solution, len(hooks), recording.clauses if recording else {})
    code = solution.status["code"]
    return IvpResult(
        t=times, y=run.sample(times, rows), sol=(lambda t: _dense(run, rows, t)) if dense_output else None,
        t_events=t_events if hooks else None,
        y_events=[run.sample(t, rows).T for t in t_events] if hooks else None,
        nfev=solution.statistics["evaluations"], njev=solution.statistics["jacobians"],
        nlu=solution.statistics["factorisations"], status=0 if code == "success" else 1 if code == "terminated" else -1,
        message=solution.status["message"] or code, success=solution.ok, recorded=recording is not None,
        solution=solution)


def _dense(run: _core.Run, rows: npt.NDArray[np.int32], t: npt.ArrayLike) -> Array:
    times = np.asarray(t, float)
    values: Array = run.sample(times.ravel(), rows).reshape((len(rows),) + times.shape)
    return values
