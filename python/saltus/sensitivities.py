"""Derivatives of runs by parameters and start values, through their events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from .model import AnyModel
from .run import Prepared, checked
from .solution import Solution, nearest

if TYPE_CHECKING:
    from .arrays import Array, ArrayLike


class SensitivityRun:
    """A run (``solution``) and its derivatives by ``parameters``.

    Derivatives are arrays whose dimensions are variables, parameters, times; a name that is given takes its dimension
    away. They are taken at a fixed time, so that they jump at events. There are derivatives up to the time ``end``:
    the end of the run, or an event behind which there are none, and then ``why`` says the reason. Asking for others
    raises UsageError.
    """

    def __init__(self, core: _core.SensitivityRun, solution: Solution) -> None:
        self._core = core
        self.solution = solution
        self.parameters: list[str] = core.parameters
        self.end, self.why = core.end, core.why
        #: One dict for each event up to ``end``: t, dt (an array: the derivative of its time by each parameter, empty
        #: where there is none), smoothness ("smooth", "one_sided" or "undefined"), dt_smoothness (of dt, by each
        #: parameter), text.
        self.events: list[dict[str, Any]] = core.events

    def __call__(self, t: ArrayLike, variable: str | None = None, parameter: str | None = None, *,
                 before: bool = False) -> Array:
        """Derivatives at times: ``s(t)`` has the shape (variables, parameters) + t.shape, ``s(t, "h", "e")`` that of t.

        At the time of an event they are those after it, or with ``before`` those before it.
        """
        times = np.asarray(t, float)
        left = np.full(times.size, before, np.uint8)
        return self._stack([self._core.sample(times.ravel(), p, left).reshape((-1,) + times.shape)
                            for p in self._chosen(parameter)], variable, parameter)

    def final(self, variable: str | None = None, parameter: str | None = None) -> Array:
        """Derivatives of the final values. Where the model has ended the run, the end moves with the parameter, and the
        values there are differentiated along with it."""
        return self._stack([self._core.final(p) for p in self._chosen(parameter)], variable, parameter)

    def final_smoothness(self, variable: str, parameter: str) -> str:
        """Of a derivative of a final value: "smooth"; "one_sided", it is that of one side, see ``remark``; or
        "undefined", it is NaN."""
        self._chosen(parameter)
        return self._core.final_smoothness(parameter)[self.solution.index(variable)]

    def smoothness(self, t: float, parameter: str) -> str:
        """Of the derivatives at a time: "smooth", or "one_sided" after an event whose two sides have others."""
        self._chosen(parameter)
        return self._core.smoothness(float(t), parameter)

    def remark(self, parameter: str) -> str:
        """Why derivatives by the parameter are one-sided or undefined somewhere; "" if they are not."""
        self._chosen(parameter)
        return self._core.remark(parameter)

    def __getitem__(self, names: tuple[str, str]) -> Array:
        """``s["h", "e"]``: the derivative of one variable by one parameter at the times ``s.solution.t``, where events
        stand twice: before and after."""
        if not isinstance(names, tuple) or len(names) != 2:
            raise TypeError('write s["variable", "parameter"]')
        variable, parameter = names
        t, left = self.solution.grid()
        self._chosen(parameter)
        row: Array = self._core.sample(t, parameter, left)[self.solution.index(variable)]
        return row

    @property
    def event_times(self) -> Array:
        """Derivatives of the times of the events: shape (events, parameters), NaN where there is none."""
        missing = np.full(len(self.parameters), np.nan)
        rows = [e["dt"] if len(e["dt"]) else missing for e in self.events]
        times: Array = np.array(rows, float).reshape(-1, len(self.parameters))
        return times

    def _chosen(self, parameter: str | None) -> list[str]:
        if parameter is None:
            return self.parameters
        if parameter not in self.parameters:
            raise KeyError(f"the run was not differentiated by '{parameter}'{nearest(parameter, self.parameters)}")
        return [parameter]

    def _stack(self, by_parameter: list[Array], variable: str | None, parameter: str | None) -> Array:
        """Arrays of all variables, one for each parameter, in the shape that was asked for."""
        derivatives: Array = np.stack(by_parameter, axis=1)
        if parameter is not None:
            derivatives = derivatives[:, 0]
        if variable is not None:
            derivatives = derivatives[self.solution.index(variable)]
        return derivatives

    def __reduce__(self) -> Any:
        raise TypeError("a SensitivityRun cannot be pickled: pickle the arrays that are needed, and its solution")

    def __repr__(self) -> str:
        until = f"up to t = {self.end:.6g}: {self.why}" if self.why else f"up to its end, t = {self.end:.6g}"
        return f"<Sensitivities of '{self.solution.name}' by {', '.join(self.parameters)}, {until}>"


def simulate_with_sensitivities(model: AnyModel, parameters: Sequence[str], *,
                                values: Mapping[str, ArrayLike] | None = None, check: bool = True,
                                control: bool = True, **options: Any) -> SensitivityRun:
    """Runs a model and differentiates the run by parameters (``"mu"``) and by start values (``"x.start"``).

    control  test the errors of the derivatives, which then take shorter steps than the run where they need them; if
             false they take the steps of the run. The run has the same bits either way

    The other arguments are those of ``simulate``. Raises UsageError for names by which a run cannot be differentiated,
    and RunError where the run itself fails, unless ``check`` is false.
    """
    if isinstance(parameters, str):
        raise TypeError(f"parameters must be a list of names, for example [{parameters!r}]")
    if not parameters:
        raise _core.UsageError('parameters must name something to differentiate by: ["mu"], or a start value, '
                               '["x.start"]')
    prepared = Prepared(model, values, options)
    core = _core.run_with_sensitivities(prepared.compiled, list(parameters), prepared.options, bool(control))
    return SensitivityRun(core, checked(prepared.solution(core.run), check))
