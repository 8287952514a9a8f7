"""simulate: from a model to a solution; Simulator: the same in steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _core
from .model import Model, ModelicaModel
from .solution import Solution

AnyModel = Union[Model, ModelicaModel, _core.CompiledModel]


class RunError(_core.Error):
    """A run that did not reach its end. ``solution`` holds what there is, ``status`` says why."""

    def __init__(self, solution: Solution) -> None:
        status = solution.status
        super().__init__(f"{status['code']} at t = {status['t']:.12g}: {status['message']}")
        self.solution, self.status = solution, status

    def __reduce__(self) -> Any:
        return RunError, (self.solution,)


def _prepare(model: AnyModel, values: Mapping[str, float] | None,
             options: dict[str, Any]) -> tuple[_core.CompiledModel, dict[str, Any]]:
    """The compiled model with these values, and all options: those that are given, then the model's own."""
    experiment = {} if isinstance(model, _core.CompiledModel) else model.experiment
    compiled = model if isinstance(model, _core.CompiledModel) else model.compile()
    if values:
        compiled = compiled.with_values([(name, float(value)) for name, value in values.items()])
    chosen = {key: value for key, value in experiment.items() if value is not None}
    chosen.update((key, value) for key, value in options.items() if value is not None)
    chosen.setdefault("start", 0.0)
    chosen.setdefault("stop", chosen["start"] + 1.0)
    chosen.setdefault("rtol", 1e-6)
    if "atol" not in chosen:
        chosen["atol"] = chosen["rtol"]
    for key in ("rtol", "atol"):
        if not isinstance(chosen[key], Sequence) and not hasattr(chosen[key], "__len__"):
            chosen[key] = float(chosen[key])
    return compiled, chosen


def simulate(model: AnyModel, *, values: Mapping[str, float] | None = None, check: bool = True,
             start: float | None = None, stop: float | None = None, rtol: float | Sequence[float] | None = None,
             atol: float | Sequence[float] | None = None, method: str = "auto", **options: Any) -> Solution:
    """Runs a model. Options that are not given come from its ``experiment`` annotation.

    ``values`` gives parameters and start values by name. Further options are those of ``SimulateOptions`` in C++:
    ``max_step``, ``initial_step``, ``max_order``, ``max_steps``, ``stop_if_non_unique``, ``stop_if_chattering``,
    ``keep_steps``. Raises RunError where the run fails, unless ``check`` is false: then look at ``solution.status``.
    """
    options.update(start=start, stop=stop, rtol=rtol, atol=atol, method=method)
    compiled, chosen = _prepare(model, values, options)
    source = (model.text or "", model.file) if isinstance(model, ModelicaModel) else ("", "")
    solution = Solution(_core.run(compiled, chosen), compiled.name, source)
    if check and not solution.ok:
        raise RunError(solution)
    return solution


class Simulator:
    """A run in steps, for a loop of your own."""

    def __init__(self, model: AnyModel, *, values: Mapping[str, float] | None = None, **options: Any) -> None:
        compiled, chosen = _prepare(model, values, options)
        self._core, self._name = _core.Simulator(compiled, chosen), compiled.name

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

    def finish(self) -> Solution:
        """Goes on to the end."""
        self._core.finish()
        return self.solution

    @property
    def solution(self) -> Solution:
        """What there is so far."""
        return Solution(self._core.result, self._name)
