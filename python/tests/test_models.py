"""Models: expressions, Modelica text, errors."""

import math
import pickle

import numpy as np
import pytest
from models import BALL, ball

import saltus as sl


def test_text_and_expressions_give_the_same_run():
    text, built = sl.simulate(sl.loads(BALL)), sl.simulate(ball(), stop=5.0, rtol=1e-10)
    assert [e["t"] for e in text.events] == pytest.approx([e["t"] for e in built.events], abs=1e-9)
    assert text.events[0]["t"] == pytest.approx(math.sqrt(20 / 9.8), abs=1e-9)


def test_a_file_is_read(tmp_path):
    path = tmp_path / "Ball.mo"
    path.write_text(BALL)
    model = sl.load(path, values={"e": 0.5})
    assert model.name == "Ball" and model.description == "A ball that bounces" and model.experiment["stop"] == 5
    assert sl.simulate(model).events[0]["after"]["v"] == pytest.approx(7.0)
    with pytest.raises(sl.UsageError, match="Missing.mo"):
        sl.load(tmp_path / "Missing.mo")
    pickled = pickle.dumps(model)
    path.unlink()  # another machine has no such file
    assert sl.simulate(pickle.loads(pickled)).events[0]["after"]["v"] == pytest.approx(7.0)
    sl.simulate(model).to_html(str(tmp_path / "ball.html"))
    assert "A ball that bounces" in (tmp_path / "ball.html").read_text()


def test_errors_have_places():
    with pytest.raises(sl.ModelicaError) as info:
        sl.loads("model A\n  Real x;\nequation\n  der(x) = -y;\nend A;")
    assert info.value.diagnostics[0]["line"] == 4
    assert isinstance(info.value, sl.ModelError) and isinstance(info.value, sl.Error)


def test_a_model_without_enough_equations_is_refused():
    m = sl.Model("open")
    m.variable("x")
    with pytest.raises(sl.ModelError, match="x"):
        sl.simulate(m)


@pytest.mark.parametrize("use", [bool, lambda r: r and True, lambda r: 1 if r else 2])
def test_relations_have_no_truth_value(use):
    m = ball()
    with pytest.raises(TypeError, match="if_else"):
        use(m["h"] < 0)


def test_equations_are_no_comparisons():
    m = ball()
    with pytest.raises(TypeError, match="equal"):
        bool(m["h"] == m["v"])
    with pytest.raises(TypeError, match="math"):
        math.sin(m["h"])


def test_numpy_functions_record():
    m = sl.Model("pendulum")
    phi, w = m.variable("phi", 1.0), m.variable("w", 0.0)
    m.equation(sl.der(phi) == w)
    m.equation(sl.der(w) == -np.sin(phi))
    assert sl.simulate(m, stop=1.0).ok


@pytest.mark.parametrize("name, numpy_name", [
    ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("sinh", "sinh"), ("cosh", "cosh"), ("tanh", "tanh"),
    ("sqrt", "sqrt"), ("exp", "exp"), ("log", "log"), ("log10", "log10"), ("asinh", "arcsinh"), ("tan", "tan"),
    ("atanh", "arctanh"), ("cos", "cos"), ("abs", "fabs"), ("floor", "floor"), ("ceil", "ceil"), ("sign", "sign")])
def test_functions_have_the_values_of_numpy(name, numpy_name):
    m = sl.Model("f")
    x = m.variable("x", 0.4, fixed=True)
    y, z = m.variable("y"), m.variable("z")
    m.equation(sl.der(x) == 0.0)
    m.equation(y == getattr(sl, name)(x))
    m.equation(z == getattr(np, numpy_name)(x))
    values = sl.simulate(m, stop=1.0)(0.5)
    expected = getattr(np, numpy_name)(0.4)
    assert values[1] == pytest.approx(expected, rel=1e-15) and values[2] == values[1]


def test_numbers_and_arrays_of_numpy_mix_with_expressions():
    m = sl.Model("mixed")
    x = m.variable("x", 2.0, fixed=True)
    m.equation(sl.der(x) == np.float64(0.0) * x)
    for k, e in enumerate(np.array([1.0, 2.0]) * x + np.float64(1.0)):
        m.equation(m.variable(f"y[{k}]") == e)
    m.equation(m.variable("z") == np.maximum(x, 3.0) + np.hypot(x, np.float64(1.5)))
    assert sl.simulate(m)(1.0) == pytest.approx([2.0, 3.0, 5.0, 5.5])
    with pytest.raises(TypeError):
        np.gcd(x, 2)


def test_arrays_of_expressions():
    m = sl.Model("chain")
    x = np.array([m.variable(f"x[{k}]", float(k)) for k in range(3)])
    A = np.array([[-2.0, 1, 0], [1, -2, 1], [0, 1, -2]])
    for state, rate in zip(x, A @ x):
        m.equation(sl.der(state) == rate)
    end = sl.simulate(m, stop=1.0, rtol=1e-10)(1.0)
    w, V = np.linalg.eigh(A)
    assert end == pytest.approx(V @ (np.exp(w) * (V.T @ np.arange(3.0))), abs=1e-8)


def test_expressions_are_keys():
    m = ball()
    named = {m["h"]: "height", m["v"]: "speed"}
    assert named[m["h"]] == "height" and m["v"] in named and m["e"] not in named and len({m["h"], m["h"]}) == 1


def test_truth_values_are_defined_and_chosen():
    m = sl.Model("heating")
    T, on = m.variable("T", 15.0, fixed=True), m.discrete("on", True)
    m.define(on, sl.if_else(m.pre(on), T < 23.5, T < 22.0))
    m.equation(sl.der(T) == sl.if_else(on, 2.0, -1.0))
    run = sl.simulate(m, stop=10.0)
    assert [e["t"] for e in run.events] == pytest.approx([4.25, 5.75, 6.5, 8.0, 8.75], abs=1e-6)


def test_clauses_take_conditions_record_and_check():
    m = ball()
    n = m.discrete("n", 0.0)
    m.when(m["v"] < 0.0).assign(n, m.pre(n) + 1)
    m.when(m["h"] < 2.0).reset(m["v"], 0.0, only_if=n > 5).terminate("late", only_if=n > 1)
    run = sl.simulate(m, stop=20.0)
    assert run.status["code"] == "terminated" and run(run.t_end, "n") == 2 and run(run.t_end, "v") < -1.0
    m = ball()
    m.when(m["h"] < 0.0).assertion(m["v"] > -20.0, "too fast")
    assert sl.simulate(m, stop=5.0).ok
    with pytest.raises(sl.RunError, match="too fast"):
        sl.simulate(m, stop=5.0, values={"h": 50.0})
    m = sl.Model("touch")
    x = m.variable("x", -1.0, fixed=True)
    m.equation(sl.der(x) == -2.0 * (m.time - 1.0))
    m.when(x > 0.0).record_touches()
    assert [e["kind"] for e in sl.simulate(m, stop=2.0).events] == ["touch"]


def test_rules_of_surfaces():
    m = sl.Model("relay")
    x = m.variable("x", 1.0, fixed=True)
    m.equation(sl.der(x) == sl.if_else(x > 0.0, -1.0, 1.0))
    assert sl.simulate(m, stop=2.0)(2.0, "x") == pytest.approx(0.0, abs=1e-9)
    m.surface(x > 0.0, "stop")
    assert sl.simulate(m, stop=2.0).status["code"] == "terminated"
    m.surface(x > 0.0, "crossing")
    with pytest.raises(sl.RunError, match="may not slide there"):
        sl.simulate(m, stop=2.0)
    with pytest.raises(ValueError, match='"filippov", "stay", "crossing" or "stop"'):
        m.surface(x > 0.0, "slide")


def test_starts_that_depend_on_parameters_and_initial_clauses():
    m = sl.Model("start")
    k, x, n = m.parameter("k", 2.0), m.variable("x", fixed=True), m.discrete("n", 0.0)
    m.start(x, 3.0 * k)
    m.equation(sl.der(x) == 0.0)
    m.when(m.initial()).assign(n, 7.0)
    run = sl.simulate(m, values={"k": 4.0})
    assert run(1.0, "x") == pytest.approx(12.0) and run(1.0, "n") == 7.0


def test_discrete_variables_samples_and_explicit_modes():
    m = sl.Model("counter")
    n, on = m.discrete("n", 0.0), m.discrete("on", False)
    m.when(m.sample(0.0, 0.25)).assign(n, m.pre(n) + 1).assign(on, ~m.pre(on))
    end = sl.simulate(m, stop=1.1)(1.1)
    assert end[0] == 5 and end[1] == 1
    m = sl.Model("automaton")
    x = m.variable("x", 0.0)
    up, down = m.mode("up"), m.mode("down")
    up.equation(sl.der(x) == 1.0)
    down.equation(sl.der(x) == -1.0)
    up.transition(x > 1).to(down)
    down.transition(x < 0).to(up)
    run = sl.simulate(m, stop=3.5)
    assert [e["kind"] for e in run.events] == ["transition"] * 3
    assert run(3.5, "x") == pytest.approx(0.5, abs=1e-9)


def test_values_that_decide_sizes_are_read_into_the_text():
    m = sl.loads("model Chain parameter Integer n = 2; parameter Real k = 2*n; Real x[n](each start = 1, each fixed = "
                 "true); equation for i in 1:n loop der(x[i]) = -k*x[i]; end for; end Chain;")
    run = sl.simulate(m, values={"n": 3}, rtol=1e-9)
    assert run.names == ["x[1]", "x[2]", "x[3]"] and run(1.0) == pytest.approx(np.exp(-6.0), abs=1e-7)
    assert sl.simulate(m, values={"k": 1.0}, rtol=1e-9)(1.0, "x[1]") == pytest.approx(np.exp(-1.0), abs=1e-7)
    with pytest.raises(sl.ModelError, match="size of an array"):
        sl.simulate(m.compile(), values={"n": 3})
    with pytest.raises(sl.Error, match="kk"):
        sl.simulate(m, values={"kk": 3})


def test_runs_that_begin_at_another_time():
    m = sl.loads("model Since Real x, t0; initial equation x = 1; t0 = time; "
                 "equation der(x) = -(time - t0); der(t0) = 0; end Since;")
    assert m.start == 0.0 and sl.loads(BALL).start is None
    for model in (m, pickle.loads(pickle.dumps(m.for_start(2.0)))):
        assert sl.simulate(model, start=2.0, stop=3.0)(3.0) == pytest.approx([0.5, 2.0])


def test_models_pickle_as_text():
    m = pickle.loads(pickle.dumps(sl.loads(BALL, values={"e": 0.5})))
    assert sl.simulate(m).events[0]["after"]["v"] == pytest.approx(7.0)
    with pytest.raises(TypeError, match="pickle the model"):
        pickle.dumps(m.compile())


def test_written_models_pickle_as_base_modelica():
    m = ball()
    u, x, n = m.input("u", 0.5), m.variable("x y's", 0.0, fixed=True), m.discrete("n", 0.0)
    m.equation(sl.der(x) == u)
    m.when(m.sample(0.0, 0.25)).assign(n, m.pre(n) + 1)
    again = pickle.loads(pickle.dumps(m))
    assert type(again) is sl.Model and again.name == "ball" and again.variable_names == m.variable_names
    first, second = (sl.simulate(model, stop=5.0, values={"e": 0.8}, inputs={"u": 2.0}) for model in (m, again))
    assert (first(5.0) == second(5.0)).all() and len(first.events) == len(second.events)
    assert first.units == second.units and "Real 'h'" in m.text() and sl.simulate(sl.loads(m.text()), stop=1.0).ok
    again.equation(again.variable("z") == 2.0 * again["h"])  # it goes on being a model
    assert sl.simulate(again, stop=1.0).ok
    modes = sl.Model("automaton")
    modes.mode("up").equation(sl.der(modes.variable("x")) == 1.0)
    with pytest.raises(TypeError, match="'automaton' cannot be pickled.*explicit mode 'up'"):
        pickle.dumps(modes)


def test_compiled_models_take_values():
    compiled = ball().compile()
    assert compiled.parameters == {"e": 0.9} and compiled.variables["h"]["unit"] == "m"
    for e in (0.5, 0.8):
        run = sl.simulate(compiled, stop=2.0, values={"e": e, "h": 4.9})
        assert run.events[0]["t"] == pytest.approx(1.0, abs=1e-6)
        assert run.events[0]["after"]["v"] == pytest.approx(9.8 * e, rel=1e-5)
    with pytest.raises(sl.ModelError, match="g"):
        sl.simulate(compiled, values={"gee": 1.0})


def test_start_values_by_both_of_their_names():
    for model in (sl.loads(BALL), ball(), ball().compile()):
        for name in ("h", "h.start"):
            assert sl.simulate(model, values={name: 5.0}, stop=1.0)(0.0, "h") == 5.0
    # a variable may be called so itself
    m = sl.loads("model M record R Real start(start = 1, fixed = true); end R; R h; equation der(h.start) = 1; end M;")
    assert sl.simulate(m, values={"h.start": 3.0})(0.0, "h.start") == 3.0
    with pytest.raises(sl.ModelError, match="k.start"):
        sl.simulate(ball(), values={"k.start": 1.0})


def test_wrong_options_say_what_is_right():
    with pytest.raises(TypeError, match="no option 'max_stepp'; did you mean 'max_step'"):
        sl.simulate(ball(), max_stepp=1.0)
    with pytest.raises(TypeError, match="the option 'max_steps' cannot be 'many'"):
        sl.simulate(ball(), max_steps="many")
    with pytest.raises(sl.UsageError, match="no method 'dopri6'; there are auto; dopri5"):
        sl.simulate(ball(), method="dopri6")


def rooms(n, loops):
    m = sl.Model("rooms")
    temperatures = [19.5 + math.sin(0.7 * i) for i in range(n)]
    T, on = m.array("T", n, temperatures, fixed=True), m.discrete_array("on", n, False)
    power = m.parameter_array("power", [4 + 0.003 * i for i in range(n)])

    def room(i):
        left, right = (i - 1).clip(0, n - 1), (i + 1).clip(0, n - 1)
        m.equation(sl.der(T[i]) == sl.if_else(on[i], power[i], 0.0) - 0.2 * (T[i] - 5)
                   + 0.1 * (T[left] - 2 * T[i] + T[right]) + 1e-4 * i.number())
        m.when(T[i] < 19).assign(on[i], True).otherwise_when(T[i] > 21).assign(on[i], False)

    if loops:
        m.for_each(n, room)
    else:
        for i in range(n):
            room(sl.Index(i))
    return m


@pytest.mark.parametrize("n", [20, 300])
def test_loops_over_arrays_give_what_loops_of_python_give(n):
    kept, written = (sl.simulate(rooms(n, loops), stop=2, rtol=1e-7) for loops in (True, False))
    assert kept.statistics["events"] == written.statistics["events"] > n / 2
    assert kept(2.0) == pytest.approx(written(2.0), abs=1e-5)
    assert kept[f"T[{n - 1}]"][0] == 19.5 + math.sin(0.7 * (n - 1))
    other = sl.simulate(rooms(n, True), stop=2, rtol=1e-7, values={"power[3]": 9.0})
    assert other["T[3]"][-1] != pytest.approx(kept["T[3]"][-1], abs=1e-3)


def test_plates_have_two_subscripts():
    m = sl.Model("plate")
    T = m.array("T", (20, 15), [float(k % 7) for k in range(300)], fixed=True)
    m.for_each(20, (0, 15), lambda i, j: m.equation(
        sl.der(T[i, j]) == T[(i - 1).clip(0, 19), j] - T[i, j] + T[i, (j + 1).clip(0, 14)] - T[i, j]))
    run = sl.simulate(m, stop=0.5)
    assert len(T) == 300 and len(run(0.5)) == 300
    with pytest.raises(sl.UsageError, match="no element 20"):
        T[20, 0]


def test_an_index_cannot_be_compared():
    m = sl.Model()
    T = m.array("T", 5)
    with pytest.raises(sl.UsageError, match="loops over parts"):
        m.for_each(5, lambda i: m.equation(T[i] == (0.0 if i == 0 else 1.0)))
    with pytest.raises(sl.ModelError, match="subscript 5"):
        m.for_each(5, lambda i: m.equation(T[i + 1] == 0.0))
    m.for_each(5, lambda i: m.equation(sl.der(T[i]) == -T[i]))
    assert sl.simulate(m).ok


def test_sliding_by_a_stabilised_field_and_scaling_of_ranks():
    m = sl.Model("friction")
    x = m.variable("x", 1.0)
    m.equation(sl.der(x) == -sl.sign(x))
    m.stabilise_sliding(100.0)
    m.scaling("nominal")
    run = sl.simulate(m, stop=3.0)
    assert run.stays and abs(run(3.0, "x")) < 1e-6
    with pytest.raises(sl.UsageError, match="automatic"):
        m.scaling("some")
    with pytest.raises(sl.ModelError, match="strength"):
        m.stabilise_sliding(-1.0)
