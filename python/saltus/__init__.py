"""Switched differential-algebraic equations: models, runs, results.

    import saltus as sl

    ball = sl.load("BouncingBall.mo")
    run = sl.simulate(ball)
    run["h"], run.t, run.events
"""

import importlib
from typing import TYPE_CHECKING, Any

from . import argument_errors

argument_errors.mend()  # before names of the compiled module are taken from it

from ._core import (
    Array, BoolArray, BoolExpr, Equation, Error, Expr, ExplicitMode, Index, InputSignal, ModelError, ModelicaError,
    ModeTransition, SimulatorState, UsageError, When, __version__, abs, acos, acosh, asin, asinh, atan, atan2, atanh,
    ceil, cos, cosh, der, equal, exp, floor, if_else, load_state, log, log10, max, min, mod, no_event, sign, sin, sinh,
    sqrt, tan, tanh,
)
from .fmu import Fmu, describe_fmu
from .model import Model, ModelicaModel, load, loads

if TYPE_CHECKING:
    from .cycles import (
        Bifurcation, Branch, BranchPoint, Cycle, LyapunovExponents, find_cycle, follow_cycle, lyapunov_exponents,
    )
    from .fits import Fit, FittedParameter, fit
    from .gradients import (
        Functional, FunctionalGradient, event_time, final_value, gradient, integral, sum_over_events,
    )
    from .linearisation import Equilibrium, Linearisation, equilibria, linearise
    from .optima import (
        Control, Controller, ControlSample, FoundCondition, FoundControl, FoundValue, Optimum, optimise,
    )
    from .reasons import EventReason, check, why
    from .run import RunError, Simulator, simulate
    from .scipy_like import IvpResult, solve_ivp
    from .search import SearchError
    from .sensitivities import SensitivityRun, simulate_with_sensitivities
    from .solution import Solution
    from .study import Study, basin, bifurcation, open_study, poincare, sweep

__all__ = [
    "__version__", "abs", "acos", "acosh", "Array", "asin", "asinh", "atan", "atan2", "atanh", "basin",
    "Bifurcation", "bifurcation", "BoolArray", "BoolExpr", "Branch", "BranchPoint", "ceil", "check", "Control",
    "Controller", "ControlSample", "cos", "cosh", "Cycle", "der", "describe_fmu", "equal", "Equation", "equilibria",
    "Equilibrium", "Error", "event_time", "EventReason", "exp", "ExplicitMode", "Expr", "final_value", "find_cycle",
    "fit", "Fit", "FittedParameter", "floor", "Fmu", "follow_cycle", "FoundCondition", "FoundControl", "FoundValue",
    "Functional", "FunctionalGradient", "gradient", "if_else", "Index", "InputSignal", "integral", "IvpResult",
    "Linearisation", "linearise", "load", "load_state", "loads", "log", "log10", "lyapunov_exponents",
    "LyapunovExponents", "max", "min", "mod", "Model", "ModelError", "ModelicaError", "ModelicaModel",
    "ModeTransition", "no_event", "open_study", "optimise", "Optimum", "poincare", "RunError", "SearchError",
    "SensitivityRun", "sign", "simulate", "simulate_with_sensitivities", "Simulator", "SimulatorState", "sin",
    "sinh", "Solution", "solve_ivp", "sqrt", "Study", "sum_over_events", "sweep", "tan", "tanh", "UsageError",
    "When", "why",
]

# numpy takes longer to import than all of saltus: the modules that need it are imported when a name is first used.
_MODULES = {
    "cycles": ("Bifurcation", "Branch", "BranchPoint", "Cycle", "LyapunovExponents", "find_cycle", "follow_cycle",
               "lyapunov_exponents"),
    "fits": ("Fit", "FittedParameter", "fit"),
    "gradients": ("Functional", "FunctionalGradient", "event_time", "final_value", "gradient", "integral",
                  "sum_over_events"),
    "linearisation": ("Equilibrium", "Linearisation", "equilibria", "linearise"),
    "optima": ("Control", "Controller", "ControlSample", "FoundCondition", "FoundControl", "FoundValue", "Optimum",
               "optimise"),
    "reasons": ("EventReason", "check", "why"),
    "run": ("RunError", "Simulator", "simulate"),
    "scipy_like": ("IvpResult", "solve_ivp"),
    "search": ("SearchError",),
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
