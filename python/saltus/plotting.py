"""Plots with matplotlib, which is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .cycles import Branch
    from .fits import Fit
    from .solution import Solution
    from .study import Study

# The look of the plots of the command line: a palette for all eyes, and a dash pattern for each curve.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F"]
DASHES = ["-", (0, (6, 2)), (0, (6, 2, 1, 2)), (0, (6, 2, 1, 2, 1, 2)), (0, (1, 1.5)), (0, (4, 1)), (0, (9, 3)),
          (0, (9, 3, 1, 3))]
SHADING, GRID = "#d8d8d8", "#dddddd"
EVENTS = {"color": "#444444", "linewidth": 0.7, "linestyle": ":"}
MOST_EVENTS = 200  # lines


def _chosen(solution: Solution, names: tuple[str, ...]) -> list[str]:
    """The variables that names stand for: arrays and patterns are several."""
    chosen = []
    for name in names:
        rows = solution._rows(name)
        chosen += [solution.names[k] for k in rows] if rows else [solution.names[solution.index(name)]]
    return chosen or solution.names[:8]


def _curves(solution: Solution, names: list[str], points: int) -> tuple[Any, Any]:
    t, left = solution.grid(points)
    rows = np.array([solution.index(name) for name in names], np.int32)
    return t, solution._core().sample(t, rows, left)


def _ranges(solution: Solution, names: list[str], points: int) -> dict[str, tuple[Any, Any, Any]]:
    """Curves that turn too often to be drawn as lines (carriers): times, lowest and highest values in columns of the
    picture. Samples lie at irregular places, so that no frequency hides between them."""
    columns, inside = max(points // 4, 2), 32
    numbers = np.arange(columns * inside)
    shares = (numbers + np.modf(numbers * (np.sqrt(5.0) - 1) / 2)[0]) / len(numbers)
    t = solution.t_start + (solution.t_end - solution.t_start) * shares
    rows = np.array([solution.index(name) for name in names], np.int32)
    found = {}
    for name, values in zip(names, solution._core().sample(t, rows)):
        slopes = np.sign(np.diff(values))
        parts = values.reshape(columns, inside)
        low, high = parts.min(axis=1), parts.max(axis=1)
        ripple = np.median(high - low)
        if (slopes[1:] * slopes[:-1] < 0).sum() > 2 * columns and ripple > 0.02 * (values.max() - values.min()):
            found[name] = t.reshape(columns, inside).mean(axis=1), low, high
    return found


def draw_panels(solution: Solution, names: tuple[str, ...], axes: Any, points: int, events: bool) -> Any:
    """One panel for each unit, and one with bands for Booleans and enumerations. Events are dotted lines, many of them
    marks at the upper edge; slides and contacts are shaded."""
    import matplotlib.pyplot as plt  # type: ignore[import]
    chosen = _chosen(solution, names)
    banded = [name for name in chosen if solution.types[solution.index(name)] in ("Boolean", "enumeration")]
    curved = [name for name in chosen if name not in banded]
    units = list(dict.fromkeys(solution.units[solution.index(name)] for name in curved))
    t, values = _curves(solution, curved + banded, points)
    rows, ranges = dict(zip(curved + banded, values)), _ranges(solution, curved, points)
    heights = [2.6] * len(units) + [0.4 + 0.3 * len(banded)] * bool(banded)
    if axes is None:
        axes = plt.subplots(len(heights), 1, sharex=True, squeeze=False, layout="constrained",
                            figsize=(8, max(3.0, sum(heights))), gridspec_kw={"height_ratios": heights})[1][:, 0]
    panels = np.atleast_1d(axes)
    if len(panels) != len(heights):
        parts = f"{len(units)} units" + " and a panel of bands" * bool(banded)
        raise ValueError(f"{parts} need as many axes, not {len(panels)}")
    marks = list(dict.fromkeys(e["t"] for e in solution.events)) if events else []
    for panel, unit in zip(panels, units):
        of_unit = [name for name in curved if solution.units[solution.index(name)] == unit]
        for k, name in enumerate(of_unit):
            if name in ranges:
                panel.fill_between(*ranges[name], color=COLOURS[k % 8], alpha=0.4, linewidth=0, label=f"{name} (range)")
            else:
                panel.plot(t, rows[name], linewidth=1.3, label=name, color=COLOURS[k % 8], linestyle=DASHES[k % 8])
        _mark_events(panel, marks)
        for begin, end in solution.stays:
            panel.axvspan(begin, end, color=SHADING, linewidth=0, zorder=0)
        panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        panel.set_ylabel(unit or "value")
        _frame(panel)
    if banded:
        _draw_bands(solution, panels[-1], t, {name: rows[name] for name in banded})
    panels[-1].set_xlabel("time [s]" if any(units) else "time")
    panels[0].set_title(solution.name)
    return axes


def _mark_events(panel: Any, marks: list[float]) -> None:
    if len(marks) <= MOST_EVENTS:
        for when in marks:
            panel.axvline(when, zorder=1, **EVENTS)
    else:  # lines would hide the curves
        panel.plot(marks, np.ones(len(marks)), "|", color=EVENTS["color"], markersize=8, clip_on=False,
                   transform=panel.get_xaxis_transform(), label=f"{len(marks)} events")


def _draw_bands(solution: Solution, panel: Any, t: Any, rows: dict[str, Any]) -> None:
    """A band for each variable: where a Boolean is true; the literals of an enumeration, darker by their numbers."""
    for place, (name, row) in enumerate(rows.items()):
        literals = solution.literals.get(name, ["", "true"])
        colour = COLOURS[place % 8]
        codes = np.round(row).astype(int) - (1 if name in solution.literals else 0)
        begins = np.flatnonzero(np.diff(codes, prepend=codes[0] - 1))
        for first, last in zip(begins, [*begins[1:], len(t) - 1]):
            code, left, right = int(codes[first]), float(t[first]), float(t[last])
            if right == left or (code == 0 and name not in solution.literals):
                continue
            panel.broken_barh([(left, right - left)], (-place - 0.35, 0.7), color=colour, linewidth=0,
                              alpha=0.25 + 0.55 * (code + 1) / len(literals))
            if name in solution.literals and 0 <= code < len(literals) and abs(right - left) > 0.06 * abs(t[-1] - t[0]):
                panel.text((left + right) / 2, -place, literals[code], ha="center", va="center", fontsize="small")
        panel.axhline(-place - 0.35, color=colour, linewidth=0.8)
    panel.set_yticks([-k for k in range(len(rows))], list(rows))
    panel.set_ylim(-len(rows) + 0.5, 0.5)
    panel.spines[["top", "right"]].set_visible(False)


def _frame(panel: Any) -> None:
    panel.grid(True, color=GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)


def draw_phase(solution: Solution, phase: tuple[str, str], axes: Any, points: int, events: bool) -> Any:
    """One variable over another; the start is a ring, events are dots."""
    import matplotlib.pyplot as plt
    t, (x, y) = _curves(solution, list(phase), points)
    panel = axes if axes is not None else plt.subplots(layout="constrained")[1]
    panel.plot(x, y, linewidth=1.2, color=COLOURS[0])
    panel.plot(x[0], y[0], "o", markersize=5, markerfacecolor="none", color=COLOURS[0])
    if events:
        at = np.isin(t, [e["t"] for e in solution.events])
        panel.plot(x[at], y[at], ".", markersize=4, color="#000000")
    labels = [f"{name} [{solution.units[solution.index(name)]}]" if solution.units[solution.index(name)] else name
              for name in phase]
    panel.set(xlabel=labels[0], ylabel=labels[1], title=solution.name)
    _frame(panel)
    return panel


def draw_study(study: Study, y: str | None, x: str | None, axes: Any) -> Any:
    """Numbers or samples over what varies; over two axes a map of colours; two samples over each other."""
    import matplotlib.pyplot as plt
    panel = axes if axes is not None else plt.subplots(layout="constrained")[1]
    extra = study.collected
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


def draw_fit(fit: Fit, axes: Any) -> Any:
    """Data as points and the model as a curve, one panel for each series; measured times of events are dotted lines."""
    import matplotlib.pyplot as plt
    run, rows = fit.solution, fit.residuals
    if run is None:
        raise RuntimeError(f"there is no run to draw: {fit.message}")
    series = rows[rows["variable"] != ""]
    shown = dict(zip(map(str, series["label"]), map(str, series["variable"]))) or {name: name for name in run.names[:3]}
    if axes is None:
        size = (8, max(3.0, 2.6 * len(shown)))
        axes = plt.subplots(len(shown), 1, sharex=True, squeeze=False, layout="constrained", figsize=size)[1][:, 0]
    panels = np.atleast_1d(axes)
    if len(panels) != len(shown):
        raise ValueError(f"{len(shown)} series need as many axes, not {len(panels)}")
    t, values = _curves(run, list(shown.values()), 1000)
    seen = t <= rows["t"].max()  # a run may go on behind the data, to look for events
    for panel, (label, variable), row in zip(panels, shown.items(), values):
        panel.plot(t[seen], row[seen], linewidth=1.5, color=COLOURS[0], label="model")
        data = series[series["label"] == label]
        if len(data):
            panel.plot(data["t"], data["measured"], "o", markersize=3, color=COLOURS[1], label="data")
        for when in rows["measured"][rows["variable"] == ""]:
            panel.axvline(when, zorder=1, **EVENTS)
        panel.legend(loc="upper right", frameon=False)
        unit = run.units[run.index(variable)]
        panel.set_ylabel(f"{label} [{unit}]" if unit else label)
        _frame(panel)
    panels[-1].set_xlabel("time")
    panels[0].set_title(fit.name)
    return axes


def draw_branch(branch: Branch, variable: str | None, show: str, axes: Any) -> Any:
    """A branch over its parameter: stable parts are solid, unstable ones dashed, bifurcations are points with names."""
    import matplotlib.pyplot as plt
    if not branch.points:
        raise RuntimeError(f"there is no branch to draw: {branch.message}")
    name = variable if variable is not None else branch.variables[0]
    x, y, stable = branch.parameters, branch.values(name, show), branch.stable
    panel = axes if axes is not None else plt.subplots(layout="constrained")[1]
    unstable = ~stable  # with the neighbours, so that there are no gaps
    unstable[1:] |= ~stable[:-1]
    unstable[:-1] |= ~stable[1:]
    for part, which, style, colour in (("stable", stable, "-", COLOURS[0]), ("unstable", unstable, "--", COLOURS[1])):
        if which.any():
            panel.plot(x, np.where(which, y, np.nan), style, linewidth=2, color=colour, label=part)
    for k, b in enumerate(branch.bifurcations):
        value = getattr(b.point, show)[branch.variables.index(name)]
        panel.plot(b.parameter, value, "so^vDP"[k % 6], color="#000000", markersize=6, markerfacecolor="none",
                   label=f"{b.kind} at {b.parameter:.6g}")
    panel.legend(frameon=False)
    panel.set(xlabel=branch.parameter, ylabel=f"{name} at the begin" if show == "start" else f"{show} {name}",
              title=branch.name)
    _frame(panel)
    return panel
