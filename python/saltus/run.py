"""simulate: from a model to a solution; Simulator: the same in steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from .inputs import Signal, signals
from .fmu import Fmu
from .model import Model, ModelicaModel, Runnable, settings
from .report import Report
from .solution import Solution

if TYPE_CHECKING:
    from .arrays import ArrayLike


class RunError(_core.Error):
    """A run that did not reach its end. ``solution`` holds what there is, ``status`` says why."""

    def __init__(self, solution: Solution) -> None:
        status = solution.status
        super().__init__(f"{status['code']} at t = {status['t']:.12g}: {status['message']}")
        self.solution, self.status = solution, status

    def __reduce__(self) -> Any:
        return RunError, (self.solution,)


class Prepared:
    """What is run, with its values, and all options of a run: those that are given, then the model's own."""

    def __init__(self, model: Runnable, values: Mapping[str, ArrayLike] | None, options: dict[str, Any]) -> None:
        if not isinstance(model, (Model, ModelicaModel, Fmu, _core.CompiledModel)):
            raise TypeError("a run needs a Model, what load or loads gave, or a compiled model, not "
                            + type(model).__name__)
        self.system: _core.HybridSystem
        self._compiled: _core.CompiledModel | None = None
        self._model = model
        self._chosen: dict[str, float] = {}
        if isinstance(model, Fmu):
            self.system = model._begin(settings(values), options)
            self._report = Report(model, self.system)
            self.options = complete(model.experiment, options)
            return
        if isinstance(model, ModelicaModel):
            model = self._model = model.for_start(options.get("start"))
        if isinstance(model, _core.CompiledModel) or values:
            self.system = self._compiled = self._with_values(values)
        else:  # loops over arrays stay loops
            self.system = _core.compile(model.core if isinstance(model, ModelicaModel) else model)
        self._report = Report(model, self.system, self._chosen)
        self.options = complete({} if isinstance(model, _core.CompiledModel) else model.experiment, options)

    def _with_values(self, values: Mapping[str, ArrayLike] | None) -> _core.CompiledModel:
        model = self._model
        assert not isinstance(model, Fmu)
        compiled = model if isinstance(model, _core.CompiledModel) else model.compile()
        self._chosen = settings(values)
        if self._chosen:
            try:
                compiled = compiled.with_values(list(self._chosen.items()))
            except _core.ModelError:  # it may decide a size: then the text must be read again
                if not isinstance(model, ModelicaModel):
                    raise
                compiled = model.with_values(self._chosen).compile()
        return compiled

    @property
    def compiled(self) -> _core.CompiledModel:
        """The model with all its equations. Raises TypeError for an FMU, whose equations are not known."""
        if isinstance(self._model, Fmu):
            raise TypeError("this needs the equations of a model, which an FMU does not show; simulate and Simulator "
                            "run FMUs")
        if self._compiled is None:
            self._compiled = self.system if isinstance(self.system, _core.CompiledModel) else self._with_values(None)
        return self._compiled

    def solution(self, run: _core.Run) -> Solution:
        return Solution(run, self.system.name, self._report, self)


def checked(solution: Solution, check: bool) -> Solution:
    """The same solution. Raises RunError if the run failed and ``check`` is true."""
    if check and not solution.ok:
        raise RunError(solution)
    return solution


def complete(experiment: Mapping[str, float | None], options: dict[str, Any]) -> dict[str, Any]:
    """All options of a run: those that are given, then those of the model's annotation, then the defaults."""
    chosen: dict[str, Any] = {key: value for key, value in experiment.items() if value is not None}
    chosen.update((key, value) for key, value in options.items() if value is not None)
    chosen.setdefault("start", 0.0)
    chosen.setdefault("stop", chosen["start"] + 1.0)
    chosen.setdefault("rtol", 1e-6)
    if "atol" not in chosen:
        chosen["atol"] = chosen["rtol"]
    for key in ("rtol", "atol"):
        if not isinstance(chosen[key], Sequence) and not hasattr(chosen[key], "__len__"):
            chosen[key] = float(chosen[key])
    if "inputs" in chosen:
        chosen["inputs"] = signals(chosen["inputs"])
    return chosen


def simulate(model: Runnable, *, values: Mapping[str, ArrayLike] | None = None, check: bool = True,
             start: float | None = None, stop: float | None = None, rtol: float | Sequence[float] | None = None,
             atol: float | Sequence[float] | None = None, method: str = "auto",
             inputs: Mapping[str, Signal] | None = None, lock_mode: bool = False, **options: Any) -> Solution:
    """Runs a model and returns its solution.

    model    what load (also of an FMU), loads or Model gave, or what its compile() gave
    values   parameters ("e") and start values ("h", "h.start" or "h(start)"), by name; arrays take lists
    inputs   values of inputs, by name: a number, a table (times, values), a function of time, a pandas Series over
             time, or an InputSignal; inputs without values keep their start values
    start, stop, rtol, atol   default: the model's experiment annotation, or 0, start + 1, 1e-6, as rtol; rtol and
             atol may be sequences, with a number for each variable
    method   "auto" or one of the names that the page of methods lists
    check    raise RunError where the run fails; if false look at ``solution.status``
    lock_mode   stay in the mode of the start: no guard is watched, and relations keep their truths

    Further options are those of ``SimulateOptions`` in C++: ``max_step``, ``initial_step``, ``max_order``,
    ``max_steps``, ``max_mode_changes``, ``max_events``, ``shortest_interval``, ``flights_after``,
    ``local_events_from``, ``mode_methods``,
    ``stop_if_non_unique``, ``stop_if_chattering``, ``keep_steps``, ``keep_event_values``.

    Ctrl-C raises KeyboardInterrupt, whose attribute ``solution`` is what there is up to then.
    """
    options.update(start=start, stop=stop, rtol=rtol, atol=atol, method=method, inputs=inputs)
    prepared = Prepared(model, values, options)
    try:
        system = _core.lock_mode(prepared.system) if lock_mode else prepared.system
        run = _core.run(system, prepared.options)
    except KeyboardInterrupt as interrupt:
        if hasattr(interrupt, "run"):
            setattr(interrupt, "solution", prepared.solution(interrupt.run))
        raise
    return checked(prepared.solution(run), check)


class Simulator:
    """A run in steps, for a loop of your own, in one thread at a time. Options are those of ``simulate``.

    ``from_state`` goes on where another run of the same model stood (``state()``).
    """

    def __init__(self, model: Runnable, *, values: Mapping[str, ArrayLike] | None = None,
                 from_state: _core.SimulatorState | None = None, **options: Any) -> None:
        if isinstance(model, Fmu) and from_state is not None:
            raise _core.UsageError("from_state is for models; the state of an FMU stays inside of the FMU")
        self._prepared = Prepared(model, values, options)
        self._core = _core.Simulator(self._prepared.system, self._prepared.options, from_state)

    @property
    def t(self) -> float:
        return self._core.t

    @property
    def values(self) -> dict[str, float]:
        """All variables, by name."""
        return self._core.values

    @property
    def finished(self) -> bool:
        return self._core.finished

    @property
    def status(self) -> dict[str, Any]:
        return self._core.status

    def step(self) -> bool:
        """One step, or the part of it up to an event, and the event. False: the run is over."""
        return self._core.step()

    def advance_to(self, t: float) -> bool:
        """Goes on to a time. False: the run ended before."""
        return self._core.advance_to(t)

    def set_input(self, name: str, value: float, slope: float = 0.0) -> None:
        """From now on an input has this value, and moves along a line of this slope."""
        self._core.set_inputs({name: (float(value), float(slope))})

    def set_inputs(self, values: Mapping[str, float | tuple[float, float]]) -> None:
        """Several inputs at one instant: by name, a value, or a value and a slope."""
        self._core.set_inputs({name: (float(v[0]), float(v[1])) if isinstance(v, tuple) else (float(v), 0.0)
                               for name, v in values.items()})

    def state(self) -> _core.SimulatorState:
        """Where the run stands, for ``Simulator(model, from_state=…)``; it pickles, and ``save`` writes a file."""
        if isinstance(self._prepared.system, _core.ImportedFmu):
            raise _core.UsageError("the state of an FMU stays inside of the FMU: it cannot be kept")
        return self._core.state()

    def fork(self) -> Simulator:
        """Another run that goes on from here by itself."""
        other = Simulator.__new__(Simulator)
        other._core, other._prepared = self._core.fork(), self._prepared
        return other

    def forget_past(self) -> None:
        """Gives back the steps and events so far: the solution then begins at the present time."""
        self._core.forget_past()

    def finish(self, *, check: bool = True) -> Solution:
        """Goes on to the end. Raises RunError where the run fails, unless ``check`` is false."""
        self._core.finish()
        return checked(self.solution, check)

    @property
    def solution(self) -> Solution:
        """What there is so far."""
        return self._prepared.solution(self._core.result)
