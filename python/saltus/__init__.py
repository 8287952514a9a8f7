"""Switched differential-algebraic equations: models, runs, results.

    import saltus as sl

    ball = sl.load("BouncingBall.mo")
    run = sl.simulate(ball)
    run["h"], run.t, run.events
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._core import (
    BoolExpr, Equation, Error, Expr, ExplicitMode, InputSignal, ModelError, ModelicaError, ModeTransition,
    SimulatorState, UsageError, When, __version__, abs, acos, acosh, asin, asinh, atan, atan2, atanh, ceil, cos, cosh,
    der, equal, exp, floor, if_else, load_state, log, log10, max, min, mod, no_event, sign, sin, sinh, sqrt, tan, tanh,
)
from .model import Model, ModelicaModel, load, loads

if TYPE_CHECKING:
    from .run import RunError, Simulator, simulate
    from .scipy_like import IvpResult, solve_ivp
    from .sensitivities import SensitivityRun, simulate_with_sensitivities
    from .solution import Solution
    from .study import Study, basin, bifurcation, open_study, poincare, sweep

__all__ = [
    "__version__", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "basin", "bifurcation",
    "BoolExpr", "ceil", "cos", "cosh", "der", "equal", "Equation", "Error", "exp", "ExplicitMode", "Expr", "floor",
    "if_else", "InputSignal", "IvpResult", "load", "load_state", "loads", "log", "log10", "max", "min", "mod", "Model",
    "ModelError", "ModelicaError", "ModelicaModel", "ModeTransition", "no_event", "open_study", "poincare", "RunError",
    "SensitivityRun", "sign", "simulate", "simulate_with_sensitivities", "Simulator", "SimulatorState", "sin", "sinh",
    "Solution", "solve_ivp", "sqrt", "Study", "sweep", "tan", "tanh", "UsageError", "When",
]

# numpy takes longer to import than all of saltus: the modules that need it are imported when a name is first used.
_MODULES = {
    "run": ("RunError", "Simulator", "simulate"),
    "scipy_like": ("IvpResult", "solve_ivp"),
    "sensitivities": ("SensitivityRun", "simulate_with_sensitivities"),
    "solution": ("Solution",),
    "study": ("Study", "basin", "bifurcation", "open_study", "poincare", "sweep"),
}

if not TYPE_CHECKING:
    def __getattr__(name: str) -> Any:
        for module, names in _MODULES.items():
            if name in names:
                globals()[name] = value = getattr(importlib.import_module(f".{module}", __name__), name)
                return value
        raise AttributeError(f"module 'saltus' has no attribute '{name}'")


def __dir__() -> list[str]:
    return __all__


def _array_ufunc(self: Expr, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """numpy calls this for its functions on expressions."""
    from .numpy_functions import apply
    return apply(ufunc, method, inputs, options)


setattr(Expr, "__array_ufunc__", _array_ufunc)
