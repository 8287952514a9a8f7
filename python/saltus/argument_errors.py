"""Wrong arguments of the compiled functions are refused in words, not with the signatures of C++."""

from __future__ import annotations

import functools
import re
from typing import Any

from . import _core

_UNSUPPORTED = "incompatible function arguments"
#: Names of types as users know them.
_TYPES = (("saltus._core.", ""), ("numpy.ndarray[numpy.float64]", "array"), ("typing.", ""))
#: What to write instead, where the usual mistake is known.
_HINTS = {
    "equation": "an equation joins two expressions by ==, for example m.equation(sl.der(x) == -x)",
    "variable": "the start value is a number, for example m.variable(\"x\", 1.0)",
    "parameter": "its value is a number, for example m.parameter(\"mu\", 0.4)",
    "reset": "name the variable and its new value, for example m.when(h < 0).reset(v, -0.9*v)",
    "assign": "name the variable and its new value, for example m.when(h < 0).assign(n, n + 1)",
    "when": "a condition compares expressions, for example m.when(h < 0)",
}


def _words(name: str, text: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> str:
    """The message of a refused call. ``text`` is that of pybind11."""
    signatures = re.findall(r"^    \d+\. \((.*)\) -> ", text, re.M)
    for long, short in _TYPES:
        signatures = [signature.replace(long, short) for signature in signatures]
    takes = " or ".join(f"{name}({re.sub(r'^self: [^,]*(, )?', '', signature)})" for signature in signatures)
    given = [_shown(value) for value in arguments] + [f"{key}={_shown(value)}" for key, value in options.items()]
    hint = f"; {_HINTS[name]}" if name in _HINTS else ""
    return f"{name} cannot take ({', '.join(given)}){hint}. It takes {takes}"


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:39] + '…'}"


def _mended(function: Any, is_method: bool) -> Any:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            text = str(error)
            if _UNSUPPORTED not in text.partition("\n")[0]:
                raise
            words = _words(function.__name__, text, arguments[is_method:], options)
        raise TypeError(words)
    return call


def mend() -> None:
    """Wraps the functions of the compiled module, and the methods of its classes other than operators."""
    for name, value in list(vars(_core).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, type):
            for member, function in list(vars(value).items()):
                if member.startswith("_"):
                    continue
                if isinstance(function, staticmethod):
                    setattr(value, member, staticmethod(_mended(function.__func__, False)))
                elif type(function).__name__ == "instancemethod":
                    setattr(value, member, _mended(function, True))
        elif type(value).__name__ == "builtin_function_or_method":
            setattr(_core, name, _mended(value, False))
