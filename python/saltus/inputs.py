"""Values of inputs as users give them: numbers, tables, functions of time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

import numpy as np

from ._core import InputSignal, UsageError

Signal = Union[float, Callable[[float], Any], Sequence[Any], InputSignal]


def signal(name: str, value: Any) -> InputSignal:
    """A number, a function of time, a table as (times, values), a pandas Series over time, or an InputSignal."""
    if isinstance(value, InputSignal):
        return value
    if callable(value):
        return InputSignal.function(value)
    if hasattr(value, "index") and hasattr(value, "to_numpy"):  # a Series
        value = (value.index, value)
    try:
        if isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim > 0):
            times, values = (np.asarray(column, float) for column in value)
            return InputSignal.table(times, values)
        return InputSignal.constant(float(value))
    except (TypeError, ValueError) as error:
        if isinstance(error, UsageError):
            raise UsageError(f"the input '{name}': {error}") from None
        raise TypeError(f"the input '{name}' needs a number, a function of time, a table (times, values) or an "
                        f"InputSignal, not {value!r}") from None


def signals(inputs: Mapping[str, Signal]) -> dict[str, InputSignal]:
    """All inputs of a run, by name."""
    return {name: signal(name, value) for name, value in inputs.items()}
