"""Switched differential-algebraic equations: models, runs, results.

    import saltus as sl

    ball = sl.load("BouncingBall.mo")
    run = sl.simulate(ball)
    run["h"], run.t, run.events
"""

from ._core import (BoolExpr, Equation, Error, Expr, ExplicitMode, InputSignal, ModelError, ModelicaError,
                    ModeTransition, SimulatorState, UsageError, When, __version__, abs, acos, acosh, asin, asinh, atan,
                    atan2, atanh, ceil, cos, cosh, der, equal, exp, floor, if_else, load_state, log, log10, max, min,
                    mod, no_event, sign, sin, sinh, sqrt, tan, tanh)
from . import numpy_functions as _numpy_functions
from .model import Model, ModelicaModel, load, loads
from .run import RunError, Simulator, simulate
from .scipy_like import IvpResult, solve_ivp
from .solution import Solution
from .study import Study, basin, bifurcation, open_study, poincare, sweep

__all__ = [
    "BoolExpr", "Equation", "Error", "ExplicitMode", "Expr", "InputSignal", "IvpResult", "Model", "ModelError",
    "ModeTransition", "ModelicaError", "ModelicaModel", "RunError", "Simulator", "SimulatorState", "Solution", "Study",
    "UsageError", "When", "__version__", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "basin",
    "bifurcation", "ceil", "cos", "cosh", "der", "equal", "exp", "floor", "if_else", "load", "load_state", "loads",
    "log", "log10", "max", "min", "mod", "no_event", "open_study", "poincare", "sign", "simulate", "sin", "sinh",
    "solve_ivp", "sqrt", "sweep", "tan", "tanh",
]
