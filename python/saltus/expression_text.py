"""Expressions of a model as text: ``"abs(v1 - v2)"``, ``"2*pi/omega"``, ``"h < 0"``, ``"if_else(on, 1, 0)"``.

The text has Python's grammar. Names are those of the model, also ``body.v`` and ``x[1]``; functions are
those of saltus.
"""

from __future__ import annotations

import ast
import math
import operator
from typing import Any, Union

from . import _core
from .solution import nearest

Value = Union[_core.Expr, _core.BoolExpr]
OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.Mod: _core.mod, ast.USub: operator.neg, ast.UAdd: operator.pos,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: _core.equal,
}
FUNCTIONS = {name: getattr(_core, name)
             for name in ("abs acos acosh asin asinh atan atan2 atanh ceil cos cosh der equal exp floor if_else log "
                          "log10 max min mod no_event sign sin sinh sqrt tan tanh").split()}


def condition(value: Value) -> _core.BoolExpr:
    """A truth value; numbers are true above 1/2, as variables of type Boolean are in the results."""
    return value if isinstance(value, _core.BoolExpr) else value > 0.5


def number(value: Value) -> _core.Expr:
    """A number: 1 for what is true and 0 for what is false."""
    return _core.if_else(value, 1.0, 0.0) if isinstance(value, _core.BoolExpr) else value


class _Reader:
    def __init__(self, model: _core.Model, text: str) -> None:
        self.model, self.text = model, text
        self.names = model.variable_names + model.parameter_names

    def refuse(self, why: str) -> _core.UsageError:
        return _core.UsageError(f"cannot read the expression '{self.text}': {why}")

    def name(self, node: ast.AST) -> Value:
        name = ast.unparse(node).replace(" ", "")
        if name in self.names:
            return self.model[name]
        if name == "time":
            return self.model.time
        if name == "pi":
            return _core.Expr(math.pi)
        raise self.refuse(f"there is no '{name}' in the model '{self.model.name}'{nearest(name, self.names)}")

    def value(self, node: ast.AST) -> Value:
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self.name(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return _core.BoolExpr(node.value)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return _core.Expr(float(node.value))
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            result: Value = OPERATORS[type(node.op)](number(self.value(node.left)), number(self.value(node.right)))
            return result
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                return ~condition(self.value(node.operand))
            if type(node.op) in OPERATORS:
                result = OPERATORS[type(node.op)](number(self.value(node.operand)))
                return result
        if isinstance(node, ast.BoolOp):
            return self.logic(node)
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.IfExp):
            return _core.if_else(condition(self.value(node.test)), number(self.value(node.body)),
                                 number(self.value(node.orelse)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            return self.call(node.func.id, [self.value(a) for a in node.args])
        raise self.refuse(f"'{ast.unparse(node)}' is not possible here; powers are written x**2")

    def logic(self, node: ast.BoolOp) -> _core.BoolExpr:
        first, *rest = (condition(self.value(v)) for v in node.values)
        for other in rest:
            first = first & other if isinstance(node.op, ast.And) else first | other
        return first

    def comparison(self, node: ast.Compare) -> _core.BoolExpr:
        terms = [number(self.value(n)) for n in [node.left, *node.comparators]]
        result = _core.BoolExpr(True)
        for op, left, right in zip(node.ops, terms, terms[1:]):
            if type(op) not in OPERATORS:
                raise self.refuse(f"'{ast.unparse(node)}' is no comparison of numbers")
            result = OPERATORS[type(op)](left, right) & result
        return result

    def call(self, name: str, values: list[Value]) -> Value:
        if name not in FUNCTIONS:
            raise self.refuse(f"there is no function '{name}'; there are {', '.join(sorted(FUNCTIONS))}")
        if name == "if_else" and values:
            values = [condition(values[0]), *map(number, values[1:])]
        try:
            result: Value = FUNCTIONS[name](*values)
        except TypeError:
            raise self.refuse(f"'{name}' takes other arguments") from None
        return result


def parse(model: _core.Model, text: str) -> Value:
    """The expression of the model that a text means. Raises UsageError with the text and the reason."""
    reader = _Reader(model, text)
    if text in reader.names:
        return model[text]
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise reader.refuse(f"{error.msg}, at column {error.offset}") from None
    return reader.value(tree.body)
