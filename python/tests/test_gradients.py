"""Gradients by the adjoint beside exact ones and beside those of sensitivities."""

import math
import pickle

import numpy as np
import pytest
from models import BALL, ball

import saltus as sl

G, E, H0 = 9.8, 0.9, 10.0
FIRST = math.sqrt(2 * H0 / G)  # the first bounce
BOUNCE = "when h < 0"
TIGHT = {"stop": 3.0, "rtol": 1e-9, "atol": 1e-11}


def slopes(functional: sl.Functional, model=None, **options) -> list[float]:
    g = sl.gradient(model or ball(), functional, ["e", "h.start"], **{**TIGHT, **options})
    assert g.ok and g.why == "" and g.parameters == ["e", "h.start"] and g.steps > 0
    return list(g.derivatives)


def test_final_values_have_exact_derivatives():
    # h = e g t1 (t - t1) - g (t - t1)^2/2 behind the bounce at t1 = sqrt(2 h0/g)
    moves, later = 1 / (G * FIRST), 3.0 - FIRST
    expected = [G * FIRST * later, moves * (E * G * (later - FIRST) + G * later)]
    assert slopes(sl.final_value("h")) == pytest.approx(expected, abs=1e-7)


def test_integrals_have_exact_derivatives():
    # before the bounce h = h0 - g t^2/2
    assert slopes(sl.integral("h"), stop=1.0) == pytest.approx([0.0, 1.0], abs=1e-8)
    square = [0.0, 2 * (H0 - G / 6)]  # the derivative of the integral of h^2 is that of 2 h
    assert slopes(sl.integral("h**2"), stop=1.0) == pytest.approx(square, abs=1e-7)


def test_events_have_exact_derivatives():
    assert slopes(sl.event_time(BOUNCE)) == pytest.approx([0.0, 1 / (G * FIRST)], abs=1e-8)
    assert slopes(sl.sum_over_events(BOUNCE, "v**2")) == pytest.approx([0.0, 2 * G], abs=1e-7)  # v^2 = 2 g h0


def test_sums_differences_and_factors():
    first, second = sl.final_value("h"), sl.event_time(BOUNCE)
    a, b = np.array(slopes(first)), np.array(slopes(second))
    assert slopes(2 * first - second * 3 + -second) == pytest.approx(2 * a - 4 * b, abs=1e-7)
    value = sl.gradient(ball(), 2 * first + second, ["e"], **TIGHT).value
    assert value == pytest.approx(2 * (E * G * FIRST * (3 - FIRST) - G * (3 - FIRST) ** 2 / 2) + FIRST, abs=1e-8)
    assert repr(first - 2 * second) == "<Functional final_value(h) + -2*event_time('when h < 0', 1)>"


def test_expressions_of_models_of_all_kinds():
    recorded, read = ball(), sl.loads(BALL)
    expected = slopes(sl.integral("h*v"))
    assert slopes(sl.integral(recorded["h"] * recorded["v"]), recorded) == expected
    assert slopes(sl.integral(read["h"] * read["v"]), read) == pytest.approx(expected, abs=1e-9)
    assert slopes(sl.integral("h*v"), read) == pytest.approx(expected, abs=1e-9)
    assert slopes(sl.final_value("h"), ball().compile()) == slopes(sl.final_value("h"))
    with pytest.raises(sl.UsageError, match="expressions as text need the model"):
        sl.gradient(ball().compile(), sl.integral("h*v"), ["e"], stop=1.0)


def test_many_parameters_as_with_sensitivities():
    m = sl.Model("ring")
    x = [m.variable(f"x{k}", 1.0 + 0.1 * k, fixed=True) for k in range(10)]
    c = [m.parameter(f"c{k}", 0.5 + 0.05 * k) for k in range(10)]
    for k in range(10):
        m.equation(sl.der(x[k]) == c[k] * sl.sin(x[(k + 1) % 10]) - x[k])
    names = [f"c{k}" for k in range(10)] + ["x3.start"]
    options = {"stop": 2.0, "rtol": 1e-9, "atol": 1e-11}
    g = sl.gradient(m, sl.final_value("x0"), names, **options)
    forward = sl.simulate_with_sensitivities(m, names, **options)
    assert g.derivatives == pytest.approx(forward.final("x0"), abs=1e-8)
    assert g["c4"] == g.by("c4") == g.derivatives[4] and g.value == pytest.approx(g.solution(2.0, "x0"), abs=1e-12)


def test_little_memory_takes_pieces():
    whole = sl.gradient(ball(), sl.final_value("h"), ["e", "h.start"], **{**TIGHT, "stop": 12.0})
    parts = sl.gradient(ball(), sl.final_value("h"), ["e", "h.start"], memory=10_000, **{**TIGHT, "stop": 12.0})
    assert whole.pieces == 1 and parts.pieces > 1
    assert parts.value == whole.value and (parts.derivatives == whole.derivatives).all()
    assert parts.solution.t_start > 0.0 and parts.solution.t_end == 12.0
    with pytest.raises(sl.UsageError, match="cannot be -1"):
        sl.gradient(ball(), sl.final_value("h"), ["e"], memory=-1)


def test_values_and_the_solution_that_was_differentiated():
    g = sl.gradient(ball(), sl.final_value("v"), ["e"], values={"e": 0.5, "h.start": 5.0},
                    **{**TIGHT, "stop": 1.5})
    assert g.solution(0.0, "h") == 5.0 and g["e"] == pytest.approx(math.sqrt(2 * G * 5.0), abs=1e-7)
    assert repr(g).startswith("<FunctionalGradient of 'ball': value ") and "e: 9.89949" in repr(g)
    again = pickle.loads(pickle.dumps(g))
    assert again["e"] == g["e"] and again.solution(1.0, "h") == pytest.approx(g.solution(1.0, "h"), abs=1e-12)


def test_a_run_without_derivative_says_why():
    m = sl.Model("balls")
    g0 = m.parameter("g0", 9.81)
    for height, speed, weight in (("h", "v", g0), ("k", "w", 9.81)):
        x, y = m.variable(height, 1.0), m.variable(speed, 0.0)
        m.equation(sl.der(x) == y)
        m.equation(sl.der(y) == -weight)
        m.when(x < 0).reset(y, -0.8 * y)  # both balls at one instant, which the parameter moves apart
    g = sl.gradient(m, sl.final_value("h"), ["g0"], stop=0.8, check=False)
    assert not g.ok and g.why and len(g.derivatives) == 0 and g.why in repr(g)
    with pytest.raises(sl.UsageError, match="no derivatives"):
        g["g0"]
    with pytest.raises(sl.SearchError) as info:
        sl.gradient(m, sl.final_value("h"), ["g0"], stop=0.8)
    assert info.value.result.why == g.why and g.why in str(info.value)


def test_wrong_calls_say_what_to_write():
    with pytest.raises(TypeError, match="list of names, for example \\['e'\\]"):
        sl.gradient(ball(), sl.final_value("h"), "e")
    with pytest.raises(TypeError, match="a functional is a sum of"):
        sl.gradient(ball(), "h", ["e"])
    with pytest.raises(TypeError):
        sl.final_value("h") * sl.final_value("v")
    with pytest.raises(TypeError):
        sl.final_value("h") + 1.0
    with pytest.raises(sl.UsageError, match="did you mean 'h'"):
        sl.gradient(ball(), sl.final_value("hh"), ["e"])
    with pytest.raises(sl.Error, match="'ee'"):
        sl.gradient(ball(), sl.final_value("h"), ["ee"])
    with pytest.raises(sl.UsageError):
        sl.gradient(ball(), sl.event_time(BOUNCE, 7), ["e"], **TIGHT)
    with pytest.raises(sl.UsageError, match="relation"):
        sl.gradient(ball(), sl.integral("if_else(h > 5, 1, 0)"), ["e"], **TIGHT)
    with pytest.raises(KeyError, match="did you mean 'e'"):
        sl.gradient(ball(), sl.final_value("h"), ["e"], **TIGHT).by("ee")
