"""numpy's functions on expressions: ``np.sign(x)``, ``np.float64(2)*x``, ``np.array([1, 2])*x``.

Arrays of expressions are object arrays, whose elements numpy asks for methods (``np.sin(a)`` calls ``sin`` of each).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _core

FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.power: operator.pow, np.remainder: _core.mod, np.negative: operator.neg, np.positive: operator.pos,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
    np.equal: operator.eq, np.square: lambda x: x * x, np.reciprocal: lambda x: 1.0 / x,
    np.absolute: _core.abs, np.fabs: _core.abs, np.sign: _core.sign, np.floor: _core.floor, np.ceil: _core.ceil,
    np.sqrt: _core.sqrt, np.exp: _core.exp, np.log: _core.log, np.log10: _core.log10, np.sin: _core.sin,
    np.cos: _core.cos, np.tan: _core.tan, np.arcsin: _core.asin, np.arccos: _core.acos, np.arctan: _core.atan,
    np.arctan2: _core.atan2,
    np.sinh: _core.sinh, np.cosh: _core.cosh, np.tanh: _core.tanh, np.arcsinh: _core.asinh, np.arccosh: _core.acosh,
    np.arctanh: _core.atanh, np.minimum: _core.min, np.maximum: _core.max, np.fmin: _core.min, np.fmax: _core.max,
    np.hypot: lambda x, y: _core.sqrt(x * x + y * y),
}


def apply(ufunc: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """What numpy asks of ``__array_ufunc__``: the function of numpy on expressions, or NotImplemented."""
    function = FUNCTIONS.get(ufunc)
    if function is None or method != "__call__" or options:
        return NotImplemented
    plain = [x.item() if isinstance(x, (np.generic, np.ndarray)) and x.ndim == 0 else x for x in inputs]
    if not any(isinstance(x, np.ndarray) for x in plain):
        return function(*plain)
    arrays = np.broadcast_arrays(*(x if isinstance(x, np.ndarray) else np.array(x, dtype=object) for x in plain))
    result = np.empty(arrays[0].shape, dtype=object)
    for place in np.ndindex(result.shape):
        result[place] = function(*(a[place] for a in arrays))
    return result
