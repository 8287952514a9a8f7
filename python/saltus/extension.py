"""Copies of models that have variables for the expressions that a study, a fit or a search asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Union

from . import _core
from .expression_text import number, parse
from .model import Model, ModelicaModel, settings
from .solution import nearest

if TYPE_CHECKING:
    from .arrays import ArrayLike

#: The name of a variable, an expression as text or of the model, or a number.
Quantity = Union[str, float, _core.Expr, _core.BoolExpr]


class ExtendedModel:
    """A copy of a model with other values (``model``), to which variables can be added. ``prefix`` begins their names.
    """

    def __init__(self, model: Model | ModelicaModel, values: Mapping[str, ArrayLike] | None, start: float | None,
                 prefix: str) -> None:
        if not isinstance(model, (Model, ModelicaModel)):
            raise TypeError("this needs a Model, or what load or loads gave, not " + type(model).__name__)
        self.source = model
        chosen = settings(values)
        if isinstance(model, ModelicaModel):
            read = model.for_start(start)
            self.model = (read.with_values(chosen) if chosen else read).core.copy()
        else:
            self.model = model.copy()
            for name, value in chosen.items():
                self.model.set(name, value)
        self.names = set(self.model.variable_names)
        self._prefix, self._made = prefix, 0

    def new_name(self) -> str:
        self._made += 1
        return f"{self._prefix}.{self._made}"

    def expression(self, quantity: Quantity) -> _core.Expr | _core.BoolExpr:
        if isinstance(quantity, str):
            return parse(self.model, quantity)
        return quantity if isinstance(quantity, (_core.Expr, _core.BoolExpr)) else _core.Expr(float(quantity))

    def value(self, quantity: Quantity) -> str:
        """The variable with the value of an expression: the one that it names, or a new one."""
        if isinstance(quantity, (str, _core.Expr)) and str(quantity) in self.names:
            return str(quantity)
        expression = number(self.expression(quantity))
        name = self.new_name()
        self.model.equation(self.model.variable(name) == expression)
        return name

    def variable(self, name: str) -> str:
        """The same name. Raises UsageError if no variable has it."""
        if name not in self.names:
            raise _core.UsageError(f"there is no variable '{name}' in the model '{self.model.name}'"
                                   f"{nearest(name, sorted(self.names))}")
        return name
