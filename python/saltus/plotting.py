"""Plots with matplotlib, which is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .solution import Solution
    from .study import Study

MOST_EVENTS = 200  # lines; more would hide the curves


def _curves(solution: Solution, names: list[str], points: int) -> tuple[Any, Any]:
    t, left = solution.grid(points)
    rows = np.array([solution.index(name) for name in names], np.int32)
    return t, solution._core().sample(t, rows, left)


def draw_panels(solution: Solution, names: tuple[str, ...], axes: Any, points: int, events: bool) -> Any:
    """One panel for each unit."""
    import matplotlib.pyplot as plt  # type: ignore[import]
    chosen = list(names) or solution.names[:8]
    units = list(dict.fromkeys(solution.units[solution.index(name)] for name in chosen))
    t, values = _curves(solution, chosen, points)
    if axes is None:
        size = (8, max(3.0, 2.6 * len(units)))
        axes = plt.subplots(len(units), 1, sharex=True, squeeze=False, layout="constrained", figsize=size)[1][:, 0]
    panels = np.atleast_1d(axes)
    if len(panels) != len(units):
        raise ValueError(f"{len(units)} units need as many axes, not {len(panels)}")
    marks = list(dict.fromkeys(e["t"] for e in solution.events)) if events else []
    for panel, unit in zip(panels, units):
        for row, name in zip(values, chosen):
            if solution.units[solution.index(name)] == unit:
                panel.plot(t, row, linewidth=1.3, label=name)
        for when in marks if len(marks) <= MOST_EVENTS else []:
            panel.axvline(when, color="0.8", linewidth=0.6, zorder=0)
        panel.legend(loc="upper right", frameon=False)
        panel.set_ylabel(unit or "value")
    panels[-1].set_xlabel("time")
    panels[0].set_title(solution.name)
    return axes


def draw_phase(solution: Solution, phase: tuple[str, str], axes: Any, points: int, events: bool) -> Any:
    """One variable over another; the start is a ring, events are dots."""
    import matplotlib.pyplot as plt
    t, (x, y) = _curves(solution, list(phase), points)
    panel = axes if axes is not None else plt.subplots(layout="constrained")[1]
    panel.plot(x, y, linewidth=1.2)
    panel.plot(x[0], y[0], "o", markersize=5, markerfacecolor="none", color="C0")
    if events:
        at = np.isin(t, [e["t"] for e in solution.events])
        panel.plot(x[at], y[at], ".", markersize=4, color="C1")
    labels = [f"{name} [{solution.units[solution.index(name)]}]" if solution.units[solution.index(name)] else name
              for name in phase]
    panel.set(xlabel=labels[0], ylabel=labels[1], title=solution.name)
    return panel


def draw_study(study: Study, y: str | None, x: str | None, axes: Any) -> Any:
    """Numbers or samples over what varies; over two axes a map of colours; two samples over each other."""
    import matplotlib.pyplot as plt
    panel = axes if axes is not None else plt.subplots(layout="constrained")[1]
    extra = [name for name in study.collected if name != "attractor"]
    shown = y or ("attractor" if "attractor" in study.names else extra[-1] if not study.varied else extra[0])
    values = study[shown]
    if x is None and len(study.axes) == 2 and values.shape == tuple(len(a) for a in study.axes.values()):
        (down, rows), (across, columns) = study.axes.items()
        drawn = panel.pcolormesh(columns, rows, values, shading="nearest")
        panel.figure.colorbar(drawn, ax=panel, label=shown)
        panel.set(xlabel=across, ylabel=down, title=study.name)
        return panel
    over = x or (study.varied[-1] if study.varied else extra[0])
    base = study[over]
    if base.ndim < values.ndim:
        base = np.broadcast_to(base[..., None], values.shape)
    many = values.size > 2000 or values.ndim > len(study.shape)
    panel.plot(base.ravel(), values.ravel(), ",k" if values.size > 20000 else "." if many else ".-",
               markersize=2 if many else 4, linewidth=0.8)
    panel.set(xlabel=over, ylabel=shown, title=study.name)
    return panel
