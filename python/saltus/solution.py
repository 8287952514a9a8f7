"""Solution: values at any time, events, status. numpy first; pandas, xarray and matplotlib on request."""

from __future__ import annotations

import html
import importlib
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .report import Report
from .stored_run import StoredRun

if TYPE_CHECKING:
    from .arrays import Array, ArrayLike, Flags, Records
    from .reasons import EventReason
    from .run import Prepared

MOST_SHOWN = 20  # events and values in texts


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint at the nearest of some names, or nothing."""
    return _core.Names(list(names)).hint(name)


def of_derivative(name: str) -> str:
    """"x" of "der(x)"; "" for all other names."""
    found = re.fullmatch(r"\s*der\s*\((.*)\)\s*", name)
    return found.group(1).strip() if found else ""


class Solution:
    """The result of a run.

    ``sol.t`` and ``sol["h"]`` are arrays at the ends of the steps, events twice: before and after. ``sol["u"]`` of an
    array has the shape of u, then that of ``sol.t``; ``sol["der(h)"]`` is the derivative by time.
    ``sol(t)`` and ``sol(t, "h")`` are dense output at any times.
    ``"h" in sol``, ``for name in sol`` and ``sol.keys()`` are about the names; ``sol.events`` is a list of dicts.
    """

    def __init__(self, run: _core.Run, name: str, report: Report | None = None,
                 prepared: Prepared | None = None) -> None:
        self._run: _core.Run | StoredRun | None = run
        self.name, self._report, self._prepared = name, report, prepared
        variables = run.variables
        self.names: list[str] = [v[0] for v in variables]
        self.units: list[str] = [v[1] for v in variables]
        self.descriptions: list[str] = [v[2] for v in variables]
        self.types: list[str] = [v[3] for v in variables]  # "Real", "Integer", "Boolean" or "enumeration"
        self.literals: dict[str, list[str]] = {v[0]: v[4] for v in variables if v[4]}  # of enumerations
        self.causalities: list[str] = [v[5] for v in variables]  # "local", "input" or "output"
        self.status: dict[str, Any] = run.status
        self.statistics: dict[str, Any] = run.statistics
        self.t_start, self.t_end = run.t_start, run.t_end
        self.stays: list[tuple[float, float]] = run.stays  # when it slides along surfaces or rests on them
        self._index = {name: k for k, name in enumerate(self.names)}
        self._table: _core.Names | None = None
        self._events: list[dict[str, Any]] | None = None
        self._samples: tuple[Array, Array] | None = None

    # --- values
    @property
    def ok(self) -> bool:
        return bool(self.status["ok"])

    @property
    def events(self) -> list[dict[str, Any]]:
        """One dict for each event, with the keys of the JSON files: t, kind, guards, before, after, text, …"""
        if self._events is None:
            self._events = self._run.events if isinstance(self._run, _core.Run) else []
        return self._events

    def index(self, name: str) -> int:
        """The row of a variable."""
        place = self._index.get(name)
        if place is None:
            place = self._spellings().find(name)
        if place is None and len(found := self._rows(name)) == 1:  # der(x)
            place = found[0]
        if place is None:
            raise KeyError(self._unknown(name))
        return place

    def keys(self) -> list[str]:
        """The names of the variables, as ``names``: ``dict(sol)`` has all of them."""
        return self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and bool(self._rows(name))

    def _spellings(self) -> _core.Names:
        if self._table is None:
            self._table = _core.Names(self.names)
        return self._table

    def _unknown(self, name: str) -> str:
        return f"there is no variable '{name}'{self._spellings().hint(name)}"

    def _rows(self, name: str) -> list[int]:
        """The rows of a variable, of the elements of an array, or of the names that a pattern matches."""
        if not isinstance(name, str):
            raise TypeError(f"variables have names: write solution[\"{self.names[0] if self.names else 'x'}\"], not "
                            f"solution[{name!r}]")
        place = self._index.get(name)
        if place is not None:
            return [place]
        if not (found := self._spellings().find_all(name)) and (inner := of_derivative(name)):
            found = [len(self.names) + k for k in self._rows(inner)]  # as Trajectory::index has them in C++
        return found

    def _shape(self, name: str, rows: Sequence[int]) -> tuple[int, ...]:
        """The shape of what a name stands for: that of an array whose elements are all here, or one row for each."""
        if rows and rows[0] >= len(self.names):
            return self._shape(of_derivative(name), [k - len(self.names) for k in rows])
        if len(rows) == 1 and self.names[rows[0]].replace(" ", "") == name.replace(" ", ""):
            return ()
        ends = [self.names[k][len(name):] for k in rows if self.names[k].startswith(name)]
        places = [tuple(map(int, end[1:-1].split(","))) for end in ends if re.fullmatch(r"\[[0-9, ]+\]", end)]
        shape = tuple(max(sizes) for sizes in zip(*places)) if places and len({len(p) for p in places}) == 1 else ()
        return shape if places == list(itertools.product(*(range(1, n + 1) for n in shape))) else (len(rows),)

    def grid(self, points: int | None = None) -> tuple[Array, Flags]:
        """Times with events twice, and which of them mean the value before: ``points`` equidistant ones, or the ends of
        the steps."""
        run = self._core()
        base = run.step_times if points is None else np.linspace(self.t_start, self.t_end, points)
        at = np.unique([e["t"] for e in self.events])
        at = at[(at != self.t_start) & (at >= base.min()) & (at <= base.max())]
        t = np.concatenate([np.setdiff1d(base, at), at, at])
        left = np.zeros(len(t), np.uint8)
        left[len(t) - 2 * len(at):len(t) - len(at)] = 1
        forward = 1.0 if self.t_end >= self.t_start else -1.0
        order = np.lexsort((1 - left, forward * t))
        return t[order], left[order]

    def _sampled(self) -> tuple[Array, Array]:
        if self._samples is None:
            t, left = self.grid()
            values = self._core().sample(t, np.arange(len(self.names)), left)
            t.flags.writeable = values.flags.writeable = False
            self._samples = t, values
        return self._samples

    @property
    def t(self) -> Array:
        return self._sampled()[0]

    @property
    def values(self) -> Array:
        """All variables, one a row: shape (variables, times)."""
        return self._sampled()[1]

    def __getitem__(self, name: str) -> Array:
        rows = self._rows(name)
        if not rows:
            raise KeyError(self._unknown(name))
        if rows[0] >= len(self.names):
            t, left = self.grid()
            found: Array = self._core().sample(t, np.array(rows, np.int32), left)
        else:
            found = self.values[rows]
        return found.reshape(self._shape(name, rows) + self.t.shape)

    def slope(self, t: ArrayLike, name: str | Sequence[str] | None = None) -> Array:
        """Derivatives by time, as ``sol(t)`` has values: ``sol.slope(0.5, "h")``; all variables without a name."""
        if name is None or isinstance(name, str):
            return self(t, [f"der({n})" for n in self.names] if name is None else f"der({name})")
        return self(t, [f"der({n})" for n in name])

    def __call__(self, t: ArrayLike, name: str | Sequence[str] | None = None) -> Array:
        """Dense output. ``sol(t)`` has the shape (variables,) + t.shape, ``sol(t, "h")`` that of t."""
        try:
            times = np.asarray(t, float)
        except (TypeError, ValueError):
            raise TypeError(f"times are numbers: write solution(0.5, \"x\"), or solution[\"x\"] for all times; got "
                            f"{t!r}") from None
        chosen = [[k] for k in range(len(self.names))] if name is None else [self._rows(name)] \
            if isinstance(name, str) else [[self.index(n)] for n in name]
        if isinstance(name, str) and not chosen[0]:
            raise KeyError(self._unknown(name))
        rows = np.array([k for part in chosen for k in part], np.int32)
        shape = self._shape(name, chosen[0]) if isinstance(name, str) else (len(rows),)
        result: Array = self._core().sample(times.ravel(), rows).reshape(shape + times.shape)[()]  # no 0-d arrays
        return result

    def _core(self) -> _core.Run | StoredRun:
        if self._run is None:
            raise RuntimeError("the run kept no steps (keep_steps=False), and this solution was unpickled: it has its "
                               "samples and events, no dense output")
        return self._run

    # --- events
    @property
    def event_array(self) -> Records:
        """Events as a structured array: t, kind, jump, guards, mode_after."""
        rows = [(e["t"], e["kind"], e["jump"], ", ".join(e["guards"]), e["mode_after"]) for e in self.events]
        width = max((max(len(r[3]), len(r[4])) for r in rows), default=1) or 1
        kinds = [("t", float), ("kind", "U12"), ("jump", float), ("guards", f"U{width}"), ("mode_after", f"U{width}")]
        return np.array(rows, dtype=kinds)

    def why(self, event: int, *, causes: int = 8, largest_change: float = 1.0, near: float = 0.01) -> EventReason:
        """Why an event happens, by its number from 1: what its guard reads, which earlier events and parameters move
        it, what would prevent it. Runs the model several times; arguments are those of ``saltus.why``."""
        from .reasons import explain
        if self._prepared is None:
            raise RuntimeError("this solution does not know its model: use saltus.why(model, event)")
        return explain(self._prepared.compiled, self._prepared.options, event, causes, largest_change, near)

    def events_of(self, kind: str) -> Array:
        """Times of the events of a kind ("crossing", "reset", "slide_enter", …)."""
        return np.array([e["t"] for e in self.events if e["kind"] == kind])

    # --- other forms
    def to_pandas(self, points: int | None = None) -> Any:
        """A DataFrame with one column for each variable, indexed by time."""
        import pandas  # type: ignore[import]
        t, left = self.grid(points)
        values = self._core().sample(t, np.arange(len(self.names)), left)
        return pandas.DataFrame(values.T, index=pandas.Index(t, name="t"), columns=self.names)

    def to_xarray(self, points: int | None = None) -> Any:
        """A Dataset with one variable for each variable, along t; units and descriptions are attributes."""
        xarray: Any = importlib.import_module("xarray")
        t, left = self.grid(points)
        values = self._core().sample(t, np.arange(len(self.names)), left)
        described = {name: ("t", values[k], {"units": self.units[k], "long_name": self.descriptions[k]})
                     for k, name in enumerate(self.names)}
        return xarray.Dataset(described, coords={"t": t}, attrs={"model": self.name})

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Writes the report of ``saltus run --html``: one page that holds everything itself."""
        run = self._core()
        if not isinstance(run, _core.Run):
            raise RuntimeError("a solution that was unpickled cannot write a report; simulate again, or write it "
                               "before")
        (self._report or Report()).write(run, os.fspath(path), self.name)

    def plot(self, *names: str, phase: tuple[str, str] | None = None, axes: Any = None, points: int = 2000,
             events: bool = True) -> Any:
        """Draws with matplotlib: one panel for each unit, events as thin lines; or a phase portrait. Returns axes."""
        from . import plotting
        if phase is not None:
            return plotting.draw_phase(self, phase, axes, points, events)
        return plotting.draw_panels(self, names, axes, points, events)

    def __getstate__(self) -> dict[str, Any]:
        self._sampled()
        stored = self._run
        if isinstance(stored, _core.Run):
            kept = len(stored.step_times) > 1 or self.t_start == self.t_end
            stored = StoredRun(stored, len(self.names)) if kept else None
        return dict(self.__dict__, _events=self.events, _run=stored, _report=None, _prepared=None, _table=None)

    def __repr__(self) -> str:
        s = self.status
        return f"<Solution of '{self.name}': {s['code']} at t = {s['t']:.6g}, {len(self.names)} variables, " \
               f"{len(self.events)} events>"

    def __str__(self) -> str:
        """Events, status and final values."""
        lines = [f"{k:5d}  {e['t']:18.12g}  {e['text']}" for k, e in enumerate(self.events[:MOST_SHOWN], 1)]
        if len(self.events) > MOST_SHOWN:
            lines.append(f"       … {len(self.events) - MOST_SHOWN} more events")
        lines.append(f"{self.name}: {self.status['code']} at t = {self.status['t']:.12g}")
        if not self.ok or self.status["message"]:
            lines.append(self.status["message"])
        lines += [f"  {name} = {value:.12g} {unit}".rstrip() for name, value, unit
                  in zip(self.names[:MOST_SHOWN], self.values[:, -1], self.units)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        shown = self.events[:MOST_SHOWN]
        rows = "".join(f"<tr><td>{e['t']:.9g}</td><td>{e['kind']}</td><td style='text-align:left'>"
                       f"{html.escape(e['text'])}</td></tr>" for e in shown)
        more = f"<p>… {len(self.events) - len(shown)} more</p>" if len(self.events) > len(shown) else ""
        return f"<p><b>{html.escape(self.name)}</b>: {self.status['code']} at t = {self.status['t']:.6g}</p>" \
               f"<table><tr><th>t</th><th>kind</th><th>what</th></tr>{rows}</table>{more}"
