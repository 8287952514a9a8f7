"""solve_ivp beside SciPy's."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from optional import need

import saltus as sl

def decay(t, y):
    return -0.5 * y


def cannon(t, y):
    return [y[1], -9.81]


def hit(t, y):
    return y[0]


hit.terminal, hit.direction = True, -1


def apex(t, y):
    return y[1]


@pytest.mark.parametrize("record", [True, False])
@pytest.mark.parametrize("fun, y0, events", [(decay, [2.0, 4.0], None), (cannon, [0.1, 10.0], [hit, apex])])
def test_results_are_those_of_scipy(fun, y0, events, record):
    ours = sl.solve_ivp(fun, (0, 10), y0, events=events, rtol=1e-9, atol=1e-12, dense_output=True, record=record)
    scipy = need("scipy.integrate")
    theirs = scipy.solve_ivp(fun, (0, 10), y0, events=events, rtol=1e-9, atol=1e-12, dense_output=True)
    assert ours.recorded == record
    assert ours.status == theirs.status and ours.success
    assert ours.t[-1] == pytest.approx(theirs.t[-1], abs=1e-8)
    assert ours.y[:, -1] == pytest.approx(theirs.y[:, -1], abs=1e-7)
    grid = np.linspace(0, ours.t[-1] * 0.99, 20)
    assert ours.sol(grid) == pytest.approx(theirs.sol(grid), abs=1e-6)
    for a, b in zip(ours.t_events or [], theirs.t_events or []):
        assert a == pytest.approx(b, abs=1e-8)
    for a, b in zip(ours.y_events or [], theirs.y_events or []):
        assert a == pytest.approx(b, abs=1e-7)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
@pytest.mark.parametrize("record", [True, False])
def test_methods_backward_times_and_arguments(method, record):
    def rotation(t, y, w):
        return [w * y[1], -w * y[0]]

    out = sl.solve_ivp(rotation, (1.0, -2.0), [0.0, 1.0], method=method, args=(2.0,), rtol=1e-8, atol=1e-10,
                       t_eval=[1.0, 0.5, -1.5], record=record)
    assert out.success and list(out.t) == [1.0, 0.5, -1.5]
    s = 2.0 * (out.t - 1.0)
    assert out.y == pytest.approx(np.array([np.sin(s), np.cos(s)]), abs=2e-5)


def test_functions_that_branch_on_values_are_called_back():
    def wall(t, y):
        return [y[1], -1000 * y[0] if y[0] < 0 else -9.81]

    out = sl.solve_ivp(wall, (0, 1), [1.0, 0.0])
    assert not out.recorded and out.success


def test_functions_that_lie_to_the_recorder_are_called_back():
    def lies(t, y):
        return [-y[0]] if isinstance(t, float) else [y[0]]

    out = sl.solve_ivp(lies, (0.0, 1.0), [1.0], rtol=1e-8, atol=1e-10)
    assert not out.recorded and out.y[0, -1] == pytest.approx(np.exp(-1.0), abs=1e-7)


def test_functions_with_a_domain_are_not_called_far_from_the_solution():
    def root(t, y):
        if not isinstance(t, sl.Expr) and (t > 2.0 or (y < 1.0).any()):
            raise ValueError("outside of the domain")
        return [np.sqrt(y[0] - 1.0), 1.0 + 0.0 * y[1]]

    out = sl.solve_ivp(root, (1.0, 2.0), [1.0, 1.0])
    assert out.success and out.y[1, -1] == pytest.approx(2.0)


def test_results_pickle_with_dense_output():
    out = sl.solve_ivp(lambda t, y: [y[1], -y[0]], (0, 5), [0.0, 1.0], dense_output=True, rtol=1e-9, atol=1e-9)
    again = pickle.loads(pickle.dumps(out))
    assert (again.y == out.y).all() and again.status == 0 and again.sol([1.0, 2.0]).shape == (2, 2)
    assert again.sol(2.0) == pytest.approx([np.sin(2.0), np.cos(2.0)], abs=1e-7)


def test_exceptions_of_callbacks_reach_the_caller():
    def bad(t, y):
        if t > 0.5:
            raise ZeroDivisionError("here")
        return -y

    with pytest.raises(ZeroDivisionError, match="here"):
        sl.solve_ivp(bad, (0, 1), [1.0], record=False)
    with pytest.raises(ValueError, match="must return 1 numbers"):
        sl.solve_ivp(lambda t, y: [1.0, 2.0], (0, 1), [1.0], record=False)


def test_eight_runs_at_once_that_call_back():
    def solve(w):
        return sl.solve_ivp(lambda t, y: [y[1], -w * w * y[0]], (0, 5), [1.0, 0.0], record=False, rtol=1e-8, atol=1e-10,
                            events=lambda t, y: y[0])

    alone = [solve(w) for w in range(1, 9)]
    t = np.linspace(0.0, 5.0, 20_000)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(solve, range(1, 9)))
        read = list(pool.map(lambda _: alone[0].solution(t), range(8)))  # eight readers of one result
    assert all((a.y == b.y).all() and (a.t_events[0] == b.t_events[0]).all() for a, b in zip(alone, together))
    assert all((values == alone[0].solution(t)).all() for values in read)


@pytest.mark.parametrize("record", [True, False])
def test_events_that_count(record):
    def zero(t, y):
        return y[0]

    zero.terminal = 3
    out = sl.solve_ivp(lambda t, y: [y[1], -y[0]], (0, 20), [1.0, 0.0], events=zero, rtol=1e-9, atol=1e-9,
                       record=record)
    assert out.status == 1 and out.t_events[0] == pytest.approx(np.pi * np.array([0.5, 1.5, 2.5]), abs=1e-6)


def test_a_jacobian_is_used():
    calls = []

    def jac(t, y):
        calls.append(t)
        return [[0.0, 1.0], [-100.0, -101.0]]

    out = sl.solve_ivp(lambda t, y: [y[1], -100 * y[0] - 101 * y[1]], (0, 1), [1.0, 0.0], method="Radau", jac=jac,
                       rtol=1e-8, atol=1e-10, record=False)
    assert calls and out.y[0, -1] == pytest.approx((100 * np.exp(-1) - np.exp(-100)) / 99, abs=1e-7)


def test_a_recorded_function_slides_where_others_crawl():
    def friction(t, y):
        return [y[1], np.sin(t) - 0.4 * np.sign(y[1])]

    out = sl.solve_ivp(friction, (0, 10), [1.0, 0.0], rtol=1e-8, atol=1e-8)
    assert out.recorded and out.success and len(out.t) < 300
    assert {"slide_enter", "slide_exit"} <= {e["kind"] for e in out.solution.events}


def random_rate(rng, depth):
    """A function of (t, y) made of sums, products and elementary functions."""
    if depth == 0:
        k, c = rng.integers(0, 3), rng.uniform(-1, 1)
        return [lambda t, y: y[0], lambda t, y: y[1], lambda t, y: c + 0.0 * t][k]
    a, b = random_rate(rng, depth - 1), random_rate(rng, depth - 1)
    return [lambda t, y: a(t, y) + b(t, y), lambda t, y: a(t, y) * b(t, y) / (1 + b(t, y) ** 2),
            lambda t, y: np.sin(a(t, y)), lambda t, y: np.tanh(a(t, y)) - b(t, y),
            lambda t, y: np.exp(-a(t, y) ** 2)][rng.integers(0, 5)]


def test_recorded_and_called_back_agree():
    rng = np.random.default_rng(7)
    for case in range(200):
        f, g = random_rate(rng, 3), random_rate(rng, 3)
        fun = lambda t, y: [f(t, y) - y[0], g(t, y) - y[1]]
        y0 = rng.uniform(-1, 1, 2)
        ends = [sl.solve_ivp(fun, (0, 1), y0, rtol=1e-8, atol=1e-10, record=record) for record in (True, False)]
        assert ends[0].recorded and not ends[1].recorded, case
        assert ends[0].y[:, -1] == pytest.approx(ends[1].y[:, -1], abs=1e-6), case
