"""Mistakes of the first hour: each is answered in words that say what to write instead."""

import pytest
from models import BALL

import saltus as sl

m = sl.Model("m")
x = m.variable("x", 1.0)
m.equation(sl.der(x) == -x)
run = sl.simulate(m, stop=1.0)


@pytest.mark.parametrize("mistake, error, words", [
    (lambda: sl.simulate("Ball.mo"), TypeError, "what load or loads gave"),
    (lambda: sl.load("nope.mo"), FileNotFoundError, "there is no file 'nope.mo'"),
    (lambda: sl.load("nope.mo"), sl.UsageError, "there is no file 'nope.mo'"),
    (lambda: sl.simulate(m, stopp=3), TypeError, "did you mean 'stop'"),
    (lambda: sl.simulate(m, stop="3"), TypeError, "the option 'stop' cannot be '3'"),
    (lambda: sl.simulate(m, stop=1, method="euler"), sl.UsageError, "there is no method 'euler'; there are auto"),
    (lambda: sl.simulate(m, stop=1, values=["x"]), TypeError, "given by name, for example"),
    (lambda: sl.simulate(m, stop=1, values={"x": "one"}), TypeError, "the value of 'x' is a number"),
    (lambda: sl.simulate(m, stop=1, inputs={"u": 1}), sl.UsageError, "'u' is not an input"),
    (lambda: m.variable("y", "1"), TypeError, "the start value is a number"),
    (lambda: m.parameter("p", "3"), TypeError, "its value is a number"),
    (lambda: m.equation(True), TypeError, "joins two expressions by =="),
    (lambda: m.equation(x), TypeError, "joins two expressions by =="),
    (lambda: m.when(3), TypeError, "a condition compares expressions"),
    (lambda: m.when(x < 0).reset(x), TypeError, "name the variable and its new value"),
    (lambda: sl.sin("x"), TypeError, r"sin cannot take \('x'\)"),
    (lambda: sl.if_else(x > 0, "a", 1), TypeError, "if_else cannot take"),
    (lambda: sl.simulate_with_sensitivities(m, "x"), TypeError, "a list of names"),
    (lambda: sl.InputSignal.table("a", 3), TypeError, "table cannot take"),
    (lambda: run("x"), TypeError, "times are numbers"),
    (lambda: run[0], TypeError, "variables have names"),
    (lambda: run["y"], KeyError, "there is no variable 'y'"),
])
def test_a_mistake_is_answered_in_words(mistake, error, words):
    with pytest.raises(error, match=words) as caught:
        mistake()
    text = str(caught.value)
    assert "incompatible function" not in text and "saltus._core" not in text and "\n    1. " not in text


def test_methods_keep_their_documentation_and_names():
    assert sl.Model.equation.__name__ == "equation" and "equation" in (sl.Model.equation.__doc__ or "")
    assert sl.loads(BALL).name == "Ball"
