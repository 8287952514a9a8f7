"""Dense output without the solver, for solutions that travel between processes.

Each step is stored by its values at Chebyshev points, from which the barycentric formula (Berrut and Trefethen, SIAM
Review 46, 2004) gives values in between. Steps are polynomials in the states, so that few points are exact; where other
variables need more, the points are doubled until the values in between agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core

if TYPE_CHECKING:
    from .arrays import AnyArray, Array, Flags

FEWEST, MOST = 9, 33      # points in a step
ACCURACY = 1e-12          # relative to the largest value of a variable
CHUNK = 20_000            # times that are evaluated together


def _points(count: int) -> Array:
    """From 0 to 1, both ends included."""
    points: Array = (1.0 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2.0
    return points


class StoredRun:
    """What ``Solution`` needs of a run, as arrays."""

    def __init__(self, run: _core.Run, variables: int) -> None:
        ends = run.step_times
        self.step_times: Array = ends[np.concatenate([[True], np.diff(ends) != 0.0])]
        self._rows = np.arange(variables, dtype=np.int32)
        self._first = run.sample(self.step_times[:1], self._rows, np.ones(1, np.uint8))[:, 0]
        self._last = run.sample(self.step_times[-1:], self._rows)[:, 0]
        count = FEWEST
        while True:
            self._values = self._inside(run, _points(count))
            between = (_points(count)[1:] + _points(count)[:-1]) / 2.0
            found = self._interpolate(np.repeat(np.arange(self._values.shape[1]), count - 1),
                                      np.tile(between, self._values.shape[1]), self._rows)
            expected = self._inside(run, between).reshape(variables, -1)
            scale = np.abs(self._values).reshape(variables, -1).max(axis=1, initial=0.0)[:, None]
            if count >= MOST or (np.abs(found - expected) <= ACCURACY * scale).all():
                break
            count = 2 * count - 1

    def _inside(self, run: _core.Run, points: Array) -> Array:
        """Values at relative places within each step: right limits, at the end of a step the left one."""
        begins, ends = self.step_times[:-1, None], self.step_times[1:, None]
        times = np.where(points == 1.0, ends, begins + (ends - begins) * points)
        before = np.broadcast_to(points == 1.0, times.shape).astype(np.uint8)
        return run.sample(times.ravel(), self._rows, before.ravel()).reshape((len(self._rows),) + times.shape)

    def _interpolate(self, steps: AnyArray, places: Array, rows: AnyArray) -> Array:
        points = _points(self._values.shape[2])
        weights = np.where(np.arange(len(points)) % 2, -1.0, 1.0)
        weights[[0, -1]] /= 2.0
        away = places[:, None] - points
        hit = away == 0.0
        terms = weights / np.where(hit, 1.0, away)
        terms = np.where(hit.any(axis=1)[:, None], hit, terms)
        values: Array = np.einsum("rtk,tk->rt", self._values[rows][:, steps], terms) / terms.sum(axis=1)
        return values

    def sample(self, times: Array, variables: AnyArray, before: Flags | None = None) -> Array:
        """As ``_core.Run.sample``: one row for each variable."""
        if len(variables) and int(np.max(variables)) >= len(self._rows):
            raise RuntimeError("a solution that was unpickled has no derivatives: ask for der(…) before, or simulate "
                               "again")
        low, high = self.step_times[0], self.step_times[-1]
        forward = 1.0 if high >= low else -1.0
        along, ends = forward * times, forward * self.step_times
        if (outside := ~((along >= ends[0]) & (along <= ends[-1]))).any():
            raise _core.UsageError(f"the result covers times from {low:.12g} to {high:.12g}, not {times[outside][0]}")
        left = np.zeros(len(times), bool) if before is None else before.astype(bool)
        result = np.empty((len(variables), len(times)))
        for begin in range(0, len(times), CHUNK):
            part = slice(begin, begin + CHUNK)
            t, l = along[part], left[part]
            step = np.where(l, np.searchsorted(ends, t, "left"), np.searchsorted(ends, t, "right")) - 1
            step = np.clip(step, 0, max(len(ends) - 2, 0))
            if len(ends) > 1:
                place = (t - ends[step]) / (ends[step + 1] - ends[step])
                result[:, part] = self._interpolate(step, place, variables)
            result[:, part][:, (t == ends[0]) & l] = self._first[variables][:, None]
            result[:, part][:, (t == ends[-1]) & ~l] = self._last[variables][:, None]
        return result
