"""Studies: one model with many values, in threads. Results are arrays in the shape of what varies."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from .expression_text import condition, number
from .extension import ExtendedModel, Quantity
from .model import Model, ModelicaModel
from .run import complete
from .solution import Solution, nearest

if TYPE_CHECKING:
    from .arrays import AnyArray, ArrayLike

Collected = Union[Sequence[str], Mapping[str, "str | tuple[str, Quantity]"]]


class Study:
    """The results of a study.

    ``study["max(x)"]`` is an array in the shape of the grid: one dimension for each axis, then one for the draws of
    random values, then one for the samples. ``study.axes`` has the values along the axes. ``study.failures`` lists the
    members that did not end well; their numbers are NaN.
    """

    def __init__(self, result: _core.StudyResult, name: str, study: _core.Study | None = None) -> None:
        self.name, self._study = name, study
        self.members: int = result.members
        self.failures: list[dict[str, Any]] = result.failures
        self.counts: dict[str, int] = result.counts
        self.collected: list[str] = result.collected  # in the order in which it was asked for
        sizes = result.axes
        draws = (result.draws,) if result.draws > 1 else ()
        shape = tuple(size for _, size in sizes) + draws
        both = bool(sizes) and 2 * int(np.prod(shape)) == self.members  # directions: upwards, then downwards
        if not sizes and not draws:
            shape = (self.members,)  # a table
        self.shape: tuple[int, ...] = (2, *shape) if both else shape
        self.units: dict[str, str] = {}
        self._arrays: dict[str, AnyArray] = {}
        self._varied: list[str] = []
        for name_, kind, width, unit, _, coordinate in result.arrays:
            values = result.values(name_).astype(kind).reshape(self.shape + ((width,) if width else ()))
            values.flags.writeable = False
            self._arrays[name_], self.units[name_] = values, unit
            if coordinate and not (both and name_ == "direction"):
                self._varied.append(name_)
        first = 1 if both else 0
        self.axes: dict[str, AnyArray] = {
            axis: np.moveaxis(self._arrays[self._varied[k]], first + k, 0).reshape(size, -1)[:, 0]
            for k, (axis, size) in enumerate(sizes)}

    @property
    def names(self) -> list[str]:
        """What varies, what was collected, and ``status``, ``steps``, ``events``, ``t_end``, … of each member."""
        return list(self._arrays)

    @property
    def ok(self) -> bool:
        """Whether all members ended well."""
        return not self.failures

    def __getitem__(self, name: str) -> AnyArray:
        try:
            return self._arrays[name]
        except KeyError:
            raise KeyError(f"there is no result '{name}'{nearest(name, self.names)}") from None

    def to_dict(self) -> dict[str, AnyArray]:
        """All arrays, by name."""
        return dict(self._arrays)

    def to_pandas(self) -> Any:
        """A DataFrame with a row for each member; the samples of x are the columns x[1], x[2], …"""
        import pandas  # type: ignore[import]
        columns: dict[str, AnyArray] = {}
        for name, values in self._arrays.items():
            if values.ndim == len(self.shape):
                columns[name] = values.ravel()
            else:
                rows = values.reshape(self.members, -1)
                columns.update((f"{name}[{k + 1}]", rows[:, k]) for k in range(rows.shape[1]))
        return pandas.DataFrame(columns, index=pandas.RangeIndex(self.members, name="member"))

    def member(self, index: int | tuple[int, ...]) -> Solution:
        """A member once more, with all its steps and events: by its number, or its place in the grid."""
        if self._study is None:
            raise RuntimeError("a study that was unpickled or opened has its numbers; run a member by "
                               "simulate(model, values=…)")
        number = int(np.ravel_multi_index(index, self.shape)) if isinstance(index, tuple) else index
        if not 0 <= number < self.members:
            raise IndexError(f"the study has the members 0 to {self.members - 1}, not {number}")
        return Solution(self._study.run_member(number), self.name)

    def plot(self, y: str | None = None, x: str | None = None, axes: Any = None) -> Any:
        """Draws with matplotlib: numbers or samples over the last axis, or a map over two axes. Returns axes."""
        from . import plotting
        return plotting.draw_study(self, y, x, axes)

    @property
    def varied(self) -> list[str]:
        """What varies."""
        return list(self._varied)

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__, _study=None)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        return f"<Study of '{self.name}': {self.members} members ({counts}), {', '.join(self.collected)}>"


class _Plan(ExtendedModel):
    """A copy of the model with variables for the expressions that a study asks for, and the plan for it."""

    def __init__(self, model: Model | ModelicaModel, values: Mapping[str, ArrayLike] | None,
                 options: dict[str, Any]) -> None:
        super().__init__(model, values, options.get("start"), "study")
        self.stop_given = options.get("stop") is not None
        self.parts: dict[str, Any] = {
            "over": {}, "random": {}, "table": {}, "members": 1, "seed": 0, "sample_at": "none", "period": 0.0,
            "sample_variable": "", "transient": 0, "keep": 0, "after": None, "collect": [], "follow": "none",
            "tolerance": 1e-4, "time_limit": None, "options": complete(model.experiment, options)}

    def counter(self, when: _core.BoolExpr) -> str:
        name = self.new_name()
        self.model.count_crossings(when, name)
        return name

    def vary(self, over: Mapping[str, ArrayLike] | None, random: Mapping[str, tuple[str, float, float]] | None,
             members: int, seed: int, table: Mapping[str, ArrayLike] | None) -> None:
        for name, values in (over or {}).items():
            if np.ndim(values) != 1 or not np.size(values):
                raise _core.UsageError(f"over: '{name}' needs a list of values, for example np.linspace(0, 1, 100)")
        self.parts["over"] = {name: np.asarray(v, float) for name, v in (over or {}).items()}
        for name, drawn in (random or {}).items():
            if not isinstance(drawn, (tuple, list)) or len(drawn) != 3:
                raise _core.UsageError(f"random: '{name}' needs (\"uniform\", a, b), (\"loguniform\", a, b) or "
                                       "(\"normal\", mean, deviation)")
        self.parts["random"] = {name: tuple(drawn) for name, drawn in (random or {}).items()}
        self.parts["table"] = {str(name): np.asarray(table[name], float) for name in table} if table is not None else {}
        self.parts.update(members=int(members), seed=int(seed))

    def sample(self, period: Quantity | None, section: Quantity | None, direction: str, transient: int,
               keep: int) -> None:
        if period is None and section is None:
            return
        if period is not None and section is not None:
            raise _core.UsageError("period and section are two ways to sample; leave out one of them")
        self.parts.update(transient=int(transient), keep=int(keep))
        if isinstance(period, (int, float)):
            self.parts.update(sample_at="period", period=float(period))
        elif period is not None:
            self.parts.update(sample_at="period", sample_variable=self.value(period))
        elif section is not None:
            if not self.stop_given:
                raise _core.UsageError("section: say with stop=… when members end that do not cross it often")
            self.parts.update(sample_at="section", sample_variable=self.crossings(section, direction))

    def crossings(self, section: Quantity, direction: str) -> str:
        if direction not in ("up", "down", "both"):
            raise _core.UsageError(f'direction is one of "up", "down", "both", not "{direction}"')
        g = number(self.expression(section))
        counters = [self.counter(g > 0.0)] if direction != "down" else []
        if direction != "up":
            counters.append(self.counter(g < 0.0))
        if len(counters) == 1:
            return counters[0]
        name = self.new_name()
        self.model.define(self.model.discrete(name, 0.0), self.model[counters[0]] + self.model[counters[1]])
        return name

    def collect(self, what: str, quantity: Quantity, name: str) -> None:
        counts = what in ("count", "first")
        variable = self.counter(condition(self.expression(quantity))) if counts else self.value(quantity)
        self.parts["collect"].append((what, variable, name))

    def collect_all(self, wanted: Collected) -> None:
        if isinstance(wanted, str):
            wanted = [wanted]
        named = list(wanted.items()) if isinstance(wanted, Mapping) else [("", text) for text in wanted]
        for name, item in named:
            if isinstance(item, tuple):
                self.collect(item[0], item[1], name)
                continue
            found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", item, re.S)
            if found is None:
                raise _core.UsageError('collect wants "final(x)", "min(x)", "max(x)", "mean(x)", "count(x > 1)", '
                                       f'"first(x > 1)", "sample(x)" or "period(x)", not "{item}"')
            what, argument = found[1], found[2].strip()
            self.collect(what, argument, name or (argument if what == "sample" else f"{what}({argument})"))

    def samples(self, variables: Sequence[Quantity]) -> None:
        for v in variables:
            self.collect("sample", v, v if isinstance(v, str) else repr(v))

    def run(self, executor: str, threads: int, store: str | os.PathLike[str] | None, restart: bool,
            progress: Callable[[dict[str, Any]], Any] | None, attractors: bool = False) -> Study:
        self.parts["executor"] = executor
        study = _core.Study(self.model, self.parts)
        result = study.run(os.fspath(store) if store is not None else "", restart, threads, progress)
        if attractors and "not_run" not in result.counts:
            result.find_attractors()
        return Study(result, self.model.name, study)


def _list(variables: Quantity | Sequence[Quantity]) -> list[Quantity]:
    if isinstance(variables, (str, float, int, _core.Expr, _core.BoolExpr)):
        return [variables]
    return list(variables)


def sweep(model: Model | ModelicaModel, over: Mapping[str, ArrayLike] | None = None, *,
          collect: Collected | None = None, random: Mapping[str, tuple[str, float, float]] | None = None,
          members: int = 1, seed: int = 0, table: Mapping[str, ArrayLike] | None = None,
          period: Quantity | None = None, section: Quantity | None = None, direction: str = "up", transient: int = 0,
          keep: int = 1, after: float | None = None, tolerance: float = 1e-4,
          values: Mapping[str, ArrayLike] | None = None, threads: int = 0, executor: str = "full",
          time_limit: float | None = None, store: str | os.PathLike[str] | None = None, restart: bool = False,
          progress: Callable[[dict[str, Any]], Any] | None = None, **options: Any) -> Study:
    """Runs a model for many values, in threads, and returns a Study.

    over      parameters or start values by name, with the values of each: all combinations are members
    random    values drawn for each member, by name: ("uniform", a, b), ("loguniform", a, b) or ("normal", mean,
              deviation); ``members`` draws for each combination, other ones for another ``seed``
    table     instead: by name, the values of all members (a dict of lists, or a pandas DataFrame)
    collect   what is kept of a member: ["final(x)", "max(abs(v))", "count(h < 0)"], or by name {"top": "max(h)",
              "speed": ("max", abs(v))}; final, min, max, mean, count, first, sample, period. Default: final(…) of
              every variable
    period, section   when members are sampled: a time, or an expression that passes through zero upwards (or
              ``direction``); the first ``transient`` samples are dropped, ``keep`` are kept
    after     minima, maxima, means and counts see the run from this time on
    values    values for all members
    threads   0: as many as the machine has
    executor  "full": each member by itself; "lanes": eight at a time, several times faster where it is possible. The
              results agree within the tolerance, and ``study["path"]`` is 1 for members in lanes
    store     a folder for the results; a study that is there goes on; ``restart`` discards it
    progress  called some times a second with a dict (members, done, failed, seconds); returns False to stop

    Further options are those of ``simulate``. A member that fails leaves the others alone: see ``Study.failures``.
    """
    plan = _Plan(model, values, options)
    if not over and not random and table is None:
        raise _core.UsageError("say what varies: over={name: values}, random=… or table=…")
    plan.vary(over, random, members, seed, table)
    plan.sample(period, section, direction, transient, keep)
    if collect is None:
        plan.collect_all([f"final({name})" for name in plan.model.variable_names if not name.startswith("study.")])
    else:
        plan.collect_all(collect)
    plan.parts.update(after=after, tolerance=float(tolerance), time_limit=time_limit)
    return plan.run(executor, threads, store, restart, progress)


def bifurcation(model: Model | ModelicaModel, over: Mapping[str, ArrayLike],
                variables: Quantity | Sequence[Quantity], *, period: Quantity | None = None,
                section: Quantity | None = None, direction: str = "up", transient: int = 100, keep: int = 50,
                follow: str = "none", collect: Collected = (), tolerance: float = 1e-4,
                values: Mapping[str, ArrayLike] | None = None, threads: int = 0, executor: str = "full",
                time_limit: float | None = None, store: str | os.PathLike[str] | None = None, restart: bool = False,
                progress: Callable[[dict[str, Any]], Any] | None = None, **options: Any) -> Study:
    """Samples over a parameter: a bifurcation diagram.

    ``variables`` (names or expressions) are sampled once in a ``period`` or at a ``section``; ``follow`` is "up",
    "down" or "both": members start where their neighbour on the last axis ended. The rest is as for ``sweep``.
    """
    plan = _Plan(model, values, options)
    if period is None and section is None:
        raise _core.UsageError("say when members are sampled: period=\"2*pi/omega\" or section=\"v\"")
    plan.vary(over, None, 1, 0, None)
    plan.sample(period, section, direction, transient, keep)
    plan.samples(_list(variables))
    plan.collect_all(collect)
    plan.parts.update(follow=follow, tolerance=float(tolerance), time_limit=time_limit)
    return plan.run(executor, threads, store, restart, progress)


def poincare(model: Model | ModelicaModel, variables: Sequence[Quantity], *, period: Quantity | None = None,
             section: Quantity | None = None, direction: str = "up", transient: int = 100, keep: int = 1000,
             over: Mapping[str, ArrayLike] | None = None, values: Mapping[str, ArrayLike] | None = None,
             threads: int = 0, executor: str = "full", store: str | os.PathLike[str] | None = None,
             restart: bool = False,
             progress: Callable[[dict[str, Any]], Any] | None = None, **options: Any) -> Study:
    """Where a model passes through a section: samples of two variables. Arguments as for ``bifurcation``."""
    plan = _Plan(model, values, options)
    if period is None and section is None:
        raise _core.UsageError("say where the section is: section=\"x - 0.1\" or period=\"2*pi/omega\"")
    if len(_list(variables)) != 2:
        raise _core.UsageError("a point of the section has two values: variables=(\"x\", \"v\")")
    plan.vary(over, None, 1, 0, None)
    plan.sample(period, section, direction, transient, keep)
    plan.samples(_list(variables))
    return plan.run(executor, threads, store, restart, progress)


def basin(model: Model | ModelicaModel, over: Mapping[str, ArrayLike],
          variables: Sequence[Quantity] | None = None, *, period: Quantity | None = None,
          section: Quantity | None = None, direction: str = "up", transient: int = 200, keep: int = 8,
          tolerance: float = 1e-4, values: Mapping[str, ArrayLike] | None = None, threads: int = 0,
          executor: str = "full",
          time_limit: float | None = None, store: str | os.PathLike[str] | None = None, restart: bool = False,
          progress: Callable[[dict[str, Any]], Any] | None = None, **options: Any) -> Study:
    """Which attractor is reached from where: ``study["attractor"]`` is 1, 2, …, 0 where samples do not repeat, -1 where
    the member failed. ``variables`` tell attractors apart (default: the start values that vary). The rest is as for
    ``bifurcation``."""
    plan = _Plan(model, values, options)
    if len(over) != 2:
        raise _core.UsageError("a basin has two axes: over={\"x\": np.linspace(-2, 2, 200), \"v\": …}")
    if period is None and section is None:
        raise _core.UsageError("say when members are sampled: period=\"2*pi/omega\" or section=\"v\"")
    chosen = _list(variables) if variables is not None else [n for n in over if n in plan.model.variable_names]
    if not chosen:
        raise _core.UsageError("say what tells attractors apart: variables=(\"x\", \"v\")")
    plan.vary(over, None, 1, 0, None)
    plan.sample(period, section, direction, transient, keep)
    plan.samples(chosen)
    plan.parts.update(tolerance=float(tolerance), time_limit=time_limit)
    return plan.run(executor, threads, store, restart, progress, attractors=True)


def open_study(store: str | os.PathLike[str]) -> Study:
    """Opens the results of a study in a folder, also of the command line."""
    return Study(_core.StudyResult.open(os.fspath(store)), os.path.basename(os.fspath(store)))
