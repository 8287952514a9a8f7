"""What users of SciPy's solve_ivp rely on: arguments, shapes, events, refusals; for recorded functions and others."""

import numpy as np
import pytest

import saltus as sl

TIGHT = {"rtol": 1e-9, "atol": 1e-12}


@pytest.fixture(params=[True, False], ids=["recorded", "called back"])
def solve(request):
    def call(*arguments, **options):
        return sl.solve_ivp(*arguments, record=request.param, **options)

    return call


def rational(t, y):
    """Its solution through (1/3, 2/9) at t = 5 is t / (t + 10), 10 t / (t + 10)^2."""
    return np.array([y[1] / t, y[1] * (y[0] + 2 * y[1] - 1) / (t * (y[0] - 1))])


def rational_answer(t):
    return np.array([t / (t + 10), 10 * t / (t + 10) ** 2])


def oscillator(t, y):
    return [y[1], -y[0]]


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("t_span", [(5.0, 9.0), (5.0, 1.0)])
def test_a_rational_problem_in_both_directions(solve, method, t_span):
    out = solve(rational, t_span, rational_answer(5.0), method=method, rtol=1e-6, atol=1e-8, dense_output=True)
    assert out.success and out.status == 0 and out.t[0] == 5.0 and out.t[-1] == t_span[1] and out.t_events is None
    # errors at the end are some tolerances; dense output of the lower orders is worse
    assert out.y == pytest.approx(rational_answer(out.t), abs=2e-5)
    grid = np.linspace(*t_span, 50)
    assert out.sol(grid) == pytest.approx(rational_answer(grid), abs=2e-4)
    assert (out.njev > 0) == (method in ("Radau", "BDF")) or method == "LSODA"


def test_shapes(solve):
    out = solve(oscillator, (0, 1), [1, 0], dense_output=True)
    assert out.t.ndim == 1 and out.y.shape == (2, len(out.t)) and out.y.dtype == float
    assert out.sol(0.5).shape == (2,) and out.sol([0.1, 0.2, 0.3]).shape == (2, 3)
    assert solve(oscillator, (0, 1), [1, 0]).sol is None


def test_an_interval_without_length(solve):
    out = solve(lambda t, y: -y, (4, 4), [2.0, 3.0], dense_output=True)
    assert out.success and list(out.y[:, -1]) == [2.0, 3.0] and list(out.sol(4.0)) == [2.0, 3.0]


def test_no_states(solve):
    out = solve(lambda t, y: np.zeros(0), (0, 10), np.zeros(0))
    assert out.success and out.t[-1] == 10.0 and out.y.shape == (0, len(out.t))


def test_rates_that_are_zero(solve):
    out = solve(lambda t, y: np.zeros(3), (0, 10), np.ones(3))
    assert out.success and (out.y == 1.0).all()


def test_times_that_are_asked_for(solve):
    grid = np.linspace(0, 2, 7)
    out = solve(oscillator, (0, 2), [1.0, 0.0], t_eval=grid, **TIGHT)
    assert (out.t == grid).all() and out.y == pytest.approx(np.array([np.cos(grid), -np.sin(grid)]), abs=1e-6)
    out = solve(oscillator, (0, 2), [1.0, 0.0], t_eval=[0.5, 1.5], dense_output=True, **TIGHT)
    assert list(out.t) == [0.5, 1.5] and (out.sol([0.5, 1.5]) == out.y).all()
    assert solve(oscillator, (2, 0), [1.0, 0.0], t_eval=[2, 1.5, 0]).t[-1] == 0.0


@pytest.mark.parametrize("t_eval, text", [([0.0, 3.0], "within t_span"), ([-1.0, 1.0], "within t_span"),
                                          ([0.0, 1.0, 0.5], "sorted"), ([0.0, 1.0, 1.0], "sorted"),
                                          ([[0.0, 1.0]], "one-dimensional")])
def test_times_that_make_no_sense(solve, t_eval, text):
    with pytest.raises(ValueError, match=text):
        solve(oscillator, (0, 2), [1.0, 0.0], t_eval=t_eval)


def crossing(direction=0, terminal=False):
    def event(t, y):
        return y[0]

    event.direction, event.terminal = direction, terminal
    return event


@pytest.mark.parametrize("direction, expected", [(0, [0.5, 1.5, 2.5, 3.5]), (1, [1.5, 3.5]), (-1, [0.5, 2.5])])
def test_directions_of_events(solve, direction, expected):
    out = solve(oscillator, (0, 4 * np.pi), [1.0, 0.0], events=crossing(direction), **TIGHT)
    assert out.status == 0 and out.t_events[0] == pytest.approx(np.pi * np.array(expected), abs=1e-7)
    assert out.y_events[0].shape == (len(expected), 2) and out.y_events[0][:, 0] == pytest.approx(0.0, abs=1e-7)
    back = solve(oscillator, (0, -4 * np.pi), [1.0, 0.0], events=crossing(direction), **TIGHT)
    assert len(back.t_events[0]) == len(expected) and back.t_events[0][0] < 0


def test_several_events_of_which_one_ends_the_run(solve):
    out = solve(oscillator, (0, 10), [1.0, 0.0], events=[crossing(), crossing(1, True), lambda t, y: y[0] - 5.0],
                t_eval=[0, 1, 2, 9], dense_output=True, **TIGHT)
    assert out.status == 1 and out.success and list(out.t) == [0.0, 1.0, 2.0]
    assert [len(t) for t in out.t_events] == [2, 1, 0] and out.solution.t_end == pytest.approx(1.5 * np.pi, abs=1e-7)
    assert out.sol(out.t_events[1])[0] == pytest.approx(0.0, abs=1e-7)
    out = solve(oscillator, (0, 10), [1.0, 0.0], events=(crossing(0, True),), **TIGHT)
    assert out.t[-1] == out.t_events[0][0] and list(out.y[:, -1]) == list(out.y_events[0][0])


def test_no_events(solve):
    out = solve(oscillator, (0, 1), [1.0, 0.0], events=[])
    assert out.t_events == [] and out.y_events == []


@pytest.mark.parametrize("direction, hit", [(0, True), (1, False), (-1, True)])
def test_an_event_function_that_is_zero_at_the_start(solve, direction, hit):
    out = solve(oscillator, (0, 2), [0.0, -1.0], events=crossing(direction), **TIGHT)
    assert list(out.t_events[0]) == ([0.0] if hit else []) and out.status == 0
    out = solve(oscillator, (0, 2), [0.0, -1.0], events=crossing(direction, True), **TIGHT)
    assert out.status == (1 if hit else 0) and out.t[-1] == (0.0 if hit else 2.0)


def test_arguments_reach_all_functions(solve):
    def event(t, y, w, level):
        return y[0] - level

    event.terminal = True
    out = solve(lambda t, y, w, level: [w * y[1], -w * y[0]], (0, 10), [1.0, 0.0], args=(2.0, 0.5), events=event,
                jac=lambda t, y, w, level: [[0, w], [-w, 0]], method="Radau", rtol=1e-8, atol=1e-10)
    assert out.t[-1] == pytest.approx(np.pi / 6, abs=1e-6)
    with pytest.raises(TypeError, match=r"args=\(2.0,\)"):
        solve(lambda t, y, w: -w * y, (0, 1), [1.0], args=2.0)


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_vectorized_functions(solve, method):
    def columns(t, y):
        assert y.ndim == 2
        return np.array([y[1], -y[0]])

    out = solve(columns, (0, 1), [1.0, 0.0], method=method, vectorized=True, rtol=1e-8, atol=1e-10)
    assert out.y[:, -1] == pytest.approx([np.cos(1.0), -np.sin(1.0)], abs=1e-6)


@pytest.mark.parametrize("jac", [np.array([[0.0, 1.0], [-1.0, 0.0]]), lambda t, y: [[0.0, 1.0], [-1.0, 0.0]], None])
def test_jacobians(solve, jac):
    out = solve(oscillator, (0, 1), [1.0, 0.0], method="Radau", jac=jac, rtol=1e-8, atol=1e-10)
    assert out.y[0, -1] == pytest.approx(np.cos(1.0), abs=1e-6)


def test_tolerances(solve):
    loose, tight = (solve(oscillator, (0, 10), [1.0, 0.0], rtol=r, atol=1e-12) for r in ([1e-3, 1e-3], [1e-9, 1e-9]))
    assert len(tight.t) > len(loose.t) and solve(oscillator, (0, 1), [1.0, 0.0], atol=[1e-6, 1e-9]).success
    with pytest.warns(UserWarning, match="rtol is too small"):
        solve(oscillator, (0, 1), [1.0, 0.0], rtol=1e-20)


def test_step_sizes(solve):
    out = solve(oscillator, (0, 1), [1.0, 0.0], max_step=0.1)
    assert np.diff(out.t).max() <= 0.1 * (1 + 1e-12)
    assert solve(oscillator, (0, 1), [1.0, 0.0], first_step=1e-3).t[1] == pytest.approx(1e-3)


@pytest.mark.parametrize("options, error, text", [
    ({"max_step": 0.0}, ValueError, "max_step"), ({"max_step": -1.0}, ValueError, "max_step"),
    ({"first_step": 0.0}, ValueError, "first_step"), ({"first_step": 5.0}, ValueError, "first_step"),
    ({"rtol": -1e-3}, ValueError, "rtol must be positive"), ({"atol": -1e-3}, ValueError, "atol must be positive"),
    ({"atol": [1e-3] * 3}, ValueError, "atol has the wrong shape"), ({"method": "Euler"}, ValueError, "'Euler'"),
    ({"method": object}, ValueError, "method is a name"), ({"jac": np.eye(3)}, ValueError, r"\(2, 2\)"),
    ({"events": [1.0]}, TypeError, "callable"), ({"min_step": 1.0}, TypeError, "min_step")])
def test_options_that_make_no_sense(solve, options, error, text):
    with pytest.raises(error, match=text):
        solve(oscillator, (0, 1), [1.0, 0.0], **options)


@pytest.mark.parametrize("y0, text", [([[1.0, 0.0]], "one-dimensional"), ([np.nan, 0.0], "finite"),
                                      ([1.0, np.inf], "finite"), ([1.0 + 2.0j, 0.0], "real and imaginary parts"),
                                      (np.array([1.0 + 0j, 0.0]), "real and imaginary parts")])
def test_start_values_that_make_no_sense(solve, y0, text):
    with pytest.raises(ValueError, match=text):
        solve(oscillator, (0, 1), y0)


@pytest.mark.parametrize("fun, error, text", [
    (lambda t, y: 1j * y, ValueError, "real and imaginary parts"), (lambda t, y: y[:1], ValueError, "2 numbers"),
    (lambda t, y: ["a", "b"], ValueError, "2 numbers"), (None, TypeError, "callable")])
def test_functions_that_make_no_sense(solve, fun, error, text):
    with pytest.raises(error, match=text):
        solve(fun, (0, 1), [1.0, 0.0])


@pytest.mark.parametrize("fun", [lambda t, y: y * y, lambda t, y: y * np.nan])
def test_a_failure_is_a_status_with_a_message(solve, fun):
    out = solve(fun, (0, 2), [1.0])
    assert out.status == -1 and not out.success and out.message and out.t[-1] < 2.0 and np.isfinite(out.y).all()


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
def test_an_event_that_ends_the_run_before_the_times_that_are_asked_for(solve, method):
    def early(t, y):
        return t - 7

    early.terminal = True
    out = solve(rational, (5, 9), rational_answer(5.0), method=method, events=early, t_eval=np.linspace(7.5, 9, 16))
    assert out.success and out.status == 1 and out.t.size == 0 and out.y.size == 0
    assert out.t_events[0] == pytest.approx([7.0], abs=1e-12)
    assert out.y_events[0][0] == pytest.approx(rational_answer(7.0), abs=1e-2)  # at the default tolerance, 1e-3


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_a_stiff_problem(solve, method):
    """Robertson's kinetics up to t = 1e11, with the answer of the test set of Mazzia and Magherini (2008)."""
    def kinetics(t, y):
        slow, fast = 0.04 * y[0], 1e4 * y[1] * y[2]
        loss = 3e7 * y[1] ** 2
        return [fast - slow, slow - fast - loss, loss]

    out = solve(kinetics, (0, 1e11), [1.0, 0.0, 0.0], method=method, rtol=1e-8, atol=[1e-16, 1e-20, 1e-12])
    assert out.success and len(out.t) < 10_000  # an explicit method would need 1e14
    answer = [0.2083340149701255e-07, 0.8333360770334713e-13, 0.9999999791665050]
    assert out.y[:, -1] == pytest.approx(answer, rel=1e-5, abs=0)
    assert out.y.sum(axis=0) == pytest.approx(1.0, abs=1e-9)
