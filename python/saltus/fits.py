"""Fits: parameters and start values from measurements, by least squares through all events of a run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from . import _core
from .extension import ExtendedModel, Quantity
from .model import Model, ModelicaModel
from .search import SearchError, run_options, solution_of, with_error
from .solution import Solution, nearest

if TYPE_CHECKING:
    from .arrays import Array, ArrayLike, Records

Path = Union[str, "os.PathLike[str]"]
#: None (the value in the model), a guess, or (guess, lower, upper), in which None stands for no bound.
Wanted = Union[None, float, "tuple[float | None, float | None, float | None]"]


@dataclass(frozen=True)
class FittedParameter:
    """What was found for a parameter. ``error`` is its standard error, NaN where there is none: at a bound,
    undetermined, or as many values as parameters."""

    name: str
    value: float
    error: float
    lower: float
    upper: float
    at_bound: bool
    undetermined: bool

    def __str__(self) -> str:
        return f"{self.name} = {with_error(self.value, self.error)}" + (
            f" ± {self.error:.2g}" if np.isfinite(self.error) else f" ({self.remark})")

    @property
    def remark(self) -> str:
        """The standard error, or why there is none."""
        if self.at_bound:
            return "at its bound"
        if self.undetermined:
            return "undetermined"
        return f"{self.error:.2g}" if np.isfinite(self.error) else "unknown"


@dataclass(repr=False, eq=False)
class Fit:
    """The parameters that fit data best, and how well the data determine them.

    ``fit["e"]`` is the value of a parameter; ``fit.values`` has all, as ``simulate(model, values=fit.values)`` takes
    them.
    """

    name: str
    #: "converged", "at_bound", "undetermined", "not_converged" or "failed".
    status: str
    #: What is wrong, and what to try; "" if nothing is.
    message: str
    #: Where differences took the place of derivatives, and events that are missing.
    notes: list[str]
    parameters: list[FittedParameter]
    #: Of the parameters; NaN for those without a standard error.
    correlations: Array
    #: Of the weighted residuals.
    sum_of_squares: float
    #: Standard deviation of the residuals, where no sigmas were given.
    deviation: float | None
    degrees_of_freedom: int
    #: A structured array: label, variable ("" for the time of an event), t, measured, modelled, weighted.
    residuals: Records
    #: Runs of the model without derivatives, and with them.
    runs: int
    derivatives: int
    #: With the parameters that were found; None if the model could not be run.
    solution: Solution | None

    @property
    def ok(self) -> bool:
        """True for "converged" and "at_bound"."""
        return self.status in ("converged", "at_bound")

    @property
    def values(self) -> dict[str, float]:
        return {p.name: p.value for p in self.parameters}

    @property
    def errors(self) -> dict[str, float]:
        """Standard errors."""
        return {p.name: p.error for p in self.parameters}

    def __getitem__(self, name: str) -> float:
        try:
            return self.values[name]
        except KeyError:
            raise KeyError(f"'{name}' was not fitted{nearest(name, list(self.values))}") from None

    def plot(self, axes: Any = None) -> Any:
        """Draws data and model over time with matplotlib: one panel for each series. Returns axes."""
        from . import plotting
        return plotting.draw_fit(self, axes)

    def to_pandas(self) -> Any:
        """The residuals as a DataFrame."""
        import pandas  # type: ignore[import]
        return pandas.DataFrame(self.residuals)

    def __repr__(self) -> str:
        return f"<Fit of '{self.name}': {self.status}, {', '.join(map(str, self.parameters))}>"

    def __str__(self) -> str:
        """Status, parameters, correlations."""
        width = max(9, *(len(p.name) for p in self.parameters))
        lines = [f"{self.status} after {self.runs} runs and {self.derivatives} with derivatives"]
        lines += [self.message] if self.message else []
        lines += [f"note: {note}" for note in self.notes]
        lines += ["", f"  {'parameter':<{width}}  {'value':>18}  {'standard error':>14}"]
        lines += [f"  {p.name:<{width}}  {with_error(p.value, p.error):>18}  {p.remark:>14}" for p in self.parameters]
        if len(self.parameters) > 1 and self.correlations.size:
            lines += ["", "correlations", f"  {'':<{width}}" + "".join(f"  {p.name:>10}" for p in self.parameters[:-1])]
            for k, p in enumerate(self.parameters[1:], 1):
                row = "".join("  " + ("-" if np.isnan(c) else f"{c:.4f}").rjust(10) for c in self.correlations[k, :k])
                lines.append(f"  {p.name:<{width}}{row}")
        freedom = f"{self.degrees_of_freedom} degree{'s' * (self.degrees_of_freedom != 1)} of freedom"
        lines += ["", f"{len(self.residuals)} values, {freedom}, sum of squares {self.sum_of_squares:.6g}"]
        if self.deviation is not None:
            lines.append(f"standard deviation of the residuals: {self.deviation:.4g}")
        return "\n".join(lines)


@dataclass
class _Series:
    label: str
    times: Array
    values: Array
    sigma: Array


def _series_of(data: Any) -> list[_Series]:
    """The series of a file, of a DataFrame, or of a mapping from names to (times, values) or (times, values, sigma)."""
    if isinstance(data, (str, os.PathLike)):
        return [_Series(*row) for row in _core.read_fit_data(os.fspath(data))]
    if hasattr(data, "columns") and hasattr(data, "index"):  # a DataFrame: the index is the time
        times = np.asarray(data.index, float)
        named = {str(name): np.asarray(data[name], float) for name in data.columns}
        none = np.empty(0)
        return [_Series(name, times, column, named.get(f"sigma({name})", none)) for name, column in named.items()
                if not (name.startswith("sigma(") and name[6:-1] in named)]
    if not isinstance(data, Mapping):
        raise TypeError("data are a mapping {variable: (times, values)}, a DataFrame over time or the name of a CSV "
                        f"file, not {type(data).__name__}")
    return [_series(str(label), given) for label, given in data.items()]


def _series(label: str, given: Any) -> _Series:
    if hasattr(given, "index") and hasattr(given, "to_numpy"):  # a pandas Series over time
        given = (given.index, given.to_numpy())
    if not isinstance(given, (tuple, list)) or len(given) not in (2, 3):
        raise _core.UsageError(f"the data of '{label}' must be (times, values) or (times, values, sigma)")
    times, values, *sigma = (np.atleast_1d(np.asarray(part, float)) for part in given)
    if times.shape != values.shape or times.ndim != 1:
        raise _core.UsageError(f"'{label}' has {times.size} times and {values.size} values")
    return _Series(label, times, values, sigma[0] if sigma else np.empty(0))


def _events_of(events: Any) -> list[_Series]:
    if isinstance(events, (str, os.PathLike)):
        return [_Series(event, times, times, sigma) for event, times, sigma in _core.read_fit_events(os.fspath(events))]
    if not isinstance(events, Mapping):
        raise TypeError(f"events are a mapping {{event: times}} or the name of a CSV file, not {type(events).__name__}")
    arrays = {str(event): np.atleast_1d(np.asarray(times, float)) for event, times in events.items()}
    return [_Series(event, times, times, np.empty(0)) for event, times in arrays.items()]


def _give_sigma(measured: list[_Series], sigma: Any) -> None:
    """Standard deviations: one for all that have none, or by name."""
    labels = [s.label for s in measured]
    if not isinstance(sigma, Mapping):
        sigma = {s.label: sigma for s in measured if not s.sigma.size}
    for name, value in sigma.items():
        if name not in labels:
            raise _core.UsageError(f"sigma: '{name}' was not measured{nearest(name, labels)}")
        for s in measured:
            if s.label == name:
                s.sigma = np.atleast_1d(np.asarray(value, float))


def _parameters_of(parameters: Sequence[str] | Mapping[str, Wanted]) -> list[tuple[str, float, float, float]]:
    if isinstance(parameters, str):
        raise TypeError(f"parameters must be names, for example [{parameters!r}], or {{{parameters!r}: guess}}")
    named = parameters if isinstance(parameters, Mapping) else dict.fromkeys(parameters)
    wanted = []
    for name, given in named.items():
        parts = given if isinstance(given, (tuple, list)) else (given, None, None)
        if len(parts) != 3:
            raise _core.UsageError(f"'{name}' must have a guess, or (guess, lower, upper)")
        guess, lower, upper = (default if part is None else float(part)
                               for part, default in zip(parts, (np.nan, -np.inf, np.inf)))
        wanted.append((name, guess, lower, upper))
    return wanted


def fit(model: Model | ModelicaModel, data: Any, parameters: Sequence[str] | Mapping[str, Wanted], *,
        events: Path | Mapping[str, ArrayLike] | None = None,
        sigma: float | Mapping[str, ArrayLike] | None = None, measure: Mapping[str, Quantity] | None = None,
        values: Mapping[str, float] | None = None, windows: int = 1, max_runs: int = 200, tolerance: float = 1e-10,
        check: bool = True, **options: Any) -> Fit:
    """Finds the parameters with which a model is nearest to data, by least squares, and says how sure they are.

    data        what was measured: {"h": (times, values)} or {"h": (times, values, sigma)}, a DataFrame over time, or
                the name of a CSV file. A value that is NaN is missing. Names are variables or expressions ("p1 - p2")
    parameters  what is to be found: ["e", "h.start"], or with guesses and bounds {"e": 0.8, "k": (1.0, 0, 10)}
    events      measured times of the first, second, … event: {"when h < 0": times}, or the name of a CSV file; an event
                is a guard, a clause, a kind ("slide_exit"), or a kind and one of the others
    sigma       standard deviations: of all values, or by name; without any they are estimated
    measure     what a name in the data has the values of: {"distance": "p1 - p2"}
    values      other parameters and start values, by name
    windows     more than 1: multiple shooting finds the guess, for long and for chaotic records
    max_runs    of the model without derivatives
    tolerance   the search ends where steps of the parameters are shorter, relative to their values
    check       raise SearchError where the fit does not end well; if false look at ``status``

    Further options are those of ``simulate``; rtol is 1e-8 and atol a hundredth of it, and a run ends where the data
    do. Raises UsageError for wrong data. Ctrl-C raises KeyboardInterrupt.
    """
    extended = ExtendedModel(model, values, options.get("start"), "fit")
    chosen = run_options(model, options, 1e-8, "a run ends where the data end")
    wanted = _parameters_of(parameters)
    if not wanted:
        raise _core.UsageError('say which parameters to find: ["mu"], or with a guess and bounds {"mu": (0.4, 0, 1)}')
    series = _series_of(data) if data is not None else []
    measured = _events_of(events) if events is not None else []
    if sigma is not None:
        _give_sigma(series + measured, sigma)
    labels = [s.label for s in series]
    for label in measure or {}:
        if label not in labels:
            raise _core.UsageError(f"measure: '{label}' is not among the data{nearest(label, labels)}")
    rows = [(extended.value((measure or {}).get(s.label, s.label)), s.times, s.values, s.sigma, s.label)
            for s in series]
    found = _core.fit(_core.CompiledModel(extended.model), rows, [(e.label, e.times, e.sigma) for e in measured],
                      wanted, int(max_runs), int(windows), float(tolerance), chosen)
    result = _fit_of(found, extended)
    if check and not result.ok:
        raise SearchError(result)
    return result


def _fit_of(found: dict[str, Any], model: ExtendedModel) -> Fit:
    rows = found.pop("residuals")
    width = max((max(len(r[0]), len(r[1])) for r in rows), default=1) or 1
    kinds = [("label", f"U{width}"), ("variable", f"U{width}"), ("t", float), ("measured", float), ("modelled", float),
             ("weighted", float)]
    parameters = [FittedParameter(*row) for row in found.pop("parameters")]
    solution = solution_of(found.pop("run"), model)
    return Fit(name=model.model.name, parameters=parameters, residuals=np.array(rows, dtype=kinds), solution=solution,
               **found)
